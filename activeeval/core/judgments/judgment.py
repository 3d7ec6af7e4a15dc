"""One judgment of an item and its judge."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("grade", "cannot", "deferred", "preference", "truth", "waits")
"""Kinds of judgments: a grade; the item cannot be judged; the judge deferred it; a preference between two items; a
document's place in a top-k truth; an unjudged item of a sheet."""
GRADE, CANNOT, DEFERRED, PREFERENCE, TRUTH, WAITS = range(len(KINDS))
JUDGE_KINDS = ("person", "machine")
UNJUDGED = -1
"""Grade of an item that was pooled, or could not be judged, and has no grade."""
BAD = -1
"""Rank of a rejected document; rank 0 is below the top."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A person or a model that judges; the name is empty if a file does not give it.

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
        """True for a grader (an LLM or another model): its judgments do not count as labels."""
        return self.kind == "machine"


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judge's judgment of an item, or preference between two items.

    Attributes
    ----------
    query, item : str
        For a preference, `item` is the preferred one; for a tie, the order of the two has no meaning.
    judge : Judge
    kind : str
        One of `KINDS`.
    value : int
        The grade, negative if there is none; for a preference 1, for a tie 0; for a document in a truth its rank, 0
        below the top, `BAD` if it was rejected.
    other : str
        For a preference, the item that it was compared with.
    reason : str
        Why the item cannot be judged, or was deferred.
    at : int or None
        Time of the judgment, microseconds since the epoch, UTC.
    seconds : float or None
        Duration in seconds.
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
