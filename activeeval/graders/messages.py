"""Messages about graders: missing and stray replies, prices, trust, and audits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from activeeval.report.numbers import all_of, counted

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageWords


_MOST_OTHERS = 3
"""Largest number of alternative graders, or sets of graders, named beside the recommended one."""


def _counted(numbers: Mapping[str, Any]) -> str:
    """Format the names and counts among a note's `numbers`, as "gpt 1,200, none named 3"."""
    names, counts = numbers["names"], numbers["counts"]
    return ", ".join(f"{name or 'none named'} {count:,}" for name, count in zip(names, counts, strict=True))


def _plain(text: str) -> str:
    """Escape braces so that a template shows `text` unchanged."""
    return text.replace("{", "{{").replace("}", "}}")


def _missing(numbers: Mapping[str, Any]) -> str:
    """Build the template, from a note's `numbers`, that tells how many items have no grade.

    These are counted in the pool and, if known, among the items that can change the answer.
    """
    unread = ", {n_unread:,} of them whose reply has no valid grade" if numbers["n_unread"] else ""
    of_pool = "{n:,} of {of:item} of the pool ({share:.0%})"
    n_counted, of_counted = numbers.get("n_counted"), numbers.get("of_counted")
    if of_counted is None or of_counted == numbers["of"]:
        return f"{{source}}: no grade for {of_pool}{unread}: these count as missing"
    if n_counted == 0:
        return f"{{source}}: a grade for {{of_counted:all item}} that can change the answer; none for {of_pool}{unread}"
    share = f"({n_counted / of_counted:.0%})"
    of_answer = f"{{n_counted:,}} of {{of_counted:item}} that can change the answer {share}"
    return f"{{source}}: no grade for {of_answer}, and for {of_pool}{unread}: these count as missing"


def _asked(numbers: Mapping[str, Any]) -> str:
    """Build the part of a template, from a note's `numbers`, with the price of asking graders about all items."""
    names = _plain(" and ".join(numbers["names"]))
    money = "" if numbers["money"] is None else ", {money:,.2f} in money"
    return f"{names} about {{n_items:all item}} costs {{cost:,.1f}} {{unit}}{money}"


def _part(way: str, n_items: int) -> str:
    """Describe which items a grader is asked about.

    `way` is "all", or the number of first places of each list; `n_items` is the number of these items.
    """
    return (
        all_of(n_items, "item") if way == "all" else f"the first {way} places of each list, {counted(n_items, 'item')}"
    )


def _asking(numbers: Mapping[str, Any]) -> str:
    """Build the template, from a note's `numbers`, that recommends which items to ask graders about.

    It compares the expected half-widths of the alternatives.
    """
    # a way is "none", "all" or a number of first places of each list; asked_of is the number of items asked about
    name, chosen = _plain(" and ".join(numbers["names"])), numbers["places"]
    ways = list(zip(numbers["ways"], numbers["asked_of"], numbers["half_widths"], strict=True))
    others = [
        f"{'without it' if way == 'none' else f'asked about {_part(way, n)},'} ± {width:.3g}"
        for way, n, width in ways
        if way != chosen and math.isfinite(width)
    ]
    of_others = zip(numbers.get("others", ()), numbers.get("half_widths_of_others", ()), strict=True)
    nearest = sorted((width, name) for name, width in of_others if math.isfinite(width))[:_MOST_OTHERS]
    instead = ", ".join(f"{_plain(name)} ± {width:.3g}" for width, name in nearest)
    others += [f"other graders about all items: {instead}"] if instead else []
    if chosen == "none":
        advice = f"do not ask {name}: all {{budget:,.0f}} by people should give ± {{half_width:.3g}}"
    else:
        share = numbers["n_asked"] / numbers["n_items"]
        money = "" if numbers["money"] is None else f", {numbers['money'] * share:,.2f} in money"
        advice = (
            f"ask {name} about {_part(chosen, numbers['n_asked'])}: that costs {{asking:,.1f}} of {{budget:,.0f}} "
            f"{{unit}}{money}; {{left:,.1f}} by people should then give ± {{half_width:.3g}}"
        )
    skill = (
        ""
        if numbers["skill"] is None
        else ". Its values are assumed to have a correlation of {skill:.2g} with people's grades"
    )
    return "; ".join([advice, *others]) + skill


def _winner(numbers: Mapping[str, Any]) -> str:
    """Build the template, from a note's `numbers`, of a winner by the grader that differs from that of human labels."""
    how = "with certainty" if numbers["is_sure"] else "but not with certainty"
    return f"its best run by {{measure}} is {{by_grader}}, people's is {{winner}}, {how}"


_SLOPE = "by {slope:+.2g} ± {std_error:.2g} for each grade"

WORDS: dict[str, MessageWords] = {
    "grader price": lambda numbers: (
        "{name} has a price of 0: asking it is free"
        if numbers["is_free"]
        else "{name} costs {price:g} of a person's judgment an item: at that price ask people"
    ),
    "grader distrusted": (
        "people's {n_items:known grade} hardly {n_items:rises|rise} with those of {name} (slope {value:.2g} ± "
        "{std_error:.2g}, expected 1): it is used only as a covariate, not for sampling"
    ),
    "asking": _asking,
    "asking apart": lambda numbers: (
        f"budgets are people's judgments: the cost of asking {_plain(' and '.join(numbers['names']))} is not included"
    ),
    "asking paid": lambda numbers: (
        f"of the budget of {{budget:,.4g}} {{unit}} {_plain(' and '.join(numbers['names']))} takes {{cost:,.4g}}: the "
        "rest is for people"
    ),
    "asking as dear as people": lambda numbers: (
        f"do not ask it: asking {_asked(numbers)}, {{price:g}} of a person's price an item; at that price ask people"
    ),
    "asking costs nothing": lambda numbers: f"ask it about everything: asking {_asked(numbers)}",
    "asking takes the budget": lambda numbers: (
        f"do not ask it: asking {_asked(numbers)}, which leaves too little of {{budget:,.0f}} for people"
    ),
    "grader beyond scale": "{source}: {n:,} of {of:value} {n:is|are} beyond the scale {least:g} to {largest:g} and "
    "{n:counts|count} as missing",
    "grader foreign": "{source}: {n:,} of {of:grade} {n:is for an item|are for items} outside the pool",
    "grader missing": _missing,
    "grader one value": "{source}: all {n:grade} are {value:g}, so they do not distinguish items",
    "grader models mixed": lambda numbers: (
        f"{{source}}: grades of several models are mixed: {_plain(_counted(numbers))}; use one file for each"
    ),
    "grader prompts mixed": lambda numbers: (
        f"{{source}}: grades by several prompts are mixed: {_plain(_counted(numbers))}; use one file for each"
    ),
    "grader of people": "{source}: {n:grade} of people {n:is|are} left out",
    "all judged": "{n:,} of {of:item} {n:is|are} judged already by {sources}: are these people's grades? give a "
    "grader's with {option[grader]}",
    "machines left out": "{source}: {n:judgment} of graders {n:is|are} left out: only people's are labels",
    "machine is truth": "{source}: {n:grade} of a grader {n:is|are} used as labels: the estimate measures how well "
    "systems please this grader ({option[machine_is_truth]})",
    # of an audit
    "grader turned": f"is its scale reversed? people's grades fall as its values rise, {_SLOPE}",
    "grader says little": f"its values carry little information: people's grades change {_SLOPE}, the correlation "
    f"is {{correlation:.2f}}",
    "grader winner": _winner,
    "grader made run": "{measure}: it favours its own run: its bias for {run} is {excess:+.3g} larger than for the "
    "others",
    "grader made another": "its own run {run} is not among the sample's systems ({systems}) and not audited",
    "grader drift": "its {kind}s differ: {most} gives {high:+.2f} more than people, {least} {low:+.2f}",
    "grader replies missing": "{n:,} of {of:item} that count ({share:.0%}) {n:has|have} no reply and "
    "{n:counts|count} as the mean of the answered items of the query; queries without any are left out",
    "grader mapped": "its values {least:g} to {largest:g} are mapped linearly to people's 0 to {top}",
    "grader stray": "{n:,} of its grades {n:lies|lie} beyond people's 0 to {top} and {n:counts|count} as missing; if "
    "{n:it belongs|they belong} to its scale, give FILE:scale=0-5",
    "grader low scale": "none of its grades is above {largest}, people's go to {top}: if its scale ends there, give "
    "FILE:scale=0-{largest}",
    "audit out of reach": "{measure}: the sample cannot answer {questions}, which is left out",
}
