"""How long it takes to look at a campaign: ``python -m benchmarks.looking``.

A campaign of 2,400 units of one item, 6,800 events: drawn, shown and judged. Seconds to open the store, read and check
its log and estimate both questions; to do so again after one more judgment, with all that was looked at before at hand;
and to put the whole report together. Beside each the seconds that reading the same log's rows alone takes, so that a
busy machine shows. Stores benchmarks/results/looking.json.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.state import CampaignState, answered
from activeeval.campaigns.status import progress_of
from activeeval.campaigns.store import JudgeAnswer, Store, open_store
from activeeval.core.campaign import Rules
from activeeval.sampling.drawn_sample import DrawnSample
from benchmarks.frame.experiment import Experiment
from benchmarks.frame.report import figure
from benchmarks.machine import median_seconds, seconds

N_QUERIES, N_ITEMS, N_UNITS, N_EVENTS = 250, 20, 2400, 6800
NOTHING, AGAIN, REPORT = 0.3, 0.02, 2.0
"""Seconds at most: from nothing, again after one more event, for the report."""


def campaign(path: Path, seed: int) -> Store:
    """Return the store of a campaign in a file, judged up to `N_EVENTS` events."""
    random, clock = np.random.default_rng(seed), count(1_800_000_000_000_000, 1_000_000)
    n = N_QUERIES * N_ITEMS
    pool = QueryPool(
        [f"q{q}" for q in range(N_QUERIES)], np.arange(N_QUERIES + 1) * N_ITEMS, [f"d{z}" for z in range(n)]
    )
    ease = np.repeat(random.normal(size=N_QUERIES), N_ITEMS) + random.normal(size=n)
    new, old = (Rankings.from_scores(pool, ease + noise * random.normal(size=n)) for noise in (1.0, 1.5))
    measure = DCG([0, 1, 3, 7], 10)
    targets = [Target(measure, new, old), Target(measure, new)]
    probs = np.tile([0.6, 0.2, 0.15, 0.05], (n, 1))
    design = METHODS["items"].design(targets, probs, budget=N_UNITS, max_grade=3)
    sample = DrawnSample(campaign=Campaign(design, rng=seed), questions=("difference", "run"), seed=seed)
    grades = np.digitize(ease, [0.3, 1.2, 2.0]).tolist()
    db = open_store(f"sqlite:///{path}", create=True, clock=lambda: next(clock))
    create(db, "week", sample, Rules())
    while db.last_seq("week") < N_EVENTS:
        judge_one(db, grades)
    return db


def judge_one(db: Store, grades: list[int]) -> None:
    """Have a judge claim an item and judge it."""
    item = db.claim("week", "ann")
    assert item is not None
    db.submit("week", item.token, JudgeAnswer(kind="judged", grade=grades[int(item.doc_id[1:])], active_ms=4000))


def look(state: CampaignState, db: Store) -> None:
    """Take in what is new, and say how far the campaign is and what it answers."""
    state.refresh(db)
    progress_of(state)
    answered(state)


def measure(options: argparse.Namespace) -> list[dict]:
    """Measure the seconds of each."""
    repeats = options.repeats
    with tempfile.TemporaryDirectory() as folder, campaign(Path(folder) / "week", options.seed) as db:
        grades = [0] * (N_QUERIES * N_ITEMS)
        look(CampaignState.of(db, "week"), db)  # compiles
        rows = median_seconds(lambda: db.events("week"), repeats)
        nothing = median_seconds(lambda: look(CampaignState.of(db, "week"), db), repeats)
        again, state = [], CampaignState.of(db, "week")
        look(state, db)
        for _ in range(repeats):
            judge_one(db, grades)
            again.append(seconds(lambda: look(state, db)))
        report = median_seconds(lambda: summary(db, "week"), max(repeats // 3, 1))
        n_events = db.last_seq("week")
    return [
        figure("reading and checking the log alone", rows, "s", note=f"{n_events} events at the end"),
        figure("from nothing: progress and two estimates", nothing, "s", at_most=NOTHING),
        figure("again after one more judgment", float(np.median(again)), "s", at_most=AGAIN),
        figure("the report", report, "s", at_most=REPORT),
    ]


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={"looking": (f"A campaign of {N_EVENTS:,} events in a SQLite file", measure)},
    repeats=9,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
