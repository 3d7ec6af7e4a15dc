"""Whole campaigns of `benchmarks.page` through HTTP, by judges who skip, beside the library called directly.

Three judges, who come at random, in turns or one after the other. Each puts off a fifth of the relevant items
(*later*), now and then leaves one until its lease has ended and answers then (*late* where somebody else has it by
now), and in half of the campaigns finds items that nobody can judge (*cannot*), relevant ones four times as often as
others. Every other campaign is stopped on the way, at a number of answers that chance decides, and read from its
complete blocks.

What is covered: where all can be judged, the value by the grades of the whole pool. What cannot be judged counts as
the grade model expects it, so that the value there is the pool's with these items as predicted; the interval with room
for whatever they may be worth is held against the grades of the whole pool.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from activeeval import DCG, ERR, METHODS, Campaign
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.pair_desk import page_desk
from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import Store, open_store
from activeeval.core.campaign import Rules
from activeeval.core.results import Estimate
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.web.app import make_app
from activeeval.web.settings import ServedCampaign, ServerSettings
from benchmarks.frame.report import figure
from benchmarks.page_programs import Program
from benchmarks.page_served import GAINS, sampled

N_UNITS, N_QUERIES = 100, 120
SKIPPED = 0.2
"""Share of the relevant items that each judge puts off, always the same ones."""
LEFT = 0.03
"""So often a judge leaves an item until its lease has ended."""
CANNOT = {True: 0.12, False: 0.03}
"""So many of the items, relevant ones and others, nobody can judge."""
COVERED = (93.0, 97.0)
_LIBRARY_TOO = 1e-12
ORDERS = ("at random", "in turns", "one after the other")
MEASURES = {"DCG@10": (DCG(GAINS, 10), "items"), "ERR@10": (ERR(2, 10), "depth")}
JUDGES = ("ann", "bob", "zoe")
SECOND = 1_000_000
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Truth:
    """A design, its pool's grades, the items that cannot be judged, and the value by all grades and without these."""

    design: Any
    grades: dict[Pair, int]
    cannot: frozenset[Pair]
    value: float
    as_predicted: float

    def says(self, pair: Pair) -> int | None:
        """Return the grade of an item, None where it cannot be judged."""
        return None if pair in self.cannot else self.grades[pair]


@dataclass(frozen=True, slots=True)
class Whole:
    """What a campaign came to: whether its intervals hold the truth, how far it is from the library, what was skipped.

    ``bounded`` is the interval with room for what cannot be judged.
    """

    kind: str
    is_stopped: bool
    is_http: bool
    holds: bool
    bounded: bool
    differs: float
    skips: Counter[str]


@cache
def truth_of(measure: str, is_whole: bool) -> Truth:
    """Make the design and the grades of a measure, where all can be judged or not."""
    sample, grades = sampled(N_UNITS, 0, *MEASURES[measure], N_QUERIES)
    design = sample.campaign.design
    pool = design.pool
    pairs = list(zip(pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist(), strict=True))
    value = float(pool.query_probs @ design.target.values(np.array([grades[pair] for pair in pairs])))
    lots = np.random.default_rng(1).random(len(pairs))
    cannot = {pair for pair, lot in zip(pairs, lots, strict=True) if not is_whole and lot < CANNOT[grades[pair] > 0]}
    probs = np.tile([0.6, 0.25, 0.15], (len(pairs), 1))
    census = METHODS[MEASURES[measure][1]].design(design.target, probs, budget=len(pairs), max_grade=2)
    all_of_it = Truth(census, grades, frozenset(cannot), value, value)
    return Truth(design, grades, frozenset(cannot), value, directly(all_of_it, 0).value)


class Judging:
    """Three judges at a campaign that is served.

    Attributes
    ----------
    settled : set of pair
        The items of answers that count.
    skips : Counter
        How often each way of skipping was taken.
    """

    def __init__(self, served: ServedCampaign, truth: Truth, seed: int, clock: list[int]) -> None:
        self._truth, self._seed, self._clock, self._served = truth, seed, clock, served
        self._throw, self._order = random.Random(seed), ORDERS[seed % len(ORDERS)]
        app, issue = make_app(served), served.store.access(served.name).issue
        self._programs = [Program(app, served, issue("token", "judge", judge)) for judge in JUDGES]
        self._held: list[dict[str, Any]] = [{} for _ in JUDGES]
        self.settled: set[Pair] = set()
        self.skips = Counter[str]()

    async def until(self, n_answers: int) -> None:
        """Judge until nothing is left, or a block is complete after ``n_answers``."""
        k, idle = 0, 0
        while idle < len(JUDGES) and not (len(self.settled) >= n_answers and self._can_be_read()):
            k = self._turn(k, idle)
            is_done = await self._one(k)
            idle = 0 if is_done else idle + 1

    def _turn(self, before: int, idle: int) -> int:
        """Return whose turn it is: somebody else's where nothing was left."""
        if idle or self._order == "in turns":
            return (before + 1) % len(JUDGES)
        return self._throw.randrange(len(JUDGES)) if self._order == "at random" else before

    async def _one(self, k: int) -> bool:
        """Let a judge answer, or take, an item; return whether there was anything."""
        self._clock[0] += self._throw.randrange(5, 20) * SECOND
        if not self._held[k]:
            self._held[k] = await self._programs[k].ask("claim", {})
            return bool(self._held[k])
        if self._throw.random() < LEFT:
            self._clock[0] += 1000 * SECOND
            self.skips["left"] += 1
            return True
        item, says = self._held[k], self._says(k)
        done = await self._programs[k].ask("submit", {"token": item["token"], **says, "then_claim": True})
        self._held[k] = done["next"]
        self.skips[done["kind"]] += 1
        if done["kind"] in ("judged", "cannot"):
            self.settled.add((item["query_id"], item["doc_id"]))
        return True

    def _says(self, k: int) -> dict[str, Any]:
        item = self._held[k]
        grade = self._truth.says((item["query_id"], item["doc_id"]))
        if grade is None:
            return {"cannot": "a login page"}
        skips = grade > 0 and random.Random(f"{k} {self._seed} {item['doc_id']}").random() < SKIPPED
        return {"later": True} if skips and not item["was_put_off"] else {"grade": grade}

    def _can_be_read(self) -> bool:
        return state_of(self._served.store, self._served.name).block > 0


def judged(db: Store, clock: list[int], measure: str, is_whole: bool, seed: int) -> Whole:
    """Judge a campaign through HTTP; return what it says beside what the library says with the same seed."""
    truth, name = truth_of(measure, is_whole), f"{measure[:3].lower()}-{int(is_whole)}-{seed}"
    sample = DrawnSample(campaign=Campaign(truth.design, rng=seed), questions=("difference",), seed=seed)
    create(db, name, sample, Rules())
    served = ServedCampaign(store=db, desk=page_desk(db, name, {}), door=ServerSettings(host="127.0.0.1", port=8347))
    judging = Judging(served, truth, seed, clock)
    is_stopped = seed % 2 == 1
    asyncio.run(judging.until(random.Random(seed).randrange(N_UNITS // 2, N_UNITS) if is_stopped else N_UNITS))
    served.desk.reading.wait()
    (answer,), _ = answered(state_of(db, name))
    direct = directly(truth, seed, judging.settled if is_stopped else None)
    pairs = zip(_numbers(direct), _numbers(answer.estimate), strict=True)
    differs = max(0.0 if ours == theirs else abs(ours - theirs) for ours, theirs in pairs)
    return _whole(truth, measure, answer.estimate, judging, is_stopped=is_stopped, differs=differs)


def _numbers(estimate: Estimate) -> list[float]:
    """List the numbers of an estimate that are compared."""
    ends = [] if estimate.cannot is None else [estimate.cannot.low, estimate.cannot.high]
    return [estimate.value, estimate.std_error, *estimate.interval(0.95), *ends]


def _whole(
    truth: Truth, measure: str, estimate: Estimate, judging: Judging | None, *, is_stopped: bool, differs: float = 0.0
) -> Whole:
    low, high = estimate.interval(0.95)
    ends = (estimate.value,) * 2 if estimate.cannot is None else (estimate.cannot.low, estimate.cannot.high)
    return Whole(
        kind=f"{measure}, " + ("some cannot be judged" if truth.cannot else "all can be judged"),
        is_stopped=is_stopped,
        is_http=judging is not None,
        holds=low <= truth.as_predicted <= high,
        bounded=low - estimate.value + ends[0] <= truth.value <= high - estimate.value + ends[1],
        differs=float(differs),
        skips=Counter() if judging is None else judging.skips,
    )


def directly(truth: Truth, seed: int, settled: set[Pair] | None = None) -> Estimate:
    """Estimate the same campaign, or some of its items, by the library without store and server."""
    campaign = Campaign(truth.design, rng=seed)
    campaign.ask_all()
    for unit in campaign.units:
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            pair = (unit.query_id, doc)
            if settled is None or pair in settled:
                campaign.judge(item, truth.says(pair))
    return campaign.estimate()


def _of_seeds(seeds: Sequence[int], is_http: bool) -> list[Whole]:
    """Return the campaigns of some seeds, of each kind; in a process of its own."""
    kinds = [(measure, is_whole) for measure in MEASURES for is_whole in (True, False)]
    if not is_http:
        rows = ((truth_of(*kind), kind[0], seed) for kind in kinds for seed in seeds)
        return [_whole(truth, name, directly(truth, seed), None, is_stopped=False) for truth, name, seed in rows]
    clock = [1_800_000_000 * SECOND]
    with open_store("sqlite://", create=True, clock=lambda: clock[0]) as db:
        return [judged(db, clock, *kind, seed) for kind in kinds for seed in seeds]


def _all(n_library: int, n_http: int) -> Iterator[Whole]:
    """Yield the campaigns of all kinds, judged in two processes."""
    n_kinds, chunk = 2 * len(MEASURES), 10
    http, direct = range(-(-n_http // n_kinds)), range(10_000, 10_000 - (-n_library // n_kinds))
    chunks = [(seeds[k : k + chunk], seeds is http) for seeds in (http, direct) for k in range(0, len(seeds), chunk)]
    with ProcessPoolExecutor(2) as pool:
        for rows in pool.map(_of_seeds, *zip(*chunks, strict=True)):
            yield from rows


def _covered(name: str, holds: Sequence[bool], least: int = 500, **bounds: float) -> dict[str, Any]:
    """Compute the share of intervals that hold the truth, with its error; bounds from ``least`` campaigns on."""
    held = 100 * float(np.mean(holds))
    error = float(np.sqrt(max(held * (100 - held), 1e-9) / len(holds)))
    note = f"± {error:.2f}, {len(holds)} campaigns"
    bounds = bounds if len(holds) >= least else {}
    return figure(name, held, "%", **bounds, std_error=round(error, 2), campaigns=len(holds), note=note)


def through_http(n_library: int, n_http: int) -> list[dict[str, Any]]:
    """Compute the share of intervals that hold the truth, and the difference of estimates to the library's.

    Parameters
    ----------
    n_library : int
        Further campaigns of the library, which says the same where all is judged.
    n_http : int
        Campaigns that are judged through HTTP.
    """
    low, high = COVERED
    bounds = {"at_least": low, "at_most": high}
    wholes = list(_all(n_library, n_http))
    http = [whole for whole in wholes if whole.is_http]
    skips = dict(sum((whole.skips for whole in http), Counter[str]()))
    rows = [
        figure("campaigns judged through HTTP", len(http), "", **skips),
        figure("largest difference to the library", max(w.differs for w in http), "", at_most=_LIBRARY_TOO),
        _covered("truth in intervals of 95 %, through HTTP", [w.holds for w in http], **bounds),
        _covered("truth in them, the library's with these", [w.holds for w in wholes], **bounds),
    ]
    for is_stopped, name in ((False, "judged to the end"), (True, "stopped on the way")):
        rows.append(_covered(f"through HTTP, {name}", [w.holds for w in http if w.is_stopped == is_stopped]))
    for kind, group in groupby(sorted(http, key=lambda whole: whole.kind), key=lambda whole: whole.kind):
        of_kind = list(group)
        rows.append(_covered(f"through HTTP, {kind}", [whole.holds for whole in of_kind]))
        if "cannot" in kind:
            name = f"all grades in the interval with room, {kind}"
            rows.append(_covered(name, [whole.bounded for whole in of_kind], at_least=low))
    return rows
