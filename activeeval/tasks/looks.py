"""When the labels of a query decide how deep it is judged, where nobody says it."""

from __future__ import annotations

from collections.abc import Iterable

from activeeval.design.methods import Method
from activeeval.errors import InputError
from activeeval.measures import NDCG, Measure

FOLLOWING = (NDCG,)
"""Measures whose depths follow labels unless somebody says otherwise: in no cell of benchmarks/results/history.json
is the error of nDCG significantly larger so. RR, Success and AP lose in 2, 11 and 11 of about 100 cells, R with three
looks in 5 (history-measures.json); ERR in none, but what it gains, a twentieth to a third, is on MQ2008 no more than
the tenth of a budget that instalments keep."""
OF_SHEETS, OF_CAMPAIGNS = "3", "each"
"""When labels are then looked at: people are not to fill in a sheet for each; who claims does not notice."""


def looks_of(method: Method, measures: Iterable[Measure], asked: str | None, usual: str = OF_SHEETS) -> str:
    """Return when the labels of a query are looked at to see how deep it is judged.

    Parameters
    ----------
    asked : {"each", "3", "1", "none"} or None
        None: as ``usual`` of measures whose depths follow labels unless somebody says otherwise, else never.

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
        return usual if method.has_depths and all(isinstance(each, FOLLOWING) for each in measures) else "none"
    if asked != "none" and not method.has_depths:
        problem = f"`looks` are for depths that follow labels: {method.name!r} has none; "
        raise InputError(problem + "expected method depth, or no looks", field="looks")
    return asked
