"""Message texts of cautions and notes shared by several capabilities, by code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from activeeval.report.answer_sentences import missing_lists_sentence
from activeeval.report.numbers import agreeing, counted

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageWords

_LOOKED_AT = "the interval that is valid at the end of every block is ± {widest:.3g}"
_MEAN_GAIN = "lower median (estimates take the mean gain)"
_TWO_UNITS = "budget {budget:g} is below what two units may take together, {needed:g}: the error can be very large"
_MOST_NAMED = 4
_MUCH = 1.5
"""Ratio of the interval for all queries to that for the pool above which a plan mentions both."""


def _size(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template that tells why there is no effective sample size.

    An effective sample size is the number of random, completely judged queries with the same precision.
    """
    why = {
        "chunks": "it is not known for items of a pool in chunks",
        "too few": "there are too few judged queries to see how queries differ",
    }
    return f"no effective sample size: {why[numbers['why']]}"


def _untrained(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template for the uniform grade model, used for lack of training data."""
    few = "{n_known:known grade} {n_known:is|are} too few to learn from (two grades are needed, each in ten queries), "
    few += "and "
    ways = "{option[train]} or {option[judged]} train one"
    return f"{few if numbers['n_known'] is not None else ''}no training data: the uniform grade model is used ({ways})"


def _blocks(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template of the sizes of blocks (parts after which a sample is read)."""
    *others, last = numbers["n_items"]
    sizes = f"{', '.join(map(str, others))} and {counted(last, 'item')}"
    return f"{{n:block}} of {sizes}: the sample can be read when a block is complete"


def _batch(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template of the budget of a batch (its labels decide the next one)."""
    text = "batch {number}: the next batch depends on its labels, up to {budget:,.4g} in all"
    if numbers["number"] > 1:
        return text
    fewer = "off draws all at once" if numbers["adaptive_depth"] == "1" else "1 makes fewer batches, off one"
    return f"{text}; {{option[adaptive_depth]}} {fewer}"


def _mixture(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template that lists the weights of a mixture of grade models."""
    shares = (f"{{models[{k}]}} {weight:.2f}" for k, weight in enumerate(numbers["weights"]))
    return f"a mixture of grade models, by training queries: {', '.join(shares)}"


def _to_judge(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template of the size and cost of a sample."""
    met = " (met on average)" if numbers["expected"] else ""
    paid = f"cost {{spent:.6g}} of {{budget:.6g}}{met}; 1 is the judging of one mean item"
    if numbers["unit"] == "judgments":
        paid = f"{{spent:.6g}} of {{budget:.6g judgment}}{met}"
    which = (
        "{n_items:new item} of {n_queries:query}; with those before"
        if numbers["n_before"]
        else "{n_items:item} of {n_queries:query},"
    )
    return f"{'everything will be judged, ' if numbers['everything'] else ''}{which} {paid}"


def _small_segments(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template that lists segments with too few judged queries."""
    whose = " for {questions}" if numbers["questions"] else ""
    return f"fewer than {{fewest:judged query}}, no estimate{whose}: {{segments}}"


def _beyond(numbers: Mapping[str, Any]) -> str:
    """Build the template of judged items that lie beyond the complete part of a sample, and so are not used yet.

    `numbers` are those of the note.
    """
    read = agreeing(numbers["n"], "it is not used now, and is", "they are not used now, and are")
    return f"{{n:judged item}} {{n:lies|lie}} beyond the completely judged part: {read} not judged again after a top-up"


def _rounds(numbers: Mapping[str, Any]) -> str:
    """Build the template that lists the planned weights of rounds (successive samples of a campaign).

    `numbers` are those of the note.
    """
    return f"{{measure}} ({{question}}): {counted(len(numbers['weights']), 'round')}, planned weights {{weights:.3f}}"


def _policies(numbers: Mapping[str, Any]) -> str:
    """Build the template that numbers the policies (ways to combine grades of judges who differ).

    `numbers` are those of the note.
    """
    named = (f"{k + 1} {{policies[{k}]}}" for k in range(len(numbers["policies"])))
    return f"the fourth column is the policy: {', '.join(named)}"


def _pilots(numbers: Mapping[str, Any]) -> str:
    """Build the template of observed over expected variance in a pilot (a judged sample that corrects a plan).

    `numbers` are those of the note.
    """
    text = "the pilot's variance around the grade model's predictions is {ratio:.2g} times the expected one "
    text += "(95 %: {low:.2g} to {high:.2g}): half-widths are multiplied by {factor:.2g}"
    if numbers["may_be_chance"]:
        return text
    problem = "too sure of itself" if numbers["ratio"] > 1 else "less sure of itself than it could be"
    return f"{text}; the grade model is miscalibrated, {problem}"


def _paid(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template of a budget with its hours."""
    everything = ", all there are" if numbers["everything"] else ""
    hours = "" if numbers["hours"] is None else " ({hours:.3g hour})"
    return f"{{budget:{numbers['unit'][:-1]}}}{everything}{hours}"


def _each(numbers: Mapping[str, Any], of: str = "half_widths", *, with_range: bool = False) -> str:
    """Build from a note's `numbers` the template that lists the half-widths of the first four questions.

    `of` is the field with the half-widths; `with_range` adds the range in four of five samples.
    """
    n = len(numbers["names"])
    parts = [
        f"{{names[{k}]}} ± {{{of}[{k}]:.3g}}" + (_range(numbers, k) if with_range else "")
        for k in range(min(n, _MOST_NAMED))
    ]
    return "; ".join(parts) + (f"; and {n - _MOST_NAMED} more" if n > _MOST_NAMED else "")


def _range(numbers: Mapping[str, Any], k: int = 0) -> str:
    """Build the template of the range of question k's half-width in four of five samples; "" before the first label.

    `numbers` are those of the note.
    """
    return "" if numbers["lows"][k] is None else f" ({{lows[{k}]:.3g}} to {{highs[{k}]:.3g}})"


def _width_unknown(numbers: Mapping[str, Any]) -> str:
    """Build the template that tells that the forecast's error is unknown before the first label.

    `numbers` are those of the note.
    """
    first = "batch" if numbers["n"] is None else f"block, of {{n:{numbers['unit'][:-1]}}}"
    return f"without labels the error of this forecast is not known: see the half-width after the first {first}"


def _advice(numbers: Mapping[str, Any]) -> str:
    """Build the template of the budget that reaches a goal, or the half-width of a budget, against random queries.

    `numbers` are those of the note.
    """
    n, paid = len(numbers["names"]), _paid(numbers)
    if numbers["goal"] is not None:
        goal = "{names[0]}: {goal}" if n == 1 else f"{{goal}} for each of {n} questions"
        between = "" if numbers["least"] is None else " ({least:,.0f} to {most:,.0f})"
        first = f"{goal} takes about {paid}{between} by {{method}}"
    elif n == 1:
        first = f"{{names[0]}}: {paid} by {{method}} give ± {{half_widths[0]:.3g}}{_range(numbers)}"
    else:
        first = f"{paid} by {{method}} give {_each(numbers, with_range=True)}"
    few = (
        ", of {n_queries:,.0f query}: fewer than {few} give a rough interval"
        if numbers["n_queries"] < numbers["few"]
        else ""
    )
    random = "random queries judged whole are not as precise before all {of:query} {of:is|are} judged"
    if numbers["passive"] is not None:
        random = "random queries judged whole would need {passive:,.0f}, {times:.1f} times that"
    return f"{first}{few}; {random}"


def _planned(numbers: Mapping[str, Any]) -> str:
    """Build from a note's `numbers` the template of the expected number of queries and half-widths."""
    scopes = zip(numbers["of_all"], numbers["half_widths"], strict=True)
    text = f"expected from about {{n_queries:,.0f query}}: {_each(numbers, with_range=True)}"
    if any(wide > _MUCH * half for wide, half in scopes):
        about = "all the traffic of {log}" if numbers.get("log") else "all queries that these are a sample of"
        text += f"; about {about}: {_each(numbers, 'of_all')}"
    return text


def _limits(numbers: Mapping[str, Any]) -> str:
    """Build the template of the smallest half-width that any choice of items reaches by the grade model.

    `numbers` are those of the note.
    """
    text = "for {budget:,} the best choice of items by this grade model gives ± {limit:.3g}"
    if numbers["between"] is not None:
        text += "; {between:.0%} of the variance comes from the choice of queries, the rest from that of items"
    if numbers["free"] is not None:
        text += "; without overhead per query, ± {free:.3g}"
    return text + "; the model predicts {explained:.0%} of the variance between queries"


WORDS: dict[str, MessageWords] = {
    # of estimates
    "unbounded": "the judged queries show no spread: there is no interval, judge more",
    "no spread": "the {n_open:judged query} {n_open:shows|show} no spread: the interval comes from the variance that "
    "was expected before judging, judge more",
    "more spread": "the grade model is far too sure of itself (standard error {std_error:.3g}, planned "
    "{planned:.3g}): train the model of the next sample on these grades, which then costs less",
    "one query": "query {query_id!r} alone has {share:.0%} of the expected variance: the interval can be too short",
    "model turned": "people's grades fall as those of {model} rise (slope {slope:.2g} ± {std_error:.2g}, 1 if its "
    "grades are right): is its scale reversed? The estimate is valid; draw the rest again, with these in `judged`",
    "model says little": "people's grades hardly rise with those of {model} (slope {slope:.2g} ± {std_error:.2g}, 1 "
    "if its grades are right): the estimate is valid and needs more judgments; a new sample with these in `judged` "
    "learns it",
    "early": "an early reading, of {share:.0%} of the planned budget",
    "cannot": "{n_items:item} could not be judged, taken {treated}: between {low:.6g} and {high:.6g} at the grades "
    "that lower or raise it most",
    "size": _size,
    "two units": _TWO_UNITS,
    "dear": lambda numbers: (
        f"{{measure}} with {{budget:,.0f {numbers['unit'][:-1]}}}: {{n_queries:,.0f query}}, ± {{half_width:.2g}}; "
        "{instead} instead: {instead_queries:,.0f query}, ± {instead_half_width:.2g}"
    ),
    "two units of the first block": f"read at the end of the first block, {_TWO_UNITS}",
    # of costs
    "goal budget": "{goal} takes a budget of {budget}, if the grade model is right about its error",
    "costs by clocks": "costs by the judges' clocks: {model}; {option[cost]} uniform leaves them out",
    # of files
    "long lines": "{source}: {n:line} {n:has|have} more than six columns; the others are ignored",
    "rising scores": "{source}: the scores rise with the ranks, and the highest counts as the best: are the scores "
    "reversed?",
    "equal scores": "{source}: all {n:score} are equal: its lists have the order of ties",
    "vast scores": "{source}: {n:score} beyond 2^53 {n:equals|equal} another of their query, maybe only once rounded: "
    "whole numbers of that size cannot be distinguished",
    "tiny scores": "{source}: {n:score} {n:equals|equal} another of their query as a number, not as text: numbers "
    "below 2e-308 cannot be distinguished, so they are ties",
    "lost segments": "{source}: the pool holds no query of segment {segments}",
    "outside segments": "{n:query} of the pool {n:has|have} no segment",
    "of a sample": "{source}: these are judgments of a sample: scores without their weights are misleading; use "
    "`{instead}`",
    "cannot count": "{source}: {n:item} could not be judged: {n:it counts|they count} as not judged",
    "texts recalled": "the texts of the {what} are those of {source}, as before",
    "texts changed": "the texts of the {what} are those of {source}, which has changed since",
    "texts gone": lambda numbers: (
        f"the texts of the {{what}} are not shown: {{source}} no longer exists ({{option[{numbers['what']}]}})"
    ),
    "missing texts": lambda numbers: (
        f"{{n:,}} of {{of:{'query' if numbers['what'] == 'queries' else 'item'}}} {{n:has|have}} no text in {{source}}"
    ),
    # of a pool and its rankings
    "missing queries": lambda numbers: missing_lists_sentence(numbers["n"], numbers["of"], "{name}").removesuffix("."),
    "unjudged queries": "{n:query} of {names} {n:has|have} no judgments: ignored",
    "unjudged items": "{n:,} of {of:item} {which} {n:is|are} not judged: {n:it counts|they count} as grade 0 "
    "({option[unjudged]} irrelevant)",
    "skipped answers": "{source}: {n:answer} {n:was|were} skipped or put off by {n:its judge|their judges}: left out",
    "no zero": "{source}: no grade is 0, the smallest is {least}: on a scale from {least} the worst items earn a gain",
    "gains": "{source}: some grades are fractions: grades are used as gains",
    "condensed": "{n:,} of {of:ranked item} {n:has|have} no judgment: left out of the lists ({option[condensed]})",
    "no relevant document": lambda numbers: (
        "{n:,} of {of:query} {n:has|have} no relevant document: "
        + (
            "{n:it is|they are} left out ({option[no_relevant]} zero counts {n:it|them} as 0)"
            if numbers["rule"] == "skip"
            else "{n:it counts|they count} as 0 ({option[no_relevant]} skip leaves {n:it|them} out)"
        )
    ),
    "nothing relevant": "no judgment of the {of:query} is above 0, so no document is relevant: check the column of the "
    "grades",
    "pool depth": "the pool is the first {depth} of each list: {n_left_out:item} below {n_left_out:is|are} "
    "left out ({option[pool_depth]})",
    "lists end": "the lists of the sample end at rank {depth}, so does {measure}",
    # of what is known, and learned
    "low grades": "{source}: no grade is above {largest} on a scale to {max_grade}: are its grades of another scale?",
    "foreign grades": "{n:,} of {of:grade} of {source} {n:is for an item|are for items} outside the pool",
    "several grades": "{n:known item} {n:has|have} several grades, {n_alike} of them alike (policy: {policy})",
    "queries that train": "{n:,} of {of:query} {n:trains|train} the model and {n:is|are} not measured "
    "({option[train]}); {option[judged]} measures {n:it|them} too, and trains on {n:it|them}",
    "left out of training": "{n:ranked item} of the training queries {n:is|are} not judged: left out of training",
    "learned from known": "the grade model learns from {n_grades:known grade} of {n_queries:query}, each query's "
    "from those of the others",
    "no training data": _untrained,
    "mean of models": "the mean of {n:grade model}: too few labels to weight them",
    "mixture": _mixture,
    "fitted models": "estimates are fitted to {models} too",
    # of a sample
    "nothing to judge": "no judgments are needed: all items that can change an answer have grades",
    "to judge": _to_judge,
    "planned without looks": "planned without adaptive depth, which saves more",
    "ids trusted": "not checked: whether a query is in two partitions ({option[engine]} …,trust-ids)",
    "blocks": _blocks,
    "batch": _batch,
    "strict without looks": "{option[strict_order]} reads below the lowest item that waits: the depth is not adaptive",
    "few queries": "{n_queries:judged query} {n_queries:gives|give} a rough interval; with {enough} or more it is "
    "reliable",
    "judges compare": "for {measures}, judges find the {k} best of every query, two items at a time",
    "judges grade": "for {measures}, judges give grades 0 … {max_grade}",
    "ideal of the pool": "nDCG, R and AP compare with the best order of {n_items:all item} of the pool, which "
    "{option[pool_depth]} limits: relevant documents outside are not counted, so values are larger than with all "
    "judgments of a collection",
    "comparisons": "the top {k} of a query {k:takes|take} {per_query:.3g comparison} on average; a budget of 100 is "
    "{per_hundred:.0f} of them, {minutes:.0f minute} at {seconds:g} s each",
    "planned": _planned,
    # of a plan
    "pilots": _pilots,
    "budget to take": _advice,
    "no interval to expect": lambda numbers: (
        f"{_paid(numbers)} by {{method}} give no interval: about {{n_queries:,.0f query}} are fewer than the "
        "estimator needs"
    ),
    "width unknown": _width_unknown,
    "limits": _limits,
    "population floor": lambda numbers: (
        f"about all queries, as a gate: {_each(numbers)} with these {{n_queries:query}}, even if everything is judged"
    ),
    "population unknown": "there is no interval about all queries that these are a sample of: it needs two queries",
    # of answers
    "small segments": _small_segments,
    "rounds": _rounds,
    "corrected grades": "{n:grade} {n:was|were} corrected since a later round was drawn; the current {n:one|ones} "
    "{n:counts|count}",
    "first round alone": "estimated from the first round alone: {n:more item} {n:waits|wait} for grades",
    "judged beyond": _beyond,
    # of a campaign
    "half-width reached": f"± {{wanted:g}} is reached: judging may stop; {_LOOKED_AT}",
    "half-width not reached": f"± {{wanted:g}} is not reached yet; {_LOOKED_AT}",
    # of a campaign written out
    "judgments written": "{n:judgment}",
    "ranks as grades": "grades are ranks, {k} the first: they are not relevance",
    "judgments of complete blocks": "{n:judgment} of blocks 1 to {last}, {n_known:grade} known before",
    "asked beyond left out": "{n:judgment}, made ahead, {n:lies|lie} beyond the part that is used: {n:it is|they are} "
    "left out",
    "later blocks left out": "{n:judgment} of blocks that are not complete {n:is|are} left out",
    "judgments of a sample": "these are judgments of a sample: scores without weights are misleading; use `{instead}`",
    "policies by number": _policies,
    "events written": "{n:event}",
    "judgments by judge": "{n:judgment}, one row each judge",
    "rows without a grade": "{n:row} of items that cannot be judged",
    "truths written": "{n:the truth|the truths} of {n:query}",
    "weights written": "{n:item} of the sample, with the probabilities of all of it",
    "known grades left out": "{n:grade} known before {n:is|are} not in it, prels has {n:it|them}",
    "queries of one text": "{n:query} {n:has|have} the text of another: Quepid takes them for one",
    "ratings written": "{n:rating}",
    "request written": "{n:query}; set INDEX and the query for your index",
    "nearest metric": "the metric is the nearest that the engines have to {measure}, of the judged documents as they "
    "are, without weights: to compare runs, not to estimate",
    "grade of judges": lambda numbers: (
        f"an item's grade is the {_MEAN_GAIN if numbers['policy'] == 'mean-gain' else '{policy}'} of its {{n:judge}}"
    ),
    # why a comparison stays undecided
    "open by cannot": "it is undecided because of the items that could not be judged",
    "nothing bounded": "these judgments give no interval: judge more queries",
    "outlook unknown": "it is unknown how many more judgments would decide it",
    "margin needed": "with a difference so near to 0 only a {option[margin]} can decide it",
}
