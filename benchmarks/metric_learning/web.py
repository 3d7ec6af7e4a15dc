"""Web-style pairs: random rankings of the documents of real queries, by the labels of two small public collections."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from activeeval.formats.text.letor import read_letor
from benchmarks.machine import data_folder
from benchmarks.metric_learning.curves import by_difference
from benchmarks.metric_learning.data import DECADES, N_RANKS, SHAPES, TOP_GRADE, TRUTHS, Ints, Pairs, learned
from benchmarks.metric_learning.running import Found

TRUTH, OTHER = TRUTHS["Data 2"], TRUTHS["Data 1"]
CURVE = (20, 50, 100, 200, 600, 800, 1000)
NOISY_PAIRS, REGRADED = (200, 600, 1000), (0.1, 0.2, 0.3)
EDGES = (0, 1, 2, 4, 6, 8, 12, 16, 20, 30, np.inf)
N_FOLDS, N_TEST, AT_ONCE = 5, 4000, 2000


def is_there(folder: Path | None = None) -> bool:
    """Tell whether the collections are at hand."""
    home = folder or data_folder()
    return (home / "mslr-sample").exists() and (home / "lightgbm-lambdarank").exists()


def label_lists(folder: Path | None = None) -> list[Ints]:
    """Return the grades of each query that has ten documents or more."""
    home = folder or data_folder()
    found = []
    parts = sorted((home / "mslr-sample").glob("*.txt.gz"))
    data = read_letor(parts, features=False)
    found += np.split(data.grades, data.query_offsets[1:-1])
    for part in ("train", "test"):
        with gzip.open(home / "lightgbm-lambdarank" / f"rank.{part}.gz", "rt") as lines:
            grades = np.array([int(line.split(maxsplit=1)[0]) for line in lines])
        sizes = np.loadtxt(home / "lightgbm-lambdarank" / f"rank.{part}.query", dtype=int)
        found += np.split(grades, np.cumsum(sizes)[:-1])
    return [one.astype(np.int64) for one in found if one.size >= N_RANKS]


class Queries:
    """Queries with the grades of their documents, filled up to one length with −1."""

    def __init__(self, lists: list[Ints]) -> None:
        self.grades = np.full((len(lists), max(map(len, lists))), -1)
        for row, one in zip(self.grades, lists, strict=True):
            row[: one.size] = one

    def pairs(self, numbers: Ints, n: int, rng: np.random.Generator, share: float = 0.0) -> Pairs:
        """Draw pairs of top tens of random rankings of some queries' documents, judged by the truth.

        A share of each query's documents shows a grade at random.
        """
        shown = np.where(
            (rng.random(self.grades.shape) < share) & (self.grades >= 0),
            rng.integers(0, TOP_GRADE + 1, self.grades.shape),
            self.grades,
        )
        parts: list[Pairs] = []
        while sum(map(len, parts)) < n:
            queries = rng.choice(numbers, AT_ONCE)
            documents = [self._tops(queries, rng) for _ in range(2)]
            true = Pairs(*(self.grades[queries[:, None], one] for one in documents), np.zeros(0), queries)
            gaps = true.scores(TRUTH)
            seen = [shown[queries[:, None], one] for one in documents]
            parts.append(Pairs(*seen, gaps, queries)[np.abs(gaps) > 1e-9])
        whole = (np.concatenate([getattr(p, name) for p in parts]) for name in ("first", "second", "gaps", "queries"))
        return Pairs(*whole)[:n]

    def _tops(self, queries: Ints, rng: np.random.Generator) -> Ints:
        keys = rng.random((queries.size, self.grades.shape[1]))
        keys[self.grades[queries] < 0] = np.inf
        best = np.argpartition(keys, N_RANKS, axis=1)[:, :N_RANKS]
        return np.take_along_axis(best, np.argsort(np.take_along_axis(keys, best, axis=1), axis=1), axis=1)


def web(rng: np.random.Generator) -> Iterator[Found]:
    """Five folds by query: three train, one chooses C, one tests."""
    queries = Queries(label_lists())
    fold = rng.permutation(len(queries.grades)) % N_FOLDS
    yield "queries", {}, {"queries": len(fold), "documents": (queries.grades >= 0).sum()}
    for number in range(N_FOLDS):
        of_test, of_validation = (np.flatnonzero(fold == (number + k) % N_FOLDS) for k in range(2))
        of_train = np.setdiff1d(np.arange(fold.size), np.union1d(of_test, of_validation))
        test = queries.pairs(of_test, N_TEST, rng)
        yield "baseline", {}, {"precision": test.precision(OTHER)}
        yield from by_difference({"weights": "Other"}, test, OTHER, EDGES)
        for share in (0.0, *REGRADED):
            train, validation = (queries.pairs(own, max(CURVE), rng, share) for own in (of_train, of_validation))
            shapes = SHAPES if share == 0 else ("decreasing",)
            for shape, n in product(shapes, NOISY_PAIRS if share else CURVE):
                weights = learned(
                    train[:n].preferences(), validation[:n].preferences(), shape=shape, grid=DECADES
                ).weights_
                values = {"precision": test.precision(weights)}
                if share == 0:
                    yield "curve", {"shape": shape, "pairs": n}, values
                if n in NOISY_PAIRS and shape == "decreasing":
                    yield "regraded", {"pairs": n, "share": share}, values
                if share == 0 and n in (200, 1000):
                    yield from by_difference({"weights": f"{shape}, {n} pairs"}, test, weights, EDGES)
