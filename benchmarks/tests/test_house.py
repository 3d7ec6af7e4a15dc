"""The script that counts the house: what is code, and what a command calls."""

import pytest

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
    house.nodes_of.cache_clear()
    return path


def test_code_lines_are_those_that_are_neither_blank_nor_comment_nor_docstring(room):
    # import, X over two lines, its docstring (text alone after an assignment is code), def, if, two returns
    assert house.code_lines([room]) == 7


def test_functions_of_other_rooms_are_those_that_a_body_calls(room):
    room.write_text("from activeeval.formats.files import a\nfrom activeeval.cli.help import c\n"
                    "def f():\n    from activeeval.inputs import b\n    return a(b.x(), c())\n", "utf-8")  # fmt: skip
    house.nodes_of.cache_clear()
    function = house.nodes_of(room)[0].body[-1]
    assert house.called_elsewhere(room, function) == {"a", "b.x"}
