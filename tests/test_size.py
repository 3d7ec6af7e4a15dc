"""How large the house may be: each limit is today's count or the goal, whichever is larger.

A limit is lowered when the count falls, and raised in a commit of its own that says why. `benchmarks.house` counts and
has the goals; ``python tests/test_size.py`` prints both beside the counts.
"""

import ast
import sys
from pathlib import Path

from activeeval.core.answers import Answer
from activeeval.core.errors import did_you_mean
from benchmarks.house import (
    GOALS,
    Walk,
    arguments_of,
    classes,
    code_lines,
    commands,
    counts,
    holds_an_interval,
    lines_of,
    options_of,
)

LIMITS: dict[str, int] = {
    "code lines: package": 59_481,
    "code lines: core": 17_033,
    "code lines: tests": 42_227,
    "code lines: benchmarks": 12_497,
    "classes that hold a value and its interval": 5,
    "commands": 52,
    "options": 630,
    "options of one command": 50,
    "option names typed in three places or more": 0,
    "public names": 45,
    "commands that call more than two functions of other rooms": 0,
    "class names twice": 0,
    "module names more than twice": 0,
    "docstrings that begin with Return what, how, whether, who": 0,
    "whoever, so many, is told": 0,
    "modules above 370 lines": 0,
    "functions above 45 code lines": 0,
    "functions of more than 8 arguments": 2,
    "dependencies": 15,
}


def test_counts_are_within_their_limits_and_limits_follow_them_down():
    """Catches growth, and room for it that a change had made and another one takes; one test, which counts once."""
    assert LIMITS.keys() == GOALS.keys()
    problems = []
    for what, n in counts().items():
        if n > LIMITS[what]:
            problems.append(f"{what}: lower the count from {n}, or raise the limit in a commit that says why")
        elif LIMITS[what] > max(GOALS[what], n * 1.01 + 1):
            problems.append(f"{what}: lower the limit to {n}")
    assert not problems


def test_counts_are_of_what_they_say():
    """An option, a class of an interval, a function's lines and arguments, counted by hand."""
    assert Answer.__dataclass_fields__.keys() >= {"value", "low", "high"}
    assert "Answer" in {node.name for node in classes() if holds_an_interval(node)}
    text = 'def f(a, b=1, *, c=2):\n    """Doc."""\n    x = a\n    return x\n'
    (node,) = ast.parse(text).body
    assert (lines_of(node), arguments_of(node)) == (2, 3)
    assert "--measure" in options_of(commands()["sample"])
    assert {"sample", "watch night"} <= set(commands())
    with Walk() as walk:
        did_you_mean("nDCG", ["nDCG"])
    assert walk.rooms == ["core"]
    assert code_lines([Path(__file__)]) > 50


if __name__ == "__main__":
    width = max(map(len, GOALS))
    for what, n in counts().items():
        sys.stdout.write(f"{what:{width}} {n:7,} {LIMITS.get(what, 0):7,} {GOALS[what]:7,}\n")
