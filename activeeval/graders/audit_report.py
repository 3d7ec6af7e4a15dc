"""Format an audit for reading: sentences and tables of the grader's values beside the estimates from human labels."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.graders.audit_summary import (
    AGREES,
    DIFFERS,
    OPEN,
    AuditRow,
    ClusteredFigure,
    Drift,
    GraderAudit,
    SystemOrder,
)
from activeeval.inputs.systems import direction
from activeeval.report.answer_sentences import ABOUT, WIDTH, fitting, short_name
from activeeval.report.numbers import counted, number, places_of

_SIGNS = {DIFFERS: "differs", OPEN: "may differ", AGREES: "the same", "": ""}
_MOST_SENTENCES = 4
_EXACT = 3
"""Decimals of a value without an interval."""


def audit_sentence(row: AuditRow) -> str:
    """Write one sentence: the grader's value, the estimate from human labels and the half-width without the grader.

    Examples
    --------
    >>> row = AuditRow(measure="DCG@10", definition="DCG@10", question="run", system="a.run", versus="", grader="gpt",
    ...                by_grader=12.2, corrected=6.31, corrected_low=5.91, corrected_high=6.71, bias=5.89,
    ...                bias_low=5.49, bias_high=6.29, confidence=.95, scope="pool", labels=150, half_width_without=.52)
    >>> print(audit_sentence(row))
    DCG@10 of a.run: gpt alone says 12.20; with your 150 labels 6.31 ± 0.40; without gpt it would have been ± 0.52.
    """
    text = f"{row.measure} of {direction(row.system, row.versus)}: {row.grader} alone says {_alone(row)}"
    text += _unanswered(row)
    text += f"; with your {counted(row.labels, 'label')} {_corrected(row)}"
    if row.half_width_without is not None:
        text += f"; without {row.grader} it would have been ± {row.half_width_without:.{_places(row)}f}"
        text += f" ({counted(round(row.labels_saved or 0), 'label')} saved)" if (row.labels_saved or 0) >= 1 else ""
    return f"{text}."


def _unanswered(row: AuditRow) -> str:
    """Write the share of items that the grader answered, and its value with grade 0 for the others.

    The text is "" if it answered all.
    """
    if row.answered == 1:
        return ""
    zeros = row.by_grader_missing_as_0
    of_zeros = "" if zeros is None else f" ({_number(row, zeros)} where the others have grade 0)"
    return f" on the {_share(row.answered)} of items that it answered{of_zeros}"


def _share(value: float) -> str:
    """Format a share in per cent; at most 99.9 % if anything is missing."""
    return f"{min(100 * value, 99.9 if value < 1 else 100):.3g} %" if value > 0.99 else f"{100 * value:.0f} %"


def order_sentence(grader: str, order: SystemOrder) -> str:
    """Write one sentence on how well a grader's order of systems agrees with that of human labels.

    Examples
    --------
    >>> order = SystemOrder(measure="DCG@10", systems=3, tau=1 / 3, winner="a", winner_by_grader="b", differ=0, open=2,
    ...                     agree=1, winner_sign="may differ")
    >>> print(order_sentence("gpt", order))
    gpt orders 3 systems by DCG@10 with τ = .33; of 3 pairs the sign is people's for 1, may differ for 2, differs for 0.
    """
    tau = "no order" if order.tau is None else f"τ = {_share_text(order.tau)}"
    n = order.differ + order.open + order.agree
    signs = f"of {counted(n, 'pair')} the sign is people's for {order.agree}, may differ for {order.open}"
    return (
        f"{grader} orders {counted(order.systems, 'system')} by {order.measure} with {tau}; {signs}, differs for "
        f"{order.differ}."
    )


def audit_headline(graders: Sequence[GraderAudit]) -> list[str]:
    """Write the first sentences of an audit.

    For each grader and measure they cover the first difference and the first system (at most four sentences a
    grader), then the order of systems.
    """
    sentences = []
    for grader in graders:
        differences, systems = ([row for row in grader.rows if bool(row.versus) is pair] for pair in (True, False))
        # of equal keys a dict keeps the last row: reversed, the first one; differences come before systems
        first = {(row.measure, bool(row.versus)): row for row in reversed([*differences, *systems])}
        sentences += [audit_sentence(row) for row in [*reversed(first.values())][:_MOST_SENTENCES]]
        sentences += [order_sentence(grader.grader, order) for order in grader.orders if order.systems > 2]
    return sentences


def audit_table(rows: Sequence[AuditRow], width: int = WIDTH) -> list[dict[str, str]]:
    """Format audit rows as text cells that fit `width` characters.

    Columns "grader" and "measure" are left out if they have one value; long names are shortened.
    """
    varied = {name for name in ("grader", "measure") if len({getattr(row, name) for row in rows}) > 1}
    has_signs, misses_some = any(row.sign for row in rows), any(row.answered < 1 for row in rows)

    def rows_of(longest: int) -> list[dict[str, str]]:
        """Format the rows with names of at most `longest` characters."""
        return [_cells(row, varied, longest, has_signs=has_signs, misses_some=misses_some) for row in rows]

    return fitting(rows_of, width)


def _cells(row: AuditRow, varied: set[str], longest: int, *, has_signs: bool, misses_some: bool) -> dict[str, str]:
    """Format one row.

    `varied` are the columns that differ between rows, `longest` is the largest length of a name; `has_signs` and
    `misses_some` tell whether any row has a sign, or items without a reply.
    """
    names = {name: short_name(getattr(row, name), longest) for name in ("grader", "measure") if name in varied}
    of = short_name(row.system, longest) + (f" − {short_name(row.versus, longest)}" if row.versus else "")
    low, high = row.bias_low, row.bias_high
    unbounded = "not bounded" if row.scope == "pool" else "not told"
    between = unbounded if low is None or high is None else f"{_bias(row, low)} to "
    between += "" if low is None or high is None else _bias(row, high)
    cells = {
        "of": of,
        "alone": _alone(row),
        **({"answered": _share(row.answered)} if misses_some else {}),
        "with labels": _corrected(row),
        "bias": "n/a" if row.bias is None else _bias(row, row.bias),
        "interval": between,
    }
    return names | cells | ({"sign": _SIGNS[row.sign]} if has_signs else {})


def value_table(audited: GraderAudit) -> list[dict[str, str]]:
    """Format the human grades of the items with each value of a grader, in per cent, as rows of text."""
    rows = []
    for row in audited.values:
        cells = {f"{audited.grader} gives": _range(row.least, row.most), "of items": _per_cent(row.share)}
        cells |= {"judged": f"{row.judged:,}"}
        cells |= {f"people {grade}": _per_cent(share) for grade, share in enumerate(row.by_grade)}
        rows.append(cells)
    return rows


def skill_sentences(audited: GraderAudit) -> list[str]:
    """Write sentences on a grader's leniency (excess over human grades), correlation and drift.

    A third figure is the share of the remaining variance of human grades that lies between queries.
    """
    lenient, alike, between = audited.leniency, audited.correlation, audited.between_queries
    sentences = []
    if lenient.value is not None:
        how = "above" if lenient.value >= 0 else "below"
        size = ClusteredFigure(value=abs(lenient.value), std_error=lenient.std_error)
        sentences.append(f"On average its grade is {_plus_minus(size)} {how} people's.")
    if alike.value is not None:
        sentences.append(f"Its values and people's grades have the correlation {_plus_minus(alike)}.")
    if between.value is not None:
        share = f"{_per_cent(ClusteredFigure(value=max(between.value, 0.0), std_error=between.std_error))} %"
        sentences.append(f"Of the variance of people's grades that is left {share} lies between queries.")
    return sentences + [_drift_sentence(drift) for drift in audited.drift]


def _drift_sentence(drift: Drift) -> str:
    """Write one sentence on the leniency (mean excess over human grades) of one model or prompt of a grader."""
    value = "n/a" if drift.leniency.value is None else _plus_minus(drift.leniency, signed=True)
    return f"By {drift.kind} {drift.name}: {value} beside people's grades, {counted(drift.judged, 'judged item')}."


def audit_footnotes(rows: Sequence[AuditRow], graders: Sequence[GraderAudit]) -> list[str]:
    """Write the footnotes that define the terms of an audit."""
    if not rows:
        return []
    notes = [
        "Bias is the grader's value less the estimate from people's labels; its interval is theirs, shifted.",
        f"{100 * rows[0].confidence:g} % intervals, about {ABOUT[rows[0].scope]}.",
    ]
    if rows[0].scope == "population":
        notes.append("The grader's value is of these queries alone.")
    if any(row.sign for row in rows) and any(row.bias_low_simultaneous is not None for row in rows if row.versus):
        notes.append("Signs are by intervals that hold for all pairs at once.")
    if any(grader.values for grader in graders):
        notes.append("Shares are of the items that the sample could reach, in per cent, ± one standard error by query.")
    return notes


def _places(row: AuditRow) -> int:
    """Choose the number of decimals that suits the width of a row's interval; three without an interval."""
    return places_of(row.half_width, row.half_width) if row.half_width else _EXACT


def _number(row: AuditRow, value: float) -> str:
    """Format a value, signed for a difference, with decimals to match the interval."""
    return number(value, _places(row), signed=bool(row.versus))


def _alone(row: AuditRow) -> str:
    """Format the grader's value; "n/a" if the grader answered no item that affects the measure."""
    return "n/a" if row.by_grader is None else _number(row, row.by_grader)


def _bias(row: AuditRow, value: float) -> str:
    """Format a bias with a sign."""
    return number(value, _places(row), signed=True)


def _corrected(row: AuditRow) -> str:
    """Format the estimate from human labels with its half-width."""
    if row.corrected is None or row.half_width is None:
        return "no bounded estimate"
    value = _number(row, row.corrected)
    return f"{value} ± {number(row.half_width, _places(row))}" if row.half_width else value


def _plus_minus(figure: ClusteredFigure, *, signed: bool = False) -> str:
    """Format a figure with ± its standard error."""
    error = "" if figure.std_error is None else f" ± {figure.std_error:.2f}"
    return number(figure.value or 0.0, 2, signed=signed) + error


def _per_cent(share: ClusteredFigure) -> str:
    """Format a share with its standard error in per cent; "" if unknown."""
    if share.value is None:
        return ""
    error = "" if share.std_error is None else f" ± {100 * share.std_error:.0f}"
    return f"{100 * share.value:.0f}{error}"


def _range(least: float | None, most: float | None) -> str:
    """Format the range of values of a bin; "no reply" for missing values."""
    if least is None or most is None:
        return "no reply"
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"


def _share_text(value: float) -> str:
    """Format Kendall's τ with two decimals, without a leading zero."""
    text = number(value, 2)
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
