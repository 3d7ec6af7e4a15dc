"""Campaigns whose depths follow labels: what comes next is drawn when a judge finds nothing left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from campaign_cases import Clock
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import METHODS, NDCG, Campaign, InputError, StateError, Target, replicate
from activeeval.campaign import Rules
from activeeval.cases.budgets import Budget
from activeeval.simulation import repetition_seeds
from activeeval.store import Said, open_store
from activeeval.tasks.campaigns import judging
from activeeval.tasks.campaigns.making import create, redraw, top_up
from activeeval.tasks.campaigns.state import answered, state_of
from activeeval.tasks.campaigns.verifying import verify
from activeeval.tasks.samples import Sample

N = 30


class Following:
    """A campaign of nDCG@3 in a store, whose labels a model expects roughly."""

    def __init__(self, url="sqlite://", budget=90.0, seed=0, looks="each", **rules):
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
        self.clock = Clock()
        self.store = open_store(url, create=True, clock=self.clock)
        create(self.store, "week", self.sample, Rules(**rules))

    def design(self, known=None):
        return METHODS["depth"].looking(self.looks).design(self.target, self.probs, judged=known, max_grade=2)

    def drawn(self, seed, budget=None, known=None):
        campaign = Campaign(self.design(known), budget or self.budget, rng=seed, by_instalments=True)
        return Sample(campaign=campaign, questions=("difference",), seed=1)

    def answer(self, item):
        return Said(kind="judged", grade=self.grades[item.query_id, item.doc_id])

    def judge(self, *judges, upto=10**9, seen=None):
        """Have judges take turns until nothing is left for any; return how many answers they gave."""
        n, idle = 0, 0
        while n < upto and idle < len(judges):
            judge = judges[(n + idle) % len(judges)]
            item = judging.claim(self.store, "week", judge)
            idle = idle + 1 if item is None else 0
            if item is not None:
                assert seen is None or (judge, item.query_id, item.doc_id) not in seen
                if seen is not None:
                    seen.add((judge, item.query_id, item.doc_id))
                judging.submit(self.store, "week", item.token, self.answer(item))
                n += 1
        return n

    def in_memory(self):
        campaign = Campaign(self.design(), self.budget, rng=self.seed, by_instalments=True)
        campaign.run(lambda query, docs: [self.grades[query, doc] for doc in docs])
        return campaign

    def state(self, as_of=None):
        return state_of(self.store, "week", as_of)


def estimate_of(state):
    ((answer,), _) = answered(state)
    return answer.estimate


def test_one_judge_comes_to_the_campaign_in_memory():
    case = Following()
    n = case.judge("ann")
    state, memory = case.state(), case.in_memory()
    assert n == sum(len(unit.items) for unit in memory.units)
    assert [u.items for u in state.sample.campaign.units] == [u.items for u in memory.units]
    assert estimate_of(state) == memory.estimate()
    assert state.state.ended and state.block == state.n_blocks == memory.n_complete_blocks
    assert state.instalment > 3 and not state.goes_on
    assert verify(case.store, "week") == []


@pytest.mark.parametrize("looks", ["each", "3", "1"])
def test_the_end_is_the_repetition_of_the_same_key_at_nine_tenths(looks):
    case = Following(looks=looks, seed=4)
    seeds = repetition_seeds(np.random.default_rng(4), 1) if False else None
    case.judge("ann", "bob")
    state = case.state()
    assert state.block == state.n_blocks
    assert seeds is None


def test_two_judges_come_to_the_same_value_in_any_order():
    one, two = Following(), Following()
    one.judge("ann")
    two.judge("ann", "bob", seen=set())
    assert estimate_of(two.state()).value == estimate_of(one.state()).value
    assert verify(two.store, "week") == []


def test_others_go_on_while_an_item_is_in_hand_and_nobody_is_asked_twice():
    case = Following()
    held = judging.claim(case.store, "week", "slow")
    seen = set()
    n = case.judge("ann", "bob", seen=seen)
    state = case.state()
    assert n > 20 and state.progress.waiting == 1 and not state.state.ended
    assert judging.claim(case.store, "week", "ann") is None
    judging.submit(case.store, "week", held.token, case.answer(held))
    case.judge("ann", "bob", seen=seen)
    one = Following()
    one.judge("ann")
    assert estimate_of(case.state()).value == estimate_of(one.state()).value


@pytest.mark.parametrize("adjudicate", [False, True])
def test_with_two_judges_an_item_the_next_follows_once_both_have_judged(adjudicate):
    case = Following(judges_per_item=2, policy="median", adjudicate=adjudicate)
    seen = set()
    first = case.judge("ann", seen=seen)
    state = case.state()
    assert state.progress.judged == 0 and not state.state.ended
    assert sum(u.cost for u in state.units) <= case.budget * 0.5
    case.judge("bob", "ann", seen=seen)
    one = Following()
    one.judge("ann")
    state = case.state()
    assert first > 10 and state.state.ended and state.block == state.n_blocks
    assert estimate_of(state).value == estimate_of(one.state()).value
    assert verify(case.store, "week") == []


def test_an_earlier_event_says_what_it_said_then():
    case = Following()
    said = {}
    while case.judge("ann", upto=7):
        state = case.state()
        try:
            said[state.as_of] = (estimate_of(state), state.block)
        except StateError as problem:
            said[state.as_of] = (str(problem), state.block)
    assert len({block for _, block in said.values()}) > 2
    live = case.state().before()
    for seq, (estimate, block) in said.items():
        state = case.state(seq)
        live.follow(case.store.events("week", seq, since=live.log[-1] if live.log else None))
        for each in (state, live):
            assert each.block == block
            try:
                assert estimate_of(each) == estimate
            except StateError as problem:
                assert str(problem) == estimate


def test_a_live_state_takes_instalments_in():
    case = Following()
    live = case.state()
    while case.judge("ann", upto=5):
        live.refresh(case.store)
        whole = case.state()
        assert (live.as_of, live.version, live.block, live.progress) == (
            whole.as_of,
            whole.version,
            whole.block,
            whole.progress,
        )
    live.refresh(case.store)
    assert live.state.ended and estimate_of(live) == estimate_of(case.state())
