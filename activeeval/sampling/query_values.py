"""Values of a new and an old run, query by query, and the queries that lose most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.campaign.reading import judged_queries
from activeeval.core.interval_ends import ROUNDING
from activeeval.core.measures import LabelsLike, Target
from activeeval.core.types import Floats
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell
from activeeval.sampling.lost_queries import MOST_SHOWN, LosingQuery


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryValues:
    """Values of a new and an old run, query by query.

    Attributes
    ----------
    query_ids : list of str
    values, versus_values : ndarray, shape (n,)
        Values of the new and of the old run.
    weights : ndarray, shape (n,)
        Weight p of each query in the mean; for a sample p/π, see `activeeval.core.campaign.reading.judged_queries`.
    is_sample : bool
        True if these are the queries of a sample; values then use only the judged documents.

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

    @property
    def shares(self) -> Floats:
        """Share of each query in the total loss: weight × (old − new) where positive, normalized to sum 1."""
        lost = self.versus_values - self.values
        lost[lost <= ROUNDING * np.maximum(np.abs(self.values), np.abs(self.versus_values))] = 0.0
        lost *= self.weights
        return lost / lost.sum() if lost.any() else lost

    @property
    def worst(self) -> list[int]:
        """Positions of the queries that lose, by decreasing share; ties in their order."""
        shares = self.shares
        return [int(k) for k in np.argsort(-shares, kind="stable") if shares[k] > 0]

    def rows(self, measure: str, system: str, versus: str) -> list[dict[str, Cell]]:
        """Build a row for each query, with the column names of ``activeeval score -q``."""
        columns = (self.query_ids, self.values, self.versus_values, self.weights, self.shares)
        return [
            {
                "query_id": query,
                "run": system,
                "versus": versus,
                "measure": measure,
                "value": float(value),
                "versus_value": float(versus_value),
                "difference": float(value - versus_value),
                "weight": float(weight),
                "share_of_loss": float(share),
            }
            for query, value, versus_value, weight, share in zip(*columns, strict=True)
        ]

    @property
    def losing(self) -> list[LosingQuery]:
        """The at most `MOST_SHOWN` queries that lose most, as `LosingQuery`."""
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
        """Write the title of the table of `losing`."""
        n, judged = len(self.worst), counted(len(self.query_ids), "judged query")
        which = "all" if n <= MOST_SHOWN else f"the {MOST_SHOWN} that lose most"
        by = "; values are by the judged documents alone" if self.is_sample else ""
        return f"{n:,} of {judged} {agreeing(n, 'loses', 'lose')} by {measure}, {which}{by}:"


def values_by_judgments(target: Target, grades: LabelsLike) -> QueryValues:
    """Compute the values of both rankings of a difference from the grades of all items."""
    pool = target.pool
    return QueryValues(
        query_ids=pool.query_texts.tolist(),
        values=replace(target, versus=None).values(grades),
        versus_values=replace(target, ranking=target.other, versus=None).values(grades),
        weights=np.array(pool.query_probs),
    )


def values_of_sample(campaign: Campaign, target: Target) -> QueryValues:
    """Compute the values of both rankings of a difference on the judged queries, from their judged documents."""
    queries, weights, labels = judged_queries(campaign.design, campaign.selection, campaign.labels, target)
    whole = values_by_judgments(target, labels)
    return QueryValues(
        query_ids=[whole.query_ids[q] for q in queries.tolist()],
        values=whole.values[queries],
        versus_values=whole.versus_values[queries],
        weights=weights,
        is_sample=True,
    )
