"""The script that counts the house: what is code, what asks, and which rooms a thing passes."""

import pytest

from activeeval.errors import did_you_mean
from benchmarks import house

SOURCE = '''"""A room.

With two lines of text.
"""

import re  # why

X = """not
documented"""


def ask(scheme):
    """Say what it does."""
    # a comment
    if isinstance(scheme, Levels):
        return {"--option": 1}
    return X
'''


@pytest.fixture
def room(tmp_path, monkeypatch):
    path = tmp_path / "room.py"
    path.write_text(SOURCE, "utf-8")
    monkeypatch.setattr(house, "HOUSE", tmp_path)
    house.tree_of.cache_clear()
    return path


def test_code_lines_are_those_that_are_neither_blank_nor_comment_nor_docstring(room):
    # import, X over two lines, its docstring (text alone after an assignment is code), def, if, two returns
    assert house.code_lines([room]) == 7


def test_texts_that_document_are_no_literals(room):
    assert set(house.literals(room)) == {"not\ndocumented", "--option"}


def test_files_that_ask_are_found_by_what_they_test(room):
    assert house.asking(house.SCHEME) == ["room.py"]
    assert house.asking(house.TOP_K) == []


def test_a_walk_names_the_rooms_that_take_or_return_a_thing():
    with house.Walk({"Chosen"}) as walk:
        did_you_mean(Chosen("nDCG"), ["nDCG"])
    assert walk.rooms == ["errors"]
    assert walk.climbs == set()
    with house.Walk({"Path"}) as walk:
        did_you_mean("nDCG", ["nDCG"])
    assert walk.rooms == []


class Chosen(str):
    """A text by another name."""

    __slots__ = ()
