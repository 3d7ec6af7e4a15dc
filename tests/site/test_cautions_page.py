"""The page of cautions has every code that there is, at its level, with what to do."""

import json

import pytest
from _ext import cautions

PAGE = cautions.pages()["made/cautions.md"]


def test_every_code_of_the_corpus_stands_on_the_page_once():
    codes = {json.loads(line)["code"] for line in cautions.CORPUS.read_text("utf-8").splitlines()}
    assert {code for code in codes if PAGE.count(f"| `{code}` |") != 1} == set()


def test_every_caution_that_the_code_tells_has_a_sentence_and_what_to_do():
    known = cautions.levels()
    assert len(known) > 40
    assert set(known) <= set(cautions.sentences())
    assert {code for code, level in known.items() if level != "note"} == set(cautions.TO_DO)


@pytest.mark.parametrize(("code", "level"), [("no spread", "Stop"), ("one query", "Act"), ("early", "Normal")])
def test_a_code_stands_under_its_level(code, level):
    parts = PAGE.split("\n## ")
    (part,) = [part for part in parts if f"| `{code}` |" in part]
    assert part.startswith(level)


def test_a_caution_without_what_to_do_stops_the_build(monkeypatch):
    monkeypatch.delitem(cautions.TO_DO, "dear")
    with pytest.raises(ValueError, match="without what to do: dear"):
        cautions.pages()
