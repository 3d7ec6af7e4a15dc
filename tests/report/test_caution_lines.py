"""Cautions of several estimates in few lines: the gravest first, merged where they say the same, notes left out."""

import click
import pytest

from activeeval.cli.output import explain_option, say_cautions
from activeeval.core.results import LEVELS, Caution, Estimate
from activeeval.report.cautions import caution_lines
from activeeval.report.message_lookup import line_of

UNBOUNDED = Caution("severe warning", "unbounded")
CAREFUL = Caution("warning", "more spread", {"std_error": 0.1, "planned": 0.4})
EARLY = Caution("note", "early", {"share": 0.5})


def test_the_gravest_comes_first_and_notes_are_left_out():
    lines = caution_lines([("DCG@10", [EARLY, CAREFUL, UNBOUNDED])])
    assert lines == [line_of(UNBOUNDED), line_of(CAREFUL)]
    assert caution_lines([("DCG@10", [EARLY])]) == []


@pytest.mark.parametrize("least", LEVELS)
def test_the_least_level_is_the_callers(least):
    lines = caution_lines([("DCG@10", [EARLY, CAREFUL, UNBOUNDED])], least=least)
    assert [line.partition(":")[0] for line in lines] == list(LEVELS[LEVELS.index(least) :])[::-1]


def test_what_is_true_of_all_is_said_once_without_names():
    assert caution_lines([("DCG@10", [CAREFUL]), ("P@5", [CAREFUL])]) == [line_of(CAREFUL)]


def test_what_is_true_of_some_names_them():
    other = Caution("warning", "more spread", {"std_error": 0.2, "planned": 0.9})
    (line,) = caution_lines([("DCG@10", [CAREFUL]), ("P@5", [other]), ("AP", [])])
    text = line_of(CAREFUL).removeprefix("warning: ")
    assert line == f"warning: DCG@10; P@5: {text}"  # the numbers are the first one's
    many = [*((f"P@{k}", [CAREFUL]) for k in range(1, 6)), ("AP", [])]
    assert caution_lines(many) == [f"warning: P@1; P@2; P@3 and 2 more: {text}"]


def test_a_number_alone_makes_no_other_caution():
    alike = [Caution("warning", "more spread", {"std_error": k / 7, "planned": k}) for k in range(1, 5)]
    assert len(caution_lines([(f"P@{k}", [caution]) for k, caution in enumerate(alike)])) == 1


def estimate(*cautions):
    numbers = {"n_open": 9, "n_draws": 9, "n_queries": 9, "n_items": 9, "cost": 9.0, "method": "items"}
    return Estimate(value=1.0, std_error=0.1, degrees_of_freedom=8.0, **numbers, concerns=cautions)


@pytest.mark.parametrize(("asked", "n_lines"), [((), 4), (("--explain",), 6)])
def test_three_lines_are_told_and_that_there_are_more(capsys, asked, n_lines):
    several = [Caution("warning", code, {}) for code in ("a", "b", "c", "d")]

    @click.command()
    @explain_option
    def command():
        say_cautions([("DCG@10", estimate(*several, UNBOUNDED, EARLY))])

    command.main(asked, standalone_mode=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == n_lines
    assert lines[0].startswith("activeeval: severe warning: ")
    last = "note: an early reading" if asked else "2 cautions more: --explain shows them"
    assert lines[-1].startswith(f"activeeval: {last}")


def test_that_a_machine_is_taken_for_truth_comes_first_and_of_each_file():
    """Catches a file whose name differs in a number alone, and a line that stands behind those that are shown."""
    taken = [Caution("warning", "machine is truth", {"source": f"week{k}.csv", "n": 7}) for k in (1, 2)]
    lines = caution_lines([("DCG@10", [Caution("severe warning", "unbounded"), *taken])])
    assert [line.partition(" grades")[0] for line in lines[:2]] == ["warning: week1.csv: 7", "warning: week2.csv: 7"]
    assert lines[2].startswith("severe warning")
