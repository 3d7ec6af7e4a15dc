"""The mean over queries from a labelled sample and a model: this package beside PPI++ (ppi-python).

Labels are the per-query values L of a judged pool, predictions m what a grade model that never saw these queries
expects of them. *Same sample*: n queries drawn uniformly without replacement, L known for these, m for all; the
regression estimator and PPI++ (ppi_mean_pointestimate and ppi_mean_ci, lam=None) are given the very same arrays.
*Designs*: the package's methods at the cost of judging n such queries whole.

Two truths: the mean over the *pool*; and the mean over a *population*, for which each repetition draws a pool of as
many queries from the judged ones with replacement, so that they are independent, and a sample of it. PPI++ is made for
the latter. Widths at equal coverage: each interval is stretched about its estimate by the one factor with which 95 % of
the repetitions hold the truth.
"""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np

from activeeval import Target
from activeeval.core.design.methods import METHODS
from activeeval.core.estimation import Evidence, evaluate
from activeeval.core.interval_ends import t_quantile
from activeeval.core.simulation import replicate
from benchmarks.machine import data_folder
from benchmarks.pools import JudgedPool, generated, load

LEVEL = 0.95
OVERHEAD = 5.0
CASES = (("DCG", "one ranking"), ("ERR", "one ranking"), ("DCG", "two rankers"), ("ERR", "two rankers"))
SHARES = (0.1, 0.2)
DESIGNS = ("whole", "items", "depth")
RESAMPLES = 200


def uniform_sample(values: np.ndarray, predictions: np.ndarray, chosen: np.ndarray) -> Evidence:
    """Collect the evidence of a judged uniform sample."""
    n, n_pool = chosen.size, values.size
    regressors = np.column_stack((np.ones(n_pool), predictions))
    share = np.full(n_pool, 1 / n_pool)
    return Evidence(
        is_fitted=True,
        query_probs=share[chosen],
        inclusion_probs=np.full(n, n / n_pool),
        totals=np.column_stack((values[chosen], regressors[chosen])),
        within=np.zeros((n, 6)),
        values=values[chosen],
        population=share @ regressors,
        base=0.0,
        certain_squares=0.0,
        open_share=1.0,
        pool_size=float(n_pool),
        n_draws=n,
        n_queries=n,
        n_items=n,
        cost=float(n),
    )


def ours(values: np.ndarray, predictions: np.ndarray, chosen: np.ndarray, scope: str) -> tuple[float, float, float]:
    """Return estimate and interval of the regression estimator."""
    found = evaluate(uniform_sample(values, predictions, chosen), scope)
    half = float(t_quantile(LEVEL, found.degrees_of_freedom)) * math.sqrt(found.variance)
    return found.value, found.value - half, found.value + half


def ppi(values: np.ndarray, predictions: np.ndarray, chosen: np.ndarray, scope: str) -> tuple[float, float, float]:
    """Return estimate and interval of PPI++, which has one scope."""
    import ppi_py

    rest = np.setdiff1d(np.arange(values.size), chosen)
    arrays = (values[chosen], predictions[chosen], predictions[rest])
    low, high = ppi_py.ppi_mean_ci(*arrays, alpha=1 - LEVEL, lam=None)
    return float(np.squeeze(ppi_py.ppi_mean_pointestimate(*arrays, lam=None))), float(low[0]), float(high[0])


def same_sample(values: np.ndarray, predictions: np.ndarray, n: int, scope: str, repetitions: int, seed: int) -> dict:
    """Return estimates and interval ends, (repetitions, 3), of each estimator on the same samples."""
    estimators = {"regression": ours} | ({"PPI++": ppi} if find_spec("ppi_py") else {})
    out = {name: np.empty((repetitions, 3)) for name in estimators}
    rng = np.random.default_rng(seed)
    for r in range(repetitions):
        pool = np.arange(values.size) if scope == "pool" else rng.integers(0, values.size, values.size)
        chosen = np.sort(rng.permutation(values.size)[:n])
        for name, estimator in estimators.items():
            out[name][r] = estimator(values[pool], predictions[pool], chosen, scope)
    return out


def designed(pool: JudgedPool, target: Target, n: int, repetitions: int, seed: int) -> dict:
    """Return estimates and interval ends of the package's designs at the mean cost of n uniform queries."""
    inputs, out = pool.inputs, {}
    budget = n * METHODS["passive"].design(target).cost / target.pool.n_queries
    for name in DESIGNS:
        if METHODS[name].fits(target.measure):
            design = pool.design(target, name)
            found = replicate(design, inputs.grades, [budget], repetitions, seed)
            out[name] = np.column_stack((found.values[:, 0], found.lows[:, 0], found.highs[:, 0]))
    return out


def stretch(found: np.ndarray, truth: float) -> float:
    """Return the factor by which half-widths grow so that a share LEVEL of the intervals holds the truth."""
    half = (found[:, 2] - found[:, 1]) / 2
    return float(np.quantile(np.abs(found[:, 0] - truth) / half, LEVEL))


def figures(found: dict, truth: float, reference: str) -> list[dict]:
    """Return MSE, width, coverage and width at equal coverage of each estimator, and what PPI++'s are to it."""
    rows = []
    draws = np.random.default_rng(0).integers(0, len(found[reference]), (RESAMPLES, len(found[reference])))
    finite = {name: one[np.isfinite(one).all(axis=1)] for name, one in found.items()}
    for name, one in finite.items():
        width = one[:, 2] - one[:, 1]
        row = {
            "what": name,
            "mse": float(np.mean((one[:, 0] - truth) ** 2)),
            "coverage": float(np.mean((one[:, 1] <= truth) & (truth <= one[:, 2]))),
            "width": float(width.mean()),
            "width_at_equal_coverage": float(width.mean() * stretch(one, truth)),
            "without_interval": len(found[name]) - len(one),
        }
        if reference in found and name != reference and not row["without_interval"]:
            row |= against(finite[reference], one, truth, draws)
        rows.append(row)
    return rows


def against(peer: np.ndarray, own: np.ndarray, truth: float, draws: np.ndarray) -> dict:
    """Compute our MSE and widths over the peer's, with bootstrap standard errors over repetitions."""

    def ratios(which: np.ndarray) -> tuple[float, float, float]:
        a, b = peer[which], own[which]
        widths = (b[:, 2] - b[:, 1]).mean() / (a[:, 2] - a[:, 1]).mean()
        mse = np.mean((b[:, 0] - truth) ** 2) / np.mean((a[:, 0] - truth) ** 2)
        return mse, widths, widths * stretch(b, truth) / stretch(a, truth)

    point = ratios(np.arange(len(peer)))
    errors = np.std([ratios(which) for which in draws], axis=0, ddof=1)
    names = ("mse_ratio", "width_ratio", "equal_coverage_ratio")
    both = {name: float(value) for name, value in zip(names, point, strict=True)}
    return both | {f"{name}_se": float(error) for name, error in zip(names, errors, strict=True)}


def pools(is_quick: bool) -> list[JudgedPool]:
    """Return the generated pool, and MQ2008 where the data folder holds it."""
    made = [generated(n_queries=440 if is_quick else 2200)]
    if (data_folder() / "mq2008").exists() and not is_quick:
        return [load("mq2008"), *made]
    return made


def compare(is_quick: bool, seed: int, repetitions: int | None = None) -> dict:
    """Run every pool, case and share of labelled queries."""
    repetitions = repetitions or (40 if is_quick else 1000)
    rows = []
    for pool in pools(is_quick):
        grades = pool.inputs.grades
        for measure, case in CASES[:1] if is_quick else CASES:
            target = pool.target(measure, case, OVERHEAD)
            design = pool.design(target, "whole")
            values, predictions = target.values(grades), design.reading().predictions
            truth = float(values.mean())
            for share in SHARES[:1] if is_quick else SHARES:
                n = round(share * values.size)
                where = {"pool": pool.name, "measure": measure, "case": case, "labelled": n, "queries": values.size}
                for aim in ("pool", "population"):
                    found = same_sample(values, predictions, n, aim, repetitions, seed)
                    if aim == "pool":
                        found |= designed(pool, target, n, repetitions, seed)
                    reference = "PPI++" if "PPI++" in found else "regression"
                    rows += [where | {"scope": aim} | row for row in figures(found, truth, reference)]
                print(f"  {pool.name}, {measure}, {case}, {n} labelled: done", flush=True)
    return {"repetitions": repetitions, "missing": missing(), "rows": rows}


def missing() -> list[str]:
    """List the peers that cannot be imported, and why."""
    reasons = {"ppi_py": "ppi-python is not installed here", "glide": "glide-py cannot be imported here"}
    why = {"glide": " (its releases need Python 3.12 or later)"}
    return [reasons[name] + why.get(name, "") for name in reasons if not find_spec(name)]
