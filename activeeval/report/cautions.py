"""Cautions of several estimates in few lines: equal cautions are merged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from activeeval.core.results import LEVELS, Caution, Note
from activeeval.report.message_lookup import MessageText, in_backticks, text_of, worded

MACHINE_IS_TRUTH = "machine is truth"
"""Code of the note that a grader's judgments are used in place of people's."""
MISSING_LISTS = "missing queries"
"""Code of the note, shown first, that a run has no list for some queries."""
NO_RELEVANT = "no relevant document"
"""Code of the note on queries without a relevant document."""
UNJUDGED_ITEMS = "unjudged items"
"""Code of the note on unjudged items counted as grade 0."""
_MOST_NAMED = 3
_NUMBER = re.compile(r"\d[\d.]*")


def caution_lines(
    named: Sequence[tuple[str, Sequence[Caution]]],
    written: Callable[[str], str] = in_backticks,
    *,
    least: str = "warning",
) -> list[str]:
    """Format the cautions of named estimates as lines, the most severe first.

    Equal cautions of several estimates become one line; names are omitted if all estimates share it.

    Parameters
    ----------
    named : sequence of (str, sequence of Caution)
        Name and cautions of each estimate.
    written : callable
        Formats the name of a library parameter.
    least : {"note", "warning", "severe warning"}
        Lowest level to include; notes require no action.

    Examples
    --------
    >>> alike, early = Caution("severe warning", "unbounded"), Caution("note", "early", {"share": 0.5})
    >>> caution_lines([("DCG@10", [alike]), ("P@5", [alike, early])])
    ['severe warning: the judged queries show no spread: there is no interval, judge more']
    """
    return worded_lines(
        [(name, [worded(caution, written) for caution in cautions]) for name, cautions in named], least=least
    )


def marked(rows: Sequence[Mapping[str, Any]], notes: Iterable[Note | Caution]) -> list[dict[str, Any]]:
    """Add the field ``machine_is_truth`` to rows if a note says that graders' judgments are used as truth.

    Examples
    --------
    >>> marked([{"value": 1.0}], [Caution("warning", "machine is truth", {"source": "llm.qrels", "n": 7})])
    [{'value': 1.0, 'machine_is_truth': True}]
    """
    beside = {"machine_is_truth": True} if any(note.code == MACHINE_IS_TRUTH for note in notes) else {}
    return [{**row, **beside} for row in rows]


def missing_lists(notes: Iterable[Note | Caution]) -> list[str]:
    """Format the sentences on runs without lists for some queries, which precede all others.

    Examples
    --------
    >>> missing_lists([Note("missing queries", {"n": 75, "of": 150, "name": "half.run"})])
    ['75 of 150 queries have no list in half.run: they count as 0.']
    """
    return list(dict.fromkeys(f"{text_of(note)}." for note in notes if _code(note) == MISSING_LISTS))


def missing_fields(notes: Iterable[Note | Caution], system: str, versus: str = "") -> dict[str, int]:
    """Count the queries without a list of a run, and of its baseline, as fields of a row.

    Examples
    --------
    >>> missing_fields([Note("missing queries", {"n": 75, "of": 150, "name": "half.run"})], "half.run", "old.run")
    {'missing': 75, 'versus_missing': 0}
    """
    missing = {str(note.numbers["name"]): note.numbers["n"] for note in notes if _code(note) == MISSING_LISTS}
    named = {"missing": system} | ({"versus_missing": versus} if versus else {})
    return {field: int(str(missing.get(name, 0))) for field, name in named.items()}


def counting_lines(notes: Iterable[Note | Caution], written: Callable[[str], str] = in_backticks) -> list[str]:
    """Format the sentences on the treatment of unjudged items and of queries without a relevant document.

    Parameters
    ----------
    written : callable
        Formats the name of a library parameter.

    Examples
    --------
    >>> counting_lines([Note("no relevant document", {"n": 1, "of": 2, "rule": "zero"})])
    ['1 of 2 queries has no relevant document: it counts as 0 (`no_relevant` skip leaves it out).']
    """
    relevant_notes = [note for note in notes if _code(note) in (UNJUDGED_ITEMS, NO_RELEVANT)]
    return list(dict.fromkeys(f"{text_of(note, written)}." for note in relevant_notes))


def no_relevant_fields(notes: Iterable[Note | Caution]) -> dict[str, str | int]:
    """Return the fields ``without_relevant`` (number of queries without a relevant document) and ``no_relevant``.

    The latter is how they count, skip or zero. Without such queries there are no fields.
    """
    numbers = [note.numbers for note in notes if _code(note) == NO_RELEVANT]
    return {"no_relevant": str(numbers[0]["rule"]), "without_relevant": int(str(numbers[0]["n"]))} if numbers else {}


def _code(note: Note | Caution) -> str:
    """Return the code of a note, also if an estimate carries it as an input note."""
    return str(note.numbers["note"]) if note.code == "input" else note.code


def worded_lines(named: Sequence[tuple[str, Sequence[MessageText]]], *, least: str = "warning") -> list[str]:
    """Format cautions that have their texts as lines, most severe first, as `caution_lines` does.

    A caution that graders' grades are used as truth comes first. `least` is the lowest level to include.
    """
    # cautions that become one line, as (name, text), by a key that sorts lines
    alike: dict[tuple[bool, int, str], list[tuple[str, str]]] = {}
    for name, cautions in named:
        for caution in cautions:
            severity = LEVELS.index(caution.level)
            if severity >= LEVELS.index(least):
                text = f"{caution.level}: {caution.text}"
                is_truth = caution.code == MACHINE_IS_TRUTH
                # names of its files may differ in a number alone
                key = (not is_truth, -severity, text if is_truth else _NUMBER.sub("#", text))
                alike.setdefault(key, []).append((name, text))
    ordered = sorted(alike.items(), key=lambda item: item[0][:2])
    return [_line(lines, len(named)) for _, lines in ordered]


def _line(alike: Sequence[tuple[str, str]], n_named: int) -> str:
    """Format equal cautions, given as (name of the estimate, text), as one line; numbers are those of the first.

    `n_named` is the number of all estimates: if all share the caution, none is named.
    """
    names, text = [name for name, _ in alike], alike[0][1]
    if len(names) == n_named or not all(names):
        return text
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    level, _, rest = text.partition(": ")
    return f"{level}: {'; '.join(names[:_MOST_NAMED])}{more}: {rest}"
