"""What was found of a question, in words: a sentence that says which of what, how sure and what next, and a table.

A finding is plain numbers with the names of what they are of, so that estimates of samples, comparisons by judgments
and campaigns are told alike, on a terminal, in a notebook and on a page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from activeeval.results import Needed

_DIGITS = 2
"""Of a half-width that begins with 1 or 2: ± 0.14 beside ± 0.1 would be half as wide again; ± 0.5 says enough."""
ABOUT = {
    "pool": "these queries: what judging all of them would give",
    "population": "all the queries that these are a sample of",
}
"""What an interval is about, by its scope."""
_MOST_SENTENCES = 3
_FINE = 1000
"""A value that is exactly known is shown to a thousandth of itself; one that nothing bounds to itself."""
_COUNTED = {"better": "better", "worse": "worse", "equal": "equal", "equivalent": "alike", "open": "open",
            "unbounded": "of which nothing can be said yet"}  # fmt: skip
_LONGEST_NAME = 28
_ALWAYS = ("measure", "of", "value", "interval")
_NAME_LENGTHS = (_LONGEST_NAME, 21, 15, 11, 8)
"""Names are cut to the first of these at which a table is no wider than it may be."""
WIDTH = 100
"""Columns of a table for reading."""


def scope_in_words(scope: str, log: str = "") -> str:
    """Return what an interval is about; ``log`` is the one that the queries were drawn from, where there is one."""
    return f"all the traffic of {log}" if log and scope == "population" else ABOUT[scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The value of a system, or by how much it is above another, with its interval.

    Attributes
    ----------
    system, versus : str
        Which system, and the one that is taken off; empty where none is.
    measure : str
        As it is shown.
    value, low, high : float
        Of an interval with room for what the items may be worth that could not be judged.
    n_queries : int
        Judged ones.
    n_items : int or None
        Judged ones; None where whole queries were judged by comparisons.
    p_value : float or None
        Of a difference.
    segment : str or None
        The queries that it is about, where these are not all.
    half_width_at_end : float or None
        What is to be expected once all is judged, where something waits.
    needed : Needed or None
        What should decide a difference that is open.
    margin : float
        A difference that does not matter.
    is_supported : bool
        Whether what was judged supports the interval; else it is not to be used.
    is_constant : bool
        Whether all queries have one value, so that the interval, of no width, tells nothing of other queries.
    """

    system: str
    measure: str
    value: float
    low: float
    high: float
    n_queries: int
    n_items: int | None
    versus: str = ""
    p_value: float | None = None
    segment: str | None = None
    half_width_at_end: float | None = None
    needed: Needed | None = None
    margin: float = 0.0
    is_supported: bool = True
    is_constant: bool = False

    @property
    def verdict(self) -> str:
        """The first that holds: unbounded, value (of one system), equal, equivalent, better, worse, open."""
        if not self.is_supported or not math.isfinite(self.high - self.low):
            return "unbounded"
        if not self.versus:
            return "value"
        if self.low == self.high == 0:
            return "equal"
        if -self.margin <= self.low and self.high <= self.margin:
            return "equivalent"
        if self.low > 0 or self.high < 0:
            return "better" if self.low > 0 else "worse"
        return "open"


def sentence(finding: Finding) -> str:
    """Return what was found as a sentence.

    Examples
    --------
    >>> print(sentence(Finding(system="new.run", versus="old.run", measure="DCG@10", value=0.14, low=0.05, high=0.23,
    ...                        n_queries=25, n_items=200)))
    new.run is better than old.run: DCG@10 +0.14 (0.05 to 0.23), 25 queries, 200 judgments.
    """
    where = "" if finding.segment is None else f" of {finding.segment}"
    numbers = f"{finding.measure}{where} {figures(finding)}{_extent(finding)}"
    says = {
        "value": f"{finding.system}: {numbers}.",
        "equal": f"{finding.system} and {finding.versus} are exactly equal: {numbers}.",
        "equivalent": f"{finding.system} and {finding.versus} differ by no more than {finding.margin:g}: {numbers}.",
        "better": f"{finding.system} is better than {finding.versus}: {numbers}.",
        "worse": f"{finding.system} is worse than {finding.versus}: {numbers}.",
        "unbounded": f"Nothing can be said yet of {_systems(finding)}: {numbers}.",
        "open": f"{finding.system} and {finding.versus} cannot be told apart: {numbers}{_next(finding)}.",
    }
    return says[finding.verdict]


def figures(finding: Finding, places: int | None = None) -> str:
    """Return the value with its interval in brackets, as many digits as the interval is worth, or as asked for.

    Examples
    --------
    >>> figures(Finding(system="a", measure="DCG", value=7.3527, low=6.0982, high=8.6072, n_queries=9, n_items=90))
    '7.4 (6.1 to 8.6)'
    """
    value, between = _parts(finding, places)
    return f"{value} ({between})"


def table_of(findings: Sequence[Finding], places: int | None = None, width: int = WIDTH) -> list[dict[str, str]]:
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
        kept = [name for name in rows[0] if name in _ALWAYS or _tells(name, [row[name] for row in rows])]
        return [{name: row[name] for name in kept} for row in rows]

    return fitting(rows_of, width)


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
        columns = [max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]]
        if sum(columns) + 2 * (len(columns) - 1) <= width:
            break
    return rows


def headline(findings: Sequence[Finding]) -> list[str]:
    """Return the sentences that an output begins with: of the differences, else of the values; at most three.

    Of segments one that counts them, for each measure.
    """
    whole = [finding for finding in findings if finding.segment is None]
    differences = [finding for finding in whole if finding.versus]
    if whole:
        return [sentence(finding) for finding in (differences or whole)[:_MOST_SENTENCES]]
    families: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        families.setdefault((finding.measure, _systems(finding)), []).append(finding)
    return [_of_segments(family) for family in list(families.values())[:_MOST_SENTENCES]]


def _of_segments(findings: Sequence[Finding]) -> str:
    first, n = findings[0], len(findings)
    if not first.versus:
        low, high = (choose(findings, key=lambda finding: finding.value) for choose in (min, max))
        between = f"{figures(low)} for {low.segment} and {figures(high)} for {high.segment}"
        return f"{first.system}, {n} segments: {first.measure} lies between {between}."
    counted = Counter(finding.verdict for finding in findings)
    counts = ", ".join(f"{counted[verdict]} {words}" for verdict, words in _COUNTED.items() if counted[verdict])
    return f"{first.system} and {first.versus} by {first.measure}, {n} segments: {counts}; all intervals hold at once."


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
    pairs = f"{n_told} of {n_pairs} pairs are told apart, all with one confidence"
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
    """
    half = longest // 2
    return name if len(name) <= longest else f"{name[: longest - half - 1]}…{name[-half:]}"


def short_p(p_value: float) -> str:
    """Return a p value in as few figures as it takes.

    Examples
    --------
    >>> [short_p(value) for value in (0.38571, 0.0412, 0.00042)]
    ['.39', '.041', '< .001']
    """
    if p_value < 0.001:
        return "< .001"
    text = f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"
    return text.removeprefix("0") if p_value < 1 else "1"


def about(amount: float) -> int:
    """Return a number in its first two figures, rounded up.

    Examples
    --------
    >>> about(1042), about(58.3)
    (1100, 59)
    """
    step = int(10.0 ** max(math.floor(math.log10(max(amount, 1))) - 1, 0))
    return math.ceil(amount / step) * step


def _tells(name: str, cells: Sequence[str]) -> bool:
    return any(cells) and (name == "p" or len(cells) == 1 or len(set(cells)) > 1)


def _systems(finding: Finding) -> str:
    return f"{finding.system} and {finding.versus}" if finding.versus else finding.system


def _row(finding: Finding, places: int | None, longest: int) -> dict[str, str]:
    value, between = _parts(finding, places)
    versus = f" − {short_name(finding.versus, longest)}" if finding.versus else ""
    end = finding.half_width_at_end
    return {
        "measure": short_name(finding.measure, longest),
        "of": short_name(finding.system, longest) + versus,
        "segment": "" if finding.segment is None else short_name(finding.segment, longest),
        "value": value,
        "interval": between,
        "p": "" if finding.p_value is None else short_p(finding.p_value),
        "at the end": "" if end is None or not math.isfinite(end) else f"± {end:.2g}",
        "queries": f"{finding.n_queries:,}" if finding.n_queries else "",
        "judgments": f"{finding.n_items:,}" if finding.n_items else "",
    }


def _parts(finding: Finding, exact: int | None) -> tuple[str, str]:
    """Return the value, with its sign where it is a difference, and its interval."""
    half = (finding.high - finding.low) / 2
    is_told = math.isfinite(half) and half > 0
    worth = half if is_told else abs(finding.value) / (_FINE if half == 0 else 1)
    places = exact if exact is not None else places_of(worth)
    if places < 0:  # all digits
        return f"{finding.value!r}", _between(finding, repr)
    value = f"{finding.value:{'+' if finding.versus else ''}.{places}f}"
    value = value if float(value) else value.lstrip("+-")
    return _minus(value), _between(finding, lambda end: _minus(f"{end:.{places}f}"))


def _between(finding: Finding, written: Callable[[float], str]) -> str:
    """Return the ends of an interval, or why there are none."""
    if not math.isfinite(finding.high - finding.low):
        return "not bounded"
    if finding.low < finding.high:
        return f"{written(finding.low)} to {written(finding.high)}"
    return f"the same in all {finding.n_queries:,} queries" if finding.is_constant else "exactly known"


def places_of(half_width: float) -> int:
    """Return decimals that show a half-width in two digits where it begins with 1 or 2, else in one."""
    if half_width <= 0:
        return _DIGITS
    power = math.floor(math.log10(half_width))
    leading = half_width / 10.0**power
    return max((_DIGITS if leading < 3 else 1) - 1 - power, 0)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _extent(finding: Finding) -> str:
    """Return how much was judged; nothing where everything was known before."""
    judged = "" if finding.n_items is None else f", {finding.n_items:,} judgments"
    return f", {finding.n_queries:,} {'query' if finding.n_queries == 1 else 'queries'}{judged}" * bool(
        finding.n_queries
    )


def _next(finding: Finding) -> str:
    """Return what should decide an open difference, as far as that can be told."""
    needed = finding.needed
    if needed is None:
        return ""
    if needed.queries is not None:
        return f"; about {about(needed.queries):,} queries like these, all judged, should decide"
    if needed.budget is None:
        return ""
    if needed.budget == 0:
        return "; judging what waits should decide"
    more = f"about {about(needed.budget):,} more {needed.unit}"
    return f"; {more} should decide" if needed.can_grow else f"; a new sample with {more} should decide"
