"""``activeeval methods``: what is on offer, with one line on when to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from activeeval.cli.help import command
from activeeval.cli.output import emit, output_option

if TYPE_CHECKING:
    from activeeval.design.methods import Method


@command("The ways to draw a sample, and when to use which")
@output_option
def methods(form: str) -> None:
    """List the methods: what is judged of a query, how it is drawn, the estimator, and when to use it.

    Levels keep a hard budget, can be read early and topped up; draws with replacement are the paper's.

    \b
    activeeval methods
    activeeval sample … --method items
    """
    from activeeval.design.methods import METHODS

    emit(
        [
            {
                "method": method.name,
                "judged": method.stage.name,
                "scheme": "with replacement" if method.with_replacement else "levels",
                "estimator": _estimator(method),
                "when": method.when,
            }
            for method in METHODS.values()
        ],
        form,
    )


def _estimator(method: Method) -> str:
    if method.with_replacement:
        return "ratio"
    return "regression" if method.is_fitted else "difference"
