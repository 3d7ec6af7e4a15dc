"""Options and commands that are spelled otherwise now: one line that says how."""

import pytest

from activeeval.cli.option_names import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_spelling_is_refused_with_the_new_one(call, old):
    word = old if old.startswith("-") else old.split()[-1]
    verb = ["estimate", "x.csv"] if old.startswith("--interval") else ["plan"]
    done = call(*verb, *old.split(), "1") if old.startswith("-") else call(*old.split(), "1")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"Error: {word} is gone: use {RENAMED[old]}"


def test_what_never_was_is_refused_as_ever(call):
    assert "No such option '--widest'" in call("plan", "--widest").err
    assert "No such command 'plans'" in call("plans").err
