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

import pytest
from verb_calls import CALLS, GRADES, NEW, OLD, judged, made_in, verb_of

import activeeval as ae
from activeeval import cli
from benchmarks.house import commands

PAGE = Path(__file__).parents[1] / "docs" / "in-python.md"


class Verb(NamedTuple):
    """A command's face in Python, the function that both run, how the command is called."""

    face: str
    function: str
    words: str


with Path(__file__).with_name("verbs.tsv").open(encoding="utf-8") as held:
    VERBS = {row.pop("command"): Verb(**row) for row in csv.DictReader(held, delimiter="\t", quoting=csv.QUOTE_NONE)}
AT_A_TERMINAL = {
    "init": "asks questions, and answers with commands",
    "serve": "serves pages to browsers until it is stopped",
}
"""Commands without a face in Python, and why."""


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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return what verbs are called on, in a folder with files for all commands, which is the working one."""
    folder = tmp_path_factory.mktemp("verbs")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        write_texts(folder)
        made = made_in(folder)
        made.Sample.save("a.sample")
        for judge in ("ann", "bob"):
            made.sheet.assign(judge=judge).to_csv(f"{judge[0]}.csv", index=False)
        looking = ae.sample([NEW, OLD], measure="nDCG@3", budget=60, max_grade=3, seed=1, adaptive_depth="1")
        judged(looking.save("l.sample").sheet("pandas")).to_csv("l.csv", index=False)
        ranked = ae.sample(NEW, measure="kNDCG(k=4)@3", budget="50%", max_grade=3, seed=1).save("k.sample", "k.csv")
        ae.create_campaign(ranked, "k.activeeval", "k").close()
        made.StoredCampaign.export("jsonl", "w.log")
        with made.StoredCampaign, made.Watch:
            yield made


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
        if found(verb.face) is not found(verb.function.removesuffix(".__init__")):
            with pytest.raises(GeneratorExit, match="reached"):
                verb_of(verb.face, made)(**CALLS[verb.face](made))


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
