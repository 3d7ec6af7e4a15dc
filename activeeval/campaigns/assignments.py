"""Assign work to the judges of a campaign and store their answers: items to grade, or pairs of documents to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from activeeval.campaigns.store import Acknowledged, ItemClaim, JudgeAnswer, Store
from activeeval.core.errors import InputError
from activeeval.core.judgments.judging import ByComparisons


class Desk(Protocol):
    """Interface through which judges get work from a campaign and submit answers.

    A campaign is a stored sample that people judge.
    """

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next item or pair to judge; None if nothing is left for this judge."""

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store a judge's answer to the item that was claimed with a token; return the stored event.

        Parameters
        ----------
        token : str
            Identifies the claim (from `claim`).
        judgment : JudgeAnswer
            A grade, a preference for one of two documents, a deferral, or that the item cannot be judged.
        key : str, optional
            Idempotency key: a second call with the same key returns the stored answer. By default derived from the
            token.

        Raises
        ------
        InputError
            If the kind of answer does not fit the campaign: a grade for a pair, or a preference for an item.
        """

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store a judge's answer (`submit`), then give the same judge the next work (`claim`).

        Return the acknowledgment of the answer, and the next claim (None if nothing is left for this judge).
        """

    def documents(self, claimed: ItemClaim) -> list[str]:
        """List the ids of the documents that the answer to a claim refers to: one item, or the two of a pair."""

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Build the answer of a judge who knows the grades.

        Parameters
        ----------
        documents : sequence of str
            Id of the item's document, or ids of the two documents of a pair, as `documents` lists them.
        grades : sequence of int
            Grade of each document.
        """


@dataclass(frozen=True, slots=True)
class Grading(Desk):
    """Desk for grading items one at a time.

    Attributes
    ----------
    store : Store
    name : str
        Name of the campaign.
    by_query : bool
        True to give a judge the items of one query after another, in random order; see `Store.claim`.
    """

    store: Store
    name: str
    by_query: bool = False

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next item; None if nothing is left for this judge."""
        return self.store.claim(self.name, judge, by_query=self.by_query)

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store a judge's grade (or deferral, or reason for no grade) of the item claimed with a token.

        Sending the same ``key`` again returns the stored answer; by default it follows from the token. Raise InputError
        if the answer is a preference between two documents.
        """
        return self.store.submit(self.name, token, self._checked(judgment), key)

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store the answer to the item claimed with a token, and claim the judge's next item, in one transaction.

        Sending the same ``key`` again returns the stored answer. Return the acknowledgment, and the next claim (None if
        nothing is left for this judge).
        """
        judgment = self._checked(judgment)
        return self.store.submit_and_claim(self.name, token, judgment, key, by_query=self.by_query)

    def documents(self, claimed: ItemClaim) -> list[str]:
        """List the claimed item's document id."""
        return [claimed.doc_id]

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Build a ``judged`` answer with the grade of the item; ``grades`` has one entry."""
        return JudgeAnswer(kind="judged", grade=grades[0])

    def _checked(self, judgment: JudgeAnswer) -> JudgeAnswer:
        """Return the answer; raise InputError if it is a preference between two documents."""
        if judgment.kind == "preferred":
            raise InputError(f"campaign {self.name}: its items are graded, not compared")
        return judgment


@dataclass(frozen=True, slots=True)
class AdaptiveGrading(Grading):
    """Desk for grading items with adaptive depth (labels decide which items come next).

    If no drawn item is open for a judge, it draws further units (items of a query that are judged together).
    """

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next drawn item; if there is none, draw more items until one is open for this judge.

        Return None if nothing is left for this judge.
        """
        # drawn items are tried first: claiming one must not wait for the imports and arrays that drawing needs
        item = self.store.claim(self.name, judge, by_query=self.by_query)
        while item is None and draw_further(self.store, self.name):
            item = self.store.claim(self.name, judge, by_query=self.by_query)
        return item

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store an answer and claim the judge's next item; draw more items if none is open.

        ``token`` identifies the claim that is answered; sending the same ``key`` again returns the stored answer.
        Return the acknowledgment, and the next claim (None if nothing is left for this judge).
        """
        judgment = self._checked(judgment)
        done, item = self.store.submit_and_claim(self.name, token, judgment, key, by_query=self.by_query)
        return done, item or self.claim(done.event.judge)  # `claim` draws more


@dataclass(frozen=True, slots=True)
class Comparisons(Desk):
    """Desk for comparing documents: a judge sees two documents of a query and chooses the better one.

    Attributes
    ----------
    store : Store
    name : str
        Name of the campaign.
    k : int
        Number of top documents to find for each query.
    """

    store: Store
    name: str
    k: int

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next pair of documents; None if nothing is left for this judge."""
        # imported here, so that campaigns with graded items do not pay for this import
        from activeeval.campaigns.top_k_judging import claim_comparison

        question = claim_comparison(self.store, self.name, judge, self.k)
        return None if question is None else question.claimed

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store a judge's answer to the pair of documents claimed with a token.

        Sending the same ``key`` again returns the stored answer; by default it follows from the token. If the answer
        determines the top k documents of the query, their order is stored with it.

        Raises
        ------
        InputError
            If the answer is a grade, or prefers a document that is not in the pair.
        """
        from activeeval.campaigns.top_k_judging import settling

        if judgment.kind == "judged":
            raise InputError(f"campaign {self.name}: its documents are compared, not graded")
        if judgment.kind == "preferred":  # add the two documents, and the top k if nothing is left to compare
            judgment = settling(self.store, self.name, token, judgment, self.k)
        return self.store.submit(self.name, token, judgment, key)

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store the answer to the pair claimed with a token, then claim the next pair, which depends on this answer.

        Return the acknowledgment, and the next claim (None if nothing is left for this judge).
        """
        done = self.submit(token, judgment, key)
        return done, self.claim(done.event.judge)

    def documents(self, claimed: ItemClaim) -> list[str]:
        """List the ids of the two documents, left then right as displayed."""
        return [document["doc_id"] for document in claimed.text["documents"]]

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Build a ``preferred`` answer for the document with the higher grade, or a tie if the grades are equal.

        ``documents`` and ``grades`` have two entries each, in the same order.
        """
        first, second = grades
        preferred = None if first == second else documents[first < second]  # True is index 1
        return JudgeAnswer(kind="preferred", body={"what": "compared", "preferred": preferred})


def desk_of(store: Store, name: str, *, by_query: bool = False) -> Desk:
    """Create the desk (interface for claims and answers) that fits how a campaign is judged.

    It grades items, grades items with adaptive depth (labels decide which items come next), or compares documents.
    Raises InputError if the store has no campaign of that name.

    Parameters
    ----------
    store, name : Store, str
        The open store, and the campaign's name.
    by_query : bool
        True to give a judge the items of one query after another, in random order; see `Store.claim`.
    """
    campaign = store.campaign(name)
    match campaign.judging:
        case ByComparisons(k=k):
            return Comparisons(store, name, k)
    return (AdaptiveGrading if campaign.follows_labels else Grading)(store, name, by_query)


def draw_further(store: Store, name: str) -> bool:
    """Draw and store further items if a campaign has adaptive depth (labels decide which items come next).

    Return True if there is anything new to judge.
    """
    from activeeval.campaigns.draw import draw_next

    return draw_next(store, name)
