"""Write sheets for judges: one for all, or one for each of several, either all files or none."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from activeeval.core.checks import check_names
from activeeval.core.errors import InputError
from activeeval.core.judgments.assignment_shares import Item, shared_out
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Ints
from activeeval.formats.files import open_text
from activeeval.formats.suffixes import SHEETS, bare_suffix, check_table
from activeeval.formats.tables.draws import Draws, write_draws
from activeeval.formats.tables.grades import GradeGuide
from activeeval.formats.writing import AtomicFiles

_NO_FILE_NAME = re.compile(r"[^\w.@+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetPlan:
    """Path, judges and grade guide of a sheet.

    Attributes
    ----------
    path : str
        Path of the sheet; several judges have one each in the same folder, named after it and the judge.
    judges : tuple of str
        Names of the judges; () for a sheet without a name.
    overlap : int
        Number of items on every judge's sheet, to measure agreement.
    guide : GradeGuide
        Names of grades and guidelines for a workbook (.xlsx).

    Raises
    ------
    InputError
        If a judge has no name or the name of another, or there is an overlap without several judges.
    """

    path: str
    judges: tuple[str, ...] = ()
    overlap: int = 0
    guide: GradeGuide = field(default_factory=GradeGuide)

    def __post_init__(self) -> None:
        """Normalize the judges' names; raise InputError unless they differ and fit the overlap."""
        names = tuple(judge_name(judge) for judge in self.judges)
        object.__setattr__(self, "judges", names)
        if "" in names or len(set(names)) < len(names):
            raise InputError("`judge` must be a name, each once", field="judge")
        if self.overlap and len(names) < 2:
            problem = "`overlap` needs several judges: name at least two of them with `judge`"
            raise InputError(problem, field="overlap")
        twice = [path for path in self.paths if self.paths.count(path) > 1]
        if twice:
            raise InputError(f"two judges have the sheet {twice[0]}: name them apart", field="judge")

    @property
    def paths(self) -> list[str]:
        """File of each judge, or the one file for all."""
        if len(self.judges) < 2:
            return [self.path]
        place = Path(self.path)
        packed = place.suffix if place.suffix.lower() == ".gz" else ""
        name = place.name.removesuffix(packed)
        ending = (packed and Path(name).suffix + packed) or place.suffix  # as .csv, or .csv.gz
        stem = place.name.removesuffix(ending)
        return [str(place.with_name(f"{stem}-{_NO_FILE_NAME.sub('_', judge)}{ending}")) for judge in self.judges]

    def checked(self, *, grades: bool = True) -> SheetPlan:
        """Check the plan and return it; raise InputError if the file format does not support it.

        Parameters
        ----------
        grades : bool
            True if documents are graded, False if they are ordered.
        """
        if bare_suffix(self.path) not in SHEETS:
            raise InputError(f"{self.path}: expected a name that ends in {', '.join(SHEETS)}")
        if (self.guide.names or self.guide.guidelines) and bare_suffix(self.path) != ".xlsx":
            raise InputError(f"{self.path}: names of grades and guidelines need a sheet .xlsx")
        for path in self.paths:
            check_table(path)
        if not grades and len(self.judges) > 1:
            raise InputError("of top-k judging a query has one judge: give each judge a campaign, or one of them all")
        return self

    def guided(self, max_grade: int | None) -> SheetPlan:
        """Add the largest grade of the scale to the guide of the plan; None for no list of grades."""
        return replace(self, guide=replace(self.guide, max_grade=max_grade))

    def rows(self, draws: Draws) -> list[Ints]:
        """Assign the rows of a sheet to the files of `paths`: an array of row indices, in reading order, for each.

        With several judges, `overlap` random rows go to all files, the others to one each, block by block.
        """
        order = draws.by_query
        if len(self.judges) < 2:
            return [order]
        shared = set(_spread(draws)[: self.overlap])
        queries, blocks = draws.query_id.tolist(), draws.block.tolist()
        n_judges = len(self.judges)
        items = [Item(blocks[row], queries[row], n_judges if row in shared else 1) for row in order.tolist()]
        chosen = shared_out(items, self.judges)
        return [order[[judge in names for names in chosen]] for judge in self.judges]


class SheetOptions(TypedDict, total=False):
    """Options of a sheet: its judges and their guide.

    Attributes
    ----------
    judges : str or list of str
        Name of the judge, printed on the sheet. Several judges have a sheet each; items are divided among them, block
        by block, by query.
    overlap : int
        With several judges: number of items that all of them grade.
    grade_names : mapping of int to str
        Names of the grades on an .xlsx sheet.
    guidelines : path
        Plain text on how to judge: the second page of an .xlsx sheet.
    """

    judges: str | Sequence[str]
    overlap: int
    grade_names: Mapping[int, str]
    guidelines: Any


def sheet_plan(path: Any, **people: Unpack[SheetOptions]) -> SheetPlan:
    """Build and check the plan of a sheet at a path; raise InputError if judges or file format do not fit."""
    check_names(people, SheetOptions)
    guidelines, judges = people.get("guidelines"), people.get("judges", ())
    text = "" if guidelines is None else open_text(guidelines)
    guide = GradeGuide(names=dict(people.get("grade_names", {})), guidelines=text)
    named = (judges,) if isinstance(judges, str) else tuple(judges)
    return SheetPlan(path=os.fspath(path), judges=named, overlap=people.get("overlap", 0), guide=guide).checked()


def check_free(paths: Sequence[str], *, force: bool) -> None:
    """Raise InputError if one of the files exists, unless ``force`` allows to overwrite it."""
    existing = [] if force else [path for path in paths if os.path.exists(path)]
    if existing:
        raise InputError(f"{existing[0]} is there already: give another name, or `force`", field="force")


def _spread(draws: Draws) -> list[int]:
    """Return all row indices in a random order that depends only on query and document ids.

    The sample's id does not enter, because it may differ between machines.
    """
    pairs = zip(draws.query_id.tolist(), draws.doc_id.tolist(), strict=True)
    keys = [hashlib.sha256(f"{query}\0{doc}".encode()).digest() for query, doc in pairs]
    return sorted(range(draws.n_rows), key=lambda row: keys[row])


def write_sheets(
    draws: Draws, plan: SheetPlan, files: AtomicFiles, texts: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write the sheets of a plan; repeated calls write the same bytes.

    Parameters
    ----------
    draws : Draws
        The rows: items to judge.
    files : AtomicFiles
        Group of files that are renamed together when all are complete.
    texts : mapping of str to sequence of str, optional
        Texts for the judges, one for each row.
    """
    judges: Sequence[str] = plan.judges or ("",)
    for judge, path, rows in zip(judges, plan.paths, plan.rows(draws), strict=True):
        write_rows(draws.at(rows), path, files, judge, _texts_at(texts, rows), plan.guide)


def write_rows(
    draws: Draws,
    path: str,
    files: AtomicFiles,
    judge: str = "",
    texts: Mapping[str, Sequence[str]] | None = None,
    guide: GradeGuide | None = None,
) -> None:
    """Write the sheet of one judge, whose name is in every row; "" leaves the column empty.

    ``draws`` are the rows, ``texts`` columns of texts with one text for each row, and ``guide`` explains the grades.
    ``files`` is a group of files that are renamed together when all are complete.
    """
    named = replace(draws, judge=Texts.from_list([judge] * draws.n_rows)) if judge else draws
    write_draws(named, path, files, texts, guide)


def _texts_at(texts: Mapping[str, Sequence[str]] | None, rows: Ints) -> dict[str, list[str]]:
    """Select the texts of some rows (indices) from each column; {} without texts."""
    return {name: np.array(words, dtype=object)[rows].tolist() for name, words in (texts or {}).items()}
