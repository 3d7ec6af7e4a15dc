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


def read_judged(path: str, campaign: Campaign, own: str) -> Draws:
    """Return what a file says of a sample's items: its sheet or, where it is judged by comparisons, a truth.

    Raises
    ------
    InputError
        Where a truth names a query or a document that the sample does not hold, or is not told far enough.
    """
    k = judged_k([target.measure for target in campaign.design.targets])
    truths = None if k is None else read_truth_if_any(path)
    if k is None or truths is None:
        sheet = read_draws(path)
        if k is not None and (sheet.grade == CANNOT).any():
            row = int(np.argmax(sheet.grade == CANNOT))
            raise InputError(f"{sheet.place(path, row)}: cannot: of a top {k} it is left below, with grade 0")
        return sheet
    units = {unit.query_id: unit.item_ids for unit in campaign.planned if unit.items}
    for query, truth in truths.items():
        _check_held(path, query, truth, units, k)
    grades = [grade for query, docs in units.items() for grade in _grades_of(truths.get(query), docs, k)]
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
