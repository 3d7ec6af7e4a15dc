"""Nights of a watch in words, as a table, as a page and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from activeeval.report.findings import about
from activeeval.results import Needed

_DIGITS = 3
_WIDTH, _HEIGHT, _DPI = 9.0, 5.5, 110


class SaidValue(Protocol):
    """A measure on a night."""

    @property
    def date(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def low_all_nights(self) -> float | None: ...
    @property
    def high_all_nights(self) -> float | None: ...
    @property
    def judged(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def known(self) -> int: ...


class SaidChange(Protocol):
    """What a night is more than another."""

    @property
    def earlier(self) -> str: ...
    @property
    def later(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
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
    def values(self) -> Sequence[Any]: ...
    @property
    def changes(self) -> Sequence[Any]: ...


def verdict_sentences(changes: Sequence[SaidChange]) -> list[str]:
    """Return a sentence for each alarm and each verdict against the reference."""
    lines = []
    for change in changes:
        what = f"{change.measure} on {change.later}"
        lost = f"more than {change.margin:g} is lost" if change.margin else "something is lost"
        if change.alarm:
            lines.append(f"ALARM: {what}: {lost} since {change.earlier}.")
        elif change.verdict == "fine":
            lines.append(f"Fine: {what} has lost no more than {change.margin:g} since {change.earlier}.")
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
    return [
        f"{span.measure} from {span.earlier} to {span.later}: {_number(span.value, signed=True)} "
        f"({_number(span.low)} to {_number(span.high)})."
        for span in spans
    ]


def series_table(nights: Sequence[Said]) -> list[dict[str, Any]]:
    """Return a row for each measure of each night, with the change since the night before."""
    rows = []
    for night, before in zip(nights, (None, *nights), strict=False):
        for value in night.values:
            mine = [change for change in night.changes if change.measure == value.measure]
            since = next((change for change in mine if before is not None and change.earlier == before.date), None)
            rows.append(
                {
                    "night": night.date,
                    "measure": value.measure,
                    "value": _number(value.value),
                    "interval": _interval(value),
                    "change": "" if since is None else _number(since.value, signed=True),
                    "its interval": "" if since is None else _interval(since),
                    "alarm": "ALARM" if any(change.alarm for change in mine) else "",
                    "labels": value.judged,
                    "in hand": value.known,
                    "waiting": value.waiting or "",
                }
            )
    return rows


def page_of(name: str, nights: Sequence[Said], picture: str, path: str) -> None:
    """Write a page in markdown: the last night, a picture, alarms, a table."""
    last = nights[-1] if nights else None
    lines = [f"# {name}", ""]
    if last is not None:
        lines += [f"Nights from {nights[0].date} to {last.date}.", ""]
        lines += [f"- {value.measure}: {_number(value.value)} ({_interval(value)})" for value in last.values]
        lines += ["", *(f"- {line}" for line in verdict_sentences(last.changes)), ""]
    lines += [f"![the series]({Path(picture).name})", ""]
    alarms = [change for night in nights for change in night.changes if change.alarm]
    lines += ["## Alarms", "", *([f"- {line}" for line in verdict_sentences(alarms)] or ["None."]), ""]
    rows = series_table(nights)
    if rows:
        lines += ["## Nights", "", f"| {' | '.join(rows[0])} |", f"|{' --- |' * len(rows[0])}"]
        lines += [f"| {' | '.join(str(cell) for cell in row.values())} |" for row in rows]
    Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def picture_of(nights: Sequence[Said], path: str) -> None:
    """Draw a panel for each measure with its bands and alarms, and one with the labels of each night."""
    from matplotlib.figure import Figure

    measures = list(dict.fromkeys(value.measure for night in nights for value in night.values))
    figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained")
    axes = figure.subplots(len(measures) + 1, 1, sharex=True, squeeze=False)[:, 0]
    dates = [night.date for night in nights]
    for axis, measure in zip(axes, measures, strict=False):
        _series(axis, measure, nights)
    labels = [max((value.judged for value in night.values), default=0) for night in nights]
    axes[-1].bar(range(len(dates)), labels, color="0.6")
    axes[-1].set_ylabel("new labels")
    step = max(len(dates) // 10, 1)
    axes[-1].set_xticks(range(0, len(dates), step), dates[::step], rotation=30, ha="right")
    figure.savefig(path)


def _series(axis: Any, measure: str, nights: Sequence[Said]) -> None:
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
    lost = [(k, v.value) for k, v in read if any(c.alarm and c.measure == measure for c in nights[k].changes)]
    if lost:
        axis.plot(*zip(*lost, strict=True), "v", color="tab:red", markersize=9, label="alarm")
    axis.set_ylabel(measure)
    axis.legend(fontsize=8, loc="best")


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _interval(said: Any) -> str:
    return f"{_number(said.low)} to {_number(said.high)}" if said.low is not None else ""


def _number(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return ""
    return f"{value:{'+' if signed else ''}.{_DIGITS}f}".replace("-", "−")
