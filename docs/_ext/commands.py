"""A page for each command: what `activeeval COMMAND --help-all` says, asked of the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from activeeval.cli import cli
from activeeval.cli.help import WIDTH, GroupedCommands

PROGRAM = "activeeval"
_ALL = "--help-all"


def pages() -> dict[str, str]:
    """Return a page for each command, one for a group with all of its own, and the list of them."""
    texts = {f"commands/{name}.md": "\n".join(_page(name, command)) + "\n" for _, name, command in _listed(cli)}
    return texts | {"made/commands.md": "\n".join(_index()) + "\n"}


def help_of(words: list[str]) -> str:
    """Return what the command line prints for a command with all options."""
    return _run([*words, _ALL])


def _run(words: list[str]) -> str:
    from click.testing import CliRunner

    done = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(cli, words, prog_name=PROGRAM)
    if done.exit_code:
        raise RuntimeError(f"{PROGRAM} {' '.join(words)}: {done.output}")
    return str(done.output)


def _listed(group: GroupedCommands) -> Iterator[tuple[str, str, click.Command]]:
    for title, names in group.sections.items():
        for name in names:
            yield title, name, group.commands[name]


def _page(name: str, command: click.Command) -> Iterator[str]:
    yield from (f"# {name}", "", f"{command.short_help}.", "", "```text", help_of([name]).rstrip(), "```")
    if isinstance(command, GroupedCommands):
        for _, below, member in _listed(command):
            yield from ("", f"## {name} {below}", "", f"{member.short_help}.", "")
            yield from ("```text", help_of([name, below]).rstrip(), "```")


def _index() -> Iterator[str]:
    """Yield the commands by what they are for, as `activeeval --help` lists them."""
    title = ""
    for section, name, command in _listed(cli):
        if section != title:
            title = section
            yield from ("", f"## {title}", "", "| command | |", "|---|---|")
        yield f"| [{name}](commands/{name}.md) | {command.short_help} |"
    names = "\n".join(f"commands/{name}" for _, name, _ in _listed(cli))
    yield from ("", "```{toctree}", ":hidden:", "", names, "```")
