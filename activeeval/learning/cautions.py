"""What pairs cannot tell of gains and discounts."""

from __future__ import annotations

import numpy as np

from activeeval.errors import InputError
from activeeval.learning.census import Census
from activeeval.learning.preferences import PreferenceData
from activeeval.learning.readout import Floats, ReadOut, read_out

_UNSEEN = 1e-9
_MOST = 0.9


class UndeterminedWarning(UserWarning):
    """Preferences leave gains or discounts open; these are then what the penalty and the shape make of them."""


def cautions(data: PreferenceData, census: Census, weights: Floats) -> list[str]:
    """Return what must be said of what was learned and can be read out, a sentence each."""
    said = []
    if census.unexplainable + census.indistinguishable == census.pairs:
        said.append(f"no DCG agrees with any of the {census.pairs} preferences, whatever its gains and discounts")
    n_silent = census.decided + census.indistinguishable
    if n_silent > _MOST * census.pairs:
        said.append(
            f"{n_silent} of {census.pairs} preferences are between lists of the same grades or for a list that every "
            "DCG prefers, such as the best order of its items: they say next to nothing of gains and discounts"
        )
    try:
        found = read_out(weights)
    except InputError as problem:
        return [*said, *blind_spots(data, None), str(problem)]
    said += blind_spots(data, found)
    if not found.falls:
        said.append("the discounts do not fall from rank to rank, or are not positive")
    if found.rank_one_share < _MOST:
        said.append(
            f"gains and discounts hold {found.rank_one_share:.0%} of the weights: what a grade is worth depends on its "
            "rank, or there are too few pairs to tell"
        )
    return said


def blind_spots(data: PreferenceData, found: ReadOut | None) -> list[str]:
    """Return what the pairs cannot tell of gains and discounts, a sentence each; found is None where none are.

    A direction in which gains and discounts can move without any pair's difference moving is a null vector of D J: D
    the differences of the pairs, J the derivative of c gᵀ by c and g. One is always there, the scale.
    """
    reasons = [
        f"no pair tells grade {grade} from grade {grade - 1}: their gains differ by what the shape and the penalty say"
        for grade in range(1, data.n_levels)
        if not _is_weighed(data, grade) or not _differs(data, grade)
    ]
    never = np.flatnonzero((data.preferred == data.other).all(axis=0)) + 1
    if never.size:
        ranks = ", ".join(map(str, never.tolist()))
        reasons.append(f"no pair differs at rank {ranks}: what is found there is what the shape and the penalty say")
    if _same_grades(data):
        reasons.append(
            "both lists of every pair hold the same grades, so the discounts are known only up to a constant that is "
            "added to all: compare (c_k − c_K) / (c_1 − c_K)"
        )
    if found is not None and not reasons and (n_hidden := _hidden_directions(data, found)) > 0:
        reasons.append(f"the pairs leave {n_hidden} directions of the gains and discounts open: more pairs tell more")
    return reasons


def _is_weighed(data: PreferenceData, grade: int) -> bool:
    """Tell whether some rank holds ``grade`` in one list of a pair and not in the other."""
    return bool(np.any((data.preferred == grade) != (data.other == grade)))


def _differs(data: PreferenceData, grade: int) -> bool:
    """Tell whether some rank holds ``grade`` or more in one list of a pair and less in the other."""
    return bool(np.any((data.preferred >= grade) != (data.other >= grade)))


def _same_grades(data: PreferenceData) -> bool:
    return bool(np.array_equal(np.sort(data.preferred, axis=1), np.sort(data.other, axis=1)))


def _hidden_directions(data: PreferenceData, found: ReadOut) -> int:
    n_ranks, n_levels = data.depth, data.n_levels
    by_discount = np.kron(np.eye(n_ranks), found.relative_gains[:, None])
    by_gain = np.kron(found.discounts[:, None], np.eye(n_levels)[:, 1:])
    differences = data.differences()
    seen = (differences.T @ differences).toarray()
    tangent = np.hstack((by_discount, by_gain))
    spectrum = np.linalg.eigvalsh(tangent.T @ seen @ tangent)
    return int((spectrum < _UNSEEN * spectrum[-1]).sum()) - 1
