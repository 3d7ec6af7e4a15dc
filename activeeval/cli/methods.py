"""``activeeval methods``: what is on offer, with one line on when to use it."""

from __future__ import annotations

import click

from activeeval.cli.output import emit, output_option


@click.command()
@output_option
def methods(form: str) -> None:
    """List the methods: how queries are drawn, what is judged of each, the estimator, and when to use it."""
    from activeeval.methods import METHODS

    emit(
        [
            {
                "method": method.name,
                "scheme": method.scheme,
                "judged": method.stage,
                "estimator": method.estimator,
                "when": method.when,
            }
            for method in METHODS.values()
        ],
        form,
    )
