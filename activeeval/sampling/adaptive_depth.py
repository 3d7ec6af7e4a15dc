"""When the labels of a query decide how deep it is judged, where nobody says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from activeeval.core.design.methods import Method
from activeeval.core.errors import InputError
from activeeval.core.measures import NDCG, Measure, Target
from activeeval.inputs.prepared_case import PreparedCase

FOLLOWING = (NDCG,)
"""Measures whose depths follow labels unless somebody says otherwise: in no cell of benchmarks/results/history.json
is the error of nDCG significantly larger so. RR, Success and AP lose in 2, 11 and 13 of about 100 cells, R with three
looks in 6 (history-measures, history-ideal); ERR in none, but its gain, a twentieth to a third, is on MQ2008 no more
than the tenth of a budget that batches keep."""
OF_SHEETS, OF_CAMPAIGNS = "3", "each"
"""When labels are then looked at: people are not to fill in a sheet for each; who claims does not notice."""


class DrawOptions(TypedDict, total=False):
    """How a sample is drawn for its questions: the same for `draw`, `plan_sample` and `budget_for`.

    Attributes
    ----------
    defensive_share : float
        See `activeeval.inputs.choices.Choices`.
    weights : {"equal", "sum", "minimax"} or sequence of float
        How several questions are balanced, see `PreparedCase.design`; by default equal.
    adaptive_depth : {"each", "3", "1", "off"}
        When the labels of a query decide how deep it is judged, of methods that judge to depths.
    usual : {"each", "3", "1", "off"}
        The ``adaptive_depth`` of measures whose depths usually follow labels, where nobody says it; by default as of
        sheets.
    """

    defensive_share: float | None
    weights: str | Sequence[float]
    adaptive_depth: str | None
    usual: str


def is_blind(case: PreparedCase, targets: Iterable[Target]) -> bool:
    """Whether nothing is known of the grades and a ranking alone is asked about.

    On the generated pool of long lists nDCG@10 had 2.4 times the squared error of planned depths so, on four others
    less than theirs; of two rankings, or with a grade model, no cell lost (benchmarks/results/efficiency.json).
    """
    return case.beliefs.is_uniform and any(target.versus is None for target in targets)


def adaptive_depth_of(
    method: Method, measures: Iterable[Measure], asked: str | None, usual: str = OF_SHEETS, *, blind: bool = False
) -> str:
    """Return when the labels of a query are looked at to see how deep it is judged.

    Parameters
    ----------
    asked : {"each", "3", "1", "off"} or None
        None: as ``usual`` of measures whose depths follow labels unless somebody says otherwise, else never.
    blind : bool
        As `is_blind` says: then never, unless it is asked for.

    Raises
    ------
    InputError
        Where they are to be looked at and the method judges to no depths.

    Examples
    --------
    >>> from activeeval import DCG, METHODS
    >>> adaptive_depth_of(METHODS["depth"], [NDCG()], None), adaptive_depth_of(METHODS["depth"], [NDCG(), DCG()], None)
    ('3', 'off')
    """
    if asked is None:
        follows = method.has_depths and not blind and all(isinstance(each, FOLLOWING) for each in measures)
        return usual if follows else "off"
    if asked != "off" and not method.has_depths:
        problem = f"`adaptive_depth` is for methods that judge queries to a depth, {method.name!r} does not: "
        raise InputError(problem + "expected method depth, or `adaptive_depth` off", field="adaptive_depth")
    return asked


def adaptive_depth_in(
    case: PreparedCase, method: Method, targets: Sequence[Target], asked: str | None, usual: str = OF_SHEETS
) -> str:
    """Return `adaptive_depth_of` a case's targets; raises as it does."""
    measures = [target.measure for target in targets]
    return adaptive_depth_of(method, measures, asked, usual, blind=is_blind(case, targets))
