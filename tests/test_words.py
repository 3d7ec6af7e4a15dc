"""Names say what they hold: nothing is called `found`, `one`, `own`, `told` or `given`."""

import ast
from pathlib import Path

import pytest

import activeeval
from benchmarks.house import nodes_of

PACKAGE = Path(activeeval.__file__).parent
EMPTY_WORDS = {"found", "one", "own", "told", "given"}
ROOMS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})


def names_in(file: Path):
    """Yield every variable and parameter of a file with its line."""
    for node in nodes_of(file):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


@pytest.mark.parametrize("room", ROOMS)
def test_no_variable_has_a_name_that_says_nothing(room):
    path = PACKAGE / room
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    empty = [
        f"{file.relative_to(PACKAGE)}:{line} {name}"
        for file in files
        for name, line in names_in(file)
        if name in EMPTY_WORDS
    ]
    assert files
    assert empty == []
