"""Top-k judging in a campaign: a judge finds the k best of a query by comparing two documents at a time.

A comparison is claimed and submitted as an item is; which two are next follows from what the judge has said of the
query so far. The query is the judge's as long as its lease is renewed, by every answer, and the answer that leaves
nothing to compare settles it with the truth that it came to.
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
    claimed : Claimed
        The query, with the token of this comparison; its text has the two documents in the order in which they are
        shown.
    labelling : TopKLabelling
        What its judge has said of the query before.
    """

    claimed: ItemClaim
    labelling: TopKLabelling

    @property
    def query(self) -> str:
        """The id of the query."""
        return self.claimed.query_id

    @property
    def documents(self) -> list[dict[str, str]]:
        """The two documents as they are shown, each with its id and its texts."""
        return list(self.claimed.text["documents"])

    @property
    def first(self) -> str:
        """The document that is shown first."""
        return self.documents[0]["doc_id"]

    @property
    def second(self) -> str:
        """The other document."""
        return self.documents[1]["doc_id"]

    @property
    def n_documents(self) -> int:
        """How many documents the query has."""
        return self.labelling.n_items

    @property
    def remaining(self) -> RemainingComparisons:
        """How many comparisons the query may still take."""
        return self.labelling.remaining(0, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOutcome:
    """What the comparisons of a judge come to so far.

    Attributes
    ----------
    n_queries, n_settled : int
        Of the campaign, and those that are settled.
    n_comparisons : int
        How many answers count.
    n_ties : int
        How many pairs are alike.
    n_overruled : int
        How many of them do not share a rank in the truths of settled queries, as other answers set them apart.
    truths : dict of str to Truth
        Of every settled query.
    comparisons : list of Comparison
        Those that stand, of all queries.
    """

    n_queries: int
    n_settled: int
    n_comparisons: int
    n_ties: int
    n_overruled: int
    truths: dict[str, Truth]
    comparisons: list[Comparison]


class Comparing:
    """The work of one judge on a campaign of top-k judging.

    Parameters
    ----------
    store : Store
    name : str
        Of the campaign.
    judge : str

    Raises
    ------
    InputError
        Where the campaign's items are graded.
    """

    def __init__(self, store: Store, name: str, judge: str) -> None:
        self._store, self._name, self._judge = store, name, judge_name(judge)
        self._k = store.campaign(name).judging.of_ranks(f"campaign {name}: its items are graded, not compared").k
        self._question: DocumentPair | None = None

    @property
    def n_queries(self) -> int:
        """How many queries the campaign has."""
        return sum(self._store.waiting(self._name).values())

    def ask(self) -> DocumentPair | None:
        """Return what to compare next, the same until there is an answer; None when nothing is left."""
        if self._question is None:
            self._question = claim_comparison(self._store, self._name, self._judge, self._k)
        return self._question

    def prefer(self, document: str | None, active_ms: int | None = None) -> Acknowledged:
        """Say which of the two documents is better, None of two that are alike.

        Raises
        ------
        InputError
            Where it is neither of the two.
        """
        return self._answer({"what": "compared", "preferred": document}, active_ms)

    def discard(self, document: str, active_ms: int | None = None) -> Acknowledged:
        """Throw a document of the query out; InputError where it is none of it."""
        return self._answer({"what": "discarded", "document": document}, active_ms)

    def undo(self) -> Acknowledged | None:
        """Take the last answer back, of the query in hand or of the one that was settled last; None without any."""
        question = self.ask()
        if question is None or not question.labelling.answers:
            settled = self._last_settled()
            if settled is None:
                return None
            self._question = None
            token = self._store.reopen(self._name, settled, self._judge).token
        else:
            token = question.claimed.token
        return self._submit(token, {"what": "undone"})

    @property
    def compared(self) -> ComparisonOutcome:
        """What all comparisons of the judge come to so far."""
        return compared(self._store, self._name, self._judge, self._k)

    def _answer(self, body: Body, active_ms: int | None) -> Acknowledged:
        question = self.ask()
        if question is None:
            raise InputError(f"campaign {self._name}: nothing is left to compare")
        return self._submit(question.claimed.token, body, active_ms)

    def _submit(self, token: str, body: Body, active_ms: int | None = None) -> Acknowledged:
        judgment = JudgeAnswer(kind="preferred", body=body, active_ms=active_ms)
        done = self._store.submit(self._name, token, settling(self._store, self._name, token, judgment, self._k))
        self._question = None
        return done

    def _last_settled(self) -> int | None:
        """Return the event of the query that this judge settled last by comparisons."""
        state = State.of(self._store.events(self._name))
        settled = (event for event in state.standing if (event.unit, event.judge) in state.preferences)
        return max((event.seq for event in settled if event.judge == self._judge and event.body), default=None)


def claim_comparison(store: Store, name: str, judge: str, k: int) -> DocumentPair | None:
    """Give a judge the next comparison of the query that he has, or else of the next query; None where there is none.

    Parameters
    ----------
    k : int
        How many of the best of a query the campaign asks for.
    """
    while (item := store.claim(name, judge)) is not None:
        labelling, docs = _labelling(store.events(name, unit=item.unit), judge_name(judge), k)
        pair = labelling.ask()
        if pair is not None:
            by_id = {document["doc_id"]: document for document in item.text["documents"]}
            both = [by_id[doc] for doc in sided(item.query_id, docs[pair[0]], docs[pair[1]])]
            return DocumentPair(replace(item, text={"documents": both}), labelling)
        store.submit(name, item.token, JudgeAnswer(kind="judged", body=truth_of(labelling, docs).parts))
    return None


def settling(store: Store, name: str, token: str, judgment: JudgeAnswer, k: int) -> JudgeAnswer:
    """Return what is said under the token of a comparison with the two documents that it is of, and what it settles.

    Parameters
    ----------
    k : int
        As in `claim_comparison`.

    Raises
    ------
    InputError
        Where it is no answer to what was asked.
    """
    claimed = store.shown(name, token)
    events = store.events(name, claimed.seq, unit=claimed.unit)
    labelling, docs = _labelling(events, claimed.judge, k)
    body = dict(judgment.body)
    asked = labelling.ask()
    if body.get("what") == "compared" and asked is not None:
        first, second = sided(claimed.query_id, docs[asked[0]], docs[asked[1]])
        preferred = body.get("preferred")
        if preferred not in (None, first, second):
            pair = f"documents {shown(first)} and {shown(second)} of query {shown(claimed.query_id)}"
            raise InputError(f"{pair} were asked, got {shown(str(preferred))}, expected one of them")
        body |= {"first": first, "second": second}
    _take(labelling, docs, body)
    if labelling.ask() is not None:
        return replace(judgment, body=body)
    settled = JudgeAnswer(kind="judged", body=truth_of(labelling, docs).parts)
    machines = (str(each.get(OF_MACHINE, "")) for each in (body, *(event.body for event in events)))
    return replace(judgment, body=body, settles=settled.of_machine(next(filter(None, machines), "")).body)


def compared(store: Store, name: str, judge: str, k: int) -> ComparisonOutcome:
    """Return what the comparisons of a judge come to so far; ``k`` as in `claim_comparison`."""
    events = store.events(name)
    state = State.of(events)
    standing = [event for event in state.standing if event.judge == judge]
    truths = {event.query_id: Truth.from_parts(event.body) for event in standing if event.body}
    by_unit: dict[int | None, list[Event]] = {}
    for event in events:
        by_unit.setdefault(event.unit, []).append(event)
    units = [unit for unit, who in sorted(state.preferences) if who == judge]
    parts = [(by_unit[unit][0].query_id, *_labelling(by_unit[unit], judge, k)) for unit in units]
    return ComparisonOutcome(
        n_queries=len(state.blocks),
        n_settled=len(truths),
        n_comparisons=sum(labelling.n_comparisons for _, labelling, _ in parts),
        n_ties=sum(len(labelling.ties) for _, labelling, _ in parts),
        n_overruled=sum(labelling.n_overruled for _, labelling, _ in parts if labelling.ask() is None),
        truths=truths,
        comparisons=[pair for part in parts for pair in _standing(*part)],
    )


def truth_of(settled: TopKLabelling, docs: Sequence[str]) -> Truth:
    """Return what a settled labelling of documents came to."""
    groups = settled.groups()
    above = {item for group in groups for item in group}
    below = [doc for item, doc in enumerate(docs) if item not in {*above, *settled.discarded}]
    return Truth.of(([docs[item] for item in group] for group in groups), below, [docs[z] for z in settled.discarded])


def sided(query: str, first: str, second: str) -> Pair:
    """Return two documents in the order in which they are shown, for a pair that is asked again in the other one.

    An algorithm would show what it knows best always on one side, and whoever likes a side better would favour it; so
    ids decide, as the throw of a coin would.
    """
    ids = "\0".join((query, *sorted((first, second)), "sides"))
    return (first, second) if hashlib.sha256(ids.encode()).digest()[0] % 2 == 0 else (second, first)


def _labelling(events: Sequence[Event], judge: str, k: int) -> tuple[TopKLabelling, list[str]]:
    """Return what the events of a unit come to for a judge, and the documents of its query as they are met."""
    state = State.of(events)
    drawn = next(event for event in events if event.kind == "drawn")
    docs = list(drawn.body["members"][0])
    labelling = TopKLabelling(len(docs), min(k, len(docs)), order="given")
    for event in state.preferences.get((drawn.unit or 0, judge), []):
        _take(labelling, docs, event.body)
    return labelling, docs


def _take(labelling: TopKLabelling, docs: Sequence[str], body: Body) -> None:
    if body.get("what") == "undone":
        labelling.undo()
    elif body.get("what") == "discarded":
        labelling.discard(_place(docs, body.get("document")))
    elif body.get("what") == "compared":
        labelling.tell(None if body["preferred"] is None else _place(docs, body["preferred"]))
    else:
        raise InputError(f"of two documents somebody says compared, discarded or undone, got {body.get('what')!r}")


def _place(docs: Sequence[str], doc: object) -> int:
    if not isinstance(doc, str) or doc not in docs:
        raise InputError(f"document {doc!r} is none of the query")
    return docs.index(doc)


def _standing(query: str, labelling: TopKLabelling, docs: Sequence[str]) -> Iterator[Comparison]:
    """Yield the comparisons of a query that stand."""
    for first, second, preferred in labelling.preferences():
        better, other = (second, first) if preferred == second else (first, second)
        yield Comparison(query, docs[better], docs[other], preferred is None)
