"""Predict the precision of a sample before it is judged and before any file is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from activeeval.core.design import Design
from activeeval.core.design.methods import default_method
from activeeval.core.errors import BudgetError
from activeeval.core.measures import Target, shown_name
from activeeval.core.planning import MOST_ITEMS, Prospect
from activeeval.core.results import Caution, Note, Told, rounded_up
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.plan_case import name_of, planner_of

_FEW = 30
"""Number of queries below which a cheaper measure is looked for."""
_WORTH = 2.0
"""Factor of additional queries from which a cheaper measure is suggested."""


def expected_notes(
    case: PreparedCase, sample: DrawnSample, defensive_share: float | None = None
) -> list[Note | Caution]:
    """Build notes on the expected half-widths of a sample's questions, before it is judged.

    A warning follows if a measure covers few queries with the budget. Pools of more than `MOST_ITEMS` items get no
    notes, since the prediction takes as long as the sample; nor do samples without random selection.

    Parameters
    ----------
    case : PreparedCase
        The pool with its rankings and grade model, of which the sample was drawn.
    defensive_share : float, optional
        Least share of sampling that does not follow the model, as for the sample.
    """
    design = sample.campaign.drawn_design
    if design.pool.n_items * len(design.targets) > MOST_ITEMS or not sample.campaign.planned:
        return []
    prospects = prospects_of(case, design)
    halves = [prospect.half_width() for prospect in prospects]
    if not any(halves) or not all(map(math.isfinite, halves)):
        return []
    # ends of the ranges with the half-widths of 80 % of samples; None for a model that no label has calibrated
    ranges = [prospect.known_half_widths() for prospect in prospects]
    is_guess = any(low is None for low, _ in ranges)
    planned = Note(
        "planned",
        {
            "names": tuple(name_of(case, question) for question in sample.made_for),
            "half_widths": tuple(halves),
            "lows": tuple(low for low, _ in ranges),
            "highs": tuple(high for _, high in ranges),
            "of_all": tuple(prospect.half_width("population") for prospect in prospects),
            "n_queries": rounded_up(prospects[0].queries),
            "log": None if design.pool.draw is None else design.pool.draw.log.name,
        },
    )
    # budget after which the sample can first be read; unknown with adaptive depth
    first = design.blocks[0] if design.looks == "off" else None
    stage: dict[str, Told] = {"n": None if first is None else rounded_up(first), "unit": design.pool.cost_unit}
    unknown = [Note("width unknown", stage)] if is_guess else []
    return [planned, *unknown, *_dear(case, design, prospects, defensive_share)]


def prospects_of(case: PreparedCase, design: Design) -> tuple[Prospect, ...]:
    """Predict the precision of a design at its budget, for each of its targets, from the grade model of ``case``."""
    return planner_of(case, design.targets).drawn(design)


def _dear(
    case: PreparedCase, design: Design, prospects: Sequence[Prospect], defensive_share: float | None
) -> Iterator[Caution]:
    """Yield a warning for each measure that is expensive, because it needs all items of a query.

    Only if it covers few queries with the budget, and the cheaper measure without its ideal (as DCG for nDCG) covers at
    least `_WORTH` times as many. ``prospects`` has the predicted precision of each target of the design.
    """
    named = set()
    for target, prospect in zip(design.targets, prospects, strict=True):
        instead = getattr(target.measure, "numerator", None)  # the measure without its ideal
        if instead is None or prospect.queries >= _FEW or target.name in named:
            continue
        other = Target(instead, target.ranking, target.versus)
        method = default_method(instead).name
        try:
            cheaper = case.design(method, other, defensive_share, budget=design.budget)
        except BudgetError:
            continue
        (better,) = prospects_of(case, cheaper)
        if better.queries < _WORTH * prospect.queries:
            continue
        named.add(target.name)
        yield Caution(
            "warning",
            "dear",
            {
                "measure": target.name,
                "budget": prospect.budget if design.budget is None else design.budget,
                "unit": design.pool.cost_unit,
                "n_queries": rounded_up(prospect.queries),
                "half_width": prospect.half_width(),
                "instead": shown_name(instead),
                "instead_queries": rounded_up(better.queries),
                "instead_half_width": better.half_width(),
            },
        )
