"""How like the generated collection is to MSLR: the same statistics of it and of 71 real queries, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.formats.text.letor import read_letor
from benchmarks.frame.report import table
from benchmarks.machine import describe, store
from benchmarks.paper import mslr_like

PARTS = ("mslr_fold1_train_sample.from_pickle.txt.gz", "mslr_fold1_valid_sample.txt.gz")
PUBLISHED = {"queries": 31_531, "mean items": 119.6, "largest": 1251}
N_QUERIES = 700
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
COMPONENTS = (1, 2, 3, 5, 10, 20)


def check(data: Path, out: Path) -> str:
    """Store and return the table of both; the generated collection is of the full size, correlations of its head."""
    folder = data / "mslr-sample"
    if not folder.exists():
        raise InputError(f"{folder}: no such folder; the real queries to compare with are part of the data kit")
    real = read_letor([folder / part for part in PARTS])
    folds = list(mslr_like.generate())
    counts = np.concatenate([fold.counts for fold in folds])
    grades = np.concatenate([fold.grades for fold in folds])
    head = slice(0, int(folds[0].counts[:N_QUERIES].sum()))
    rows = {
        "sample": _described(np.diff(real.query_offsets), real.grades, real.features),
        "generated": _described(
            folds[0].counts[:N_QUERIES], folds[0].grades[head].astype(int), folds[0].features[head]
        ),
    }
    paired = {name: [rows["sample"][name], rows["generated"][name]] for name in rows["sample"]}
    shares = np.bincount(grades) / grades.size
    whole = {
        "queries": [PUBLISHED["queries"], int(counts.size)],
        "items": [int(mslr_like.GRADE_COUNTS.sum()), int(counts.sum())],
        "items a query, mean": [PUBLISHED["mean items"], round(float(counts.mean()), 2)],
        "items a query, largest": [PUBLISHED["largest"], int(counts.max())],
    }
    published = mslr_like.GRADE_COUNTS / mslr_like.GRADE_COUNTS.sum()
    whole |= {f"share of grade {k}": [round(float(published[k]), 4), round(float(shares[k]), 4)] for k in range(5)}
    result = describe("benchmarks.paper") | {"published and generated": whole, "sample and generated": paired}
    store(out / "mslr-like.json", result)
    return markdown(result)


def markdown(result: dict[str, Any]) -> str:
    """Write the tables of a stored check."""
    whole = ([name, f"{a:,}", f"{b:,}"] for name, (a, b) in result["published and generated"].items())
    parts = ([name, *both] for name, both in result["sample and generated"].items())
    first = table(["MSLR-WEB30K", "published", "generated"], whole)
    return "\n".join([*first, "", *table(["statistic (features by rank)", "71 real queries", "generated"], parts)])


def _described(counts: Ints, grades: NDArray[Any], features: NDArray[Any]) -> dict[str, str]:
    owners = np.repeat(np.arange(counts.size), counts)

    def centred(values: Floats) -> Floats:
        return values - (np.bincount(owners, values) / counts)[owners]

    ranks = np.column_stack([rankdata(column) / column.size for column in features.T])
    grade_ranks = rankdata(grades) / grades.size
    within = np.column_stack([centred(column) for column in ranks.T])
    spread = ranks.var(axis=0) > 0
    means = np.bincount(owners, grades) / counts
    values = np.linalg.eigvalsh(np.corrcoef(ranks[:, spread].T))[::-1]
    explained = np.cumsum(values) / values.sum()
    log_length = np.log1p(features[:, mslr_like.LENGTH_FEATURE])
    correlations = _correlations(ranks, grade_ranks)
    return {
        "log items a query: sd": f"{np.log(counts).std():.2f}",
        "mean grade of a query: sd": f"{means.std():.3f}",
        "grade within a query: sd": f"{np.sqrt(np.mean(centred(grades.astype(float)) ** 2)):.3f}",
        f"correlation of features with the grade (absolute), quantiles {QUANTILES}": _quantiles(correlations),
        f"the same within queries, quantiles {QUANTILES}": _quantiles(_correlations(within, centred(grade_ranks))),
        f"share of variance between queries, quantiles {QUANTILES}": _quantiles(
            1 - within[:, spread].var(axis=0) / ranks[:, spread].var(axis=0)
        ),
        f"variance in the first {COMPONENTS} components": ", ".join(f"{explained[k - 1]:.2f}" for k in COMPONENTS),
        "log document length: mean, sd": f"{log_length.mean():.2f}, {log_length.std():.2f}",
    }


def _correlations(columns: Floats, values: Floats) -> Floats:
    """Return |r| of each column with values, 0 for a column that is constant but for rounding."""
    spread = columns.std(axis=0)
    products = (columns - columns.mean(axis=0)).T @ (values - values.mean()) / values.size
    return np.abs(np.divide(products, spread * values.std(), out=np.zeros_like(products), where=spread > 1e-9))


def _quantiles(values: Floats) -> str:
    return ", ".join(f"{value:.2f}" for value in np.quantile(values, QUANTILES))
