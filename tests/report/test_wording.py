"""Cautions and notes are worded in one place, each of them, and a face may name parameters in its own way."""

import ast
import json
import math
import re
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest

import activeeval
from activeeval.core.results import Caution, Estimate, Note
from activeeval.report import message_lookup as words
from activeeval.report.message_lookup import line_of, text_of, worded
from benchmarks.house import nodes_of

HOUSE = Path(activeeval.__file__).parent
CORPUS = [json.loads(line) for line in Path(__file__).with_name("wording.jsonl").read_text().splitlines()]
"""Every sentence with the numbers it is made of; elsewhere tests ask for codes, or for the word that matters."""
OF_A_NOTE = {"input"}
"""Its words are those of the note that it carries."""


def codes():
    """Yield the codes that the library writes down."""
    for path in (path for path in sorted(HOUSE.rglob("*.py")) if re.search("(Note|Caution)\\(", path.read_text())):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Note", "Caution"):
                place = node.args[1 if node.func.id == "Caution" else 0]
                texts = [one.value for one in ast.walk(place) if isinstance(one, ast.Constant)]
                yield from (text for text in texts if isinstance(text, str) and text != "note")


def test_every_code_has_words_and_no_words_are_of_nothing():
    made = {*codes(), "two units of the first block"} - OF_A_NOTE
    assert len(made) > 40
    tables = [import_module(name).WORDS for name in words.MODULES]
    assert made == set().union(*tables)
    assert len(made) == sum(map(len, tables))
    assert {one["code"] for one in CORPUS} == made | OF_A_NOTE


@pytest.mark.parametrize("one", CORPUS, ids=lambda one: one["code"])
def test_a_sentence_is_the_corpus_s(one):
    numbers = {name: tuple(value) if isinstance(value, list) else value for name, value in one["numbers"].items()}
    assert text_of(Note(one["code"], numbers)) == one["text"]


NOUNS = "budgets|blocks|comparisons|events|grades|hours|items|judges|judgments|labels|lines|lists|minutes|models|pairs"
NOUNS += "|places|preferences|queries|ranks|ratings|rounds|rows|scores|systems|truths|values|ways"
KINDS = "distinct|held-out|judged|known|mean|more|new|open|other|ranked"
OF_MANY = re.compile(rf"(?<![\d,.])1 (?:(?:{KINDS}) )*(?:{NOUNS})\b")


def one_each(value):
    """Return what a note counts with every count a 1."""
    if isinstance(value, list):
        return tuple(map(one_each, value))
    return 1 if isinstance(value, int) else value


@pytest.mark.parametrize("one", CORPUS, ids=lambda one: one["code"])
def test_one_of_anything_is_singular(one):
    text = text_of(Note(one["code"], {name: one_each(value) for name, value in one["numbers"].items()}))
    assert OF_MANY.findall(text) == []


def test_counts_have_commas_nouns_and_verbs_of_their_own():
    assert text_of(Note("grader of people", {"source": "a", "n": 1})) == "a: 1 grade of people is left out"
    assert text_of(Note("grader of people", {"source": "a", "n": 1200})) == "a: 1,200 grades of people are left out"


def test_parameters_are_named_as_a_face_wants():
    note = Note("pool depth", {"depth": 10, "n_left_out": 3})
    assert text_of(note).endswith("are left out (`pool_depth`)")
    assert text_of(note, lambda name: f"<{name}>").endswith("are left out (<pool_depth>)")


def test_what_a_note_names_is_shown_as_it_is():
    hostile = "{share:.0%} {option[qrels]} `qrels` --quiet {0.__class__}"
    note = Note("missing texts", {"n": 1, "of": 2, "what": "queries", "source": hostile})
    assert text_of(note, "<{}>".format) == f"1 of 2 queries has no text in {hostile}"
    mixed = Note("mixture", {"models": (hostile, "b"), "weights": (0.25, 0.75)})
    assert text_of(mixed).endswith(f"queries: {hostile} 0.25, b 0.75")
    one = Caution("warning", "one query", {"query_id": hostile, "share": 0.4})
    alone = f"query {hostile!r} alone has 40% of the expected variance"
    assert text_of(one) == f"{alone}: the interval can be too short"


def test_a_code_without_words_is_shown_as_data():
    assert text_of(Note("new", {"n": 2})) == "new (n 2)"
    assert line_of(Caution("warning", "new", {"share": 1 / 3})) == "warning: new (share 0.333333)"


def test_scripts_read_numbers_that_json_knows():
    caution = Caution("note", "cannot", {"n_items": 2, "low": -math.inf, "high": math.nan, "treated": "as predicted"})
    row = asdict(worded(caution))
    assert json.loads(json.dumps(row, allow_nan=False))["numbers"]["low"] is None
    assert (row["level"], row["code"]) == ("note", "cannot")
    assert asdict(worded(Note("nothing to judge")))["level"] == "note"


@pytest.mark.parametrize(("names", "which"), [(("a.run",), "a.run"), (("a.run", "b.run"), "a.run, b.run")])
def test_an_estimate_carries_the_notes_of_its_input(names, which):
    note = Note("unjudged queries", {"n": 1, "names": names})
    given = {"value": 1.0, "std_error": 0.1, "n_open": 9, "n_draws": 9, "n_queries": 9, "n_items": 9, "cost": 9.0}
    (caution,) = Estimate(**given, method="m", degrees_of_freedom=8.0, notes=(note,)).cautions
    assert (caution.code, caution.numbers["note"]) == ("input", "unjudged queries")
    assert line_of(caution) == f"note: 1 query of {which} has no judgments: ignored"
