"""Errors name the parameter that is to be given otherwise, also behind a process and at the command line."""

import pickle

import click
import pytest

from activeeval.cli.option_names import complaint, in_options, option_of
from activeeval.core.errors import BudgetError, ChoiceError, FormatError, InputError, SolverError, StateError

KINDS = [
    InputError("max_grade must be positive", field="max_grade"),
    ChoiceError("`tune` needs `judged`", field="tune"),
    FormatError("a.csv", 3, "no grade", field="judged"),
    BudgetError("budget 1 is too small", budget=1.0, needed=3.0),
    SolverError("no solution", status="stalled"),
    StateError("round 1 waits"),
]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_as_it_was(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def test_fields_name_parameters():
    assert [error.field for error in KINDS] == ["max_grade", "tune", "judged", "budget", None, None]


@click.command()
@click.argument("path", metavar="SAMPLE")
@click.option("--run", "runs", multiple=True)
@click.option("-s", "--sheet", "sheets", multiple=True)
def command(**_):
    """Read a sample."""


def test_the_command_line_puts_its_options_in():
    assert [option_of(name, command) for name in ("runs", "sheets", "path", "max_grade")] == [
        "--run",
        "--sheet",
        "SAMPLE",
        "--max-grade",
    ]
    assert in_options("`runs` and `sheets`, as `a b`", command) == "--run and --sheet, as `a b`"


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("budget 1 is too small: budget 2 is not", "budget", "--budget 1 is too small: budget 2 is not"),
        ("nDCG@5: budget 1 is too small", "budget", "nDCG@5: --budget 1 is too small"),
        ("budgets.csv: nothing there", "budget", "--budget: budgets.csv: nothing there"),
        ("`train` needs `qrels`", "qrels", "--train needs --qrels"),
        ("no `train` here", "runs", "--run: no --train here"),
        ("a.csv: query `train` is new", None, "a.csv: query `train` is new"),
    ],
)
def test_a_complaint_names_the_option(text, field, expected):
    assert complaint(InputError(text, field=field), command) == expected
