"""Options on single queries: the table of all queries, and the rule for queries without a relevant document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output

if TYPE_CHECKING:
    from activeeval.scoring.decisions import Decision

NO_RELEVANT = ("zero", "skip")
"""Copy of `activeeval.formats.pooling.NO_RELEVANT`, so that ``--help`` need not import it."""


def per_query_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --per-query and --force."""
    path = click.option("--per-query", metavar="FILE", help="Table of all queries to write.")
    return path(output.force_option(command))


no_relevant_option = click.option(
    "--no-relevant",
    type=click.Choice(NO_RELEVANT),
    default="zero",
    help="A query without a relevant document counts as 0, or is left out.",
)


def check_per_query(path: str | None, force: bool, inputs: Sequence[str]) -> None:
    """Raise if the table of queries cannot be written to ``path``, or would replace an input or another file.

    With ``force`` it may replace a file, but never one of ``inputs``, the files that the command reads.
    """
    from activeeval.formats.suffixes import SUFFIXES

    if path is not None:
        output.check_apart({"per_query": path}, inputs)
        output.check_new(path, SUFFIXES, force)


def write_per_query(path: str | None, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of queries to a table, if a path is given."""
    if path is None:
        return
    import numpy as np

    from activeeval.formats.tables.export import write_columns
    from activeeval.report.numbers import counted

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    is_text = {name: isinstance(column[0], str) for name, column in columns.items()}
    write_columns({name: column if is_text[name] else np.array(column) for name, column in columns.items()}, path)
    output.say(f"wrote {path}: {counted(len({row['query_id'] for row in rows}), 'query')}")


def show_losers(decisions: Sequence[Decision]) -> None:
    """Print the queries that lose most, for each measure that is worse or undecided (the verdicts of ``LISTED``).

    A decision whose lists are equal has no values by query, and is skipped.
    """
    from activeeval.sampling.lost_queries import LISTED, losses_table

    for decision in decisions:
        queries = decision.queries
        if queries is None or decision.verdict not in LISTED or not queries.worst:
            continue
        click.echo()
        output.show_text(queries.title(decision.name))
        output.emit(losses_table(queries.losing, decision.system, decision.versus), "text")
