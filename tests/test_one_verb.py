"""One function a verb: each command and its face in Python run the same function, which ``verbs.tsv`` names.

The function's code is replaced by one that stops. The command, called as a user calls it, must come to that; and so
must the face in Python, where it is another one than the function.
"""

import csv
import inspect
import sys
import warnings
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

import activeeval as ae
from activeeval import cli
from benchmarks.house import commands

PAGE = Path(__file__).parents[1] / "docs" / "in-python.md"
GRADES = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(30)}
NEW = {query: {doc: grade + 0.5 * int(doc[1:]) for doc, grade in docs.items()} for query, docs in GRADES.items()}
OLD = {query: {doc: float((7 * int(doc[1:]) + len(query)) % 5) for doc in docs} for query, docs in GRADES.items()}
ASKED = {"measure": "DCG@3", "budget": 40, "max_grade": 3}


class Verb(NamedTuple):
    """A command's face in Python, the function that both run, how the command is called."""

    face: str
    function: str
    words: str


with Path(__file__).with_name("verbs.tsv").open(encoding="utf-8") as held:
    VERBS = {row.pop("command"): Verb(**row) for row in csv.DictReader(held, delimiter="\t", quoting=csv.QUOTE_NONE)}
CALLS = {
    "score": lambda m: ae.score(GRADES, NEW),
    "compare": lambda m: ae.compare(OLD, NEW, judgments=GRADES),
    "estimate": lambda m: m.sample.estimate("a.csv"),
    "audit": lambda m: ae.audit(m.sample, "a.csv", "qrels"),
    "plan": lambda m: ae.plan(NEW, budget=40, max_grade=3),
    "simulate": lambda m: ae.simulate(NEW, GRADES),
    "calibration": lambda m: ae.calibration(NEW, GRADES),
    "design": lambda m: ae.design(NEW, max_grade=3),
    "queries draw": lambda m: ae.draw_queries({"a": 1}, n=1),
    "pool write": lambda m: ae.write_pool(NEW, "pool", max_grade=3),
    "sample": lambda m: ae.sample(NEW, **ASKED),
    "next": lambda m: m.looking.next("l.csv"),
    "sheet": lambda m: m.sample.write_sheet("n.csv", judges=["ann", "bob"]),
    "top-up": lambda m: m.sample.top_up(10),
    "grader ask": lambda m: ae.ask_grader(NEW, model="m", documents="docs.csv", queries="texts.csv", out="batch.jsonl"),
    "campaign create": lambda m: ae.create_campaign(m.sample, "n.activeeval", "n"),
    "campaign top-up": lambda m: m.campaign.top_up(10),
    "campaign close": lambda m: m.campaign.stop(),
    "campaign list": lambda m: ae.list_campaigns("w.activeeval"),
    "campaign next": lambda m: m.campaign.next_batch("n.csv"),
    "campaign import": lambda m: m.campaign.import_judgments(m.sheet, "ann"),
    "campaign label": lambda m: found("campaigns.top_k_judging.Comparing")(m.campaign.store, "k", "ann"),
    "campaign claim": lambda m: m.campaign.claim("ann"),
    "campaign submit": lambda m: m.campaign.submit("t", 1),
    "campaign judge": lambda m: m.campaign.judge("ann", GRADES),
    "campaign retract": lambda m: m.campaign.retract(70, "ann"),
    "campaign status": lambda m: m.campaign.status(),
    "campaign estimate": lambda m: m.campaign.estimate(),
    "campaign audit": lambda m: m.campaign.audit("qrels"),
    "campaign report": lambda m: m.campaign.report("w.html"),
    "campaign export": lambda m: m.campaign.export("weights"),
    "campaign cost": lambda m: m.campaign.cost(),
    "campaign verify": lambda m: m.campaign.verify(),
    "watch init": lambda m: ae.create_watch("n.activeeval", "n", measure="DCG@3", budget=40),
    "watch night": lambda m: m.watch.night(NEW, "2026-01-02"),
    "watch submit": lambda m: m.watch.submit(),
    "watch status": lambda m: m.watch.status(),
    "watch estimate": lambda m: m.watch.estimate(),
    "watch report": lambda m: m.watch.report("v.md"),
}
"""How faces in Python are called that are others than the function."""
AT_A_TERMINAL = {
    "init": "asks questions, and answers with commands",
    "serve": "serves pages to browsers until it is stopped",
}
"""Commands without a face in Python, and why."""


class Made(NamedTuple):
    """What faces in Python are called on."""

    sample: ae.Sample
    looking: ae.Sample
    sheet: pd.DataFrame
    campaign: ae.StoredCampaign
    watch: ae.Watch


def write_texts(folder):
    """Write runs, judgments and the other small files that commands read."""
    for name, run in (("new.run", NEW), ("old.run", OLD)):
        lines = [f"{q} Q0 {d} 1 {score!r} x\n" for q, docs in run.items() for d, score in docs.items()]
        (folder / name).write_text("".join(lines))
    lines = [f"{q} 0 {d} {grade}\n" for q, docs in GRADES.items() for d, grade in docs.items()]
    (folder / "qrels").write_text("".join(lines))
    (folder / "log.csv").write_text("query,count\na,3\nb,2\n")
    (folder / "docs.csv").write_text("id,text\n" + "".join(f"d{d},page {d}\n" for d in range(6)))
    (folder / "texts.csv").write_text("id,text\n" + "".join(f"q{q},words {q}\n" for q in range(30)))
    (folder / "prefs.jsonl").write_text('{"query": "q1", "preferred": [2, 1, 0], "other": [0, 2, 1], "tie": false}\n')
    (folder / "prefs.csv").write_text("query,preferred,other\nq1,d1,d2\n")


def judged(sheet):
    """Return a sheet with its grades."""
    return sheet.assign(grade=[GRADES[q][d] for q, d in zip(sheet["query_id"], sheet["doc_id"], strict=True)])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return samples, a campaign and a watch in a folder with their files, which is the working one."""
    folder = tmp_path_factory.mktemp("verbs")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        write_texts(folder)
        sample = ae.sample([NEW, OLD], **ASKED, seed=1).save("a.sample")
        sheet = judged(sample.sheet("pandas"))
        sheet.assign(judge="ann").to_csv("a.csv", index=False)
        sheet.assign(judge="bob").to_csv("b.csv", index=False)
        followed = {"measure": "nDCG@3", "budget": 60, "max_grade": 3, "seed": 1, "adaptive_depth": "1"}
        looking = ae.sample([NEW, OLD], **followed).save("l.sample")
        judged(looking.sheet("pandas")).to_csv("l.csv", index=False)
        ranked = ae.sample(NEW, measure="kNDCG(k=4)@3", budget="50%", max_grade=3, seed=1)
        ranked.save("k.sample", "k.csv")
        ae.create_campaign(ranked, "k.activeeval", "k").close()
        campaign = ae.create_campaign(sample, "w.activeeval", "w")
        campaign.import_judgments(sheet, "ann")
        campaign.export("jsonl", "w.log")
        watch = ae.create_watch("v.activeeval", "v", measure="DCG@3", budget=30, max_grade=3, seed=1)
        watch.night(OLD, "2026-01-01", oracle=GRADES)
        with campaign, watch:
            yield Made(sample, looking, sheet, campaign, watch)


def found(name):
    """Return what a dotted name of the package names: a name of `activeeval`, of its modules, of their classes."""
    value = ae
    for part in name.split("."):
        if inspect.ismodule(value) and not hasattr(value, part):
            with suppress(ModuleNotFoundError):
                import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def _stop(*args, **kwargs):
    raise GeneratorExit("reached")  # nothing between a command and its caller takes it for an error of its own


@contextmanager
def stopped(function):
    """Let a function stop whoever calls it, by whatever name it was imported."""
    inner = inspect.unwrap(function)
    code = inner.__code__
    assert not code.co_freevars
    inner.__code__ = _stop.__code__
    try:
        yield
    finally:
        inner.__code__ = code


def test_every_command_is_in_the_table():
    assert sorted(commands()) == sorted([*VERBS, *AT_A_TERMINAL])
    assert not VERBS.keys() & AT_A_TERMINAL


@pytest.mark.parametrize("name", VERBS)
def test_names_lead_somewhere(name):
    for dotted in (VERBS[name].face, VERBS[name].function):
        assert found(dotted).__doc__ or dotted.endswith("__init__")


@pytest.mark.parametrize("name", VERBS)
def test_a_command_and_its_face_run_one_function(name, made, tmp_path):
    verb = VERBS[name]
    words = [str(tmp_path / "demo")] if name == "demo" else verb.words.split()
    asked = [*name.split(), *(["--out"] if name == "demo" else []), *words]
    with stopped(found(verb.function)):
        with pytest.raises(GeneratorExit, match="reached"):
            sys.exit(f"ended with {cli.run(asked)}")
        if name in CALLS:
            with pytest.raises(GeneratorExit, match="reached"):
                CALLS[name](made)
    assert name in CALLS or found(verb.face) is found(verb.function)


def test_a_function_that_is_not_run_is_noticed(made):
    with stopped(ae.replicate):
        assert ae.agreement([made.sheet, made.sheet.assign(judge="bob")]).rows()


def row_of(name):
    """Return the row of the page of a command."""
    if name in AT_A_TERMINAL:
        return f"| `{name}` | none: {AT_A_TERMINAL[name]} |"
    return f"| `{name}` | `activeeval.{VERBS[name].face}` |"


def test_the_page_has_the_table():
    lines = PAGE.read_text("utf-8").splitlines()
    assert [row_of(name) for name in commands() if row_of(name) not in lines] == []


if __name__ == "__main__":
    sys.stdout.write("\n".join(map(row_of, commands())) + "\n")
