"""What pairs cannot tell of gains and discounts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.gains.choosing import TunedC
from activeeval.gains.pair_summary import PairSummary, open_pairs
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import ReadOut, read_out
from activeeval.types import Floats

# Of the largest eigenvalue. 20 to 800 pairs of ten ranks and five grades put hidden directions below 1e-15, the others
# above .008.
_UNSEEN = 1e-9
# Round figures. Measures that are gains times discounts hold .97 of the weights or more from 20 pairs on.
_MOST, _FEW = 0.9, 0.05
_RISE = 1e-6  # a discount's rise that is the solver's error, see `activeeval.gains.readout`
_ONE_IN_TWENTY = 1.64  # standard errors: answers by chance alone pass one time in twenty


class UndeterminedWarning(UserWarning):
    """Preferences leave gains or discounts open; these are then what the penalty and the shape make of them."""


def cautions(data: PreferenceData, summary: PairSummary, weights: Floats, shape: str, with_ties: bool) -> list[str]:
    """Return what must be said of what was learned and can be read out, a sentence each.

    Parameters
    ----------
    weights : ndarray, shape (K, L)
    shape : str
        What DCGs have in common, falling discounts, is taken for granted with "decreasing" alone.
    with_ties : bool
        Whether ties were learned from.
    """
    sentences, falls = [], shape == "decreasing"
    if falls and summary.unexplainable + summary.indistinguishable == summary.pairs:
        sentences.append(
            f"none of the {summary.pairs} preferences is for a list that some DCG with falling discounts prefers"
        )
    n_silent = summary.indistinguishable + (summary.decided if falls else 0)
    if n_silent > _MOST * summary.pairs:
        sentences.append(
            f"{n_silent} of {summary.pairs} preferences are between lists of the same grades or for a list that every "
            "DCG prefers, such as the best order of its items: they say next to nothing of gains and discounts"
        )
    tells = np.where(data.ties, with_ties, open_pairs(data) if falls else (data.preferred != data.other).any(axis=1))
    telling = data.subset(tells) if tells.any() else data
    try:
        readout = read_out(weights)
    except InputError as problem:
        return [*sentences, *blind_spots(telling, None), str(problem)]
    sentences += blind_spots(telling, readout)
    falls_but_for_a_constant = _hold_same_grades(telling).all() and not np.any(np.diff(readout.discounts) > _RISE)
    if not (readout.falls or falls_but_for_a_constant):
        sentences.append("the discounts do not fall from rank to rank, or are not positive")
    if readout.rank_one_share < _MOST:
        sentences.append(
            f"gains and discounts hold {readout.rank_one_share:.0%} of the weights: what a grade is worth depends on "
            "its rank, or there are too few pairs to tell"
        )
    return sentences


def of_choice(chosen: TunedC, summary: PairSummary) -> list[str]:
    """Return what must be said where held-out preferences are hardly ordered better than by chance, or nothing."""
    n_told = summary.pairs - summary.indistinguishable
    share = min(chosen.precision * summary.pairs / n_told, 1.0)
    if share > 0.5 + _ONE_IN_TWENTY * np.sqrt(0.25 / n_told):
        return []
    return [
        f"{share:.0%} of the {n_told} held-out preferences between lists of different grades are ordered rightly, "
        "hardly more than by chance: too few pairs, answers that no grades explain, or preferred and other exchanged"
    ]


def blind_spots(data: PreferenceData, readout: ReadOut | None) -> list[str]:
    """Return what pairs cannot tell of gains and discounts, a sentence each.

    A direction in which gains and discounts can move without any pair's difference moving is a null vector of D J: D
    the differences of the pairs, J the derivative of c gᵀ by c and g. One is always there, the scale. The sentences
    name the usual ones; what is left is counted.

    Parameters
    ----------
    data : PreferenceData
        The pairs that can tell anything.
    found : ReadOut or None
        None where nothing could be read out; what is left is then not counted.
    """
    reasons = [reason for grade in range(1, data.n_levels) if (reason := _of_grade(data, grade))]
    n_named = len(reasons)
    never = np.flatnonzero((data.preferred == data.other).all(axis=0)) + 1
    if never.size:
        ranks = ", ".join(map(str, never.tolist()))
        reasons.append(f"no pair differs at rank {ranks}: what is found there is what the shape and the penalty say")
    n_apart = data.n_pairs - int(_hold_same_grades(data).sum())
    if n_apart == 0:
        reasons.append(
            "both lists of every pair that tells anything hold the same grades, so the discounts are known only up to "
            "a constant that is added to all: compare (c_k − c_K) / (c_1 − c_K)"
        )
    elif n_apart < _FEW * data.n_pairs:
        reasons.append(
            f"{n_apart} of the {data.n_pairs} pairs that tell anything hold other grades in one list than in the "
            "other: a constant that is added to all discounts rests on these few"
        )
    n_named += never.size + (n_apart == 0)
    if readout is not None and (n_left := _hidden_directions(data, readout) - n_named) > 0:
        reasons.append(f"{n_left} more ways to change gains and discounts together leave all pairs as they are")
    return reasons


def _hold_same_grades(data: PreferenceData) -> NDArray[np.bool_]:
    return np.asarray((np.sort(data.preferred, axis=1) == np.sort(data.other, axis=1)).all(axis=1))


def _of_grade(data: PreferenceData, grade: int) -> str:
    """Return what is not known of a grade, or nothing."""
    if not np.any((data.preferred == grade) != (data.other == grade)):
        return f"no pair that tells anything weighs grade {grade}: its gain is what the shape and the penalty say"
    if not np.any((data.preferred >= grade) != (data.other >= grade)):
        return f"no pair tells grade {grade} from grade {grade - 1}: the shape and the penalty say what is between them"
    return ""


def _hidden_directions(data: PreferenceData, readout: ReadOut) -> int:
    n_ranks, n_levels = data.depth, data.n_levels
    by_discount = np.kron(np.eye(n_ranks), readout.relative_gains[:, None])
    by_gain = np.kron(readout.discounts[:, None], np.eye(n_levels)[:, 1:])
    differences = data.differences()
    seen = (differences.T @ differences).toarray()
    tangent = np.hstack((by_discount, by_gain))
    spectrum = np.linalg.eigvalsh(tangent.T @ seen @ tangent)
    return int((spectrum < _UNSEEN * spectrum[-1]).sum()) - 1
