"""Groups of tied items among the best, derived from the comparisons.

If a judge's ties follow a ranking with groups, the answers determine every group with a member among the best, whatever
the order of arrival. Two neighbours of the top have been compared, or are separated by discarded items. An item below
that ties with the last of the top lost to a root that is neither worse than the last nor better than the item, or was
that root itself: so it is tied with it. The last of the top is tied with all items between the two in the heap, each of
which was compared with the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

ComparedPair = tuple[int, int, int | None]
"""Two items and the preferred one, None for a tie."""


def tied_groups(best: Sequence[int], below: Sequence[int], answers: Iterable[ComparedPair]) -> list[list[int]]:
    """Group the best items by ties, best group first.

    Neighbours belong together if a chain of ties connects them, through discarded items only, unless a strict answer
    separates one of the group. So if ties are not transitive, strict answers prevail.

    Parameters
    ----------
    best : sequence of int
        The top, best first.
    below : sequence of int
        The items under it: those tied with the last of the top join its group.
    answers : iterable of (int, int, int or None)
        Two items and the preferred one, None for a tie; at most one answer for each pair. Items neither in `best` nor
        in `below` are discarded ones.

    Examples
    --------
    >>> tied_groups([2, 0], [1, 3], [(2, 0, 2), (0, 1, None), (1, 3, 1)])
    [[2], [0, 1]]
    """
    alike: dict[int, set[int]] = defaultdict(set)
    apart: dict[int, set[int]] = defaultdict(set)
    for first, second, preferred in answers:
        for item, other in ((first, second), (second, first)):
            (alike if preferred is None else apart)[item].add(other)
    left, groups = {*best, *below}, list[list[int]]()
    for item in best:
        if groups and item in _joining(groups[-1], left, alike, apart):
            groups[-1].append(item)
        else:
            groups.append([item])
    while groups and (joining := _joining(groups[-1], left, alike, apart).intersection(below)):
        # items that join in the same step may be strictly ordered among themselves
        groups[-1].extend(item for item in sorted(joining) if apart[item].isdisjoint(groups[-1]))
    return groups


def _joining(group: Sequence[int], left: set[int], alike: dict[int, set[int]], apart: dict[int, set[int]]) -> set[int]:
    """Find the items of `left` connected to a group by ties and not separated from it by a strict answer.

    `alike` and `apart` have, for each item, the items tied with it and those with a strict answer. Chains of ties may
    pass through items outside `left` (discarded ones).
    """
    members, reached, frontier = set(group), set(group), list(group)
    while frontier:
        for other in alike[frontier.pop()] - reached:
            reached.add(other)
            if other not in left:
                frontier.append(other)
    return {item for item in (reached & left) - members if members.isdisjoint(apart[item])}
