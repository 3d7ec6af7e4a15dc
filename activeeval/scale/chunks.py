"""Chunks of a pool: selection of queries, concatenation, conversion to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.texts import Texts, joined_texts
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some queries of a pool, with their rankings and grade probabilities.

    Attributes
    ----------
    ranking : Rankings
        Its pool holds the queries and items of the chunk. Query ids must be unique over all chunks.
    grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), or None
        None if the method uses no grade model.
    versus : Rankings or None
        The baseline ranking.
    node_weights : array of float, shape (n_nodes,), or None
        Weights of the quadrature nodes of a query factor (a random effect shared by the items of a query).
    judged : array of int, shape (n_items,), or None
        Known grades, −1 for unknown.
    traffic : float or None
        Share of the whole pool's p(x), in a unit common to all chunks, such as the number of searches; its pool's
        ``query_probs`` divide it among its queries. By default its number of queries.
    others : tuple of Rankings
        Rankings of further systems.
    extra_probs : tuple of array of float, each of shape (n_items, n_grades)
        Probabilities of further grade models, as control variates of the estimates.

    Examples
    --------
    >>> from activeeval import QueryPool, Rankings
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> chunk = Chunk(Rankings.from_scores(pool, [2, 1, 2, 1]), np.full((4, 3), 1 / 3), traffic=150.0)
    >>> chunk.pool.n_queries, chunk.traffic
    (2, 150.0)
    """

    ranking: Rankings
    grade_probs: ArrayLike | None = None
    versus: Rankings | None = None
    _: KW_ONLY
    node_weights: ArrayLike | None = None
    judged: ArrayLike | None = None
    traffic: float | None = None
    others: tuple[Rankings, ...] = ()
    extra_probs: tuple[ArrayLike, ...] = ()

    @property
    def pool(self) -> QueryPool:
        """The queries and items of the chunk."""
        return self.ranking.pool

    @property
    def weights(self) -> Floats:
        """Traffic p(x) of each query in the unit common to all chunks, shape (n_queries,).

        InputError is raised if the chunk's traffic is not a positive number.
        """
        traffic = float(self.pool.n_queries if self.traffic is None else self.traffic)
        if not (np.isfinite(traffic) and traffic > 0):
            raise InputError(f"traffic must be a positive number, got {self.traffic!r}")
        return self.pool.query_probs * traffic

    def restricted_to(self, queries: Ints) -> Chunk:
        """Select at least one query of the chunk by number; p(x) of the queries does not change."""
        pool, items = self.pool.subset(queries)
        return Chunk(
            self.ranking.restricted_to(pool, items),
            None if self.grade_probs is None else _rows(self.grade_probs, items),
            None if self.versus is None else self.versus.restricted_to(pool, items),
            node_weights=self.node_weights,
            judged=None if self.judged is None else np.asarray(self.judged)[items],
            traffic=float(self.weights[queries].sum()),
            others=tuple(ranking.restricted_to(pool, items) for ranking in self.others),
            extra_probs=tuple(_rows(probs, items) for probs in self.extra_probs),
        )


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Concatenate chunks with the same number of grades, further rankings and models."""
    if len(parts) == 1:
        return parts[0]
    pools, weights = [part.pool for part in parts], np.concatenate([part.weights for part in parts])
    pool = QueryPool(
        query_ids=joined_texts([source.query_texts for source in pools]),
        item_ids=joined_texts([source.item_texts for source in pools]),
        query_offsets=_end_to_end([source.query_offsets for source in pools]),
        query_probs=weights / weights.sum(),
        item_costs=np.concatenate([source.item_costs for source in pools]),
        query_costs=np.concatenate([source.query_costs for source in pools]),
    )
    return Chunk(
        _joined_rankings(pool, [part.ranking for part in parts]),
        _concatenated([part.grade_probs for part in parts], -2),
        None if parts[0].versus is None else _joined_rankings(pool, [p.versus for p in parts if p.versus is not None]),
        node_weights=parts[0].node_weights,
        judged=_joined_grades(parts),
        traffic=float(weights.sum()),
        others=tuple(
            _joined_rankings(pool, list(alike)) for alike in zip(*(part.others for part in parts), strict=True)
        ),
        extra_probs=tuple(
            _concatenated(list(alike), -2) for alike in zip(*(part.extra_probs for part in parts), strict=True)
        ),
    )


def chunk_arrays(chunk: Chunk) -> dict[str, NDArray[Any]]:
    """Convert a chunk to named arrays, from which `chunk_of` rebuilds it.

    Texts and rankings are flat arrays with their offsets under ``NAME.offsets``. What the chunk lacks is an empty array
    (traffic, judged, node_weights) or left out (rankings, probabilities).
    """
    pool, nothing = chunk.pool, np.empty(0)
    arrays: dict[str, NDArray[Any]] = {
        "query_offsets": pool.query_offsets,
        "item_costs": pool.item_costs,
        "query_costs": pool.query_costs,
        "query_probs": pool.query_probs,
        "traffic": nothing if chunk.traffic is None else np.array([chunk.traffic]),
        "judged": nothing if chunk.judged is None else np.asarray(chunk.judged),
        "node_weights": nothing if chunk.node_weights is None else np.asarray(chunk.node_weights),
    }
    for name, texts in (("query_ids", pool.query_texts.plain()), ("item_ids", pool.item_texts.plain())):
        arrays |= {name: texts.data, f"{name}.offsets": texts.offsets}
    lists = {"ranking": chunk.ranking, "versus": chunk.versus} | {f"other{k}": r for k, r in enumerate(chunk.others)}
    for name, ranking in lists.items():
        if ranking is not None:
            arrays |= {name: ranking.items, f"{name}.offsets": ranking.offsets}
    probs = {"grade_probs": chunk.grade_probs} | {f"extra{k}": each for k, each in enumerate(chunk.extra_probs)}
    return arrays | {name: np.asarray(each) for name, each in probs.items() if each is not None}


def chunk_of(arrays: Mapping[str, NDArray[Any]]) -> Chunk:
    """Rebuild a chunk from the arrays of `chunk_arrays`."""
    queries, items = (Texts(arrays[name], arrays[f"{name}.offsets"]) for name in ("query_ids", "item_ids"))
    of_items, of_queries, probs = (arrays[name] for name in ("item_costs", "query_costs", "query_probs"))
    pool = QueryPool(queries, arrays["query_offsets"], items, of_items, of_queries, probs)

    def lists(name: str) -> Rankings | None:
        """Rebuild a ranking from its arrays; None if there are none."""
        return Rankings(pool, arrays[f"{name}.offsets"], arrays[name]) if name in arrays else None

    def array_of(name: str) -> NDArray[Any] | None:
        """Return the array called `name`; None if it is empty."""
        return arrays[name] if arrays[name].size else None

    ranking = lists("ranking")
    assert ranking is not None
    other_rankings = [lists(f"other{k}") for k in range(sum(name.startswith("other") for name in arrays))]
    return Chunk(
        ranking,
        arrays.get("grade_probs"),
        lists("versus"),
        node_weights=array_of("node_weights"),
        judged=array_of("judged"),
        traffic=float(arrays["traffic"][0]) if arrays["traffic"].size else None,
        others=tuple(ranked for ranked in other_rankings if ranked is not None),
        extra_probs=tuple(arrays[name] for name in sorted(arrays) if name.startswith("extra")),
    )


def by_query(chunk: Chunk) -> Chunk:
    """Sort the queries of a chunk by id, so that the result does not depend on the partitions."""
    ids = chunk.pool.query_texts.tolist()
    return chunk.restricted_to(np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64))


def _rows(probs: ArrayLike, items: Ints) -> Any:
    """Select items (positions) from probabilities of shape (…, n_items, n_grades), in single precision as predicted."""
    return np.asarray(probs, dtype=np.float32)[..., items, :]


def _joined_rankings(pool: QueryPool, parts: list[Rankings]) -> Rankings:
    """Concatenate the rankings of chunks over the joined pool, whose items are numbered chunk after chunk.

    Items are positions in a pool, so each chunk's are shifted by the number of items before it.
    """
    starts = np.cumsum([0, *(part.pool.n_items for part in parts)])
    items = [part.items + start for part, start in zip(parts, starts.tolist(), strict=False)]
    return Rankings(pool, _end_to_end([part.offsets for part in parts]), np.concatenate(items))


def _joined_grades(parts: Sequence[Chunk]) -> Any:
    """Concatenate known grades, −1 for the items of a chunk without any; None if no chunk has any."""
    if all(part.judged is None for part in parts):
        return None
    return np.concatenate([np.full(p.pool.n_items, -1) if p.judged is None else p.judged for p in parts])


def _concatenated(arrays: list[ArrayLike | None], axis: int) -> Any:
    """Concatenate arrays along an axis; None if the first is None."""
    return None if arrays[0] is None else np.concatenate(arrays, axis=axis)  # type: ignore[arg-type]


def _end_to_end(offsets: list[Ints]) -> Ints:
    """Concatenate offsets (starts of segments, then the total) of chunks that follow each other, each starting at 0."""
    return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(segment) for segment in offsets]))))
