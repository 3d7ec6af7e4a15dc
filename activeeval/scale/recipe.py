"""Options of a design of a pool in partitions: those of `Method.design`, without the pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from activeeval.core.design import Design, DesignInput, Order, RateSums, Scheme
from activeeval.core.design.methods import Method
from activeeval.core.design.nodes import Factor
from activeeval.core.errors import InputError
from activeeval.core.measures import SampledMeasure, Target
from activeeval.core.types import Floats
from activeeval.scale.chunks import Chunk
from activeeval.scale.engines import Engine
from activeeval.scale.scratch import Scratch

Progress = Callable[[str], object]
Questions = Callable[[Chunk], Target | Sequence[Target]]


class PartitionOptions(TypedDict, total=False):
    """Options of `chunked_design`: of the grade model and of the passes over partitions.

    Attributes
    ----------
    factor, max_grade, bias
        Query factor (random effect of a query), largest grade of the scale, and bias of the model's predictions to
        guard against, as in `Method.design`.
    n_jobs : int
        Number of threads in this process; −1 uses all processors. Default: 1.
    engine : Engine, optional
        Runs the tasks, in place of threads.
    scratch : Scratch, optional
        Location of the unit tables (variance and cost of each candidate item), accessible to all workers: 24 bytes or
        more for each candidate item. By default a local folder that is deleted with the design.
    trust_ids : bool
        True: skip the check for duplicate query ids.
    progress : callable
        Called with progress messages.
    """

    factor: Factor | None
    max_grade: int | None
    bias: float
    n_jobs: int
    engine: Engine | None
    scratch: Scratch | None
    trust_ids: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class ChunkMeasure:
    """Target of a chunk: a measure of its ranking, or of the difference of its two."""

    measure: SampledMeasure

    def __call__(self, chunk: Chunk) -> Target:
        """Build the target of a chunk."""
        return Target(self.measure, chunk.ranking, chunk.versus)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """Options (method, targets, weights) that turn chunks of a pool into designs.

    Attributes
    ----------
    method : Method
    questions : function of a chunk
        Returns its target, or targets.
    factor : Factor or None
        Query factor: a random effect shared by the items of a query.
    max_grade : int or None
        Largest grade of the scale.
    bias : float
        Bias of the model's predictions to guard against.
    share : float
        The defensive share: part of the sampling rates that does not depend on the grade model.
    weights : tuple of float
        ω of each target; empty for a single target.
    """

    method: Method
    questions: Questions
    factor: Factor | None
    max_grade: int | None
    bias: float
    share: float
    weights: tuple[float, ...]

    @property
    def follows_labels(self) -> bool:
        """True with adaptive depth: what is judged of a query then depends on its labels."""
        return self.method.looks != "off"

    def design_input(self, chunk: Chunk) -> DesignInput:
        """Build the method's input from a chunk.

        Raise InputError if a target is restricted to some queries (`within`).
        """
        targets = self.questions(chunk)
        if any(target.within is not None for target in (targets if isinstance(targets, Sequence) else [targets])):
            raise InputError("a pool in chunks is asked about all of its queries, not about some: no `within`")
        return self.method.design_input(
            targets,
            chunk.grade_probs,
            node_weights=chunk.node_weights,
            factor=self.factor,
            extra_probs=chunk.extra_probs,
            max_grade=self.max_grade,
            judged=chunk.judged,
            bias=self.bias,
        )

    def order(self, design_input: DesignInput, query_probs: Floats, sums: RateSums) -> Order:
        """Build the sampling order (units with their rates) of a part of the pool.

        `query_probs` are p of its queries within the whole pool, `sums` are rate sums over the whole pool. The recipe's
        weights are those of the targets, its share the part of the rates that does not depend on the grade model.
        """
        return self.method.order(
            design_input, self.method.rates(design_input, self.weights), query_probs, sums, self.share
        )

    def part(self, design_input: DesignInput, order: Order, scheme: Scheme) -> Design:
        """Build the design of a part of the pool from its sampling order and the scheme that draws units.

        With adaptive depth (a query's labels decide how deep it is judged), `looked` adds the rule for that.
        """
        return self.method.looked(self.method.design_of(design_input, order, scheme, self.max_grade), self.weights)
