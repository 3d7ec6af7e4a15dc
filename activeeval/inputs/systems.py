"""Systems: what several rankings of one pool are called, and who of them is compared with whom."""

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
from activeeval.formats.text.trec import Run

QUESTIONS = ("difference", "run", "versus")
Pair = tuple[int, int | None]


class QuestionTarget(NamedTuple):
    """A question with its target.

    Attributes
    ----------
    question : {"difference", "run", "versus"}
    target : Target
    system, versus : str
        Which system it is of, and of a difference the one that is taken off; else empty.
    """

    question: str
    target: Target
    system: str
    versus: str = ""

    @property
    def turned(self) -> QuestionTarget:
        """The difference the other way round."""
        target = replace(self.target, ranking=self.target.other, versus=self.target.ranking)
        return QuestionTarget(self.question, target, self.versus, self.system)

    @property
    def title(self) -> str:
        """What messages call it: the system, or the direction of a difference."""
        return direction(self.system, self.versus)


def direction(system: str, versus: str) -> str:
    """Return what is estimated of which systems: one of them, or one less the other.

    Examples
    --------
    >>> direction("new.run", "old.run"), direction("new.run", "")
    ('new.run − old.run', 'new.run')
    """
    return f"{system} − {versus}" if versus else system


def contrasts_of(n_systems: int, contrasts: str | None = None) -> list[tuple[int, int]]:
    """Return which systems are compared with which.

    Examples
    --------
    >>> contrasts_of(3), contrasts_of(3, "first")
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (0, 2)])
    """
    pairs = list(combinations(range(n_systems), 2))
    return [pair for pair in pairs if pair[0] == 0] if contrasts == "first" else pairs


def asked_of(question: str, n_systems: int, contrasts: str | None = None) -> list[Pair]:
    """Return whom a question is about: a system, and the one it is compared with or None.

    Of one or two systems ``run`` is the first and ``versus`` the second; of more ``run`` is each of them.

    Raises
    ------
    InputError
        Where there are too few systems, or too many.
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
    """Return a question of one of several rankings, or of two."""
    system, other = pair
    target = Target(measure, lists[system], None if other is None else lists[other])
    return QuestionTarget(question, target, names[system], "" if other is None else names[other])


def check_differ(asked: Sequence[QuestionTarget]) -> None:
    """Raise InputError where two of more than two systems have lists that no label can tell apart."""
    differences = [question for question in asked if question.versus]
    if len({name for question in differences for name in (question.system, question.versus)}) <= 2:
        return
    for question in differences:
        if not question.target.matters.any():
            what = f"the lists of {question.system} and {question.versus} do not differ"
            raise InputError(f"{what} where {question.target.name} counts: leave one of the two out")


def loaded_run(source: Any, stand_in: str) -> Run:
    """Return a run of any kind; messages call one that comes from no file as a caller wants.

    Examples
    --------
    >>> loaded_run({"q1": {"d1": 0.5}}, "new").source
    'new'
    """
    run = load_run(source)
    is_named = isinstance(source, (str, os.PathLike, Run))
    return run if is_named else replace(run, source=stand_in)


def checked_names(names: Sequence[str], n_systems: int, *, error: type[InputError] = InputError) -> tuple[str, ...]:
    """Return what a user calls the systems; () where that is nothing.

    Raises
    ------
    InputError
        Where there are more or fewer names than systems, or two are alike.
    """
    if names and (len(names) != n_systems or len(set(names)) < n_systems or not all(map(str.strip, names))):
        problem = f"`names` are {n_systems} different ones, of each system in its order, got {', '.join(names)}"
        raise error(problem, field="names")
    return tuple(names)


def system_names(tags: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return what systems are called: their files, or what tells these apart, a tag or the nearest folder that differs.

    Examples
    --------
    >>> system_names(["bm25", "bm25"], ["runs/a.run", "runs/b.run"])
    ('a.run', 'b.run')
    >>> system_names(["", ""], ["AdaRank/Fold1.score.gz", "ListNet/Fold1.score.gz"])
    ('AdaRank', 'ListNet')
    """
    places = [Path(path.removesuffix(".gz")) for path in paths]
    deepest = max((len(place.parts) for place in places), default=0)
    folders = ([place.parts[-k] if len(place.parts) >= k else "" for place in places] for k in range(2, deepest + 1))
    numbers = [f"run {k + 1}" for k in range(len(paths))]
    for names in ([place.name for place in places], tags, *folders, paths):
        if all(names) and len(set(names)) == len(names):
            return tuple(names)
    return tuple(numbers)
