"""How far a campaign is, and what it waits for, in words; a face names the command that does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from activeeval.campaigns.report.judges_content import Step, StepKind
from activeeval.campaigns.report.phrases import amount_of
from activeeval.core.answers import Answer
from activeeval.report.answer_sentences import some_names
from activeeval.report.numbers import agreeing, counted

_STEPS: dict[StepKind, tuple[str, str]] = {
    "judge": ("judge what waits", "writes the next batch to judge"),
    "wait": ("what waits is in judges' hands", "takes a sheet back: what waits is in judges' hands"),
    "top up": ("add about {budget} to the budget, which should decide", "adds what should decide"),
    "draw": ("a new sample with about {budget} more should decide", "writes up what this one says"),
    "stop": ("the goal is reached, judging may stop", "writes it up: the goal is reached, judging may stop"),
    "done": ("all is judged", "writes it up: all is judged"),
}
"""What to do without a command, and what a command that does it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingProgress:
    """How much of a campaign is judged.

    Attributes
    ----------
    done, planned : int
        Items that have a grade, and all, those that cannot be judged with them.
    noun : str
        What they are called, "judgment" where each is judged once.
    block, blocks : int
        Complete, and planned.
    missing : int
        Of the lowest block that is open.
    judges : sequence of str
        Who has judged, the most busy first.
    batch : int
        The number of the last one, where depths follow labels; 0 where they follow none.
    goes_on : bool
        Whether something waits, or labels lead to more.
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
    """Return how far a campaign is.

    Examples
    --------
    >>> far = JudgingProgress(done=70, planned=200, noun="judgment", block=1, blocks=4, missing=30, judges=["ann", "bob"])
    >>> print(reached_sentence(far))
    70 of 200 judgments, by ann and bob; block 1 of 4 is complete, 30 more complete the next.
    """
    if not reached.planned:
        return "Nothing was to be judged."
    done = f"{reached.done:,} of {counted(reached.planned, reached.noun)}"
    done += f", by {_people(reached.judges)}" if reached.judges else ""
    if reached.block == reached.blocks:
        return f"{done}; {'the block is' if reached.blocks == 1 else f'all {reached.blocks} blocks are'} complete."
    if reached.batch:
        return f"{done}; {_of_batches(reached)}."
    verb = agreeing(reached.missing, "completes", "complete")
    if not reached.block:
        more = " more" if reached.done else ""
        return f"{done}; nothing can be read yet: {reached.missing:,}{more} {verb} block 1 of {reached.blocks}."
    return f"{done}; block {reached.block} of {reached.blocks} is complete, {reached.missing:,} more {verb} the next."


def aside_sentence(*, late: int, put_off: int, cannot: int, in_hand: int = 0) -> str:
    """Return what is late, put off, cannot be judged or is in judges' hands; nothing where nothing is.

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
    """Return what the interval of one question should come to in the end; of several their table says it.

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
    """Return what to do next, by a command or without one.

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
    """Return the word that a step begins with."""
    return "Done:" if step.kind in ("stop", "done") else "Next:"


def after_command(step: Step) -> str:
    """Return what the command of a step does."""
    return _STEPS[step.kind][1]


def without_command(step: Step) -> str:
    """Return what to do, where no command is known."""
    return _STEPS[step.kind][0].format(budget=amount_of(step.budget))


def _of_batches(reached: JudgingProgress) -> str:
    """Return what can be read where what comes next follows from what is judged."""
    can = f"block {reached.block} of {reached.blocks} is complete" if reached.block else "nothing can be read yet"
    more = "what comes next follows from what is judged" if reached.goes_on else "the budget pays for nothing further"
    return f"this is batch {reached.batch}, {can}, {more}"


def _people(names: Sequence[str]) -> str:
    return f"{names[0]} and {names[1]}" if len(names) == 2 else some_names(names)
