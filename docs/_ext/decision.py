"""Which command, which method: asked of the commands, of the methods' table and of each measure, written as lists."""

from __future__ import annotations

from collections.abc import Iterator

import click

from activeeval.cli import cli
from activeeval.design.methods import METHODS, Method, default_method, robust_methods
from activeeval.measures import Measure, parse_measure

MEASURES = {
    "DCG": "DCG@10",
    "nDCG": "nDCG@10",
    "P": "P@10",
    "RBP": "RBP(p=0.8)",
    "Additive": "Additive(gains={0: 0, 1: 1, 2: 3}, discounts=[1, 0.5])",
    "ERR": "ERR(max_rel=4)@10",
    "RR": "RR@10",
    "Success": "Success@5",
    "R": "R@20",
    "AP": "AP",
    "Judged": "Judged@10",
    "kNDCG": "kNDCG(k=10)@10",
    "kERR": "kERR(k=10)@10",
}
"""One of each family. Which method each has is asked."""
JUDGED = {"items": "single documents", "depth": "lists, down to a random depth", "whole": "whole lists"}
"""What a stage of a design takes from a query."""
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Is the new run better than the old one?": (
        ("All that is needed is judged", "compare OLD NEW --qrels QRELS"),
        ("Some is judged, and labels cost money", "sample --run NEW --versus-run OLD --judged QRELS --budget N"),
        ("Nothing is judged yet", "sample --run NEW --versus-run OLD --max-grade G --budget N"),
        ("A sample is judged already", "compare OLD NEW --sample SAMPLE --sheet SHEET"),
    ),
    "How good is one run?": (
        ("All that is needed is judged", "score QRELS RUN MEASURE"),
        ("It is not", "sample --run RUN --budget N"),
        ("A sample is judged already", "estimate SAMPLE SHEET"),
    ),
    "What does an index update change?": (
        ("Once: the same ranker before and after", "sample --run AFTER --versus-run BEFORE --budget N"),
        ("The documents' features are in files", "sample --letor FILE --index-update --budget N"),
        ("Every night", "watch init NAME --measure MEASURE --margin X --budget-per-night N"),
    ),
    "Which of several runs is best?": (
        ("All that is needed is judged", "score QRELS RUN MEASURE --run RUN2 --run RUN3"),
        ("It is not: one sample for all pairs", "sample --run RUN --run RUN2 --run RUN3 --budget N"),
    ),
    "Does it differ by kind of query?": (
        ("A sample is judged already", "estimate SAMPLE SHEET --by FILE"),
        ("How many labels does each segment need?", "plan --run RUN --segments FILE --segment-half-width X"),
    ),
    "May this change go live? (a gate in a script)": (
        ("By judgments that you have", "compare OLD NEW --qrels QRELS --margin X"),
        ("By a judged sample", "compare OLD NEW --sample SAMPLE --sheet SHEET --margin X"),
    ),
    "How many labels do I need, before I pay?": (
        ("From the runs and a few judgments", "plan --run RUN --train-qrels QRELS --half-width X"),
        ("From judgments that are complete: what would each method have saved?", "simulate --qrels QRELS --run RUN"),
    ),
    "Who judges?": (
        ("A few people, in a spreadsheet", "sample --run RUN --judge ANN --judge BOB --sheet SHEET"),
        ("Several people, for weeks", "campaign create NAME --run RUN --budget N"),
        ("The same, in a browser", "serve NAME"),
        ("A machine helps: its grades say where to look", "sample --run RUN --grader GRADES --budget N"),
        ("Can that machine be trusted?", "audit SAMPLE SHEET --grader GRADES"),
        ("Judges compare two documents at a time", "label SHEET --k K"),
    ),
    "Which queries should I evaluate with?": (("There is a log of searches", "queries draw LOG --n N"),),
    "What are grades and ranks worth to my users?": (("People prefer one of two lists", "gains learn PREFERENCES"),),
}
"""Question to what is at hand and the command for it."""


def pages() -> dict[str, str]:
    """Return the tree: question and command, measure and method, then what each method is for."""
    return {"made/choose.txt": "\n".join((*_commands(), *_measures(), *_methods())) + "\n"}


def command_of(words: str) -> tuple[str, click.Command]:
    """Return the page of the command that a line begins with, and the command."""
    first, second = [*words.split(), ""][:2]
    command = cli.commands[first]
    if isinstance(command, click.Group):
        return f"{first}.md#{first}-{second}", command.commands[second]
    return f"{first}.md", command


def _commands() -> Iterator[str]:
    yield from ("## 1. Which question?", "")
    for question, situations in QUESTIONS.items():
        yield f"- **{question}**"
        for situation, words in situations:
            place, command = command_of(words)
            end = "" if situation.endswith("?") else ":"
            yield f"  - {situation}{end} `activeeval {words}`"
            yield f"    ([{words.split()[0]}](commands/{place}): {command.short_help})"


def _measures() -> Iterator[str]:
    yield from ("", "## 2. Which measure, which method?", "")
    yield from ("The measure decides the method. You need not name it; `--method` names another.", "")
    chosen = {name: default_method(parse_measure(text)) for name, text in MEASURES.items()}
    for method in METHODS.values():
        names = [name for name, default in chosen.items() if default.name == method.name]
        if names:
            yield f"- **{', '.join(names)}** → `{method.name}`: {JUDGED[method.stage.name]} are judged"
            yield from _others(method, [parse_measure(MEASURES[name]) for name in names])
    several = default_method(*(parse_measure(text) for text in MEASURES.values()))
    yield f"- **several measures in one sample, with different methods** → `{several.name}`"


def _others(method: Method, measures: list[Measure]) -> Iterator[str]:
    others = [f"`{name}`" for name in robust_methods(*measures) if name != method.name]
    fit = [f"`{each.name}`" for each in METHODS.values() if all(map(each.fits, measures))]
    yield f"  - as safe from a bad grade model: {', '.join(others) or 'none'}"
    yield f"  - all that can estimate it: {', '.join(fit)}"


def _methods() -> Iterator[str]:
    yield from ("", "## 3. When another method?", "")
    yield from ("| method | when | what is judged | how it is drawn | grade model |", "|---|---|---|---|---|")
    for method in METHODS.values():
        cells = (f"`{method.name}`", method.when, JUDGED[method.stage.name], method.scheme.title, model_of(method))
        yield f"| {' | '.join(cells)} |"


def model_of(method: Method) -> str:
    """Return what a method takes of a grade model, and what a bad one does."""
    if method.ignores_model or (not method.is_optimal and not method.stage.needs_model):
        return "not used"
    return "a bad one costs judgments, not truth" if method.is_fitted else "a bad one can cost very much"
