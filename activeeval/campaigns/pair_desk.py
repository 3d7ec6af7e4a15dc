"""Judging page for top-k judging: a judge chooses the better of two documents, and undoes comparisons by replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from activeeval.campaigns.control_items import Controls, again, as_seen, discarded_of
from activeeval.campaigns.desk_views import ItemView, Reply
from activeeval.campaigns.grade_desk import JudgesDesk, PageDesk
from activeeval.campaigns.live_log import Precision, WaitingCounts
from activeeval.campaigns.store import Acknowledged, Control, ItemTexts, JudgeAnswer, Store
from activeeval.campaigns.store.claiming import hashed
from activeeval.core.errors import InputError
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State
from activeeval.report.numbers import counted

if TYPE_CHECKING:  # not imported for campaigns with graded items
    from activeeval.campaigns.top_k_judging import DocumentPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A document of a pair as displayed on one side of the page.

    Attributes
    ----------
    item : ItemView
    number : int
        Index among the query's documents, which identifies the document's frame on the page.
    """

    item: ItemView
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """The page of a judge who compares documents.

    Attributes
    ----------
    left : WaitingCounts
        Queries that wait.
    lease_s : int
        Seconds for which the query is reserved for the judge, counted from the page's latest sign of activity.
    precision : Precision or None
        Half-width of the first question's interval; None if no estimate is known.
    token : str
        Identifies the claim; sent back with the answer. Empty if nothing is left.
    query_id, query : str
        Empty if nothing is left.
    sides : tuple of Side
        Left and right, in the random order chosen by the store; empty if nothing is left.
    low, high : int
        90 % interval of the number of comparisons that the query still needs.
    n_compared : int
        Number of valid answers to the query so far.
    """

    left: WaitingCounts
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
    """Judging page for comparing two documents at a time.

    Its controls (questions that check the judge) are earlier pairs with sides swapped. The parameters are those of
    `PageDesk`: the store, the campaign's name, and the settings of controls.
    """

    @property
    def k(self) -> int:
        """Number of top documents to find for each query."""
        refusal = f"campaign {self.name}: its items are graded, not compared"
        return self.store.campaign(self.name).judging.of_ranks(refusal).k

    def page(self, judge: str) -> PairView:
        """Claim the judge's next pair and build its page."""
        from activeeval.campaigns.top_k_judging import claim_comparison

        question = claim_comparison(self.store, self.name, judge, self.k)
        control = None if question is None else self._control(judge_name(judge), question)
        # a control: an earlier pair of the query, shown once more to check the judge
        return self._view(question) if question is None or control is None else self._again(question, control)

    def answer(self, event: Event, token: str, reply: Reply) -> Acknowledged:
        """Store a judge's answer to a pair, with the top k documents of the query if the answer determines them.

        An answer to a control (repeated pair that checks the judge) does not count as a comparison.

        Parameters
        ----------
        event : Event
            Event in which the pair was shown under the token.
        token : str
            Token of the claim.
        reply : Reply
            The page's reply.

        Raises
        ------
        InputError
            If the answer is not valid for this pair.
        StateError
            If another answer was stored under the token.
        """
        judgment = self.said(event, reply)
        if event.kind != "control_shown":
            return self.desk.submit(token, judgment)
        sides = event.body["sides"]
        if judgment.kind != "preferred" or judgment.body.get("what") == "discarded":
            return self._answer_query(event, token, judgment)
        if judgment.body.get("preferred") not in (None, *sides):
            raise InputError(f"documents {' and '.join(sides)} are compared, expected one of them")
        return as_seen(self.store.submit(self.name, token, judgment))

    def _answer_query(self, event: Event, token: str, judgment: JudgeAnswer) -> Acknowledged:
        """Store an answer to a control (a repeated pair that checks the judge) that concerns the whole query.

        The query is deferred or cannot be judged, or a document is discarded. It counts as after an ordinary pair.
        ``event`` showed the control under the ``token``.
        """
        if not self.store.is_answered(self.name, token):
            # the judge still holds the query of the repeated pair: answer under a claim of that query
            claimed = self.desk.claim(event.judge)
            # under the key of the control's token, so that a repeated request is recognized
            if claimed is not None and claimed.unit == event.unit:
                return self.desk.submit(claimed.token, judgment, f"token:{hashed(token)}")
        return as_seen(self.store.submit(self.name, token, judgment))

    def undo(self, judge: str) -> Acknowledged | None:
        """Undo a judge's last comparison, of the current query or the one completed last; None if none exists.

        If the last answer was to a control (repeated pair that checks the judge), the control is shown once more.
        """
        from activeeval.campaigns.top_k_judging import Comparing

        last = self.log.look(lambda state: _last_control(state, judge_name(judge)))
        if last is not None:
            # `supersedes`: showing it retracts the answer; its texts are stored with the query, so that none are needed
            control = again(last, ItemTexts(query_text="", text={}))
            return Acknowledged(event=self.store.pose(self.name, replace(control, supersedes=last.seq))[1])
        return Comparing(self.store, self.name, judge).undo()

    def document(self, event: Event, number: int) -> ItemView:
        """Build the view of a document of an event's query by its index (``number``).

        Raises InputError if none exists.
        """
        documents = self.store.texts_of(self.name, event).text.get("documents", ())
        if not 0 <= number < len(documents):
            raise InputError(f"query {event.query_id} has {counted(len(documents), 'document')}, got number {number}")
        return _item(event.query_id, "", documents[number])

    def _control(self, judge: str, question: DocumentPair) -> Control | None:
        """Choose a pair of the query to compare again, to check the judge.

        Return None if the ordinary pair ``question`` comes next.
        """
        if self.controls is None:
            return None
        return self.log.look(partial(self._next_control, self.controls, judge, question.claimed.unit))

    def _next_control(self, controls: Controls, judge: str, unit: int, state: State) -> Control | None:
        """Choose a control (repeated pair that checks the judge) of this query: the open one, or a new one if due.

        Return None if an ordinary pair comes next.

        Parameters
        ----------
        unit : int
            Number of the query's unit (items judged together).
        state : State
            State of the campaign's log.
        """
        posed = state.checks.posed.get(judge)
        events = state.preferences.get((unit, judge), [])
        if posed is not None and posed.unit == unit and _is_to_come(posed, events):
            # the texts of a pair's documents are stored with its query
            return again(posed, ItemTexts(query_text="", text={}))
        is_due = controls.is_due(judge, state.checks.n_said.get(judge, 0))
        return controls.swapped(judge, events, state.checks) if is_due else None

    def _again(self, question: DocumentPair, control: Control) -> PairView:
        """Build the page of a pair that was compared before, so that it looks like any other pair of the query.

        Parameters
        ----------
        question : DocumentPair
            The ordinary pair that is next.
        control : Control
            The earlier pair to show in its place.
        """
        view = self._view(question)
        token, posed = self.store.pose(self.name, control)
        documents = self.store.texts_of(self.name, posed).text["documents"]
        index = {document["doc_id"]: k for k, document in enumerate(documents)}  # of the query's documents, by id
        sides = tuple(Side(item=_item("", "", documents[index[doc]]), number=index[doc]) for doc in control.sides)
        return replace(view, token=token, sides=sides)

    def _n_again(self, judge: str, unit: int) -> int:
        """Count the answered controls (repeated pairs that check the judge) of a query.

        The page counts them as ordinary comparisons. ``unit`` is the number of the query's unit.
        """
        answers = self.log.look(lambda state: [e for (name, _), e in state.checks.answers.items() if name == judge])
        return sum(event.unit == unit for event in answers)

    def _view(self, question: DocumentPair | None) -> PairView:
        """Build a judge's page for a pair, or for no pair (None)."""
        left, lease_s = self.log.left, self.store.campaign(self.name).lease_s
        if question is None:
            return PairView(left=left, lease_s=lease_s, precision=self.reading.precision(left))
        claimed, remaining = question.claimed, question.remaining
        event = self.store.shown(self.name, claimed.token)
        # ids of all documents of the query, whose index identifies a document's frame on the page
        members = [text["doc_id"] for text in self.store.texts_of(self.name, event).text["documents"]]
        sides = tuple(
            Side(item=_item(claimed.query_id, claimed.query_text, text), number=members.index(text["doc_id"]))
            for text in question.documents
        )
        low, high = remaining.low, remaining.high  # 90 % interval; with controls, which judges cannot tell apart
        if (controls := self.controls) is not None:
            seen = partial(controls.pairs_left, event.judge, claimed.unit)
            low, high = self.log.look(lambda state: (seen(state, low), seen(state, high)))
        return PairView(
            token=claimed.token,
            lease_s=lease_s,
            query_id=claimed.query_id,
            query=claimed.query_text,
            sides=sides,
            low=low,
            high=high,
            n_compared=question.labelling.n_comparisons + self._n_again(event.judge, claimed.unit),
            left=left,
            precision=self.reading.precision(left),
        )


def _is_to_come(posed: Event, events: Sequence[Event]) -> bool:
    """Check whether a shown control (repeated pair that checks the judge) still needs an answer.

    It does not if the judge has undone a comparison since, or discarded one of its documents. ``events`` are the
    judge's answers to pairs of the query.
    """
    is_back = any(event.body.get("what") == "undone" and event.seq > posed.seq for event in events)
    return not is_back and not discarded_of(events) & set(posed.body["sides"])


def _last_control(state: State, judge: str) -> Event | None:
    """Find a judge's latest answer if it was to a control (repeated pair that checks the judge); else None."""
    last = next(reversed(state.checks.standing.get(judge, {}).values()), None)
    if last is None or last.kind != "checked":
        return None
    # the judge's last comparison of each query, and deferrals
    others = [event for (_, name), events in state.preferences.items() if name == judge for event in events[-1:]]
    others += [event for event in state.put_off if event.judge == judge]
    return last if all(event.seq < last.seq for event in others) else None


def page_desk(
    store: Store, name: str, names: Mapping[int, str], controls: Controls | None = None
) -> JudgesDesk | PairsDesk:
    """Create the judging page that fits how a campaign is judged: grades or comparisons.

    Parameters
    ----------
    names : mapping of int to str
        Names of grades, by grade; empty for comparisons.
    controls : Controls, optional
        Items with an expected answer to mix in, to check judges; their secret is set from the campaign's log.

    Raises
    ------
    InputError
        If grades are named that the campaign does not have, or known controls are given for comparisons.
    """
    # the digest of the log's first event, which judges never see, makes the positions of controls unpredictable
    controls = None if controls is None else replace(controls, secret=store.digest_at(name, 1) or "")
    if not store.campaign(name).judging.is_whole:
        return JudgesDesk(store, name, controls, names)
    if names:
        raise InputError(f"campaign {name}: its documents are compared, there are no grades to name", field="grade")
    if controls is not None and controls.known:
        problem = f"campaign {name}: its documents are compared and its controls are repeated pairs: expected no file"
        raise InputError(problem, field="controls")
    return PairsDesk(store, name, controls)


def _item(query_id: str, query: str, document: Mapping[str, str]) -> ItemView:
    """Build the view of a document (its id and texts by name) with its query's id and text."""
    return ItemView.of(query_id, document["doc_id"], ItemTexts(query_text=query, text=document))
