"""When the labels of a query decide how deep it is judged, where nobody says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from activeeval.core.design.methods import Method
from activeeval.core.errors import InputError
from activeeval.core.measures import NDCG, Measure, Target
from activeeval.inputs.case import Case

FOLLOWING = (NDCG,)
"""Measures whose depths follow labels unless somebody says otherwise: in no cell of benchmarks/results/history.json
is the error of nDCG significantly larger so. RR, Success and AP lose in 2, 11 and 13 of about 100 cells, R with three
looks in 6 (history-measures, history-ideal); ERR in none, but its gain, a twentieth to a third, is on MQ2008 no more
than the tenth of a budget that instalments keep."""
OF_SHEETS, OF_CAMPAIGNS = "3", "each"
"""When labels are then looked at: people are not to fill in a sheet for each; who claims does not notice."""


class DrawOptions(TypedDict, total=False):
    """How a sample is drawn for its questions: the same for `draw`, `plan_sample` and `budget_for`.

    Attributes
    ----------
    defensive_share : float
        See `activeeval.inputs.choices.Choices`.
    weights : {"equal", "sum", "minimax"} or sequence of float
        How several questions are balanced, see `Case.design`; by default equal.
    looks : {"each", "3", "1", "none"}
        When the labels of a query decide how deep it is judged, of methods that judge to depths.
    usual : {"each", "3", "1", "none"}
        What ``looks`` are where they are not said, of measures whose depths usually follow labels; by default as of
        sheets.
    """

    defensive_share: float | None
    weights: str | Sequence[float]
    looks: str | None
    usual: str


def is_blind(case: Case, targets: Iterable[Target]) -> bool:
    """Whether nothing is known of the grades and a ranking alone is asked about.

    On the generated pool of long lists nDCG@10 had 2.4 times the squared error of planned depths so, on four others
    less than theirs; of two rankings, or with a grade model, no cell lost (benchmarks/results/efficiency.json).
    """
    return case.beliefs.is_uniform and any(target.versus is None for target in targets)


def looks_of(
    method: Method, measures: Iterable[Measure], asked: str | None, usual: str = OF_SHEETS, *, blind: bool = False
) -> str:
    """Return when the labels of a query are looked at to see how deep it is judged.

    Parameters
    ----------
    asked : {"each", "3", "1", "none"} or None
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
    >>> looks_of(METHODS["depth"], [NDCG()], None), looks_of(METHODS["depth"], [NDCG(), DCG()], None)
    ('3', 'none')
    """
    if asked is None:
        follows = method.has_depths and not blind and all(isinstance(each, FOLLOWING) for each in measures)
        return usual if follows else "none"
    if asked != "none" and not method.has_depths:
        problem = f"`looks` are for depths that follow labels: {method.name!r} has none; "
        raise InputError(problem + "expected method depth, or no looks", field="looks")
    return asked


def looks_in(case: Case, method: Method, targets: Sequence[Target], asked: str | None, usual: str = OF_SHEETS) -> str:
    """Return `looks_of` a case's targets; raises as it does."""
    measures = [target.measure for target in targets]
    return looks_of(method, measures, asked, usual, blind=is_blind(case, targets))
