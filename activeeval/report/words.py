"""The words of every caution and note, by their codes: the library counts and names, the sentences are made here alone.

A template may hold numbers, as ``{share:.0%}``, and parameters of the library, as ``{option[max_grade]}``, for which a
face has words of its own: a command line its options, Python a name in backticks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from activeeval.results import Caution, Note, Told

Words = str | Callable[[Mapping[str, Any]], str]
"""A template, or what chooses or makes one of the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """A caution or a note with its sentence, as scripts read it.

    Attributes
    ----------
    level : {"note", "careful", "do not use"}
    code, text : str
    numbers : dict
        JSON's own types; what is not finite is None.
    """

    level: str
    code: str
    text: str
    numbers: dict[str, Told]


def in_backticks(parameter: str) -> str:
    """Return how a text names a parameter of the library where nobody says otherwise."""
    return f"`{parameter}`"


def text_of(said: Note | Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Return the sentence of a note, or of a caution without its level; a code without words as it is.

    Parameters
    ----------
    written : callable
        How a parameter of the library is named.

    Examples
    --------
    >>> text_of(Caution("note", "early", {"share": 0.5}))
    'an early reading, of 50% of the planned budget'
    """
    words = _WORDS.get(said.code)
    if words is None:
        return str(Note(said.code, said.numbers))
    template = words if isinstance(words, str) else words(said.numbers)
    return template.format(**said.numbers, option=_Named(written))


def line_of(caution: Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Return a caution as a line that begins with its level.

    Examples
    --------
    >>> line_of(Caution("do not use", "unbounded"))
    'do not use: the judged queries show no spread: they bound nothing, judge more'
    """
    return f"{caution.level}: {text_of(caution, written)}"


def worded(said: Note | Caution, written: Callable[[str], str] = in_backticks) -> Worded:
    """Return a caution, or a note as one of the lowest level, with its sentence."""
    level = said.level if isinstance(said, Caution) else "note"
    numbers = {name: _plain(value) for name, value in said.numbers.items()}
    return Worded(level=level, code=said.code, text=text_of(said, written), numbers=numbers)


def _plain(value: Told) -> Told:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Named(dict[str, str]):
    """Parameters by their names, each as a face writes it."""

    def __init__(self, written: Callable[[str], str]) -> None:
        super().__init__()
        self._written = written

    def __missing__(self, parameter: str) -> str:
        return self._written(parameter)


def _carried(numbers: Mapping[str, Any]) -> str:
    named = " and ".join(f"{{query_ids[{k}]!r}} {share:.0%}" for k, share in enumerate(numbers["shares"]))
    more = "{cost:,} more {unit}, as many as so far,"
    grow = f"{more} spread it" if numbers["can_grow"] else f"a new sample of {more} spreads it"
    return f"single judged queries carry much of the variance ({named}): check their grades; {grow}"


def _size(numbers: Mapping[str, Any]) -> str:
    why = {
        "chunks": "items of a pool in chunks do not tell",
        "too few": "the judged queries tell too little of how queries differ",
    }
    return f"no effective sample size: {why[numbers['why']]}"


_CAUTIONS: dict[str, Words] = {
    "unbounded": "the judged queries show no spread: they bound nothing, judge more",
    "no spread": "the {n_open} judged queries show no spread: the interval rests on what was expected before anything "
    "was judged, judge more",
    "less spread": "the sample saw less spread than expected (standard error {std_error:.3g}, planned {planned:.3g}): "
    "rare large differences may be missing from it, for which the interval makes room; judge more",
    "more spread": "the grade model is far too sure of itself (standard error {std_error:.3g}, planned "
    "{planned:.3g}): let these grades teach the model of the next sample, which costs less then",
    "few decide": "few of the {n_open} judged queries decide the estimate ({degrees_of_freedom:.1f} effective degrees "
    "of freedom)",
    "one query": "{share:.0%} of what chance leaves out is of query {query_id!r} alone: the interval can be far too "
    "short",
    "carried": _carried,
    "input": "{text}",
    "early": "an early reading, of {share:.0%} of the planned budget",
    "cannot": "{n_items} items could not be judged, taken {treated}: between {low:.6g} and {high:.6g} at the grades "
    "that lower or raise it most",
    "size": _size,
}
_WORDS = _CAUTIONS
