"""Answers in words: a sentence that says which of what, how sure and what next, and a table.

Estimates of samples, comparisons by judgments and campaigns are all an `activeeval.core.answers.Answer`, and are
printed alike on a terminal, in a notebook and on a page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from activeeval.core.answers import Answer
from activeeval.report.answer_phrases import cannot_be_judged, extent_of, next_step
from activeeval.report.numbers import agreeing, all_of, counted, number, places_of, short_p

ABOUT = {
    "pool": "these queries: what judging all of them would give",
    "population": "all the queries that these are a sample of",
}
"""What an interval is about, by its scope."""
OTHER_SCOPE = {"pool": "these queries", "population": "queries like these"}
"""The column of the interval for a scope that does not decide."""
_MOST_SENTENCES = 3
_FINE = 1000
"""A value that is exactly known is shown to a thousandth of itself; one that nothing bounds to itself."""
_VERDICTS = ("better", "worse", "equal", "equivalent", "not worse", "undecided")
_LONGEST_NAME = 28
_ALWAYS = ("measure", "of", "value", "interval")
_SPARED = ("queries", "judgments")
_NAME_LENGTHS = (_LONGEST_NAME, 21, 15, 11, 8)
"""Names are cut to the first of these at which a table is no wider than it may be."""
_WHOLE = len("2026-11-02")
"""Names of so many characters are left whole: dates, and ids that are as short."""
WIDTH = 100
"""Columns of a table for reading."""


def scope_in_words(scope: str, log: str = "") -> str:
    """Return what an interval is about; ``log`` is the one that the queries were drawn from, where there is one."""
    return f"all the traffic of {log}" if log and scope == "population" else ABOUT[scope]


def intervals_in_words(confidence: str, kind: str = "t", readings: int = 1) -> str:
    """Return what intervals are, and how many readings of a sample that was topped up share what may miss.

    Examples
    --------
    >>> intervals_in_words("95 %"), intervals_in_words("95 %", readings=2)
    ('95 % intervals', '95 % intervals over 2 looks')
    """
    named = "" if kind == "t" else f"{kind} "
    return f"{confidence} {named}intervals{f' over {readings} looks' if readings > 1 else ''}"


def sentence(finding: Answer) -> str:
    """Write an answer as a sentence.

    Examples
    --------
    >>> print(sentence(Answer(system="new.run", versus="old.run", measure="DCG@10", value=0.14, low=0.05, high=0.23,
    ...                        n_queries=25, n_items=200)))
    new.run is better than old.run by 0.140 (0.050 to 0.230): DCG@10, 25 queries, 200 judgments.
    """
    where = "" if finding.segment is None else f" of {finding.segment}"
    what, extent = f"{finding.measure}{where}", extent_of(finding)
    if not finding.is_bounded:
        return f"Nothing can be said yet of {_systems(finding)}: {what} {figures(finding)}{extent}."
    if not finding.versus:
        return f"{finding.system}: {what} {figures(finding)}{extent}{_other(finding)}."
    verdict, says = finding.verdict, _compared(finding)
    if verdict == "equal":
        return f"{says}: {what}{'' if finding.same_lists else extent}."
    if verdict == "undecided" and finding.high >= 0:
        return f"{says}: {what} {figures(finding)}{extent}{next_step(finding)}{_other(finding)}."
    if verdict == "not worse":
        return f"{says}: {what} {figures(finding)}{extent}{_other(finding)}."
    return f"{says}: {what}{extent}{next_step(finding)}{_other(finding)}."


def _compared(finding: Answer) -> str:
    """Write the verdict on a difference, with its size where its sign is known."""
    new, old, margin = finding.system, finding.versus, f"your margin of {finding.margin:g}"
    if finding.verdict == "equal":
        if finding.same_lists:
            return f"{new} and {old} have the same lists in {all_of(finding.n_queries, 'query')}"
        return f"{new} and {old} are exactly equal"
    if finding.verdict == "better":
        return f"{new} is better than {old} by {_size(finding)}"
    if finding.verdict == "worse":
        return f"{new} is worse than {old} by {_size(finding)}"
    if finding.verdict == "equivalent":
        if finding.low > 0 or finding.high < 0:
            return (
                f"{new} is {'higher' if finding.low > 0 else 'lower'} than {old} by {_size(finding)}, within {margin}"
            )
        return f"{new} differs from {old} by {figures(finding)}, within {margin}"
    if finding.verdict == "not worse":
        return f"{new} is not worse than {old} by more than {margin}"
    if finding.high < 0:
        return f"{new} is worse than {old} by {_size(finding)}; whether by more than {margin} is open"
    return f"{new} and {old} cannot be told apart"


def _size(finding: Answer) -> str:
    """Write the size of a difference whose sign is known, with its interval, smaller end first."""
    if finding.low > 0:
        return figures(replace(finding, versus=""))
    return figures(replace(finding, versus="", value=-finding.value, low=-finding.high, high=-finding.low))


def _other(finding: Answer) -> str:
    """Write what the other scope says, where the verdict there differs."""
    other = finding.other
    if other is None or not finding.versus:
        return ""
    about = f"for {OTHER_SCOPE[other.scope]}"
    if other.verdict == finding.verdict:
        advice = next_step(other)
        return f"; {about} {advice.removeprefix('; ')}" if advice != next_step(finding) else ""
    if other.low == other.high:
        exact = number(other.value, _places(finding), signed=True) if other.value else "0"
        return f"; {about} it is exactly {exact}"
    verdict = "open" if other.verdict == "undecided" else other.verdict
    return f"; {about} this is {verdict}: {_parts(other, None)[1]}{next_step(other)}"


def figures(finding: Answer, places: int | None = None) -> str:
    """Return the value with its interval in brackets, as many digits as the interval is worth, or as asked for.

    Examples
    --------
    >>> figures(Answer(system="a", measure="DCG", value=7.3527, low=6.0982, high=8.6072, n_queries=9, n_items=90))
    '7.4 (6.1 to 8.6)'
    """
    value, between = _parts(finding, places)
    return f"{value} ({between})"


def table_of(findings: Sequence[Answer], places: int | None = None, width: int = WIDTH) -> list[dict[str, str]]:
    """Return findings as rows of text; a column that is empty, or says of all the same, is left out.

    What the findings are of, their values, intervals and p values always stand there.

    Parameters
    ----------
    places : int, optional
        Decimals; by default as many as each interval is worth.
    width : int
        Columns that it has; names are cut to them.
    """

    def rows_of(longest: int) -> list[dict[str, str]]:
        rows = [_row(finding, places, longest) for finding in findings]
        names = max(rows, key=len)
        kept = [name for name in names if name in _ALWAYS or _tells(name, [row.get(name, "") for row in rows])]
        return [{name: row.get(name, "") for name in kept} for row in rows]

    rows = fitting(rows_of, width)
    if table_width(rows) <= width:
        return rows
    # the sentences above the table have these counts
    return fitting(lambda longest: [without(row, *_SPARED) for row in rows_of(longest)], width)


def without(row: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return a row of text less some columns."""
    return {name: cell for name, cell in row.items() if name not in names}


def table_width(rows: Sequence[Mapping[str, str]]) -> int:
    """Count the columns of text that rows take as a table."""
    columns = [max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]]
    return sum(columns) + 2 * (len(columns) - 1)


def fitting(rows_of: Callable[[int], list[dict[str, str]]], width: int = WIDTH) -> list[dict[str, str]]:
    """Return rows of text with names as long as a table of some width has room for.

    Parameters
    ----------
    rows_of : callable
        Returns the rows with names of at most so many characters.
    """
    rows: list[dict[str, str]] = []
    for longest in _NAME_LENGTHS:
        rows = rows_of(longest)
        if table_width(rows) <= width:
            break
    return rows


def headline(findings: Sequence[Answer]) -> list[str]:
    """Return the sentences that an output begins with: of the differences, worse ones first, else of the values.

    They are three at most.

    Of segments one that counts them, for each measure.
    """
    whole = [finding for finding in findings if finding.segment is None]
    differences = [finding for finding in whole if finding.versus]
    if whole:
        worst_first = sorted(differences, key=lambda finding: finding.verdict != "worse")
        return [sentence(finding) for finding in (worst_first or whole)[:_MOST_SENTENCES]]
    families: dict[tuple[str, str], list[Answer]] = {}
    for finding in findings:
        families.setdefault((finding.measure, _systems(finding)), []).append(finding)
    return [_of_segments(family) for family in list(families.values())[:_MOST_SENTENCES]]


def _of_segments(findings: Sequence[Answer]) -> str:
    first, n = findings[0], len(findings)
    is_short = any(map(cannot_be_judged, findings))
    room = "; some items cannot be judged: the intervals have room for every grade of theirs" if is_short else ""
    if not first.versus:
        low, high = (choose(findings, key=lambda finding: finding.value) for choose in (min, max))
        between = f"{figures(low)} for {low.segment} and {figures(high)} for {high.segment}"
        return f"{first.system}, {n} segments: {first.measure} lies between {between}{room}."
    verdicts = Counter(finding.verdict if finding.is_bounded else "" for finding in findings)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in _VERDICTS if verdicts[verdict])
    counts += f", {verdicts['']} of which nothing can be said yet" if verdicts[""] else ""
    counts = counts.removeprefix(", ")
    compared = f"{first.system} and {first.versus} by {first.measure}, {n} segments"
    return f"{compared}: {counts}; all intervals hold at once{room}."


def missing_lists_sentence(n_missing: int, n_queries: int, name: str) -> str:
    """Write that a run lacks the lists of some queries, which is said before anything else.

    Examples
    --------
    >>> missing_lists_sentence(75, 150, "half.run")
    '75 of 150 queries have no list in half.run: they count as 0.'
    """
    counts = agreeing(n_missing, "has no list in {}: it counts", "have no list in {}: they count").format(name)
    return f"{n_missing:,} of {counted(n_queries, 'query')} {counts} as 0."


def contest_sentence(measure: str, best: Sequence[str], n_systems: int, n_told: int, n_pairs: int) -> str:
    """Return what a sample says of who is the best of several systems.

    Parameters
    ----------
    best : sequence of str
        The systems that may be the best.
    n_told, n_pairs : int
        How many pairs are told apart, of how many.

    Examples
    --------
    >>> contest_sentence("DCG@10", ["b.run"], 3, 2, 3)
    'b.run is the best of 3 by DCG@10; 2 of 3 pairs are told apart, all with one confidence.'
    """
    pairs = (
        f"{n_told} of {counted(n_pairs, 'pair')} {agreeing(n_told, 'is', 'are')} told apart, all with one confidence"
    )
    if len(best) == 1:
        return f"{best[0]} is the best of {n_systems} by {measure}; {pairs}."
    return f"Which of {n_systems} is the best by {measure} is open between {some_names(best)}; {pairs}."


def definitions(measures: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence for each measure that is shown otherwise than it is written in full.

    Examples
    --------
    >>> definitions([("P@5", "P(rel=1)@5"), ("P@5", "P(rel=1)@5"), ("Judged@5", "Judged@5")])
    ['P@5 is P(rel=1)@5.']
    """
    return [f"{name} is {text}." for name, text in dict.fromkeys(measures) if name != text]


def some_names(names: Sequence[str], most: int = 3, longest: int = _LONGEST_NAME) -> str:
    """Return names with commas between, the last of many as their number.

    Examples
    --------
    >>> some_names(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = ", ".join(short_name(name, longest) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def short_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name for a table, its middle left out where it is long.

    Examples
    --------
    >>> short_name("bm25-k1=0.9-b=0.4-rm3-fb=10-docs.run")
    'bm25-k1=0.9-b…fb=10-docs.run'
    >>> short_name("2026-11-02", 8), short_name("bm25-docs-1.run", 8)
    ('2026-11-02', 'bm2….run')
    """
    half = longest // 2
    return name if len(name) <= max(longest, _WHOLE) else f"{name[: longest - half - 1]}…{name[-half:]}"


def _tells(name: str, cells: Sequence[str]) -> bool:
    return any(cells) and (name == "p" or len(cells) == 1 or len(set(cells)) > 1)


def _systems(finding: Answer) -> str:
    return f"{finding.system} and {finding.versus}" if finding.versus else finding.system


def _row(finding: Answer, places: int | None, longest: int) -> dict[str, str]:
    value, between = _parts(finding, places)
    versus = f" − {short_name(finding.versus, longest)}" if finding.versus else ""
    end = finding.half_width_at_end
    return {
        "measure": short_name(finding.measure, longest),
        "of": short_name(finding.system, longest) + versus,
        "segment": "" if finding.segment is None else short_name(finding.segment, longest),
        "value": value,
        "interval": between,
        **({} if (other := finding.other) is None else {OTHER_SCOPE[other.scope]: _parts(other, places)[1]}),
        "p": "" if finding.p_value is None else short_p(finding.p_value),
        "at the end": "" if end is None or not math.isfinite(end) else f"± {end:.2g}",
        "queries": f"{finding.n_queries:,}" if finding.n_queries else "",
        "judgments": f"{finding.n_items:,}" if finding.n_items else "",
    }


def _parts(finding: Answer, exact: int | None) -> tuple[str, str]:
    """Write the value, with its sign where it is a difference, and its interval."""
    places = exact if exact is not None else _places(finding)
    value = number(finding.value, places, signed=bool(finding.versus))
    return value, _between(finding, places)


def _places(finding: Answer) -> int:
    """Choose as many decimals as the interval is worth."""
    half = (finding.high - finding.low) / 2
    is_told = math.isfinite(half) and half > 0
    alone = abs(finding.value) / (_FINE / 10 if half == 0 else 1)
    return places_of(finding.value, half if is_told else alone)


def _between(finding: Answer, places: int) -> str:
    """Write the ends of an interval, or why there are none."""
    if not math.isfinite(finding.high - finding.low):
        return "not bounded"
    if finding.low < finding.high:
        return f"{number(finding.low, places)} to {number(finding.high, places)}"
    return f"the same in {all_of(finding.n_queries, 'query')}" if finding.is_constant else "exactly known"
