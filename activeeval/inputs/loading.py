"""From files or tables to what a method needs: a pool, rankings, labels where there are any, a grade model.

The pieces are read by io, modelled by grade_models and put together here, for the command line and
for `activeeval.evaluate` and `activeeval.compare` alike.
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
"""Below it a query's rate, the root of its variance over its cost, lies so far above those of its items that the floor
under all rates, a millionth of the largest, would make them alike."""
FEWEST_QUERIES = 10
"""From fewer nothing can be learned that queries have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Labelled rows for a grade model: features or given probabilities, grades, and each row's query.

    `n_left_out` counts the rows that nobody judged and that are therefore not among them; `items` are the places of the
    rows in the pool, None where they are of other queries.
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
        Labels; negative where nobody judged the item.
    features : ndarray of float64, shape (n_items, n_features)
    training : TrainingRows or None
        Rows that a grade model may learn from: of queries outside the pool, or what is known of it.
    names : tuple of str
        What the systems are called.
    scores : ndarray of float64, shape (n_items, n_rankings), or None
        By which the rankings rank; NaN where one does not hold the item.
    columns : mapping of str to slice
        Which of the features a model looks at, by its name; one that is not named looks at all.
    notes : tuple of Note
        What the user should be told about the input.
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
        """The ranking of the first system."""
        return self.rankings[0]

    @property
    def versus(self) -> Rankings | None:
        """The ranking of the second system, None where there is one alone."""
        return self.rankings[1] if len(self.rankings) > 1 else None

    @property
    def has_labels(self) -> bool:
        """Whether any item of the pool or of the training rows has a label."""
        return self.training is not None or bool((self.grades >= 0).any())

    @property
    def max_grade(self) -> int:
        """Largest grade of the labels, of the pool and of the training rows; at least 1."""
        trained = 1 if self.training is None else int(self.training.grades.max(initial=1))
        return max(trained, int(self.grades.max(initial=1)))

    def without_labels(self) -> Inputs:
        """Return the inputs with the labels of the pool forgotten; those of the training rows stay."""
        return replace(self, grades=np.full_like(self.grades, -1))

    def with_costs(self, item_costs: ArrayLike | None, overhead: float) -> Inputs:
        """Return the inputs with item costs and an overhead per query, in mean item costs."""
        if not (np.isfinite(overhead) and overhead >= 0):
            raise InputError(f"the overhead must be a number that is not negative, got {overhead!r}")
        if 0 < overhead < LEAST_OVERHEAD:
            raise InputError(f"the overhead must be 0, or at least {LEAST_OVERHEAD:g} mean items, got {overhead!r}")
        costed = self.pool.replace(item_costs=item_costs)
        charged = costed.replace(query_costs=np.full(costed.n_queries, overhead * costed.item_costs.mean()))
        return self._onto(charged, np.arange(charged.n_items))

    def with_traffic(self, query_probs: ArrayLike, draw: QueryDraw | None = None) -> Inputs:
        """Return the inputs with p(x), how often each query is asked, and how queries were drawn from a log."""
        weighted = self.pool.replace(query_probs=query_probs, draw=draw)
        return self._onto(weighted, np.arange(weighted.n_items))

    def in_id_order(self) -> Inputs:
        """Return the inputs with queries and items in an order that their ids alone decide, whatever files have."""
        rest, items = self.pool.subset(np.argsort(self.pool.query_ids, kind="stable"))
        order = np.lexsort((pool_hashes(rest)[1], rest.item_queries))
        pool = rest.replace(item_ids=rest.item_texts[order], item_costs=rest.item_costs[order])
        return self._onto(pool, items[order])

    def updated_index(self, fraction: float, rng: np.random.Generator) -> Inputs:
        """Return inputs that compare the ranking with itself after a simulated index update."""
        if not 0 < fraction < 1:
            raise InputError(f"the share of items that an index update removes must lie in (0, 1), got {fraction!r}")
        rankings = (self.ranking, self.ranking.without(fraction, rng))
        return replace(
            self, rankings=rankings, names=(*self.names, f"{self.names[0]} less {fraction:.3g} of its items")
        )

    def cut_at(self, depth: int) -> Inputs:
        """Return the inputs whose lists end at a rank and whose pool is what they hold then."""
        lists = tuple(ranking.cut_at(depth) for ranking in self.rankings)
        items = np.unique(np.concatenate([ranking.items for ranking in lists]))
        if items.size == self.pool.n_items and max(ranking.lengths.max() for ranking in self.rankings) <= depth:
            return self
        return replace(self, rankings=lists)._onto(self.pool.with_items(items), items)

    @property
    def is_of_lists(self) -> bool:
        """Whether the rankings hold every item of the pool, so that it can be cut with them."""
        held = np.unique(np.concatenate([ranking.items for ranking in self.rankings]))
        return held.size == self.pool.n_items

    def of_queries(self, which: Ints) -> Inputs:
        """Return the inputs of some queries of the pool, by their positions, ascending."""
        return self._onto(*self.pool.subset(which))

    def held_out(self, fraction: float, rng: np.random.Generator) -> Inputs:
        """Set a share of the queries aside, by chance, to train on; the pool is the rest."""
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
        """Train on other inputs of the same runs; their queries leave this pool."""
        kept = np.flatnonzero(~np.isin(self.pool.query_ids, judged.pool.query_ids))
        if not kept.size:
            raise InputError("every query of the pool is among those to train on: there is none to evaluate")
        training = judged._training_rows(np.ones(judged.pool.n_queries, dtype=bool))
        return replace(self.of_queries(kept), training=training)

    def taught_by(self, known: Ints) -> Inputs:
        """Train on grades (n_items,) of the pool itself, −1 where none is known, unless they are too few.

        Two grades have to be there, each in `FEWEST_QUERIES` queries.
        """
        items, owners = np.flatnonzero(known >= 0), self.pool.item_queries
        n_queries_of = [np.unique(owners[known == grade]).size for grade in np.unique(known[items])]
        if sum(n >= FEWEST_QUERIES for n in n_queries_of) < 2:
            return self
        return replace(self, training=TrainingRows(self.features[items], known[items], owners[items], items=items))

    def _training_rows(self, is_training: NDArray[np.bool_]) -> TrainingRows:
        """Return the ranked items of some queries that somebody judged."""
        is_ranked = np.zeros(self.pool.n_items, dtype=bool)
        for ranking in self.rankings:
            is_ranked[ranking.items] = True
        ranked = np.flatnonzero(is_training[self.pool.item_queries] & is_ranked)
        rows = ranked[self.grades[ranked] >= 0]
        if not rows.size:
            raise InputError(f"none of the {ranked.size} ranked items to train on is judged: there is nothing to learn")
        queries = self.pool.item_queries[rows]
        return TrainingRows(self.features[rows], self.grades[rows], queries, ranked.size - rows.size)

    def _onto(self, pool: QueryPool, items: Ints) -> Inputs:
        rankings = tuple(ranking.restricted_to(pool, items) for ranking in self.rankings)
        scores = None if self.scores is None else self.scores[items]
        grades, features = self.grades[items], self.features[items]
        return replace(self, pool=pool, rankings=rankings, grades=grades, features=features, scores=scores)

    def looked_at(self, name: str, features: Floats) -> Floats:
        """Return the columns of features that a model looks at."""
        return features[:, self.columns.get(name, self.columns.get("", slice(None)))]

    @property
    def scores_held(self) -> Floats:
        """The scores, where the rankings came with any."""
        if self.scores is None:
            raise InputError("the rankings came without scores: there is nothing that a model of them could look at")
        return self.scores

    def with_columns(self, name: str, values: Floats) -> Inputs:
        """Add columns beside the features, for one model alone."""
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
    """Put judgments and runs together; features are what the runs say of each item.

    Parameters
    ----------
    qrels : Qrels or None
        Labels; without them the pool is what the evaluated runs hold.
    runs : sequence of Run
        The first ``evaluated`` are ranked, all are features.
    unjudged : {"error", "irrelevant"}
        What an item is that the judgments do not grade: without a label, or of grade 0.
    names : sequence of str
        What the evaluated runs are called; by default their files.
    no_relevant : {"zero", "skip"}, optional
        What a query without any relevant document is, where all that is relevant is known; see `TablePool.with_rule`.
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
    ignored: dict[int, list[str]] = {}
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
    """Return how many of some items nobody judged, which count as grade 0; nothing where all are judged."""
    return [Note("unjudged items", {"n": n, "of": of, "which": which})] if n else []


def sampled_measure(measure: str | Measure) -> SampledMeasure:
    """Return a measure, or what a caller's own argument names, once it is seen to be one that can be sampled for."""
    return check_sampled(asked_measure(measure) if isinstance(measure, str) else measure)


def on_scale(measure: SampledMeasure, max_grade: int) -> SampledMeasure:
    """Return a measure bound to a scale of grades, once it is seen to hold every grade of it."""
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
    """Return measures of grades, bound to a scale or to a larger one that one of them has.

    Parameters
    ----------
    stated : int or None
        The largest grade that somebody names, and ``where`` that is, for the message.

    Raises
    ------
    InputError
        Where a measure knows grades above it.
    """
    tops = {shown_name(measure): measure.bound_to(max_grade).max_grade or 0 for measure in measures}
    top = max(max_grade, *tops.values())
    if stated is not None and top > stated:
        name = max(tops, key=tops.__getitem__)
        problem = f"{name} knows grades up to {top}, {where} {stated}: give one scale"
        raise InputError(problem, field="max_grade")
    return [on_scale(measure, top) for measure in measures]


def ending_at(measure: SampledMeasure, depth: int | None) -> SampledMeasure:
    """Return a measure of lists that end at a rank: one that counts all ranks counts down to it.

    Raises
    ------
    InputError
        Where it names a deeper one.
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
