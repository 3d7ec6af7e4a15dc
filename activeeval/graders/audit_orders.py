"""Compare a grader's order of systems with that of human labels, its bias for its own run, and derive cautions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from activeeval.core.results import Caution, Told
from activeeval.graders.audit_summary import (
    AGREES,
    DIFFERS,
    OPEN,
    AuditRow,
    CircularBias,
    ClusteredFigure,
    Drift,
    GraderAudit,
    SystemOrder,
)
from activeeval.graders.audit_values import ScaledGrades

_SURE = 2.0
"""Number of standard errors beyond which a slope or a drift is reported."""
MANY_MISSING = 0.1
"""Smallest share of missing replies that causes a warning: the missing ones may differ from the others."""


def sign_of(row: AuditRow, *, knows_order: bool = True) -> str:
    """Classify a grader's sign of a difference: the same as that of human labels, opposite, or undecided.

    The result is `AGREES`, `DIFFERS` or `OPEN`; "" for a single system. If there are several differences, the
    simultaneous interval decides. A grader with one grade only (``knows_order`` False) cannot order items: its
    differences come from missing replies, and the sign is undecided.
    """
    if not row.versus:
        return ""
    low, high = _corrected_ends(row)
    if not knows_order or not row.by_grader or low is None or high is None or low <= 0 <= high:
        return OPEN
    return AGREES if (row.by_grader > 0) == (low > 0) else DIFFERS


def _corrected_ends(row: AuditRow) -> tuple[float | None, float | None]:
    """Return the ends of the interval from human labels, of the simultaneous one if there is one; None if unbounded.

    A row has the simultaneous interval of the bias only, which is the grader's value minus that from human labels.
    """
    low, high = row.bias_low_simultaneous, row.bias_high_simultaneous
    if low is None or high is None or row.by_grader is None:
        return row.corrected_low, row.corrected_high
    return row.by_grader - high, row.by_grader - low


def orders_of(rows: Sequence[AuditRow]) -> list[SystemOrder]:
    """Compare the grader's order of systems with that of human labels, for each measure with estimated differences."""
    by_measure: dict[str, list[AuditRow]] = {}
    for row in rows:
        if row.versus and row.corrected is not None and row.by_grader is not None:
            by_measure.setdefault(row.measure, []).append(row)
    return [_order(measure, pairs) for measure, pairs in by_measure.items()]


def _order(measure: str, pairs: Sequence[AuditRow]) -> SystemOrder:
    """Compare two orders of systems by the differences `pairs` of one measure: Kendall's τ, both winners, signs."""
    values = [(row.by_grader or 0.0, row.corrected or 0.0) for row in pairs]
    by_grader, people = ([_sign(pair[k]) for pair in values] for k in (0, 1))
    # τ_b: agreeing minus disagreeing pairs, over the geometric mean of both numbers of pairs that are not tied
    ordered = math.sqrt(sum(map(abs, by_grader)) * sum(map(abs, people)))
    both = sum(a * b for a, b in zip(by_grader, people, strict=True))
    winners = [_winner(pairs, [pair[k] for pair in values]) for k in (1, 0)]  # by human labels, by the grader
    between = [row.sign for row in pairs if {row.system, row.versus} == set(winners)]
    signs = [row.sign for row in pairs]
    return SystemOrder(
        measure=measure,
        systems=len({name for row in pairs for name in (row.system, row.versus)}),
        tau=both / ordered if ordered else None,
        winner=winners[0],
        winner_by_grader=winners[1],
        differ=signs.count(DIFFERS),
        open=signs.count(OPEN),
        agree=signs.count(AGREES),
        winner_sign=between[0] if between else "",
    )


def _sign(value: float) -> int:
    """Return 1, 0 or −1 for a positive, zero or negative value."""
    return (value > 0) - (value < 0)


def _winner(pairs: Sequence[AuditRow], differences: Sequence[float]) -> str:
    """Find the system with the highest level, the first of equal ones; "" if the pairs do not connect all systems.

    `differences` has a number for each pair. Levels of the systems are fitted to them by least squares.
    """
    names = list(dict.fromkeys(name for row in pairs for name in (row.system, row.versus)))
    signs = np.array([[(name == row.system) - (name == row.versus) for name in names] for row in pairs], dtype=float)
    levels, _, rank, _ = np.linalg.lstsq(signs, np.array(differences), rcond=None)
    return names[int(np.argmax(levels.round(12)))] if rank == len(names) - 1 else ""


def system_made(made: str, systems: Sequence[str]) -> str:
    """Match the run that a grader produced to a system of the sample; "" if none matches.

    Parameters
    ----------
    made : str
        Name or path of the run, as stated for the grader; "" if unknown.

    Examples
    --------
    >>> system_made("runs/a.run.gz", ["a.run", "b.run"])
    'a.run'
    """
    names = (made, PurePath(made).name, PurePath(made).name.removesuffix(".gz"))
    return next((name for name in names if name and name in systems), "")


def circles(rows: Sequence[AuditRow], made: str, systems: Sequence[str]) -> list[CircularBias]:
    """Compute, for each measure, the bias of the run that the grader produced relative to the other runs.

    `made` is the name or path of that run, "" if unknown; the list is empty if it is not among `systems`.
    """
    run = system_made(made, systems)
    measures = dict.fromkeys(row.measure for row in rows) if run else {}
    circular = [_circle([row for row in rows if row.measure == measure], run) for measure in measures]
    return [bias for bias in circular if bias is not None]


def _circle(rows: Sequence[AuditRow], run: str) -> CircularBias | None:
    """Compute the bias of `run` minus the mean bias of other runs, from differences if there are any; None if unknown.

    `rows` are those of one measure.
    """
    pairs = [row for row in rows if row.versus and run in (row.system, row.versus) and row.bias is not None]
    alone = {row.system: row.bias for row in rows if not row.versus and row.bias is not None}
    others = [bias for name, bias in alone.items() if name != run]
    bias, of_others = alone.get(run), sum(others) / len(others) if others else None
    if pairs:  # a difference's bias is that of its system minus that of the run subtracted
        excess = sum((row.bias or 0.0) * (1 if row.system == run else -1) for row in pairs) / len(pairs)
    elif bias is not None and of_others is not None:
        excess = bias - of_others
    else:
        return None
    is_sure = bool(pairs) and all(_lies_above(row, run) for row in pairs)
    return CircularBias(measure=rows[0].measure, run=run, excess=excess, bias=bias, others=of_others, is_sure=is_sure)


def _lies_above(row: AuditRow, run: str) -> bool:
    """Check whether the interval of a difference's bias lies entirely on the side that favours `run`."""
    several = row.bias_low_simultaneous is not None
    low = row.bias_low_simultaneous if several else row.bias_low
    high = row.bias_high_simultaneous if several else row.bias_high
    end, side = (low, 1) if row.system == run else (high, -1)
    return end is not None and end * side > 0


def cautions_of(audited: GraderAudit, on_scale: ScaledGrades, made: str, systems: Sequence[str]) -> list[Caution]:
    """Collect the cautions about an audited grader, warnings first.

    `made` is the run that the grader produced ("" if unknown), `systems` are those of the sample.
    """
    cautions = [
        *_of_skill(audited),
        *_of_orders(audited),
        *_of_circles(audited, made, systems),
        *_of_drift(audited.drift),
        *_of_scale(audited, on_scale),
    ]
    return sorted(cautions, key=lambda caution: caution.level != "warning")


def _of_skill(audited: GraderAudit) -> list[Caution]:
    """Warn if human grades fall, or do not rise significantly, with the grader's values."""
    rising, alike = audited.slope, audited.correlation
    if rising.value is None or rising.std_error is None:
        return []
    numbers: dict[str, Told] = {"slope": rising.value, "std_error": rising.std_error, "correlation": alike.value or 0.0}
    if rising.value < -_SURE * rising.std_error:
        return [Caution("warning", "grader turned", numbers)]
    if rising.value <= _SURE * rising.std_error:
        return [Caution("warning", "grader says little", numbers)]
    return []


def _of_orders(audited: GraderAudit) -> list[Caution]:
    """Warn about each measure by which the grader's winner is not that of human labels."""
    return [
        Caution(
            "warning" if order.winner_sign == DIFFERS else "note",
            "grader winner",
            {
                "measure": order.measure,
                "winner": order.winner,
                "by_grader": order.winner_by_grader,
                "is_sure": int(order.winner_sign == DIFFERS),
            },
        )
        for order in audited.orders
        if order.winner != order.winner_by_grader and audited.slope.value is not None
    ]


def _of_circles(audited: GraderAudit, made: str, systems: Sequence[str]) -> list[Caution]:
    """Warn if the grader favours the run that it produced (`made`); note if that run is not in the sample."""
    if made and not system_made(made, systems):
        return [Caution("note", "grader made another", {"run": made, "systems": tuple(systems)})]
    return [
        Caution("warning", "grader made run", {"measure": bias.measure, "run": bias.run, "excess": bias.excess})
        for bias in audited.circular
        if bias.is_sure
    ]


def _of_drift(drifts: Sequence[Drift]) -> list[Caution]:
    """Warn about the two models, and the two prompts, whose leniency differs most, if significantly."""
    cautions = []
    for kind in dict.fromkeys(drift.kind for drift in drifts):
        of_kind = [drift for drift in drifts if drift.kind == kind and drift.leniency.std_error is not None]
        ordered = sorted(of_kind, key=lambda drift: drift.leniency.value or 0.0)
        if len(ordered) > 1 and _apart(ordered[-1].leniency, ordered[0].leniency):
            names: dict[str, Told] = {"kind": kind, "most": ordered[-1].name, "least": ordered[0].name}
            ends: dict[str, Told] = {"high": ordered[-1].leniency.value, "low": ordered[0].leniency.value}
            cautions.append(Caution("warning", "grader drift", names | ends))
    return cautions


def _apart(first: ClusteredFigure, second: ClusteredFigure) -> bool:
    """Check whether the first figure exceeds the second by more than two standard errors of the difference."""
    errors = math.hypot(first.std_error or 0.0, second.std_error or 0.0)
    return (first.value or 0.0) - (second.value or 0.0) > _SURE * errors


def _of_scale(audited: GraderAudit, on_scale: ScaledGrades) -> list[Caution]:
    """Warn about missing replies, grades outside the human scale, and scales that had to be inferred."""
    cautions = []
    if audited.missing:
        share = audited.missing / audited.items
        numbers: dict[str, Told] = {"n": audited.missing, "of": audited.items, "share": share}
        level = "warning" if share >= MANY_MISSING else "note"
        cautions.append(Caution(level, "grader replies missing", numbers))
    if on_scale.n_stray:
        numbers = {"n": on_scale.n_stray, "top": on_scale.top}
        cautions.append(Caution("warning", "grader stray", numbers))
    ends: dict[str, Told] = {"least": on_scale.least, "largest": on_scale.largest, "top": on_scale.top}
    if on_scale.is_mapped:
        cautions.append(Caution("note", "grader mapped", ends))
    elif (
        not on_scale.is_stated
        and (highest := on_scale.labels.max(initial=0)) < on_scale.top
        and len(audited.values) > 1
    ):
        # a single value does not show the scale
        cautions.append(Caution("warning", "grader low scale", {"largest": int(highest), "top": on_scale.top}))
    return cautions
