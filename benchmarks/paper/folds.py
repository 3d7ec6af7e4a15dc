"""Judged collections in folds, kept as plain arrays in a work folder so that features need not be in memory.

Every source becomes ``fold-k/{counts,grades,costs,features}.npy``. A fold is complete once its file ``ready.json``
is there, which names the source; what another source left is not taken for it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval import QueryPool
from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.formats.text.letor import LetorData, read_letor
from benchmarks.machine import store
from benchmarks.paper import mslr_like

MSLR_FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """One fold on disk."""

    folder: Path

    @property
    def counts(self) -> Ints:
        """Items of each query."""
        return self._read("counts").astype(np.int64)

    @property
    def grades(self) -> Ints:
        """The labels, shape (n_items,)."""
        return self._read("grades").astype(np.int64)

    @property
    def costs(self) -> Floats:
        """What judging each item costs, shape (n_items,)."""
        return self._read("costs").astype(np.float64)

    @property
    def features(self) -> NDArray[Any]:
        """Shape (n_items, n_features), mapped into memory as it is read."""
        return np.load(self.folder / "features.npy", mmap_mode="r")

    @property
    def queries(self) -> Ints:
        """The query of each item, shape (n_items,)."""
        return np.repeat(np.arange(self.counts.size), self.counts)

    def _read(self, name: str) -> NDArray[Any]:
        return np.load(self.folder / f"{name}.npy")


@dataclass(frozen=True)
class Collection:
    """A judged collection: one fold trains at a time, the others are the pool."""

    name: str
    folder: Path
    folds: tuple[Fold, ...]

    @property
    def max_grade(self) -> int:
        """The largest grade of all folds."""
        return max(int(fold.grades.max()) for fold in self.folds)

    def others(self, trained: int) -> list[int]:
        """Return the folds that are the pool when one of them trains."""
        return [k for k in range(len(self.folds)) if k != trained]

    def pool(self, trained: int) -> tuple[QueryPool, Ints]:
        """Return the pool of all folds but one, and its grades; the mean cost of its queries is 1, as in the paper."""
        folds = [self.folds[k] for k in self.others(trained)]
        counts = np.concatenate([fold.counts for fold in folds])
        costs = np.concatenate([fold.costs for fold in folds])
        unit = costs.sum() / counts.size
        offsets = np.concatenate(([0], np.cumsum(counts)))
        pool = QueryPool(np.arange(counts.size), offsets, item_costs=costs / unit)
        return pool, np.concatenate([fold.grades for fold in folds])


@dataclass(frozen=True)
class Source:
    """Where a collection comes from: what tells it from others, and its folds, one after the other."""

    name: str
    signature: dict[str, Any]
    n_folds: int
    folds: Callable[[], Iterator[mslr_like.Fold]]


def prepare(source: Source, work: Path) -> Collection:
    """Return the collection of a source, stored below ``work`` unless it is there already."""
    folder = work / source.name
    folds = tuple(Fold(folder / f"fold-{k + 1}") for k in range(source.n_folds))
    if not all(_is_ready(fold, source) for fold in folds):
        for fold, data in zip(folds, source.folds(), strict=True):
            _write(fold, data, source)
    return Collection(source.name, folder, folds)


def _is_ready(fold: Fold, source: Source) -> bool:
    ready = fold.folder / "ready.json"
    if not ready.exists():
        return False
    if json.loads(ready.read_text()) != source.signature:
        raise InputError(f"{fold.folder}: holds another collection than {source.signature}; give another --work folder")
    return True


def _write(fold: Fold, data: mslr_like.Fold, source: Source) -> None:
    fold.folder.mkdir(parents=True, exist_ok=True)
    arrays = {"counts": data.counts, "grades": data.grades, "costs": data.costs, "features": data.features}
    for name, array in arrays.items():
        np.save(fold.folder / f"{name}.npy", array)
    store(fold.folder / "ready.json", source.signature)


def generated(n_queries: int = mslr_like.N_QUERIES, seed: int = 2013) -> Source:
    """The collection in the likeness of MSLR-WEB30K."""
    return Source(
        "mslr-like" if n_queries == mslr_like.N_QUERIES else f"mslr-like-{n_queries}",
        {"generator": mslr_like.signature(), "queries": n_queries, "seed": seed},
        mslr_like.N_FOLDS,
        lambda: mslr_like.generate(n_queries, mslr_like.N_FOLDS, seed),
    )


def mslr(folder: Path) -> Source:
    """MSLR-WEB30K or 10K as it is published: Fold1 … Fold5, whose test parts are the five fifths of the data."""
    paths = [folder / f"Fold{k + 1}" / "test.txt" for k in range(MSLR_FOLDS)]
    found = [path if path.exists() else path.with_name("test.txt.gz") for path in paths]
    for path, alternative in zip(paths, found, strict=True):
        if not alternative.exists():
            raise InputError(f"{path}: no such file, expected the five folds of MSLR-WEB30K or 10K in {folder}")
    files = {path.parent.name: path.stat().st_size for path in found}
    return Source(f"mslr-{folder.resolve().name}", {"files": files}, MSLR_FOLDS, lambda: map(_mslr_fold, found))


def _mslr_fold(path: Path) -> mslr_like.Fold:
    data = read_letor(path)
    if data.features.shape[1] <= mslr_like.LENGTH_FEATURE:
        raise InputError(
            f"{path}: {data.features.shape[1]} features, expected those of MSLR, of which the 15th is the length"
        )
    return _fold(data, mslr_like.item_costs(data.features[:, mslr_like.LENGTH_FEATURE]))


def letor(name: str, folder: Path, parts: tuple[str, ...]) -> Source:
    """Parts of a LETOR collection, each a fold; their lengths are not known, so an item costs as much as any other."""
    paths = [folder / part for part in parts]
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file; {name} is part of the data kit")
    return Source(
        name,
        {"files": {path.name: path.stat().st_size for path in paths}, "rows": "by document id"},
        len(paths),
        lambda: (_fold(read_letor(path), None) for path in paths),
    )


def _fold(data: LetorData, costs: Floats | None) -> mslr_like.Fold:
    rows = _in_id_order(data)
    return mslr_like.Fold(
        np.diff(data.query_offsets),
        data.grades[rows].astype(np.int8),
        np.ones(data.grades.size) if costs is None else costs[rows],
        data.features[rows].astype(np.float32),
    )


def _in_id_order(data: LetorData) -> Ints:
    """Return the rows of each query so that the numbers which pools give them are in the order of the ids.

    Ties are then broken by document id without keeping the ids: of ten items number 10 is the second as text.
    """
    rows = np.arange(data.grades.size)
    if data.item_ids is None:
        return rows
    documents, starts = data.item_ids.array(), data.query_offsets
    for start, stop in itertools.pairwise(starts.tolist()):
        numbers = np.argsort(np.arange(1, stop - start + 1).astype(str), kind="stable")
        rows[start + numbers] = start + np.argsort(documents[start:stop], kind="stable")
    return rows


def source_named(name: str, data: Path, n_queries: int | None = None) -> Source:
    """Return one of the collections that need no further argument."""
    if name == "mslr-like":
        return generated(n_queries or mslr_like.N_QUERIES)
    parts = {
        "mq2008": tuple(f"S{k}.txt.gz" for k in range(1, 6)),
        "mq2007-agg": ("A1.txt.gz", "A2.txt.gz"),
        "ohsumed": tuple(f"Fold{k}.test.txt.gz" for k in range(1, 4)),
    }
    return letor(name, data / name, parts[name])


COLLECTIONS = ("mslr-like", "mq2008", "mq2007-agg", "ohsumed")
