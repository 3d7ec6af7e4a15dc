"""Draw the next batch of a sample with adaptive depth, once the previous sheets are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from activeeval.core.campaign.labels import Progress
from activeeval.core.errors import InputError
from activeeval.core.judgments.policies import Agreement
from activeeval.core.results import Caution, Note
from activeeval.formats.tables.draws import read_draws
from activeeval.sampling.draw import with_texts
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.judged_samples import judged
from activeeval.sampling.read_samples import read_sample
from activeeval.sampling.sheets import SheetPlan

_REPORTED_BEFORE = ("judges grade", "ideal of the pool", "batch", "two units", "two units of the first block")
"""Codes of notes that were reported when the sample was drawn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextBatch:
    """Next batch of a sample.

    Attributes
    ----------
    sample : DrawnSample
        The sample with its next batch; the judged sample without one if it is complete.
    sample_id : str
        Id of the sample after this step.
    n_items : int
        Number of new items; 0 if the sample is complete.
    number : int
        Number of the batch.
    spent, budget : float
        Cost of all items so far, and the budget, in mean items (the mean item costs 1).
    progress : Progress
        Numbers of items that are judged, waiting and unjudgeable.
    agreement : Agreement
        Numbers of items judged by several judges, and of those on which they agree.
    n_unread : int
        For a complete sample, the number of judged items that estimates do not use.
    is_again : bool
        True if the batch had been drawn before and its sheet was written again.
    """

    sample: DrawnSample
    sample_id: str
    n_items: int
    number: int
    spent: float
    budget: float
    progress: Progress
    agreement: Agreement
    n_unread: int = 0
    is_again: bool = False


def follow(
    path: str,
    sheets: Sequence[str],
    plan: SheetPlan,
    *,
    policy: str = "refuse",
    machine_is_truth: bool = False,
    documents: str | None = None,
    queries: str | None = None,
    say: Callable[[Note | Caution], object] = lambda note: None,
) -> NextBatch:
    """Draw the next batch of a sample whose labels decide how deep it is judged (adaptive depth).

    The sample's file is replaced, and the sheet of new items is written.
    Either all files are written or none. If `sheets` lack the last batch, which was drawn before, its sheet is written
    again and the sample stays unchanged. If the sample is complete, it records the depths reached.

    Parameters
    ----------
    sheets : sequence of str
        Judged sheets of all batches so far.
    plan : SheetPlan
        Path of the new sheet, and its judges.
    policy, machine_is_truth
        Rule for different grades by several judges; and True to accept grades of LLMs or other models as labels.
    documents, queries : str, optional
        Tables of texts, if not those that the sample used before.
    say : callable
        Called with each note.

    Raises
    ------
    InputError
        If the sample has no adaptive depth, or sheets are missing or belong to another sample.
    StateError
        If an item still waits for a grade.
    """

    def say_new(note: Note | Caution) -> None:
        """Pass a note on, unless it was reported when the sample was drawn."""
        if note.code not in _REPORTED_BEFORE:
            say(note)

    drawn, sample_id = read_sample(path)
    if drawn.campaign.paths is None:  # no adaptive depth
        raise InputError(
            f"{path}: all of this sample was drawn at once, without adaptive depth: judge its sheet, then estimate"
        )
    if drawn.n_before and _lacks_last(drawn, sheets):
        again, texts = with_texts(drawn, plan.path, documents, queries, say_new)
        again.write_sheet(plan, sample_id, texts)
        campaign = drawn.campaign
        return _followed(drawn, sample_id, campaign.progress, campaign.agreement, is_new=True, is_again=True)
    sample, progress, agreement = judged(path, sheets, policy, machine_is_truth=machine_is_truth)
    following, is_new = sample.following(sample_id)
    if not is_new:
        is_recorded = sample.campaign.keeps_what_labels_led_to  # the file has the depths reached already
        written = sample_id if is_recorded else following.write_alone(path)
        return _followed(following, written, progress, agreement, is_new=False)
    grown, texts = with_texts(following, plan.path, documents, queries, say_new)
    return _followed(grown, grown.write(path, plan, texts), progress, agreement, is_new=True)


def _lacks_last(drawn: DrawnSample, sheets: Sequence[str]) -> bool:
    """Check whether sheets cover all batches but the last, and no item of the last."""
    draws = [read_draws(sheet) for sheet in sheets]
    pairs_on_sheets = {
        pair for draw in draws for pair in zip(draw.query_id.tolist(), draw.doc_id.tolist(), strict=True)
    }
    before = {(u.query_id, doc) for u in drawn.campaign.planned[: drawn.n_before] for doc in u.item_ids}
    return before <= pairs_on_sheets and pairs_on_sheets.isdisjoint(drawn.pairs)


def _followed(
    sample: DrawnSample,
    sample_id: str,
    progress: Progress,
    agreement: Agreement,
    *,
    is_new: bool,
    is_again: bool = False,
) -> NextBatch:
    """Build the result of `follow`, which draws the next batch of items to judge.

    ``is_new`` is True if there is another batch, ``is_again`` if an earlier batch is only written to a sheet again.
    """
    campaign = sample.campaign
    units = campaign.planned[sample.n_before :]
    return NextBatch(
        sample=sample,
        sample_id=sample_id,
        n_items=sum(len(unit.items) for unit in units) if is_new else 0,
        number=units[-1].block,
        spent=sum(unit.cost for unit in campaign.planned),
        budget=campaign.design.budget or 0.0,
        progress=progress,
        agreement=agreement,
        n_unread=0 if is_new else campaign.n_unread,
        is_again=is_again,
    )
