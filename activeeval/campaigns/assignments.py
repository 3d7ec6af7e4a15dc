"""What judges are given and what they say: items to grade, or comparisons of two documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from activeeval.campaigns.store import Acknowledged, ItemClaim, JudgeAnswer, Store
from activeeval.core.errors import InputError
from activeeval.core.judgments.judging import ByComparisons


class Desk(Protocol):
    """Where a campaign's judges are given something and hand in what they say of it."""

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next thing to judge; None where there is nothing for him."""

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store what a judge says of what was given out under a token; see `Store.submit`.

        Raises
        ------
        InputError
            Where nobody can say that of it.
        """

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Do `submit` and `claim` of the same judge."""

    def documents(self, claimed: ItemClaim) -> list[str]:
        """Return the documents that an answer to what was claimed is about."""

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Return what grades of documents say of them."""


@dataclass(frozen=True, slots=True)
class Grading(Desk):
    """Items to grade; ``by_query`` as of `activeeval.campaigns.store.Store.claim`."""

    store: Store
    name: str
    by_query: bool = False

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next item."""
        return self.store.claim(self.name, judge, by_query=self.by_query)

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store what a judge says of an item."""
        return self.store.submit(self.name, token, self._checked(judgment), key)

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Do both in one transaction."""
        judgment = self._checked(judgment)
        return self.store.submit_and_claim(self.name, token, judgment, key, by_query=self.by_query)

    def documents(self, claimed: ItemClaim) -> list[str]:
        """Return the item's."""
        return [claimed.doc_id]

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Return the grade of the item."""
        return JudgeAnswer(kind="judged", grade=grades[0])

    def _checked(self, judgment: JudgeAnswer) -> JudgeAnswer:
        if judgment.kind == "preferred":
            raise InputError(f"campaign {self.name}: its items are graded, not compared")
        return judgment


@dataclass(frozen=True, slots=True)
class AdaptiveGrading(Grading):
    """Items to grade whose depths follow labels: where nothing is left for a judge, what comes next is drawn."""

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next item, of what is drawn or of what labels lead to."""
        # whoever claims an item that is drawn does not wait for what drawing needs
        item = self.store.claim(self.name, judge, by_query=self.by_query)
        while item is None and draw_further(self.store, self.name):
            item = self.store.claim(self.name, judge, by_query=self.by_query)
        return item

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Do both in one transaction, as long as something is drawn."""
        judgment = self._checked(judgment)
        done, item = self.store.submit_and_claim(self.name, token, judgment, key, by_query=self.by_query)
        return done, item or self.claim(done.event.judge)


@dataclass(frozen=True, slots=True)
class Comparisons(Desk):
    """Two documents of a query at a time, of which one is better."""

    store: Store
    name: str
    k: int

    def claim(self, judge: str) -> ItemClaim | None:
        """Give a judge the next two documents."""
        # whoever claims an item to grade does not wait for what comparisons need
        from activeeval.campaigns.top_k_judging import claim_comparison

        question = claim_comparison(self.store, self.name, judge, self.k)
        return None if question is None else question.claimed

    def submit(self, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store what a judge says of two documents, with what it settles."""
        from activeeval.campaigns.top_k_judging import settling

        if judgment.kind == "judged":
            raise InputError(f"campaign {self.name}: its documents are compared, not graded")
        if judgment.kind == "preferred":
            judgment = settling(self.store, self.name, token, judgment, self.k)
        return self.store.submit(self.name, token, judgment, key)

    def submit_and_claim(
        self, token: str, judgment: JudgeAnswer, key: str | None = None
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Do one after the other: what is next follows from what was said."""
        done = self.submit(token, judgment, key)
        return done, self.claim(done.event.judge)

    def documents(self, claimed: ItemClaim) -> list[str]:
        """Return the two, as they are shown."""
        return [document["doc_id"] for document in claimed.text["documents"]]

    def answer(self, documents: Sequence[str], grades: Sequence[int]) -> JudgeAnswer:
        """Return the one with the higher grade; a tie where they are equal."""
        first, second = grades
        preferred = None if first == second else documents[first < second]
        return JudgeAnswer(kind="preferred", body={"what": "compared", "preferred": preferred})


def desk_of(store: Store, name: str, *, by_query: bool = False) -> Desk:
    """Return where a campaign's judges claim and submit; InputError where there is no campaign of that name.

    Parameters
    ----------
    by_query : bool
        See `activeeval.campaigns.store.Store.claim`.
    """
    campaign = store.campaign(name)
    match campaign.judging:
        case ByComparisons(k=k):
            return Comparisons(store, name, k)
    return (AdaptiveGrading if campaign.follows_labels else Grading)(store, name, by_query)


def draw_further(store: Store, name: str) -> bool:
    """Draw what labels lead to, where depths follow them; return whether there is anything new to judge."""
    from activeeval.campaigns.draw import draw_next

    return draw_next(store, name)
