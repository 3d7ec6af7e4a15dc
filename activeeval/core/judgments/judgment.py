"""Who said what of an item: one judgment, and its judge."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("grade", "cannot", "deferred", "preference", "truth", "waits")
"""A grade; that an item cannot be judged; that a judge put it off; the better of two items; a document's place in a
top-k truth; an item of a sheet that nobody has judged."""
GRADE, CANNOT, DEFERRED, PREFERENCE, TRUTH, WAITS = range(len(KINDS))
JUDGE_KINDS = ("person", "machine")
UNJUDGED = -1
"""As a grade: the item was pooled, or could not be judged, and has none."""
BAD = -1
"""In the place of a document's rank: it was thrown out; 0 is below the top."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges; a judge without a name is whoever filled in the file.

    Attributes
    ----------
    name : str
    kind : {"person", "machine"}

    Examples
    --------
    >>> Judge("ann"), Judge("a model", "machine").is_machine
    (Judge(name='ann', kind='person'), True)
    """

    name: str = ""
    kind: str = "person"

    @property
    def is_machine(self) -> bool:
        """Whether it is no person: its judgments are no labels."""
        return self.kind == "machine"


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a judge says of an item.

    Attributes
    ----------
    query, item : str
        Of a preference the better item of the two; in a tie the order of the two says nothing.
    judge : Judge
    kind : str
        One of `KINDS`.
    value : int
        A grade, negative where there is none; of a preference 1, in a tie 0; of a document in a truth its rank, 0 below
        the top, `BAD` where it was thrown out.
    other : str
        Of a preference the item that it was compared with.
    reason : str
        Why the item cannot be judged, or was put off.
    at : int or None
        When: UTC, microseconds.
    seconds : float or None
        How long it took.
    seq : int or None
        Its number in the log that it comes from.

    Examples
    --------
    >>> Judgment("q1", "d7", Judge("ann"), value=2).value
    2
    """

    query: str
    item: str
    judge: Judge = Judge()
    kind: str = "grade"
    value: int = UNJUDGED
    other: str = ""
    reason: str = ""
    at: int | None = None
    seconds: float | None = None
    seq: int | None = None
