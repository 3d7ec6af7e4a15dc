"""Options made of the fields that declare them, those that several commands share, and what pools they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import click

from activeeval.cli.option_types import BUDGET, SCALE, SEED, TYPES, ChoiceType, FiniteRange
from activeeval.core.errors import ChoiceError
from activeeval.core.options import Option, declared
from activeeval.inputs.options import FILES, IntervalFields, PoolFields

_FIELD = re.compile(r"`(\w+)`")


def with_options(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Add options that several commands share, in the order in which help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def options_of(
    *owners: Any, only: Iterable[str] | None = None, leave_out: Iterable[str] = (), **changes: dict[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that dataclasses declare to a command, which gets their values by the fields' names.

    Parameters
    ----------
    owners : dataclasses
        See `activeeval.core.options`.
    only, leave_out : iterable of str
        Fields that the command has, and that it has not.
    **changes
        Of a field what the command has otherwise: ``help``, ``default``, ``required``, ``is_many`` ….
    """
    held = {name: each for owner in owners for name, each in declared(owner).items()}
    names = [name for name in (held if only is None else only) if name not in set(leave_out)]
    flags = {name: each.flag for name, each in held.items()}
    made = [_click_option(held[name], changes.get(name, {}), flags) for name in names]
    return lambda command: with_options(command, made)


def _click_option(made: Option, changes: dict[str, Any], flags: Mapping[str, str]) -> Callable[[Any], Any]:
    """Make the option of a field; where its help names other fields the command line writes their options."""
    more = {key: value for key, value in changes.items() if not hasattr(made, key)}
    made = replace(made, **{key: value for key, value in changes.items() if hasattr(made, key)})
    made = replace(made, help=_FIELD.sub(lambda match: flags.get(match[1], match[0]), made.help))
    if made.kind == "flag":
        return click.option(made.flag, made.name, is_flag=True, help=made.help, **more)
    if made.default is not None and made.default != () and not more.get("required"):
        more["default"] = made.default
    if made.is_many and made.default and not more.get("required"):
        more.setdefault("show_default", ", ".join(map(str, made.default)))
    kind = more.pop("type", click.Choice(made.choices) if made.choices else TYPES[made.kind])
    metavar = made.metavar or ("FILE" if made.kind == "file" else None)
    return click.option(made.flag, made.name, type=kind, multiple=made.is_many, metavar=metavar, help=made.help, **more)


confidence_option = options_of(IntervalFields, only=("confidence",))
interval_option = click.option(
    "--interval",
    "kind",
    type=ChoiceType(("t", "group-sequential")),
    default="t",
    help="group-sequential: valid at the end of every block, for those who look again.",
)
# what commands declare with a help of their own: the name, the metavar and the type are the same in each
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
    help="Where judges differ: an error, the grade that most give, the lower median, or the mean gain.",
)
ties_option = options_of(PoolFields, only=("ties",))
name_option = options_of(PoolFields, only=("names",))
machine_is_truth_option = options_of(PoolFields, only=("machine_is_truth",))
pool_options = options_of(PoolFields, leave_out=FILES)
"""A pool that is at hand."""


def scope_option(default: str) -> Callable[[Any], Any]:
    """Return the option that says what an interval is about."""
    return options_of(IntervalFields, only=("scope",), scope={"default": default})


@contextmanager
def worded() -> Iterator[None]:
    """Let choices that are refused be an error of usage, in the words of the command."""
    from activeeval.cli.option_names import complaint

    try:
        yield
    except ChoiceError as problem:
        raise click.UsageError(complaint(problem, click.get_current_context().command)) from None
