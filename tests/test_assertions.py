"""Assertions that cannot fail, or hardly: of what is always true, of several exit codes, of any exception at all."""

import ast
from pathlib import Path

import pytest

from benchmarks.house import nodes_of

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("tests", "benchmarks/tests") for path in sorted((ROOT / folder).rglob("*.py"))]
TRUE = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.GeneratorExp, ast.Lambda, ast.JoinedStr, ast.Constant)


def is_weak(node):
    """Return whether a part of a test asks for nothing, or for less than it could."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "raises":
        return ast.unparse(node.args[0]) in ("Exception", "BaseException")
    if not isinstance(node, ast.Assert):
        return False
    if isinstance(node.test, ast.Call):  # of a class: what it makes is true
        return ast.unparse(node.test.func).rpartition(".")[2][:1].isupper()
    memberships = [c for c in ast.walk(node.test) if isinstance(c, ast.Compare) and isinstance(c.ops[0], ast.In)]
    of_codes = any(ast.unparse(c.left).rpartition(".")[2] in ("code", "returncode") for c in memberships)
    return of_codes or isinstance(node.test, TRUE)


def test_every_assertion_can_fail():
    assert len(FILES) > 100
    assert [f"{path}:{node.lineno}" for path in FILES for node in nodes_of(path) if is_weak(node)] == []


@pytest.mark.parametrize(
    "code",
    [
        *("assert (a, b)", "assert Goal(1)", "assert m.Goal(1)", "assert (x for x in y)", "pytest.raises(Exception)"),
        *("assert code in (0, 1)", "assert call().code in (0, 1)", "assert not x or code in (0, 1)"),
    ],
)
def test_what_cannot_fail_is_noticed(code):
    assert any(map(is_weak, ast.walk(ast.parse(code))))


@pytest.mark.parametrize("code", ["assert fits(1)", "assert x in (0, 1)", "pytest.raises(InputError)"])
def test_what_can_is_not(code):
    assert not any(map(is_weak, ast.walk(ast.parse(code))))
