"""Verb `design`: compute the sampling probability of each query of a pool, before any label is used."""

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
    """Design of a sample, query by query; `design` returns it.

    Attributes
    ----------
    made : Design
        The sampling design.
    """

    made: Design

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the table, by name: id, probabilities, weight, moments, cost and number of items of each query."""
        return design_columns(self.made)

    @property
    def sentences(self) -> list[str]:
        """One sentence on the mean cost of a sample, or of a draw."""
        design, costs = self.made, self.columns["expected_cost"]
        unit_of_cost = "the sample" if design.scheme.can_be_topped_up else "a draw"
        cost = f"{unit_of_cost} takes {costs.sum():.6g} {design.pool.cost_unit} on average"
        return [f"{counted(design.pool.n_queries, 'query')}, {design.target.name}, {cost}"]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """Row of each query: its id, sampling probability, weight and costs."""
        return [{name: row[name] for name in _SHOWN} for row in self.rows()]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each query, as in the command's JSON and CSV output."""
        columns = {name: list(map(_plain, column)) for name, column in self.columns.items()}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _plain(cell: Any) -> Any:
    """Convert a NumPy scalar to a Python number."""
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
    """Design a sample for one question, and return its sampling rates; no label of the pool is used.

    ``say`` gets notes on the pool, ``progress`` texts that name the next step.

    Parameters
    ----------
    choices : Choices
        Files and options from which the pool is prepared.
    measure : str
        Name of the measure, as "DCG@10".
    method : str or None
        By default the best one for the measure among those that stay unbiased under a bad grade model.
    budget : Budget
        Number of judgments, or share of judging everything.
    """
    check_fits([measure], [method] if method else [])
    case = case_for(choices, [measure], use_labels=False, most_systems=2, say=say, progress=progress)
    return QueryRates(case=case, made=design_of(case, measure, method, budget, choices.defensive_share))


class DesignOptions(PoolOptions, total=False):
    """Further options of `design`.

    Attributes
    ----------
    method : str
        By default the best one for the measure among those that stay unbiased under a bad grade model.
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
    """Compute each query's sampling probability, cost and expected value; no label is used.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, or a list of two
        One run or two.
    max_grade : int
        Largest grade of the scale.
    judged : path, frame, dict or Judgments, or a list of them
        Known grades.
    names : sequence of str
        Names of the runs; by default those of their files.
    measure : str or measure
    budget : int, float or str
        Number of judgments, or a share of judging everything: 200, "10%".
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
    arguments, of_pool = asked_of(options, DesignOptions)
    choices = choices_of(runs, names, judged, max_grade, seed, of_pool)
    paid = budget_of(budget) or Budget.parse("10%")
    rates = rates_of(choices, measure_of(measure), arguments.get("method"), paid)
    return replace(rates, frame_kind=frame_kind_of(runs, judged, options))
