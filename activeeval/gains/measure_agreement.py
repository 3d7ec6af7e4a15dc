"""Agreement of two sets of gains and discounts on the preferred list of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures import Additive, shown_name
from activeeval.core.pool import QueryPool, whole_grades
from activeeval.core.types import Floats, Ints
from activeeval.gains.graded_lists import grade_matrix, namer

# tolerance for equal discounts or gains: above rounding, below the six digits of stored measures
_EQUAL = 1e-9
# relative to the largest possible sum: the rounding error of K products is about K · 1e-16 of it, K is tens of ranks
_ROUNDING = 1e-14
_LARGEST = 1e100  # largest gain whose products with discounts, summed over ranks, stay finite


@dataclass(frozen=True, slots=True)
class AgreementBin:
    """Pairs of lists whose absolute difference under the first measure lies in one bin.

    Attributes
    ----------
    low, high : float
        Ends of ``|difference|``; the bin includes ``low``, not ``high``.
    pairs : int
    agree : float
        Share on which both measures prefer the same list; NaN without pairs.
    std_error : float
        Monte-Carlo standard error of the share; NaN if the pairs are not a sample.
    """

    low: float
    high: float
    pairs: int
    agree: float
    std_error: float


@dataclass(frozen=True, slots=True)
class CoherenceReport:
    """Agreement of two measures on the order of pairs of lists.

    Attributes
    ----------
    first, second : str
        Names of the measures.
    pairs : int
    agree, disagree, one_tied : float
        Shares of the pairs: both measures prefer the same list (or neither does); they prefer different lists; exactly
        one of them has a tie.
    std_error : float
        Of the share that agrees; NaN if the pairs are not a sample.
    always : str
        Reason for agreement on every pair of full lists, if gains and discounts alone imply it; else empty.
    bins : tuple of AgreementBin
        By the difference under the first measure.
    """

    first: str
    second: str
    pairs: int
    agree: float
    disagree: float
    one_tied: float
    std_error: float
    always: str
    bins: tuple[AgreementBin, ...]


def coherence(
    first: Additive,
    second: Additive,
    lists: ArrayLike,
    others: ArrayLike,
    edges: Sequence[float] | int = 10,
    sampled: bool = True,
) -> CoherenceReport:
    """Compute the share of pairs of graded lists on which two measures prefer the same list.

    Parameters
    ----------
    first, second : Additive
    lists, others : array of int, shape (n, K)
        Grades by rank; pair i is ``lists[i]`` against ``others[i]``.
    edges : sequence of float, or int
        Ends of the bins of ``|difference|`` under the first measure, or the number of bins of equal width.
    sampled : bool
        True if the pairs are a random sample; False if they are the whole population, and standard errors are NaN.

    Raises
    ------
    InputError
        If a measure is not a sum over ranks, or the lists have grades above its largest.

    Examples
    --------
    Gains 3, 2 and ½ of three labels, and their cubes, disagree on (2, 3) against (3, 1), labels counted from the best.

    >>> t = np.array([0.5, 2.0, 3.0])
    >>> report = coherence(Additive(t, [1.5, 0.5]), Additive(t**3, [1.5, 0.5]), [[1, 0]], [[0, 2]])
    >>> report.agree, report.disagree
    (0.0, 1.0)
    """
    sides = [grade_matrix(side, "a list", None, namer(None)) for side in (lists, others)]
    if sides[0].shape != sides[1].shape:
        raise InputError(f"lists have shape {sides[0].shape} and others {sides[1].shape}, expected the same")
    depth, n_levels = sides[0].shape[1], max(int(side.max()) for side in sides) + 1
    sums = [_Sum.of(measure, depth, n_levels) for measure in (first, second)]
    differences = [gain_sum.differences(*sides) for gain_sum in sums]
    signs = [np.sign(difference) for difference in differences]
    agrees, n = signs[0] == signs[1], len(sides[0])
    share = float(agrees.mean())
    return CoherenceReport(
        shown_name(first),
        shown_name(second),
        n,
        share,
        float((signs[0] * signs[1] < 0).mean()),
        float(((signs[0] == 0) != (signs[1] == 0)).mean()),
        _std_error(agrees) if sampled else float("nan"),
        _why_always(*sums),
        _bins(np.abs(differences[0]), agrees, edges, sampled),
    )


def random_list_pairs(
    grades: ArrayLike, n_pairs: int, depth: int | None = None, rng: np.random.Generator | int | None = None
) -> tuple[Ints, Ints]:
    """Draw pairs of random orders of a list of grades, cut at ``depth`` (by default uncut).

    Return two arrays of shape (n_pairs, depth).

    Raises
    ------
    InputError
        If a grade is invalid, or the list is shorter than ``depth``.

    Examples
    --------
    >>> lists, others = random_list_pairs([2, 1, 0], n_pairs=5, rng=0)
    >>> lists.shape, np.sort(others, axis=1).tolist() == [[0, 1, 2]] * 5
    ((5, 3), True)
    """
    whole = grade_matrix([grades], "the list", None, lambda row: "random_list_pairs")[0]
    n_pairs = whole_number(n_pairs, "n_pairs", 1)
    depth = whole.size if depth is None else whole_number(depth, "depth", 1)
    if depth > whole.size:
        raise InputError(f"a depth of {depth} needs a list of as many grades, got {whole.size}")
    shuffled = np.random.default_rng(rng).permuted(np.tile(whole, (2 * n_pairs, 1)), axis=1)[:, :depth]
    return shuffled[:n_pairs], shuffled[n_pairs:]


def random_judged_pairs(
    pool: QueryPool, grades: ArrayLike, n_pairs: int, depth: int, rng: np.random.Generator | int | None = None
) -> tuple[Ints, Ints]:
    """Draw pairs of random orders of the judged items of queries, cut at ``depth``.

    Return two arrays of shape (n_pairs, depth). The query of a pair is drawn uniformly from those with at least two
    judged items. `grades`, shape (n_items,), are by item of the pool, negative if unjudged. A list that ends before
    ``depth`` is padded with grade 0.

    Raises
    ------
    InputError
        If no query has two judged items.
    """
    n_pairs, depth = whole_number(n_pairs, "n_pairs", 1), whole_number(depth, "depth", 1)
    random = np.random.default_rng(rng)
    whole = whole_grades(grades, pool.n_items)
    by_query = np.split(whole, pool.query_offsets[1:-1])
    judged = [query_grades[query_grades >= 0] for query_grades in by_query]
    lists = [query_grades for query_grades in judged if query_grades.size > 1]
    if not lists:
        raise InputError("no query has two judged items, so there is nothing to order")
    orders = np.zeros((2 * n_pairs, depth), dtype=np.int64)
    query = np.tile(random.integers(len(lists), size=n_pairs), 2)
    for number in np.unique(query).tolist():
        rows = np.flatnonzero(query == number)
        shuffled = random.permuted(np.tile(lists[number], (rows.size, 1)), axis=1)[:, :depth]
        orders[rows, : shuffled.shape[1]] = shuffled
    return orders[:n_pairs], orders[n_pairs:]


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """The measure Σ_k c_k g(y_k) for lists of K ranks.

    Discounts c have shape (K,), by rank; gains g have shape (L,), by grade.
    """

    discounts: Floats
    gains: Floats

    @classmethod
    def of(cls, measure: Additive, depth: int, n_levels: int) -> Self:
        """Extract a measure's discounts for ranks 1 … `depth` and its gains for grades 0 … `n_levels` − 1.

        Raises
        ------
        InputError
            If the measure is not a sum of gains over ranks, or not defined or too large for these grades.
        """
        if not isinstance(measure, Additive):
            raise InputError(
                f"{shown_name(measure)} is no sum of gains over ranks; choose DCG, RBP, P or learned gains"
            )
        top = measure.max_grade
        if top is not None and n_levels > top + 1:
            raise InputError(f"the lists hold grade {n_levels - 1}, above the largest of {shown_name(measure)}, {top}")
        discounts, gains = measure.discount_vector(depth), measure.gains.values(n_levels)
        if not np.all(np.abs(gains) <= _LARGEST):
            raise InputError(f"{shown_name(measure)} has gains above {_LARGEST:g} up to grade {n_levels - 1}")
        return cls(np.pad(discounts, (0, depth - discounts.size)), gains)

    def differences(self, lists: Ints, others: Ints) -> Floats:
        """Compute the value of each list minus that of the other, shape (n,); differences within rounding are 0.

        `lists` and `others` have the grades by rank, shape (n, K).
        """
        differences = (self.gains[lists] - self.gains[others]) @ self.discounts
        differences[np.abs(differences) <= _ROUNDING * np.abs(self.gains).max() * np.abs(self.discounts).sum()] = 0.0
        return np.asarray(differences)


def _why_always(first: _Sum, second: _Sum) -> str:
    """Name the reason for which two measures agree on every pair of full lists; "" if there is none."""
    if first.gains.size == 1:
        return "one grade alone occurs"
    if not all(np.all(np.diff(gain_sum.gains) > 0) and gain_sum.discounts[0] > 0 for gain_sum in (first, second)):
        return ""
    if not any(gain_sum.discounts[1:].any() for gain_sum in (first, second)):
        return "one rank alone counts"
    if not np.allclose(
        first.discounts / first.discounts[0], second.discounts / second.discounts[0], rtol=_EQUAL, atol=0
    ):
        return ""
    if first.gains.size == 2:
        return "two grades and the same discounts"
    scaled = [(gains - gains[0]) / (gains[-1] - gains[0]) for gains in (first.gains, second.gains)]
    return (
        "the gains differ by a factor and a constant alone"
        if np.allclose(scaled[0], scaled[1], rtol=_EQUAL, atol=0)
        else ""
    )


def _std_error(agrees: NDArray[np.bool_]) -> float:
    """Compute the binomial standard error of the share of True in `agrees`; NaN if it is empty."""
    share = agrees.mean() if agrees.size else np.nan
    return float(np.sqrt(share * (1 - share) / max(agrees.size, 1)))


def _bins(
    sizes: Floats, agrees: NDArray[np.bool_], edges: Sequence[float] | int, sampled: bool
) -> tuple[AgreementBin, ...]:
    """Group pairs by the absolute difference under the first measure, and compute the share of agreement in each bin.

    Parameters
    ----------
    sizes : ndarray, shape (n,)
        Absolute difference of each pair under the first measure.
    agrees : ndarray of bool, shape (n,)
        True if both measures prefer the same list.
    edges : sequence of float, or int
        Ends of the bins, or the number of bins of equal width.
    sampled : bool
        False leaves standard errors NaN.

    Raises
    ------
    InputError
        If the edges are not two or more increasing numbers.
    """
    if is_count := isinstance(edges, (int, np.integer)):
        ends = np.linspace(0, sizes.max() or 1.0, whole_number(edges, "edges", 1) + 1)
    else:
        ends = np.asarray(edges, dtype=np.float64)
    if ends.ndim != 1 or ends.size < 2 or not np.all(np.diff(ends) > 0):
        raise InputError(f"edges must be two or more increasing numbers, got {edges!r}")
    ends[-1] = np.nextafter(ends[-1], np.inf) if is_count else ends[-1]
    bins = []
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        in_bin = agrees[(sizes >= low) & (sizes < high)]
        share = float(in_bin.mean()) if in_bin.size else float("nan")
        error = _std_error(in_bin) if sampled else float("nan")
        bins.append(AgreementBin(low, high, int(in_bin.size), share, error))
    return tuple(bins)
