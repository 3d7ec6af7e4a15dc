"""Every caution and note that an answer can carry, by its level, with what to do: for the page of cautions.

Codes and sentences are those of `tests/report/wording.jsonl`, levels those of the code, found by reading it. What to do
stands here; a caution without it stops the build.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "report" / "wording.jsonl"
PACKAGE = ROOT / "activeeval"
LEVELS = {"severe warning": "Stop", "warning": "Act", "note": "Normal"}
TO_DO = {
    "unbounded": "Judge more; until then there is no answer.",
    "no spread": "Judge more. What stands there is the plan, not the sample.",
    "one query": "Check the grades of that query. Top up, so that others share its weight.",
    "two units": "Take a budget that pays for two.",
    "machine is truth": "Say so wherever the number goes: it measures how well systems please the grader.",
    "rising scores": "Look at the run: its best document should have the largest score.",
    "model turned": "Ask whether the file's scale is turned round. The estimate holds; draw the rest anew.",
    "model says little": "The estimate holds. Leave the grader out of the next sample.",
    "dear": "Ask for the measure beside it, or pay for more.",
    "night too dear": "Raise the budget of a night, or ask for a wider half-width.",
    "hardly read": "Ask for a smaller half-width for that segment, or join segments.",
    "grader made run": "Do not let a machine grade the run that it has made.",
    "grader drift": "Give each model a file of its own.",
    "grader low scale": "Say where its scale ends: `FILE:scale=0-1`.",
    "grader stray": "Say what its scale is, if those values belong to it.",
    "grader says little": "Do not pay for it.",
    "grader turned": "Ask whether its scale is turned round.",
    "grader winner": "Do not decide by it.",
    "grader replies missing": "Ask again about the documents that have no reply.",
    "nothing relevant": "See whether the grades were read from the right column.",
    "none explainable": "Ask whether the better list was written in the wrong column.",
    "pulled by the penalty": "Collect more preferences at these ranks and grades.",
    "rising discounts": "Use `--shape monotone`, or collect more preferences.",
    "silent preferences": "Ask about lists with different grades; `gains next` names some.",
    "weights are no product": "Collect more pairs; or gains depend on rank here.",
    "wide intervals": "Collect more preferences there.",
    "rough intervals": "Collect more pairs before you quote an interval.",
    "no intervals": "Look at the preferences that contradict each other.",
    "nothing read out": "Ask about lists that differ at several ranks.",
    "hardly better than chance": "Look at how the preferences were collected.",
    "discounts up to a constant": "Ask about lists that do not hold the same grades.",
    "few tell the constant": "Ask about more lists that do not hold the same grades.",
    "hidden directions": "Ask about pairs that `gains next` names.",
    "ranks without difference": "Ask about lists that differ at these ranks.",
    "grade not weighed": "Ask about lists that hold this grade.",
    "grades not told apart": "Ask about lists that differ in these two grades.",
}
"""What to do about each caution of the two upper levels."""


def pages() -> dict[str, str]:
    """Return the tables of the three levels."""
    return {"made/cautions.md": "\n".join(_tables()) + "\n"}


def sentences() -> dict[str, str]:
    """Return the first sentence of each code in the corpus."""
    lines = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    return {line["code"]: line["text"] for line in reversed(lines)}


@cache
def levels() -> dict[str, str]:
    """Return the gravest level at which the code tells each caution; what it tells as a note alone is left out."""
    told: dict[str, str] = {"rising scores": "warning"}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Caution" and len(node.args) >= 2:
                for level in _texts(node.args[0]) or ["warning"]:
                    for code in _texts(node.args[1]):
                        told[code] = max(told.get(code, level), level, key=list(LEVELS)[::-1].index)
    return {code: level for code, level in told.items() if code != "input"}


def _texts(node: ast.expr) -> list[str]:
    """Return the texts that an expression may be, as in ``"a" if is_so else "b"``."""
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _tables() -> Iterator[str]:
    known, texts = levels(), sentences()
    missing = [code for code, level in known.items() if level != "note" and code not in TO_DO]
    if missing:
        raise ValueError(f"cautions without what to do: {', '.join(missing)}")
    for level in ("severe warning", "warning"):
        yield from ("", f"## {LEVELS[level]}: *{level}*", "", "| code | for example | what to do |", "|---|---|---|")
        for code, text in texts.items():
            if known.get(code) == level:
                yield f"| `{code}` | {_cell(text)} | {TO_DO[code]} |"
    yield from ("", f"## {LEVELS['note']}: *note*", "", "| code | for example |", "|---|---|")
    for code, text in texts.items():
        if known.get(code, "note") == "note":
            yield f"| `{code}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
