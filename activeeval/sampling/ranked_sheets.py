"""Samples that are judged by comparisons: their sheets, or truths on file in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.errors import CellsError, FormatError, InputError, raise_all, shown
from activeeval.core.judgments.comparisons import Truth, check_depth
from activeeval.core.pool.texts import Texts
from activeeval.formats.comparisons import truths_of
from activeeval.formats.graders.file_forms import is_of_machines
from activeeval.formats.judgments.machines import check_of_people
from activeeval.formats.judgments.table_forms import is_truths
from activeeval.formats.sample_sheet import nearest_id
from activeeval.formats.tables.draws import EMPTY, Draws, draws_of
from activeeval.formats.tables.sheets import read_sheet
from activeeval.report.numbers import agreeing, counted


@dataclass(frozen=True, slots=True)
class Ranks:
    """The truth of each query, in the place of a sheet.

    Attributes
    ----------
    truths : mapping of str to Truth
    n_of_machines : int
        Rows of a machine's that are taken for people's.
    """

    truths: Mapping[str, Truth]
    n_of_machines: int = 0


Judged = Draws | Ranks
"""A sheet with its grades, or the truth of each query."""


def read_all_judged(
    paths: Sequence[str], max_grade: int | None = None, *, machine_is_truth: bool = False
) -> dict[str, Judged]:
    """Read judged sheets, or tables of ranks in their place; raises as `draws_of` and `truths_of` do.

    What is wrong with the cells of several sheets is raised as one error.

    Parameters
    ----------
    max_grade : int, optional
        The largest of the scale.
    machine_is_truth : bool
        Take what machines say for people's; else a sheet that says it is a machine's is refused.
    """
    judged: dict[str, Judged] = {}
    wrong: list[FormatError] = []
    for path in paths:
        try:
            judged[path] = _read_judged(path, max_grade, machine_is_truth)
        except CellsError as problems:
            wrong += problems.all
        except FormatError as problem:
            wrong.append(problem)
    raise_all(wrong)
    return judged


def _read_judged(path: str, max_grade: int | None, machine_is_truth: bool) -> Judged:
    sheet = read_sheet(path).plainly_named()
    if not machine_is_truth:
        check_of_people(sheet)
    if is_truths(set(sheet.columns)):
        return Ranks(truths_of(sheet), int(is_of_machines(sheet).sum()) if machine_is_truth else 0)
    draws = draws_of(sheet, path, max_grade)
    n_of_machines = int((is_of_machines(sheet) & (draws.grade != EMPTY)).sum()) if machine_is_truth else 0
    return replace(draws, n_of_machines=n_of_machines)


def machines_in(judged: Mapping[str, Judged]) -> dict[str, int]:
    """Return how many judgments of machines are taken for people's, by file, of those that have some."""
    return {path: held.n_of_machines for path, held in judged.items() if held.n_of_machines}


def sheet_in(judged: Judged, path: str, campaign: Campaign, sample: str) -> Draws:
    """Return the judgments of a sample's items as a sheet of the sample of an id.

    Raises
    ------
    InputError
        Where ranks are of a sample of grades or grades of one of ranks, and where a truth names a query or a document
        that the sample does not hold, leaves one of the sample's out, or does not go far enough.
    """
    if isinstance(judged, Draws):
        if (graded := np.flatnonzero(judged.grade != EMPTY)).size:
            campaign.judging.check_grade(judged.place(path, int(graded[0])))
        return judged
    k = campaign.judging.of_ranks(f"{path}: holds ranks, the sample is judged by grades: expected its sheet").k
    units = {unit.query_id: unit.item_ids for unit in campaign.planned if unit.items}
    for query, truth in judged.truths.items():
        check_held(path, query, truth, units, k)
    grades = [grade for query, docs in units.items() for grade in _grades_of(judged.truths.get(query), docs, k)]
    return Draws(
        sample=sample,
        block=np.repeat([u.block for u in campaign.planned if u.items], [len(docs) for docs in units.values()]),
        query_id=Texts.from_list([query for query, docs in units.items() for _ in docs]),
        doc_id=Texts.from_list([doc for docs in units.values() for doc in docs]),
        grade=np.array(grades, dtype=np.int64),
    )


def _grades_of(truth: Truth | None, docs: Sequence[str], k: int) -> list[int]:
    """Return the κ-grades of documents; `EMPTY` where there is no truth."""
    if truth is None:
        return [EMPTY] * len(docs)
    grades = truth.grades(k)
    return [grades[doc] for doc in docs]


def check_one_truth(judged: Mapping[str, Judged], policy: str) -> None:
    """Raise where files hold different truths of one query: ranks of several judges have no majority and no mean."""
    by_query: dict[str, tuple[str, Truth]] = {}
    truths = {path: held for path, held in judged.items() if not isinstance(held, Draws)}
    if truths and policy != "refuse":
        raise InputError(f"`policy` {policy} is for grades: of ranks give one judge's", field="policy")
    for path, held in truths.items():
        for query, truth in held.truths.items():
            first, known = by_query.setdefault(query, (path, truth))
            if known != truth:
                raise InputError(f"{first} and {path} have different truths of query {query!r}: give one judge's")


def check_held(path: str, query: str, truth: Truth, units: Mapping[str, Sequence[str]], k: int) -> None:
    """Raise where a truth names what is not in the sample, or does not go far enough."""
    if query not in units:
        meant = nearest_id(query, list(units))
        raise InputError(f"{path}: query {shown(query)} is not in the sample; did you mean {meant!r}?")
    named = (*truth.top, *truth.below, *truth.bad)
    foreign = [doc for doc in named if doc not in units[query]]
    if foreign:
        meant = nearest_id(foreign[0], units[query])
        what = f"document {shown(foreign[0])} of query {query!r} is not in the sample"
        raise InputError(f"{path}: {what}; did you mean {meant!r}?")
    missing = [doc for doc in units[query] if doc not in set(named)]
    if missing:
        more = (
            f"{counted(len(missing), 'document')} of the sample {agreeing(len(missing), 'is', 'are')} not named "
            f"for query {query!r}, the first is {missing[0]!r}"
        )
        raise InputError(f"{path}: {more}; expected each, with an empty rank where it is below")
    check_depth(f"{path}: query {query!r}", truth, k)
