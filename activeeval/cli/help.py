"""How commands are helped with: options in groups, the usual ones first, all of them for ``--help-all``.

To add an option, name it in `GROUPS`: there it has its group, and its place within the group. An option that means
something else in some commands is named there with these, too, as ``compare,plan --sheet``. What stands under `RARELY`
is left out of ``--help``, as are the middle paragraphs of a docstring: the first one and the examples are what a reader
needs first.
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
        --run --versus-run --name --baseline --versus --letor --scores --qrels --sample compare,plan --sheet
        --campaign --db --token --grade --preferred --tie --discard --cannot --later --judged --judged-from --redraw
        --date --replace --max-grade --unjudged --no-relevant --pilot --ranker adapt,rank --base
        --pairs-letor --oracle --grades --head demo --queries ask --run ask --documents ask --queries
        compare,score --queries --last --pilot draw --pilot audit,report --grader
        """,
    "What you ask": """
        --measure --question --k --scope --reference --holes --margin --confidence --interval --by --as-of
        --from --to estimate --strict-order
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
        """,
}
"""Title of a group to its options, in the order in which help shows them."""
_RANGE = re.compile(r"\bx\s*[<>]|[<>]=?\s*x\b")
_IN_BRACKETS = re.compile(r"(?<=default: )\((.*)\)$")
_WIDEST_NAME = 26
_ALL = "activeeval.help_all"


def _placed() -> dict[str, tuple[str, int]]:
    """Return group and place of each option, by its name or by ``command --name``."""
    places: dict[str, tuple[str, int]] = {}
    commands = [""]
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
    """Return the title of an option's group and its place in there; None of one that has none.

    Examples
    --------
    >>> group_of(click.Option(["--budget"]), click.Command("sample"))[0]
    'How much'
    """
    name = max(option.opts, key=len)
    return _PLACES.get(f"{command.name} {name}", _PLACES.get(name))


def width_of_help() -> int | None:
    """Return how wide help is where no terminal says so; None where one does, or the environment."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH


def _show_all(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


class GroupedHelp(click.Command):
    """A command whose help shows its options in groups, and the rarer ones to whoever asks for all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._help_all = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="All options."
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; an option that has another name now is refused with that one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            raise renamed(problem.option_name, ctx) or problem from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters with ``--help`` and ``--help-all``."""
        return [*super().get_params(ctx), self._help_all]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph and the examples, or the whole."""
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        if not ctx.meta.get(_ALL):
            paragraphs = [text for k, text in enumerate(paragraphs) if not k or text.startswith("\b")]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(paragraphs))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by groups, the required ones first within each."""
        groups = dict(self._grouped(ctx))
        hidden = [] if ctx.meta.get(_ALL) else groups.pop(RARELY, [])
        names = [name for rows in groups.values() for name, _ in rows if len(name) <= _WIDEST_NAME]
        for title, rows in groups.items():
            with formatter.section(title):
                write_rows(formatter, rows, max(map(len, names), default=0))
        self._write_end(ctx, formatter, len(hidden))

    def _grouped(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield groups with the names and the texts of their options; what no group has is rare."""
        options = [p for p in self.params if isinstance(p, click.Option) and not p.hidden]
        by_place = [(group_of(option, self) or (RARELY, 0), option) for option in options]
        for title in GROUPS:
            members = [(not option.required, place, option) for (at, place), option in by_place if at == title]
            members.sort(key=lambda member: member[:2])
            if members:
                yield title, [_record(option, ctx) for *_, option in members]

    def _write_end(self, ctx: click.Context, formatter: click.HelpFormatter, n_hidden: int) -> None:
        """Write how to see what is left out."""
        if ctx.meta.get(_ALL):
            return
        is_cut = any(not text.startswith("\b") for text in inspect.cleandoc(self.help or "").split("\n\n")[1:])
        parts = [f"{n_hidden} more option{'s' if n_hidden > 1 else ''}"] if n_hidden else []
        parts += ["the whole text"] if is_cut else []
        if parts:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all: {' and '.join(parts)}")


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by their names, each imported when it is first asked for: whoever runs one does not wait for all."""

    def __init__(self) -> None:
        self._commands: dict[str, click.Command | str] = {}
        self.lines: dict[str, str] = {}

    def place(self, name: str, home: str, line: str) -> None:
        """Say where a command is, as ``module:function``, and what its line in a list says."""
        self._commands[name], self.lines[name] = home, line

    def __getitem__(self, name: str) -> click.Command:
        home = self._commands[name]
        if isinstance(home, str):
            module, _, function = home.partition(":")
            home = self._commands[name] = getattr(import_module(module), function)
            home.short_help = self.lines[name]
        return home

    def __setitem__(self, name: str, command_of_it: click.Command) -> None:
        self._commands[name] = command_of_it

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class GroupedCommands(GroupedHelp, click.Group):
    """Commands that are listed by what they are for."""

    commands: LazyCommands

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = LazyCommands()
        self.sections: dict[str, list[str]] = {}

    def add_late(self, title: str, **homes: tuple[str, str]) -> None:
        """Add commands, listed under a title, that are imported when they are asked for.

        Parameters
        ----------
        **homes
            Of each command the module below `activeeval` and the function, as ``module:function``, and its line in the
            list, without a full stop; its name with _ for -.
        """
        for key, (home, line) in homes.items():
            name = key.rstrip("_").replace("_", "-")
            self.commands.place(name, f"activeeval.{home}", line)
            self.sections.setdefault(title, []).append(name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; one that has another name now is refused with that one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            raise renamed(args[0], ctx) or problem from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they are listed."""
        return [name for names in self.sections.values() for name in names]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by sections, then the options that all of them have."""
        width = max(map(len, self.commands), default=0)
        for title, names in self.sections.items():
            with formatter.section(title):
                write_rows(formatter, [(name, self.commands.lines[name]) for name in names], width)
        super().format_options(ctx, formatter)


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], GroupedHelp]:
    """Return what makes a function a command; the table of its group has its line in the list of commands."""
    return click.command(name, cls=GroupedHelp, **settings)


def group(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], GroupedCommands]:
    """Return what makes a function a group of commands."""
    return click.group(name, cls=GroupedCommands, **settings)


def write_rows(formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]], width: int) -> None:
    """Write names and what they mean as two columns, the first of a width; a longer name has a line of its own."""
    formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)


def _record(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return how an option is written and what it means; without the range of numbers, which an error tells."""
    name, text = option.get_help_record(ctx) or ("", "")
    name = name.replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
    before, mark, extra = text.rpartition("  [")
    if not mark or not extra.endswith("]"):
        return name, text
    kept = [_IN_BRACKETS.sub(r"\1", part) for part in extra[:-1].split("; ") if not _RANGE.search(part)]
    return name, f"{before}  [{'; '.join(kept)}]" if kept else before
