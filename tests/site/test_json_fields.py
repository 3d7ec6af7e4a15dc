"""The fields of rows: each that a command prints with `-o jsonl` stands on the page, with a type that is its own."""

from __future__ import annotations

import json
import re
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import follow_readme
import pytest
from test_pages import write_beside

from activeeval import cli
from activeeval.report.audit_summary import AuditRow
from activeeval.tasks.holes import Holes
from activeeval.tasks.verdicts import WORSE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json-fields.md"
ROW = re.compile(r"^\| (?P<fields>`.+?) \| (?P<types>[a-z, ]+) \| (?P<meaning>.+) \|$", re.MULTILINE)
TYPES = {"text": str, "number": (int, float), "none": type(None), "flag": bool, "list": list, "object": dict}
WITH_VERDICTS = ("compare", "watch")
NUMBERED = re.compile(r"(?<=half_width_with_)\d+|(?<=ndcg@)\d+")
COMMANDS = """
score qrels.txt new.run nDCG@10 P@5
score qrels.txt new.run nDCG@10 --run old.run --run newer.run --baseline old.run
score qrels.txt new.run DCG@10 --holes --max-grade 3 --more 100
compare old.run newer.run --qrels qrels.txt --measure nDCG@10 --measure P@5
plan --run new.run --versus-run old.run --train-qrels qrels.txt --measure DCG@10 --half-width 1.5
plan --run new.run --max-grade 3 --measure DCG@10 --segments segments.csv \
    --segment-half-width even=8 --segment-half-width odd=8
simulate --qrels qrels.txt --run new.run --versus-run old.run --train-fraction 0.33 --measure DCG@10 --budget 20% \
    --repetitions 20 --seed 1
methods
calibration --qrels qrels.txt --run new.run --train-fraction 0.5 --measure DCG@10 --seed 1
grader ask --run newer.run --model gpt-4o-mini --top 2 --documents documents.jsonl --queries queries.jsonl --out b.jsonl
sample --run new.run --run old.run --run newer.run --max-grade 3 --measure DCG@10 --budget 300 --seed 3 \
    --grader llm.qrels:cost=.005 --out three.sample --sheet three.csv
judge three.csv
estimate three.sample three.csv --by segments.csv
estimate three.sample three.csv --scope population
audit three.sample three.csv --grader llm.qrels
agreement three.csv llm.qrels
campaign create autumn --run new.run --versus-run old.run --max-grade 3 --measure DCG@10 --budget 100 --seed 3
campaign next autumn --out batch.csv
judge batch.csv
campaign import autumn batch.csv --judge ann
campaign status autumn
campaign estimate autumn
campaign top-up autumn --budget 20
campaign export autumn --format qrels --out autumn.qrels
campaign report autumn --out autumn.md
campaign verify autumn
campaign list --db sqlite:///autumn.activeeval
campaign close autumn
watch init quality --measure DCG@10 --max-grade 3 --budget-per-night 60 --margin 0.5 --nights 60 --seed 7
watch night quality --run old.run --date 2026-11-02 --oracle oracle.csv
watch night quality --run new.run --date 2026-11-03 --oracle oracle.csv
watch status quality
watch estimate quality --from 2026-11-02 --to 2026-11-03
gains learn prefs.jsonl --out gains.json
gains show gains.json
coherence DCG@5 "DCG(dcg='log2')@5" --grades 3,2,2,1,0
"""


def documented():
    """Return the types of each field of the page, by its name."""
    rows = {}
    for match in ROW.finditer(PAGE.read_text("utf-8")):
        types = tuple(kind for name in match["types"].split(", ") for kind in _kinds(TYPES[name]))
        for name in re.findall(r"`([^`]+)`", match["fields"]):
            rows[name] = rows.get(name, ()) + types
    return rows


def _kinds(kind):
    return kind if isinstance(kind, tuple) else (kind,)


def printed(folder):
    """Yield the command, the name and the value of each field that the commands print."""
    with chdir(folder):
        for line in COMMANDS.replace("\\\n", "").strip().splitlines():
            words = shlex.split(line)
            if words[0] == "judge":
                follow_readme.judge(Path(words[1]), follow_readme.read_truth(folder))
                continue
            form = [] if words[0] == "sample" else ["-o", "jsonl"]
            with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as talk:
                code = cli.run([*words, *form])
            has_failed = code != 0 and (words[0] not in WITH_VERDICTS or code < WORSE)
            assert not has_failed, line + talk.getvalue()
            for row in said.getvalue().splitlines() if form else ():
                yield from ((line, NUMBERED.sub("N", name), value) for name, value in json.loads(row).items())


@pytest.mark.slow
def test_every_field_that_is_printed_stands_on_the_page(tmp_path):
    follow_readme.make_files(tmp_path, Path(sys.executable))
    write_beside(tmp_path)
    truth = (tmp_path / "truth.csv").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "oracle.csv").write_text("".join(["query_id,doc_id,grade\n", *truth[1:]]), "utf-8")
    types = documented()
    rows = list(printed(tmp_path))
    assert len({name for _, name, _ in rows}) > 150
    assert {(line, name) for line, name, _ in rows if name not in types} == set()
    wrong = {(line, name, type(value)) for line, name, value in rows if type(value) not in types[name]}
    assert wrong == set()


def test_the_fields_of_rows_that_have_a_class_stand_on_the_page():
    names = {field.name for field in fields(AuditRow)} | {name for name in Holes.__slots__ if name != "more"}
    assert len(names) > 25
    assert names - set(documented()) == set()


def test_a_field_has_one_meaning_in_a_section_and_no_row_is_unread():
    text = PAGE.read_text("utf-8")
    assert len(documented()) > 200
    for section in text.split("\n## ")[1:]:
        names = [name for match in ROW.finditer(section) for name in re.findall(r"`([^`]+)`", match["fields"])]
        assert len(names) == len(set(names)), section.splitlines()[0]
        assert section.count("\n| `") == len(ROW.findall(section)), section.splitlines()[0]
