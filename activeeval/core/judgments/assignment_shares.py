"""Items shared out among judges: each to as many of them as it needs, by query as far as that goes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import groupby
from typing import NamedTuple


class Item(NamedTuple):
    """An item that waits for judges.

    Attributes
    ----------
    block : int
    query : str
    n_judges : int
        How many of them are to judge it.
    barred : collection of str
        Who is not to judge it, as whoever has done so.
    """

    block: int
    query: Hashable
    n_judges: int = 1
    barred: Collection[str] = ()


def shared_out(items: Sequence[Item], judges: Sequence[str]) -> list[list[str]]:
    """Return the judges of each item.

    The items of a block are cut into runs of equal length, one for each judge, in the order in which they come: where
    that is by query a query is cut at the ends of a run alone. Whoever has the least so far comes first.

    Parameters
    ----------
    items : sequence of Item
        Block by block.
    judges : sequence of str

    Examples
    --------
    >>> shared_out([Item(1, "q1"), Item(1, "q2"), Item(1, "q2", n_judges=2)], ["ann", "bob"])
    [['ann'], ['bob'], ['ann', 'bob']]
    """
    n_of = dict.fromkeys(judges, 0)
    chosen: list[list[str]] = []
    for _, of_block in groupby(items, key=lambda item: item.block):
        block = list(of_block)
        order = sorted(judges, key=lambda judge: n_of[judge])
        # what everybody judges is nobody's part of the block
        n_apart, place = sum(item.n_judges < len(order) for item in block), 0
        for item in block:
            first = place * len(order) // n_apart if item.n_judges < len(order) else 0
            place += item.n_judges < len(order)
            turn = [*order[first:], *order[:first]]
            chosen.append([judge for judge in turn if judge not in item.barred][: item.n_judges])
            for judge in chosen[-1]:
                n_of[judge] += 1
    return chosen
