"""Help texts of commands: options in groups, rarely used ones only with ``--help-all``.

To add an option, add its name to `GROUPS`, which determines its group and its position. If an option's meaning differs
for some commands, they are named before it, as ``compare,plan --sheet``. Options under `RARELY` are left out of
``--help``, as are the middle paragraphs of a docstring: the first one and the examples come first.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from importlib import import_module
from typing import Any

import click

from activeeval.cli.option_names import renamed

WIDTH = 100
RARELY = "Rarely"
GROUPS = {
    "What you have": """
        --run --versus-run --name --baseline --versus --letor --scores --qrels
        score --columns score --leave-out-self score --collapse --sample compare,plan --sheet
        --values
        --campaign --db --token --grade --preferred --tie --discard --cannot --later --judged --judged-from --redraw
        --date --replace --max-grade --unjudged --no-relevant --pilot --ranker adapt,rank --base
        --pairs-letor --oracle --grades --head demo --queries ask --run ask --documents ask --queries
        compare,score --queries --last --pilot draw --pilot audit,report --grader
        """,
    "What you ask": """
        --measure --question --k --scope --reference --unjudged-bounds --condensed --margin --confidence --interval --by
        --as-of --from --to estimate --strict-order
        --prompt ask --model --strata --top --seq --reason --test --correction --like --method --depth --count
        --best-gain --by-rank
        """,
    "How much": """
        --budget --budget-per-night --budget-on-suspicion --false-alarms --half-width --difference --power --limit
        --items --ahead --repetitions
        --pairs --more --then-claim --ask-price --n --partitions init --segments
        """,
    "Where it goes": """
        --host --port --certificate serve --key --behind-proxy --auth-header --address
        --out --sheet --format --log --preferences --per-query --plot --force -q -n --output --explain
        --quiet --version
        """,
    "People": """
        --judge --lead --lead-password --lead-password-file --oidc --oidc-client --oidc-secret-file --oidc-claim
        --oidc-lead --oidc-judge --overlap --for --documents --queries --guidelines
        sample,top-up,sheet,next,serve --grade serve --grades --training --controls --controls-from
        --judges-per-item --policy --adjudicate
        """,
    "The model": """
        --model --grader --train --pool-depth --shape --validation
        """,
    RARELY: """
        plan --queries sample,create,plan --qrels sample,create,plan --unjudged compare --no-relevant
        sample,create,plan,compare --method sample,create,plan --train
        sample,create --pool-depth
        --pool-run --contrasts --weights --ties --seed --expected --index-update
        --grader-trust --judged-policy --machine-is-truth --overhead --cost --traffic --defensive-share
        create --strict-order --lease create --output --C --C-ties --conflicts learn --margin
        --resamples --start --trees --leaves --regularization --alpha
        --key --active-ms --keep-foreign --ask-skill --adaptive-depth --reopen init --pool-depth init --model
        sample --difference sample --power --segments
        --pool-parquet --engine --price
        --columns --leave-out-self --collapse --interleaved
        """,
}
"""Title of a group -> its options, in the order of the help text."""
_RANGE = re.compile(r"\bx\s*[<>]|[<>]=?\s*x\b")
_IN_BRACKETS = re.compile(r"(?<=default: )\((.*)\)$")
_WIDEST_NAME = 26
_ALL = "activeeval.help_all"


def _placed() -> dict[str, tuple[str, int]]:
    """Map each option, as ``--name`` or ``command --name``, to its group and its position in the group."""
    places: dict[str, tuple[str, int]] = {}
    commands = [""]  # prefixes of the next option: of the commands named before it, else none
    for title, text in GROUPS.items():
        for place, word in enumerate(text.split()):
            if not word.startswith("-"):
                commands = [f"{name} " for name in word.split(",")]
                continue
            places |= {name + word: (title, place) for name in commands}
            commands = [""]
    return places


_PLACES = _placed()


def group_of(option: click.Parameter, command: click.Command) -> tuple[str, int] | None:
    """Look up the group of a command's option and its position there; None if it has no group.

    Examples
    --------
    >>> group_of(click.Option(["--budget"]), click.Command("sample"))[0]
    'How much'
    """
    name = max(option.opts, key=len)
    return _PLACES.get(f"{command.name} {name}", _PLACES.get(name))


def width_of_help() -> int | None:
    """Return the width of help texts without a terminal; None if a terminal or COLUMNS determines it."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH


def _show_all(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the full help and exit, if the option --help-all is set."""
    if is_asked and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


class GroupedHelp(click.Command):
    """Command whose help groups its options, and shows rarely used ones only with --help-all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Add the option --help-all."""
        super().__init__(*args, **kwargs)
        self._help_all = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="All options."
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; a renamed option raises an error with its new name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            raise renamed(problem.option_name, ctx) or problem from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, including ``--help`` and ``--help-all``."""
        return [*super().get_params(ctx), self._help_all]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph and the examples, or with --help-all the whole text."""
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        if not ctx.meta.get(_ALL):
            paragraphs = [text for k, text in enumerate(paragraphs) if not k or text.startswith("\b")]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(paragraphs))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by groups, required ones first."""
        groups = dict(self._grouped(ctx))
        hidden = [] if ctx.meta.get(_ALL) else groups.pop(RARELY, [])
        names = [name for rows in groups.values() for name, _ in rows if len(name) <= _WIDEST_NAME]
        for title, rows in groups.items():
            with formatter.section(title):
                write_rows(formatter, rows, max(map(len, names), default=0))
        self._write_end(ctx, formatter, len(hidden))

    def _grouped(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield each group's title with names and help texts of its options.

        Options without a group are shown as rare ones.
        """
        options = [p for p in self.params if isinstance(p, click.Option) and not p.hidden]
        by_place = [(group_of(option, self) or (RARELY, 0), option) for option in options]
        for title in GROUPS:
            members = [(not option.required, place, option) for (where, place), option in by_place if where == title]
            members.sort(key=lambda member: member[:2])
            if members:
                yield title, [_record(option, ctx) for *_, option in members]

    def _write_end(self, ctx: click.Context, formatter: click.HelpFormatter, n_hidden: int) -> None:
        """Write what --help-all would add: the number of hidden options, and the whole text if it was cut."""
        if ctx.meta.get(_ALL):
            return
        is_cut = any(not text.startswith("\b") for text in inspect.cleandoc(self.help or "").split("\n\n")[1:])
        parts = [f"{n_hidden} more option{'s' if n_hidden > 1 else ''}"] if n_hidden else []
        parts += ["the whole text"] if is_cut else []
        if parts:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all: {' and '.join(parts)}")


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, imported on first access."""

    def __init__(self) -> None:
        """Start without commands."""
        self._commands: dict[str, click.Command | str] = {}  # by name: the command, or its location until first used
        self.lines: dict[str, str] = {}  # by name: the text in the list of commands

    def place(self, name: str, home: str, line: str) -> None:
        """Register a command by its location, ``module:function``, and its line in the list of commands."""
        self._commands[name], self.lines[name] = home, line

    def __getitem__(self, name: str) -> click.Command:
        """Import and return a command."""
        home = self._commands[name]  # the command, or its location before the first access
        if isinstance(home, str):
            module, _, function = home.partition(":")
            home = self._commands[name] = getattr(import_module(module), function)
            home.short_help = self.lines[name]
        return home

    def __setitem__(self, name: str, command_of_it: click.Command) -> None:
        """Register a command that is imported already."""
        self._commands[name] = command_of_it

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._commands)

    def __len__(self) -> int:
        """Count the commands."""
        return len(self._commands)


class GroupedCommands(GroupedHelp, click.Group):
    """Group of commands, listed by sections, each imported on first access."""

    commands: LazyCommands

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Start without commands."""
        super().__init__(*args, **kwargs)
        self.commands = LazyCommands()
        self.sections: dict[str, list[str]] = {}  # titles, and the names of their commands

    def add_late(self, title: str, **homes: tuple[str, str]) -> None:
        """Register commands, listed under a title, for import on first access.

        Parameters
        ----------
        **homes
            Name of each command, with _ for -, to its location below `activeeval`, as ``module:function``, and its line
            in the list, without a full stop.
        """
        for key, (home, line) in homes.items():
            name = key.rstrip("_").replace("_", "-")
            self.commands.place(name, f"activeeval.{home}", line)
            self.sections.setdefault(title, []).append(name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; a renamed command raises an error with its new name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            raise renamed(args[0], ctx) or problem from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands in the order of the help text."""
        return [name for names in self.sections.values() for name in names]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by sections, then the common options."""
        width = max(map(len, self.commands), default=0)
        for title, names in self.sections.items():
            with formatter.section(title):
                write_rows(formatter, [(name, self.commands.lines[name]) for name in names], width)
        super().format_options(ctx, formatter)


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], GroupedHelp]:
    """Return a decorator that turns a function into a command; `settings` are those of click.

    Its line in the list of commands comes from its group.
    """
    return click.command(name, cls=GroupedHelp, **settings)


def group(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], GroupedCommands]:
    """Return a decorator that turns a function into a group of commands; `settings` are those of click."""
    return click.group(name, cls=GroupedCommands, **settings)


def write_rows(formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]], width: int) -> None:
    """Write two columns, names and texts; a name longer than `width` has a line of its own."""
    formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)


def _record(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return an option's name and help text, without the range of numbers, which error messages state."""
    name, text = option.get_help_record(ctx) or ("", "")
    name = name.replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
    before, mark, extra = text.rpartition("  [")
    if not mark or not extra.endswith("]"):
        return name, text
    notes = [_IN_BRACKETS.sub(r"\1", part) for part in extra[:-1].split("; ") if not _RANGE.search(part)]
    return name, f"{before}  [{'; '.join(notes)}]" if notes else before
