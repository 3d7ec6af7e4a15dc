"""Options of the commands that write sheets, and their conversion to a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.input_options import any_grade_option, any_judge_option, with_options
from activeeval.cli.output import check_new

if TYPE_CHECKING:
    from activeeval.sampling.sheets import SheetPlan

FORMS = ".csv, .tsv, .jsonl, .parquet, or .xlsx with a list of the grades to choose from"


class _NamedGrade(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """Click type of a grade with its name, as 2=relevant."""

    name = "N=NAME"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, str]:
        """Parse a grade with its name."""
        grade, mark, name = str(value).partition("=")
        if not mark or not grade.strip().isdecimal() or not name.strip():
            self.fail(f"{value!r} is no grade with its name, expected as 2=relevant", param, context)
        return int(grade), name.strip()


judges_option = any_judge_option(
    "judges",
    multiple=True,
    help="Name of the judge on the sheet. Several judges have a sheet NAME-JUDGE.csv each, and queries are divided "
    "between them, block by block. Repeatable.",
)
overlap_option = click.option(
    "--overlap",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="With several judges: the number of items that all of them grade; these cost more than --budget.",
)
_GUIDE = (
    any_grade_option(
        "grade_names",
        multiple=True,
        type=_NamedGrade(),
        help="Name of a grade on a sheet .xlsx, such as 2=relevant; repeatable.",
    ),
    click.option("--guidelines", metavar="FILE", help="How to judge, plain text: the second page of a sheet .xlsx."),
)


def guide_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a workbook: names of grades and guidelines."""
    return with_options(command, _GUIDE)


def people_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of judges and of a workbook."""
    return judges_option(overlap_option(guide_options(command)))


def planned(
    sheet: str,
    judges: tuple[str, ...] = (),
    overlap: int = 0,
    grade_names: tuple[tuple[int, str], ...] = (),
    guidelines: str | None = None,
    *,
    force: bool = False,
) -> SheetPlan:
    """Convert the options of a sheet to a plan; raise InputError if they do not fit, or files cannot be written.

    ``overlap`` is the number of items that all of several ``judges`` grade; ``grade_names`` (pairs of grade and name)
    and ``guidelines`` (a text file) are for a workbook. ``force`` allows to overwrite files.
    """
    from activeeval.formats.suffixes import SHEETS
    from activeeval.sampling.sheets import sheet_plan

    plan = sheet_plan(sheet, judges=judges, overlap=overlap, grade_names=dict(grade_names), guidelines=guidelines)
    for path in plan.paths:
        check_new(path, SHEETS, force)
    return plan
