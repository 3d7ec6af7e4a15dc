"""``activeeval methods``: what is on offer, with one line on when to use it."""

from __future__ import annotations

from activeeval.cli.help import command
from activeeval.cli.output import emit, is_asked, output_option, wide_option


@command()
@output_option
@wide_option
def methods(form: str) -> None:
    """List the methods: what is judged of a query, how it is drawn, the estimator, and when to use it.

    Levels keep a hard budget, can be read early and topped up; draws with replacement are the paper's.

    \b
    activeeval methods
    activeeval sample … --method items
    """
    from activeeval.core.design.methods import METHODS

    rows = [method.row() for method in METHODS.values()]
    if form == "text" and not is_asked("wide"):
        rows = [{name: row[name] for name in ("method", "judged", "when")} for row in rows]
    emit(rows, form)
