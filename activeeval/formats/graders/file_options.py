"""Options of a grader after the name of its file: price, scale, name, the run that it produced."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Self

from activeeval.core.errors import InputError, did_you_mean, shown

_KEYS = ("cost", "scale", "name", "made", "asked", "queries", "documents")
_NEXT = re.compile(r":(?=[a-z]+=)")
_SCALE = re.compile(r"(-?[\d.]+)-(-?[\d.]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderDescription:
    """File and options of a grader.

    Attributes
    ----------
    path : str
        The file of its grades.
    cost : float or None
        Price of an item, in units of the price of a person's judgment.
    scale : (float, float) or None
        The least and the largest value that it gives.
    name : str
    made : str
        The run that the grader, or a model of its family, produced.
    asked : str or None
        The table of pairs that a batch of questions is about.
    queries, documents : str or None
        Tables of texts by id, if the file names queries or documents by their texts.

    Examples
    --------
    >>> GraderDescription.parse("umbrela.qrels:cost=.01:scale=0-3").scale
    (0.0, 3.0)
    """

    path: str
    cost: float | None = None
    scale: tuple[float, float] | None = None
    name: str = ""
    made: str = ""
    asked: str | None = None
    queries: str | None = None
    documents: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``FILE[:cost=.01][:scale=0-3][:name=…][:made=RUN][:asked=FILE][:queries=FILE][:documents=FILE]``.

        Raises
        ------
        InputError
            If an option is unknown or occurs twice, or a cost or scale is not valid.
        """
        path, *parts = _NEXT.split(text)
        if not path.strip():
            raise InputError(
                f"{shown(text)} names no file of grades, expected FILE[:cost=.01][:scale=0-3]", field="graders"
            )
        words: dict[str, str] = {}
        for part in parts:
            key, _, value = part.partition("=")
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS)
                raise InputError(f"{text}: {shown(key)} is not an option; {hint}expected {', '.join(_KEYS)}")
            if key in words:
                raise InputError(f"{text}: {key} is there twice, expected it once")
            words[key] = value
        cost = None if "cost" not in words else _price(text, words.pop("cost"))
        scale = None if "scale" not in words else _scale(text, words.pop("scale"))
        return cls(path=path, cost=cost, scale=scale, **words)


def _price(text: str, word: str) -> float:
    """Parse a cost, a number from 0 on; raise InputError otherwise."""
    try:
        price = float(word)
    except ValueError:
        price = math.nan
    if not 0 <= price < math.inf:
        raise InputError(f"{text}: the cost is {shown(word)}, expected a number from 0 on, 1 being a person's item")
    return price


def _scale(text: str, word: str) -> tuple[float, float]:
    """Parse a scale such as ``0-3`` to its least and largest value; raise InputError otherwise."""
    ends = _SCALE.fullmatch(word)
    try:
        least, largest = (float(end) for end in ends.groups()) if ends else (math.nan, math.nan)
    except ValueError:
        least = largest = math.nan
    if not least < largest:
        raise InputError(f"{text}: the scale is {shown(word)}, expected the least and the largest value, as 0-3")
    return least, largest
