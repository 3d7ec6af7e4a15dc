"""Values of a new and an old run, query by query, and the queries that lose most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign import Campaign
from activeeval.core.campaign.reading import judged_queries
from activeeval.core.interval_ends import ROUNDING
from activeeval.core.measures import LabelsLike, Target
from activeeval.core.measures.labels import SoftLabels
from activeeval.core.types import Floats
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell
from activeeval.sampling.lost_queries import MOST_SHOWN, LosingQuery

_MOST_MOVES = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryValues:
    """Values of a new and an old run, query by query.

    Attributes
    ----------
    query_ids : list of str
    values, versus_values : ndarray, shape (n,)
        Values of the new and of the old run.
    weights : ndarray, shape (n,)
        Weight of each query in the mean: its probability p; for a sample p/π, π the probability of being sampled
        (`activeeval.core.campaign.reading.judged_queries`).
    is_sample : bool
        True if these are the queries of a sample; values then use only the judged documents.
    moves : callable or None
        Describes, by the query's position, how relevant documents moved: "d3 2→5, d7 1→out".

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> made = QueryValues(query_ids=["q1", "q2"], values=half, versus_values=np.array([1.0, 0.25]), weights=half)
    >>> made.shares, made.worst
    (array([1., 0.]), [0])
    """

    query_ids: list[str]
    values: Floats
    versus_values: Floats
    weights: Floats
    is_sample: bool = False
    moves: Callable[[int], str] | None = None

    @property
    def shares(self) -> Floats:
        """Share of each query in the total loss: weight × (old − new) where positive, normalized to sum 1."""
        lost = self.versus_values - self.values
        # differences by rounding are no losses
        lost[lost <= ROUNDING * np.maximum(np.abs(self.values), np.abs(self.versus_values))] = 0.0
        lost *= self.weights
        return lost / lost.sum() if lost.any() else lost

    @property
    def worst(self) -> list[int]:
        """Indices of the queries that lose, by decreasing share of the loss; ties in their order."""
        shares = self.shares
        return [int(k) for k in np.argsort(-shares, kind="stable") if shares[k] > 0]

    def rows(self, measure: str, system: str, versus: str) -> list[dict[str, Cell]]:
        """Build a row for each query, those that lose most first, with the column names of ``activeeval score -q``.

        ``measure``, ``system`` (the new run) and ``versus`` (the old one) are names for the rows.
        """
        shares = self.shares
        return [
            {
                "query_id": self.query_ids[k],
                "run": system,
                "versus": versus,
                "measure": measure,
                "value": float(self.values[k]),
                "versus_value": float(self.versus_values[k]),
                "difference": float(self.values[k] - self.versus_values[k]),
                "weight": float(self.weights[k]),
                "share_of_loss": float(shares[k]),
                **({} if self.moves is None else {"moved": self.moves(k)}),
            }
            for k in np.argsort(-shares, kind="stable").tolist()
        ]

    @property
    def losing(self) -> list[LosingQuery]:
        """The queries that lose most from the old to the new run, at most `MOST_SHOWN`."""
        shares = self.shares
        return [
            LosingQuery(
                query_id=self.query_ids[k],
                value=float(self.values[k]),
                versus_value=float(self.versus_values[k]),
                weight=float(self.weights[k]),
                share=float(shares[k]),
            )
            for k in self.worst[:MOST_SHOWN]
        ]

    def title(self, measure: str) -> str:
        """Write the title of the table of `losing`; ``measure`` is the name of the measure."""
        n, judged = len(self.worst), counted(len(self.query_ids), "judged query")
        which = "all" if n <= MOST_SHOWN else f"the {MOST_SHOWN} that lose most"
        by = "; values are by the judged documents alone" if self.is_sample else ""
        return f"{n:,} of {judged} {agreeing(n, 'loses', 'lose')} by {measure}, {which}{by}:"


def values_by_judgments(target: Target, grades: LabelsLike) -> QueryValues:
    """Compute the values of both rankings of a difference, query by query, from the grades (n_items,) of all items.

    With fractional grades (`SoftLabels`) no moves of relevant documents are described.
    """
    pool = target.pool
    return QueryValues(
        query_ids=pool.query_texts.tolist(),
        values=replace(target, versus=None).values(grades),
        versus_values=replace(target, ranking=target.other, versus=None).values(grades),
        weights=np.array(pool.query_probs),
        moves=None if isinstance(grades, SoftLabels) else partial(_moves, target, np.asarray(grades)),
    )


def _moves(target: Target, grades: NDArray[Any], query: int) -> str:
    """Describe the relevant documents of a query whose rank differs: old→new rank, "out" beyond the measure's depth.

    ``target.other`` is the old ranking, ``grades`` (n_items,) are of the pool, ``query`` is the query's position.
    """
    ranks: list[dict[int, int]] = []
    for ranking in (target.other, target.ranking):
        items = ranking.items[ranking.offsets[query] : ranking.offsets[query + 1]][: target.depth].tolist()
        ranks.append({item: rank for rank, item in enumerate(items, 1) if grades[item] > 0})
    before, after = ranks
    moved = [item for item in {**before, **after} if before.get(item) != after.get(item)]
    ids = target.pool.item_texts
    texts = [f"{ids[item]} {before.get(item, 'out')}→{after.get(item, 'out')}" for item in moved[:_MOST_MOVES]]
    return ", ".join(texts) + (", …" if len(moved) > _MOST_MOVES else "")


def values_of_sample(campaign: Campaign, target: Target) -> QueryValues:
    """Compute the values of both rankings of a difference on the judged queries, from their judged documents.

    Queries are weighted by their probability p over that of being in the sample.
    """
    queries, weights, labels = judged_queries(campaign.design, campaign.selection, campaign.labels, target)
    whole = values_by_judgments(target, labels)
    return QueryValues(
        query_ids=[whole.query_ids[q] for q in queries.tolist()],
        values=whole.values[queries],
        versus_values=whole.versus_values[queries],
        weights=weights,
        is_sample=True,
        moves=None if whole.moves is None else lambda k: str(whole.moves(int(queries[k]))),  # type: ignore[misc]
    )
