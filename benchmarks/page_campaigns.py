"""Whole campaigns of `benchmarks.page` through HTTP, by judges who skip, beside the library called directly."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from activeeval import Campaign
from activeeval.campaign import Rules
from activeeval.results import Estimate
from activeeval.store import open_store
from activeeval.tasks.campaigns.at_pairs import page_desk
from activeeval.tasks.campaigns.making import create
from activeeval.tasks.campaigns.state import answered, state_of
from activeeval.tasks.samples import Sample
from activeeval.web.app import make_app
from activeeval.web.served import Door, Served
from benchmarks.machine import figure
from benchmarks.page_served import NAME, sampled

N_UNITS = 120
SKIPPED = 0.2
"""Of the relevant items each judge puts so many off, always the same ones."""
COVERED = (93.0, 97.0)
_LIBRARY_TOO = 1e-12
JUDGES = ("ann", "bob", "zoe")


@dataclass(frozen=True, slots=True)
class Whole:
    """What a campaign came to: whether its interval holds the truth, how far it is from the library, items put off."""

    holds: bool
    differs: float
    n_put_off: int


def judged(design: Any, truth: dict[tuple[str, str], int], seed: int, exact: float) -> Whole:
    """Judge a campaign through HTTP; return what it says beside what the library says with the same seed."""
    with open_store("sqlite://", create=True) as db:
        create(db, NAME, Sample(campaign=Campaign(design, rng=seed), questions=("difference",), seed=seed), Rules())
        served = Served(store=db, desk=page_desk(db, NAME, {}), door=Door(host="127.0.0.1", port=8347))
        app, throw = make_app(served), random.Random(seed)
        secrets = [db.access(NAME).issue("token", "judge", judge) for judge in JUDGES]
        programs = [TestClient(app, "http://127.0.0.1:8347", headers={"Authorization": f"Bearer {s}"}) for s in secrets]
        n_put_off, open_for = 0, list(range(len(JUDGES)))
        while open_for:
            k = throw.choice(open_for)
            item = programs[k].post(f"/api/campaigns/{NAME}/claim", json={}).json()
            if not item:
                open_for.remove(k)
                continue
            grade = truth[item["query_id"], item["doc_id"]]
            skips = not item["was_put_off"] and grade > 0
            skips = skips and random.Random(f"{k} {seed} {item['doc_id']}").random() < SKIPPED
            says = {"later": True} if skips else {"grade": grade}
            n_put_off += skips
            done = programs[k].post(f"/api/campaigns/{NAME}/submit", json={"token": item["token"], **says})
            assert done.status_code == 200, done.text
        served.desk.reading.wait()
        (answer,), _ = answered(state_of(db, NAME))
    direct = directly(design, truth, seed)
    differs = max(abs(direct.value - answer.estimate.value), abs(direct.std_error - answer.estimate.std_error))
    return Whole(answer.interval.low <= exact <= answer.interval.high, float(differs), n_put_off)


def directly(design: Any, truth: dict[tuple[str, str], int], seed: int) -> Estimate:
    """Return what the library says of the same campaign, called without store and server."""
    return Campaign(design, rng=seed).run(lambda query, docs: [truth[query, doc] for doc in docs])


def through_http(repetitions: int, n_http: int) -> list[dict[str, Any]]:
    """Return how often intervals hold the truth, and how far estimates are from the library's.

    Parameters
    ----------
    repetitions : int
        Campaigns in all; those that are not judged through HTTP are the library's, which says the same.
    n_http : int
        Those that are judged through HTTP, the first of them.
    """
    sample, truth = sampled(N_UNITS, 0)
    design = sample.campaign.design
    pool = design.pool
    pairs = zip(pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist(), strict=True)
    grades = np.array([truth[pair] for pair in pairs])
    exact = float(pool.query_probs @ design.target.values(grades))
    wholes = [judged(design, truth, seed, exact) for seed in range(n_http)]
    intervals = [directly(design, truth, seed).interval(0.95) for seed in range(n_http, repetitions)]
    holds = [whole.holds for whole in wholes] + [each.low <= exact <= each.high for each in intervals]
    low, high = COVERED
    held = 100 * float(np.mean(holds))
    error = float(np.sqrt(max(held * (100 - held), 1e-9) / len(holds)))
    bounds = {"at_least": low, "at_most": high} if repetitions >= 1000 else {}
    return [
        figure("campaigns judged through HTTP", n_http, "", put_off=sum(whole.n_put_off for whole in wholes)),
        figure("largest difference to the library", max(w.differs for w in wholes), "", at_most=_LIBRARY_TOO),
        figure("campaigns in all", len(holds), ""),
        figure("intervals of 95 % that hold the truth", held, "%", **bounds, std_error=round(error, 2)),
    ]
