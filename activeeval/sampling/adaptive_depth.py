"""Adaptive depth: defaults for when the labels of a query decide how deep it is judged.

The depth of a query is planned again after each of its labels ("each"), after the first, third and last ranked item
("3"), after the last ranked item ("1"), or never ("off").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from activeeval.core.design.methods import Method
from activeeval.core.errors import InputError
from activeeval.core.measures import NDCG, Measure, Target
from activeeval.inputs.prepared_case import PreparedCase

FOLLOWING = (NDCG,)
"""Measures with adaptive depth by default: in no cell of benchmarks/results/history.json does it significantly increase
the error of nDCG. For RR, Success and AP it does in 2, 11 and 13 of about 100 cells, for R with adaptive depth 3 in 6
(history-measures, history-ideal); for ERR in none, but the gain, a twentieth to a third, is on MQ2008 no more than the
tenth of a budget that batches hold back."""
OF_SHEETS, OF_CAMPAIGNS = "3", "each"
"""Default adaptive depths of sheets and of campaigns: "each" would need one sheet for each label, while judges of a
campaign do not notice it."""


class DrawOptions(TypedDict, total=False):
    """Options of how a sample is drawn, shared by `draw`, `plan_sample` and `budget_for`.

    Attributes
    ----------
    defensive_share : float
        Share of sampling, from 0 to 1, that ignores the grade model, to bound weights; by default 0 or 0.1, by method.
    weights : {"equal", "sum", "minimax"} or sequence of float
        Balance between several questions: equal loss of precision (the default), least total variance, least maximum
        loss, or a weight for each target.
    adaptive_depth : {"each", "3", "1", "off"}
        When the labels of a query decide how deep it is judged, for methods that judge to a depth.
    usual : {"each", "3", "1", "off"}
        Default ``adaptive_depth`` of the measures in `FOLLOWING`; by default that of sheets.
    """

    defensive_share: float | None
    weights: str | Sequence[float]
    adaptive_depth: str | None
    usual: str


def is_blind(case: PreparedCase, targets: Iterable[Target]) -> bool:
    """Check whether nothing is known of the grades of ``case`` (a prepared pool), and a target is one ranking's value.

    That is, every grade counts as equally likely, and at least one target is no difference of two rankings. Adaptive
    depth is then off by default: on the generated pool of long lists nDCG@10 had 2.4 times the squared error of planned
    depths, on four others less than theirs; for two rankings, or with a grade model, no cell lost
    (benchmarks/results/efficiency.json).
    """
    return case.beliefs.is_uniform and any(target.versus is None for target in targets)


def adaptive_depth_of(
    method: Method, measures: Iterable[Measure], chosen: str | None, usual: str = OF_SHEETS, *, blind: bool = False
) -> str:
    """Determine when the labels of a query decide again how deep it is judged: "each", "3", "1" or "off".

    That is after each label; after the first, third and last ranked item; after the last ranked item; or never.

    Parameters
    ----------
    method : Method
        Sampling method; some judge each query down to a depth (``has_depths``).
    measures : iterable of Measure
        All measures that the sample is for.
    usual : {"each", "3", "1"}
        Default for the measures in `FOLLOWING`.
    chosen : {"each", "3", "1", "off"} or None
        The user's choice; None means ``usual`` if the method judges to a depth and all measures are in `FOLLOWING`,
        else "off".
    blind : bool
        True if nothing is known of the grades (`is_blind`): then "off" is the default.

    Raises
    ------
    InputError
        If adaptive depth is chosen and the method does not judge to a depth.

    Examples
    --------
    >>> from activeeval import DCG, METHODS
    >>> adaptive_depth_of(METHODS["depth"], [NDCG()], None), adaptive_depth_of(METHODS["depth"], [NDCG(), DCG()], None)
    ('3', 'off')
    """
    if chosen is None:
        follows = method.has_depths and not blind and all(isinstance(measure, FOLLOWING) for measure in measures)
        return usual if follows else "off"
    if chosen != "off" and not method.has_depths:
        problem = f"`adaptive_depth` is for methods that judge queries to a depth, {method.name!r} does not: "
        raise InputError(problem + "expected method depth, or `adaptive_depth` off", field="adaptive_depth")
    return chosen


def adaptive_depth_in(
    case: PreparedCase, method: Method, targets: Sequence[Target], chosen: str | None, usual: str = OF_SHEETS
) -> str:
    """Determine when labels decide how deep queries are judged, for targets of a prepared pool with its grade model.

    Returns "each", "3", "1" or "off", as `adaptive_depth_of` explains. ``chosen`` is the user's choice, None for the
    default; ``usual`` is the default if it fits method and measures. Raise InputError if the choice does not fit.
    """
    measures = [target.measure for target in targets]
    return adaptive_depth_of(method, measures, chosen, usual, blind=is_blind(case, targets))
