"""Texts of cautions and notes by their codes: the library produces codes and numbers, this module the sentences.

A template may hold numbers, as ``{share:.0%}``; counts with their nouns, as ``{n:judged query}`` (1 judged query, 2
judged queries), ``{n:all query}`` (the one query, all 2 queries) or ``{n:,.0f query}``; words that agree with a count,
as ``{n:has|have}``; and parameters of the library, as ``{option[max_grade]}``, which the command line writes as options
and Python as names in backticks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from activeeval.core.results import Caution, Note, Told
from activeeval.report.numbers import agreeing, all_of, counted

Plain = float | int | str | None | list["Plain"]
"""Types of a note's numbers in JSON."""
MessageWords = str | Callable[[Mapping[str, Any]], str]
"""A template, or a function from the numbers to a template."""
MODULES = (
    "activeeval.report.messages",
    "activeeval.formats.messages",
    "activeeval.gains.messages",
    "activeeval.graders.messages",
    "activeeval.traffic.messages",
    "activeeval.sampling.segment_messages",
)
"""Modules with ``WORDS``, templates by code; each is imported only if the ones before lack a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageText:
    """A caution or note with its sentence, for scripts.

    Attributes
    ----------
    level : {"note", "warning", "severe warning"}
    code, text : str
    numbers : dict
        Numbers of the text, in JSON types; non-finite numbers are None.
    """

    level: str
    code: str
    text: str
    numbers: dict[str, Plain]


def in_backticks(parameter: str) -> str:
    """Format a parameter name in backticks, the default style."""
    return f"`{parameter}`"


def text_of(note: Note | Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Format the sentence of a note, or of a caution without its level; without a template, its code and numbers.

    Parameters
    ----------
    written : callable
        Formats the name of a library parameter.

    Examples
    --------
    >>> text_of(Caution("note", "early", {"share": 0.5}))
    'an early reading, of 50% of the planned budget'
    """
    if note.code == "input":  # a note on input that an estimate carries: its code is one of the numbers
        rest = dict(note.numbers)
        return text_of(Note(str(rest.pop("note")), rest), written)
    words = words_of(note.code)
    if words is None:
        return str(Note(note.code, note.numbers))
    template = words if isinstance(words, str) else words(note.numbers)
    return template.format(
        **{name: _shown(value) for name, value in note.numbers.items()}, option=_ParameterNames(written)
    )


def words_of(code: str) -> MessageWords | None:
    """Look up the message template of a code; None if there is none."""
    tables = (import_module(name).WORDS for name in MODULES)
    return next((table[code] for table in tables if code in table), None)


def line_of(caution: Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Format a caution as a line that starts with its level; `written` formats the names of parameters in it.

    Examples
    --------
    >>> line_of(Caution("severe warning", "unbounded"))
    'severe warning: the judged queries show no spread: there is no interval, judge more'
    """
    return f"{caution.level}: {text_of(caution, written)}"


def worded(note: Note | Caution, written: Callable[[str], str] = in_backticks) -> MessageText:
    """Convert a caution, or a note (of the lowest level), to a MessageText; `written` formats parameters' names."""
    level = note.level if isinstance(note, Caution) else "note"
    numbers = {name: _plain(value) for name, value in note.numbers.items()}
    return MessageText(level=level, code=note.code, text=text_of(note, written), numbers=numbers)


def _plain(value: Told) -> Plain:
    """Convert a value of a note to JSON types; a non-finite number becomes None."""
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Told) -> Any:
    """Wrap a value of a note, so that templates can format numbers with nouns and tuples with commas."""
    if isinstance(value, tuple):
        return _CommaList(map(_shown, value))
    return _Number(value) if isinstance(value, int | float) else value


class _CommaList(tuple[Any, ...]):
    """Tuple that a template formats with commas."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Format each value, separated by commas."""
        return ", ".join(format(value, spec) for value in self)


_WITH_NOUN = re.compile(r"(?:(?P<form>[,.\d]*[a-z]) )?(?P<noun>[a-z][a-z-]+(?: [a-z-]+)*)")


@dataclass(frozen=True, slots=True)
class _Number:
    """Number that a template formats alone, with a noun, or as a word that agrees with it."""

    value: float

    def __str__(self) -> str:
        """Format the plain number."""
        return str(self.value)

    def __repr__(self) -> str:
        """Format the plain number."""
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        """Format by a spec: "has|have" (agreement), "all noun", "noun", a number format with or without a noun."""
        if "|" in spec:
            return agreeing(self.value, *spec.split("|"))
        parts = _WITH_NOUN.fullmatch(spec)
        if spec.startswith("all "):
            return all_of(int(self.value), spec.removeprefix("all "))
        if parts is None:
            text = format(self.value, spec)
            # a rounded 0 has no sign; inf and nan keep theirs
            return text if any(digit in "123456789infa" for digit in text) else text.lstrip("+-")
        if not parts["form"]:
            return counted(self.value, parts["noun"])
        text = format(self.value, parts["form"])
        # the noun agrees with the rounded number that is shown
        return f"{text} {counted(1 if text == '1' else 2, parts['noun']).partition(' ')[2]}"


class _ParameterNames(dict[str, str]):
    """Mapping from a library parameter to its written form, as `written` formats it."""

    def __init__(self, written: Callable[[str], str]) -> None:
        """Store the function that formats names."""
        super().__init__()
        self._written = written

    def __missing__(self, parameter: str) -> str:
        """Format a parameter name."""
        return self._written(parameter)
