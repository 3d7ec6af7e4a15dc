"""Judged pools with two rankings and a grade model that was trained on other queries."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from activeeval import Rankings, Target, parse_measure
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.inputs.chosen_inputs import from_letor
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs, believe
from activeeval.quickstart.demonstration import recipe_beliefs
from benchmarks.machine import data_folder

SEED = 2013
REMOVED = 0.1
RANKERS = ("RankBoost", "ListNet")


@dataclass(frozen=True)
class JudgedPool:
    """A inputs with all labels, a second ranking, and what a model trained elsewhere believes of the grades."""

    name: str
    inputs: Inputs
    second: Rankings
    beliefs: GradeBeliefs
    max_grade: int

    def versus(self, case: str) -> Rankings | None:
        """Return the ranking to compare with: none, the second ranker's, or the first one's after an index update."""
        if case == "one ranking":
            return None
        if case == "two rankers":
            return self.second
        return self.inputs.ranking.without(REMOVED, np.random.default_rng(SEED))

    def target(self, measure: str, case: str, overhead: float) -> Target:
        """Return a question on this pool, turning to a query costing as much as ``overhead`` mean items."""
        inputs = self.inputs.with_costs(self.inputs.pool.item_costs, overhead)
        versus = self.versus(case)
        if versus is not None:
            versus = versus.restricted_to(inputs.pool, np.arange(inputs.pool.n_items))
        return Target(parse_measure(measure).bound_to(self.max_grade), inputs.ranking, versus)


def _from_files(name: str, paths: list[Path], ranker: Callable[[str], list[Path]], train: list[Path]) -> JudgedPool:
    """Return a pool of LETOR files."""
    scores = [[str(path) for path in ranker(which)] for which in RANKERS]
    inputs = from_letor([str(path) for path in paths], scores, [str(path) for path in train])
    top = inputs.max_grade
    beliefs = believe(inputs, "forest", top, np.random.default_rng(SEED), n_jobs=-1)
    assert inputs.versus is not None
    return JudgedPool(name, inputs, inputs.versus, beliefs, top)


def mq2008(folder: Path) -> JudgedPool:
    """Parts 2–5; a forest learns on part 1. The test part of fold k is S5 for k = 1, otherwise S(k − 1)."""
    home = folder / "mq2008"

    def ranker(which: str) -> list[Path]:
        return [next((home / "rankers" / which).glob(f"Fold{fold}.*")) for fold in (3, 4, 5, 1)]

    return _from_files("MQ2008", [home / f"S{i}.txt.gz" for i in (2, 3, 4, 5)], ranker, [home / "S1.txt.gz"])


def mq2007(folder: Path) -> JudgedPool:
    """Part A2; a forest learns on part A1."""
    home = folder / "mq2007-agg"
    return _from_files(
        "MQ2007-agg",
        [home / "A2.txt.gz"],
        lambda which: [next((home / "rankers" / which).glob("Fold3.*"))],
        [home / "A1.txt.gz"],
    )


def ohsumed(folder: Path) -> JudgedPool:
    """The test parts of folds 2 and 3; a forest learns on that of fold 1."""
    home = folder / "ohsumed"

    def ranker(which: str) -> list[Path]:
        return [next((home / "rankers" / which).glob(f"Fold{fold}.*")) for fold in (2, 3)]

    parts = [home / f"Fold{fold}.test.txt.gz" for fold in (2, 3)]
    return _from_files("OHSUMED", parts, ranker, [home / "Fold1.test.txt.gz"])


def lightgbm_inputs(folder: Path) -> Inputs:
    """LightGBM's example, training and test queries together, in no order."""
    home = folder / "lightgbm-lambdarank"
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for part in ("train", "test"):
            path = Path(scratch) / f"{part}.txt"
            sizes = [int(line) for line in (home / f"rank.{part}.query").read_text().split()]
            names = [f"{part}{q}" for q, n in enumerate(sizes) for _ in range(n)]
            with gzip.open(home / f"rank.{part}.gz", "rt") as lines, path.open("w") as out:
                for name, line in zip(names, lines, strict=True):
                    grade, rest = line.split(maxsplit=1)
                    out.write(f"{grade} qid:{name} {rest}")
            paths.append(str(path))
        scores = Path(scratch) / "zeros"
        scores.write_text("0\n" * (3005 + 768))
        merged = Path(scratch) / "all.txt"
        merged.write_text("".join(Path(path).read_text() for path in paths))
        return from_letor([str(merged)], [[str(scores)]])


def lightgbm(folder: Path) -> JudgedPool:
    """LightGBM's example: a third of the queries trains; ranked by expected grade, and by that with noise."""
    held_out = lightgbm_inputs(folder).held_out(1 / 3, np.random.default_rng(SEED))
    beliefs = believe(held_out, "forest", 4, np.random.default_rng(SEED), n_jobs=-1)
    return ranked_by_model("LightGBM", held_out, beliefs, 4)


def generated(folder: Path | None = None, n_queries: int = 2200) -> JudgedPool:
    """The generated pool in the likeness of MSLR-WEB30K: the first eleventh trains, ten elevenths are the pool."""
    first, rest = generate_pool(n_queries, SEED).split(n_queries // 11)
    beliefs = recipe_beliefs(first, rest, SEED)
    unranked = Rankings.empty(rest.pool)
    inputs = Inputs(rest.pool, (unranked,), rest.grades, rest.features)
    return ranked_by_model("generated", inputs, beliefs, 4)


def ranked_by_model(name: str, inputs: Inputs, beliefs: GradeBeliefs, top: int) -> JudgedPool:
    """Return a pool ranked by expected grade, and by that with noise."""
    scores = beliefs.probs @ np.arange(beliefs.probs.shape[1])
    first = Rankings.from_scores(inputs.pool, scores)
    second = Rankings.from_scores(inputs.pool, noisy_scores(scores, SEED))
    ranked = Inputs(inputs.pool, (first,), inputs.grades, inputs.features)
    return JudgedPool(name, ranked, second, beliefs, top)


POOLS = {"generated": generated, "mq2008": mq2008, "mq2007-agg": mq2007, "ohsumed": ohsumed, "lightgbm": lightgbm}


def load(name: str) -> JudgedPool:
    """Return a pool by its name."""
    return POOLS[name](data_folder())
