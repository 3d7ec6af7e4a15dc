"""Options of the commands that draw samples, and their conversion to choices and requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.input_options import options_of
from activeeval.inputs.options import FILES, PoolFields
from activeeval.sampling.options import MEASURES_HELP, QUESTIONS_HELP, QuestionFields, SampleFields

if TYPE_CHECKING:
    from activeeval.inputs.choices import Choices
    from activeeval.sampling.draw import SampleRequest

_AS_MADE = "repeatable. Default: those it was drawn for."


def _texts_read(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Use the file ``value``, a table of query ids and texts, until the command ends, and return its path.

    Judgments that name queries by these texts are then read with the ids; a table of queries drawn from a log has no
    such effect.
    """
    if value is not None and not context.resilient_parsing:
        from activeeval.inputs.traffic import reading_queries

        context.with_resource(reading_queries(value))
    return value


def _texts_or_drawn(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the path ``value`` if its queries were drawn from a log (`queries draw`), else None.

    Another table of ids and texts is used to read judgments that name queries by texts.
    """
    if _texts_read(context, parameter, value) is None:
        return None
    from activeeval.inputs.traffic import drawn_among

    return drawn_among(value)


any_documents_option = partial(click.option, "--documents", metavar="FILE")
any_queries_option = partial(click.option, "--queries", metavar="FILE")
documents_option = any_documents_option(help="Texts of documents for judges: a table of id and title, text or url.")
queries_option = any_queries_option(
    callback=_texts_read, help="Queries' texts: a table of id and text; or of `queries draw`."
)
log_queries_option = any_queries_option(
    callback=_texts_or_drawn,
    help="Queries of `queries draw`, which represent its log; or a table of id and text, if judgments name texts.",
)
query_texts_option = any_queries_option(
    callback=_texts_read, expose_value=False, help="A table of id and text, if judgments name queries by texts."
)
files_options = options_of(PoolFields, only=FILES)
"""Options of a pool in files: its location and the engine."""
asked_options = options_of(
    QuestionFields,
    PoolFields,
    only=("measures", "questions", "contrasts"),
    measures={"help": f"Any that the sample can answer; {_AS_MADE}", "default": ()},
    questions={"help": f"{QUESTIONS_HELP}; {_AS_MADE}"},
)
"""Options of the questions to a sample."""
_FRESH = {"default": None, "help": "One seed, one answer. Default: a new one, which is said."}
_drawn_pool = options_of(PoolFields, leave_out=("index_update",), seed=_FRESH)
_asked = options_of(SampleFields)


def measure_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option of a command's single measure."""
    return click.option("--measure", default="DCG", help=f"{MEASURES_HELP}.")(command)


def texts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the texts for judges."""
    return documents_option(queries_option(command))


def drawing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of drawing a sample: pool, questions and budget."""
    return _drawn_pool(_asked(command))


def pool_in_files(options: dict[str, Any]) -> Choices | None:
    """Remove the values of `files_options` from ``options`` and convert them; None without a pool in files.

    Raise ChoiceError if they contradict each other.
    """
    from activeeval.inputs.choices import Choices

    chosen = Choices(**{name: options.pop(name) for name in FILES})
    chosen.check_files()
    return None if chosen.pool_parquet is None else chosen


def requested(options: dict[str, Any], queries: str | None = None) -> tuple[Choices, SampleRequest]:
    """Convert the values of `drawing_options` to choices (of the pool) and a request; by default the seed is random.

    ``queries`` is a table of the queries' texts; it may have been written by the command `queries draw`, and then also
    tells how the queries represent their log.
    """
    from activeeval.inputs.choices import Choices
    from activeeval.inputs.traffic import drawn_among
    from activeeval.sampling.draw import SampleRequest, fresh_seed

    request_fields = {field.name: options.pop(field.name) for field in fields(SampleRequest) if field.name in options}
    seed = options.pop("seed")
    chosen = Choices(**options, queries=drawn_among(queries), seed=fresh_seed() if seed is None else seed)
    return chosen, SampleRequest(**request_fields)
