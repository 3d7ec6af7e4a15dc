"""Campaigns that three judges work on, through the store: ``python -m benchmarks.campaigns``.

MQ2008, parts 2 to 5, a forest that learned on part 1; DCG@10 of one ranking by `items`, ERR@10 of two rankers by
`depth`. The judges are simulated: one is slow, so that leases end and items go to others while the answer is under
way; one crashes again and again with an item in hand; one puts off a fifth of the relevant items. *Coverage*: so many
whole campaigns in memory, a seed each; the estimate through the store against the library called directly with the
same seed, and how often the interval holds the truth, early readings too. *Kills*: the same by `activeeval campaign
judge` processes that SIGKILL ends at random moments, on SQLite and on PostgreSQL (--url). *Nights*: ten updates of an
index as in `benchmarks.nights`, each a campaign that knows the labels of those before. *Start*: how long a scripted
judge takes from its start to its first line, beside a bare interpreter. Stores benchmarks/results/campaigns.json.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval import Campaign
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import ItemClaim, JudgeAnswer, Store, open_store
from activeeval.core.campaign import Rules
from activeeval.core.design import Design
from activeeval.sampling.drawn_sample import DrawnSample
from benchmarks.frame.experiment import Experiment, Row
from benchmarks.frame.report import figure
from benchmarks.nights import MODELS, MOST, chain
from benchmarks.pools import JudgedPool, load

CASES = (("DCG@10", "one ranking"), ("ERR@10", "two rankers"))
BUDGET, LEASE_S = 200.0, 900
KILLED_BUDGET = 2000.0  # two hundred are judged before a judge who starts can be killed
PUT_OFF, CRASHES, SLOW = 0.2, 0.05, 0.3
SECOND = 1_000_000
COVERED = (93, 97)
AT_ONCE = 10
STARTS = 7


@dataclass(slots=True)
class Clock:
    """The time of a simulation, in microseconds."""

    now: int = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        self.now += 1
        return self.now


@dataclass(slots=True)
class Judge:
    """A judge and what is going on: an item in hand whose answer comes at a time, or never.

    Attributes
    ----------
    name : str
    put_off : float
        Share of the relevant items that the judge puts off, always the same ones.
    crashes, slow : float
        How often the judge is gone with an item in hand, and takes longer than a lease.
    """

    name: str
    put_off: float = 0.0
    crashes: float = 0.0
    slow: float = 0.0
    in_hand: list[tuple[int, ItemClaim]] = field(default_factory=list)

    def answer(self, item: ItemClaim, grade: int) -> JudgeAnswer:
        """Return the judge's answer to an item."""
        skips = grade > 0 and random.Random(f"{self.name} {item.query_id} {item.doc_id}").random() < self.put_off
        return JudgeAnswer(kind="deferred") if skips else JudgeAnswer(kind="judged", grade=grade)


def judges() -> list[Judge]:
    """Return three: one slow, one crashing, one who puts off a fifth of the relevant items."""
    return [Judge("slow", slow=SLOW), Judge("crashing", crashes=CRASHES), Judge("skipping", put_off=PUT_OFF)]


def judged(db: Store, name: str, truth: dict[tuple[str, str], int], clock: Clock, rng: random.Random) -> None:
    """Have three judges work on a campaign until nothing is left."""
    team = judges()
    is_done = False
    while not is_done:
        judge = rng.choice(team)
        due = [one for one in judge.in_hand if one[0] <= clock.now]
        if due:
            judge.in_hand.remove(due[0])
            item = due[0][1]
            db.submit(name, item.token, judge.answer(item, truth[item.query_id, item.doc_id]))
        elif not judge.in_hand:
            item = db.claim(name, judge.name)
            if item is None:
                is_done = not any(db.waiting(name)[state] for state in ("free", "leased"))
            elif rng.random() >= judge.crashes:
                takes = 2 * LEASE_S if rng.random() < judge.slow else 20
                judge.in_hand.append((clock.now + takes * SECOND, item))
        clock.now += 10 * SECOND


def one_campaign(
    design: Design, seed: int, truth: dict[tuple[str, str], int], grades: np.ndarray
) -> tuple[dict[str, float], float]:
    """Run a campaign; return its answers, early and at its end, and the difference to the library."""
    clock, campaign = Clock(), Campaign(design, rng=seed)
    question = "run" if design.target.versus is None else "difference"
    with open_store("sqlite://", create=True, clock=clock) as db:
        create(db, "c", DrawnSample(campaign=campaign, questions=(question,), seed=seed), Rules(lease_s=LEASE_S))
        judged(db, "c", truth, clock, random.Random(seed))
        whole = state_of(db, "c")
        middle = next((seq for seq in _ends(db, whole.units) if seq < whole.as_of), whole.as_of)
        early, late = (answered(state_of(db, "c", seq))[0][0] for seq in (middle, None))
        n_late = len(whole.state.late)
    direct = Campaign(design, rng=seed)
    found = direct.run(lambda query, docs: [truth[query, doc] for doc in docs])
    differs = max(abs(found.value - late.estimate.value), abs(found.std_error - late.estimate.std_error))
    row = {"value": found.value, "late": n_late, "put_off": len(whole.state.put_off)}
    for name, one in (("early", early), ("end", late)):
        row |= {f"{name}_low": one.interval.low, f"{name}_high": one.interval.high}
    return row, float(differs)


def campaigns_of(
    design: Design, seeds: Sequence[int], truth: dict[tuple[str, str], int], grades: np.ndarray
) -> list[tuple[dict[str, float], float]]:
    """Return `one_campaign` of each seed."""
    return [one_campaign(design, seed, truth, grades) for seed in seeds]


def _ends(db: Store, units: Sequence[Any]) -> list[int]:
    """Return the event at which the second block was complete."""
    left = {(unit.query_id, doc) for unit in units if unit.block <= 2 for doc in unit.item_ids}
    for event in db.events("c"):
        if event.kind == "judged":
            left.discard((event.query_id, event.doc_id))
            if not left:
                return [event.seq]
    return []


def designed(pool: JudgedPool, measure: str, case: str, budget: float = BUDGET) -> Design:
    """Return the design of a case."""
    return pool.design(pool.target(measure, case, 0.0), budget=budget)


def truth_of(pool: JudgedPool) -> dict[tuple[str, str], int]:
    """Return the grade of each query and document."""
    own = pool.inputs.pool
    queries = own.query_texts[own.item_queries].tolist()
    return dict(zip(zip(queries, own.item_texts.tolist(), strict=True), pool.inputs.grades.tolist(), strict=True))


def coverage(pool: JudgedPool, repetitions: int) -> list[Row]:
    """Return a row for each case: how often intervals held, and the largest difference to the library."""
    truth, grades, rows = truth_of(pool), pool.inputs.grades, []
    for measure, case in CASES:
        design, started = designed(pool, measure, case), time.perf_counter()
        exact = float(design.pool.query_probs @ design.target.values(grades))
        parts = [range(first, min(first + AT_ONCE, repetitions)) for first in range(0, repetitions, AT_ONCE)]
        work = (delayed(campaigns_of)(design, part, truth, grades) for part in parts)
        found = [one for part in Parallel(n_jobs=-1)(work) for one in part]
        told = [row for row, _ in found]
        held = {
            name: np.mean([row[f"{name}_low"] <= exact <= row[f"{name}_high"] for row in told])
            for name in ("early", "end")
        }
        rows.append(
            {
                "measure": measure,
                "case": case,
                "campaigns": repetitions,
                "coverage": 100 * float(held["end"]),
                "coverage_early": 100 * float(held["early"]),
                "coverage_se": 100 * float(np.sqrt(held["end"] * (1 - held["end"]) / repetitions)),
                "late": float(np.mean([row["late"] for row in told])),
                "put_off": float(np.mean([row["put_off"] for row in told])),
                "largest_difference": max(differs for _, differs in found),
                "minutes": (time.perf_counter() - started) / 60,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def killed(pool: JudgedPool, url: str | None, kills: int, seed: int = 0) -> Row:
    """Run a campaign whose judges are killed again and again."""
    rng, design, truth = random.Random(seed), designed(pool, *CASES[0], KILLED_BUDGET), truth_of(pool)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = url or f"sqlite:///{folder}/c.activeeval"
        oracle, name = f"{folder}/all.qrels", f"kills-{time.time_ns()}"
        write_oracle(truth, oracle)
        with open_store(home, create=True) as db:
            create(
                db,
                name,
                DrawnSample(campaign=Campaign(design, rng=seed), questions=("difference",), seed=seed),
                Rules(),
            )
        logs = {who: stack.enter_context(open(f"{folder}/{who}", "wb")) for who in ("a", "b", "c")}
        n_kills = 0
        running = {who: _start(name, home, who, oracle, log) for who, log in logs.items()}
        while running:
            time.sleep(rng.uniform(0.05, 0.6))
            who = rng.choice(sorted(running))
            if running[who].poll() is None and n_kills < kills:
                running[who].send_signal(signal.SIGKILL)
                n_kills += 1
                running[who].wait()
                running[who] = _start(name, home, who, oracle, logs[who])
            running = {who: one for who, one in running.items() if one.poll() is None or one.returncode != 0}
        acknowledged = [json.loads(line) for who in logs for line in _whole_lines(f"{folder}/{who}")]
        with open_store(home) as db:
            events = {(e.seq, e.query_id, e.doc_id, e.grade) for e in db.events(name) if e.kind in ("judged", "late")}
            found, problems = answered(state_of(db, name))[0][0].estimate, db.verify(name)
            n_events = db.last_seq(name)
    lost = [row for row in acknowledged if (row["seq"], row["query_id"], row["doc_id"], row["grade"]) not in events]
    direct = Campaign(design, rng=seed).run(lambda query, docs: [truth[query, doc] for doc in docs])
    return {
        "store": home.split(":")[0],
        "kills": n_kills,
        "acknowledged": len(acknowledged),
        "lost": len(lost),
        "events": n_events,
        "problems": problems,
        "difference": abs(direct.value - found.value) + abs(direct.std_error - found.std_error),
    }


def nightly(pool: JudgedPool, share: float = 0.1, repetitions: int = 200) -> list[Row]:
    """Run ten nights through the store, and compare each with the library."""
    truth, differences = truth_of(pool), []

    def judge(design: Design, seed: int, grades: np.ndarray) -> np.ndarray:
        with open_store("sqlite://", create=True) as db:
            sample = DrawnSample(campaign=Campaign(design, rng=seed), questions=("difference",), seed=seed)
            create(db, "night", sample, Rules())
            for _ in judge_all(db, "night", "a", truth):
                pass
            found = state_of(db, "night")
        direct = Campaign(design, rng=seed).run(lambda query, docs: [truth[query, doc] for doc in docs])
        differences.append(abs(direct.value - answered(found)[0][0].estimate.value))
        return found.sample.campaign.grades

    nights = chain(pool, MODELS[0], share, repetitions, 1, judge)
    return [
        {"night": k, "fresh": one.fresh, "labels": one.labels, "covered": 100 * one.covered, "difference": differs}
        for k, (one, differs) in enumerate(zip(nights, differences, strict=True), 1)
    ]


def started(pool: JudgedPool) -> Row:
    """Return the median seconds to the first line of a scripted judge, and those of a bare interpreter."""
    design, truth = designed(pool, *CASES[0]), truth_of(pool)
    with tempfile.TemporaryDirectory() as folder:
        home, oracle = f"sqlite:///{folder}/c.activeeval", f"{folder}/all.qrels"
        write_oracle(truth, oracle)
        with open_store(home, create=True) as db:
            create(db, "c", DrawnSample(campaign=Campaign(design, rng=0), questions=("difference",), seed=0), Rules())
        judge = [sys.executable, "-m", "activeeval", "campaign", "judge", "c", "--db", home, "--judge", "a"]
        commands = {"judge": [*judge, "--oracle", oracle, "--limit", "1"], "bare": [sys.executable, "-c", "print(1)"]}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(STARTS):
            for name, command in commands.items():
                began = time.perf_counter()
                with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                    assert process.stdout is not None
                    process.stdout.readline()
                    times[name].append(time.perf_counter() - began)
    return {name: float(np.median(own)) for name, own in times.items()}


def write_oracle(truth: dict[tuple[str, str], int], path: str) -> None:
    """Write all grades as judgments."""
    Path(path).write_text("".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in truth.items()))


def _start(name: str, url: str, who: str, oracle: str, log: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "activeeval", "campaign", "judge", name, "--db", url, "--judge", who]
    return subprocess.Popen([*command, "--oracle", oracle], stdout=log)


def _whole_lines(path: str) -> list[str]:
    """Return the lines of a log that a killed process finished."""
    return [line for line in Path(path).read_text().splitlines(keepends=True) if line.endswith("\n")]


def covered(options: argparse.Namespace) -> Row:
    """Make the figures of whole campaigns."""
    figures, rows = [], coverage(load("mq2008"), options.campaigns)
    for row in rows:
        name, note = (
            f"{row['measure']}, {row['case']}",
            f"± {row['coverage_se']:.1f}, early {row['coverage_early']:.1f}",
        )
        bounds = {"at_least": COVERED[0], "at_most": COVERED[1]}
        figures.append(figure(f"{name}: coverage", row["coverage"], "%", note=note, **bounds))
        figures.append(figure(f"{name}: store against library", row["largest_difference"], "", at_most=1e-12))
    return {"figures": figures, "rows": rows}


def kept(options: argparse.Namespace) -> Row:
    """Make the figures of campaigns whose judges were killed."""
    figures, rows = [], [killed(load("mq2008"), url, options.kills) for url in (None, *options.url)]
    for row in rows:
        note = f"of {row['acknowledged']} over {row['kills']} kills"
        figures.append(figure(f"{row['store']}: acknowledged judgments lost", row["lost"], "", note=note, at_most=0))
        figures.append(figure(f"{row['store']}: estimate against library", row["difference"], "", at_most=1e-12))
    return {"figures": figures, "rows": rows}


def through_nights(_: argparse.Namespace) -> Row:
    """Make the figures of ten nights."""
    rows = nightly(load("mq2008"))
    last, most = rows[-1], max(row["difference"] for row in rows)
    note = f"{last['labels']:.0f} labels, a fresh sample {last['fresh']:.0f}"
    share = figure("night 10: labels", last["labels"] / last["fresh"], "of fresh", note=note, at_most=MOST)
    return {"figures": [share, figure("nights: store against library", most, "", at_most=1e-12)], "rows": rows}


def first_line(_: argparse.Namespace) -> list[Row]:
    """Make the figure of a scripted judge's start."""
    start = started(load("mq2008"))
    note = f"{start['judge'] / start['bare']:.0f} times a bare interpreter"
    return [figure("a scripted judge's first line", start["judge"], "s", note=note, at_most=1.0)]


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "start": ("Start", first_line),
        "coverage": ("Whole campaigns", covered),
        "kills": ("Judges that were killed", kept),
        "nights": ("Nights", through_nights),
    },
    packages=("sqlalchemy", "psycopg"),
    campaigns=500,
    kills=30,
    url={"action": "append", "default": [], "help": "a PostgreSQL database for the kills; repeatable"},
)


if __name__ == "__main__":
    EXPERIMENT.main()
