"""Small campaigns in a store in memory, and judges who say what they are told to."""

from dataclasses import replace

import numpy as np
from naive import pool_of, rankings_of

from activeeval import DCG, METHODS, Campaign, Target
from activeeval.campaigns.create_and_grow import create, redraw
from activeeval.campaigns.known_labels import labels_of
from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.sampling.drawn_sample import DrawnSample

GAINS, SECOND = [0.0, 1.0, 3.0], 1_000_000


class Clock:
    """The time of a simulation: a second for each question."""

    def __init__(self):
        self.now = 1_800_000_000 * SECOND

    def __call__(self):
        self.now += SECOND
        return self.now


def known_in(pool, state):
    """Return the label of each item of a pool in a campaign, -1 where it has none."""
    labels, ids = labels_of(state), pool.query_texts[pool.item_queries]
    return np.array([labels.get(pair, -1) for pair in zip(ids, pool.item_texts, strict=True)])


def changed(store, event, grade=None):
    """Have the judge of an event give another grade: the next one, unless it is said which."""
    said = JudgeAnswer(kind="judged", grade=(event.grade + 1) % 3 if grade is None else grade)
    store.record("week", event.judge, [(event.query_id, event.doc_id, said, None, event.unit)])


class Case:
    """A campaign of queries with four items, its labels, and its store.

    A model of three grades expects ``probs`` of every item.
    """

    def __init__(self, method="items", budget=48.0, n=24, seed=0, probs=(0.6, 0.2, 0.2), texts=None, **rules):
        random = np.random.default_rng(seed)
        pool = pool_of([4] * n)
        ease = np.repeat(random.normal(size=n), 4) + random.normal(size=4 * n)
        self.labels = np.digitize(ease, [0.3, 1.2])
        ids = pool.query_texts[pool.item_queries].tolist()
        self.grades = dict(zip(zip(ids, pool.item_texts.tolist(), strict=True), self.labels.tolist(), strict=True))
        self.target = Target(DCG(GAINS), rankings_of(pool, [[0, 1, 2, 3]] * n))
        self.probs = np.tile(probs, (4 * n, 1)) if np.ndim(probs) == 1 else np.asarray(probs)
        self.method, self.pool, self.seed = METHODS[method], pool, seed
        self.sample = self.drawn(budget)
        self.clock = Clock()
        self.store = open_store("sqlite://", create=True, clock=self.clock)
        create(self.store, "week", self.sample, Rules(**rules), texts=texts and texts(self.sample.pairs))

    def drawn(self, budget, known=None):
        """Return a sample that nobody has judged."""
        beliefs = {"grade_probs": self.probs} if self.method.name not in ("random", "passive") else {}
        design = self.method.design(self.target, **beliefs, budget=budget, judged=known, max_grade=2)
        return DrawnSample(campaign=Campaign(design, rng=self.seed), questions=("run",), seed=self.seed)

    def known(self, state=None):
        """Return what is known of each item: its label where it has one, and -1."""
        return known_in(self.pool, state or state_of(self.store, "week"))

    def redraw(self, budget, seed=None):
        """Draw a further round, to which every label so far is known."""
        sample = self.drawn(budget, self.known())
        if seed is not None:
            sample = replace(sample, campaign=Campaign(sample.campaign.design, rng=seed), seed=seed)
        redraw(self.store, "week", sample)

    def grade(self, query, doc):
        """Return the label of an item."""
        return self.grades[query, doc]

    def judge(self, *judges, says=None, upto=10**9):
        """Have judges take turns until nothing is left for any, or so many answers are given; return how many were."""
        n, idle = 0, 0
        while n < upto and idle < len(judges):
            judge = judges[n % len(judges)] if not idle else judges[(n + idle) % len(judges)]
            item = self.store.claim("week", judge)
            idle = idle + 1 if item is None else 0
            if item is not None:
                said = says(judge, item) if says else None
                given = said or JudgeAnswer(kind="judged", grade=self.grade(item.query_id, item.doc_id))
                self.store.submit("week", item.token, given)
                n += 1
        return n
