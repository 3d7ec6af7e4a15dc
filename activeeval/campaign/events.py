"""What happens in a campaign: an append-only log, of which its state is a fold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from activeeval.errors import StateError


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Places of one query that are judged together.

    Attributes
    ----------
    number : int
        1 for the first unit, by level.
    block : int
        1 for the first block.
    query : int
        Index of the query in the pool.
    query_id : str
    items : tuple of int
        Positions of the items to judge on the flat item axis.
    item_ids : tuple of str
    level : float
        Where the unit comes in its order; NaN of a draw with replacement.
    cost : float
        In mean items: the overhead of a query that is new, and the items.
    """

    number: int
    block: int
    query: int
    query_id: str
    items: tuple[int, ...]
    item_ids: tuple[str, ...]
    level: float
    cost: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """A unit came up, recorded before anyone judges it."""

    unit: Unit


@dataclass(frozen=True, slots=True)
class Judged:
    """An item got a grade, from a judge, at a time; a later judgment takes an earlier one's place."""

    item: int
    grade: int
    judge: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class CannotJudge:
    """An item cannot be judged: a page that is gone, a language that nobody reads."""

    item: int
    judge: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Retracted:
    """What was said of an item is taken back: it waits again."""

    item: int
    judge: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """No further unit: the budget cannot pay for the one that came up, or all is judged."""

    reason: str


Event = Drawn | Judged | CannotJudge | Retracted | Ended


@dataclass(slots=True, kw_only=True)
class State:
    """What a log comes to, event by event.

    Attributes
    ----------
    units : list of Unit
        Drawn so far, in their order.
    grades : dict
        Grade of each judged item.
    cannot : set of int
        Items that cannot be judged.
    spent : float
        In mean items.
    ended : str
        Why there will be no further unit; empty while there may be one.
    """

    units: list[Unit] = field(default_factory=list)
    grades: dict[int, int] = field(default_factory=dict)
    cannot: set[int] = field(default_factory=set)
    spent: float = 0.0
    ended: str = ""

    def apply(self, event: Event) -> None:
        """Take an event in.

        Raises
        ------
        StateError
            Where it does not follow from those before it.
        """
        if isinstance(event, Ended):
            self.ended = event.reason
        elif isinstance(event, Drawn):
            if self.ended:
                raise StateError(f"the log goes on after its end: unit {event.unit.number}")
            self.units.append(event.unit)
            self.spent += event.unit.cost
        else:
            self.grades.pop(event.item, None)
            self.cannot.discard(event.item)
            if isinstance(event, Judged):
                self.grades[event.item] = event.grade
            elif isinstance(event, CannotJudge):
                self.cannot.add(event.item)

    def waits(self, unit: Unit) -> bool:
        """Whether an item of a unit waits for somebody."""
        return any(item not in self.grades and item not in self.cannot for item in unit.items)


def folded(events: Iterable[Event]) -> State:
    """Return what a log comes to; raises as `State.apply` does.

    Examples
    --------
    >>> unit = Unit(number=1, block=1, query=0, query_id="q", items=(3,), item_ids=("d",), level=0.5, cost=1.0)
    >>> folded([Drawn(unit), Judged(3, 2, "ann"), Retracted(3), Judged(3, 1, "bob")]).grades
    {3: 1}
    """
    state = State()
    for event in events:
        state.apply(event)
    return state
