"""Nights of a watch in words, as a table, as a page and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from activeeval.answers import Answer, Needed, about
from activeeval.report.cautions import caution_lines
from activeeval.report.findings import table_of
from activeeval.report.numbers import places_of
from activeeval.report.rendering import render
from activeeval.results import Caution

_WIDTH, _PANEL, _EDGES, _DPI = 9.0, 1.9, 0.6, 110
_FEW = 6
"""Digits of a number that nothing bounds."""
_RARE = ("alarm", "waiting")
"""Columns that are left out where no night has one."""


class SaidNumber(Protocol):
    """A number with its interval."""

    @property
    def measure(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


class SaidValue(SaidNumber, Protocol):
    """A measure on a night."""

    @property
    def judged(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def known(self) -> int: ...


class SaidChange(SaidNumber, Protocol):
    """What a night is more than another."""

    @property
    def earlier(self) -> str: ...
    @property
    def later(self) -> str: ...
    @property
    def alarm(self) -> bool: ...
    @property
    def margin(self) -> float: ...
    @property
    def verdict(self) -> str: ...
    @property
    def needed(self) -> Needed | None: ...


class Said(Protocol):
    """What a night says."""

    @property
    def date(self) -> str: ...
    @property
    def values(self) -> Sequence[SaidValue]: ...
    @property
    def changes(self) -> Sequence[SaidChange]: ...
    @property
    def cautions(self) -> Sequence[Caution]: ...
    @property
    def segment_findings(self) -> Sequence[Answer]: ...


def verdict_sentences(changes: Sequence[SaidChange]) -> list[str]:
    """Return a sentence for each alarm and each verdict against the reference."""
    lines = []
    for change in changes:
        what = f"{change.measure} on {change.later}"
        lost = f"more than {change.margin:g} is lost" if change.margin else "something is lost"
        if change.alarm:
            lines.append(f"ALARM: {what}: {lost} since {change.earlier}.")
        elif change.verdict == "fine":
            no_more = f"has lost no more than {change.margin:g}" if change.margin else "has lost nothing"
            lines.append(f"Fine: {what} {no_more} since {change.earlier}.")
        elif change.verdict == "open":
            more = change.needed.budget if change.needed is not None else None
            decide = (
                "labels alone do not decide it, more queries would"
                if not more
                else f"about {about(more):,} more labels should decide"
            )
            lines.append(f"Open: whether {what} has lost more than {change.margin:g} since {change.earlier}; {decide}.")
    return lines


def span_sentences(spans: Sequence[SaidChange]) -> list[str]:
    """Return a sentence for each change from one night to another that was asked for."""
    return [f"{span.measure} from {span.earlier} to {span.later}: {_figures(span, signed=True)}." for span in spans]


def series_table(nights: Sequence[Said]) -> list[dict[str, Any]]:
    """Return a row for each measure of each night, with the change since the night before."""
    rows = []
    for night, before in _in_pairs(nights):
        for value in night.values:
            since = _since(night, before, value.measure)
            has_alarm = any(change.alarm for change in night.changes if change.measure == value.measure)
            rows.append(
                {
                    "night": night.date,
                    "measure": value.measure,
                    "value": _number(value),
                    "interval": _interval(value),
                    "change": "" if since is None else _number(since, signed=True),
                    "its interval": "" if since is None else _interval(since),
                    "alarm": "ALARM" if has_alarm else "",
                    "labels": value.judged,
                    "in hand": value.known,
                    "waiting": value.waiting or "",
                }
            )
    kept = [name for name in rows[0] if name not in _RARE or any(row[name] for row in rows)] if rows else []
    return [{name: row[name] for name in kept} for row in rows]


def page_of(name: str, nights: Sequence[Said], picture: str, path: str) -> None:
    """Write a page in markdown: the last night, a picture, alarms, the last night by segment, a table."""
    last = nights[-1] if nights else None
    lines = [f"# {name}", ""]
    if last is not None:
        lines += [f"Nights from {nights[0].date} to {last.date}.", ""]
        lines += [f"- {value.measure}: {_figures(value)}" for value in last.values]
        careful = caution_lines([("", last.cautions)])
        lines += ["", *(f"- {line}" for line in (*verdict_sentences(last.changes), *careful)), ""]
    lines += [f"![the series]({Path(picture).name})", ""]
    alarms = [change for night in nights for change in night.changes if change.alarm]
    lines += ["## Alarms", "", *([f"- {line}" for line in verdict_sentences(alarms)] or ["None."]), ""]
    if last is not None and last.segment_findings:
        lines += [f"## Segments on {last.date}", "", render(table_of(last.segment_findings), "md"), ""]
    rows = series_table(nights)
    if rows:
        lines += ["## Nights", "", render(rows, "md")]
    Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def picture_of(nights: Sequence[Said], path: str) -> None:
    """Draw for each measure its values with their bands and its changes with alarms, and the labels of each night."""
    from matplotlib.figure import Figure

    measures = list(dict.fromkeys(value.measure for night in nights for value in night.values))
    panels = 2 * len(measures) + 1
    figure = Figure(figsize=(_WIDTH, _EDGES + _PANEL * panels), dpi=_DPI, layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    dates = [night.date for night in nights]
    for k, measure in enumerate(measures):
        _series(axes[2 * k], measure, nights)
        _changes(axes[2 * k + 1], measure, nights)
    labels = [max((value.judged for value in night.values), default=0) for night in nights]
    axes[-1].bar(range(len(dates)), labels, color="0.6")
    axes[-1].set_ylabel("new labels")
    step = max(len(dates) // 10, 1)
    axes[-1].set_xticks(range(0, len(dates), step), dates[::step], rotation=30, ha="right")
    figure.savefig(path)


def _series(axis: Any, measure: str, nights: Sequence[Said]) -> None:
    """Draw the values of a measure with their bands."""
    read = [
        (k, v) for k, night in enumerate(nights) for v in night.values if v.measure == measure and v.value is not None
    ]
    x = [k for k, _ in read]
    for low, high, shade, label in (
        ("low_all_nights", "high_all_nights", 0.15, "all nights together"),
        ("low", "high", 0.3, "this night, 95 %"),
    ):
        ends = [[_or(getattr(v, name), v.value) for _, v in read] for name in (low, high)]
        axis.fill_between(x, *ends, alpha=shade, color="tab:blue", label=label, linewidth=0)
    axis.plot(x, [v.value for _, v in read], "o-", color="tab:blue", markersize=3)
    axis.set_ylabel(measure)
    axis.legend(fontsize=8, loc="best")


def _changes(axis: Any, measure: str, nights: Sequence[Said]) -> None:
    """Draw what each night is more than the one before, from the samples of both, and which have an alarm."""
    since = ((k, _since(night, before, measure)) for k, (night, before) in enumerate(_in_pairs(nights)))
    read = [(k, change) for k, change in since if change is not None and change.value is not None]
    axis.axhline(0, color="0.7", linewidth=0.8)
    if margin := max((change.margin for _, change in read), default=0.0):
        axis.axhline(-margin, color="tab:red", linewidth=0.8, linestyle="--", label="the margin")
    for k, change in read:
        axis.plot([k, k], [_or(change.low, change.value), _or(change.high, change.value)], color="tab:blue", alpha=0.5)
    axis.plot([k for k, _ in read], [change.value for _, change in read], "o", color="tab:blue", markersize=4)
    raised = [(k, c) for k, night in enumerate(nights) for c in night.changes if c.alarm and c.measure == measure]
    if raised:
        axis.plot(*zip(*((k, c.value) for k, c in raised), strict=True), "v", color="tab:red", label="alarm")
    axis.set_ylabel("since the\nnight before")
    if margin or raised:
        axis.legend(fontsize=8, loc="best")


def _in_pairs(nights: Sequence[Said]) -> list[tuple[Said, Said | None]]:
    """Return each night with the one before it."""
    return list(zip(nights, (None, *nights), strict=False))


def _since(night: Said, before: Said | None, measure: str) -> SaidChange | None:
    """Return the change of a measure since the night before; None where there is none."""
    mine = [change for change in night.changes if change.measure == measure]
    return next((change for change in mine if before is not None and change.earlier == before.date), None)


def _or(value: float | None, other: float | None) -> float | None:
    return other if value is None else value


def _figures(said: SaidNumber, *, signed: bool = False) -> str:
    """Return the value with its interval in brackets."""
    return (
        f"{_number(said, signed=signed)} ({_interval(said)})" if said.value is not None else "nothing can be said yet"
    )


def _interval(said: SaidNumber) -> str:
    if said.low is None or said.high is None:
        return ""
    return " to ".join(_written(end, _places(said)) for end in (said.low, said.high))


def _number(said: SaidNumber, *, signed: bool = False) -> str:
    if said.value is None:
        return ""
    return _written(said.value, _places(said), "+" if signed else "")


def _written(value: float, places: int, sign: str = "") -> str:
    """Return a number with its sign; 0 has none."""
    text = f"{value:{sign}.{places}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def _places(said: SaidNumber) -> int:
    """Return as many decimals as an interval is worth."""
    half = 0.0 if said.low is None or said.high is None else (said.high - said.low) / 2
    return places_of(said.value or 0.0, half)
