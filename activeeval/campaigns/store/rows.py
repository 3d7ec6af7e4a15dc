"""Rows of the store: campaigns, samples, units, items, answers and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from activeeval.core.judgments.judging import Judging, judging_in
from activeeval.core.judgments.log import OF_MACHINE, Event

LOOKS = "looks"
"""Key in the configuration of a campaign with adaptive depth: when the design is re-planned from the labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """A campaign as it was set up.

    Attributes
    ----------
    name : str
    config : mapping
        Settings of the campaign's creator; the store itself does not use them.
    judges_per_item : int
        Number of judges for each item.
    lease_s : int
        Seconds for which a claimed item is reserved for its judge.
    max_grade : int or None
        Largest grade accepted; None accepts any.
    strict_order : bool
        True to give items out strictly in the order of their units, without deferring: the sample can then be used up
        to the lowest waiting item.
    adjudicate : bool
        True if an item on which its two judges differ waits for a third.
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
        """Mode of judging: grades, or comparisons."""
        return judging_in(self.config)

    @property
    def follows_labels(self) -> bool:
        """True if the campaign has adaptive depth: the labels decide which units come next."""
        return bool(self.config.get(LOOKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow:
    """A version of a campaign's drawn sample.

    Attributes
    ----------
    version : int
        From 1; each top-up or further round makes the next.
    digest : str
        Id of the sample; empty for queries that were not drawn, of which only the comparisons are kept.
    payload : bytes
        The encoded sample.
    seq : int
        Number of the last event before this version was stored: it is the sample as of later events.
    reason : str
        Why the version was stored: created, topped up, …
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
        Id of the document; a fixed word for a query that is judged as a whole.
    probability : float
        Probability that the draw includes the item.
    text : mapping of str to str
        Texts that judges read: title, text, url; stored once, by content. If a query is judged as a whole,
        ``documents`` holds its documents in the order of display, each with its id and texts.
    """

    doc_id: str
    probability: float
    text: Mapping[str, Any] = field(default_factory=dict)

    @property
    def members(self) -> list[str]:
        """Ids of the documents of a query that is judged as a whole; empty for a single item."""
        return [document["doc_id"] for document in self.text.get("documents", ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """Items of a query that are drawn and judged together; never changed once stored.

    Attributes
    ----------
    number : int
        From 1, in the order of levels.
    block : int
        Number of the block (part of the sample), from 1.
    query_id : str
    level : float or None
        Position in the judging order: units are judged in ascending level; None for draws with replacement.
    cost : float
        In mean items (1 is the cost of an average item of the pool).
    places : tuple of PlaceRow
        The items.
    query_text : str
        Empty if unknown.
    version : int
        Version of the sample with which it was drawn.
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
    """A judge's answer to an item.

    Attributes
    ----------
    kind : {"judged", "cannot", "deferred", "preferred"}
        ``preferred`` answers a pair: the query stays with the judge, its lease (reservation) restarts, and the next
        pair must be claimed.
    grade : int or None
        Grade of ``judged``; None for other kinds, and if ``body`` holds an order of documents instead.
    reason : str
        Why the item cannot be judged.
    active_ms, idle_ms : int or None
        Milliseconds with and without activity of the judge; None if unknown.
    body : mapping
        For ``preferred``: the pair and the preference. For ``judged`` without a grade: the resulting order. For a
        judgment of a grader (an LLM or other model) that counts as a judge's: its file, under the key `OF_MACHINE`.
    settles : mapping
        For ``preferred``, if no comparison is left: the resulting order, stored as ``judged`` in the same step.
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
        """Create an answer from one of ``grade``, ``cannot``, ``later``, ``preferred``, ``tie`` and ``discard``.

        Parameters
        ----------
        cannot : str
            Why the item cannot be judged.
        later : bool
            True to defer the item.
        preferred, discard : str
            Id of the better document of a pair, or of the one to remove from its query.
        tie : bool
            True if the documents of a pair are equally good.
        strength : int
            How much better the preferred document is; None if not asked.
        active_ms : int
            Milliseconds of the judge's activity.
        """
        body: dict[str, Any] = {}
        if discard is not None:
            body = {"what": "discarded", "document": discard}
        elif tie or preferred is not None:
            body = {"what": "compared", "preferred": preferred} | ({} if strength is None else {"strength": strength})
        kind = "preferred" if body else "judged" if grade is not None else "deferred" if later else "cannot"
        return cls(kind=kind, grade=grade, reason=cannot or "", body=body, active_ms=active_ms)

    def of_machine(self, source: str) -> Self:
        """Mark the answer as one of a grader (an LLM or other model) that counts as a judge's.

        ``source`` is the grader's file; an empty one leaves the answer unchanged.
        """
        return replace(self, body={**self.body, OF_MACHINE: source}) if source else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemClaim:
    """An item that is reserved for a judge.

    Attributes
    ----------
    token : str
        Needed to submit the answer; the store keeps only its hash.
    unit, block : int
        Number of the unit (items judged together) and of the block (part of the sample) of the item.
    k : int
        Number of the judgment among those that the item needs, from 1.
    lease_until : int
        End of the reservation: UTC, microseconds.
    was_put_off : bool
        True if this judge has deferred the item before.
    query_text : str
    text : mapping
        Texts of the document by name; for a query that is judged as a whole, ``documents``.
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
    """Texts of an item that judges read: of its query, and of its document by name (title, text, url, need)."""

    query_text: str
    text: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """Result of storing an answer, after the commit.

    Attributes
    ----------
    event : Event
        The event as stored; of kind ``late`` if the answer does not count.
    is_repeated : bool
        True if the answer was stored before.
    """

    event: Event
    is_repeated: bool = False
