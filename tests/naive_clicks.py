"""Obvious forms of what is made of click logs: dicts, loops, fractions and enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb, erfc, sqrt
from statistics import NormalDist


def fisher(n1, c1, n2, c2):
    """Return P(X ≥ c1) of the hypergeometric X, as a fraction."""
    clicks = c1 + c2
    ways = [comb(n1, x) * comb(n2, clicks - x) for x in range(clicks + 1)]
    return Fraction(sum(ways[c1:]), comb(n1 + n2, clicks))


def exact_by_enumeration(strata):
    """Return P(Σ X ≥ Σ c1) by going through every way to share out the clicks of every stratum."""
    sums = Counter({0: 1})
    for n1, c1, n2, c2 in strata:
        more = Counter()
        for before, ways in sums.items():
            for x in range(c1 + c2 + 1):
                more[before + x] += ways * comb(n1, x) * comb(n2, c1 + c2 - x)
        sums = more
    least = sum(stratum[1] for stratum in strata)
    return Fraction(sum(ways for total, ways in sums.items() if total >= least), sum(sums.values()))


def one_sided(strata, level):
    """Return z and the chance of it or more, exact where a sum of clicks can move by less than 5 either way.

    Also exact where the normal chance is at most the level, and the skewness changes that of the z of a quarter of it
    by more than a twentieth.
    """
    excess = variance = below = above = third = Fraction(0)
    for n1, c1, n2, c2 in strata:
        whole, clicks = n1 + n2, c1 + c2
        expected = Fraction(n1 * clicks, whole)
        excess += c1 - expected
        variance += Fraction(n1 * n2 * clicks * (whole - clicks), whole**3)
        third += Fraction(n1 * n2 * clicks * (whole - clicks) * (whole - 2 * clicks) * (n2 - n1), whole**5)
        below += expected - max(0, clicks - n2)
        above += min(n1, clicks) - expected
    z = float(excess) / sqrt(variance) if variance else 0.0
    if excess <= 0:
        return z, 1.0
    normal = erfc(z / sqrt(2)) / 2
    at = -NormalDist().inv_cdf(level / 4)
    share = abs(float(third)) / float(variance) ** 1.5 * abs(at * at - 1) / 6 * NormalDist().pdf(at) / (level / 4)
    is_exact = min(below, above) < 5 or (share > 0.05 and normal <= level)
    return z, float(exact_by_enumeration(strata)) if is_exact else normal


def preferences(rows, level, skip_above, fewest, robot_rate, robot_shown, query_rate, query_documents):
    """Return the preferred pairs with z and p, the fate of every pair, and how many rows had each fate."""
    row_fates, kept, of_robots = Counter(), {}, set()
    robot_queries = set()
    for query in {row[0] for row in rows}:
        totals = {}
        for q, doc, _, shown, clicked in rows:
            if q == query and shown >= fewest:
                n, c = totals.get(doc, (0, 0))
                totals[doc] = (n + shown, c + clicked)
        if len(totals) >= query_documents and all(c >= query_rate * n for n, c in totals.values()):
            robot_queries.add(query)
    for query, doc, position, shown, clicked in rows:
        if shown < fewest:
            row_fates["few"] += 1
        elif (clicked / shown >= robot_rate and shown >= robot_shown) or query in robot_queries:
            is_row = clicked / shown >= robot_rate and shown >= robot_shown
            row_fates["robot row" if is_row else "robot query"] += 1
            of_robots.add((query, doc))
        else:
            row_fates["kept"] += 1
            kept.setdefault((query, doc), {})[position] = (shown, clicked)
    found, fates = {}, {}
    for first, second in combinations(sorted({row[:2] for row in rows}), 2):
        if first[0] != second[0]:
            continue
        gone = [one for one in (first, second) if one not in kept]
        if gone:
            fates[first, second] = "robots" if of_robots & set(gone) else "few"
            continue
        said = {}
        for one, other in ((first, second), (second, first)):
            z, p = compared(kept[one], kept[other], skip_above, level)
            if p <= level / 2:
                said[one, other] = (z, 2 * p)
        if len(said) == 1:
            fates[first, second] = "kept"
            found |= said
        elif said:
            fates[first, second] = "both ways"
        else:
            free = [compared(kept[a], kept[b], False, level)[1] for a, b in ((first, second), (second, first))]
            fates[first, second] = "above" if min(free) <= level / 2 else "no difference"
    return found, fates, row_fates


def compared(one, other, skip_above, level):
    """Return z and the chance of one being clicked more by the way that says most, the chance times their number."""
    main, main_other = (min(rows, key=lambda at: (-rows[at][0], at)) for rows in (one, other))
    ways = []
    if shared := sorted(set(one) & set(other)):
        ways.append([(*one[at], *other[at]) for at in shared])
    if main > main_other or (not skip_above and main < main_other):
        ways.append([(*one[main], *other[main_other])])
    found = [one_sided(strata, level) for strata in ways]
    z, p = min(found, key=lambda way: way[1], default=(0.0, 1.0))
    return z, min(1.0, len(ways) * p) if ways else 1.0


def cascade(attractions, after_click, after_skip):
    """Return the chance of a click at each position, by going through everything that a visit can do."""
    n = len(attractions)
    found = [0.0] * n
    for clicks in product((False, True), repeat=n):
        for stop in range(1, n + 1):  # the last position that is looked at
            if any(clicks[stop:]):
                continue
            chance = 1.0
            for at in range(stop):
                chance *= attractions[at] if clicks[at] else 1 - attractions[at]
                goes_on = after_click if clicks[at] else after_skip
                chance *= goes_on if at < stop - 1 else (1 - goes_on if at < n - 1 else 1.0)
            for at in range(stop):
                found[at] += chance * clicks[at]
    return found
