"""Which of the best items are alike: ties that comparisons tell, read as groups of a ranking.

A judge whose ties are those of a ranking with groups is asked enough to tell every group that has a member among the
best, whatever the order of arrival. Two neighbours of the top have been compared, or stand on both sides of what was
thrown out. An item below that is as good as the last of the top lost to a root that is neither worse than the one nor
better than the other, or was that root itself: so it is tied with it, and with the last of the top are tied all that
lie between the two in the heap, each of which was compared with the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

ComparedPair = tuple[int, int, int | None]
"""Two items and the preferred one, None for a tie."""


def tied_groups(best: Sequence[int], below: Sequence[int], answers: Iterable[ComparedPair]) -> list[list[int]]:
    """Return the best items in groups of those that are alike, best group first.

    Neighbours are alike where ties lead from one to the other, past nothing but items that were thrown out, unless an
    answer sets one of the group apart. So where ties are not those of any ranking, answers that are strict stand.

    Parameters
    ----------
    best : sequence of int
        The top, best first.
    below : sequence of int
        The items under it: those that are like the last of the top join its group.
    answers : iterable of (int, int, int or None)
        At most one a pair. Items that are neither in the top nor below were thrown out.

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
        # those that join together may be set apart from each other
        groups[-1].extend(item for item in sorted(joining) if apart[item].isdisjoint(groups[-1]))
    return groups


def _joining(group: Sequence[int], left: set[int], alike: dict[int, set[int]], apart: dict[int, set[int]]) -> set[int]:
    """Return the items that ties lead to from a group and no answer sets apart from it."""
    members, met, ends = set(group), set(group), list(group)
    while ends:
        for other in alike[ends.pop()] - met:
            met.add(other)
            if other not in left:
                ends.append(other)
    return {item for item in (met & left) - members if members.isdisjoint(apart[item])}
