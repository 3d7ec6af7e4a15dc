"""What a judge of top-k judging does at a page: says which of two documents is better, goes back by replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from activeeval.errors import InputError
from activeeval.judgments.log import Event
from activeeval.store import Acknowledged, ItemTexts, Store
from activeeval.tasks.campaigns.at_desk import JudgesDesk, PageDesk
from activeeval.tasks.campaigns.comparing import Comparing, Question, claim_comparison
from activeeval.tasks.campaigns.controls import Controls
from activeeval.tasks.campaigns.desk_views import ItemView, Reply
from activeeval.tasks.campaigns.live import Left, Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A document of a pair, with its number among those of the query, by which its frame is known."""

    item: ItemView
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """The page of a judge who compares.

    Attributes
    ----------
    query_id, query : str
        Empty where nothing is left.
    sides : tuple of Side
        Left and right, as the store has thrown them; empty where nothing is left.
    low, high : int
        How many comparisons the query may still take: nine times of ten it is between these.
    n_compared : int
        How many answers of the query count so far.
    """

    left: Left
    lease_s: int
    precision: Precision | None
    token: str = ""
    query_id: str = ""
    query: str = ""
    sides: tuple[Side, ...] = ()
    low: int = 0
    high: int = 0
    n_compared: int = 0


@dataclass(slots=True)
class PairsDesk(PageDesk):
    """Where judges compare two documents at a time."""

    @property
    def k(self) -> int:
        """How many of the best of a query are asked for."""
        refusal = f"campaign {self.name}: its items are graded, not compared"
        return self.store.campaign(self.name).judging.of_ranks(refusal).k

    def page(self, judge: str) -> PairView:
        """Return the page of a judge, who has the query then."""
        return self._view(claim_comparison(self.store, self.name, judge, self.k))

    def answer(self, event: Event, token: str, reply: Reply) -> Acknowledged:
        """Store what a judge says of a pair that was shown in an event, with what it settles; see `Desk.submit`."""
        return self.desk.submit(token, self.said(event, reply))

    def undo(self, judge: str) -> Acknowledged | None:
        """Take a judge's last comparison back, of the query in hand or of the one settled last; None without any."""
        return Comparing(self.store, self.name, judge).undo()

    def document(self, event: Event, number: int) -> ItemView:
        """Return a document of the query that was shown in an event, by its number; InputError where there is none."""
        documents = self.store.texts_of(self.name, event).text.get("documents", ())
        if not 0 <= number < len(documents):
            raise InputError(f"query {event.query_id} has {len(documents)} documents, got number {number}")
        return _item(event.query_id, "", documents[number])

    def _view(self, question: Question | None) -> PairView:
        left, lease_s = self.log.left, self.store.campaign(self.name).lease_s
        if question is None:
            return PairView(left=left, lease_s=lease_s, precision=self.reading.precision(left))
        claimed, remaining = question.claimed, question.remaining
        event = self.store.shown(self.name, claimed.token)
        members = [each["doc_id"] for each in self.store.texts_of(self.name, event).text["documents"]]
        sides = tuple(
            Side(item=_item(claimed.query_id, claimed.query_text, each), number=members.index(each["doc_id"]))
            for each in question.documents
        )
        return PairView(
            token=claimed.token,
            lease_s=lease_s,
            query_id=claimed.query_id,
            query=claimed.query_text,
            sides=sides,
            low=remaining.low,
            high=remaining.high,
            n_compared=question.labelling.n_comparisons,
            left=left,
            precision=self.reading.precision(left),
        )


def page_desk(
    store: Store, name: str, names: Mapping[int, str], controls: Controls | None = None
) -> JudgesDesk | PairsDesk:
    """Return where judges of a campaign sit in front of a page, by how it is judged.

    Raises
    ------
    InputError
        Where grades are named that it does not have.
    """
    if not store.campaign(name).judging.is_whole:
        secret = store.digest_at(name, 1) or ""
        return JudgesDesk(store, name, names, None if controls is None else replace(controls, secret=secret))
    if controls is not None:
        says = f"campaign {name}: its documents are compared, and controls are items to grade"
        raise InputError(says, field="controls")
    if names:
        raise InputError(f"campaign {name}: its documents are compared, there are no grades to name", field="grade")
    return PairsDesk(store, name)


def _item(query_id: str, query: str, document: Mapping[str, str]) -> ItemView:
    return ItemView.of(query_id, document["doc_id"], ItemTexts(query_text=query, text=document))
