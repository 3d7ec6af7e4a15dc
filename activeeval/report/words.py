"""The words of every caution and note, by their codes: the library counts and names, the sentences are made here alone.

A template may hold numbers, as ``{share:.0%}``, and parameters of the library, as ``{option[max_grade]}``, for which a
face has words of its own: a command line its options, Python a name in backticks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from activeeval.results import Caution, Note, Told

Plain = float | int | str | None | list["Plain"]
"""What JSON knows of a note's numbers."""
Words = str | Callable[[Mapping[str, Any]], str]
"""A template, or what chooses or makes one of the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """A caution or a note with its sentence, as scripts read it.

    Attributes
    ----------
    level : {"note", "careful", "do not use"}
    code, text : str
    numbers : dict
        JSON's own types; what is not finite is None.
    """

    level: str
    code: str
    text: str
    numbers: dict[str, Plain]


def in_backticks(parameter: str) -> str:
    """Return how a text names a parameter of the library where nobody says otherwise."""
    return f"`{parameter}`"


def text_of(said: Note | Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Return the sentence of a note, or of a caution without its level; a code without words as it is.

    Parameters
    ----------
    written : callable
        How a parameter of the library is named.

    Examples
    --------
    >>> text_of(Caution("note", "early", {"share": 0.5}))
    'an early reading, of 50% of the planned budget'
    """
    if said.code == "input":
        rest = dict(said.numbers)
        return text_of(Note(str(rest.pop("note")), rest), written)
    words = _CAUTIONS.get(said.code) or _NOTES.get(said.code)
    if words is None:
        return str(Note(said.code, said.numbers))
    template = words if isinstance(words, str) else words(said.numbers)
    numbers = {name: _Listed(value) if isinstance(value, tuple) else value for name, value in said.numbers.items()}
    return template.format(**numbers, option=_Named(written))


def line_of(caution: Caution, written: Callable[[str], str] = in_backticks) -> str:
    """Return a caution as a line that begins with its level.

    Examples
    --------
    >>> line_of(Caution("do not use", "unbounded"))
    'do not use: the judged queries show no spread: they bound nothing, judge more'
    """
    return f"{caution.level}: {text_of(caution, written)}"


def worded(said: Note | Caution, written: Callable[[str], str] = in_backticks) -> Worded:
    """Return a caution, or a note as one of the lowest level, with its sentence."""
    level = said.level if isinstance(said, Caution) else "note"
    numbers = {name: _plain(value) for name, value in said.numbers.items()}
    return Worded(level=level, code=said.code, text=text_of(said, written), numbers=numbers)


def _plain(value: Told) -> Plain:
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Listed(tuple[Told, ...]):
    """Several values, which a template shows with commas between."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return ", ".join(format(value, spec) for value in self)


class _Named(dict[str, str]):
    """Parameters by their names, each as a face writes it."""

    def __init__(self, written: Callable[[str], str]) -> None:
        super().__init__()
        self._written = written

    def __missing__(self, parameter: str) -> str:
        return self._written(parameter)


def _carried(numbers: Mapping[str, Any]) -> str:
    named = " and ".join(f"{{query_ids[{k}]!r}} {share:.0%}" for k, share in enumerate(numbers["shares"]))
    more = "{cost:,} more {unit}, as many as so far,"
    grow = f"{more} spread it" if numbers["can_grow"] else f"a new sample of {more} spreads it"
    return f"single judged queries carry much of the variance ({named}): check their grades; {grow}"


def _size(numbers: Mapping[str, Any]) -> str:
    why = {
        "chunks": "items of a pool in chunks do not tell",
        "too few": "the judged queries tell too little of how queries differ",
    }
    return f"no effective sample size: {why[numbers['why']]}"


def _of_run(numbers: Mapping[str, Any]) -> str:
    if numbers["name"]:
        return "run {name!r}"
    if numbers["n_runs"] == 1:
        return "the run"
    return {1: "the first run", 2: "the second run"}.get(numbers["place"], "run {place}")


def _untrained(numbers: Mapping[str, Any]) -> str:
    few = "{n_known} known grades are too few to learn from (two grades are needed, each in ten queries), and "
    ways = "{option[train]}, {option[train_qrels]} or {option[train_fraction]} train one"
    return f"{few if numbers['n_known'] is not None else ''}no training data: the uniform grade model is used ({ways})"


def _mixture(numbers: Mapping[str, Any]) -> str:
    shares = (f"{{models[{k}]}} {weight:.2f}" for k, weight in enumerate(numbers["weights"]))
    return f"a mixture of grade models, by training queries: {', '.join(shares)}"


def _to_judge(numbers: Mapping[str, Any]) -> str:
    met = " (met on average)" if numbers["expected"] else ""
    paid = f"cost {{spent:.6g}} of {{budget:.6g}}{met}; 1 is the judging of one mean item"
    if numbers["unit"] == "judgments":
        paid = f"{{spent:.6g}} of {{budget:.6g}} judgments{met}"
    which = (
        "new items of {n_queries} queries; with those before"
        if numbers["n_before"]
        else "items of {n_queries} queries,"
    )
    return f"{'everything is to be judged, ' if numbers['everything'] else ''}{{n_items}} {which} {paid}"


def _small_segments(numbers: Mapping[str, Any]) -> str:
    whose = " for {questions}" if numbers["questions"] else ""
    return f"fewer than {{fewest}} judged queries, not read{whose}: {{segments}}"


def _rounds(numbers: Mapping[str, Any]) -> str:
    return f"{{measure}} ({{question}}): {len(numbers['weights'])} rounds, planned weights {{weights:.3f}}"


def _pilots(numbers: Mapping[str, Any]) -> str:
    text = "the pilot's values vary {ratio:.2g} times as much around what the grade model predicts as it expects "
    text += "(95 %: {low:.2g} to {high:.2g}): half-widths are multiplied by {factor:.2g}"
    if numbers["may_be_chance"]:
        return text
    what = "too sure of itself" if numbers["ratio"] > 1 else "less sure of itself than it could be"
    return f"{text}; the grade model is miscalibrated, {what}"


def _paid(numbers: Mapping[str, Any]) -> str:
    everything = ", all there are," if numbers["everything"] else ""
    hours = "" if numbers["hours"] is None else " ({hours:.3g} hours)"
    return f"{{budget:,}} {{unit}}{everything}{hours} by {{method}}"


_TAKEN = "about {n_items:,.0f} items of {n_queries:,.0f} queries"


def _advice(numbers: Mapping[str, Any]) -> str:
    between, first = "± {low:.3g} to {high:.3g}", _paid(numbers)
    if numbers["goal"] is None:
        first += f": {between}"
    else:
        first = f"{{goal}} takes {first} ({{least:,.0f}} to {{most:,.0f}}), which give {between}"
    few = " (fewer than {few} make a rough interval)" if numbers["n_queries"] < numbers["few"] else ""
    random = "random queries judged whole are not as precise before all are judged"
    if numbers["passive"] is not None:
        random = "random queries judged whole would need {passive:,.0f}, {times:.1f} times that"
    return f"{first}: {_TAKEN}{few}; {random}"


def _limits(numbers: Mapping[str, Any]) -> str:
    text = "for {budget:,} the best choice of items by this grade model comes to ± {limit:.3g}"
    if numbers["between"] is not None:
        text += "; {between:.0%} of the variance is which queries are judged, the rest which items"
    if numbers["free"] is not None:
        text += "; were turning to a query free, to ± {free:.3g}"
    return text + "; the model knows {explained:.0%} of how queries differ beforehand"


_TWO_UNITS = "budget {budget:g} is below what two units may take together, {needed:g}: the error can be very large"
_CAUTIONS: dict[str, Words] = {
    "unbounded": "the judged queries show no spread: they bound nothing, judge more",
    "no spread": "the {n_open} judged queries show no spread: the interval rests on what was expected before anything "
    "was judged, judge more",
    "less spread": "the sample saw less spread than expected (standard error {std_error:.3g}, planned {planned:.3g}): "
    "rare large differences may be missing from it, for which the interval makes room; judge more",
    "more spread": "the grade model is far too sure of itself (standard error {std_error:.3g}, planned "
    "{planned:.3g}): let these grades teach the model of the next sample, which costs less then",
    "few decide": "few of the {n_open} judged queries decide the estimate ({degrees_of_freedom:.1f} effective degrees "
    "of freedom)",
    "one query": "{share:.0%} of what chance leaves out is of query {query_id!r} alone: the interval can be far too "
    "short",
    "carried": _carried,
    "early": "an early reading, of {share:.0%} of the planned budget",
    "cannot": "{n_items} items could not be judged, taken {treated}: between {low:.6g} and {high:.6g} at the grades "
    "that lower or raise it most",
    "size": _size,
    "two units": _TWO_UNITS,
    "two units of the first block": f"read at the end of the first block, {_TWO_UNITS}",
}
_NOTES: dict[str, Words] = {
    # of files
    "long lines": "{source}: {n} lines have more than six columns, the rest is ignored",
    "rising scores": "{source}: the scores rise with the ranks, and the highest counts as the best: is it turned "
    "round?",
    "equal scores": "{source}: all {n} scores are equal, the order of ties alone makes its lists",
    "vast scores": "{source}: {n} scores beyond 2^53 equal another of their query, maybe once rounded alone: whole "
    "numbers of that size are not told apart",
    "lost segments": "{source}: the pool holds no query of segment {segments}",
    "outside segments": "{n} queries of the pool are in no segment",
    "of a sample": "{source}: these are judgments of a sample; scored plainly they mislead, without their weights: "
    "`{instead}` has them",
    "cannot count": "{source}: {n} items could not be judged: they count as not judged",
    "texts recalled": "the texts of the {what} are those of {source}, as before",
    "texts changed": "the texts of the {what} are those of {source}, which has changed since",
    "texts gone": lambda numbers: (
        f"the texts of the {{what}} are not shown: {{source}} is there no longer ({{option[{numbers['what']}]}})"
    ),
    "missing texts": "{n} of {of} {what} have no text in {source}",
    # of a pool and its rankings
    "missing queries": lambda numbers: f"{{n}} of {{of}} queries are missing from {_of_run(numbers)}: they score 0",
    "unjudged queries": lambda numbers: f"{{n}} queries of {_of_run(numbers)} have no judgments: ignored",
    "pool depth": "the pool is the first {depth} of each list: {n_left_out} items behind them are left out "
    "({option[pool_depth]})",
    "lists end": "the lists of the sample end at rank {depth}, so does {measure}",
    # of what is known, and learned
    "low grades": "{source}: no grade is above {largest} on a scale to {max_grade}: are its grades of another scale?",
    "foreign grades": "{n} of {of} grades of {source} are of items that are not in the pool",
    "several grades": "{n} known items have several grades, {n_alike} of them alike (policy: {policy})",
    "left out of training": "{n} ranked items of the training queries are not judged: left out of training",
    "learned from known": "the grade model learns from {n_grades} known grades of {n_queries} queries, each query's "
    "from those of the others",
    "no training data": _untrained,
    "mean of models": "the mean of {n} grade models: too few labels to weigh them",
    "mixture": _mixture,
    "fitted models": "estimates are fitted to {models} too",
    # of a sample
    "nothing to judge": "nothing is to be judged: all that can change an answer is known",
    "to judge": _to_judge,
    "blocks": "{n} blocks of {n_items} items: the sample may be read once one is complete",
    "few queries": "{n_queries} judged queries make a rough interval; with {enough} or more it can be relied on",
    "judges compare": "for {measures}, judges find the {k} best of every query, two items at a time",
    "judges grade": "for {measures}, judges give grades 0 … {max_grade}",
    "ideal of the pool": "nDCG, R and AP compare with the best order of all {n_items} items of the pool, which "
    "{option[pool_depth]} bounds: relevant ones outside are not counted, so they are larger than with all judgments "
    "of a collection",
    "comparisons": "the top {k} of a query take {per_query:.3g} comparisons on average; a budget of 100 is "
    "{per_hundred:.0f} of them, {minutes:.0f} minutes at {seconds:g} s each",
    # of a plan
    "pilots": _pilots,
    "budget to take": _advice,
    "no interval to expect": lambda numbers: (
        f"{_paid(numbers)} give no interval: {_TAKEN}, fewer than an estimate with a fit takes"
    ),
    "limits": _limits,
    "population floor": "for all queries that these are a sample of, ± {half_width:.3g} remains however much is judged "
    "of these",
    "population unknown": "of all queries that these are a sample of nothing is known: that takes two queries at least",
    # of answers
    "small segments": _small_segments,
    "rounds": _rounds,
    "corrected grades": "{n} grades were corrected since a later round was drawn, and count as now",
    "first round alone": "read from the first round alone: {n} more wait for judgments",
    # why a comparison stays undecided
    "open by cannot": "the items that could not be judged leave it open",
    "nothing bounded": "these judgments bound nothing: more queries have to be judged",
    "outlook unknown": "what was judged does not tell how much more would decide it",
    "margin needed": "with a difference this near to 0 only a {option[margin]} can decide it",
}
