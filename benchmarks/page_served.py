"""Campaigns and servers of `benchmarks.page`: a generated campaign in a database, ``activeeval serve`` before it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.store import JudgeAnswer, Store, open_store
from activeeval.core.campaign import Rules
from activeeval.core.measures import Measure
from activeeval.sampling.drawn_sample import DrawnSample

NAME = "page"
N_ITEMS = 20
WORDS = "Warm water and patience do more than any powder that is sold for it. " * 12
GAINS = [0.0, 1.0, 3.0]


@dataclass(slots=True)
class Server:
    """A server that runs, with the links and tokens that it printed."""

    process: subprocess.Popen[str]
    lead: str
    judges: list[dict[str, str]]
    seconds: float


def sampled(
    n_units: int, seed: int, measure: Measure | None = None, method: str = "items", n_queries: int = 0
) -> tuple[DrawnSample, dict[tuple[str, str], int]]:
    """Draw a sample of ``n_units`` items, by default for DCG@10; return it and the grades of its pool."""
    random = np.random.default_rng(seed)
    n_queries = n_queries or max(4, n_units // 8)
    n = n_queries * N_ITEMS
    names = [f"q{query}" for query in range(n_queries)]
    pool = QueryPool(names, np.arange(n_queries + 1) * N_ITEMS, [f"d{item}" for item in range(n)])
    ease = np.repeat(random.normal(size=n_queries), N_ITEMS) + random.normal(size=n)
    new, old = (Rankings.from_scores(pool, ease + noise * random.normal(size=n)) for noise in (1.0, 1.5))
    target = Target(measure or DCG(GAINS, 10), new, old)
    design = METHODS[method].design(target, np.tile([0.6, 0.25, 0.15], (n, 1)), budget=n_units, max_grade=2)
    grades = np.digitize(ease, [0.3, 1.2]).tolist()
    truth = {(names[item // N_ITEMS], f"d{item}"): grades[item] for item in range(n)}
    return DrawnSample(campaign=Campaign(design, rng=seed), questions=("difference",), seed=seed), truth


def made(url: str, n_units: int, seed: int = 0, **rules: Any) -> dict[tuple[str, str], int]:
    """Put a campaign of ``n_units`` items into a database; return the grade of each item."""
    sample, truth = sampled(n_units, seed)
    texts = {
        "query": [f"what is {query}?" for query, _ in sample.pairs],
        "title": [f"About {doc}" for _, doc in sample.pairs],
        "text": [WORDS] * len(sample.pairs),
    }
    with open_store(url, create=True) as store:
        create(store, NAME, sample, Rules(**rules), texts=texts)
    return truth


def judge_all(store: Store, truth: dict[tuple[str, str], int], until: int) -> None:
    """Have a judge claim and judge up to an event."""
    while store.last_seq(NAME) < until and (item := store.claim(NAME, "ann")) is not None:
        said = JudgeAnswer(kind="judged", grade=truth[item.query_id, item.doc_id], active_ms=4000)
        store.submit(NAME, item.token, said)


@contextmanager
def served(url: str, judges: Sequence[str], port: int = 0, *options: str) -> Iterator[Server]:
    """Serve the campaign in a process of its own until the context is left."""
    words = [sys.executable, "-m", "activeeval", "--quiet", "serve", NAME, "--db", url, "--port", str(port)]
    words += ["-o", "jsonl", *options]
    for judge in judges:
        words += ["--judge", judge]
    begun = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            rows = [json.loads(process.stdout.readline()) for _ in range(1 + len(judges))]
            yield Server(process, rows[0]["url"], rows[1:], time.perf_counter() - begun)
        finally:
            process.terminate()
