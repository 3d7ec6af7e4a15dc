"""Results as table rows: designs and plans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.results import rounded_up
from activeeval.report.answer_sentences import WIDTH, table_width, without
from activeeval.report.numbers import FOUR_IN_FIVE, spanned
from activeeval.report.rendering import Cell

if TYPE_CHECKING:
    from activeeval.core.design import Design
    from activeeval.core.planning import PlannedRow, QuestionPlan, SamplePlan
    from activeeval.core.planning.prices import Price


def whole(number: float) -> str:
    """Format a number rounded up to a whole number.

    Examples
    --------
    >>> whole(242.3), whole(1243.0000000001)
    ('243', '1,243')
    """
    return f"{rounded_up(number):,}"


def amount(budget: float) -> str:
    """Format a budget: as a whole number from 100 on, else with four significant digits."""
    return f"{budget:,.0f}" if budget >= 100 else f"{budget:.4g}"


def design_columns(design: Design) -> dict[str, NDArray[Any]]:
    """Collect the columns of a design by query, arrays of shape (n_queries,).

    ``sampling_prob`` is q for draws with replacement, else the inclusion probability π at the budget. ``mean`` and
    ``variance`` are those of the query's value by the grade model; NaN without one. ``cost`` is that of judging the
    whole query, ``expected_cost`` its mean cost per draw or at the budget, both in mean items (cost of an average
    item). ``n_items`` counts the places (items in judging order) that can be judged: those with a positive rate.
    """
    from activeeval.core.design import WHOLE  # imported late, as score tables do not need designs

    order, n = design.order, design.order.n_queries
    pi, _ = design.inclusion_probs
    # without `beliefs` (the grade model) there are no moments (mean and variance of a query's value)
    moments = None if design.beliefs is None else WHOLE.moments(design.target, design.beliefs)
    open_costs = np.where(order.place_rates > 0, order.costs, 0.0)
    whole = np.bincount(order.place_queries, open_costs, minlength=n) + order.overheads
    return {
        "query_id": design.pool.query_ids,
        "query_prob": order.query_probs,
        "sampling_prob": pi,
        "weight": np.divide(order.query_probs, pi, out=np.zeros(n), where=pi > 0),
        "mean": design.readings[0].predictions,
        "variance": np.full(n, np.nan) if moments is None else moments.variance,
        "cost": whole,
        "expected_cost": _expected_costs(design),
        "n_items": np.bincount(order.place_queries, order.place_rates > 0, minlength=n),
    }


def _expected_costs(design: Design) -> NDArray[np.float64]:
    """Compute the expected cost of each query, shape (n_queries,), in mean items.

    A query's overhead is paid if any of its items is judged. ``pi`` are the inclusion probabilities of queries, ``a``
    those of items; ``inside`` are those of items once their query is drawn, ``none`` the probability that no item is.
    """
    order, owners, n = design.order, design.order.place_queries, design.order.n_queries
    pi, a = design.inclusion_probs
    inside = np.divide(a, pi[owners], out=np.zeros_like(a), where=a > 0)
    with np.errstate(divide="ignore"):
        none = np.exp(np.bincount(owners, np.log1p(-inside), minlength=n))
    return np.asarray(np.bincount(owners, a * order.costs, minlength=n) + pi * (1 - none) * order.overheads)


def plan_rows(plan: QuestionPlan, *, confidence: float, price: Price | None) -> list[dict[str, Cell]]:
    """Build a row for each method and budget of a question's plan, with half-widths at a confidence level.

    ``power`` is the power to detect the question's difference, None without one; ``goal`` is the goal that the budget
    should reach. ``_low`` and ``_high`` bound a value in four of five cases: half-widths of samples, the power of the
    design, and, for a goal, the budget that reaches it; None before the first label. ``hours`` and ``money`` require a
    price.
    """
    rows = []
    for planned in plan.rows:
        prospect, power = planned.prospect, plan.power(planned.prospect) or (None, None, None)
        goal, forecast = planned.goal, plan.forecasts[planned.prospect.method]
        row: dict[str, Cell] = {
            "measure": plan.target.name,
            "question": plan.question,
            **dict(zip(("system", "versus"), plan.systems, strict=False)),
            "method": prospect.method,
            "budget": prospect.budget,
            **_ranged("budget", (None, None) if goal is None else goal.budgets(forecast)),
            "half_width": prospect.half_width("pool", confidence),
            **_ranged("half_width", prospect.known_half_widths("pool", confidence)),
            "half_width_population": prospect.half_width("population", confidence),
            **_ranged("half_width_population", prospect.known_half_widths("population", confidence)),
            "power": power[0],
            **_ranged("power", power[1:]),
            "queries": prospect.queries,
            "items": prospect.items,
            "limit": None if math.isnan(planned.least_variance) else planned.limit(confidence),
            "goal": None if goal is None else str(goal),
            "is_recommended": planned in plan.chosen,
        }
        rows.append(row | _costs(price, prospect.budget))
    return rows


def _costs(price: Price | None, budget: float) -> dict[str, Cell]:
    """Compute the fields hours, money and currency of a budget, as far as the price determines them."""
    if price is None:
        return {}
    hours, money = price.hours(budget), price.money(budget)
    costs: dict[str, Cell] = {} if hours is None else {"hours": hours}
    return costs | ({} if money is None else {"money": money, "currency": price.currency})


def _ranged(name: str, bounds: Sequence[float | None]) -> dict[str, float | None]:
    """Build the fields NAME_low and NAME_high, for a `name`, from the two ends."""
    low, high = bounds
    return {f"{name}_low": low, f"{name}_high": high}


_MOST_ROWS = 12
_SPARED = ("limit", "items", "hours", "queries", "random queries")
"""Columns to drop one by one while a table is too wide."""


def plain_plan_rows(plan: SamplePlan, *, confidence: float, price: Price | None) -> list[dict[str, str]]:
    """Build rows of a plan for reading, one for each method and budget, of each question or its hardest contrast.

    "passive" (random queries, judged completely) is a column. Budgets that should reach a goal are marked "*". With
    many rows, only recommended budgets are shown.
    """
    plans = plan.hardest
    pairs = [(part, row) for part in plans for row in part.rows if row.prospect.method != "passive"]
    if len(pairs) > _MOST_ROWS and len(plans) > 1:
        pairs = [(part, row) for part in plans for row in part.chosen]
    rows = [_plain_row(part, row, confidence, price, of_several=len(plans) > 1) for part, row in pairs]
    if len({row["method"] for row in rows}) == 1:
        rows = [without(row, "method") for row in rows]
    for name in ("measure", "question"):
        if len(rows) > 1 and len({row.get(name) for row in rows}) == 1:
            rows = [without(row, name) for row in rows]
    for name in _SPARED:
        if table_width(rows) > WIDTH:
            rows = [without(row, name) for row in rows]
    return rows


_EXPLANATIONS = {
    "budget": "* should reach the goal.",
    "four in five": FOUR_IN_FIVE,
    "half-width": "None: so few judgments give no interval.",
    "limit": "Limit: the smallest half-width that any choice of items reaches by this grade model.",
}


def plan_footnote(rows: Sequence[Mapping[str, str]]) -> str:
    """Explain the mark and the columns of `plain_plan_rows` that are present."""
    marked = any("*" in row["budget"] for row in rows)
    has_range = any(row["four in five"] != "unknown" for row in rows)
    is_known = all(row["half-width"] != "none" and row["all queries"] != "none" for row in rows if "all queries" in row)
    left_out = {*([] if marked else ["budget"]), *([] if has_range else ["four in five"])}
    left_out |= {"half-width"} if is_known else set()
    columns = [name for name in rows[0] if name not in left_out]
    return " ".join(_EXPLANATIONS[name] for name in columns if name in _EXPLANATIONS)


def _half_width(half: float) -> str:
    """Format a half-width; "none" if it is unbounded."""
    return f"{half:.3g}" if math.isfinite(half) else "none"


def _plain_row(
    plan: QuestionPlan, planned: PlannedRow, confidence: float, price: Price | None, *, of_several: bool
) -> dict[str, str]:
    """Build the row of one method and budget (``planned``), with half-widths at a `confidence`.

    The column "random queries" has the half-width of as many judgments of random queries, each completely judged.
    `of_several` adds measure and question.
    """
    prospect, power = planned.prospect, plan.power(planned.prospect)
    passive = plan.forecasts["passive"].at(prospect.budget)
    cells = {"measure": plan.target.name, "question": " − ".join(plan.names)} if of_several else {}
    cells |= {"method": prospect.method, "budget": whole(prospect.budget) + (" *" if planned.goal else "")}
    costs = _costs(price, prospect.budget)
    cells |= {"hours": f"{costs['hours']:.1f}"} if "hours" in costs else {}
    cells |= {str(costs["currency"]): f"{costs['money']:,.0f}"} if "money" in costs else {}
    cells |= {
        "half-width": _half_width(prospect.half_width("pool", confidence)),
        "four in five": spanned(*prospect.known_half_widths("pool", confidence)),
        "all queries": _half_width(prospect.half_width("population", confidence)),
        "random queries": _half_width(passive.half_width("pool", confidence)),
    }
    if power is not None:
        likely, low, high = power
        cells |= {"power": f"{likely:.2f}" if low is None else f"{likely:.2f} ({low:.2f} to {high:.2f})"}
    return cells | {
        "queries": whole(prospect.queries),
        "items": whole(prospect.items),
        **({} if math.isnan(planned.least_variance) else {"limit": f"{planned.limit(confidence):.3g}"}),
    }
