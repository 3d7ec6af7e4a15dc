"""How likely each query of a pool is to be drawn, before any label is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.core.design import Design
from activeeval.inputs.arguments import budget_of, checked, measure_of
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import check_fits
from activeeval.report.numbers import counted
from activeeval.report.rendering import Cell
from activeeval.report.rows import design_columns
from activeeval.sampling.arguments import PoolOptions, asked_of, choices_of, frame_kind_of
from activeeval.sampling.draw_case import design_of
from activeeval.sampling.question_case import CaseResult, Progress, Say, case_for, unsaid

_SHOWN = ("query_id", "sampling_prob", "weight", "cost", "expected_cost")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QueryRates(CaseResult):
    """The design of a sample, query by query: `design` returns it.

    Attributes
    ----------
    made : Design
    """

    made: Design

    @property
    def columns(self) -> dict[str, Any]:
        """What is known of each query, column by column."""
        return design_columns(self.made)

    @property
    def sentences(self) -> list[str]:
        """What a sample, or a draw, takes."""
        made, costs = self.made, self.columns["expected_cost"]
        what = "the sample" if made.scheme.can_be_topped_up else "a draw"
        taken = f"{what} takes {costs.sum():.6g} {made.pool.cost_unit} on average"
        return [f"{counted(made.pool.n_queries, 'query')}, {made.target.name}, {taken}"]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """The rates of each query."""
        return [{name: row[name] for name in _SHOWN} for row in self.rows()]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each query, as the command line writes it."""
        columns = {name: list(map(_plain, column)) for name, column in self.columns.items()}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _plain(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell


def rates_of(
    choices: Choices,
    measure: str,
    method: str | None,
    budget: Budget,
    *,
    say: Say = unsaid,
    progress: Progress = unsaid,
) -> QueryRates:
    """Design a sample of one question and return its rates; no label of the pool is looked at.

    Parameters
    ----------
    method : str or None
        By default the best for the measure that a bad model cannot spoil.
    """
    check_fits([measure], [method] if method else [])
    case = case_for(choices, [measure], use_labels=False, most_systems=2, say=say, progress=progress)
    return QueryRates(case=case, made=design_of(case, measure, method, budget, choices.defensive_share))


class DesignOptions(PoolOptions, total=False):
    """What else `design` may be told.

    Attributes
    ----------
    method : str
        By default the best for the measure that a bad model cannot spoil.
    """

    method: str


@checked
def design(
    runs: Any,
    *,
    measure: Any = "DCG",
    budget: Any = "10%",
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    seed: int = 0,
    **options: Unpack[DesignOptions],
) -> QueryRates:
    """Say how likely each query is to be drawn, what it costs and what is expected of it; no label is looked at.

    Parameters
    ----------
    runs, max_grade, judged, names
        As of `sample`: one run, or two.
    measure : str or measure
    budget : int, float or str
        200, "10%".
    options
        `DesignOptions`: method, train, grade_probs, graders, model, pool_depth, overhead, ….

    Examples
    --------
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(6)} for q in range(10)}
    >>> rates = design(run, measure="DCG@3", budget=12, max_grade=3)
    >>> frame = rates.to_frame("polars")
    >>> frame.height, round(frame["expected_cost"].sum())
    (10, 12)
    """
    asked, of_pool = asked_of(options, DesignOptions)
    choices = choices_of(runs, names, judged, max_grade, seed, of_pool)
    paid = budget_of(budget) or Budget.parse("10%")
    made = rates_of(choices, measure_of(measure), asked.get("method"), paid)
    return replace(made, frame_kind=frame_kind_of(runs, judged, options))
