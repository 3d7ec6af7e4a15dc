"""Preference pairs from files: lists of grades, or side-by-side preferences with runs and judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.pool.keyed import Qrels
from activeeval.formats.loading import load_tables, pool_from_tables
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.preferences import UNANSWERED, PairTable, read_pairs
from activeeval.gains.pairs import PreferenceData


@dataclass(frozen=True, slots=True)
class ListSource:
    """Judgments and runs that turn the names of runs into lists of grades.

    Attributes
    ----------
    qrels : path, or callable
        The judgments; a callable returns them.
    runs : sequence of path
        A run's name is its path, its file name, that name without suffix, or the tag of its first line.
    depth : int
        Number of ranks shown side by side.
    ties : {"id", "rank", "input"}
        Order of equal scores.
    """

    qrels: PathLike | Callable[[], Qrels]
    runs: Sequence[PathLike]
    depth: int = 10
    ties: str = "id"


def load_preferences(
    paths: PathLike | Sequence[PathLike], max_grade: int | None = None, source: ListSource | None = None
) -> PreferenceData:
    r"""Read the answered pairs of one or several files; pairs without an answer are left out.

    Parameters
    ----------
    paths : path or sequence of paths
        Tables (.jsonl, .csv, .tsv, .parquet) of the columns preferred and other, or first, second and answer.
    max_grade : int, optional
        Largest grade of the scale; by default the largest that occurs, in the judgments if given.
    source : ListSource, optional
        Required if pairs name runs.

    Raises
    ------
    InputError
        At the first invalid line of a file, or if no pair is answered.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pairs = pathlib.Path(folder, "pairs.csv")
    ...     _ = pairs.write_text("query,first,second,answer\nq1,2 1 0,0 1 2,first\nq2,1 0 0,0 2 0,second\n")
    ...     data = load_preferences(pairs)
    >>> data.n_pairs, data.depth, data.n_levels
    (2, 3, 3)
    """
    answered, _ = load_pairs(paths, max_grade, source)
    if answered is None:
        raise InputError("no pair of these files has an answer, so there is nothing to learn from")
    return answered


def load_pairs(
    paths: PathLike | Sequence[PathLike], max_grade: int | None = None, source: ListSource | None = None
) -> tuple[PreferenceData | None, PreferenceData | None]:
    """Read the answered pairs and the unanswered pairs of files, on one grade scale; None for an empty set.

    ``paths`` are tables of pairs, ``max_grade`` is the largest grade of the scale (None: the largest that occurs), and
    ``source`` turns names of runs into lists of grades.

    Raises
    ------
    InputError
        At the first invalid line, or if pairs name runs and `source` is None.
    """
    table = read_pairs([paths] if isinstance(paths, (str, os.PathLike)) else paths)
    whole = _of_grades(table, max_grade) if source is None else _of_runs(table, source, max_grade)
    is_answered = table.answers != UNANSWERED
    answered, open_ones = np.flatnonzero(is_answered), np.flatnonzero(~is_answered)
    return (
        whole.answered(answered, table.answers[answered]) if answered.size else None,
        whole.answered(open_ones, np.ones(open_ones.size)) if open_ones.size else None,
    )


def _of_grades(table: PairTable, max_grade: int | None) -> PreferenceData:
    """Build pairs from lists of grades; raise InputError if a side is the name of a run."""
    for row, sides in enumerate(zip(table.first, table.second, strict=True)):
        for role, name in zip(("preferred", "other"), sides, strict=True):
            if isinstance(name, str):
                raise InputError(
                    f"{table.places[row]}: {role} is {name!r:.100}, expected a list of grades, one for each rank (in "
                    "text with spaces between), or the name of a run, with `qrels` and `runs`",
                    field="qrels",
                )
    return PreferenceData(
        table.first, table.second, queries=table.queries, max_grade=max_grade, moved=table.moved, places=table.places
    )


def _of_runs(table: PairTable, source: ListSource, max_grade: int | None) -> PreferenceData:
    """Build pairs from names of runs, with the judgments and runs of the source.

    Raises
    ------
    InputError
        If a pair has no query, lists grades, or has a name that fits no run or more than one.
    """
    if table.queries is None:
        raise InputError(f"{table.places[0]}: no query, expected the query that both runs answer")
    judgments, runs = load_tables(source.qrels, list(source.runs))
    tables = pool_from_tables(judgments, runs, evaluated=len(runs), ties=source.ties)
    known: dict[str, set[int]] = {}
    for number, (path, run) in enumerate(zip(source.runs, runs, strict=True)):
        file = Path(path)
        for name in dict.fromkeys((os.fspath(path), file.name, file.stem, file.name.split(".")[0], run.name)):
            known.setdefault(name, set()).add(number)
    rankings = {name: tables.rankings[min(numbers)] for name, numbers in known.items() if len(numbers) == 1}
    for row, sides in enumerate(zip(table.first, table.second, strict=True)):
        for name in sides:
            if not isinstance(name, str):
                raise InputError(f"{table.places[row]}: holds the list {name}, expected the name of a run")
            if len(known.get(name, ())) > 1:
                raise InputError(f"{table.places[row]}: the name {name!r:.100} fits more than one run; use their paths")
    preferences = list(zip(table.queries, table.first, table.second, strict=True))
    return PreferenceData.from_rankings(
        tables.pool, tables.grades, rankings, preferences, source.depth, max_grade, table.places
    )
