"""Means over folds, with standard errors; labels saved; everything that tables and figures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from activeeval.core.simulation.summaries import saved_at
from activeeval.core.types import Floats
from benchmarks.frame.report import Row

KEYS = ("figure", "case", "measure", "method", "budget")
MEANS = ("mae", "bias", "coverage", "selection_error")
COUNTS = ("queries", "items", "spent", "spent_sd")
ERRORS = {2: "mae", 3: "selection_error", 4: "mae", 5: "mae"}
DOUBT = 5
_N_RESAMPLES = 200


def averaged(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each case, measure, method and budget: the mean over folds.

    A fold's repetitions are independent of another's, so the standard error of the mean of k folds is the root of
    the sum of squared standard errors over k: it tells how exact the simulation is, not how folds differ.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    means = [_mean(group) for group in groups.values()]
    passive = {_place(row): row for row in means if row["method"] == "passive"}
    for row in means:
        row |= _efficiency(passive[_place(row)], row)
    return means


def _efficiency(passive: Row, row: Row) -> Row:
    """Return the ratio of mean squared errors; None where one of them is 0, as where everything was judged."""
    if passive["rmse"] == 0 or row["rmse"] == 0:
        return {"efficiency": None, "efficiency_se": None}
    ratio = (passive["rmse"] / row["rmse"]) ** 2
    relative = np.hypot(passive["rmse_se"] / passive["rmse"], row["rmse_se"] / row["rmse"])
    return {"efficiency": float(ratio), "efficiency_se": float(2 * ratio * relative)}


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEYS if key != "method")


def _mean(group: list[Row]) -> Row:
    n = len(group)
    row = {key: group[0][key] for key in KEYS} | {"folds": n}
    row["repetitions"] = sum(one["repetitions"] for one in group)
    row["truths"] = [one["truth"] for one in group]
    for name in MEANS:
        # neither of two rankings that are equally good on a fold is the wrong one, and one ranking alone has no rival
        known = [one for one in group if one[name] is not None]
        row[name] = float(np.mean([one[name] for one in known])) if known else 0.0
        row[f"{name}_se"] = float(np.sqrt(sum(one[f"{name}_se"] ** 2 for one in known)) / max(len(known), 1))
    for name in COUNTS:
        row[name] = float(np.mean([one[name] for one in group]))
    mse = np.mean([one["rmse"] ** 2 for one in group])
    mse_se = np.sqrt(sum((2 * one["rmse"] * one["rmse_se"]) ** 2 for one in group)) / n
    row |= {"rmse": float(np.sqrt(mse)), "rmse_se": float(mse_se / (2 * np.sqrt(mse))) if mse > 0 else 0.0}
    return row


def curve(rows: Sequence[Row], case: str, measure: str, method: str) -> list[Row]:
    """Return the rows of a method in one panel by budget."""
    own = [row for row in rows if (row["case"], row["measure"], row["method"]) == (case, measure, method)]
    return sorted(own, key=lambda row: row["budget"])


def labels_saved(rows: Sequence[Row], case: str, measure: str, method: str) -> tuple[float, float, float] | None:
    """Compute the share of labels that a method saves at a budget, its standard error, and that budget.

    1 − Λ'/Λ, where the method at Λ' has passive's error at Λ: mean absolute error, or the selection error in
    figure 3; by interpolation, with errors resampled from their standard errors. Λ is the largest budget; where
    rankers are told apart almost always, the largest at which passive still errs beyond doubt. None where Λ' lies
    outside.
    """
    own, passive = curve(rows, case, measure, method), curve(rows, case, measure, "passive")
    if len(own) != len(passive) or len(own) < 2:
        return None
    name = ERRORS[own[0]["figure"]]
    budgets = np.array([row["budget"] for row in own])
    errors, passive_errors = (_with_errors(which, name) for which in (own, passive))
    place = last_telling(passive)
    if place is None:
        return None
    point = saved_at(budgets, errors[0], passive_errors[0])[place]
    if not np.isfinite(point):
        return None
    rng = np.random.default_rng(0)
    drawn = [np.maximum(rng.normal(*which, (_N_RESAMPLES, budgets.size)), 1e-12) for which in (errors, passive_errors)]
    resampled = np.array([saved_at(budgets, a, b)[place] for a, b in zip(*drawn, strict=True)])
    return float(point), float(np.nanstd(resampled)), float(budgets[place])


def last_telling(passive: Sequence[Row]) -> int | None:
    """Return the largest budget, by its place, at which passive errs beyond doubt."""
    values, errors = _with_errors(passive, ERRORS[passive[0]["figure"]])
    telling = np.flatnonzero(values > DOUBT * errors)
    return int(telling[-1]) if telling.size else None


def _with_errors(rows: Sequence[Row], name: str) -> tuple[Floats, Floats]:
    return np.array([row[name] for row in rows]), np.array([row[f"{name}_se"] for row in rows])
