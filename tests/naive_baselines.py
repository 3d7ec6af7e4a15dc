"""Obviously right, slow forms of the field's baselines: dictionaries and plain loops, no numpy.

A query is a dict {document: (stratum, grade or None where it was not judged)}, a list is a list of documents; what the
dict does not hold is not in the pool.
"""

import math

EPSILON = 1e-5


def inf_ap(documents, ranking):
    precisions = []
    for k, document in enumerate(ranking, 1):
        if (documents.get(document, (0, None))[1] or 0) > 0:
            above = [documents[one][1] for one in ranking[: k - 1] if one in documents]
            relevant = sum(1 for grade in above if grade is not None and grade > 0)
            judged = sum(1 for grade in above if grade is not None)
            precisions.append(1 / k + len(above) / k * (relevant + EPSILON) / (judged + 2 * EPSILON))
    number = sum(1 for _, grade in documents.values() if grade)
    return sum(precisions) / number if number else 0.0


def strata_of(documents):
    return sorted({stratum for stratum, _ in documents.values()})


def judged_in(documents, stratum, least=0):
    return [one for one, (s, grade) in documents.items() if s == stratum and grade is not None and grade >= least]


def size_of(documents, stratum):
    return sum(1 for s, _ in documents.values() if s == stratum)


def xinf_ap(documents, ranking):
    total, number = 0.0, 0.0
    for stratum in strata_of(documents):
        judged, relevant = judged_in(documents, stratum), judged_in(documents, stratum, 1)
        if not judged:
            continue
        expected = len(relevant) * size_of(documents, stratum) / len(judged)
        number += expected
        found = [_precision(documents, ranking, ranking.index(one) + 1) for one in relevant if one in ranking]
        total += expected * sum(found) / len(relevant) if relevant else 0.0
    return total / number if number else 0.0


def _precision(documents, ranking, k):
    above, value = [one for one in ranking[: k - 1] if one in documents], 1 / k
    for stratum in strata_of(documents):
        own = [documents[one][1] for one in above if documents[one][0] == stratum]
        relevant = sum(1 for grade in own if grade)
        judged = sum(1 for grade in own if grade is not None)
        value += len(own) / k * (relevant + EPSILON) / (judged + 3 * EPSILON)
    return value


def inf_dcg(documents, ranking, cutoff):
    total = 0.0
    for stratum in strata_of(documents):
        places = [
            (k, documents[one][1])
            for k, one in enumerate(ranking[:cutoff], 1)
            if one in documents and documents[one][0] == stratum
        ]
        judged = [grade / math.log2(k + 1) for k, grade in places if grade is not None]
        total += len(places) * sum(judged) / len(judged) if judged else 0.0
    return total


def inf_ideal(documents, cutoff):
    grades = []
    for grade in sorted({grade for _, grade in documents.values() if grade}, reverse=True):
        number = 0.0
        for stratum in strata_of(documents):
            judged = judged_in(documents, stratum)
            same = [one for one in judged if documents[one][1] == grade]
            number += len(same) * size_of(documents, stratum) / len(judged) if judged else 0.0
        grades += [grade] * int(number + 0.5)
    return sum(grade / math.log2(k + 1) for k, grade in enumerate(grades[:cutoff], 1))


def stat_ap(documents, ranking, probs):
    """``probs`` {document: π}."""
    number = sum(1 / probs[one] for one, (_, grade) in documents.items() if grade)
    total, above = 0.0, 0.0
    for k, one in enumerate(ranking, 1):
        if documents[one][1]:
            total += (1 + above) / k / probs[one]
            above += 1 / probs[one]
    return total / number if number else 0.0
