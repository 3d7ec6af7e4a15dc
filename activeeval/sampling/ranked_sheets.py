"""Read the judgments of a sample: its sheets, or judgments of any format or top-k truths in their place.

A truth is a query's k best documents, as a judge ranked them by comparing two at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.errors import CellsError, FormatError, InputError, raise_all, shown
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.comparisons import Truth, check_depth
from activeeval.core.judgments.policies import refuse_as_labels
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note, Told
from activeeval.formats.comparisons import truths_of
from activeeval.formats.dialects import by_roles
from activeeval.formats.file_kinds import kind_of
from activeeval.formats.graders.file_forms import is_of_machines
from activeeval.formats.judgments.from_files import read, read_from_sheet
from activeeval.formats.judgments.machines import check_of_people
from activeeval.formats.judgments.table_forms import is_truths
from activeeval.formats.sample_sheet import nearest_id
from activeeval.formats.suffixes import TABLES
from activeeval.formats.tables.draws import CANNOT, EMPTY, Draws, draws_of
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.report.numbers import agreeing, counted


@dataclass(frozen=True, slots=True)
class Ranks:
    """Top-k truth of each query, in place of a sheet.

    Attributes
    ----------
    truths : mapping of str to Truth
        By query id.
    n_of_machines : int
        Number of rows by graders that count as labels.
    """

    truths: Mapping[str, Truth]
    n_of_machines: int = 0


Judged = Draws | Ranks | Judgments
"""A sheet with grades, the top-k truth of each query, or judgments that do not name the sample."""
_OF_A_SHEET = {"sample", "block"}


def read_all_judged(
    paths: Sequence[str], max_grade: int | None = None, *, machine_is_truth: bool = False
) -> dict[str, Judged]:
    """Read judged sheets, or tables with the ranks of each query's top k or judgments in their place; by path.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade of the scale.
    machine_is_truth : bool
        Accept judgments of graders (LLMs or other models) as labels; otherwise a sheet marked as theirs is an
        InputError.

    Raises
    ------
    FormatError
        If a file or cells of it are wrong; the wrong cells of all files are reported together.
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
    """Read one sheet, one table of ranks, or judgments of any format; raise FormatError for wrong cells.

    ``max_grade`` is the largest valid grade; ``machine_is_truth`` allows grades and ranks that machines gave.
    """
    kind = kind_of(path)
    if kind not in TABLES:
        return read(path, machine_is_truth=machine_is_truth)
    table = read_sheet(path, kind)
    sheet = by_roles(table.plainly_named())
    if not (is_truths(set(sheet.columns)) or set(sheet.columns) >= _OF_A_SHEET):
        return read_from_sheet(path, table, machine_is_truth=machine_is_truth)
    if not machine_is_truth:
        check_of_people(sheet)
    if is_truths(set(sheet.columns)):
        return Ranks(truths_of(sheet), int(is_of_machines(sheet).sum()) if machine_is_truth else 0)
    draws = draws_of(sheet, path, max_grade)
    n_of_machines = int((is_of_machines(sheet) & (draws.grade != EMPTY)).sum()) if machine_is_truth else 0
    return replace(draws, n_of_machines=n_of_machines)


def sheet_in(judged: Judged, path: str, campaign: Campaign, sample: str) -> Draws:
    """Convert judgments of a sample's items to a sheet of that sample.

    Parameters
    ----------
    judged : Draws, Ranks or Judgments
        Grades on a sheet, which are returned unchanged, truths, or judgments of any format.
    path : str
        Name of the judgments in messages.
    campaign : Campaign
        The sample.
    sample : str
        Id of the sample.

    Raises
    ------
    InputError
        If ranks are given for a sample of grades or vice versa, or a truth names a query or document outside the
        sample, omits one of the sample, or ranks fewer than the sample's top k; or if none of the judgments is a
        person's grade of an item of the sample.
    """
    if isinstance(judged, Draws):
        if (graded := np.flatnonzero(judged.grade != EMPTY)).size:
            campaign.judging.check_grade(judged.place(path, int(graded[0])))
        return judged
    if isinstance(judged, Judgments):
        return _looked_up(judged, path, campaign, sample)
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


def _looked_up(judgments: Judgments, name: str, campaign: Campaign, sample: str) -> Draws:
    """Look up the human judgments of a sample's items, as its sheet, and note those of other items.

    Items without a judgment wait. Judgments of graders (LLMs or other models) that `Judgments.as_truth` made labels
    count as human, and their number is recorded. ``name`` is that of the judgments in messages, ``sample`` the id of
    the sample. Raise InputError if none of the judgments is of an item, none is human, or they are not grades.
    """
    if not judgments.is_of_grades:
        judgments.refuse("grades")
    if len(judgments) and not judgments.is_of_people.any():
        refuse_as_labels(name)
    units = campaign.planned
    blocks = {(unit.query_id, doc): unit.block for unit in units for doc in unit.item_ids}
    human = judgments.where(judgments.is_of_people)
    rows = []
    for row in human:
        if (row.query, row.item) in blocks and row.kind in ("grade", "cannot"):
            grade = CANNOT if row.kind == "cannot" else row.value
            rows += [(row.query, row.item, grade, row.judge.name)] if row.kind == "cannot" or grade >= 0 else []
    if not rows and len(judgments):
        raise InputError(f"{name}: none of its {counted(len(judgments), 'judgment')} is of an item of the sample")
    n_foreign = sum(row.kind in ("grade", "cannot") and (row.query, row.item) not in blocks for row in human)
    foreign: dict[str, Told] = {"source": name, "n": n_foreign, "of": len(human)}
    judged = {(query, doc) for query, doc, *_ in rows}
    rows += [(query, doc, EMPTY, "") for query, doc in blocks if (query, doc) not in judged]
    return Draws(
        sample=sample,
        block=np.array([blocks[query, doc] for query, doc, *_ in rows], dtype=np.int64),
        query_id=Texts.from_list([query for query, *_ in rows]),
        doc_id=Texts.from_list([doc for _, doc, *_ in rows]),
        grade=np.array([grade for *_, grade, _ in rows], dtype=np.int64),
        judge=Texts.from_list([judge for *_, judge in rows]),
        n_of_machines=judgments.n_of_machines,
        notes=(*judgments.read_notes, *([Note("outside the sample", foreign)] if n_foreign else [])),
    )


def _grades_of(truth: Truth | None, docs: Sequence[str], k: int) -> list[int]:
    """Compute the grades that a truth (a query's top k, as a judge ranked them) implies: k + 1 − rank, 0 for others.

    They are in the order of ``docs``; without a truth all are `EMPTY` (not judged).
    """
    if truth is None:
        return [EMPTY] * len(docs)
    grades = truth.grades(k)
    return [grades[doc] for doc in docs]


def check_one_truth(judged: Mapping[str, Judged], policy: str) -> None:
    """Raise InputError if files hold different truths of one query: ranks of several judges cannot be combined.

    A ``policy`` other than "refuse" is for grades, and also an error if there are truths.
    """
    by_query: dict[str, tuple[str, Truth]] = {}
    truths = {path: sheet for path, sheet in judged.items() if isinstance(sheet, Ranks)}
    if truths and policy != "refuse":
        raise InputError(f"`policy` {policy} is for grades: of ranks give one judge's", field="policy")
    for path, ranks in truths.items():
        for query, truth in ranks.truths.items():
            first, known = by_query.setdefault(query, (path, truth))
            if known != truth:
                raise InputError(f"{first} and {path} have different truths of query {query!r}: give one judge's")


def check_held(path: str, query: str, truth: Truth, units: Mapping[str, Sequence[str]], k: int) -> None:
    """Raise InputError if the truth of a query names a document outside the sample, omits one, or ranks fewer than k.

    ``units`` maps each query of the sample to its documents; ``path`` is named in the message.
    """
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
