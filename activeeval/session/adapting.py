"""Rankers adapted to users: a base learned from judgments, preferences from pairs or clicks, how far to follow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.io.clicks import clicks_of
from activeeval.io.comparisons import Comparison, comparisons_of
from activeeval.io.letor import LetorData, read_letor
from activeeval.io.sheets import read_sheet
from activeeval.preferences import item_pairs, preferences_from_clicks
from activeeval.rankers.adaptation import HyperLinearRanker
from activeeval.rankers.ensembles import boosted_trees
from activeeval.rankers.preferring import REGULARIZATIONS, RegularizationChoice, choose_regularization

Floats = NDArray[np.float64]
_CLICKS = {"impressions", "clicks"}


def read_preferences(paths: Sequence[str], level: float = 0.05) -> tuple[list[Comparison], list[str]]:
    """Return the preferences of tables of pairs and of click logs, and what was made of the clicks.

    Parameters
    ----------
    paths : sequence of str
        A table with ``impressions`` and ``clicks`` is a click log.
    level : float
        Of the test that turns clicks into preferences.

    Raises
    ------
    InputError
        Where a file cannot be read, or says no preference.
    """
    found: list[Comparison] = []
    notes: list[str] = []
    for path in paths:
        sheet = read_sheet(path).plainly_named()
        if set(sheet.columns) >= _CLICKS:
            kept = preferences_from_clicks(clicks_of(sheet), level)
            found += kept.comparisons()
            notes += [f"{path}: {line}" for line in kept.report.lines]
        else:
            found += comparisons_of(sheet)
    if all(one.is_tie for one in found):
        raise InputError(f"{', '.join(paths)}: no document is preferred to another, there is nothing to adapt to")
    return found, notes


def adapted(
    letor: Sequence[str],
    comparisons: Sequence[Comparison],
    source: str,
    *,
    pairs_letor: Sequence[str] = (),
    base: str | None = None,
    trees: Mapping[str, Any] | None = None,
    lambdas: Sequence[float] = REGULARIZATIONS,
    **options: Any,
) -> RegularizationChoice:
    """Return the ranker that suits judges and users best, with the path over λ that it was chosen from.

    Parameters
    ----------
    letor : sequence of str
        Judged items.
    comparisons : sequence of Comparison
    source : str
        What messages call them.
    pairs_letor : sequence of str
        Where the compared documents are, if not among the judged ones.
    base : str, optional
        A ranker on file, in place of boosted trees that are learned from the judged items.
    trees : mapping, optional
        As `boosted_trees` takes them: the base that learns from the judged items.
    lambdas : sequence of float
    **options
        As of `choose_regularization`.

    Raises
    ------
    InputError
        Names the file and the place that is wrong.
    """
    judged = read_letor(list(letor))
    users = read_letor(list(pairs_letor)) if pairs_letor else judged
    pairs = item_pairs(users.pool(), comparisons, source)
    ranker = boosted_trees(**(trees or {})) if base is None else HyperLinearRanker.load(base)
    more: dict[str, Any] = {}
    if pairs_letor:
        more = {"pairs_X": _features(users), "pairs_query_ids": _queries(users)}
    return choose_regularization(
        ranker, _features(judged), judged.grades, _queries(judged), pairs, lambdas=lambdas, **more, **options
    )


def scored(path: str, letor: str) -> Floats:
    """Return the scores that a ranker on file gives the rows of a LETOR file.

    Raises
    ------
    InputError
        Where a file cannot be read, or their features differ.
    """
    ranker = HyperLinearRanker.load(path)
    try:
        return np.asarray(ranker.predict(_features(read_letor(letor))))
    except InputError as problem:
        raise InputError(f"{letor}: {problem} ({path})") from None


def _features(data: LetorData) -> Floats:
    features = data.features
    if features is None:
        raise InputError(f"{', '.join(data.paths)}: no features")
    return features


def _queries(data: LetorData) -> NDArray[Any]:
    return np.repeat(np.array(data.query_ids.tolist()), np.diff(data.query_offsets))
