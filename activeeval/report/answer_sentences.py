"""Answers as sentences and tables: system, measure, value, interval, verdict and next step.

Estimates of samples, comparisons by judgments and campaigns are all an `activeeval.core.answers.Answer`, and print the
same on a terminal, in a notebook and on a page.
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
"""The population of an interval, by its scope."""
OTHER_SCOPE = {"pool": "these queries", "population": "queries like these"}
"""Column title of the interval of the other scope, which does not decide."""
_MOST_SENTENCES = 3
_FINE = 1000
"""An exactly known value is rounded to a thousandth of itself."""
_VERDICTS = ("better", "worse", "equal", "equivalent", "not worse", "undecided")
_LONGEST_NAME = 28
_ALWAYS = ("measure", "of", "value", "interval")
_SPARED = ("queries", "judgments")
_NAME_LENGTHS = (_LONGEST_NAME, 21, 15, 11, 8)
"""Maximal lengths of names, tried in order until the table fits its width."""
_WHOLE = len("2026-11-02")
"""Names up to this length are never shortened: dates and short ids."""
WIDTH = 100
"""Width in characters of a table for reading."""


def scope_in_words(scope: str, log: str = "") -> str:
    """Describe what an interval is about: these queries, or the population that they are a sample of.

    ``log`` is the query log from which they were drawn, "" for none.
    """
    return f"all the traffic of {log}" if log and scope == "population" else ABOUT[scope]


def intervals_in_words(confidence: str, kind: str = "t", readings: int = 1) -> str:
    """Describe intervals: confidence as text, kind ("t" is not named), number of interim analyses (`readings`).

    Examples
    --------
    >>> intervals_in_words("95 %"), intervals_in_words("95 %", readings=2)
    ('95 % intervals', '95 % intervals over 2 looks')
    """
    prefix = "" if kind == "t" else f"{kind} "
    return f"{confidence} {prefix}intervals{f' over {readings} looks' if readings > 1 else ''}"


def sentence(finding: Answer) -> str:
    """Format an answer as a sentence: systems, verdict, value with interval, counts, next step.

    Examples
    --------
    >>> print(sentence(Answer(system="new.run", versus="old.run", measure="DCG@10", value=0.14, low=0.05, high=0.23,
    ...                        n_queries=25, n_items=200)))
    new.run is better than old.run by 0.140 (0.050 to 0.230): DCG@10, 25 queries, 200 judgments.
    """
    where = "" if finding.segment is None else f" of {finding.segment}"
    subject, extent = f"{finding.measure}{where}", extent_of(finding)
    if not finding.is_bounded:
        return f"Nothing can be said yet of {_systems(finding)}: {subject} {figures(finding)}{extent}."
    if not finding.versus:
        return f"{finding.system}: {subject} {figures(finding)}{extent}{_other(finding)}."
    verdict, verdict_text = finding.verdict, _compared(finding)
    if verdict == "equal":
        return f"{verdict_text}: {subject}{'' if finding.same_lists else extent}."
    if verdict == "undecided" and finding.high >= 0:
        return f"{verdict_text}: {subject} {figures(finding)}{extent}{next_step(finding)}{_other(finding)}."
    if verdict == "not worse":
        return f"{verdict_text}: {subject} {figures(finding)}{extent}{_other(finding)}."
    return f"{verdict_text}: {subject}{extent}{next_step(finding)}{_other(finding)}."


def _compared(finding: Answer) -> str:
    """Format the verdict on a difference, with its size if the sign is known."""
    new, old, margin = finding.system, finding.versus, f"your margin of {finding.margin:g}"
    if finding.verdict == "equal":
        if finding.same_lists:
            what = "values" if finding.is_constant else "lists"
            return f"{new} and {old} have the same {what} in {all_of(finding.n_queries, 'query')}"
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
    """Format the absolute size of a difference of known sign, with its interval in ascending order."""
    if finding.low > 0:
        return figures(replace(finding, versus=""))
    return figures(replace(finding, versus="", value=-finding.value, low=-finding.high, high=-finding.low))


def _other(finding: Answer) -> str:
    """Format what holds for the other scope (these queries or their population) if it differs; "" if nothing."""
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
    _, between = _parts(other, None)
    return f"; {about} this is {verdict}: {between}{next_step(other)}"


def figures(finding: Answer, places: int | None = None) -> str:
    """Format a value with its interval in parentheses.

    ``places`` is the number of decimals; None chooses it by the width of the interval.

    Examples
    --------
    >>> figures(Answer(system="a", measure="DCG", value=7.3527, low=6.0982, high=8.6072, n_queries=9, n_items=90))
    '7.4 (6.1 to 8.6)'
    """
    value, between = _parts(finding, places)
    return f"{value} ({between})"


def table_of(findings: Sequence[Answer], places: int | None = None, width: int = WIDTH) -> list[dict[str, str]]:
    """Build table rows of findings as text; columns that are empty or constant are left out.

    Measure, system, value, interval and p-value are always shown.

    Parameters
    ----------
    places : int, optional
        Decimals; by default by the precision of each interval.
    width : int
        Width in characters; names are shortened to fit.
    """

    def rows_of(longest: int) -> list[dict[str, str]]:
        """Build the rows with names of at most `longest` characters, without columns that are empty or constant."""
        rows = [_row(finding, places, longest) for finding in findings]
        names = max(rows, key=len)
        cols = [name for name in names if name in _ALWAYS or _informs(name, [row.get(name, "") for row in rows])]
        return [{name: row.get(name, "") for name in cols} for row in rows]

    rows = fitting(rows_of, width)
    if table_width(rows) <= width:
        return rows
    # the sentences above the table have these counts
    return fitting(lambda longest: [without(row, *_SPARED) for row in rows_of(longest)], width)


def without(row: Mapping[str, str], *names: str) -> dict[str, str]:
    """Drop the named columns from a row."""
    return {name: cell for name, cell in row.items() if name not in names}


def table_width(rows: Sequence[Mapping[str, str]]) -> int:
    """Compute the width in characters of the aligned text table of rows."""
    columns = [max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]]
    return sum(columns) + 2 * (len(columns) - 1)


def fitting(rows_of: Callable[[int], list[dict[str, str]]], width: int = WIDTH) -> list[dict[str, str]]:
    """Build rows with names as long as a table of `width` characters allows, with the shortest names if none fits.

    Parameters
    ----------
    rows_of : callable
        Maps a maximal length of names to the rows.
    """
    rows: list[dict[str, str]] = []
    for longest in _NAME_LENGTHS:  # in decreasing order
        rows = rows_of(longest)
        if table_width(rows) <= width:
            break
    return rows


def headline(findings: Sequence[Answer]) -> list[str]:
    """Format the first sentences of an output, at most three: differences, worse ones first.

    If there are no differences, the sentences state values. If all answers are of segments (groups of queries), each
    measure and system gets one sentence on all segments.
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
    """Summarise answers of segments (groups of queries) in a sentence: the range of values, or verdicts counted."""
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
    """Format the warning that a run has no list for some queries, the first sentence of an output.

    Examples
    --------
    >>> missing_lists_sentence(75, 150, "half.run")
    '75 of 150 queries have no list in half.run: they count as 0.'
    """
    counts = agreeing(n_missing, "has no list in {}: it counts", "have no list in {}: they count").format(name)
    return f"{n_missing:,} of {counted(n_queries, 'query')} {counts} as 0."


def contest_sentence(measure: str, best: Sequence[str], n_systems: int, n_told: int, n_pairs: int) -> str:
    """Format which of several systems may be the best, and the number of separated pairs.

    Parameters
    ----------
    best : sequence of str
        The systems that may be the best.
    n_told, n_pairs : int
        Number of pairs with a decided difference, and of all pairs.

    Examples
    --------
    >>> contest_sentence("DCG@10", ["b.run"], 3, 2, 3)
    'b.run is the best of 3 by DCG@10; 2 of 3 pairs are decided, with simultaneous intervals.'
    """
    pairs = (
        f"{n_told} of {counted(n_pairs, 'pair')} {agreeing(n_told, 'is', 'are')} decided, with simultaneous intervals"
    )
    if len(best) == 1:
        return f"{best[0]} is the best of {n_systems} by {measure}; {pairs}."
    return f"Which of {n_systems} is the best by {measure} is open between {some_names(best)}; {pairs}."


def definitions(measures: Iterable[tuple[str, str]]) -> list[str]:
    """Format a definition of each measure whose displayed name is an abbreviation.

    Examples
    --------
    >>> definitions([("P@5", "P(rel=1)@5"), ("P@5", "P(rel=1)@5"), ("Judged@5", "Judged@5")])
    ['P@5 is P(rel=1)@5.']
    """
    return [f"{name} is {text}." for name, text in dict.fromkeys(measures) if name != text]


def some_names(names: Sequence[str], most: int = 3, longest: int = _LONGEST_NAME) -> str:
    """Join the first `most` names, of at most `longest` characters each, and the number of further ones.

    Examples
    --------
    >>> some_names(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    text = ", ".join(short_name(name, longest) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def short_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """Shorten a name to `longest` characters by replacing its middle with an ellipsis.

    Names of up to ten characters, such as dates, are kept.

    Examples
    --------
    >>> short_name("bm25-k1=0.9-b=0.4-rm3-fb=10-docs.run")
    'bm25-k1=0.9-b…fb=10-docs.run'
    >>> short_name("2026-11-02", 8), short_name("bm25-docs-1.run", 8)
    ('2026-11-02', 'bm2….run')
    """
    half = longest // 2
    return name if len(name) <= max(longest, _WHOLE) else f"{name[: longest - half - 1]}…{name[-half:]}"


def _informs(name: str, cells: Sequence[str]) -> bool:
    """Check whether a column is worth showing: not empty, and not constant unless it is "p" or has one row."""
    return any(cells) and (name == "p" or len(cells) == 1 or len(set(cells)) > 1)


def _systems(finding: Answer) -> str:
    """Name the system, or both systems of a difference."""
    return f"{finding.system} and {finding.versus}" if finding.versus else finding.system


def _row(finding: Answer, places: int | None, longest: int) -> dict[str, str]:
    """Build the table row of an answer.

    Names have at most `longest` characters, numbers `places` decimals (None: chosen).
    """
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
    """Format the value, signed for a difference, and its interval; `exact` is the number of decimals (None: chosen)."""
    places = exact if exact is not None else _places(finding)
    value = number(finding.value, places, signed=bool(finding.versus))
    return value, _between(finding, places)


def _places(finding: Answer) -> int:
    """Choose the number of decimals of an answer from the width of its interval."""
    half = (finding.high - finding.low) / 2
    has_width = math.isfinite(half) and half > 0
    # an exactly known value: two digits of a hundredth of it are a thousandth
    alone = abs(finding.value) / (_FINE / 10 if half == 0 else 1)
    return places_of(finding.value, half if has_width else alone)


def _between(finding: Answer, places: int) -> str:
    """Format an interval as "0.1 to 0.3", with `places` decimals; without one, "not bounded" or "exactly known".

    If the value is the same in all queries, the text is "the same in all 40 queries".
    """
    if not math.isfinite(finding.high - finding.low):
        return "not bounded"
    if finding.low < finding.high:
        return f"{number(finding.low, places)} to {number(finding.high, places)}"
    return f"the same in {all_of(finding.n_queries, 'query')}" if finding.is_constant else "exactly known"
