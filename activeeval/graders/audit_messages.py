"""The words of what there is to be wary of in a machine's grades, once people have judged a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from activeeval.report.words import Words


def _winner(numbers: Mapping[str, Any]) -> str:
    how = "and the labels are sure of it" if numbers["is_sure"] else "though the labels leave that open"
    return f"its winner is not people's: by {{measure}} it puts {{by_grader}} first, people {{winner}}, {how}"


_SLOPE = "by {slope:+.2g} ± {std_error:.2g} for each grade of its"

WORDS: dict[str, Words] = {
    "grader turned": f"is it turned round? people's grades fall as its values rise, {_SLOPE}",
    "grader says little": f"its values say little: people's grades change {_SLOPE}, with the correlation "
    f"{{correlation:.2f}}",
    "grader winner": _winner,
    "grader made run": "{measure}: it favours the run that it has made: its bias for {run} is {excess:+.3g} beyond the "
    "others'",
    "grader made another": "{run}, which it has made, is none of the sample's systems ({systems}): nothing is "
    "said of it",
    "grader drift": "its {kind}s differ: {most} gives {high:+.2f} more than people, {least} {low:+.2f}",
    "grader replies missing": "{n:,} of {of:item} that count ({share:.0%}) {n:has|have} no reply and "
    "{n:counts|count} as the mean of the answered items of the query; queries without any are left out",
    "grader mapped": "its values {least:g} to {largest:g} are taken for people's 0 to {top}, on a line",
    "grader stray": "{n:,} of its grades {n:lies|lie} beyond people's 0 to {top} and {n:counts|count} as missing; if "
    "{n:it belongs|they belong} to its "
    "scale, say so, as FILE:scale=0-5",
    "grader low scale": "none of its grades is above {largest}, people's go to {top}: if its scale ends there, say so, "
    "as FILE:scale=0-{largest}",
    "audit out of reach": "{measure}: this sample was not drawn for what is asked as {questions}, which is left out",
}
