"""What pairs cannot tell of gains and discounts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import InputError
from activeeval.core.results import Caution
from activeeval.core.types import Floats
from activeeval.gains.pair_summary import PairSummary, open_pairs
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import ReadOut, read_out
from activeeval.gains.regularization_choice import TunedC

# Of the largest eigenvalue. 20 to 800 pairs of ten ranks and five grades put hidden directions below 1e-15, the others
# above .008.
_UNSEEN = 1e-9
# Round figures. Measures that are gains times discounts hold .97 of the weights or more from 20 pairs on.
_MOST, _FEW = 0.9, 0.05
_RISE = 1e-6  # a discount's rise that is the solver's error, see `activeeval.gains.readout`
_ONE_IN_TWENTY = 1.64  # standard errors: answers by chance alone pass one time in twenty


class UndeterminedWarning(UserWarning):
    """Preferences leave gains or discounts open; these are then what the penalty and the shape make of them.

    Parameters
    ----------
    caution : Caution
        What they leave open; `activeeval.report.message_lookup` has the sentence.
    """

    def __init__(self, caution: Caution) -> None:
        super().__init__(str(caution))
        self.caution = caution


def cautions(data: PreferenceData, summary: PairSummary, weights: Floats, shape: str, with_ties: bool) -> list[Caution]:
    """Return what must be known of what was learned and can be read out.

    Parameters
    ----------
    weights : ndarray, shape (K, L)
    shape : str
        What DCGs have in common, falling discounts, is taken for granted with "decreasing" alone.
    with_ties : bool
        Whether ties were learned from.
    """
    known: list[Caution] = []
    falls = shape == "decreasing"
    if falls and summary.unexplainable + summary.indistinguishable == summary.pairs:
        known.append(Caution("warning", "none explainable", {"pairs": summary.pairs}))
    n_silent = summary.indistinguishable + (summary.decided if falls else 0)
    if n_silent > _MOST * summary.pairs:
        known.append(Caution("warning", "silent preferences", {"n": n_silent, "pairs": summary.pairs}))
    tells = np.where(data.ties, with_ties, open_pairs(data) if falls else (data.preferred != data.other).any(axis=1))
    telling = data.subset(tells) if tells.any() else data
    try:
        readout = read_out(weights)
    except InputError as problem:
        unread = Caution("warning", "nothing read out", {"why": str(problem)})
        return [*known, *blind_spots(telling, None), unread]
    known += blind_spots(telling, readout)
    falls_but_for_a_constant = _hold_same_grades(telling).all() and not np.any(np.diff(readout.discounts) > _RISE)
    if not (readout.falls or falls_but_for_a_constant):
        known.append(Caution("warning", "rising discounts"))
    if readout.rank_one_share < _MOST:
        known.append(Caution("warning", "weights are no product", {"share": readout.rank_one_share}))
    return known


def of_choice(chosen: TunedC, summary: PairSummary) -> list[Caution]:
    """Return a caution where held-out preferences are hardly ordered better than by chance, or none."""
    n_telling = summary.pairs - summary.indistinguishable
    share = min(chosen.precision * summary.pairs / n_telling, 1.0)
    if share > 0.5 + _ONE_IN_TWENTY * np.sqrt(0.25 / n_telling):
        return []
    return [Caution("warning", "hardly better than chance", {"share": float(share), "n": n_telling})]


def blind_spots(data: PreferenceData, readout: ReadOut | None) -> list[Caution]:
    """Return what pairs cannot tell of gains and discounts.

    A direction in which gains and discounts can move without any pair's difference moving is a null vector of D J: D
    the differences of the pairs, J the derivative of c gᵀ by c and g. One is always there, the scale. The cautions
    name the usual ones; what is left is counted.

    Parameters
    ----------
    data : PreferenceData
        The pairs that can tell anything.
    readout : ReadOut or None
        None where nothing could be read out; what is left is then not counted.
    """
    reasons = [reason for grade in range(1, data.n_levels) for reason in _of_grade(data, grade)]
    n_named = len(reasons)
    never = np.flatnonzero((data.preferred == data.other).all(axis=0)) + 1
    if never.size:
        reasons.append(Caution("warning", "ranks without difference", {"ranks": tuple(never.tolist())}))
    n_apart = data.n_pairs - int(_hold_same_grades(data).sum())
    if n_apart == 0:
        reasons.append(Caution("warning", "discounts up to a constant"))
    elif n_apart < _FEW * data.n_pairs:
        reasons.append(Caution("warning", "few tell the constant", {"n": n_apart, "pairs": data.n_pairs}))
    n_named += never.size + (n_apart == 0)
    if readout is not None and (n_left := _hidden_directions(data, readout) - n_named) > 0:
        reasons.append(Caution("warning", "hidden directions", {"n": n_left}))
    return reasons


def _hold_same_grades(data: PreferenceData) -> NDArray[np.bool_]:
    return np.asarray((np.sort(data.preferred, axis=1) == np.sort(data.other, axis=1)).all(axis=1))


def _of_grade(data: PreferenceData, grade: int) -> list[Caution]:
    """Return what is not known of a grade, or nothing."""
    if not np.any((data.preferred == grade) != (data.other == grade)):
        return [Caution("warning", "grade not weighed", {"grade": grade})]
    if not np.any((data.preferred >= grade) != (data.other >= grade)):
        return [Caution("warning", "grades not told apart", {"grade": grade, "below": grade - 1})]
    return []


def _hidden_directions(data: PreferenceData, readout: ReadOut) -> int:
    n_ranks, n_levels = data.depth, data.n_levels
    by_discount = np.kron(np.eye(n_ranks), readout.gains[:, None])
    by_gain = np.kron(readout.discounts[:, None], np.eye(n_levels)[:, 1:])
    differences = data.differences()
    seen = (differences.T @ differences).toarray()
    tangent = np.hstack((by_discount, by_gain))
    spectrum = np.linalg.eigvalsh(tangent.T @ seen @ tangent)
    return int((spectrum < _UNSEEN * spectrum[-1]).sum()) - 1
