"""Rows that go into the store and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from activeeval.core.judgments.judging import Judging, judging_in
from activeeval.core.judgments.log import OF_MACHINE, Event

LOOKS = "looks"
"""In the configuration of a campaign whose depths follow labels: when these are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """A campaign as it was set up.

    Attributes
    ----------
    name : str
    config : mapping
        What whoever made it wants to know of it again; nothing in the store goes by it.
    judges_per_item : int
        How many judges judge each item.
    lease_s : int
        Seconds for which an item belongs to the judge who has it.
    max_grade : int or None
        The largest grade that is taken; None takes any.
    strict_order : bool
        Items go out strictly in the order of their units, and nobody passes one over: below the lowest that waits
        the sample may be read.
    adjudicate : bool
        An item on which its two judges differ waits for a third.
    created_at : int
        UTC, microseconds.
    """

    name: str
    config: Mapping[str, Any]
    judges_per_item: int = 1
    lease_s: int = 900
    max_grade: int | None = None
    strict_order: bool = False
    adjudicate: bool = False
    created_at: int = 0

    @property
    def judging(self) -> Judging:
        """How it is judged: by grades, or by comparisons."""
        return judging_in(self.config)

    @property
    def follows_labels(self) -> bool:
        """Whether what is judged decides what comes next."""
        return bool(self.config.get(LOOKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow:
    """A version of a campaign's drawn sample.

    Attributes
    ----------
    version : int
        From 1; a top-up makes another.
    digest : str
        The id of the sample; empty of queries that nobody has drawn, whose comparisons alone are kept.
    payload : bytes
        The sample itself.
    seq : int
        The last event before it was there: as of later ones it is the sample.
    reason : str
        created, topped up, …
    """

    version: int
    digest: str
    payload: bytes
    seq: int = 0
    reason: str = "created"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRow:
    """An item of a unit.

    Attributes
    ----------
    doc_id : str
    probability : float
        With which it came into the sample.
    text : mapping of str to str
        What its judge reads: title, text, url; stored once, by content. Where a query is judged as a whole
        ``documents`` holds its documents in the order in which they are met, each with its id and texts.
    """

    doc_id: str
    probability: float
    text: Mapping[str, Any] = field(default_factory=dict)

    @property
    def members(self) -> list[str]:
        """The documents of a query that is judged as a whole; none of an item."""
        return [document["doc_id"] for document in self.text.get("documents", ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """Items of a query that are judged together; never changed once it is stored.

    Attributes
    ----------
    number : int
        1 for the first unit, by level.
    block : int
        1 for the first block.
    query_id : str
    level : float or None
        None of a draw with replacement.
    cost : float
        In mean items.
    places : tuple of PlaceRow
    query_text : str
    version : int
        Of the sample that it was drawn under.
    """

    number: int
    block: int
    query_id: str
    level: float | None
    cost: float
    places: tuple[PlaceRow, ...]
    query_text: str = ""
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What a judge says of an item.

    Attributes
    ----------
    kind : {"judged", "cannot", "deferred", "preferred"}
        After ``preferred`` the item stays the judge's, and the lease starts again: the next comparison is a claim.
    grade : int or None
        Of judged; None where ``body`` says more.
    reason : str
        Why it cannot be judged.
    active_ms, idle_ms : int or None
        How long the judge looked at it, and how long the clock stood still.
    body : mapping
        Of preferred: what was compared, and what came of it; of judged in place of a grade: the order that it came to;
        of a machine's judgment that is taken for a person's: `OF_MACHINE`.
    settles : mapping
        Of preferred, where nothing is left to compare: the order that it came to, stored as judged in the same step.
    """

    kind: str
    grade: int | None = None
    reason: str = ""
    active_ms: int | None = None
    idle_ms: int | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    settles: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        grade: int | None = None,
        cannot: str | None = None,
        later: bool = False,
        preferred: str | None = None,
        tie: bool = False,
        discard: str | None = None,
        strength: int | None = None,
        active_ms: int | None = None,
    ) -> Self:
        """Make the answer of one of ``grade``, ``cannot``, ``later``, ``preferred``, ``tie`` and ``discard``."""
        body: dict[str, Any] = {}
        if discard is not None:
            body = {"what": "discarded", "document": discard}
        elif tie or preferred is not None:
            body = {"what": "compared", "preferred": preferred} | ({} if strength is None else {"strength": strength})
        kind = "preferred" if body else "judged" if grade is not None else "deferred" if later else "cannot"
        return cls(kind=kind, grade=grade, reason=cannot or "", body=body, active_ms=active_ms)

    def of_machine(self, source: str) -> Self:
        """Return the same, said by a machine in a file and taken for a person's; by nobody's file it stays as it is."""
        return replace(self, body={**self.body, OF_MACHINE: source}) if source else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemClaim:
    """An item that is a judge's until a time.

    Attributes
    ----------
    token : str
        With which the answer is given; the store keeps only its hash.
    was_put_off : bool
        This judge has said ``later`` to it before.
    lease_until : int
        UTC, microseconds.
    """

    token: str
    unit: int
    block: int
    query_id: str
    doc_id: str
    k: int
    lease_until: int
    was_put_off: bool = False
    query_text: str = ""
    text: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTexts:
    """What judges read of an item: of its query, and of its document by the names of the texts."""

    query_text: str
    text: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What the store has made of an answer, after the commit.

    Attributes
    ----------
    event : Event
        As it is stored; of kind ``late`` where it does not count.
    is_repeated : bool
        It was there already.
    """

    event: Event
    is_repeated: bool = False
