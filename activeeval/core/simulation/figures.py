"""Figures over the repetitions of a simulation, each with its Monte-Carlo standard error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.results import Figure
from activeeval.core.types import Floats

NO_ERROR = 1e-12
"""Errors below this share of the true value count as zero."""


def mean_figure(sample: Floats) -> Figure:
    """Compute the mean over repetitions, shape (n,), with its standard error; NaN without any."""
    n = sample.size
    if n == 0:
        return Figure(float("nan"))
    if n < 2 or not np.all(np.isfinite(sample)):
        return Figure(float(sample.mean()))
    return Figure(float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(n)))


def share_figure(flags: ArrayLike) -> Figure:
    """Compute the share of repetitions with a true flag (n,), with its standard error."""
    return mean_figure(np.asarray(flags, dtype=np.float64))


def rmse_figure(errors: Floats) -> Figure:
    """Compute the root mean squared error of ``errors`` (n,) with its standard error (delta method)."""
    mse = mean_figure(errors**2)
    rmse = float(np.sqrt(mse.value))
    return Figure(rmse, mse.se / (2 * rmse) if rmse > 0 else 0.0)


def efficiency_figure(passive_errors: Floats, errors: Floats, scale: float) -> Figure:
    """Compute MSE(passive) / MSE(method) and its standard error; repetitions share their seeds and are paired.

    Both errors have shape (n,). Errors below `NO_ERROR` times ``scale``, the size of the true value, count as 0.
    """
    a, b = (np.where(np.abs(e) <= NO_ERROR * scale, 0.0, e) ** 2 for e in (passive_errors, errors))
    if b.mean() == 0:
        return Figure(1.0, 0.0) if a.mean() == 0 else Figure(float("inf"))
    ratio = a.mean() / b.mean()
    return Figure(float(ratio), mean_figure((a - ratio * b) / b.mean()).se)


def selection_error_figure(values: Floats, truth: float) -> Figure:
    """Compute the share of repetitions in which a difference has not the sign of ``truth``; a 0 counts half."""
    # each sum is 1 for the wrong sign, 0.5 for a value of 0 and 0 for the right sign
    is_wrong = 0.5 * (np.sign(values) * np.sign(truth) <= 0) + 0.5 * (values * truth < 0)
    return mean_figure(np.asarray(is_wrong))
