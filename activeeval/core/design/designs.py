"""Design: an order of places (items in the judging order of their query), and how to draw from it and estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from activeeval.core.design.adaptive_readings import AdaptiveReading
from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.histories import History, along
from activeeval.core.design.orders import LargerPool, Order
from activeeval.core.design.prefix_readings import PrefixReading
from activeeval.core.design.query_paths import QueryPaths
from activeeval.core.design.readings import Reading
from activeeval.core.design.schemes import Scheme, check_budget
from activeeval.core.design.stages import Stage
from activeeval.core.design.unresolved_variance import LabelsSoFar, wanted_of
from activeeval.core.design.value_sums import PoolSums
from activeeval.core.errors import InputError
from activeeval.core.measures import LabelsLike, SoftLabels, Target
from activeeval.core.measures.ranking_checks import check_pool
from activeeval.core.pool import QueryPool
from activeeval.core.results import Caution
from activeeval.core.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """Sampling plan: the items to judge, their rates and their order; can be read for any target that it covers.

    Attributes
    ----------
    name : str
        The method that made it.
    scheme : Scheme
        How units are drawn from the order under a budget.
    stage : Stage
        What is judged of a query: items, or a prefix of the list.
    order : Order
    readings : tuple of Reading
        What an estimator needs besides labels, for each target that the design was made for.
    beliefs : GradeProbs or None
        The grade model; None if the method uses none.
    known : ndarray of int64, shape (n_items,)
        Grades known beforehand, −1 for unknown.
    is_fitted : bool
        True if the estimator fits its regressors to the sample (GREG), False if it uses the model's predictions.
    scale : int or None
        Largest grade that a judge may give; None if it was not set.
    budget : float or None
        Λ in mean items (the mean item of the pool costs 1); never exceeded, unless it is `expected`.
    blocks : tuple of float
        Cumulated budgets at which the sample can be read; the last is the budget.
    planned : float or None
        The budget before any top-up: boundaries of interim analyses are spread over it.
    expected : bool
        For draws with replacement: the budget is the expected cost, not a limit.
    history : History or None
        Adaptive depth: how rates follow the labels of their queries, for a design that has not done so yet.
    unseen : Design or None
        The design as planned before any label, if the rates of this one have followed labels.
    segments : dict of int to Reading
        Cache of slow readings of subsets of queries, by `id` of the target, if rates have followed labels.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> design = METHODS["items"].design(target, np.full((4, 3), 1 / 3), budget=2)
    >>> design.name, design.budget, design.blocks
    ('items', 2.0, (1.0, 1.5, 2.0))
    >>> design.topped_up(1).budget
    3.0
    """

    name: str
    scheme: Scheme
    stage: Stage
    order: Order
    readings: tuple[Reading, ...]
    beliefs: GradeProbs | None
    known: Ints
    is_fitted: bool
    scale: int | None = None
    budget: float | None = None
    blocks: tuple[float, ...] = ()
    planned: float | None = None
    expected: bool = False
    history: History | None = None
    unseen: Design | None = None
    segments: dict[int, Reading] = field(default_factory=dict, init=False, repr=False)

    @property
    def pool(self) -> QueryPool:
        """Pool that is sampled."""
        return self.order.pool

    @property
    def targets(self) -> tuple[Target, ...]:
        """Targets that the design was made for."""
        return tuple(reading.target for reading in self.readings)

    def __post_init__(self) -> None:
        """Pass the largest grade on to the readings (what estimators need besides labels)."""
        scaled = (each if each.scale == self.scale else replace(each, scale=self.scale) for each in self.readings)
        object.__setattr__(self, "readings", tuple(scaled))

    @property
    def target(self) -> Target:
        """First target that the design was made for."""
        return self.readings[0].target

    @property
    def looks(self) -> str:
        """When the labels of a query decide again how deep it is judged: "each", "3", "1" or "off" (`LOOKS`)."""
        return str(getattr(self.stage, "looks", "off"))

    @property
    def planned_order(self) -> Order:
        """Order (items with rates) as planned; with adaptive depth, averaged over labels drawn from the model."""
        plan = self if self.unseen is None else self.unseen
        return plan.order if plan.history is None else plan.history.averaged(plan.order)

    @property
    def known_order(self) -> Order:
        """Order (items with rates) as known before any label; 0 for rates that depend on labels."""
        if self.history is None:
            return self.order
        return replace(self.order, place_rates=QueryPaths.begun(self.history, self.order).rates)

    @property
    def part_sums(self) -> tuple[PoolSums, ...]:
        """For each target, the sums that its estimate needs of this part of a larger pool, with planned variances."""
        curves = [reading.plan for reading in self.readings] if self.history is None else self.history.curves
        pairs = zip(self.readings, curves, strict=True)
        return tuple(replace(reading, plan=curve).part_sums for reading, curve in pairs)

    def gathered(self, larger_pool: LargerPool, sums: Sequence[PoolSums]) -> Design:
        """Return the design of queries taken from a larger pool; ``sums`` are each target's over that whole pool."""
        order, history = replace(self.order, larger_pool=larger_pool), self.history
        readings = zip(self.readings, sums, strict=True)
        known = tuple(replace(reading, order=order, larger_pool_sums=of_pool) for reading, of_pool in readings)
        if history is not None:
            curves = tuple(of_pool.planned for of_pool in sums if of_pool.planned is not None)
            history = replace(history, curves=curves)  # planned variances of the whole pool
        return replace(self, order=order, readings=known, history=history)

    @property
    def cost(self) -> float:
        """Cost of judging every item that the targets need, in mean items (the pool's mean item costs 1)."""
        return self.order.cost

    @property
    def max_grade(self) -> int | None:
        """Largest grade that an item can have; None if the scale is open."""
        tops = [self.scale, *(reading.max_grade for reading in self.readings)]
        return min((top for top in tops if top is not None), default=None)

    def corrected(self, known: Ints) -> Design:
        """Return the design read with corrected grades of the items that were known beforehand.

        The sample stays as drawn with the earlier grades; the estimate remains unbiased with the new ones.

        Raises
        ------
        InputError
            If the set of known items differs.
        """
        if not np.array_equal(known >= 0, self.known >= 0):
            raise InputError("known grades may be corrected, but the set of known items must stay the same")
        beliefs, drawn_with = None, self.beliefs
        if drawn_with is not None:
            beliefs = self.stage.model(GradeProbs.of(self.pool, known=known, **drawn_with.made_of))
        readings = tuple(self.stage.reading(target, self.order, beliefs, known) for target in self.targets)
        return replace(self, known=known, beliefs=beliefs, readings=readings)

    def followed(self, labels: LabelsLike, depths: Ints | None = None) -> Design:
        """Return the design with the rates that labels determine, or the design itself without adaptive depth.

        Parameters
        ----------
        labels : ndarray of int64, shape (n_items,), or SoftLabels
            −1 for an item that cannot be judged; used down to ``depths``.
        depths : ndarray of int64, shape (n_queries,), optional
            Number of places (items in judging order) of each query that have labels; by default all that may be judged.
        """
        if self.history is None:
            return self
        wanted = wanted_of(self.order)
        seen = self._so_far(labels, wanted if depths is None else np.minimum(depths, wanted))
        place_rates, living = self.history.path(seen)
        return self._along(self.history, place_rates, living)

    def looked(self, paths: QueryPaths, labels: LabelsLike, settled: Bools) -> tuple[QueryPaths, Design]:
        """Return the paths with the further rates that labels determine, and the design with all these rates.

        Rates that are already fixed stay as they were; values are read with the current labels.

        Parameters
        ----------
        paths : QueryPaths
            The rates fixed so far, and the places (items in judging order) requested from judges.
        labels : ndarray of int64, shape (n_items,), or SoftLabels
        settled : ndarray of bool, shape (n_items,)
            Items that are judged or cannot be judged.
        """
        assert self.history is not None
        seen = self._so_far(labels, paths.depths(self.order, settled))
        extended = paths.extended(self.history, seen)
        return extended, self._along(self.history, extended.rates, extended.standing(self.history, seen))

    def _so_far(self, labels: LabelsLike, depths: Ints) -> LabelsSoFar:
        """Collect the labels of the first ``depths`` items in each query's judging order, and grades known before."""
        assert self.beliefs is not None
        return LabelsSoFar(
            order=self.order,
            targets=self.targets,
            beliefs=self.beliefs,
            labels=SoftLabels.of(labels).over(self.known, self.order.items[self.order.place_rates > 0]),
            depths=depths,
            wanted=wanted_of(self.order),
        )

    def _along(self, history: History, place_rates: Floats, living: Ints) -> Design:
        """Return the design with rates (n_places,) that followed labels; ``living``: items to judge of each query."""
        order = along(self.order, place_rates, living)
        readings = tuple(
            AdaptiveReading.of(reading, order, living, plan)
            for reading, plan in zip(self.readings, history.curves, strict=True)
            if isinstance(reading, PrefixReading)
        )
        return replace(self, order=order, readings=readings, history=None, unseen=self)  # follows no further labels

    def with_budget(self, budget: float, blocks: Sequence[float] | None = None, *, expected: bool = False) -> Design:
        """Return the design with this budget.

        Parameters
        ----------
        budget : float
            In mean items (the mean item of the pool costs 1): without overheads a number of judgments.
        blocks : sequence of float, optional
            Cumulated budgets, ascending, at which the sample may be read early. By default quarters of the
            budget that pay for the most expensive unit.
        expected : bool
            For draws with replacement only: the budget is met on average.

        Raises
        ------
        BudgetError
            If the budget, or the first block's, does not pay for the most expensive unit.
        InputError
            If the scheme has no such blocks or no expected budget, or a number is not positive or ascending.
        """
        if self.history is not None and blocks is None:  # read at the ends of batches
            blocks = ()
        ends = self.scheme.ends(self.name, self.order, budget, blocks, expected=expected)
        return replace(self, budget=float(budget), blocks=ends, planned=float(budget), expected=expected)

    def in_blocks(self, ends: Sequence[float]) -> Design:
        """Return the design with blocks that end at these cumulated budgets; the last may be below its own budget.

        The sample can be read at a block's end. Blocks below the dearest unit's cost are left out, the last is raised.
        """
        dearest = float(self.order.dearest_units.max(initial=0.0))
        paid = [end for end in ends[:-1] if end >= dearest]
        end = max(ends[-1], min(dearest, self.budget or dearest))
        return replace(self, blocks=(*paid, end), planned=end)

    def topped_up(self, more: float) -> Design:
        """Return the design with ``more`` budget, in mean items (the mean item costs 1): one more block of the sample.

        Raises
        ------
        InputError
            If it has no budget yet, its draws have one planned end, or ``more`` is not a positive number.
        """
        if self.budget is None:
            raise InputError("the design has no budget to top up: set one with with_budget")
        if not self.scheme.can_be_topped_up:
            raise InputError(f"{self.name!r} draws with replacement to one planned end: it cannot be topped up")
        check_budget(more)
        return replace(self.with_budget(self.budget + more, self.blocks), planned=self.planned)

    def reading(self, target: Target | None = None) -> Reading:
        """Return the facts that an estimator needs of a target besides labels; by default the first of the design.

        Raises
        ------
        InputError
            If an item whose label can change the target's value could not be drawn, the target is of another pool,
            or the order was gathered from a larger pool, for which other targets are not available.
        """
        if target is None:
            return self.readings[0]
        if not isinstance(target, Target):
            raise InputError(f"the target must be a Target, got {target!r}")
        if not np.array_equal(target.pool.query_probs, self.pool.query_probs):
            raise InputError(f"{target.name} is of a pool with other query probabilities than the sample's pool")
        for reading in self.readings:
            if reading.target.is_same(target):
                return reading
        if self.unseen is not None:
            return self._of_segment(target, self.unseen)
        if self.history is not None:
            raise InputError(_missing_target(target))
        if self.order.larger_pool is not None:
            raise InputError(
                f"{target.name} was no target when these queries were gathered from a larger pool: name it then"
            )
        check_pool(self.pool, target.ranking)
        return replace(self.stage.reading(target, self.order, self.beliefs, self.known), scale=self.scale)

    def _of_segment(self, target: Target, unseen: Design) -> Reading:
        """Build what estimators need of one of the design's targets, restricted to a segment (some queries).

        Raise InputError for any other: items skipped because they cannot change the design's targets might change it.
        """
        if id(target) in self.segments:
            return self.segments[id(target)]
        everywhere = replace(target, within=None)
        first = self.readings[0]
        assert isinstance(first, AdaptiveReading)
        assert unseen.history is not None
        if not any(replace(each, within=None).is_same(everywhere) for each in self.targets):
            raise InputError(_missing_target(target))
        reading = unseen.stage.reading(target, unseen.order, self.beliefs, self.known)
        assert isinstance(reading, PrefixReading)
        plan = unseen.history.curve(unseen.order, target, reading.beliefs, self.known)
        self.segments[id(target)] = AdaptiveReading.of(reading, self.order, first.living, plan)
        return self.segments[id(target)]

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Warnings about the budget, or else about its first block (then the sample can be read), before judging."""
        if not self.blocks:
            return ()
        whole, early = (self.scheme.caution(self.order, end) for end in (self.blocks[-1], self.blocks[0]))
        if whole is None and early is not None:
            return (replace(early, code="two units of the first block"),)
        return () if whole is None else (whole,)

    @property
    def inclusion_probs(self) -> tuple[Floats, Floats]:
        """Inclusion probabilities of each query, (n_queries,), and each place (item), (n_places,), at the budget.

        With replacement they are the probabilities of one draw.
        """
        return self.scheme.inclusion_probs(self.order, self.cost if self.budget is None else self.budget)

    @property
    def largest_weight(self) -> float:
        """Largest weight of one query in the estimate relative to its mean weight in a simple random sample.

        p/q with replacement, q the draw probability; else p/π times Σ π, the expected number of queries, π the
        inclusion probability. Weights of hundreds are dangerous.
        """
        pi, _ = self.inclusion_probs
        is_drawn = pi > 0
        weights = self.order.query_probs[is_drawn] / pi[is_drawn] * self.scheme.mean_size(pi)
        return float(weights.max(initial=0.0))


def _missing_target(target: Target) -> str:
    """Format the error for a target that an adaptive sample was not drawn for."""
    of = "the ranking" if target.versus is None else "the difference"
    problem = f"{target.name} of {of} is not among the targets of this sample, whose depths follow labels"
    return f"{problem}: name it when the sample is drawn, or draw with `adaptive_depth` off"
