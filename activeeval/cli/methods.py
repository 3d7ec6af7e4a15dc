"""``activeeval methods``: what is on offer, with one line on when to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from activeeval.cli.output import emit, is_asked, output_option, wide_option

if TYPE_CHECKING:
    from activeeval.design.methods import Method


@click.command()
@output_option
@wide_option
def methods(form: str) -> None:
    """List the methods: what is judged of a query, how it is drawn, the estimator, and when to use it.

    Levels keep a hard budget, can be read early and topped up; draws with replacement are the paper's.
    """
    from activeeval.design.methods import METHODS

    rows = [
        {
            "method": method.name,
            "judged": method.stage.name,
            "scheme": "with replacement" if method.with_replacement else "levels",
            "estimator": _estimator(method),
            "when": method.when,
        }
        for method in METHODS.values()
    ]
    if form == "text" and not is_asked("wide"):
        rows = [{name: row[name] for name in ("method", "judged", "when")} for row in rows]
    emit(rows, form)


def _estimator(method: Method) -> str:
    if method.with_replacement:
        return "ratio"
    return "regression" if method.is_fitted else "difference"
