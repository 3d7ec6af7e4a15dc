"""Samples that are judged by comparisons: their sheets, or truths on file in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from activeeval.campaign import Campaign
from activeeval.campaign.sheet import nearest_id
from activeeval.errors import InputError, shown
from activeeval.io.comparisons import Truth, read_truth_if_any
from activeeval.io.draws import CANNOT, EMPTY, Draws, read_draws
from activeeval.measures import judged_k
from activeeval.pool.texts import Texts
from activeeval.session.truths import check_told, check_truths, graded

Said = Draws | dict[str, Truth]
"""What a file says of items: a sheet's grades, or the truth of each query."""


def read_said(path: str) -> Said:
    """Read a judged sheet, or a table of ranks in its place; raises as `read_draws` and `read_truth` do."""
    truths = read_truth_if_any(path)
    return read_draws(path) if truths is None else truths


def sheet_in(said: Said, path: str, campaign: Campaign, own: str) -> Draws:
    """Return what a file says of a sample's items as a sheet.

    Raises
    ------
    InputError
        Where ranks are of a sample of grades or grades of one of ranks say `cannot`, and where a truth names a query
        or a document that the sample does not hold, or is not told far enough.
    """
    k = judged_k([target.measure for target in campaign.design.targets])
    if isinstance(said, Draws):
        if k is not None and (said.grade == CANNOT).any():
            row = int(np.argmax(said.grade == CANNOT))
            raise InputError(f"{said.place(path, row)}: cannot: of a top {k} it is left below, with grade 0")
        return said
    if k is None:
        raise InputError(f"{path}: holds ranks, the sample is judged by grades: expected its sheet")
    units = {unit.query_id: unit.item_ids for unit in campaign.planned if unit.items}
    for query, truth in said.items():
        _check_held(path, query, truth, units, k)
    grades = [grade for query, docs in units.items() for grade in _grades_of(said.get(query), docs, k)]
    return Draws(
        sample=own,
        block=np.repeat([u.block for u in campaign.planned if u.items], [len(docs) for docs in units.values()]),
        query_id=Texts.from_list([query for query, docs in units.items() for _ in docs]),
        doc_id=Texts.from_list([doc for docs in units.values() for doc in docs]),
        grade=np.array(grades, dtype=np.int64),
    )


def _grades_of(truth: Truth | None, docs: Sequence[str], k: int) -> list[int]:
    """Return what a truth says of documents, those that it does not name are below; `EMPTY` where there is none."""
    if truth is None:
        return [EMPTY] * len(docs)
    said = graded(truth, k)
    return [said.get(doc, 0) for doc in docs]


def check_ranks(campaign: Campaign, source: str) -> None:
    """Raise where a query that was judged by comparisons has grades that are no ranks; see `check_truths`."""
    k = judged_k([target.measure for target in campaign.design.targets])
    if k is not None:
        pool, grades = campaign.design.pool, campaign.grades
        waits = np.bincount(pool.item_queries, grades < 0, minlength=pool.n_queries) > 0
        check_truths(pool, np.where(waits[pool.item_queries], -1, grades), k, source)


def _check_held(path: str, query: str, truth: Truth, units: Mapping[str, Sequence[str]], k: int) -> None:
    """Raise where a truth names what is not in the sample, or does not tell enough."""
    if query not in units:
        meant = nearest_id(query, list(units))
        raise InputError(f"{path}: query {shown(query)} is not in the sample; did you mean {meant!r}?")
    named = (*truth.top, *truth.below, *truth.bad)
    foreign = [doc for doc in named if doc not in units[query]]
    if foreign:
        meant = nearest_id(foreign[0], units[query])
        what = f"document {shown(foreign[0])} of query {query!r} is not in the sample"
        raise InputError(f"{path}: {what}; did you mean {meant!r}?")
    check_told(f"{path}: query {query!r}", truth, len(units[query]) - len(named), k)
