"""A campaign of a sample whose depths follow labels, in a store, and its judges."""

from functools import cache

import numpy as np
from campaign_cases import Clock, known_in
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import METHODS, NDCG, Campaign, StateError, Target
from activeeval.campaigns import assignments
from activeeval.campaigns.create_and_grow import create, redraw
from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.sampling.drawn_sample import DrawnSample

N = 12


class Following:
    """A campaign of nDCG@3 in a store, whose labels a model expects roughly."""

    def __init__(self, url="sqlite://", budget=36.0, seed=0, looks="each", **rules):
        random = np.random.default_rng(11)
        lengths = random.integers(4, 12, N).tolist()
        self.pool = pool_of(lengths, query_costs=random.choice([0.0, 1.0], N))
        lists = [rankings_of(self.pool, random_lists(random, lengths, least=2)) for _ in range(2)]
        self.probs = random_probs(random, self.pool.n_items, 3)
        self.labels = np.array([random.choice(3, p=row) for row in self.probs])
        self.target, self.budget, self.looks = Target(NDCG("exp", cutoff=3), *lists), budget, looks
        ids = self.pool.query_texts[self.pool.item_queries].tolist()
        self.grades = dict(zip(zip(ids, self.pool.item_texts.tolist(), strict=True), self.labels.tolist(), strict=True))
        self.seed = np.random.SeedSequence(seed)
        self.sample = self.drawn(self.seed)
        self.clock, self.seen = Clock(), set()
        self.store = open_store(url, create=True, clock=self.clock)
        create(self.store, "week", self.sample, Rules(**rules))

    def design(self, known=None):
        return METHODS["depth"].looking(self.looks).design(self.target, self.probs, judged=known, max_grade=2)

    def drawn(self, seed, budget=None, known=None):
        campaign = Campaign(self.design(known), budget or self.budget, rng=seed, by_batches=True, surely=True)
        return DrawnSample(campaign=campaign, questions=("difference",), seed=1)

    @property
    def desk(self):
        return assignments.desk_of(self.store, "week")

    def redraw(self, budget):
        """Draw a further round, to which every label so far is known."""
        redraw(self.store, "week", self.drawn(np.random.SeedSequence(9), budget, known_in(self.pool, self.state())))

    def answer(self, item):
        return JudgeAnswer(kind="judged", grade=self.grades[item.query_id, item.doc_id])

    def judge(self, *judges, upto=10**9):
        """Have judges take turns until nothing is left for any, nobody twice; return how many answers they gave."""
        n, idle = 0, 0
        while n < upto and idle < len(judges):
            judge = judges[(n + idle) % len(judges)]
            item = self.desk.claim(judge)
            idle = idle + 1 if item is None else 0
            if item is not None:
                assert (judge, item.query_id, item.doc_id) not in self.seen
                self.seen.add((judge, item.query_id, item.doc_id))
                self.desk.submit(item.token, self.answer(item))
                n += 1
        return n

    def in_memory(self):
        campaign = Campaign(self.design(), self.budget, rng=self.seed, by_batches=True, surely=True)
        campaign.run(lambda query, docs: [self.grades[query, doc] for doc in docs])
        return campaign

    def state(self, as_of=None):
        return state_of(self.store, "week", as_of)


def estimate_of(state):
    ((answer,), _) = answered(state)
    return answer.estimate


@cache
def judged_case(budget=36.0):
    """Return a campaign that one judge has judged; not to be changed."""
    case = Following(budget=budget)
    case.judge("ann")
    return case


@cache
def by_one_judge(budget=36.0):
    """Return its state; not to be changed."""
    return judged_case(budget).state()


def said_by(state):
    try:
        return estimate_of(state)
    except StateError as problem:
        return str(problem)
