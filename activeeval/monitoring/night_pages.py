"""Present nights of a watch as sentences, tables, a page and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from activeeval.core.answers import FINE, Answer
from activeeval.report.answer_sentences import (
    ABOUT,
    WIDTH,
    definitions,
    figures,
    headline,
    missing_lists_sentence,
    sentence,
    table_of,
)
from activeeval.report.cautions import caution_lines
from activeeval.report.numbers import counted, number, places_of
from activeeval.report.pictures import plain_figure
from activeeval.report.rendering import render

if TYPE_CHECKING:
    from activeeval.monitoring.alarm_chances import AlarmChance
    from activeeval.monitoring.series import NightContent, NightValue

_WIDTH, _PANEL, _EDGES, _DPI = 9.0, 1.9, 0.6, 110
_SHIFT = 0.12
"""Horizontal offset of the two changes of a night, in units of a night's width."""
_SELDOM_NOT, _RARELY_NOT = 0.94, 0.985
"""Probabilities from which odds are written as 19 in 20, and 99 in 100."""
_RARE = ("since the night before", "since the reference", "alarm", "waiting")
"""Columns that are left out if they are empty for all nights."""


def night_sentences(night: NightContent) -> list[str]:
    """Write sentences about a night: queries without a list, then alarms and other changes; without changes, values.

    A night is a dated run of the watched index.
    """
    missing = missing_lists(night)
    changes = sorted(night.changes, key=lambda change: change.verdict != "worse")
    lines = [f"ALARM: {sentence(each)}" if each.verdict == "worse" else sentence(each) for each in changes]
    return [*([missing] if missing else []), *(lines or headline(night.findings))]


def missing_lists(night: NightContent) -> str:
    """Write how many queries of the watch have no list in the night's run (a dated run); "" if all have one."""
    return missing_lists_sentence(night.n_missing, night.n_queries, night.run) if night.n_missing else ""


def alarm_title(night: NightContent) -> str:
    """Write the verdict on a night as a title: "ALARM", with missing lists if there are any, "fine" or "undecided".

    A night is a dated run of the watched index.
    """
    if any(change.verdict == "worse" for change in night.changes):
        missing = missing_lists(night)
        return f"ALARM: {missing}" if missing else "ALARM"
    return "fine" if night.exit_code == FINE else "undecided"


def meaning(night: NightContent) -> str:
    """Write the footnote of a night: definitions of measures, confidence of intervals, scope and margin.

    A night is a dated run of the watched index.
    """
    of_changes = f", of differences that of {error_rate(night)}" if night.changes else ""
    together = "; of all segments they hold at once" if night.segment_findings else ""
    about = ABOUT[night.settings.scope].partition(":")[0]
    margin = f" The margin is {night.settings.margin:g}." if night.changes and night.settings.margin else ""
    lines = [*definitions(night.definitions), f"Intervals of values are 95 % intervals{of_changes}{together}."]
    return f"{' '.join(lines)} They are about {about}.{margin}"


def error_rate(night: NightContent) -> str:
    """Write the rate of false alarms of a watch, as "1 false alarm in 100 nights"."""
    rate = night.settings.false_alarms
    return f"{counted(rate, 'false alarm')} in 100 nights"


def outlook_sentence(expected: AlarmChance, budget: float, on_suspicion: float) -> str:
    """Write with which probability a loss raises the alarm of a watch.

    `budget` is the number of new labels a night, `on_suspicion` that of further labels for a night that looks bad. A
    night is a dated run of the watched index.
    """
    more = f", {on_suspicion:g} more on suspicion" if on_suspicion else ""
    second = "" if expected.second_night is None else f", by the second night {odds(expected.second_night)}"
    loss = f"a loss of {expected.loss:.2g} in {expected.measure}"
    return (
        f"{budget:g} labels a night{more}: {loss} raises the alarm the same night {odds(expected.same_night)}{second}"
    )


def odds(chance: float) -> str:
    """Write a probability, from 0 to 1, in round odds.

    Examples
    --------
    >>> odds(0.72), odds(0.95), odds(0.999), odds(0.01)
    ('7 times in 10', '19 times in 20', '99 times in 100', 'less than 1 time in 20')
    """
    if chance >= _RARELY_NOT:
        return "99 times in 100"
    if chance >= _SELDOM_NOT:
        return "19 times in 20"
    if chance < 1 - _SELDOM_NOT:
        return "less than 1 time in 20"
    n = min(max(round(10 * chance), 1), 9)
    return f"{counted(n, 'time')} in 10"


def span_sentences(spans: Sequence[Answer]) -> list[str]:
    """Write a sentence for each change between two requested nights (dated runs), one per measure."""
    return [f"{span.measure} from {span.versus} to {span.system}: {figures(span)}." for span in spans]


def night_table(night: NightContent, width: int = WIDTH) -> list[dict[str, str]]:
    """Build the rows of a night: its values and changes with intervals, for these queries and for their population.

    `width` is the number of characters a row may take. A night is a dated run of the watched index.
    """
    return table_of([*night.findings, *night.changes], width=width)


def series_table(nights: Sequence[NightContent]) -> list[dict[str, Any]]:
    """Build a row for each night (dated run of the watched index) and measure.

    It has the value with its interval, the changes since the night before and since the night that the watch compares
    with (the reference), whether a change is an alarm, and numbers of labels: new ones, those known before ("in
    hand"), and items that still wait for one.
    """
    rows = []
    for night in nights:
        for value in night.values:
            of_measure = [change for change in night.changes if change.measure == value.measure]
            rows.append(
                {
                    "night": night.date,
                    "measure": value.measure,
                    "value": _number(value),
                    "interval": _interval(value),
                    "since the night before": "".join(map(figures, _since(of_measure, night.before, is_before=True))),
                    "since the reference": "".join(map(figures, _since(of_measure, night.before, is_before=False))),
                    "alarm": "ALARM" if any(change.verdict == "worse" for change in of_measure) else "",
                    "labels": value.judged,
                    "in hand": value.known,
                    "waiting": value.waiting or "",
                }
            )
    columns = [name for name in rows[0] if name not in _RARE or any(row[name] for row in rows)] if rows else []
    return [{name: row[name] for name in columns} for row in rows]


def waiting_sentence(night: NightContent) -> str:
    """Write why a night (a dated run) has no estimates yet: unjudged items, or a budget too small for any item."""
    wait = f"{counted(night.waiting, 'item')} {'waits' if night.waiting == 1 else 'wait'}"
    why = wait if night.waiting else "nothing was drawn: the budget of a night is too small"
    return f"{night.date}: nothing can be read yet, {why}."


def write_page(name: str, nights: Sequence[NightContent], path: str) -> None:
    """Write the page of watch `name` (an index followed from night to night), and its chart beside it."""
    picture = f"{path.removesuffix('.md')}.png"
    picture_of(nights, picture)
    page_of(name, nights, picture, path)


def page_of(name: str, nights: Sequence[NightContent], picture: str, path: str) -> None:
    """Write a page in markdown: the last night (a dated run), the chart, alarms, the last night by segment, a table.

    `name` is the watch, `picture` the file of the chart and `path` that of the page.
    """
    last = nights[-1] if nights else None
    lines = [f"# {name}", ""]
    if last is not None:
        lines += [f"Nights from {nights[0].date} to {last.date}.", ""]
        lines += [f"- {value.measure}: {_figures(value)}" for value in last.values]
        warnings = caution_lines([("", last.cautions)])
        lines += ["", *(f"- {line}" for line in (*(night_sentences(last) if last.changes else []), *warnings)), ""]
    lines += [f"![the series]({Path(picture).name})", ""]
    alarms = [
        " ".join(filter(None, (f"{night.date}:", missing_lists(night), f"{sentence(change)}")))
        for night in nights
        for change in night.changes
        if change.verdict == "worse"
    ]
    lines += ["## Alarms", "", *([f"- {line}" for line in alarms] or ["None."]), ""]
    if last is not None and last.segment_findings:
        lines += [f"## Segments on {last.date}", "", render(table_of(last.segment_findings), "md"), ""]
    rows = series_table(nights)
    if rows:
        lines += ["## Nights", "", render(rows, "md"), "", meaning(nights[-1])]
    Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def picture_of(nights: Sequence[NightContent], path: str) -> None:
    """Draw each measure's values with intervals and changes with alarms, and the number of labels of each night.

    A night is a dated run of the watched index.
    """
    measures = list(dict.fromkeys(value.measure for night in nights for value in night.values))
    panels = 2 * len(measures) + 1
    figure, axes = plain_figure(_WIDTH, _EDGES + _PANEL * panels, panels, dpi=_DPI)
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


def _series(axis: Any, measure: str, nights: Sequence[NightContent]) -> None:
    """Draw the values of a measure with their 95 % intervals, by night (a dated run)."""
    points = [
        (k, v) for k, night in enumerate(nights) for v in night.values if v.measure == measure and v.value is not None
    ]
    x = [k for k, _ in points]
    ends = [[_value_or(getattr(v, name), v.value) for _, v in points] for name in ("low", "high")]
    axis.fill_between(x, *ends, alpha=0.3, color="tab:blue", label="this night, 95 %", linewidth=0)
    axis.plot(x, [v.value for _, v in points], "o-", color="tab:blue", markersize=3)
    axis.set_ylabel(measure)
    axis.legend(fontsize=8, loc="best")


def _changes(axis: Any, measure: str, nights: Sequence[NightContent]) -> None:
    """Draw a measure's changes since the previous night and since the reference, with the intervals of verdicts.

    A night is a dated run of the watched index.
    """
    axis.axhline(0, color="0.7", linewidth=0.8)
    # changes since the previous night (True) and since the reference (False), each with the number of its night
    since = {True: [], False: []}  # type: dict[bool, list[tuple[int, Answer]]]
    for k, night in enumerate(nights):
        of_measure = [change for change in night.changes if change.measure == measure and change.is_bounded]
        for is_before, drawn in since.items():
            drawn += [(k, change) for change in _since(of_measure, night.before, is_before=is_before)]
    bounded = [change for drawn in since.values() for _, change in drawn]
    if margin := max((change.margin for change in bounded), default=0.0):
        axis.axhline(-margin, color="tab:red", linewidth=0.8, linestyle="--", label="the margin")
    raised: list[tuple[float, float]] = []  # positions (x, y) of alarms
    for (is_before, drawn), color, shift in zip(
        since.items(), ("tab:blue", "tab:green"), (-_SHIFT, _SHIFT), strict=True
    ):
        x = [k + (shift if since[False] else 0.0) for k, _ in drawn]
        for at, (_, change) in zip(x, drawn, strict=True):
            axis.plot([at, at], [change.low, change.high], color=color, alpha=0.5)
            raised += [(at, change.value)] if change.verdict == "worse" else []
        label = "since the night before" if is_before else "since the reference"
        if drawn:
            axis.plot(x, [change.value for _, change in drawn], "o", color=color, markersize=4, label=label)
    if raised:
        axis.plot(*zip(*raised, strict=True), "v", color="tab:red", label="alarm")
    axis.set_ylabel(f"change,\n{error_rate(nights[-1])}" if nights else "change", fontsize=8)
    if bounded:
        axis.legend(fontsize=8, loc="best")


def _since(changes: Sequence[Answer], before: str, *, is_before: bool) -> list[Answer]:
    """Select, from the changes of one measure, the one since the night before or the one since another reference.

    `before` is the date of the night before. The list has one change, or none. A night is a dated run of the watched
    index.
    """
    return [change for change in changes if (change.versus == before) == is_before][:1]


def _value_or(value: float | None, default: float | None) -> float | None:
    """Return a value, or a default if it is None."""
    return default if value is None else value


def _figures(value: NightValue) -> str:
    """Format a value with its interval in brackets."""
    return f"{_number(value)} ({_interval(value)})" if value.value is not None else "nothing can be said yet"


def _interval(value: NightValue) -> str:
    """Format the interval of a value as "0.1 to 0.3"; "" if an end is unknown or infinite."""
    if value.low is None or value.high is None:
        return ""
    return " to ".join(number(end, _places(value)) for end in (value.low, value.high))


def _number(value: NightValue) -> str:
    """Format a value, "" if it is None."""
    return "" if value.value is None else number(value.value, _places(value))


def _places(value: NightValue) -> int:
    """Choose the number of decimals that suits the width of a value's interval."""
    half = 0.0 if value.low is None or value.high is None else (value.high - value.low) / 2
    return places_of(value.value or 0.0, half)
