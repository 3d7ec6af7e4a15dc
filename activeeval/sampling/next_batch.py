"""The next batch of a sample whose depths follow labels, once the sheets so far are judged."""

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

_SAID_BEFORE = ("judges grade", "ideal of the pool", "batch", "two units", "two units of the first block")
"""Notes on a sample that whoever drew it has been told."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextBatch:
    """What comes next of a sample.

    Attributes
    ----------
    sample : DrawnSample
        With its next batch; as it was, judged, where nothing comes next.
    sample_id : str
    n_items : int
        How many items are new; 0 where nothing comes next.
    number : int
        Of the batch.
    spent, budget : float
        What all that was asked costs, and what it may, in mean items.
    n_unread : int
        How many judged items an estimate does not read, where nothing comes next.
    is_again : bool
        Whether the batch had been drawn before, and its sheet was written once more.
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
    """Draw the next batch of a sample, and write it in the sample's place with the sheet of what is new.

    All files or none. Where the sheets are those of all batches but the last, which was drawn before, its sheet is
    written once more, and the sample stays. Where nothing comes next the sample keeps what its labels have led to.

    Parameters
    ----------
    sheets : sequence of str
        Of all batches so far, judged.
    plan : SheetPlan
        Where the new one goes, and who judges it.
    documents, queries : str, optional
        What judges read, where it is not to be looked up where the sample had it.

    Raises
    ------
    InputError
        Where the sample was drawn at once, or sheets are not its own or not all.
    StateError
        Where an item waits.
    """

    def say_new(note: Note | Caution) -> None:
        if note.code not in _SAID_BEFORE:
            say(note)

    drawn, sample_id = read_sample(path)
    if drawn.campaign.paths is None:
        raise InputError(
            f"{path}: all of this sample was drawn at once, and stands on its sheet: judge that, and read it"
        )
    if drawn.n_before and _lacks_last(drawn, sheets):
        again, texts = with_texts(drawn, plan.path, documents, queries, say_new)
        again.write_sheet(plan, sample_id, texts)
        campaign = drawn.campaign
        return _followed(drawn, sample_id, campaign.progress, campaign.agreement, is_new=True, is_again=True)
    sample, progress, agreement = judged(path, sheets, policy, machine_is_truth=machine_is_truth)
    following, is_new = sample.following(sample_id)
    if not is_new:
        is_kept = sample.campaign.keeps_what_labels_led_to
        written = sample_id if is_kept else following.write_alone(path)
        return _followed(following, written, progress, agreement, is_new=False)
    kept, texts = with_texts(following, plan.path, documents, queries, say_new)
    return _followed(kept, kept.write(path, plan, texts), progress, agreement, is_new=True)


def _lacks_last(drawn: DrawnSample, sheets: Sequence[str]) -> bool:
    """Return whether sheets hold what all batches but the last asked for, and nothing of that."""
    draws = [read_draws(sheet) for sheet in sheets]
    held = {pair for draw in draws for pair in zip(draw.query_id.tolist(), draw.doc_id.tolist(), strict=True)}
    before = {(u.query_id, doc) for u in drawn.campaign.planned[: drawn.n_before] for doc in u.item_ids}
    return before <= held and held.isdisjoint(drawn.pairs)


def _followed(
    sample: DrawnSample,
    sample_id: str,
    progress: Progress,
    agreement: Agreement,
    *,
    is_new: bool,
    is_again: bool = False,
) -> NextBatch:
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
