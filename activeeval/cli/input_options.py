"""Options built from dataclass fields, and options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import click

from activeeval.cli.option_types import BUDGET, SCALE, SEED, TYPES, ChoiceType, FiniteRange
from activeeval.cli.output import CHECK
from activeeval.core.errors import ChoiceError
from activeeval.core.options import Option, declared
from activeeval.inputs.options import FILES, IntervalFields, PoolFields

_FIELD = re.compile(r"`(\w+)`")


def with_options(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Add options (decorators of click) to a command, in the order of the help text."""
    for option in reversed(options):
        command = option(command)
    return command


def options_of(
    *owners: Any, only: Iterable[str] | None = None, leave_out: Iterable[str] = (), **changes: dict[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options declared as fields of dataclasses; their values are passed by field name.

    Parameters
    ----------
    owners : dataclasses
        Their fields declare options: each has an option name, a kind of value, a help text and a default.
    only, leave_out : iterable of str
        Fields to include, and to exclude.
    **changes
        Field name -> changed properties for this command: ``help``, ``default``, ``required``, ``is_many`` ….
    """
    fields = {name: field for owner in owners for name, field in declared(owner).items()}
    names = [name for name in (fields if only is None else only) if name not in set(leave_out)]
    flags = {name: field.flag for name, field in fields.items()}
    decorators = [_click_option(fields[name], changes.get(name, {}), flags) for name in names]
    return lambda command: with_options(command, decorators)


def _click_option(spec: Option, changes: dict[str, Any], flags: Mapping[str, str]) -> Callable[[Any], Any]:
    """Build the option of a field with this command's `changes`.

    Names of other fields in backticks in its help are replaced by their options (`flags`: field name to option).
    """
    # properties that `Option` does not have are those of click
    more = {key: value for key, value in changes.items() if not hasattr(spec, key)}
    spec = replace(spec, **{key: value for key, value in changes.items() if hasattr(spec, key)})
    spec = replace(spec, help=_FIELD.sub(lambda match: flags.get(match[1], match[0]), spec.help))
    if spec.kind == "flag":
        return click.option(spec.flag, spec.name, is_flag=True, help=spec.help, **more)
    if spec.default is not None and spec.default != () and not more.get("required"):
        more["default"] = spec.default
    if spec.is_many and spec.default and not more.get("required"):
        more.setdefault("show_default", ", ".join(map(str, spec.default)))
    kind = more.pop("type", click.Choice(spec.choices) if spec.choices else TYPES[spec.kind])
    metavar = spec.metavar or ("FILE" if spec.kind == "file" else None)
    return click.option(spec.flag, spec.name, type=kind, multiple=spec.is_many, metavar=metavar, help=spec.help, **more)


confidence_option = options_of(IntervalFields, only=("confidence",))
interval_option = click.option(
    "--interval",
    "kind",
    type=ChoiceType(("t", "group-sequential")),
    default="t",
    help="group-sequential: valid at the end of every block, for those who look again.",
)
# options with the same name, metavar and type in all commands, and a help text for each command
qrels_option = partial(click.option, "--qrels", metavar="FILE")
run_option = partial(click.option, "--run", metavar="FILE")
versus_run_option = partial(click.option, "--versus-run", metavar="FILE")
model_option = partial(click.option, "--model", multiple=True, metavar="MODEL")
judged_option = partial(click.option, "--judged", multiple=True, metavar="FILE")
max_grade_option = partial(click.option, "--max-grade", type=SCALE)
unjudged_option = partial(click.option, "--unjudged", type=click.Choice(("error", "irrelevant")), default="error")
any_seed_option = partial(click.option, "--seed", type=SEED)
any_grade_option = partial(click.option, "--grade")
any_judge_option = partial(click.option, "--judge", metavar="JUDGE")
any_sheet_option = partial(click.option, "--sheet", metavar="FILE")
margin_option = partial(click.option, "--margin", type=FiniteRange(0), default=0.0, metavar="D")
budget_option = partial(click.option, "--budget", type=BUDGET)
any_policy_option = partial(click.option, "--policy")
seed_option = any_seed_option(default=0, help="One seed, one answer.")
policy_option = any_policy_option(
    type=click.Choice(("refuse", "majority", "median", "mean-gain")),
    default="refuse",
    help="If judges differ: an error, the most frequent grade, the lower median, or the mean gain.",
)
ties_option = options_of(PoolFields, only=("ties",))
name_option = options_of(PoolFields, only=("names",))
machine_is_truth_option = options_of(PoolFields, only=("machine_is_truth",))
pool_options = options_of(PoolFields, leave_out=FILES)
"""Options of a pool in memory."""


def _named(context: click.Context, _: click.Parameter, value: str | None) -> None:
    """Read tables with the user's names of columns (`value`, as "query=qid,grade=label") until the command ends."""
    if context.resilient_parsing:
        return
    from activeeval.formats.reading_rules import check_columns_met, reading

    names: dict[str, str] = {}
    for part in [] if value is None else value.split(","):
        role, mark, column = part.partition("=")
        if not (mark and column.strip()) or role.strip() in names:
            problem = "names a role twice" if role.strip() in names else f"{part!r} is no ROLE=COLUMN"
            raise click.UsageError(f"--columns: {problem}, expected as query=qid,document=pid,grade=label")
        names[role.strip()] = column.strip()
    context.with_resource(reading(names))
    context.meta[CHECK] = check_columns_met  # called before results are printed: all columns must have occurred


columns_option = click.option(
    "--columns",
    metavar="ROLE=COLUMN,…",
    callback=_named,
    expose_value=False,
    help="Columns of your tables, as query=qid,document=pid,grade=label; also score, rank, judge, text.",
)


def _ruled(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Read runs and judgments by the rule of an option (its name and ``value``) until the command ends."""
    if value and not context.resilient_parsing:
        from activeeval.formats.reading_rules import reading

        context.with_resource(reading(**{str(parameter.name): value}))


def chunk_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --leave-out-self and --collapse."""
    hidden: dict[str, Any] = {"callback": _ruled, "expose_value": False}
    leave_out = click.option("--leave-out-self", is_flag=True, help="Leave out a query's own document.", **hidden)
    text = (
        "Chunks become documents, by a column of the tables or a regular expression on ids: its group is the document, "
        "or it is removed. The first chunk of a document counts."
    )
    return leave_out(click.option("--collapse", metavar="COLUMN|REGEX", help=text, **hidden)(command))


def scope_option(default: str) -> Callable[[Any], Any]:
    """Return the option for the scope of intervals: these queries, or the population that they are a sample of."""
    return options_of(IntervalFields, only=("scope",), scope={"default": default})


@contextmanager
def worded() -> Iterator[None]:
    """Raise a ChoiceError of the block as a usage error, in which options replace the library's parameters."""
    from activeeval.cli.option_names import complaint

    try:
        yield
    except ChoiceError as problem:
        raise click.UsageError(complaint(problem, click.get_current_context().command)) from None
