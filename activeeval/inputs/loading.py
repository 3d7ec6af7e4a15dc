"""Combine files or tables into the inputs of a method: a pool, rankings, labels if any, and features.

The command line, `activeeval.evaluate` and `activeeval.compare` share this code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import one_of
from activeeval.core.errors import InputError
from activeeval.core.grade_models import run_features
from activeeval.core.measures import Measure, SampledMeasure, check_sampled, least_relevant, shown_name
from activeeval.core.pool import QueryDraw, QueryPool, Rankings, pool_hashes
from activeeval.core.pool.keyed import Qrels
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats, Ints
from activeeval.formats.loading import pool_from_tables
from activeeval.formats.text.trec import Run
from activeeval.inputs.file_names import asked_measure
from activeeval.inputs.systems import checked_names, system_names

UNJUDGED = ("error", "irrelevant")
LEAST_OVERHEAD = 1e-9
"""Smallest positive overhead, in mean items. Below it a query's rate, √(variance / cost), exceeds those of items so far
that the floor under all rates, a millionth of the largest, would make the items' rates equal."""
FEWEST_QUERIES = 10
"""Fewest training queries from which the query factor and mixture weights are learned."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Labelled rows for a grade model: features or given probabilities, grades, and each row's query.

    `n_left_out` counts the unjudged rows left out; `items` are the rows' positions in the pool, None if they are rows
    of other queries.
    """

    features: Floats
    grades: Ints
    queries: Ints
    n_left_out: int = 0
    items: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A pool with the rankings to evaluate on it, one for each system.

    Attributes
    ----------
    pool : QueryPool
    rankings : tuple of Rankings
    grades : ndarray of int64, shape (n_items,)
        Labels; negative for unjudged items.
    features : ndarray of float64, shape (n_items, n_features)
        Columns from which grade models predict.
    training : TrainingRows or None
        Rows to train grade models: of queries outside the pool, or known grades of the pool.
    names : tuple of str
        Names of the systems.
    scores : ndarray of float64, shape (n_items, n_rankings), or None
        Scores that the rankings sort by; NaN for items that a ranking lacks.
    columns : mapping of str to slice
        Columns of the features that a model uses, by the model's name; "" for other models, which use all by default.
    notes : tuple of Note
        Notes for the user about the input.
    """

    pool: QueryPool
    rankings: tuple[Rankings, ...]
    grades: Ints
    features: Floats
    training: TrainingRows | None = None
    names: tuple[str, ...] = ()
    scores: Floats | None = None
    columns: Mapping[str, slice] = field(default_factory=dict)
    notes: tuple[Note | Caution, ...] = ()

    @property
    def ranking(self) -> Rankings:
        """Ranking of the first system."""
        return self.rankings[0]

    @property
    def versus(self) -> Rankings | None:
        """Ranking of the second system; None if there is only one."""
        return self.rankings[1] if len(self.rankings) > 1 else None

    @property
    def has_labels(self) -> bool:
        """True if an item of the pool or a training row has a label."""
        return self.training is not None or bool((self.grades >= 0).any())

    @property
    def max_grade(self) -> int:
        """Largest grade among the labels of the pool and of the training rows; at least 1."""
        trained = 1 if self.training is None else int(self.training.grades.max(initial=1))
        return max(trained, int(self.grades.max(initial=1)))

    def without_labels(self) -> Inputs:
        """Remove the pool's labels; those of the training rows remain."""
        return replace(self, grades=np.full_like(self.grades, -1))

    def with_costs(self, item_costs: ArrayLike | None, overhead: float) -> Inputs:
        """Set item costs (None: all 1) and an overhead per query, in mean item costs.

        Raise InputError if one is not valid.
        """
        if not (np.isfinite(overhead) and overhead >= 0):
            raise InputError(f"the overhead must be a number that is not negative, got {overhead!r}")
        if 0 < overhead < LEAST_OVERHEAD:
            raise InputError(f"the overhead must be 0, or at least {LEAST_OVERHEAD:g} mean items, got {overhead!r}")
        costed = self.pool.replace(item_costs=item_costs)
        charged = costed.replace(query_costs=np.full(costed.n_queries, overhead * costed.item_costs.mean()))
        return self._onto(charged, np.arange(charged.n_items))

    def with_traffic(self, query_probs: ArrayLike, draw: QueryDraw | None = None) -> Inputs:
        """Set p(x), the frequency of each query, shape (n_queries,), and how queries were drawn from a log (`draw`)."""
        weighted = self.pool.replace(query_probs=query_probs, draw=draw)
        return self._onto(weighted, np.arange(weighted.n_items))

    def in_id_order(self) -> Inputs:
        """Sort queries by id, and the items of each by a hash of theirs, so that the order of files does not matter."""
        rest, items = self.pool.subset(np.argsort(self.pool.query_ids, kind="stable"))
        order = np.lexsort((pool_hashes(rest)[1], rest.item_queries))  # [1]: a hash of each item's ids
        pool = rest.replace(item_ids=rest.item_texts[order], item_costs=rest.item_costs[order])
        return self._onto(pool, items[order])

    def updated_index(self, fraction: float, rng: np.random.Generator) -> Inputs:
        """Compare the first ranking with itself after a simulated index update that removes a share of its items.

        `rng` chooses the items. InputError is raised if the share (`fraction`) is not between 0 and 1.
        """
        if not 0 < fraction < 1:
            raise InputError(f"the share of items that an index update removes must lie in (0, 1), got {fraction!r}")
        rankings = (self.ranking, self.ranking.without(fraction, rng))
        return replace(
            self, rankings=rankings, names=(*self.names, f"{self.names[0]} less {fraction:.3g} of its items")
        )

    def cut_at(self, depth: int) -> Inputs:
        """Cut all lists at rank `depth` and reduce the pool to the items that remain."""
        lists = tuple(ranking.cut_at(depth) for ranking in self.rankings)
        items = np.unique(np.concatenate([ranking.items for ranking in lists]))
        if items.size == self.pool.n_items and max(ranking.lengths.max() for ranking in self.rankings) <= depth:
            return self
        return replace(self, rankings=lists)._onto(self.pool.with_items(items), items)

    @property
    def is_of_lists(self) -> bool:
        """True if the rankings contain every item of the pool, so that it can be cut with them."""
        ranked = np.unique(np.concatenate([ranking.items for ranking in self.rankings]))
        return ranked.size == self.pool.n_items

    def of_queries(self, which: Ints) -> Inputs:
        """Select some queries of the pool by their ascending numbers."""
        return self._onto(*self.pool.subset(which))

    def held_out(self, fraction: float, rng: np.random.Generator) -> Inputs:
        """Move a `fraction` of the queries, which `rng` chooses, to the training rows.

        Raise InputError if no query is left on either side.
        """
        n = round(fraction * self.pool.n_queries)
        if not 0 < fraction < 1 or not 0 < n < self.pool.n_queries:
            raise InputError(
                f"the training fraction {fraction!r} of {self.pool.n_queries} queries must leave some on either side"
            )
        order = rng.permutation(self.pool.n_queries)
        is_training = np.zeros(self.pool.n_queries, dtype=bool)
        is_training[order[:n]] = True
        training = self._training_rows(is_training)
        return replace(self.of_queries(np.flatnonzero(~is_training)), training=training)

    def trained_on(self, judged: Inputs) -> Inputs:
        """Train on inputs of the same runs with labels, `judged`, and remove their queries here.

        Raise InputError if no query is left.
        """
        evaluated = np.flatnonzero(~np.isin(self.pool.query_ids, judged.pool.query_ids))
        if not evaluated.size:
            raise InputError("every query of the pool is among those to train on: none is left to evaluate")
        training = judged._training_rows(np.ones(judged.pool.n_queries, dtype=bool))
        return replace(self.of_queries(evaluated), training=training)

    def taught_by(self, known: Ints) -> Inputs:
        """Train on known grades of the pool itself, unless they are too few.

        At least two grades must each occur in `FEWEST_QUERIES` queries; otherwise return the inputs unchanged.

        Parameters
        ----------
        known : ndarray of int64, shape (n_items,)
            −1 if unknown.
        """
        items, owners = np.flatnonzero(known >= 0), self.pool.item_queries
        n_queries_of = [np.unique(owners[known == grade]).size for grade in np.unique(known[items])]
        if sum(n >= FEWEST_QUERIES for n in n_queries_of) < 2:
            return self
        return replace(self, training=TrainingRows(self.features[items], known[items], owners[items], items=items))

    def _training_rows(self, is_training: NDArray[np.bool_]) -> TrainingRows:
        """Collect the ranked and judged items of the queries in a mask; raise InputError if there are none."""
        is_ranked = np.zeros(self.pool.n_items, dtype=bool)
        for ranking in self.rankings:
            is_ranked[ranking.items] = True
        ranked = np.flatnonzero(is_training[self.pool.item_queries] & is_ranked)
        rows = ranked[self.grades[ranked] >= 0]
        if not rows.size:
            raise InputError(f"none of the {ranked.size} ranked items to train on is judged: there is nothing to learn")
        queries = self.pool.item_queries[rows]
        return TrainingRows(self.features[rows], self.grades[rows], queries, n_left_out=ranked.size - rows.size)

    def _onto(self, pool: QueryPool, items: Ints) -> Inputs:
        """Restrict everything to another pool, whose item k is this pool's item ``items[k]``."""
        rankings = tuple(ranking.restricted_to(pool, items) for ranking in self.rankings)
        scores = None if self.scores is None else self.scores[items]
        grades, features = self.grades[items], self.features[items]
        return replace(self, pool=pool, rankings=rankings, grades=grades, features=features, scores=scores)

    def looked_at(self, name: str, features: Floats) -> Floats:
        """Select the columns of features that the model called `name` uses.

        `features` has the columns of `Inputs.features`.
        """
        return features[:, self.columns.get(name, self.columns.get("", slice(None)))]

    @property
    def scores_held(self) -> Floats:
        """Scores of the rankings, shape (n_items, n_rankings); raise InputError if there are none."""
        if self.scores is None:
            raise InputError("the rankings came without scores: there is nothing that a model of them could look at")
        return self.scores

    def with_columns(self, name: str, values: Floats) -> Inputs:
        """Add feature columns, shape (n_items, n_columns), that only the model called `name` uses."""
        n = self.features.shape[1]
        columns = {**(self.columns or {"": slice(0, n)}), name: slice(n, n + values.shape[1])}
        return replace(self, features=np.column_stack((self.features, values)), columns=columns)


def from_tables(
    qrels: Qrels | None,
    runs: Sequence[Run],
    *,
    evaluated: int,
    ties: str = "id",
    unjudged: str = "error",
    names: Sequence[str] = (),
    no_relevant: str | None = None,
) -> Inputs:
    """Combine judgments and runs into inputs; the features are the runs' scores and ranks of each item.

    Parameters
    ----------
    qrels : Qrels or None
        Labels; without them the pool consists of the evaluated runs' items.
    runs : sequence of Run
        The first ``evaluated`` are evaluated, all provide features.
    evaluated : int
        Number of runs to evaluate.
    ties : {"id", "rank", "input"}
        Order of equal scores: by document id, by the rank column, or as read.
    unjudged : {"error", "irrelevant"}
        Treat items without a judgment as unlabelled, or as grade 0.
    names : sequence of str
        Names of the evaluated runs; by default those of their files.
    no_relevant : {"zero", "skip"}, optional
        Rule for queries without any relevant document, if all relevant ones are known; see `TablePool.with_rule`.
    """
    one_of(unjudged, UNJUDGED, "unjudged")
    tables = pool_from_tables(qrels, runs, evaluated=evaluated, ties=ties)
    tables = tables if no_relevant is None else tables.with_rule(no_relevant)
    grades, notes = tables.grades, list(tables.notes)
    if unjudged == "irrelevant" and qrels is not None:
        lists = np.unique(np.concatenate([ranking.items for ranking in tables.rankings[:evaluated]]))
        notes += unjudged_notes(int(np.count_nonzero(grades[lists] < 0)), lists.size, "that are ranked")
        grades = np.maximum(grades, 0)
    named = runs[:evaluated]
    names = checked_names(names, evaluated) or system_names([run.name for run in named], [run.source for run in named])
    ignored: dict[int, list[str]] = {}  # runs by their number of queries outside the pool
    for name, n_missing, n_ignored in zip(names, tables.n_missing, tables.n_ignored, strict=False):
        if n_missing:
            notes.append(Note("missing queries", {"n": n_missing, "of": tables.pool.n_queries, "name": name}))
        if n_ignored:
            ignored.setdefault(n_ignored, []).append(name)
    notes += [Note("unjudged queries", {"n": n, "names": tuple(alike)}) for n, alike in ignored.items()]
    return Inputs(
        tables.pool,
        tuple(tables.rankings[:evaluated]),
        grades,
        run_features(tables.pool, tables.scores),
        names=names,
        scores=tables.scores[:evaluated].T,
        notes=tuple(notes),
    )


def unjudged_notes(n: int, of: int, which: str) -> list[Note]:
    """Note that n of `of` items are not judged and count as grade 0; [] if n is 0. `which` describes these items."""
    return [Note("unjudged items", {"n": n, "of": of, "which": which})] if n else []


def sampled_measure(measure: str | Measure) -> SampledMeasure:
    """Parse a caller's measure, if it is a text; raise InputError if it cannot be estimated by sampling."""
    return check_sampled(asked_measure(measure) if isinstance(measure, str) else measure)


def on_scale(measure: SampledMeasure, max_grade: int) -> SampledMeasure:
    """Bind a measure to a scale of grades; raise InputError if it does not cover the scale, or is always 0 on it."""
    bound = measure.bound_to(max_grade)
    if bound.max_grade is not None and bound.max_grade < max_grade:
        raise InputError(
            f"the scale goes up to grade {max_grade}, above the largest of {shown_name(bound)}, {bound.max_grade}"
        )
    least = least_relevant(bound)
    if least is not None and least > max_grade:
        raise InputError(f"{shown_name(bound)}: no grade of the scale, 0 … {max_grade}, is {least}: every value is 0")
    return bound


def on_one_scale(
    measures: Sequence[SampledMeasure], max_grade: int, stated: int | None, where: str
) -> list[SampledMeasure]:
    """Bind measures to one scale of grades, enlarged if a measure has a larger scale of its own.

    Parameters
    ----------
    stated : int or None
        Largest grade stated by the user; ``where`` describes its source in messages.

    Raises
    ------
    InputError
        If a measure has grades above it.
    """
    tops = {shown_name(measure): measure.bound_to(max_grade).max_grade or 0 for measure in measures}
    top = max(max_grade, *tops.values())
    if stated is not None and top > stated:
        name = max(tops, key=tops.__getitem__)
        problem = f"{name} has grades up to {top}, {where} {stated}: give one scale"
        raise InputError(problem, field="max_grade")
    return [on_scale(measure, top) for measure in measures]


def ending_at(measure: SampledMeasure, depth: int | None) -> SampledMeasure:
    """Adapt a measure to lists cut at rank `depth`: a measure of all ranks gets this cutoff.

    Raises
    ------
    InputError
        If its own cutoff is deeper.
    """
    cutoff = measure.cutoff
    if depth is None or (cutoff is not None and cutoff <= depth):
        return measure
    if cutoff is not None:
        name = shown_name(measure)
        raise InputError(
            f"{name} counts deeper than the lists, which end at rank {depth}: draw with `pool_depth` {cutoff}",
            field="pool_depth",
        )
    cut: SampledMeasure = replace(measure, cutoff=depth, label="")  # type: ignore[type-var]
    return cut
