"""Runs side by side: their rows for machines, and for reading a table with a line for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.output import emit

if TYPE_CHECKING:
    from activeeval.pool import QueryPool
    from activeeval.tasks.score import RunScores, Standing

_OF_RUN = ("value", "judged", "missing", "ignored", "tied_at_cutoff")


def query_rows(pool: QueryPool, runs: Sequence[Standing], baseline: int, *, versus: bool) -> list[dict[str, Any]]:
    """Return a row for each query and run of one measure; of ``versus`` both runs share it."""
    others, rows = runs[baseline].scores.values.tolist(), []
    values = [(one, one.scores.values.tolist()) for one in (runs[:1] if versus else runs)]
    for q, query in enumerate(pool.query_ids.tolist()):
        for one, own in values:
            row = {"query_id": query} | _named(one, runs, versus) | {"measure": one.scores.measure, "value": own[q]}
            row |= {"versus_value": others[q]} if versus else {}
            rows.append(row if one.comparison is None else row | {"difference": own[q] - others[q]})
    return rows


def summary_rows(
    runs: Sequence[Standing], baseline: int, confidence: float, how: Mapping[str, str], *, versus: bool
) -> list[dict[str, Any]]:
    """Return a row for each run of one measure, or of ``versus`` one for the first with the other's figures in it.

    ``how`` names the test and the correction of p_value.
    """
    rows = []
    for one in runs[:1] if versus else runs:
        row = {"query_id": "all"} | _named(one, runs, versus) | _scores(one.scores, confidence)
        if versus:
            figures = _scores(runs[baseline].scores, confidence)
            row |= {f"versus_{name}": figures[name] for name in _OF_RUN}
        elif one.comparison is not None:
            row |= {"baseline": runs[baseline].run}
        rows.append(row | _difference(one, how))
    return rows


def _named(one: Standing, runs: Sequence[Standing], versus: bool) -> dict[str, Any]:
    """Return the name of a run where rows are of several."""
    return {} if versus or len(runs) == 1 else {"run": one.run}


def _scores(scores: RunScores, confidence: float) -> dict[str, Any]:
    return {
        "measure": scores.measure,
        "value": scores.summary.mean,
        "low": scores.summary.low,
        "high": scores.summary.high,
        "confidence": confidence,
        "queries": scores.summary.n,
        "judged": scores.judged,
        "missing": scores.n_missing,
        "ignored": scores.n_ignored,
        "tied_at_cutoff": scores.n_tied,
    }


def _difference(one: Standing, how: Mapping[str, str]) -> dict[str, Any]:
    """Return how a run differs from the baseline; nothing of the baseline."""
    if one.comparison is None:
        return {}
    return {
        "difference": one.comparison.difference,
        "difference_low": one.comparison.low,
        "difference_high": one.comparison.high,
        "p_t": one.comparison.p_t,
        "p_wilcoxon": one.comparison.p_wilcoxon,
        "p_randomization": one.comparison.p_randomization,
        "p_value": one.p_value,
        **how,
        "wins": one.comparison.wins,
        "ties": one.comparison.ties,
        "losses": one.comparison.losses,
    }


def show_standings(
    found: Sequence[Sequence[Standing]],
    baseline: int,
    form: str,
    places: int,
    *,
    confidence: float,
    test: str,
    correction: str,
) -> None:
    """Print a line for each run: as text a table for each measure, elsewhere one with the columns of all measures.

    A note below says what the intervals are, and what is marked.
    """
    from activeeval.estimation.significance import TESTS
    from activeeval.report import note_text

    alpha = 1 - confidence
    blocks = [[_cells(one, alpha, places) for one in runs] for runs in found]
    if form == "text":
        for runs, cells in zip(found, blocks, strict=True):
            names = [{runs[0].scores.measure: one.run} for one in runs]
            emit([name | row for name, row in zip(names, cells, strict=True)], form, places)
            click.echo()
    else:
        emit([_joined(found, blocks, k) for k in range(len(found[0]))], form, places)
        click.echo()
    n = len(found) * (len(found[0]) - 1)
    adjusted = ", not corrected" if correction == "none" else f", {correction.capitalize()} over {n} differences"
    said = f"p by {TESTS[test]} against {found[0][baseline].run}{adjusted if n > 1 else ''}"
    click.echo(note_text(f"* {said}, at most {alpha:g}. In brackets {100 * confidence:g} % t intervals.", form))


def _joined(found: Sequence[Sequence[Standing]], blocks: Sequence[Sequence[dict[str, str]]], k: int) -> dict[str, str]:
    """Return the line of the ``k``-th run with the columns of all measures."""
    row = {"run": found[0][k].run}
    for runs, cells in zip(found, blocks, strict=True):
        measure = runs[0].scores.measure
        row |= {measure if name == "mean" else f"{measure} {name}": cell for name, cell in cells[k].items()}
    return row


def _cells(one: Standing, alpha: float, places: int) -> dict[str, str]:
    """Return what is shown of a run by one measure; the baseline has no difference."""
    from activeeval.report import format_cell

    summary, pair, difference = one.scores.summary, one.comparison, dict.fromkeys(("difference", "p", "w/t/l"), "")
    if pair is not None and one.p_value is not None:
        mark, sign = "*" if one.p_value <= alpha else "", "+" if pair.difference > 0 else ""
        difference["difference"] = sign + spread(pair.difference, pair.low, pair.high, places, mark)
        difference["p"] = small_p(one.p_value, places)
        difference["w/t/l"] = f"{pair.wins}/{pair.ties}/{pair.losses}"
    mean = {"mean": spread(summary.mean, summary.low, summary.high, places)}
    return mean | difference | {"judged": format_cell(one.scores.judged, places)}


def spread(value: float, low: float, high: float, places: int, mark: str = "") -> str:
    """Return a value with its interval in brackets, ``mark`` behind the value."""
    from activeeval.report import format_cell

    texts = [format_cell(float(x), places) for x in (value, low, high)]
    return f"{texts[0]}{mark} [{texts[1]}, {texts[2]}]"


def small_p(p_value: float, places: int) -> str:
    """Return a p value, as less than the least that can be printed where it would be printed as 0."""
    from activeeval.report import format_cell

    least = 10.0**-places if places > 0 else 0.0
    return f"<{format_cell(least, places)}" if 0 < p_value < least / 2 else format_cell(p_value, places)
