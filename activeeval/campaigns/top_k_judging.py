"""Top-k judging in a campaign: a judge finds the k best documents of a query by comparing two at a time.

A comparison is claimed and submitted as an item is; the next pair depends on the judge's answers to the query so far.
The query is reserved for the judge as long as the lease is renewed, which each answer does. The answer after which
nothing is left to compare stores the resulting order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from activeeval.campaigns.store import Acknowledged, ItemClaim, JudgeAnswer, Store
from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.comparisons import Comparison, Truth
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.log import OF_MACHINE, Event
from activeeval.core.judgments.state import State
from activeeval.topk import RemainingComparisons, TopKLabelling

Pair = tuple[str, str]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class DocumentPair:
    """Two documents of a query to compare.

    Attributes
    ----------
    claimed : ItemClaim
        The query, with the token of this comparison; its text has the two documents in display order.
    labelling : TopKLabelling
        The judge's comparisons of the query so far.
    """

    claimed: ItemClaim
    labelling: TopKLabelling

    @property
    def query(self) -> str:
        """Id of the query."""
        return self.claimed.query_id

    @property
    def documents(self) -> list[dict[str, str]]:
        """The two documents in display order, each with its id and texts."""
        return list(self.claimed.text["documents"])

    @property
    def first(self) -> str:
        """Id of the document displayed first."""
        return self.documents[0]["doc_id"]

    @property
    def second(self) -> str:
        """Id of the other document."""
        return self.documents[1]["doc_id"]

    @property
    def n_documents(self) -> int:
        """Number of documents of the query."""
        return self.labelling.n_items

    @property
    def remaining(self) -> RemainingComparisons:
        """Number of comparisons that the query still needs, as 5 % and 95 % quantiles of 50 simulated judges."""
        return self.labelling.remaining(rng=0, n_samples=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOutcome:
    """Results of a judge's comparisons so far.

    Attributes
    ----------
    n_queries, n_settled : int
        Number of queries of the campaign, and of completed ones.
    n_comparisons : int
        Number of valid comparisons.
    n_ties : int
        Number of tied pairs.
    n_overruled : int
        Number of ties whose documents have different ranks in the result, because other answers separate them.
    truths : dict of str to Truth
        Resulting order of documents of each completed query.
    comparisons : list of Comparison
        Valid comparisons of all queries.
    """

    n_queries: int
    n_settled: int
    n_comparisons: int
    n_ties: int
    n_overruled: int
    truths: dict[str, Truth]
    comparisons: list[Comparison]


class Comparing:
    """Session of one judge in a campaign of top-k judging.

    Parameters
    ----------
    store : Store
    name : str
        Name of the campaign.
    judge : str
        Name of the judge.

    Raises
    ------
    InputError
        If the campaign's items are graded.
    """

    def __init__(self, store: Store, name: str, judge: str) -> None:
        """Start a judge's session in the campaign ``name``; raise InputError if its items are graded."""
        self._store, self._name, self._judge = store, name, judge_name(judge)
        self._k = store.campaign(name).judging.of_ranks(f"campaign {name}: its items are graded, not compared").k
        # the pair that is not answered yet
        self._question: DocumentPair | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries of the campaign: one assignment each, which is free, leased or done."""
        return sum(self._store.waiting(self._name).values())

    def ask(self) -> DocumentPair | None:
        """Return the next pair to compare, the same until it is answered; None if nothing is left."""
        if self._question is None:
            self._question = claim_comparison(self._store, self._name, self._judge, self._k)
        return self._question

    def prefer(self, document: str | None, active_ms: int | None = None) -> Acknowledged:
        """Submit the better one of the current two documents; None for a tie.

        ``active_ms`` is the time taken in milliseconds.

        Raises
        ------
        InputError
            If it is neither of the two, or nothing is left to compare.
        """
        return self._answer({"what": "compared", "preferred": document}, active_ms)

    def discard(self, document: str, active_ms: int | None = None) -> Acknowledged:
        """Remove a document from the query; ``active_ms`` is the time taken in milliseconds.

        Raises InputError if the query has no such document, or nothing is left to compare.
        """
        return self._answer({"what": "discarded", "document": document}, active_ms)

    def undo(self) -> Acknowledged | None:
        """Undo the last answer, of the current query or of the one completed last; None if none exists."""
        question = self.ask()
        if question is None or not question.labelling.answers:
            settled = self._last_settled()
            if settled is None:
                return None
            self._question = None
            # the completed query becomes the judge's current one, with its comparisons
            token = self._store.reopen(self._name, settled, self._judge).token
        else:
            token = question.claimed.token
        return self._submit(token, {"what": "undone"})

    @property
    def compared(self) -> ComparisonOutcome:
        """Results of all comparisons of the judge so far."""
        return compared(self._store, self._name, self._judge, self._k)

    def _answer(self, body: Body, active_ms: int | None) -> Acknowledged:
        """Submit an answer to the current pair; raise InputError if nothing is left to compare.

        ``body`` is the content of the event: a preference or a discarded document. ``active_ms`` is the time taken in
        milliseconds.
        """
        question = self.ask()
        if question is None:
            raise InputError(f"campaign {self._name}: nothing is left to compare")
        return self._submit(question.claimed.token, body, active_ms)

    def _submit(self, token: str, body: Body, active_ms: int | None = None) -> Acknowledged:
        """Submit an answer under the token of a claim, and forget the current pair.

        ``body`` is the content of the event: a preference, a discarded document or an undo. ``active_ms`` is the time
        taken in milliseconds.
        """
        judgment = JudgeAnswer(kind="preferred", body=body, active_ms=active_ms)
        done = self._store.submit(self._name, token, settling(self._store, self._name, token, judgment, self._k))
        self._question = None
        return done

    def _last_settled(self) -> int | None:
        """Find the event of the query that this judge completed last by comparisons; None if none exists."""
        state = State.of(self._store.events(self._name))
        # `preferences` has the (unit, judge) pairs with comparisons; a completed query has an order in its event's body
        settled = (event for event in state.standing if (event.unit, event.judge) in state.preferences)
        return max((event.seq for event in settled if event.judge == self._judge and event.body), default=None)


def claim_comparison(store: Store, name: str, judge: str, k: int) -> DocumentPair | None:
    """Give a judge the next pair of the query in hand, or else of the next query; None if nothing is left.

    Parameters
    ----------
    k : int
        Number of top documents to find for each query.
    """
    while (item := store.claim(name, judge)) is not None:
        labelling, docs = _labelling(store.events(name, unit=item.unit), judge_name(judge), k)
        pair = labelling.ask()  # indices of two documents; None if nothing is left to compare
        if pair is not None:
            by_id = {document["doc_id"]: document for document in item.text["documents"]}
            both = [by_id[doc] for doc in sided(item.query_id, docs[pair[0]], docs[pair[1]])]
            return DocumentPair(replace(item, text={"documents": both}), labelling)
        # nothing to compare, as in a query of one document: complete it, and claim the next
        store.submit(name, item.token, JudgeAnswer(kind="judged", body=truth_of(labelling, docs).parts))
    return None


def settling(store: Store, name: str, token: str, judgment: JudgeAnswer, k: int) -> JudgeAnswer:
    """Complete an answer to a comparison: add the two documents, and the resulting order if the query is now complete.

    Parameters
    ----------
    token : str
        Token under which the pair was shown.
    judgment : JudgeAnswer
        The judge's answer.
    k : int
        Number of top documents to find for each query.

    Raises
    ------
    InputError
        If it is not an answer to this pair.
    """
    claimed = store.shown(name, token)
    # the answers of the query up to the display of this pair
    events = store.events(name, claimed.seq, unit=claimed.unit)
    labelling, docs = _labelling(events, claimed.judge, k)
    body = dict(judgment.body)
    pair_asked = labelling.ask()
    if body.get("what") == "compared" and pair_asked is not None:
        first, second = sided(claimed.query_id, docs[pair_asked[0]], docs[pair_asked[1]])
        preferred = body.get("preferred")
        if preferred not in (None, first, second):
            pair = f"documents {shown(first)} and {shown(second)} of query {shown(claimed.query_id)}"
            raise InputError(f"{pair} are compared, got {shown(str(preferred))}, expected one of them")
        body |= {"first": first, "second": second}
    _take(labelling, docs, body)
    if labelling.ask() is not None:
        return replace(judgment, body=body)
    # if a comparison is a grader's (of an LLM or other model), its file also marks the resulting order
    settled = JudgeAnswer(kind="judged", body=truth_of(labelling, docs).parts)
    machines = (str(event_body.get(OF_MACHINE, "")) for event_body in (body, *(event.body for event in events)))
    return replace(judgment, body=body, settles=settled.of_machine(next(filter(None, machines), "")).body)


def compared(store: Store, name: str, judge: str, k: int) -> ComparisonOutcome:
    """Summarize a judge's comparisons so far; ``k`` is the number of top documents to find for each query."""
    events = store.events(name)
    state = State.of(events)
    # the judge's valid results; one with a body has the resulting order of a query
    standing = [event for event in state.standing if event.judge == judge]
    truths = {event.query_id: Truth.from_parts(event.body) for event in standing if event.body}
    by_unit: dict[int | None, list[Event]] = {}  # a unit is a query, which is judged as a whole
    for event in events:
        by_unit.setdefault(event.unit, []).append(event)
    units = [unit for unit, who in sorted(state.preferences) if who == judge]
    # query, comparisons of the judge, and document ids of each query that the judge began
    parts = [(by_unit[unit][0].query_id, *_labelling(by_unit[unit], judge, k)) for unit in units]
    return ComparisonOutcome(
        n_queries=len(state.blocks),  # by unit
        n_settled=len(truths),
        n_comparisons=sum(labelling.n_comparisons for _, labelling, _ in parts),
        n_ties=sum(len(labelling.ties) for _, labelling, _ in parts),
        n_overruled=sum(labelling.n_overruled for _, labelling, _ in parts if labelling.ask() is None),
        truths=truths,
        comparisons=[pair for part in parts for pair in _standing(*part)],
    )


def truth_of(settled: TopKLabelling, docs: Sequence[str]) -> Truth:
    """Convert a completed labelling to the resulting order of its documents (``docs``, by index).

    ``settled`` is the labelling: the judge's comparisons of one query.
    """
    groups = settled.groups()  # indices of the top documents, tied ones together, the best first
    above = {item for group in groups for item in group}
    below = [doc for item, doc in enumerate(docs) if item not in {*above, *settled.discarded}]
    return Truth.of(([docs[item] for item in group] for group in groups), below, [docs[z] for z in settled.discarded])


def sided(query: str, first: str, second: str) -> Pair:
    """Order two documents for display by a pseudorandom digest of their ids; the same each time the pair is shown.

    The algorithm's own order would show the better-known document always on the same side, and a judge's preference for
    a side would favour it.
    """
    ids = "\0".join((query, *sorted((first, second)), "sides"))
    return (first, second) if hashlib.sha256(ids.encode()).digest()[0] % 2 == 0 else (second, first)


def _labelling(events: Sequence[Event], judge: str, k: int) -> tuple[TopKLabelling, list[str]]:
    """Replay the events of a unit (one query) for a judge.

    Parameters
    ----------
    events : sequence of Event
        All events of the unit, so far.
    k : int
        Number of top documents to find.

    Returns
    -------
    labelling : TopKLabelling
        The comparisons so far, with documents as indices.
    docs : list of str
        Ids of the query's documents, by index.
    """
    state = State.of(events)
    drawn = next(event for event in events if event.kind == "drawn")
    docs = list(drawn.body["members"][0])  # members by place: a query that is judged as a whole has one place
    labelling = TopKLabelling(len(docs), min(k, len(docs)), order="given")  # compared in the order of `docs`
    for event in state.preferences.get((drawn.unit or 0, judge), []):
        _take(labelling, docs, event.body)
    return labelling, docs


def _take(labelling: TopKLabelling, docs: Sequence[str], body: Body) -> None:
    """Apply an answer to a labelling: a comparison, a discarded document, or an undo.

    ``docs`` are the ids of the labelling's documents, ``body`` is the content of the answer's event. Raises InputError
    if it is none of these or names a document that the query does not have.
    """
    if body.get("what") == "undone":
        labelling.undo()
    elif body.get("what") == "discarded":
        labelling.discard(_place(docs, body.get("document")))
    elif body.get("what") == "compared":
        labelling.tell(None if body["preferred"] is None else _place(docs, body["preferred"]))
    else:
        raise InputError(f"an answer to a pair is compared, discarded or undone, got {body.get('what')!r}")


def _place(docs: Sequence[str], doc: object) -> int:
    """Find the index of a document in ``docs``; raise InputError if the query has no such document."""
    if not isinstance(doc, str) or doc not in docs:
        raise InputError(f"document {doc!r} is not in the query")
    return docs.index(doc)


def _standing(query: str, labelling: TopKLabelling, docs: Sequence[str]) -> Iterator[Comparison]:
    """Yield the valid comparisons of a query; ``docs`` are the ids of the labelling's documents.

    A comparison has the better and the other document; of a tie, the first and the second.
    """
    for first, second, preferred in labelling.preferences():
        better, other = (second, first) if preferred == second else (first, second)
        yield Comparison(query, docs[better], docs[other], preferred is None)
