"""The data that this package and its peers score: a pool of MSLR-WEB30K's size, as arrays and as TREC text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from activeeval import QueryPool, Rankings
from benchmarks.kernels import MAX_GRADE, mslr_sized

FIRST_QUERY, FIRST_DOCUMENT = 10_000, 100_000_000
ARRAYS = ("offsets", "grades", "scores", "documents", "items")


@dataclass(frozen=True)
class PeerData:
    """Grades and scores of items that stand query after query; ``items`` ranks them, best first."""

    offsets: np.ndarray
    grades: np.ndarray
    scores: np.ndarray
    documents: np.ndarray
    items: np.ndarray

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.offsets.size - 1

    @property
    def query_ids(self) -> np.ndarray:
        """Ids of the queries, as whole numbers of one width."""
        return FIRST_QUERY + np.arange(self.n_queries)

    @property
    def document_ids(self) -> np.ndarray:
        """Ids of the documents, as text."""
        return np.char.add("D", self.documents.astype("U9"))

    @property
    def has_tie(self) -> np.ndarray:
        """Whether a query has two items of one score."""
        owners = np.repeat(np.arange(self.n_queries), np.diff(self.offsets))
        order = np.lexsort((self.scores, owners))
        same = (np.diff(self.scores[order]) == 0) & (np.diff(owners[order]) == 0)
        return np.bincount(owners[order][1:][same], minlength=self.n_queries) > 0

    def first(self, n_queries: int) -> PeerData:
        """Return the data of the first queries."""
        n = self.offsets[n_queries]
        parts = (self.grades[:n], self.scores[:n], self.documents[:n], self.items[:n])
        return PeerData(self.offsets[: n_queries + 1], *parts)


def generate(n_queries: int, seed: int) -> PeerData:
    """Generate data; scores have four decimals, which trec_eval's single precision tells apart, and some are equal."""
    rng = np.random.default_rng(seed)
    pool, probs = mslr_sized(n_queries, rng)
    grades = (np.cumsum(probs, axis=1) < rng.random((pool.n_items, 1))).sum(axis=1)
    scores = np.round(50 + 10 * (probs @ np.arange(MAX_GRADE + 1)) + 5 * rng.standard_normal(pool.n_items), 4)
    documents = FIRST_DOCUMENT + rng.permutation(5 * pool.n_items)[: pool.n_items]
    data = PeerData(pool.query_offsets, np.minimum(grades, MAX_GRADE), scores, documents, np.empty(0, dtype=np.int64))
    named = QueryPool(data.query_ids, pool.query_offsets, data.document_ids)
    items = Rankings.from_scores(named, scores).items
    return PeerData(data.offsets, data.grades, scores, documents, items)


def save(data: PeerData, folder: Path) -> None:
    """Write each array to a file of its own."""
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(data, name))


def load(folder: Path) -> PeerData:
    """Read what `save` wrote."""
    return PeerData(*(np.load(folder / f"{name}.npy") for name in ARRAYS))


def write_text(data: PeerData, folder: Path) -> float:
    """Write qrels.txt, in no order within a query, and run.txt, best first; return their MB together."""
    queries = np.repeat(data.query_ids, np.diff(data.offsets))
    judged = pl.DataFrame({"q": queries, "d": data.documents, "g": data.grades})
    ranked = pl.DataFrame({"q": queries[data.items], "d": data.documents[data.items], "s": data.scores[data.items]})
    ranked = ranked.with_columns(rank=pl.int_range(pl.len()).over("q") + 1)
    lines = {
        "qrels.txt": judged.select(pl.format("{} 0 D{} {}", "q", "d", "g")),
        "run.txt": ranked.select(pl.format("{} Q0 D{} {} {} run-01", "q", "d", "rank", "s")),
    }
    for name, frame in lines.items():
        frame.write_csv(folder / name, include_header=False, quote_style="never")
    return sum((folder / name).stat().st_size for name in lines) / 1e6
