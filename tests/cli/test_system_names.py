"""Systems are called after their files or by --name, from the sample to every answer; so are measures, as typed."""

import re
import shlex
from pathlib import Path

import pytest
from cli_cases import RUN, both, files, judge_file, write_oracle
from cli_files import json_rows, write_lines

from activeeval import cli
from activeeval.sampling.read_samples import read_sample

TWO = (*RUN, "--versus-run", "b.run")
NAMES = {
    "by file": ((), ("a.run", "b.run")),
    "by name": (("--name", "BM25 v7", "--name", "BM25 v6"), ("BM25 v7", "BM25 v6")),
}
MEASURES = ("--measure", "DCG@5", "--measure", "ndcg_cut_5")


def is_named(row, names, measure):
    new, old = names
    fields = {"system": new, "versus": old, "direction": f"{new} − {old}", "measure": measure}
    assert {name: row[name] for name in fields} == fields
    assert new in row["sentence"]
    assert old in row["sentence"]
    assert measure in row["sentence"]


@pytest.mark.parametrize(("options", "names"), NAMES.values(), ids=NAMES)
def test_names_go_from_the_sample_to_its_answers(call, options, names):
    assert call("sample", *TWO, *options, *MEASURES, "--budget", "60%", *files("d.csv")).code == 0
    sample, _ = read_sample("d.csv.sample.npz")
    assert sample.systems == names
    assert [asked.target.name for asked in sample.made_for] == ["DCG@5", "ndcg_cut_5"]
    judge_file("d.csv")
    for row, measure in zip(call("estimate", *both("d.csv"), "-o", "jsonl").rows, MEASURES[1::2], strict=True):
        is_named(row, names, measure)
        assert row["definition"] == {"DCG@5": "DCG(dcg='exp-log2')@5"}.get(measure, "nDCG(dcg='log2')@5")
    assert call("top-up", "d.csv.sample.npz", "--budget", "10%", *files("e.csv")).code == 0
    assert read_sample("e.csv.sample.npz")[0].systems == names


def test_names_of_a_sample_are_those_of_the_gate(call):
    options, names = NAMES["by name"]
    call("sample", *TWO, *options, *MEASURES, "--budget", "60%", *files("d.csv"))
    judge_file("d.csv")
    given = ("--sample", "d.csv.sample.npz", "--sheet", "d.csv", "-o", "jsonl")
    forth, back = (json_rows(call("compare", *runs, *given).out) for runs in (("b.run", "a.run"), ("a.run", "b.run")))
    for rows, of in ((forth, names), (back, names[::-1])):
        for row, measure in zip(rows, MEASURES[1::2], strict=True):
            is_named(row, of, measure)
    assert [row["value"] for row in forth] == [-row["value"] for row in back]


def test_names_go_into_a_campaign(call, folder):
    options, names = NAMES["by name"]
    made = call("campaign", "create", "w", *TWO, *options, *MEASURES, "--budget", "60%", "--seed", 3)
    assert made.code == 0, made.err
    assert call("campaign", "judge", "w", "--judge", "ann", "--oracle", write_oracle(folder)).code == 0
    for row, measure in zip(call("campaign", "estimate", "w", "-o", "jsonl").rows, MEASURES[1::2], strict=True):
        is_named(row, names, measure)


def test_names_may_be_told_to_what_has_no_sample(call):
    options, names = NAMES["by name"]
    judged = ("--qrels", "q.qrels", "--unjudged", "irrelevant", "--measure", "DCG@5")
    is_named(json_rows(call("compare", "b.run", "a.run", *options, *judged, "-o", "jsonl").out)[0], names, "DCG@5")
    (row,) = call("score", "q.qrels", "a.run", "DCG@5", "--versus", "b.run", *options, "-o", "jsonl").rows
    assert (row["run"], row["versus"], row["measure"]) == (*names, "DCG@5")
    assert row["sentence"].startswith(f"{names[0]} and {names[1]} ")


USUAL = dict(row.split("\t") for row in Path(__file__).with_name("usual-calls.tsv").read_text().splitlines())
LONG = {"long": "bm25-k1=0.9-b=0.4-rm3-fb=10-docs-stemmed-v7.run", "longer": "splade-cocondenser-distil-max-256.run"}


@pytest.fixture(scope="module")
def _judged(made_files, tmp_path_factory):
    """Return the files of a folder in which everything is drawn and judged, once for all calls."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("secrets.randbits", lambda bits: 0)
        for name, content in made_files.items():
            (folder / name).write_bytes(content)
        for name, source in zip(LONG.values(), ("a.run", "b.run"), strict=True):
            (folder / name).write_text((folder / source).read_text().replace(" d1 ", " d2x "))
        write_oracle(folder)
        write_lines(folder / "s.txt", [f"q{q} {'odd' if q % 2 else 'even'}" for q in range(1, 31)])

        def call(line):
            assert cli.run(["--quiet", *shlex.split(line)]) == 0, line

        sheet = "--out {0}.csv.sample.npz --sheet {0}.csv"
        two = "--run a.run --versus-run b.run --max-grade 3 --measure DCG@5 --measure nDCG@5"
        call(f"sample {two} --budget 80% {sheet.format('d')}")
        call(f"sample {two} --budget 60% {sheet.format('early')}")
        long = f"--run {LONG['long']} --versus-run {LONG['longer']}"
        call(f"sample {long} --max-grade 3 --budget 60% {sheet.format('l')}")
        many = f"--run a.run --run b.run --run {LONG['long']} --run {LONG['longer']} --max-grade 3"
        call(f"sample {many} --question difference --question run --budget 60% {sheet.format('m')}")
        for name, upto in (("d", 99), ("l", 99), ("m", 99), ("early", 2)):
            judge_file(f"{name}.csv", upto)
        call(f"campaign create w {two} --budget 60%")
        call("campaign judge w --judge ann --oracle all.qrels")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def show(_judged, folder, capsys):
    """Return a function from a line to what it prints, unwrapped lines as they are, in the folder of what is judged."""
    for name, content in _judged.items():
        (folder / name).write_bytes(content)
    capsys.readouterr()

    def run(line):
        code = cli.run(shlex.split(line.format(**LONG)))
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("line", USUAL.values(), ids=USUAL)
def test_no_line_is_wider_than_a_hundred_columns(show, line):
    code, out, err = show(line)
    assert (code, err if code == 1 else "") == (11 if line.startswith("compare") else 0, "")
    wide = [text for text in (out + err).splitlines() if len(text) > 100]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize(
    "name", ["score two", "compare", "estimate", "compare a sample", "compare a campaign", "campaign estimate"]
)
def test_the_first_lines_name_both_runs_and_the_measure(show, name):
    code, out, err = show(USUAL[name])
    assert (code, err if code == 1 else "") == (11 if USUAL[name].startswith("compare") else 0, "")
    *missing, first = list(filter(None, out.splitlines()))[:3]
    named = [re.search(r"no list in (\S+): (it counts|they count) as 0\.$", line)[1] for line in missing]
    assert named == ["a.run", "b.run"]
    assert first.startswith("a.run ")
    assert "b.run" in first
    assert "DCG@5 " in first
