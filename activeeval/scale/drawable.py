"""What draws with replacement need of a whole pool: q and the cost of every query, and sums over all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.design import PoolSums, ReplacementDraws
from activeeval.core.types import Floats
from activeeval.scale.recipe import Recipe
from activeeval.scale.surveys import Survey


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawable:
    """What draws with replacement need of the whole pool: q (n_queries,), the draws, and sums over all queries."""

    sampling_probs: Floats
    draws: ReplacementDraws
    pool_sums: PoolSums

    @classmethod
    def of(cls, recipe: Recipe, survey: Survey) -> Drawable:
        """Return what follows from what is left of the chunks."""
        weights, *columns = survey.columns
        p, unit = weights / survey.sums.weight, survey.sums.unit
        q = recipe.method.draw_probs(p, columns, survey.cheapest, unit, recipe.share)
        pool_sums = PoolSums(
            n_queries=p.size,
            n_open=p.size,
            population=np.array([1.0, float(p @ np.nan_to_num(columns[0]))]),
            base=0.0,
            settled_squares=0.0,
            open_squares=0.0,
            open_share=1.0,
            squares=float(p @ p),
        )
        return cls(
            sampling_probs=q, draws=ReplacementDraws.of(survey.hashes, q, columns[2] / unit), pool_sums=pool_sums
        )
