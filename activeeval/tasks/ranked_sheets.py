"""Samples that are judged by comparisons: their sheets, or truths on file in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from activeeval.campaign import Campaign
from activeeval.campaign.sheet import nearest_id
from activeeval.cases.truths import check_told, graded
from activeeval.errors import InputError, shown
from activeeval.io.comparisons import Truth, holds_truths, truths_of
from activeeval.io.tables.draws import EMPTY, Draws, draws_of
from activeeval.io.tables.sheets import read_sheet
from activeeval.measures import judged_k
from activeeval.pool.texts import Texts

Said = Draws | dict[str, Truth]
"""What a file says of items: a sheet's grades, or the truth of each query."""


def read_said(path: str) -> Said:
    """Read a judged sheet, or a table of ranks in its place; raises as `read_draws` and `read_truth` do."""
    sheet = read_sheet(path).plainly_named()
    return truths_of(sheet) if holds_truths(sheet) else draws_of(sheet, path)


def sheet_in(said: Said, path: str, campaign: Campaign, own: str) -> Draws:
    """Return what a file says of a sample's items as a sheet.

    Raises
    ------
    InputError
        Where ranks are of a sample of grades or grades of one of ranks, and where a truth names a query or a document
        that the sample does not hold, leaves one of the sample's out, or is not told far enough.
    """
    k = judged_k([target.measure for target in campaign.design.targets])
    if isinstance(said, Draws):
        if k is not None and (said.grade != EMPTY).any():
            where = said.place(path, int(np.argmax(said.grade != EMPTY)))
            raise InputError(
                f"{where}: a grade, where the {k} best are asked for: expected a table of query, rank, doc_id"
            )
        return said
    if k is None:
        raise InputError(f"{path}: holds ranks, the sample is judged by grades: expected its sheet")
    units = {unit.query_id: unit.item_ids for unit in campaign.planned if unit.items}
    for query, truth in said.items():
        check_held(path, query, truth, units, k)
    grades = [grade for query, docs in units.items() for grade in _grades_of(said.get(query), docs, k)]
    return Draws(
        sample=own,
        block=np.repeat([u.block for u in campaign.planned if u.items], [len(docs) for docs in units.values()]),
        query_id=Texts.from_list([query for query, docs in units.items() for _ in docs]),
        doc_id=Texts.from_list([doc for docs in units.values() for doc in docs]),
        grade=np.array(grades, dtype=np.int64),
    )


def _grades_of(truth: Truth | None, docs: Sequence[str], k: int) -> list[int]:
    """Return what a truth says of documents; `EMPTY` where there is none."""
    if truth is None:
        return [EMPTY] * len(docs)
    said = graded(truth, k)
    return [said[doc] for doc in docs]


def check_one_truth(said: Mapping[str, Said], policy: str) -> None:
    """Raise where files tell different truths of one query: ranks of several judges have no majority and no mean."""
    told: dict[str, tuple[str, Truth]] = {}
    truths = {path: one for path, one in said.items() if not isinstance(one, Draws)}
    if truths and policy != "refuse":
        raise InputError(f"`policy` {policy} is for grades: of ranks give one judge's", field="policy")
    for path, one in truths.items():
        for query, truth in one.items():
            first, known = told.setdefault(query, (path, truth))
            if known != truth:
                raise InputError(f"{first} and {path} have different truths of query {query!r}: give one judge's")


def check_held(path: str, query: str, truth: Truth, units: Mapping[str, Sequence[str]], k: int) -> None:
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
    unsaid = [doc for doc in units[query] if doc not in set(named)]
    if unsaid:
        more = f"{len(unsaid)} documents of the sample are not named for query {query!r}, the first is {unsaid[0]!r}"
        raise InputError(f"{path}: {more}; expected each, with an empty rank where it is below")
    check_told(f"{path}: query {query!r}", truth, k)
