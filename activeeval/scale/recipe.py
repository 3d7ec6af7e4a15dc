"""The choices that a design of a pool in partitions is made by: those of `Method.design`, but for the pool."""

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
    """What `chunked_design` may be told of a grade model, and of how partitions are gone over.

    Attributes
    ----------
    factor, max_grade, bias
        As in `Method.design`.
    n_jobs : int
        Threads of this process that go over partitions; −1 takes all processors. Default: 1.
    engine : Engine, optional
        Who goes over partitions, in place of these.
    scratch : Scratch, optional
        Where tables of the partitions are left, which all workers reach: 24 bytes a place and more. By default a
        folder of this machine that goes with the design.
    trust_ids : bool
        Do not look whether query ids are unique.
    progress : callable
        Told which partitions have gone by.
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
    """Asks a chunk for a measure of its ranking, or of its two in comparison."""

    measure: SampledMeasure

    def __call__(self, chunk: Chunk) -> Target:
        """Return the target."""
        return Target(self.measure, chunk.ranking, chunk.versus)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """How designs are made of chunks.

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

    @property
    def follows_labels(self) -> bool:
        """Whether depths follow labels, so that which units come is known of a query's beliefs alone."""
        return self.method.looks != "off"

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
            extra_probs=chunk.extra_probs,
            max_grade=self.max_grade,
            judged=chunk.judged,
            bias=self.bias,
        )

    def order(self, design_input: DesignInput, query_probs: Floats, sums: RateSums) -> Order:
        """Return the order of a part of the pool; ``query_probs`` are p(x) over the whole, as ``sums`` are."""
        return self.method.order(
            design_input, self.method.rates(design_input, self.weights), query_probs, sums, self.share
        )

    def part(self, design_input: DesignInput, order: Order, scheme: Scheme) -> Design:
        """Return the design of a part of the pool."""
        return self.method.looked(self.method.design_of(design_input, order, scheme, self.max_grade), self.weights)
