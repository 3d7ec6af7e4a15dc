"""Which command, which method: a tree from the question to the command, asked of the methods' table.

Which method a measure has, which ones fit it, and when to use which is asked of `activeeval.core.design.methods`; the
questions and their commands stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from activeeval.core.design.methods import METHODS, Method, default_method
from activeeval.core.measures import parse_measure

MEASURES = {
    "DCG": "DCG@10",
    "P": "P@10",
    "RBP": "RBP(p=0.8)",
    "nDCG": "nDCG@10",
    "ERR": "ERR@10",
    "RR": "RR@10",
    "Success": "Success@5",
    "R": "R@20",
    "AP": "AP",
}
"""One of each family, as a command takes it."""
SCALED = {"ERR@10": "ERR(max_rel=4)@10"}
"""What a measure's name lacks outside of a command, which knows the scale of its judgments."""
JUDGED = {"items": "some documents of a list", "depth": "a list down to some depth", "whole": "whole lists"}
SAMPLED = {
    "Is the new run better than the old one?": "--run new.run --versus-run old.run",
    "How good is one run?": "--run new.run",
    "Which of several runs is best?": "--run a.run --run b.run --run c.run",
    "What did an index update change, judgments known?": "--run new.run --versus-run old.run --judged qrels.txt",
    "How good is it in each segment?": "--run new.run --segments segments.csv --half-width all=0.05",
}  # fmt: skip
"""A question, and what `activeeval sample` takes for it."""
WITHOUT_SAMPLE = (
    ("All results are judged already", (
        ("How good are the runs?", "activeeval score qrels.txt a.run b.run nDCG@10"),
        ("Is the new run worse? A gate", "activeeval compare old.run new.run --qrels qrels.txt --measure nDCG@10"),
        ("What had sampling saved?", "activeeval simulate --qrels qrels.txt --run new.run --measure AP --budget 10%"),
    )),
    ("Nothing is to be judged yet", (
        ("How many judgments will it take?", "activeeval plan --run new.run --measure DCG@10 --half-width 0.2"),
        ("What may the unjudged documents be worth?", "activeeval score qrels.txt new.run nDCG@10 --unjudged-bounds"),
        ("Which queries to evaluate with?", "activeeval queries draw log.csv --n 300 --out queries.csv"),
        ("Which measure?", "activeeval gains learn prefs.jsonl --out gains.json"),
    )),
    ("It goes on for weeks, or every night", (
        ("Several people judge, for weeks", "activeeval campaign create autumn …"),
        ("Every night a new run", "activeeval watch init quality …"),
    )),
    ("People cannot agree on grades", (
        ("Which of two documents is better?", "activeeval sample … "),
    )),
)  # fmt: skip


def pages() -> dict[str, str]:
    """Return the tree and the table of methods."""
    return {"made/choose.md": "\n".join((*_tree(), *_table())) + "\n"}


def method_of(measure: str) -> Method:
    """Return the method that a command takes for a measure."""
    return default_method(parse_measure(SCALED.get(measure, measure)))


def _tree() -> Iterator[str]:
    yield from ("## From the question to the command", "", "**Something is to be judged**", "")
    names = sorted(MEASURES, key=lambda name: list(METHODS).index(method_of(MEASURES[name]).name), reverse=True)
    for question, takes in SAMPLED.items():
        yield f"- {question}"
        for method, members in groupby(names, key=lambda name: method_of(MEASURES[name]).name):
            families = list(members)
            judged = JUDGED[METHODS[method].stage.name]
            how_much = "" if "--half-width" in takes else " --budget 200"
            yield f"  - by {', '.join(families)}: method `{method}`, which judges {judged}"
            yield f"    - `activeeval sample {takes} --measure {MEASURES[families[0]]}{how_much} …`"
    for situation, questions in WITHOUT_SAMPLE:
        yield from ("", f"**{situation}**", "")
        for question, command in questions:
            yield f"- {question}"
            yield f"  - `{command}`"


def _table() -> Iterator[str]:
    yield from ("", "## The methods", "", "The measure chooses; `--method NAME` takes another one.", "")
    yield from ("| method | when | judged | drawn | measures that it fits |", "|---|---|---|---|---|")
    for method in METHODS.values():
        fits = [name for name, text in MEASURES.items() if method.fits(parse_measure(SCALED.get(text, text)))]
        families = "all" if len(fits) == len(MEASURES) else ", ".join(fits)
        cells = (f"`{method.name}`", method.when, method.stage.name, method.scheme.title, families)
        yield f"| {' | '.join(cells)} |"
