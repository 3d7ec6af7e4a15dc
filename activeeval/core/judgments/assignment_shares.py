"""Assignment of items to judges: each item to as many judges as it needs, with few judges per query."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import groupby
from typing import NamedTuple


class Item(NamedTuple):
    """An item that needs judges.

    Attributes
    ----------
    block : int
        Part of the sample that the item belongs to; its blocks are judged one after another.
    query : hashable
    n_judges : int
        Number of judges to assign.
    barred : collection of str
        Judges who must not receive it, for example because they have judged it.
    """

    block: int
    query: Hashable
    n_judges: int = 1
    barred: Collection[str] = ()


def shared_out(items: Sequence[Item], judges: Sequence[str]) -> list[list[str]]:
    """Assign judges to items.

    The items of a block (a part of the sample) are cut into runs of equal length, one per judge, in the given order; if
    that is by query, a query is split only at the ends of a run. Judges with the fewest items so far come first.

    Parameters
    ----------
    items : sequence of Item
        Sorted by block.
    judges : sequence of str

    Returns
    -------
    list of list of str
        Judges of each item.

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
        # items that all judges receive do not count for the cut into runs
        n_apart, place = sum(item.n_judges < len(order) for item in block), 0
        for item in block:
            # the judge whose run of equal length contains this item comes first
            first = place * len(order) // n_apart if item.n_judges < len(order) else 0
            place += item.n_judges < len(order)
            turn = [*order[first:], *order[:first]]
            chosen.append([judge for judge in turn if judge not in item.barred][: item.n_judges])
            for judge in chosen[-1]:
                n_of[judge] += 1
    return chosen
