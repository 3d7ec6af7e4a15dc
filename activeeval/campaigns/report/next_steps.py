"""Sentences on a campaign's progress and next step; the caller supplies the command of the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from activeeval.campaigns.report.judges_content import Step, StepKind
from activeeval.campaigns.report.phrases import amount_of
from activeeval.core.answers import Answer
from activeeval.report.answer_sentences import some_names
from activeeval.report.numbers import agreeing, counted

_STEPS: dict[StepKind, tuple[str, str]] = {
    "judge": ("judge the waiting items", "writes the next batch to judge"),
    "wait": ("the waiting items are in judges' hands", "imports a sheet: the waiting items are in judges' hands"),
    "top up": ("add about {budget} to the budget, which should decide", "adds what should decide"),
    "draw": ("a new sample with about {budget} more should decide", "writes the report of this one"),
    "stop": ("the goal is reached, judging may stop", "writes the report: the goal is reached, judging may stop"),
    "done": ("all is judged", "writes the report: all items are judged"),
}
"""For each step: an instruction without a command, and a description of what its command does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingProgress:
    """Progress of judging in a campaign.

    Attributes
    ----------
    done, planned : int
        Items with a grade, and all items including those that cannot be judged.
    noun : str
        Noun for items; "judgment" if each is judged once.
    block, blocks : int
        Number of complete blocks (parts of the sample), and of planned blocks.
    missing : int
        Waiting items of the lowest open block.
    judges : sequence of str
        Judges, by decreasing number of judgments.
    batch : int
        Number of the last batch of items that followed from labels; 0 without adaptive depth.
    goes_on : bool
        True if items wait or labels lead to more.
    """

    done: int
    planned: int
    noun: str
    block: int
    blocks: int
    missing: int
    judges: Sequence[str]
    batch: int = 0
    goes_on: bool = False


def reached_sentence(reached: JudgingProgress) -> str:
    """State how much of a campaign is judged, by whom, and which blocks (parts of the sample) are complete.

    Examples
    --------
    >>> counts = {"done": 70, "planned": 200, "block": 1, "blocks": 4, "missing": 30}
    >>> far = JudgingProgress(**counts, noun="judgment", judges=["ann", "bob"])
    >>> print(reached_sentence(far))
    70 of 200 judgments, by ann and bob; block 1 of 4 is complete, 30 more complete the next.
    """
    if not reached.planned:
        return "There is nothing to judge."
    done = f"{reached.done:,} of {counted(reached.planned, reached.noun)}"
    done += f", by {_people(reached.judges)}" if reached.judges else ""
    if reached.block == reached.blocks:
        return f"{done}; {'the block is' if reached.blocks == 1 else f'all {reached.blocks} blocks are'} complete."
    if reached.batch:
        return f"{done}; {_of_batches(reached)}."
    verb = agreeing(reached.missing, "completes", "complete")
    if not reached.block:
        more = " more" if reached.done else ""
        return f"{done}; no estimate is possible yet: {reached.missing:,}{more} {verb} block 1 of {reached.blocks}."
    return f"{done}; block {reached.block} of {reached.blocks} is complete, {reached.missing:,} more {verb} the next."


def aside_sentence(*, late: int, put_off: int, cannot: int, in_hand: int = 0) -> str:
    """State how many answers are late or in judges' hands and how many items are deferred or impossible to judge.

    ``late`` answers came after the item had gone to another judge; ``put_off`` counts deferred items; ``in_hand``
    counts answers to claimed items. Empty if all are 0.

    Examples
    --------
    >>> aside_sentence(late=3, put_off=1, cannot=0)
    '3 answers came too late to count; 1 item is put off.'
    """
    parts = [
        f"{counted(late, 'answer')} came too late to count" if late else "",
        f"{counted(put_off, 'item')} {agreeing(put_off, 'is', 'are')} put off" if put_off else "",
        f"{counted(cannot, 'item')} cannot be judged" if cannot else "",
        f"{counted(in_hand, 'answer')} {agreeing(in_hand, 'is', 'are')} in judges' hands" if in_hand else "",
    ]
    text = "; ".join(filter(None, parts))
    return text and f"{text}."


def expected_sentence(findings: Sequence[Answer]) -> str:
    """State the half-width of the interval expected when all is judged; empty unless there is exactly one question.

    Examples
    --------
    >>> early = Answer(system="a", measure="DCG", value=7, low=4, high=10, n_queries=9, n_items=90,
    ...                 half_width_at_end=1.25)
    >>> expected_sentence([early])
    'Once all is judged the interval should be about ± 1.2 (now ± 3).'
    """
    end = findings[0].half_width_at_end if len(findings) == 1 else None
    if end is None:
        return ""
    now = (findings[0].high - findings[0].low) / 2
    return f"Once all is judged the interval should be about ± {end:.2g} (now ± {now:.2g})."


def next_sentence(step: Step, command: str = "") -> str:
    """State the next step, with its command if one is given.

    ``command`` is the shell command that carries out the step.

    Examples
    --------
    >>> next_sentence(Step(kind="judge"), "activeeval campaign next autumn --out batch.csv")
    'Next: `activeeval campaign next autumn --out batch.csv` writes the next batch to judge.'
    >>> next_sentence(Step(kind="done"))
    'Done: all is judged.'
    """
    before = before_command(step)
    return f"{before} `{command}` {after_command(step)}." if command else f"{before} {without_command(step)}."


def before_command(step: Step) -> str:
    """Choose the word that begins a step's sentence: "Done:" if judging may end, else "Next:"."""
    return "Done:" if step.kind in ("stop", "done") else "Next:"


def after_command(step: Step) -> str:
    """Describe what the command of a step does, as the end of a sentence that begins with the command."""
    return _STEPS[step.kind][1]


def without_command(step: Step) -> str:
    """Describe a step without naming a command."""
    return _STEPS[step.kind][0].format(budget=amount_of(step.budget))


def _of_batches(reached: JudgingProgress) -> str:
    """State which batch this is, what can be estimated, and whether more items follow.

    This is for a campaign with adaptive depth: the labels of a batch of items decide the next batch.
    """
    can = f"block {reached.block} of {reached.blocks} is complete" if reached.block else "no estimate is possible yet"
    more = "the next items depend on the judgments" if reached.goes_on else "the budget allows no further items"
    return f"this is batch {reached.batch}, {can}, {more}"


def _people(names: Sequence[str]) -> str:
    """Join judges' names; a long list is abbreviated."""
    return f"{names[0]} and {names[1]}" if len(names) == 2 else some_names(names)
