"""The design of a pool that comes in chunks.

Whether a query is judged depends on itself but for a few sums over the pool: the cost of its mean item, Σ p, and
the mean and largest rate (`activeeval.design.RateSums`); of draws with replacement Σ p m and the normaliser of
q ∝ p sqrt((v + (m − R_θ)²) / λ), Sawade et al., eqs. (16)–(18). The first time the chunks go by takes these sums and
forgets the rest, but for q and λ where queries are drawn with replacement. The second time gathers what one sample
needs: the queries below the level that its budget reaches. They make a design, and a campaign, like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.campaign import Campaign
from activeeval.checks import closed_share
from activeeval.design import (
    Design,
    DesignInput,
    LargerPool,
    Levels,
    Order,
    PoolSums,
    RateSums,
    Replacement,
    ReplacementDraws,
    Scheme,
    check_budget,
    equal_loss_weights,
)
from activeeval.design.beliefs import Factor
from activeeval.design.methods import Method, default_method, find_method
from activeeval.errors import InputError
from activeeval.measures import SampledMeasure
from activeeval.pool import Seed, key_of
from activeeval.scale.chunks import Chunk, Chunks, Questions, asked_of, joined, mapped
from activeeval.scale.gathering import Gathering, PartitionResult, partition_result
from activeeval.scale.surveys import PartitionSurvey, Survey, partition_survey
from activeeval.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """How designs are made of chunks: the choices of `Method.design`, but for the pool.

    Attributes
    ----------
    method : Method
    questions : function of a chunk
        Its target, or targets.
    factor : Factor or None
    max_grade : int or None
    bias : float
    share : float
        The defensive share.
    weights : tuple of float
        ω of each target; none where there is one target.
    """

    method: Method
    questions: Questions
    factor: Factor | None
    max_grade: int | None
    bias: float
    share: float
    weights: tuple[float, ...]

    def design_input(self, chunk: Chunk) -> DesignInput:
        """Return what the method makes of a chunk."""
        asked = self.questions(chunk)
        if any(target.within is not None for target in (asked if isinstance(asked, Sequence) else [asked])):
            raise InputError("a pool in chunks is asked about all of its queries, not about some: no `within`")
        return self.method.design_input(
            asked,
            chunk.grade_probs,
            node_weights=chunk.node_weights,
            factor=self.factor,
            max_grade=self.max_grade,
            judged=chunk.judged,
            bias=self.bias,
        )

    def planned(self, _: int, chunk: Chunk) -> Floats:
        """Return what each target's own design plans, 0 for a single one, whose weight does not matter; then Σ p."""
        design_input, weights = self.design_input(chunk), chunk.weights
        planned = design_input.planned(weights) if len(design_input.targets) > 1 else np.zeros(1)
        return np.append(planned, weights.sum())

    def partition_survey(self, _: int, chunk: Chunk) -> PartitionSurvey:
        """Return what is left of a chunk once it has gone by."""
        design_input = self.design_input(chunk)
        sums = RateSums.of(design_input.places, self.method.rates(design_input, self.weights).ratios, chunk.weights)
        return partition_survey(chunk, design_input, sums, self.method.scheme.columns(design_input))


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkedDesign:
    """A sampling design for a pool that came in chunks.

    Attributes
    ----------
    recipe : Recipe
    survey : Survey
        What is left of the chunks.
    drawable : Drawable or None
        Where queries are drawn with replacement.
    n_jobs : int
        Threads that go through chunks.
    """

    recipe: Recipe
    survey: Survey
    drawable: Drawable | None
    n_jobs: int

    @property
    def name(self) -> str:
        """The method that made it."""
        return self.recipe.method.name

    @property
    def n_queries(self) -> int:
        """Number of queries of the whole pool."""
        return self.survey.sums.n_queries

    @property
    def cost(self) -> float:
        """What judging everything that its targets need costs, in mean items of the whole pool."""
        return self.survey.sums.cost / self.survey.sums.unit

    def campaign(
        self,
        budget: float,
        chunks: Chunks,
        *,
        rng: Seed = 0,
        blocks: Sequence[float] | None = None,
        expected: bool = False,
        up_to: float | None = None,
        by_instalments: bool = False,
    ) -> Campaign:
        """Return the campaign whose sample is that of the whole pool with this seed, unit by unit.

        Its pool holds the queries that the sample needs; estimates are for the whole pool, of the targets that the
        chunks were asked for.

        Parameters
        ----------
        budget : float
            In mean items of the whole pool; see `Design.with_budget`, as for ``blocks`` and ``expected``.
        chunks : iterable of Chunk, or function that returns one
            The chunks that the design was made of, once more.
        rng : Generator, SeedSequence, int or None
            As for `Campaign`.
        up_to : float, optional
            The largest budget that a top-up may lead to; by default there will be none.
        by_instalments : bool
            Where depths follow labels: as for `Campaign`.

        Raises
        ------
        BudgetError
            Where the budget does not pay for the dearest that may have to be judged at once.
        InputError
            Where queries or traffic are not those that the design was made of. All else is taken as it comes now: the
            sample is then one of these chunks, for which the design may be less apt.
        """
        key = key_of(rng, self.survey.digest)
        largest = max(check_budget(budget), 0.0 if up_to is None else check_budget(up_to))
        if self.drawable is None:
            design = self._levelled(chunks, key, largest)
        else:
            design = self._drawn(chunks, key, largest, self.drawable, expected=expected)
        design = design.with_budget(budget, blocks, expected=expected)
        return Campaign(design, key=int(key), by_instalments=by_instalments)

    def _levelled(self, chunks: Chunks, key: np.uint64, budget: float) -> Design:
        gathering, method, offsets = Gathering(budget=budget), self.recipe.method, self.survey.chunk_offsets
        sums = self.survey.sums

        def work(k: int, chunk: Chunk) -> PartitionResult:
            self.survey.check_again(k, chunk)
            design_input = self.recipe.design_input(chunk)
            rates, p = method.rates(design_input, self.recipe.weights), chunk.weights / sums.weight
            order = method.order(design_input, rates, p, sums, self.recipe.share)
            design = self._part(design_input, order, Levels())
            return partition_result(chunk, int(offsets[k]), design, key, gathering.horizon)

        n_chunks = 0
        for new in mapped(work, chunks, self.n_jobs):
            gathering.take(new)
            n_chunks += 1
        self.survey.check_complete(n_chunks)
        chosen = gathering.prune().chunk
        return self._design(chosen, key, gathering.horizon, Levels(), gathering.pool_sums)

    def _drawn(self, chunks: Chunks, key: np.uint64, budget: float, whole: Drawable, *, expected: bool) -> Design:
        draws, survey = whole.draws, self.survey
        drawn, _, last = draws.run(key, budget, expected=expected)
        also_needed = [int(np.argmax(draws.costs)), *([] if last is None else [last])]
        needed = np.union1d(drawn, also_needed)

        def work(k: int, chunk: Chunk) -> Chunk | None:
            survey.check_again(k, chunk)
            first, end = np.searchsorted(needed, survey.chunk_offsets[k : k + 2])
            return chunk.restricted_to(needed[first:end] - survey.chunk_offsets[k]) if end > first else None

        parts = list(mapped(work, chunks, self.n_jobs))
        survey.check_complete(len(parts))
        scheme, chosen = (
            Replacement(whole.sampling_probs[needed], draws.part(needed)),
            [p for p in parts if p is not None],
        )
        return self._design(joined(chosen), key, np.inf, scheme, (whole.pool_sums,))

    def _design(
        self, chosen: Chunk, key: np.uint64, horizon: float, scheme: Scheme, pool_sums: tuple[PoolSums, ...]
    ) -> Design:
        """Return the design of what was gathered, which knows what it needs of the rest."""
        recipe, sums = self.recipe, self.survey.sums
        design_input = recipe.design_input(chosen)
        rates = recipe.method.rates(design_input, recipe.weights)
        order = recipe.method.order(design_input, rates, chosen.weights / sums.weight, sums, recipe.share)
        larger_pool = LargerPool(key=int(key), horizon=horizon, cost=self.cost)
        return self._part(design_input, order, scheme).gathered(larger_pool, pool_sums)

    def _part(self, design_input: DesignInput, order: Order, scheme: Scheme) -> Design:
        """Return the design of a part of the pool."""
        method = self.recipe.method
        return method.looked(method.design_of(design_input, order, scheme, self.recipe.max_grade), self.recipe.weights)


def chunked_design(
    chunks: Chunks,
    measure: SampledMeasure | Questions,
    method: str | None = None,
    *,
    factor: Factor | None = None,
    max_grade: int | None = None,
    weights: Sequence[float] | None = None,
    defensive_share: float | None = None,
    bias: float = 0.0,
    looks: str = "none",
    n_jobs: int = 1,
) -> ChunkedDesign:
    """Return the design of a pool that comes in chunks, going through them once.

    Parameters
    ----------
    chunks : iterable of Chunk, or function that returns one
        Together the pool; they are gone through in turn and none is kept. Query ids are to be unique over all.
    measure : SampledMeasure, or function of a chunk
        Of the chunk's ranking, or of its two in comparison. A function returns the target, or targets, of a chunk:
        several questions for one sample.
    method : str, optional
        By default the most precise one that a bad grade model cannot spoil, `default_method` of the measure.
    weights : sequence of float, optional
        ω of each target. By default all lose alike: of several targets the chunks are then gone through twice.
    factor, max_grade, defensive_share, bias
        As in `Method.design`.
    looks : {"each", "3", "1", "none"}
        When the labels of a query decide how deep it is judged; see `Method.looking`.
    n_jobs : int
        Threads that go through chunks; −1 takes all processors.

    Raises
    ------
    InputError
        Where a chunk cannot be sampled, does not fit the first, or repeats a query; names the chunk.

    Examples
    --------
    >>> from activeeval import DCG, Chunk, QueryPool, Rankings
    >>> def chunk(k):
    ...     pool = QueryPool([2 * k, 2 * k + 1], [0, 2, 4 + k])
    ...     return Chunk(Rankings.from_scores(pool, np.arange(4.0 + k)), np.full((4 + k, 3), 1 / 3))
    >>> chunks = [chunk(k) for k in range(3)]
    >>> design = chunked_design(chunks, DCG(), "items")
    >>> design.n_queries, design.cost
    (6, 15.0)
    >>> campaign = design.campaign(6, chunks, rng=0)
    >>> campaign.run(lambda query_id, item_ids: [1] * len(item_ids)).n_items
    6
    """
    if method is None and not isinstance(measure, SampledMeasure):
        raise InputError("name the method: questions that are a function have no default")
    if isinstance(weights, str):
        raise InputError(f"weights of a pool in chunks are a number for each target, got {weights!r}")
    chosen = find_method(method) if method is not None else default_method(measure)  # type: ignore[arg-type]
    chosen = chosen if looks == "none" else chosen.looking(looks)
    recipe = Recipe(
        method=chosen,
        questions=asked_of(measure),
        factor=factor,
        max_grade=max_grade,
        bias=bias,
        share=closed_share(
            chosen.defensive_share if defensive_share is None else defensive_share, "the defensive share"
        ),
        weights=() if weights is None else tuple(weights),
    )
    if weights is None and not isinstance(measure, SampledMeasure):
        recipe = replace(recipe, weights=_equal_loss(recipe, chunks, n_jobs))
    survey = Survey.of(mapped(recipe.partition_survey, chunks, n_jobs))
    drawable = Drawable.of(recipe, survey) if survey.columns else None
    return ChunkedDesign(recipe=recipe, survey=survey.without_columns(), drawable=drawable, n_jobs=n_jobs)


def _equal_loss(recipe: Recipe, chunks: Chunks, n_jobs: int) -> tuple[float, ...]:
    """Return the weights of targets by which all lose alike."""
    if not callable(chunks) and iter(chunks) is chunks:
        raise InputError("give weights, or chunks that can be gone through twice: a list, or a function")
    planned = list(mapped(recipe.planned, chunks, n_jobs))
    if len({row.size for row in planned}) != 1:
        return ()  # the survey says what is wrong with the chunks
    *of_targets, weight = np.sum(planned, axis=0)
    return tuple(equal_loss_weights(np.array(of_targets) / weight))
