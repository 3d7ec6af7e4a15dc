"""Options and commands that are spelled otherwise now: one line that says how."""

from __future__ import annotations

import pytest

from activeeval.cli import cli
from activeeval.cli.wording import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_spelling_is_refused_with_the_new_one(call, old):
    words = ("plan", old, "1") if old.startswith("-") else old.split()
    done = call(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"Error: {old} is gone: use {RENAMED[old]}"


@pytest.mark.parametrize("old", [old for old in RENAMED if not old.startswith("-")])
def test_a_command_that_is_gone_is_no_command(old):
    *groups, name = old.split()
    group = cli
    for each in groups:
        group = group.commands[each]
    assert name not in group.commands


def test_what_never_was_is_refused_as_ever(call):
    assert "No such option '--widest'" in call("plan", "--widest").err
    assert "No such command 'plans'" in call("plans").err
