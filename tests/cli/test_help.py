"""Help fits on a page: options in groups, an example, the rarer ones for whoever asks for all."""

import inspect
import re

import click
import pytest

from activeeval.cli import cli
from activeeval.cli.help import GROUPS, RARELY, WIDTH, group_of

MOST_LINES = 60
WIDEST_SUMMARY = 80


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Workers of a parallel run are told a width of their own."""
    monkeypatch.delenv("COLUMNS", raising=False)


def walked(command, path=()):
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walked(below, (*path, name))


COMMANDS = dict(walked(cli))
every_command = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "activeeval")


def options_of(path):
    """Return the options of a command but for those that are gone, which are refused with what there is instead."""
    options = [parameter for parameter in COMMANDS[path].params if isinstance(parameter, click.Option)]
    return [option for option in options if not option.hidden]


def names_in(text):
    return set(re.findall(r"^  (?:-\w, )?(-[\w-]+)", text, re.MULTILINE))


@every_command
def test_help_is_a_page_with_an_example(call, path):
    lines = call(*path, "--help").out.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH
    assert [line for line in lines if line.startswith(f"  activeeval {' '.join(path)}".rstrip())]
    summary = COMMANDS[path].short_help
    assert 10 < len(summary) <= WIDEST_SUMMARY
    assert not summary.endswith(".")


@every_command
def test_all_options_are_shown_to_whoever_asks_for_all(call, path):
    shown, whole = call(*path, "--help"), call(*path, "--help-all")
    assert (whole.code, whole.err) == (0, "")
    assert max(map(len, whole.out.splitlines())) <= WIDTH
    assert [option.opts for option in options_of(path) if group_of(option, COMMANDS[path]) is None] == []
    names = {max(option.opts, key=len): option for option in options_of(path)}
    written = names_in(whole.out)
    assert {name for name, option in names.items() if not written & {*option.opts}} == set()
    rare = {name for name, option in names.items() if group_of(option, COMMANDS[path])[0] == RARELY}
    assert not rare & names_in(shown.out)
    counted = re.search(r"^--help-all: (\d+) more option", shown.out, re.MULTILINE)
    assert int(counted[1] if counted else 0) == len(rare)


@every_command
def test_required_options_are_first_in_their_group(path):
    context = click.Context(COMMANDS[path], show_default=True)
    required = {name for option in options_of(path) if option.required for name in option.opts}
    for _, rows in COMMANDS[path]._grouped(context):
        is_needed = [bool(names_in(f"  {name}") & required) for name, _ in rows]
        assert is_needed == sorted(is_needed, reverse=True)


def test_groups_have_the_order_of_the_table(call):
    assert re.findall(r"^(\w.*):$", call("sample", "--help-all").out, re.MULTILINE) == list(GROUPS)


def test_every_command_is_listed_whole(call):
    text = call("--help").out
    assert "..." not in text.replace("[ARGS]...", "")
    for (_, *further), command in ((path, command) for path, command in COMMANDS.items() if path):
        if not further:
            assert f"  {command.name} " in text
            assert command.short_help in text
    campaign = call("campaign", "--help").out
    assert all(f"  {name} " in campaign for name in cli.commands["campaign"].commands)
    listed = [name for names in cli.sections.values() for name in names]
    assert sorted(listed) == sorted(cli.commands)


def test_an_option_may_mean_another_thing_in_a_command():
    def group(name):
        return group_of(click.Option(["--sheet"]), click.Command(name))[0]

    assert (group("compare"), group("sample")) == ("What you have", "Where it goes")


def test_help_keeps_the_width_of_a_terminal(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert max(map(len, call("warm-up", "--help").out.splitlines())) <= 70


def test_the_two_ways_of_old_labels_name_each_other(call):
    text = " ".join(call("sample", "--help").out.split())
    assert "Training data of the model, not measured" in " ".join(call("sample", "--help-all").out.split())
    assert "measured (with --train: not)" in text


@every_command
def test_examples_take_options_that_there_are(path):
    """Examples of three commands went on to name options that were gone."""
    text = inspect.cleandoc(COMMANDS[path].help or "").replace("\\\n", " ")
    for line in re.findall(r"^(?:`)?activeeval (.+)$", text, re.MULTILINE):
        words = line.split("   ")[0].replace("`", "").split()
        whose = max((key for key in COMMANDS if tuple(words[: len(key)]) == key), key=len)
        known = {name for option in COMMANDS[whose].params for name in (*option.opts, *option.secondary_opts)}
        asked = {word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)}
        assert asked <= known | {"--help", "--help-all"}, line
