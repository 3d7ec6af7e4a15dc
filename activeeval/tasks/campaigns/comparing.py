"""Top-k judging in a campaign: a judge finds the k best of a query by comparing two documents at a time.

The query is the judge's as long as its lease is renewed, by every answer. The answers are events; the labelling is
their fold, and once it is settled so is the query, by one event with the truth that it came to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from activeeval.errors import InputError
from activeeval.io.labelling import Told
from activeeval.judgments.state import State
from activeeval.store import Acknowledged, Claimed, Said, Store
from activeeval.tasks.label import Question, sided, truth_of
from activeeval.top_k import Remaining, TopKLabelling

Pair = tuple[str, str]


class Comparing:
    """The work of one judge on a campaign.

    Parameters
    ----------
    store : Store
    name : str
        Of the campaign.
    judge : str

    Attributes
    ----------
    n_comparisons : int
        How many were told here.
    n_settled, n_ties, n_overruled : int
        Queries that were settled here, ties in them, and ties that their truths do not hold; see `Labelling`.

    Raises
    ------
    InputError
        Where the campaign's items are graded.
    """

    def __init__(self, store: Store, name: str, judge: str) -> None:
        top_k = store.campaign(name).config.get("top_k")
        if top_k is None:
            raise InputError(f"campaign {name}: its items are graded, not compared")
        self._store, self._name, self._judge, self._k = store, name, judge, int(top_k)
        self.item: Claimed | None = None
        self.n_comparisons = self.n_settled = self.n_ties = self.n_overruled = 0
        self._labelling: TopKLabelling | None = None
        self._docs: list[str] = []
        self._bodies: list[dict[str, Any]] = []

    @property
    def n_queries(self) -> int:
        """How many queries the campaign has."""
        return sum(self._store.waiting(self._name).values())

    @property
    def docs(self) -> dict[str, list[str]]:
        """The documents of the query in hand."""
        return {self._in_hand.query_id: self._docs}

    @property
    def texts(self) -> dict[Pair, str]:
        """What there is to read of the query in hand, the document empty, and of its documents."""
        query = self._in_hand.query_id
        parts = {d["doc_id"]: [text for what, text in d.items() if what != "doc_id"] for d in self._documents}
        return {(query, doc): "\n".join(texts) for doc, texts in parts.items()} | {
            (query, ""): self._in_hand.query_text
        }

    @property
    def _documents(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._in_hand.text["documents"]
        return found

    @property
    def _in_hand(self) -> Claimed:
        if self.item is None or self._labelling is None:
            raise InputError("no query is in hand: ask first")
        return self.item

    def ask(self) -> Question | None:
        """Return what to compare next, of a query that is claimed where none is in hand; None when nothing is left."""
        if self.item is None:
            self.item = self._store.claim(self._name, self._judge)
            if self.item is None:
                return None
            self._resume()
        pair = self._settling()
        return self.ask() if pair is None else Question(self._in_hand.query_id, self.n_settled + 1, *pair)

    def remaining(self, query: str) -> Remaining:
        """Return how many comparisons the query in hand may still take."""
        assert self._labelling is not None
        return self._labelling.remaining(0, 50)

    def last(self) -> str | None:
        """Return the query whose last answer can be taken back: the one in hand, if it has any."""
        is_there = self._labelling is not None and bool(self._labelling.answers)
        return self._in_hand.query_id if is_there else None

    def tell(self, told: Told) -> Acknowledged:
        """Take what the judge says: a comparison, a document that is thrown out, or the last of either taken back.

        Raises
        ------
        InputError
            Where it is no answer to what was asked.
        """
        item, n_before = self._in_hand, len(self._bodies)
        body = {"n": n_before, **_body(told)}
        labelling = self._replayed([*self._bodies, body])
        done = self._store.submit(
            self._name, item.token, Said(kind="preferred", body=body), f"preferred:{item.token}:{n_before}"
        )
        if done.event.kind == "late":
            self.item = self._labelling = None
            return done
        self._labelling = labelling
        self._bodies.append(body)
        self.n_comparisons += told.kind == "compared"
        return done

    def _settling(self) -> Pair | None:
        """Return the pair to compare; where there is none the query is settled, and the next one is asked for."""
        item, labelling = self._in_hand, self._labelling
        assert labelling is not None
        pair = labelling.ask()
        if pair is not None:
            return sided(item.query_id, self._docs[pair[0]], self._docs[pair[1]])
        self._store.submit(self._name, item.token, Said(kind="judged", body=truth_of(labelling, self._docs).parts))
        self.item = self._labelling = None
        self.n_settled += 1
        self.n_ties += len(labelling.ties)
        self.n_overruled += labelling.n_overruled
        return None

    def _resume(self) -> None:
        """Go on where this judge has left the query in hand."""
        assert self.item is not None
        self._docs = [document["doc_id"] for document in self.item.text["documents"]]
        state = State()
        state.apply_all(self._store.events(self._name, unit=self.item.unit))
        before = state.preferences.get((self.item.unit, self._judge), [])
        self._bodies = [dict(event.body) for event in before]
        self._labelling = self._replayed(self._bodies)

    def _replayed(self, bodies: list[dict[str, Any]]) -> TopKLabelling:
        labelling = TopKLabelling(len(self._docs), min(self._k, len(self._docs)), order="given")
        for body in bodies:
            _take(labelling, self._docs, body)
        return labelling


def compare_all(
    store: Store, name: str, judge: str, oracle: Mapping[Pair, int], limit: int | None = None
) -> Iterator[Acknowledged]:
    """Compare by the grades that a file has, a tie where they are equal, until nothing is left or so many are done.

    Raises
    ------
    InputError
        Where the oracle has no grade of a document that is asked for.
    """
    work, n_done = Comparing(store, name, judge), 0
    while (limit is None or n_done < limit) and (question := work.ask()) is not None:
        sides = (question.first, question.second)
        grades = [oracle.get((question.query, doc), -1) for doc in sides]
        if min(grades) < 0:
            doc = sides[grades.index(min(grades))]
            raise InputError(
                f"document {doc!r} of query {question.query!r} is asked for and has no grade: expected one"
            )
        better = None if grades[0] == grades[1] else sides[grades.index(max(grades))]
        yield work.tell(Told(question.query, "compared", *sides, better))
        n_done += 1


def _body(told: Told) -> dict[str, Any]:
    """Return an answer as an event holds it; ``first`` is the document on the left."""
    if told.kind == "compared":
        return {"what": told.kind, "first": told.first, "second": told.second, "preferred": told.preferred}
    return {"what": told.kind} | ({"document": told.first} if told.kind == "discarded" else {})


def _take(labelling: TopKLabelling, docs: list[str], body: Mapping[str, Any]) -> None:
    if body["what"] == "undone":
        labelling.undo()
    elif body["what"] == "discarded":
        labelling.discard(_place(docs, body["document"]))
    else:
        asked = labelling.ask()
        pair = {_place(docs, body[side]) for side in ("first", "second")}
        if asked is None or pair != set(asked):
            raise InputError(f"documents {body['first']!r} and {body['second']!r} were not asked about")
        labelling.tell(None if body["preferred"] is None else _place(docs, body["preferred"]))


def _place(docs: list[str], doc: str) -> int:
    if doc not in docs:
        raise InputError(f"document {doc!r} is none of the query in hand")
    return docs.index(doc)
