"""Sampling design of a pool read in partitions.

Whether a query is judged depends on the query itself, apart from a few sums over the pool: the cost of its mean item,
Σ p, and the mean and largest rate (`activeeval.core.design.RateSums`); for draws with replacement Σ p m and the
normaliser of q ∝ p sqrt((v + (m − R_θ)²) / λ), Sawade et al., eqs. (16)–(18). The first pass predicts each partition
once, writes its unit table and adds up these sums. The second pass finds the units below a budget's threshold level in
the tables; the rows of their queries form an ordinary design and campaign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from joblib import effective_n_jobs

from activeeval.core.campaign import Campaign
from activeeval.core.checks import check_names, closed_share
from activeeval.core.design import (
    Design,
    LargerPool,
    Levels,
    PoolSums,
    RateSums,
    Replacement,
    ReplacementDraws,
    Scheme,
    check_budget,
    equal_loss_weights,
)
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.errors import InputError
from activeeval.core.measures import SampledMeasure
from activeeval.core.pool import Seed, key_of
from activeeval.core.types import Floats, Ints
from activeeval.scale.chunks import Chunk, by_query
from activeeval.scale.duplicate_ids import check_unique
from activeeval.scale.engines import Engine
from activeeval.scale.engines.local import LocalEngine
from activeeval.scale.fetch_rows import fetched
from activeeval.scale.packed_arrays import packed, unpacked
from activeeval.scale.recipe import ChunkMeasure, PartitionOptions, Progress, Questions, Recipe
from activeeval.scale.scratch import Scratch, TemporaryFolder
from activeeval.scale.select_queries import PartitionUnits, SelectedUnits, UnitsTask, waves
from activeeval.scale.sources import Chunks, Source, SuppliedChunks
from activeeval.scale.surveys import PartitionSurvey, Survey, SurveyTask
from activeeval.scale.tables import UnitTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawable:
    """Inputs of draws with replacement: q (n_queries,), the draws, and sums over all queries of the pool."""

    sampling_probs: Floats
    draws: ReplacementDraws
    pool_sums: PoolSums

    @classmethod
    def of(cls, recipe: Recipe, survey: Survey) -> Drawable:
        """Compute sampling probabilities and draws from the survey's columns: p, mean, variance and cost by query."""
        weights, *columns = survey.columns
        p, unit = weights / survey.sums.weight, survey.sums.unit
        q = recipe.method.draw_probs(p, columns, survey.cheapest, unit, recipe.share)
        pool_sums = PoolSums(
            n_queries=p.size,
            n_open=p.size,
            population=np.array([1.0, float(p @ np.nan_to_num(columns[0]))]),  # Σ p, and Σ p times the mean
            base=0.0,  # no value is known before a query is drawn: all are open
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
    """Sampling design of a pool read in partitions.

    Attributes
    ----------
    recipe : Recipe
    survey : Survey
        Sums over the partitions, and what identifies each of them.
    drawable : Drawable or None
        Set if queries are drawn with replacement.
    scratch : Scratch
        Holds the unit tables of the partitions (what later passes need of the items).
    engine, progress
    keeper : object
        Deletes the tables when it is garbage-collected.

    Examples
    --------
    >>> import numpy as np
    >>> from activeeval import DCG, Chunk, QueryPool, Rankings, chunked_design
    >>> pools = [QueryPool(["q1", "q2"], [0, 2, 4], list("abab")), QueryPool(["q3"], [0, 3], list("abc"))]
    >>> chunks = [Chunk(Rankings.from_scores(pool, np.arange(pool.n_items))) for pool in pools]
    >>> design = chunked_design(chunks, DCG(), "random")
    >>> design.name, design.n_queries, design.cost
    ('random', 3, 7.0)
    """

    recipe: Recipe
    survey: Survey
    drawable: Drawable | None
    scratch: Scratch
    engine: Engine
    progress: Progress
    keeper: object

    @property
    def name(self) -> str:
        """Name of the sampling method."""
        return self.recipe.method.name

    @property
    def n_queries(self) -> int:
        """Number of queries of the whole pool."""
        return self.survey.n_queries

    @property
    def cost(self) -> float:
        """Cost of judging all items that the targets need, in mean items (cost of the pool's average item)."""
        return self.survey.sums.cost / self.survey.sums.unit

    @property
    def whole_cost(self) -> float:
        """Cost of judging every unjudged item that can change an estimate, in mean items (cost of an average item)."""
        return self.survey.whole / self.survey.sums.unit

    def campaign(
        self,
        budget: float,
        chunks: Chunks | Source,
        *,
        rng: Seed = 0,
        blocks: Sequence[float] | None = None,
        expected: bool = False,
        up_to: float | None = None,
        by_batches: bool = False,
        surely: bool = False,
    ) -> Campaign:
        """Start a campaign on the sampled queries with the same sample as the whole pool in memory with this seed.

        Parameters
        ----------
        budget : float
            In mean items (cost of an average item); ``expected`` meets it on average.
        chunks : iterable of Chunk, function that returns one, or Source
            The chunks of the design again; with adaptive depth they must be iterable twice.
        rng : Generator, SeedSequence, int or None
            Seed of the sample: with the ids it determines all random numbers.
        blocks : sequence of float, optional
            Cumulated budgets at which the sample may be read; by default quarters of the budget.
        up_to : float, optional
            Largest budget after top-ups; by default no top-ups.
        by_batches, surely : bool
            With adaptive depth: request batches, not single items; only what the budget pays for in any case.

        Raises
        ------
        BudgetError
            If the budget is below the cost of the most expensive unit.
        InputError
            If queries or traffic differ from those of the design. Other contents may differ: the sample is then valid
            for the new chunks, but the design may be less efficient for them.
        """
        source = _source_of(chunks)
        key = key_of(rng, self.survey.digest)
        largest = max(check_budget(budget), 0.0 if up_to is None else check_budget(up_to))
        if self.drawable is None:
            design = self._levelled(source, key, largest)
        else:
            design = self._drawn(source, key, largest, self.drawable, expected=expected)
        design = design.with_budget(budget, blocks, expected=expected)
        return Campaign(design, key=int(key), by_batches=by_batches, surely=surely)

    def _levelled(self, source: Source, key: np.uint64, budget: float) -> Design:
        """Build the design of the units whose random levels, drawn by `key`, lie below the threshold of a budget."""
        selected, n = SelectedUnits(budget=budget), len(self.survey.names)
        if self.recipe.follows_labels and isinstance(source, SuppliedChunks) and source.comes_once:
            raise InputError("with adaptive depth chunks are read twice: give a list or a function")
        shared: dict[str, Any] = {"source": source, "recipe": self.recipe, "scratch": self.scratch}
        shared |= {"sums": self.survey.sums, "key": key, "budget": budget}
        # only with adaptive depth the second pass reads the partitions, not just their tables
        parts = enumerate(source.keys()) if self.recipe.follows_labels else ((k, None) for k in range(n))
        for wave in waves(parts, self.engine.n_workers):
            task = UnitsTask(**shared, limit=selected.horizon)  # the threshold by the partitions so far
            for (k, _), content in zip(wave, self.engine.map(task, wave), strict=True):
                selected.take(k, PartitionUnits.unpacked(content))
                self.progress(f"levels of {k + 1} of {n} partitions")
        queries = by_query(fetched(source, self.engine, self.scratch, self.survey, selected.chosen()))
        return self._design(queries, key, selected.horizon, Levels(), selected.sums(self.survey.pool_sums))

    def _drawn(self, source: Source, key: np.uint64, budget: float, drawable: Drawable, *, expected: bool) -> Design:
        """Build the design of a sample with replacement; `budget` is met on average if `expected`, else at most."""
        draws, offsets = drawable.draws, self.survey.offsets
        drawn, _, last = draws.run(key, budget, expected=expected)  # `last`: the query that could not be paid
        # the dearest query and `last` are fetched too, as warnings about a small budget need their costs
        needed = np.union1d(drawn, [int(np.argmax(draws.costs)), *([] if last is None else [last])])
        bounds = np.searchsorted(needed, offsets)  # offsets: number of the first query of each partition
        chosen: dict[int, Ints] = {
            k: needed[bounds[k] : bounds[k + 1]] - offsets[k]
            for k in range(offsets.size - 1)
            if bounds[k + 1] > bounds[k]
        }
        chunk = fetched(source, self.engine, self.scratch, self.survey, chosen)
        scheme = Replacement(drawable.sampling_probs[needed], draws.part(needed))
        return self._design(chunk, key, np.inf, scheme, (drawable.pool_sums,))

    def _design(
        self, chosen: Chunk, key: np.uint64, horizon: float, scheme: Scheme, pool_sums: tuple[PoolSums, ...]
    ) -> Design:
        """Build the design of the fetched queries with the whole pool's sums; `horizon`: units above were not read."""
        recipe, sums = self.recipe, self.survey.sums
        design_input = recipe.design_input(chosen)
        order = recipe.order(design_input, chosen.weights / sums.weight, sums)
        larger_pool = LargerPool(key=int(key), horizon=horizon, cost=self.cost)
        return recipe.part(design_input, order, scheme).gathered(larger_pool, pool_sums)


def _source_of(chunks: Any) -> Source:
    """Wrap chunks in a source of partitions; what is a source already (it has `is_streamed`) is returned as it is."""
    return chunks if hasattr(chunks, "is_streamed") else SuppliedChunks(chunks)


def chunked_design(
    chunks: Chunks | Source,
    measure: SampledMeasure | Questions,
    method: str | None = None,
    *,
    weights: Sequence[float] | None = None,
    defensive_share: float | None = None,
    adaptive_depth: str = "off",
    **options: Unpack[PartitionOptions],
) -> ChunkedDesign:
    """Build the sampling design of a pool read in partitions, in one pass over them.

    Parameters
    ----------
    chunks : iterable of Chunk, function that returns one, or Source
        Together the pool; they are read one by one and none is kept. Query ids must be unique over all.
    measure : SampledMeasure, or function of a chunk
        Measure of the chunk's ranking, or of the difference of its two; or a function from a chunk to its targets.
    method : str, optional
        By default `default_method` of the measure: the most precise method that is robust to a bad grade model.
    weights : sequence of float, optional
        ω of each target. By default all targets have the same relative loss against their own best design.
    defensive_share : float, optional
        Least share of sampling that does not follow the grade model; by default that of the method.
    adaptive_depth : {"each", "3", "1", "off"}
        When the depth of a query is re-planned from its labels; see `Method.looking`.
    **options
        `PartitionOptions`: factor, max_grade, bias, n_jobs, engine, scratch, trust_ids and progress.

    Raises
    ------
    InputError
        With the partition's name, if it cannot be sampled, does not match the first, or repeats a query.

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
    check_names(options, PartitionOptions)
    chosen = _method(measure, method, weights, adaptive_depth)
    share = chosen.defensive_share if defensive_share is None else defensive_share
    recipe = Recipe(
        method=chosen,
        questions=ChunkMeasure(measure) if isinstance(measure, SampledMeasure) else measure,
        factor=options.get("factor"),
        max_grade=options.get("max_grade"),
        bias=options.get("bias", 0.0),
        share=closed_share(share, "the defensive share"),
        weights=() if weights is None else tuple(weights),
    )
    keeper: TemporaryFolder | None = None
    scratch, trust_ids = options.get("scratch"), options.get("trust_ids", False)
    if scratch is None:
        keeper = TemporaryFolder()
        scratch = keeper.folder
    workers = options.get("engine") or LocalEngine(effective_n_jobs(options.get("n_jobs", 1)))
    progress = options.get("progress", lambda what: None)
    source = _source_of(chunks)
    task = SurveyTask(source=source, recipe=recipe, scratch=scratch, is_trusted=trust_ids)
    names: list[str] = []
    surveys = workers.map(task, _named_keys(source, names))
    survey = Survey.of(_reported(surveys, names, progress))
    if not trust_ids:
        check_unique(workers, scratch, survey.names, survey.n_queries, source.query_name)
    if survey.planned.size > 1 and not recipe.weights:
        recipe, survey = _equal_loss(recipe, survey, workers, scratch)
    drawable = Drawable.of(recipe, survey) if survey.columns else None
    return ChunkedDesign(
        recipe=recipe,
        survey=survey.without_columns(),
        drawable=drawable,
        scratch=scratch,
        engine=workers,
        progress=progress,
        keeper=keeper,
    )


def _method(
    measure: SampledMeasure | Questions, method: str | None, weights: Sequence[float] | None, adaptive_depth: str
) -> Method:
    """Look up the method; raise InputError if its options are not supported for a pool in partitions."""
    if method is None and not isinstance(measure, SampledMeasure):
        raise InputError("name the method: questions that are a function have no default")
    if isinstance(weights, str):
        raise InputError(f"weights of a pool in chunks are a number for each target, got {weights!r}")
    chosen = find_method(method) if method is not None else default_method(measure)  # type: ignore[arg-type]
    return chosen if adaptive_depth == "off" else chosen.looking(adaptive_depth)


def _named_keys(source: Source, names: list[str]) -> Any:
    """Yield (number, key) of the partitions, and append their names for messages to `names`."""
    for k, key in enumerate(source.keys()):
        names.append(source.name(k, key))
        yield k, key


def _reported(surveys: Any, names: list[str], progress: Progress) -> Any:
    """Yield (name, survey) of the partitions from their packed `surveys`, and report progress."""
    for k, content in enumerate(surveys):
        progress(f"surveyed {k + 1} partitions")
        yield names[k], PartitionSurvey.unpacked(content)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatesTask:
    """Task: sum the sampling rates of a partition for the target weights of a recipe, from its unit table."""

    recipe: Recipe
    scratch: Scratch

    def __call__(self, number: int) -> bytes:
        """Compute Σ cost p rate, Σ cost p and the largest rate of a partition (by its number), as bytes."""
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        sums = table.rate_sums(self.recipe) if table.numbers.size else (0.0, 0.0, 0.0)
        return packed({"sums": np.array(sums)})


def _equal_loss(recipe: Recipe, survey: Survey, engine: Engine, scratch: Scratch) -> tuple[Recipe, Survey]:
    """Set the target weights so that all targets lose the same share of precision; update the survey's rate sums."""
    weights = tuple(equal_loss_weights(survey.planned / survey.sums.weight))  # planned: loss of each alone
    recipe = replace(recipe, weights=weights)
    of_parts = engine.map(RatesTask(recipe=recipe, scratch=scratch), range(len(survey.names)))
    tops, bottoms, largests = np.array([unpacked(content)["sums"] for content in of_parts]).T
    sums: RateSums = replace(
        survey.sums, top=float(tops.sum()), bottom=float(bottoms.sum()), largest=float(largests.max())
    )
    return recipe, replace(survey, sums=sums)
