"""Agreement by plain loops over judges, items and pairs, in fractions."""

from fractions import Fraction
from itertools import combinations


def alpha(table, metric):
    """Return Krippendorff's α of lists of grades, a list a judge, None where nothing was said."""
    units = [[row[u] for row in table if row[u] is not None] for u in range(len(table[0]))]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]
    n = len(values)

    def delta(c, k):
        if metric == "nominal":
            return Fraction(c != k)
        if metric == "interval":
            return Fraction(c - k) ** 2
        if metric == "ratio":
            return Fraction(c - k, c + k) ** 2 if c + k else Fraction(0)
        low, high = min(c, k), max(c, k)
        between = sum(low <= v <= high for v in values)
        return (between - Fraction(values.count(c) + values.count(k), 2)) ** 2 if c != k else Fraction(0)

    observed = Fraction(0)
    for unit in units:
        for i, c in enumerate(unit):
            observed += sum(delta(c, k) for j, k in enumerate(unit) if i != j) / Fraction(len(unit) - 1)
    expected = sum(delta(c, k) for i, c in enumerate(values) for j, k in enumerate(values) if i != j)
    if not expected:
        return None
    return 1 - (observed / n) / (expected / (n * (n - 1)))


def kappa(first, second, power):
    """Return Cohen's κ with disagreements weighed by |c − k|^power; 0 for no weights."""

    def weight(c, k):
        return Fraction(abs(c - k)) ** power if c != k else Fraction(0)

    n = len(first)
    observed = sum(weight(c, k) for c, k in zip(first, second, strict=True)) / Fraction(n)
    expected = sum(weight(c, k) for c in first for k in second) / Fraction(n * n)
    return None if not expected else 1 - observed / expected


def gwet(table, power):
    """Return Gwet's AC of lists of grades, a list a judge, with weights 1 − |c − k|^power / the largest; 0 for AC1."""
    units = [[row[u] for row in table if row[u] is not None] for u in range(len(table[0]))]
    units = [unit for unit in units if unit]
    values = sorted({v for unit in units for v in unit})
    if len(values) < 2 or all(len(unit) < 2 for unit in units):
        return None
    widest = Fraction(values[-1] - values[0]) ** power

    def weight(c, k):
        return 1 - (Fraction(abs(c - k)) ** power / widest if c != k else 0)

    pairs = [[weight(c, k) for c, k in combinations(unit, 2)] for unit in units if len(unit) > 1]
    observed = sum(sum(own) / Fraction(len(own)) for own in pairs) / len(pairs)
    expected = Fraction(0)
    for value in values:
        share = sum(Fraction(unit.count(value), len(unit)) for unit in units) / len(units)
        expected += share * (1 - share)
    expected *= sum(weight(c, k) for c in values for k in values) / Fraction(len(values) * (len(values) - 1))
    return (observed - expected) / (1 - expected)


def alike(table):
    """Return the mean share of the pairs of judges of an item that say the same, and that of the commonest grade."""
    units = [[row[u] for row in table if row[u] is not None] for u in range(len(table[0]))]
    units = [unit for unit in units if len(unit) > 1]
    alike = [sum(c == k for c, k in combinations(unit, 2)) for unit in units]
    shares = [Fraction(n, len(unit) * (len(unit) - 1) // 2) for n, unit in zip(alike, units, strict=True)]
    grades = [v for unit in units for v in unit]
    return sum(shares) / len(units), Fraction(max(map(grades.count, grades)), len(grades))


def relation_counts(grades):
    """Return counts over A>B, A~B, A<B of what judges say of pairs, from a dict of judge to query to doc to grade."""
    counts = [[0] * 3 for _ in range(3)]
    for one, two in combinations(grades, 2):
        for query in grades[one].keys() & grades[two].keys():
            for a, b in combinations(sorted(grades[one][query].keys() & grades[two][query].keys()), 2):
                said = []
                for judge in (one, two):
                    x, y = grades[judge][query][a], grades[judge][query][b]
                    said.append(0 if x > y else 1 if x == y else 2)
                counts[said[0]][said[1]] += 1
    return counts
