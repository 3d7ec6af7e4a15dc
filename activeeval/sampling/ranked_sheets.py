"""Samples that are judged by comparisons: read their sheets, or tables of top-k truths in their place."""

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
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.report.numbers import agreeing, counted


@dataclass(frozen=True, slots=True)
class Ranks:
    """Top-k truth of each query, in place of a sheet.

    Attributes
    ----------
    truths : mapping of str to Truth
    n_of_machines : int
        Number of rows by graders that count as labels.
    """

    truths: Mapping[str, Truth]
    n_of_machines: int = 0


Judged = Draws | Ranks
"""A sheet with grades, or the top-k truth of each query."""


def read_all_judged(
    paths: Sequence[str], max_grade: int | None = None, *, machine_is_truth: bool = False
) -> dict[str, Judged]:
    """Read judged sheets, or tables of ranks in their place; errors are those of `draws_of` and `truths_of`.

    Errors in the cells of several sheets are raised together.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade of the scale.
    machine_is_truth : bool
        Accept graders' judgments as labels; otherwise a sheet marked as a grader's raises InputError.
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
    """Read one sheet, or one table of ranks."""
    sheet = read_sheet(path).plainly_named()
    if not machine_is_truth:
        check_of_people(sheet)
    if is_truths(set(sheet.columns)):
        return Ranks(truths_of(sheet), int(is_of_machines(sheet).sum()) if machine_is_truth else 0)
    draws = draws_of(sheet, path, max_grade)
    n_of_machines = int((is_of_machines(sheet) & (draws.grade != EMPTY)).sum()) if machine_is_truth else 0
    return replace(draws, n_of_machines=n_of_machines)


def machines_in(judged: Mapping[str, Judged]) -> dict[str, int]:
    """Count graders' judgments that count as labels, for each file with some."""
    return {path: sheet.n_of_machines for path, sheet in judged.items() if sheet.n_of_machines}


def sheet_in(judged: Judged, path: str, campaign: Campaign, sample: str) -> Draws:
    """Convert judgments of a sample's items to a sheet of that sample.

    Parameters
    ----------
    judged : Draws or Ranks
    path : str
        Name of the judgments in messages.
    campaign : Campaign
    sample : str
        Id of the sample.

    Raises
    ------
    InputError
        If ranks are given for a sample of grades or vice versa, or a truth names a query or document outside the
        sample, omits one of the sample, or ranks fewer than the sample's top k.
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
    """Convert a truth to κ-grades of documents; `EMPTY` for all if there is no truth."""
    if truth is None:
        return [EMPTY] * len(docs)
    grades = truth.grades(k)
    return [grades[doc] for doc in docs]


def check_one_truth(judged: Mapping[str, Judged], policy: str) -> None:
    """Raise InputError if files hold different truths of one query: ranks of several judges cannot be combined."""
    by_query: dict[str, tuple[str, Truth]] = {}
    truths = {path: sheet for path, sheet in judged.items() if not isinstance(sheet, Draws)}
    if truths and policy != "refuse":
        raise InputError(f"`policy` {policy} is for grades: of ranks give one judge's", field="policy")
    for path, ranks in truths.items():
        for query, truth in ranks.truths.items():
            first, known = by_query.setdefault(query, (path, truth))
            if known != truth:
                raise InputError(f"{first} and {path} have different truths of query {query!r}: give one judge's")


def check_held(path: str, query: str, truth: Truth, units: Mapping[str, Sequence[str]], k: int) -> None:
    """Raise InputError if a truth names a document outside the sample, omits one, or ranks too few."""
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
