"""Drawing a sample: the options of all commands that do, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options

if TYPE_CHECKING:
    from activeeval.inputs.choices import Choices
    from activeeval.sampling.draw import SampleRequest

LOOKS = ("each", "3", "1", "none")
"""As of `activeeval.core.design.histories`: help does not wait for it."""
QUESTION = click.Choice(("difference", "run", "versus"))
QUESTIONS = "The first run less the second, the first alone, or the second"
_AS_MADE = "repeatable. Default: what it was made for."


def question_option(text: str) -> Callable[[Any], Any]:
    """Return the option that says what is asked of the rankings."""
    return click.option("--question", "questions", multiple=True, type=QUESTION, help=text)


method_option = click.option(
    "--method",
    help="How items are drawn, as items: `plan --method all`. Default: the best that a bad model cannot spoil.",
)
looks_option = click.option(
    "--looks",
    type=click.Choice(LOOKS),
    help="Judge a query further as far as its own labels make it worth it: look at them after each, after the "
    "first, third and last ranked item (3), after the last alone (1). Default of nDCG alone: 3, of "
    "campaigns each, of one ranking without a grade model none.",
)
documents_option = click.option(
    "--documents", metavar="FILE", help="What judges read: a table of id and title, text or url."
)
queries_option = click.option(
    "--queries", metavar="FILE", help="Queries' texts: a table of id and text; or of `queries draw`."
)
log_queries_option = click.option(
    "--queries", metavar="FILE", help="Queries of `queries draw`: they stand for its log."
)
_OPTIONS = (
    input_options.measures_option,
    input_options.judging_option,
    question_option(f"{QUESTIONS}; repeatable. Default: the difference where there are two."),
    input_options.weights_option,
    method_option,
    looks_option,
    click.option("--expected", is_flag=True, help="Draws with replacement meet the budget on average, not as a limit."),
)
_OF_FILES = (
    click.option("--pool-parquet", metavar="PATTERN",
                 help="A pool of `activeeval pool write`, as 'pool/*.parquet' or s3://…; --run and --versus-run then "
                      "name runs in it."),
    click.option("--engine", default="here", show_default=True, metavar="ENGINE",
                 help="Who goes over its partitions: here, threads:N, processes:N, dask[://HOST:PORT], ray[://HOST], "
                      "spark[://…], sc://…"),
    click.option("--scratch", metavar="DIR",
                 help="Where workers leave tables for each other: a folder or an address that all reach. Default: the "
                      "system's, of this machine."),
    click.option("--trust-ids", is_flag=True, help="Do not look whether a query stands in two partitions."),
)  # fmt: skip
_TARGETS = (
    click.option("--budget", type=input_options.BUDGET, help=f"{input_options.BUDGET_HELP}, at most. Or:"),
    click.option(
        "--half-width", type=input_options.POSITIVE, metavar="E", help="Budget that should bring the intervals to ± E."
    ),
    click.option(
        "--difference",
        type=input_options.POSITIVE,
        metavar="D",
        help="Budget that should detect a difference of D, with --power.",
    ),
    click.option("--power", type=input_options.SHARE, default=0.8, help="Chance that the interval leaves out 0."),
)


class SegmentHalfWidth(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """A segment with the half-width of its interval, as mobile=0.05."""

    name = "NAME=E"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return the segment and the number."""
        if isinstance(value, tuple):
            return value
        segment, mark, number = str(value).rpartition("=")
        try:
            half_width = float(number)
        except ValueError:
            mark = ""
        if not mark or not segment:
            self.fail(f"expected a segment and its half-width, as mobile=0.05, got {value!r}", param, ctx)
        return segment, half_width


_SEGMENTS = (
    click.option("--segments", metavar="FILE", help="For --segment-half-width: a table of query_id and segment."),
    click.option(
        "--segment-half-width",
        "segment_half_widths",
        multiple=True,
        type=SegmentHalfWidth(),
        help="The least budget that brings the interval of a segment of --segments to ± E, all of them at once; "
        "repeatable, with --half-width for all queries beside.",
    ),
)


_OF_A_READING = (
    click.option("--measure", "measures", multiple=True, help=f"Any that the sample reaches; {_AS_MADE}"),
    question_option(f"{QUESTIONS}; {_AS_MADE}"),
)


def texts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what the judges are to read."""
    return documents_option(queries_option(command))


def asked_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a drawn sample is asked: measures, questions and contrasts."""
    return input_options.with_options(command, (*_OF_A_READING, input_options.contrasts_option))


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a budget, or what to reach in its place."""
    return input_options.with_options(command, (*_TARGETS, *_SEGMENTS))


def segment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add half-widths by segment."""
    return input_options.with_options(command, _SEGMENTS)


def files_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a pool in files is, and who goes over it."""
    return input_options.with_options(command, _OF_FILES)


def pool_in_files(options: dict[str, Any]) -> Choices | None:
    """Take what the values of `files_options` choose out of a command's options; None where they choose nothing."""
    from activeeval.inputs.choices import Choices

    chosen = Choices(**{name: options.pop(name) for name in ("pool_parquet", "engine", "scratch", "trust_ids")})
    chosen.check_files()
    return None if chosen.pool_parquet is None else chosen


def drawing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say of which pool, for which questions and for how much a sample is drawn."""
    return input_options.drawn_pool_options(input_options.with_options(command, (*_OPTIONS, *_OF_FILES)))


def requested(options: dict[str, Any], queries: str | None = None) -> tuple[Choices, SampleRequest]:
    """Return what the values of `drawing_options` choose and ask for; a seed of the system's where there is none.

    ``queries`` is the table of the queries' texts, which may be one of `queries draw`.
    """
    from activeeval.inputs.choices import Choices
    from activeeval.inputs.traffic import drawn_among
    from activeeval.sampling.draw import SampleRequest, fresh_seed

    asked = {field.name: options.pop(field.name) for field in fields(SampleRequest) if field.name in options}
    seed = options.pop("seed")
    chosen = Choices(**options, queries=drawn_among(queries), seed=fresh_seed() if seed is None else seed)
    return chosen, SampleRequest(**asked)
