"""The draws table on its way to judges and back: a campaign's draws as rows, judged rows as an estimate.

A row is an item of a draw. Rows of a query that was drawn before repeat its items at no cost; one
judgment of an item serves all its rows. A drawn query with nothing to judge has one row that says
so, as its value 0 counts like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign import Campaign
from activeeval.errors import InputError, StateError
from activeeval.estimation import JudgedSample, estimate
from activeeval.io.draws import EMPTY, DrawsTable
from activeeval.measures import Measure, SampledMeasure
from activeeval.methods import METHODS
from activeeval.pool import Judgments, QueryPool, Rankings
from activeeval.record import Record, covers_everything
from activeeval.results import Estimate

Ints = NDArray[np.int64]
CENSUS = "census"
NOTHING = "(nothing to judge)"


def to_table(campaign: Campaign, max_grade: int | None = None) -> DrawsTable:
    """Return every draw of a campaign, one row an item, with the grades told so far.

    The design is the method's name; ``census`` says that every item of every query was drawn.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade of the scale, where neither the measure nor the grade model knows it.
    """
    design, draws = campaign.design, campaign.draws
    is_census = covers_everything(campaign)
    top = design.stage.max_grade if design.stage.max_grade is not None else max_grade
    items = np.array([z for draw in draws for z in (draw.items or (-1,))], dtype=np.int64)
    sizes = [max(len(draw.items), 1) for draw in draws]
    per_row = np.repeat(np.arange(len(draws)), sizes)
    is_item = items >= 0
    versus = design.target.versus or Rankings.empty(design.pool)

    def of_draw(values: Sequence[Any]) -> NDArray[Any]:
        return np.array(values)[per_row]

    def of_item(values: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        return np.where(is_item, values[items], otherwise)

    return DrawsTable(
        draw=of_draw([draw.number for draw in draws]),
        query_id=of_draw([draw.query_id for draw in draws]),
        doc_id=of_item(design.pool.item_ids, NOTHING),
        query_prob=of_draw([draw.query_prob for draw in draws]),
        item_prob=np.array([g for draw in draws for g in (draw.item_probs or (1.0,))]),
        depth=of_draw([draw.depth for draw in draws]),
        weight=of_draw([draw.importance_weight for draw in draws]),
        cost=_row_costs(design.pool, items),
        design=np.full(items.size, CENSUS if is_census else design.name),
        grade=of_item(_grades_told(campaign), 0),
        rank=of_item(_rank_of_item(design.target.ranking, design.target.depth), 0),
        versus_rank=of_item(_rank_of_item(versus, design.target.depth), 0),
        measure=np.full(items.size, str(design.target.measure)),
        max_grade=np.full(items.size, top or 0),
    )


def _grades_told(campaign: Campaign) -> Ints:
    """Return the grade of every item, `EMPTY` where none was told."""
    grades = campaign.grades
    is_told = np.zeros(grades.size, dtype=bool)
    is_told[[z for draw in campaign.draws for z in draw.items]] = True
    is_told[[z for draw in campaign.awaited for z in draw.items]] = False
    return np.where(is_told, grades, EMPTY)


def _row_costs(pool: QueryPool, items: Ints) -> NDArray[np.float64]:
    """Charge the first row of every item its cost, and the first such row of a query its overhead too."""
    charged = np.zeros(items.size)
    is_item = items >= 0
    first = np.unique(items[is_item], return_index=True)[1]
    rows = np.sort(np.flatnonzero(is_item)[first])
    charged[rows] = pool.item_costs[items[rows]]
    queries, opened = np.unique(pool.item_queries[items[rows]], return_index=True)
    charged[rows[opened]] += pool.query_costs[queries]
    return charged


def _rank_of_item(ranking: Rankings, depth: int) -> Ints:
    """Return the rank of every item, 0 where it is not ranked or too deep to count."""
    ranks = np.zeros(ranking.pool.n_items, dtype=np.int64)
    ranks[ranking.items] = np.where(ranking.ranks <= depth, ranking.ranks, 0)
    return ranks


def estimate_table(
    table: DrawsTable, measure: Measure | None = None, max_grade: int | None = None, target: str = "pool"
) -> Estimate:
    """Return the estimate of a judged draws table of the paper's methods, which need no record; see `judged_table`."""
    sample, design = judged_table(table, measure, max_grade, target)
    return estimate(sample, "ratio", design, target)


def judged_table(
    table: DrawsTable, measure: Measure | None = None, max_grade: int | None = None, target: str = "pool"
) -> tuple[JudgedSample, str]:
    """Return the judged sample of a draws table of the paper's methods, for the ratio estimator, and its design's name.

    Parameters
    ----------
    measure : Measure, optional
        By default the one that the table names.
    max_grade : int, optional
        Largest grade of the scale; by default the one that the table names.
    target : {"pool", "population"}
        See `activeeval.estimation.estimate`.

    Raises
    ------
    StateError
        Where an item has no grade yet: to leave it out would bias the estimate.
    InputError
        Where rows contradict each other (two grades for an item, two weights in a draw, more than
        one design or measure), where draws or items are missing, where the measure looks deeper
        than the one that was sampled for, where the table's method needs its record.
    """
    measure = _measure(table, measure)
    max_grade = max_grade or int(table.max_grade.max()) or None
    design = _only(table.design, "design")
    if design in METHODS and METHODS[design].needs_record:
        raise InputError(f"the estimate of {design!r} needs the record that was written with its draws table")
    first_rows, draw_queries = _draws(table)
    pool, rows = _judged_pool(table)
    grades = Judgments(pool, _grades(table, pool, rows), max_grade).grades
    ranking, versus = (_ranking(pool, ranks[rows], what) for ranks, what in _rank_columns(table))
    values = measure.score(pool, grades, ranking, versus)
    index = {name: q for q, name in enumerate(pool.query_ids.tolist())}
    drawn = np.array([index[name] for name in draw_queries])
    # every query has been judged: each counts once, by p = q · p/q
    once = np.unique(drawn, return_index=True)[1] if design == CENSUS else np.arange(drawn.size)
    probs = table.query_prob[first_rows][once]
    totals = np.zeros((once.size, 3))
    totals[:, 0] = values[drawn[once]]
    sample = JudgedSample(
        "replacement",
        drawn[once],
        table.weight[first_rows][once] * probs,
        probs,
        totals,
        np.zeros((once.size, 6)),
        np.full(once.size, design == CENSUS),
        np.zeros(2),
        np.empty((once.size, 0)),
        pool.n_queries,
        drawn.size,
        pool.n_queries,
        int(np.count_nonzero(pool.item_ids != NOTHING)),
        float(table.cost.sum()),
        0.0 if design == CENSUS else 1.0,
        _pool_size(table.weight[first_rows][once] * probs, design == CENSUS, target),
    )
    return sample, design


def _pool_size(query_probs: NDArray[np.float64], is_census: bool, target: str) -> float:
    """Return 1 / Σ p², which a table tells of a census alone."""
    if is_census:
        return 1.0 / float(query_probs @ query_probs)
    if target == "population":
        raise InputError("this draws table does not tell how large the pool is: its estimate is for the pool")
    return float("inf")


def estimate_record(table: DrawsTable, record: Record, target: str = "pool", max_grade: int | None = None) -> Estimate:
    """Return the estimate of a judged draws table with the record of its sample.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade that the table may hold; by default the largest of the scale that was sampled for.

    Raises
    ------
    StateError
        Where an item has no grade yet.
    InputError
        Where table and record are not of one sample, where rows were lost or contradict each other,
        where a grade is above the scale.
    """
    return record.estimate(graded(table, record, max_grade), target)


def graded(table: DrawsTable, record: Record, max_grade: int | None = None) -> Ints:
    """Return the grades of a record's items as a judged draws table gives them; −1 where the sample needs none."""
    design = _only(table.design, "design")
    if design not in (record.method, CENSUS) or _only(table.measure, "measure") != record.measure:
        raise InputError("the draws table and the record are of different samples")
    top = record.max_grade
    if max_grade is not None and top is not None and max_grade > top:
        raise InputError(f"max_grade {max_grade} is above the largest grade that was sampled for, {top}")
    pool, rows = _judged_pool(table)
    given = Judgments(pool, _grades(table, pool, rows), top if max_grade is None else max_grade).grades
    places = record.stage.target.pool.item_positions()
    index = {name: q for q, name in enumerate(record.stage.target.pool.query_ids.tolist())}
    grades = np.full(record.stage.target.pool.n_items, EMPTY, dtype=np.int64)
    for z, (query, doc) in enumerate(zip(pool.item_queries.tolist(), pool.item_ids.tolist(), strict=True)):
        name = str(pool.query_ids[query])
        if name not in index or (doc != NOTHING and (index[name], doc) not in places):
            raise InputError(f"{pool.place(z)} is in the draws table, but not in the record of the sample")
        if doc != NOTHING:
            grades[places[index[name], doc]] = given[z]
    needed = record.stage.items[np.unique(record.slots)]
    lost = needed[grades[needed] == EMPTY]
    if lost.size:
        raise InputError(f"{record.stage.target.pool.place(int(lost[0]))} was drawn, but is not in the draws table")
    return np.maximum(grades, -1)


def _measure(table: DrawsTable, measure: Measure | None) -> Measure:
    from activeeval.measures import parse_measure

    if table.n_rows == 0:
        raise InputError("the draws table has no rows")
    text = _only(table.measure, "measure")
    if measure is None and not text:
        raise InputError("the draws table names no measure: say which is to be estimated")
    sampled = measure if measure is not None and str(measure) == text else parse_measure(text) if text else None
    measure = measure or sampled
    # a sample for nDCG or AP holds every item of its queries, one for another measure does not
    if not isinstance(measure, SampledMeasure) or (measure.needs_all_items and str(measure) != text):
        raise InputError(f"{measure} cannot be computed from the judged items alone; choose DCG, ERR, RBP, P or RR")
    if sampled is not None:
        _check_depth(measure, sampled)
        measure = measure if sampled.max_grade is None else measure.bound_to(sampled.max_grade)
    if measure.needs_max_grade:
        raise InputError("ERR needs the largest grade of the scale, as ERR(max_rel=4)")
    return measure


def _check_depth(measure: Measure, sampled: Measure) -> None:
    if sampled.cutoff is not None and (measure.cutoff is None or measure.cutoff > sampled.cutoff):
        raise InputError(f"{measure} looks deeper than {sampled}, for which the items were sampled")


def _only(column: NDArray[np.str_], what: str) -> str:
    values = np.unique(column)
    if values.size > 1:
        raise InputError(f"the draws table holds more than one {what}: {values[0]!s}, {values[1]!s}")
    return str(values[0])


def _draws(table: DrawsTable) -> tuple[Ints, list[str]]:
    """Return the first row of every draw and its query, once a draw is seen to hold one query and one weight."""
    numbers, first, inverse = np.unique(table.draw, return_index=True, return_inverse=True)
    for column, what in ((table.query_id, "query"), (table.weight, "weight")):
        differs = np.flatnonzero(column != column[first][inverse])
        if differs.size:
            raise InputError(f"draw {table.draw[differs[0]]} holds more than one {what}, one is {column[differs[0]]}")
    _check_complete(table, numbers, inverse)
    weights = table.weight[first]
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if bad.size:
        raise InputError(f"the weight of draw {numbers[bad[0]]} must be positive, got {weights[bad[0]]}")
    return first, table.query_id[first].tolist()


def _check_complete(table: DrawsTable, numbers: Ints, draw_of_row: Ints) -> None:
    """Raise where rows were lost: to leave out a draw or an item would bias the estimate."""
    gap = np.flatnonzero(np.diff(numbers, prepend=min(numbers[0], 1) - 1) > 1)
    if gap.size:
        raise InputError(f"draw {numbers[gap[0]] - 1} is missing, though the draws table holds draw {numbers[gap[0]]}")
    n_rows = np.bincount(draw_of_row)
    differs = np.flatnonzero((table.depth > 0) & (table.depth != n_rows[draw_of_row]))
    if differs.size:
        row = differs[0]
        n, depth = n_rows[draw_of_row[row]], table.depth[row]
        raise InputError(f"draw {table.draw[row]} has {n} rows, but its depth says that {depth} items are to be judged")


def _judged_pool(table: DrawsTable) -> tuple[QueryPool, Ints]:
    """Return the drawn queries with their items, and the first row of each item."""
    keys: dict[str, dict[str, int]] = {}
    for row, (query, doc) in enumerate(zip(table.query_id.tolist(), table.doc_id.tolist(), strict=True)):
        keys.setdefault(query, {}).setdefault(doc, row)
    rows = np.array([row for docs in keys.values() for row in docs.values()], dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(docs) for docs in keys.values()])))
    return QueryPool(list(keys), offsets, table.doc_id[rows]), rows


def _grades(table: DrawsTable, pool: QueryPool, rows: Ints) -> Ints:
    """Return the grade of each item from whichever of its rows has one."""
    places = pool.item_positions()
    index = {name: q for q, name in enumerate(pool.query_ids.tolist())}
    grades = table.grade[rows].copy()
    for query, doc, grade in zip(table.query_id.tolist(), table.doc_id.tolist(), table.grade.tolist(), strict=True):
        z = places[index[query], doc]
        if grade > EMPTY and grades[z] > EMPTY and grade != grades[z]:
            raise InputError(f"{pool.place(z)} has two grades, {grades[z]} and {grade}")
        grades[z] = max(grades[z], grade)
    unjudged = np.flatnonzero(grades == EMPTY)
    if unjudged.size:
        raise StateError(
            f"{unjudged.size} of {grades.size} items have no grade yet, the first is {pool.place(unjudged[0])}"
        )
    return grades


def _rank_columns(table: DrawsTable) -> list[tuple[Ints, str]]:
    return [(table.rank, "rank"), (table.versus_rank, "versus_rank")]


def _ranking(pool: QueryPool, ranks: Ints, what: str) -> Rankings:
    ranked = np.flatnonzero(ranks > 0)
    queries = pool.item_queries[ranked]
    order = np.lexsort((ranks[ranked], queries))
    counts = np.bincount(queries, minlength=pool.n_queries)
    ranking = Rankings(pool, np.concatenate(([0], np.cumsum(counts))), ranked[order])
    gap = np.flatnonzero(ranks[ranking.items] != ranking.ranks)
    if gap.size:
        place = pool.place(int(ranking.items[gap[0]]))
        raise InputError(f"{what} {ranks[ranking.items[gap[0]]]} at {place}: expected {ranking.ranks[gap[0]]}")
    return ranking
