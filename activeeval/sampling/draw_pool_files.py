"""Draw samples of a pool in files: too large for memory, stored in partitions that are processed one by one.

`activeeval.sampling.draw` draws those of a pool in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.errors import BudgetError, ChoiceError, InputError
from activeeval.core.grade_models import QueryFactor
from activeeval.core.measures import SampledMeasure, Target, shown_name
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.loading import ending_at, on_one_scale, sampled_measure
from activeeval.inputs.systems import Pair, asked_of
from activeeval.report.numbers import counted
from activeeval.sampling.adaptive_depth import adaptive_depth_of
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.scale.chunks import Chunk
from activeeval.scale.designs import ChunkedDesign, chunked_design
from activeeval.scale.engines.selection import opened_engine
from activeeval.scale.partitions import PartitionedPool
from activeeval.scale.scratch import Scratch, scratch_of


@dataclass(frozen=True, slots=True)
class Questions:
    """Function that builds the targets of a chunk (part of the pool): each measure of each ranking, or of each pair.

    ``pairs`` has, for each question, its kind and the indices of the ranking and of the one subtracted (or None).
    """

    measures: tuple[SampledMeasure, ...]
    pairs: tuple[tuple[str, Pair], ...]

    def __call__(self, chunk: Chunk) -> list[Target]:
        """Build the targets of a chunk (part of the pool): each measure of each ranking or pair of rankings.

        ``pairs`` has kinds of question with the indices in ``lists`` of a ranking and of the one subtracted (or None).
        """
        lists = [chunk.ranking, *([] if chunk.versus is None else [chunk.versus]), *chunk.others]
        return [
            Target(measure, lists[system], None if versus is None else lists[versus])
            for measure in self.measures
            for _, (system, versus) in self.pairs
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilesRequest:
    """A pool in files with the questions and the method of a sample.

    Attributes
    ----------
    pool : PartitionedPool
    questions : Questions
        Builds the targets of each part of the pool.
    method : Method
    adaptive_depth : {"each", "3", "1", "off"}
        When the labels of a query decide how deep it is judged.
    max_grade : int
        Largest grade of the scale.
    weights : tuple of float or None
        Of the targets; None balances them by equal loss.
    again : dict
        The request as JSON, from which `of_sample` rebuilds it.
    """

    pool: PartitionedPool
    questions: Questions
    method: Method
    adaptive_depth: str
    max_grade: int
    weights: tuple[float, ...] | None
    again: dict[str, Any]

    @classmethod
    def of(
        cls,
        choices: Choices,
        measures: Sequence[str],
        questions: Sequence[str],
        *,
        method: str | None = None,
        weights: str = "equal",
        adaptive_depth: str | None = None,
        usual: str = "off",
    ) -> FilesRequest:
        """Build the request for the files named by choices, with each measure and question once.

        By default the question is the difference of several runs, or the value of one; the method is the best one for
        the measures. ``adaptive_depth`` is "each", "3", "1" or "off" (when labels decide how deep a query is judged);
        None means ``usual`` for nDCG, else "off". ``weights`` balance the targets, "equal" (loss) or "sum" (variance).

        Raises
        ------
        InputError, ChoiceError
            If a file, a run, a measure or a method is wrong.
        """
        assert choices.pool_parquet is not None
        pool = PartitionedPool.of(choices.pool_parquet, [str(name) for (name,) in choices.systems])
        header, n = pool.said, len(pool.runs)  # what the pool's files say of it: depth, scale, model
        chosen = questions or ["run" if n == 1 else "difference"]
        pairs = tuple((q, pair) for q in dict.fromkeys(chosen) for pair in asked_of(q, n, choices.contrasts))
        scaled = _on_one_scale([sampled_measure(text) for text in dict.fromkeys(measures)], header, choices.max_grade)
        built = Questions(tuple(ending_at(measure, header.get("depth")) for measure in scaled), pairs)
        used = find_method(method) if method else default_method(*built.measures)
        # nothing is known of the grades, and a question is for one run's value: see `adaptive_depth_of`
        blind = bool(header.get("is_uniform")) and any(versus is None for _, (_, versus) in pairs)
        max_grade = max(measure.max_grade or 0 for measure in scaled) or int(header.get("max_grade") or 0)
        n_targets = len(built.measures) * len(pairs)
        if weights == "minimax" and n_targets > 1:
            raise ChoiceError("`weights` minimax need the whole pool at hand: equal or sum", field="weights")
        return cls(
            pool=pool.for_scale(max_grade + 1),
            questions=built,
            method=used,
            adaptive_depth=adaptive_depth_of(used, built.measures, adaptive_depth, usual, blind=blind),
            max_grade=max_grade,
            weights=(1.0,) * n_targets if weights == "sum" and n_targets > 1 else None,
            again={
                "measures": list(measures),
                "questions": list(chosen),
                "method": used.name,
                "weights": weights,
                "runs": list(pool.runs),
                "contrasts": choices.contrasts,
                "max_grade": choices.max_grade,
                "defensive_share": choices.defensive_share,
            },
        )

    @classmethod
    def of_sample(cls, sample: DrawnSample, choices: Choices) -> tuple[FilesRequest, Choices]:
        """Rebuild, from a sample of a pool in files, the request and the choices that it was drawn with.

        Parameters
        ----------
        choices : Choices
            Location of the pool, and the engine that processes its partitions.

        Raises
        ------
        ChoiceError
            If the sample is of no pool in files.
        """
        if sample.files is None or sample.seed is None:
            problem = "the sample was not drawn of a pool in files: leave `pool_parquet` out"
            raise ChoiceError(problem, field="pool_parquet")
        files = dict(sample.files)  # the request as JSON: `again`
        arguments = {name: files.pop(name) for name in ("measures", "questions", "method", "weights")}
        whole = replace(choices, **files, seed=sample.seed)
        # the only use is a top-up, which refuses samples with adaptive depth
        return cls.of(
            whole, arguments.pop("measures"), arguments.pop("questions"), adaptive_depth="off", **arguments
        ), whole

    @property
    def factor(self) -> QueryFactor | None:
        """Query factor (a random effect shared by a query's items) of the pool; None without one, or if ignored."""
        stored = self.pool.said.get("factor")
        return None if stored is None or self.method.ignores_factor else QueryFactor(**stored)

    def design(
        self, choices: Choices, engine: Any, scratch: Scratch | None, progress: Callable[[str], object]
    ) -> ChunkedDesign:
        """Design the sample of the pool, partition by partition.

        Parameters
        ----------
        choices : Choices
            Its defensive share (of sampling that ignores the grade model) and ``trust_ids`` (ids are not checked).
        engine : object
            Processes the partitions: None for this process, or as opened by `opened_engine`.
        scratch : Scratch or None
            Store of intermediate results.
        progress : callable
            Called with a text that names the next step.
        """
        return chunked_design(
            self.pool,
            self.questions,
            self.method.name,
            factor=self.factor,
            max_grade=self.max_grade,
            weights=self.weights,
            defensive_share=choices.defensive_share,
            adaptive_depth=self.adaptive_depth,
            engine=engine,
            scratch=scratch,
            trust_ids=choices.trust_ids,
            progress=progress,
        )


def _on_one_scale(
    measures: Sequence[SampledMeasure], header: dict[str, Any], stated: int | None
) -> list[SampledMeasure]:
    """Bind measures to the grade scale of a pool, enlarged if a measure has a larger scale.

    ``header`` is what the pool says of itself, ``stated`` the user's largest grade. Raise ChoiceError if neither has
    one, and InputError if a measure does not fit.
    """
    top = stated or header.get("max_grade")
    if top is None:
        problem = "`max_grade` is needed: the pool does not say the largest grade of its scale"
        raise ChoiceError(problem, field="max_grade")
    return on_one_scale(measures, int(top), stated or header.get("stated_grade"), "the pool's scale ends at")


def draw_of_files(
    choices: Choices,
    request: FilesRequest,
    budget: Budget,
    *,
    expected: bool = False,
    surely: bool = False,
    progress: Callable[[str], object] = lambda step: None,
) -> DrawnSample:
    """Draw the sample of a pool in files (too large for memory); it equals that of the same pool in memory.

    ``choices`` has the location of the pool, the engine that processes its partitions, and the seed. ``expected`` is
    True if draws with replacement meet the budget on average; ``surely``, with adaptive depth, if batches are smaller,
    so that the budget always suffices to complete the sample. ``progress`` gets texts that name the next step.

    Raises
    ------
    InputError
        If no label can change a target, or a partition is wrong, missing or given twice.
    BudgetError
        If the budget is too small for the most expensive unit (what is judged at once).
    EngineError
        If workers cannot be reached, or are lost.
    """
    # with adaptive depth, labels are read sheet by sheet (``by_batches``), not item by item
    how: dict[str, Any] = {"expected": expected, "by_batches": True, "surely": surely}
    with designed(choices, request, progress) as design:
        check_open(design, request)
        campaign = _campaign(design, request, choices.seed, _amount(budget, design), how)
    # indices of the runs that questions name, in order; ``pool.said`` is the header of the pool's files
    mentioned = dict.fromkeys(k for _, pair in request.questions.pairs for k in pair if k is not None)
    return DrawnSample(
        campaign=campaign,
        questions=tuple(question for question, _ in request.questions.pairs) * len(request.questions.measures),
        systems=tuple(request.pool.runs[k] for k in mentioned),
        depth=request.pool.said.get("depth"),
        seed=choices.seed,
        model=request.pool.said.get("model", ""),
        truth_of_machines=tuple((str(source), int(n)) for source, n in request.pool.said.get("machines", [])),
        files=request.again,
    )


def top_up_of_files(
    sample: DrawnSample,
    sample_id: str,
    budget: Budget,
    choices: Choices | None,
    progress: Callable[[str], object] = lambda step: None,
) -> DrawnSample:
    """Add a budget to a sample of a pool in files: the same sample, extended by further items of the pool.

    Parameters
    ----------
    sample_id : str
        Id of the sample before, which the new one records.
    budget : Budget
        The budget to add.
    choices : Choices or None
        Location of the pool, and the engine that processes its partitions.

    Raises
    ------
    ChoiceError
        If the location of the pool is not given.
    InputError
        If the pool is not the one that the sample was drawn of, or the sample has adaptive depth.
    """
    if choices is None:
        problem = "the sample holds only its own part of a pool in files: name the pool with `pool_parquet`"
        raise ChoiceError(problem, field="pool_parquet")
    request, choices = FilesRequest.of_sample(sample, choices)
    before = sample.campaign.drawn_design
    if before.looks != "off" or before.budget is None:  # adaptive depth
        raise InputError("depths follow labels: a budget is added while the whole pool is at hand", field="budget")
    with designed(choices, request, progress) as design:
        more = _amount(budget, design)
        # the old sample again, with the further items that the larger budget can reach loaded too; ``blocks`` are the
        # budgets at which it can be read, the last of which is its whole budget
        how: dict[str, Any] = {"blocks": before.blocks[:-1], "up_to": before.budget + more}
        campaign = _campaign(design, request, choices.seed, before.budget, how)
    again, recorded = ([(u.query_id, u.item_ids) for u in drawn.planned] for drawn in (campaign, sample.campaign))
    if again != recorded:
        raise InputError("the pool is not the one that the sample was drawn of", field="pool_parquet")
    return replace(sample, campaign=campaign).topped_up(Budget(more), sample_id)


@contextmanager
def designed(choices: Choices, request: FilesRequest, progress: Callable[[str], object]) -> Iterator[ChunkedDesign]:
    """Yield the design of a pool in files while its workers and its store of intermediate results are open."""
    with ExitStack() as open_now:
        engine = choices.engine_name
        if isinstance(engine, str):
            engine = open_now.enter_context(opened_engine(engine))
        yield request.design(choices, engine, open_now.enter_context(scratch_of(choices.scratch)), progress)


def _amount(budget: Budget, design: ChunkedDesign) -> float:
    """Convert a budget to mean items (the mean item costs 1).

    A share is multiplied by the cost of judging everything, or by 1 if all grades are known, to stay positive.
    """
    return budget.amount * (design.whole_cost or 1.0) if budget.is_share else budget.amount


def _campaign(design: ChunkedDesign, request: FilesRequest, seed: int, budget: float, how: dict[str, Any]) -> Campaign:
    """Start the campaign (the sample with its judgments) of a seed; ``how`` are arguments of `ChunkedDesign.campaign`.

    The seed is spawned as in `activeeval.inputs.prepared_case.prepare`, so that the sample equals that of the same pool
    in memory. Raise BudgetError if the budget, in mean items, is too small.
    """
    rng = np.random.SeedSequence(seed).spawn(4)[-1]
    try:
        return design.campaign(budget, request.pool, rng=rng, **how)
    except BudgetError as problem:
        raise Budget(budget).refused(problem) from None


def check_open(design: ChunkedDesign, request: FilesRequest) -> None:
    """Raise InputError if no label can change a target, or partitions are missing or given twice."""
    written = request.pool.said.get("n_queries", design.n_queries)
    if written != design.n_queries:
        problem = (
            f"the pool was written with {counted(written, 'query')}, {design.n_queries:,} came: a partition is missing"
        )
        raise InputError(problem if written > design.n_queries else problem.replace("is missing", "is there twice"))
    n_pairs = len(request.questions.pairs)
    # ``reaches`` counts the items that can change a target; targets are sorted by measure, then by pair of rankings
    for t in np.flatnonzero(design.survey.reaches == 0).tolist():
        name = shown_name(request.questions.measures[t // n_pairs])
        _, (_, versus) = request.questions.pairs[t % n_pairs]
        why = "holds no item" if versus is None else "does not differ from the other where it counts"
        raise InputError(f"no label can change {name}: the ranking {why}, there is nothing to judge")
