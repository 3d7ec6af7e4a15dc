"""The field's own estimates of a ranking from judgments of sampled documents: infAP, xinfAP, infNDCG, statAP.

Sources, in our own words and numpy only:

- infAP: Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM 2006, as
  trec_eval computes it;
- xinfAP and infNDCG: Yilmaz, Kanoulas and Aslam, "A simple and efficient sampling method for estimating AP and nDCG",
  SIGIR 2008, as NIST's sample_eval.pl computes them;
- statAP: Aslam and Pavlu, "A practical sampling strategy for efficient retrieval evaluation", 2007, as
  statAP_MQ_eval computes it from prels.

Documents stand on one axis, query by query; a sample is a mask on it. All of them may be judged (the *pool* of these
papers); a list may hold some of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Bools, Floats, Ints

EPSILON = 1e-5
"""What keeps a precision of no judged document defined: trec_eval's and sample_eval.pl's own value."""


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """What may be judged: the query (from 0) and the stratum (from 0) of each document, queries one after the other."""

    owners: Ints
    strata: Ints
    n_queries: int
    n_strata: int

    @property
    def cells(self) -> Ints:
        """The stratum of its query that each document is in, shape (n_documents,)."""
        return self.owners * self.n_strata + self.strata

    def count(self, chosen: Bools | None = None) -> Floats:
        """Count the documents, or chosen ones, in each stratum of each query, (n_queries, n_strata)."""
        found = np.bincount(self.cells, chosen, minlength=self.n_queries * self.n_strata)
        return found.reshape(self.n_queries, self.n_strata).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A ranked list of each query: its documents, best first, and their ranks from 1 (there may be gaps)."""

    documents: Documents
    places: Ints
    ranks: Ints

    @property
    def owners(self) -> Ints:
        """The query of each entry."""
        return self.documents.owners[self.places]

    @property
    def of_strata(self) -> Floats:
        """1 where an entry is of a stratum, shape (n_strata, n_entries)."""
        return (np.arange(self.documents.n_strata)[:, None] == self.documents.strata[self.places]).astype(np.float64)

    def above(self, amounts: Floats) -> Floats:
        """Return the sum of what stands above each entry in its list; ``amounts`` (…, n_entries)."""
        owners = self.owners
        is_first = np.diff(owners, prepend=-1) > 0
        first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
        before = np.cumsum(amounts, axis=-1) - amounts
        return before - before[..., first]

    def total(self, amounts: Floats) -> Floats:
        """Return the sum of a number of each entry over its query, shape (n_queries,)."""
        return np.bincount(self.owners, amounts, minlength=self.documents.n_queries)


def inferred_ap(lists: Lists, judged: Bools, is_relevant: Bools) -> Floats:
    """Return infAP of every query from a uniform sample of its documents, shape (n_queries,).

    The mean, over judged relevant documents, of the precision expected at their rank k,

        1/k + (d/k) · (r + ε)/(r + n + 2ε),

    d documents of the pool above it, r of them judged relevant and n judged not relevant; 0 for what is not retrieved.

    Parameters
    ----------
    lists : Lists
    judged, is_relevant : array of bool, shape (n_documents,)
        Which documents were judged; whether each one is relevant, of no account where it was not judged.
    """
    found = (judged & is_relevant)[lists.places]
    seen = judged[lists.places]
    d, r, s = lists.above(np.array((np.ones(found.size), found, seen), dtype=np.float64))
    precision = (1.0 + d * (r + EPSILON) / (s + 2 * EPSILON)) / lists.ranks
    n_relevant = np.bincount(lists.documents.owners, judged & is_relevant, minlength=lists.documents.n_queries)
    return _ratio(lists.total(np.where(found, precision, 0.0)), n_relevant)


def extended_inferred_ap(lists: Lists, judged: Bools, is_relevant: Bools) -> Floats:
    """Return xinfAP of every query from a sample that is uniform within strata, shape (n_queries,).

    Each judged relevant document stands for N_s/n_s of its stratum; the precision at its rank k is expected to be
    1/k + (1/k) Σ_s d_s (r_s + ε)/(n_s + 3ε), with d_s documents of stratum s above it, n_s judged and r_s relevant.
    Parameters as those of `inferred_ap`.
    """
    documents, of_strata = lists.documents, lists.of_strata
    found = (judged & is_relevant)[lists.places]
    d, r, s = lists.above(of_strata * np.array((np.ones(found.size), found, judged[lists.places]))[:, None, :])
    precision = (1.0 + (d * (r + EPSILON) / (s + 3 * EPSILON)).sum(axis=0)) / lists.ranks
    stands_for = _ratio(documents.count(), documents.count(judged))
    n_relevant = (stands_for * documents.count(judged & is_relevant)).sum(axis=1)
    weights = stands_for.ravel()[documents.cells[lists.places]]
    return _ratio(lists.total(np.where(found, weights * precision, 0.0)), n_relevant)


def inferred_dcg(lists: Lists, judged: Bools, gains: Floats, discounts: Floats) -> Floats:
    """Return the DCG that a stratified sample tells of: Σ_s d_s · (mean of c g over judged documents of s in the list).

    Parameters
    ----------
    lists : Lists
    judged : array of bool, shape (n_documents,)
    gains : ndarray, shape (n_documents,)
        g of each document, of no account where it was not judged.
    discounts : ndarray, shape (depth,)
        c of each rank that counts.
    """
    documents, counts = lists.documents, lists.ranks <= discounts.size
    value = np.where(counts, discounts[np.minimum(lists.ranks, discounts.size) - 1] * gains[lists.places], 0.0)
    cells, size = documents.cells[lists.places], documents.n_queries * documents.n_strata
    seen = judged[lists.places] & counts
    held, taken, sums = (np.bincount(cells, each, minlength=size) for each in (counts, seen, value * seen))
    return (held * _ratio(sums, taken)).reshape(-1, documents.n_strata).sum(axis=1)


def inferred_ideal(documents: Documents, judged: Bools, grades: Ints, gains: Floats, cumulative: Floats) -> Floats:
    """Return the DCG of the best ranking that a stratified sample tells of, shape (n_queries,).

    Of each grade it counts Σ_s N_s/n_s judged documents, rounded, and puts the best grades first.

    Parameters
    ----------
    grades : ndarray of int64, shape (n_documents,)
    gains : ndarray, shape (n_grades,)
    cumulative : ndarray, shape (n + 1,)
        What the first 0, 1 … n ranks are worth at a gain of 1.
    """
    stands_for, value = _ratio(documents.count(), documents.count(judged)), np.zeros(documents.n_queries)
    place = np.zeros(documents.n_queries, dtype=np.int64)
    for grade in np.argsort(-gains, kind="stable"):
        if gains[grade] <= 0:
            break
        number = (stands_for * documents.count(judged & (grades == grade))).sum(axis=1)
        end = np.minimum(place + np.floor(number + 0.5).astype(np.int64), cumulative.size - 1)
        value += gains[grade] * (cumulative[end] - cumulative[place])
        place = end
    return value


def stat_ap(lists: Lists, judged: Bools, is_relevant: Bools, probs: Floats) -> Floats:
    """Return statAP of every query from documents judged with probabilities π, shape (n_queries,).

    Σ (precision at its rank)/π over Σ 1/π, over judged relevant documents; the precision at rank k is
    (1 + Σ 1/π of those above)/k. Numerator and denominator are unbiased, their ratio is not.

    Parameters
    ----------
    probs : ndarray, shape (n_documents,)
        π, of no account where a document was not judged. Others as those of `inferred_ap`.
    """
    weights = np.where(judged & is_relevant, 1.0 / np.where(judged, probs, 1.0), 0.0)
    own = weights[lists.places]
    n_relevant = np.bincount(lists.documents.owners, weights, minlength=lists.documents.n_queries)
    return _ratio(lists.total(own * (1.0 + lists.above(own)) / lists.ranks), n_relevant)


def weighted_dcg(lists: Lists, judged: Bools, gains: Floats, probs: Floats, discounts: Floats) -> Floats:
    """Return Σ c g / π over judged documents: unbiased; parameters as those of `inferred_dcg` and `stat_ap`."""
    counts = judged[lists.places] & (lists.ranks <= discounts.size)
    value = discounts[np.minimum(lists.ranks, discounts.size) - 1] * gains[lists.places]
    return lists.total(np.where(counts, value / np.where(counts, probs[lists.places], 1.0), 0.0))


def _ratio(numbers: Floats, others: Floats) -> Floats:
    """Return numbers over others, 0 where there is nothing to divide by."""
    return np.divide(numbers, others, out=np.zeros(np.shape(numbers)), where=np.asarray(others) > 0)
