"""Names of systems, and pairs of systems to compare."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from activeeval.core.checks import one_of
from activeeval.core.errors import InputError
from activeeval.core.measures import SampledMeasure, Target
from activeeval.core.pool import Rankings
from activeeval.formats.loading import load_run
from activeeval.formats.suffixes import located, unpacked_name
from activeeval.formats.text.trec import Run

QUESTIONS = ("difference", "run", "versus")
Pair = tuple[int, int | None]


class QuestionTarget(NamedTuple):
    """A question with its target and the systems that it is about.

    Attributes
    ----------
    question : {"difference", "run", "versus"}
    target : Target
    system, versus : str
        The system, and for a difference the system subtracted; else "".
    """

    question: str
    target: Target
    system: str
    versus: str = ""

    @property
    def turned(self) -> QuestionTarget:
        """The same difference with the two systems exchanged."""
        target = replace(self.target, ranking=self.target.other, versus=self.target.ranking)
        return QuestionTarget(self.question, target, self.versus, self.system)

    @property
    def title(self) -> str:
        """Name in messages: the system, or the direction of a difference."""
        return direction(self.system, self.versus)


def direction(system: str, versus: str) -> str:
    """Format the estimated quantity: a system, or one minus another.

    Examples
    --------
    >>> direction("new.run", "old.run"), direction("new.run", "")
    ('new.run − old.run', 'new.run')
    """
    return f"{system} − {versus}" if versus else system


def contrasts_of(n_systems: int, contrasts: str | None = None) -> list[tuple[int, int]]:
    """List the pairs of systems to compare, by position: all, or ("first") the first with each of the others.

    Examples
    --------
    >>> contrasts_of(3), contrasts_of(3, "first")
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (0, 2)])
    """
    pairs = list(combinations(range(n_systems), 2))
    return [pair for pair in pairs if pair[0] == 0] if contrasts == "first" else pairs


def asked_of(question: str, n_systems: int, contrasts: str | None = None) -> list[Pair]:
    """List the systems of a question as pairs of positions; the second, for a difference, is subtracted, else None.

    With one or two systems ``run`` is the first and ``versus`` the second; with more ``run`` is each of them.
    `contrasts` selects the differences as in `contrasts_of`.

    Raises
    ------
    InputError
        If there are too few or too many systems for the question.
    """
    if one_of(question, QUESTIONS, "questions") == "run":
        return [(k, None) for k in range(n_systems if n_systems > 2 else 1)]
    if n_systems == 1:
        raise InputError(f"there is one ranking: no second one, and no question {question!r}")
    if question == "difference":
        return list(contrasts_of(n_systems, contrasts))
    if n_systems > 2:
        raise InputError(f"there are {n_systems} systems: 'versus' is the second of two, 'run' asks of each of them")
    return [(1, None)]


def asked_among(
    measure: SampledMeasure, question: str, pair: Pair, lists: Sequence[Rankings], names: Sequence[str]
) -> QuestionTarget:
    """Build the question and target for a pair of systems; `lists` and `names` are those of all systems.

    ``pair`` is (position of the system, position of the one subtracted, None for a value).
    """
    system, versus = pair
    target = Target(measure, lists[system], None if versus is None else lists[versus])
    return QuestionTarget(question, target, names[system], "" if versus is None else names[versus])


def check_differ(asked: Sequence[QuestionTarget]) -> None:
    """Raise InputError if, among three or more systems, two have lists whose difference no label can change."""
    differences = [question for question in asked if question.versus]
    if len({name for question in differences for name in (question.system, question.versus)}) <= 2:
        return
    for question in differences:
        if not question.target.matters.any():
            what = f"the lists of {question.system} and {question.versus} do not differ"
            raise InputError(f"{what} where {question.target.name} counts: leave one of the two out")


def loaded_run(source: Any, stand_in: str) -> Run:
    """Load a run of any kind; `stand_in` is its name in messages if it has no file.

    Examples
    --------
    >>> loaded_run({"q1": {"d1": 0.5}}, "new").source
    'new'
    """
    run = load_run(source)
    is_named = isinstance(source, (str, os.PathLike, Run))
    return run if is_named else replace(run, source=stand_in)


def checked_names(names: Sequence[str], n_systems: int, *, error: type[InputError] = InputError) -> tuple[str, ...]:
    """Check the user's names of systems, and return them; () if there are none.

    Raises
    ------
    InputError
        If the number of names is not that of the systems, or two are equal.
    """
    if names and (len(names) != n_systems or len(set(names)) < n_systems or not all(map(str.strip, names))):
        problem = f"`names` are {n_systems} different ones, of each system in its order, got {', '.join(names)}"
        raise error(problem, field="names")
    return tuple(names)


def system_names(tags: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Name systems by their files; if those are equal, by tags or the nearest folders that differ, else "run 1", ….

    Examples
    --------
    >>> system_names(["bm25", "bm25"], ["runs/a.run", "runs/b.run"])
    ('a.run', 'b.run')
    >>> system_names(["", ""], ["AdaRank/Fold1.score.gz", "ListNet/Fold1.score.gz"])
    ('AdaRank', 'ListNet')
    """
    files = [located(unpacked_name(path)) for path in paths]  # file, and the part of it after a "#"
    places = [Path(f"{file}#{part.replace('/', ':')}" if part else file) for file, part in files]
    deepest = max((len(place.parts) for place in places), default=0)
    folders = ([place.parts[-k] if len(place.parts) >= k else "" for place in places] for k in range(2, deepest + 1))
    numbers = [f"run {k + 1}" for k in range(len(paths))]
    for names in ([place.name for place in places], tags, *folders, paths):
        if all(names) and len(set(names)) == len(names):
            return tuple(names)
    return tuple(numbers)
