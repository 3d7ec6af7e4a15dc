"""Judged pools with two rankings and a grade model that was trained on other queries."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import METHODS, Campaign, Rankings, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.methods import Method, default_method
from activeeval.core.planning import Planner
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.core.types import Ints
from activeeval.inputs.chosen_inputs import from_letor
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs, believe
from activeeval.quickstart.demonstration import recipe_beliefs
from benchmarks.machine import data_folder

SEED = 2013
REMOVED = 0.1
CASES = ("one ranking", "two rankers", "index update")
OVERHEADS = (0.0, 1.0, 5.0)
RANKERS = ("RankBoost", "ListNet")
MQ2008 = {"S1": 2, "S2": 3, "S3": 4, "S4": 5, "S5": 1}
"""The parts of MQ2008, each with the fold whose test part it is."""


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
        if case == CASES[0]:
            return None
        return self.second if case == CASES[1] else self.inputs.ranking.without(REMOVED, np.random.default_rng(SEED))

    def target(self, measure: str, case: str, overhead: float) -> Target:
        """Return a question on this pool, turning to a query costing as much as ``overhead`` mean items."""
        inputs = self.inputs.with_costs(self.inputs.pool.item_costs, overhead)
        versus = self.versus(case)
        if versus is not None:
            versus = versus.restricted_to(inputs.pool, np.arange(inputs.pool.n_items))
        return Target(parse_measure(measure).bound_to(self.max_grade), inputs.ranking, versus)

    def design(
        self,
        targets: Target | list[Target],
        method: str | Method = "",
        beliefs: GradeBeliefs | None = None,
        **more: Any,
    ) -> Design:
        """Design a sample by a method, or by the default one, with the pool's beliefs or others."""
        first = targets if isinstance(targets, Target) else targets[0]
        chosen = METHODS.get(method, method) or default_method(first.measure)
        model = (self.beliefs if beliefs is None else beliefs).for_method(chosen, self.max_grade + 1)
        return chosen.design(targets, **model, **more)

    def planner(self, targets: list[Target], **more: Any) -> Planner:
        """Make the planner of samples for some targets, by the pool's beliefs."""
        return Planner(
            targets=targets,
            believed=lambda method: self.beliefs.for_method(method, self.max_grade + 1),
            max_grade=self.max_grade,
            held_out=self.beliefs.held_out,
            is_uniform=self.beliefs.is_uniform,
            **more,
        )

    def truth(self, target: Target) -> float:
        """Compute the value of a target over the pool with all labels."""
        return float(target.pool.query_probs @ target.values(self.inputs.grades))

    def part(self, queries: Ints) -> JudgedPool:
        """Return the part of some queries."""
        items = self.inputs.pool.subset(queries)[1]
        inputs = self.inputs.of_queries(queries)
        beliefs = replace(self.beliefs, probs=self.beliefs.probs[items])
        return replace(self, inputs=inputs, second=self.second.restricted_to(inputs.pool, items), beliefs=beliefs)


def judged(design: Design, grades: Ints, seed: Any, budget: float | None = None, **more: Any) -> Campaign:
    """Draw a campaign and judge it to its end."""
    campaign = Campaign(design, budget, rng=seed, **more)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, grades[list(unit.items)].tolist())
    return campaign


def scores_file(home: Path, ranker: str, fold: int) -> Path:
    """Find the scores of a published ranker on the test part of a fold."""
    return next((home / "rankers" / ranker).glob(f"Fold{fold}.*"))


def mq2008_files(ranker: str = "") -> list[str]:
    """List the parts of MQ2008, or the scores of a published ranker on each, which it did not learn from."""
    home = data_folder() / "mq2008"
    return [
        str(scores_file(home, ranker, fold) if ranker else home / f"{part}.txt.gz") for part, fold in MQ2008.items()
    ]


def _from_files(name: str, paths: list[Path], folds: Sequence[int], train: list[Path]) -> JudgedPool:
    """Read a pool of LETOR files, whose queries two rankers were tested on in some folds."""
    scores = [[str(scores_file(paths[0].parent, ranker, fold)) for fold in folds] for ranker in RANKERS]
    inputs = from_letor([str(path) for path in paths], scores, [str(path) for path in train])
    top = inputs.max_grade
    beliefs = believe(inputs, "forest", top, np.random.default_rng(SEED), n_jobs=-1)
    assert inputs.versus is not None
    return JudgedPool(name, inputs, inputs.versus, beliefs, top)


def mq2008(folder: Path) -> JudgedPool:
    """Read parts 2–5; a forest learns on part 1. The test part of fold k is S5 for k = 1, otherwise S(k − 1)."""
    home = folder / "mq2008"
    return _from_files("MQ2008", [home / f"S{i}.txt.gz" for i in (2, 3, 4, 5)], (3, 4, 5, 1), [home / "S1.txt.gz"])


def mq2007(folder: Path) -> JudgedPool:
    """Read part A2; a forest learns on part A1."""
    home = folder / "mq2007-agg"
    return _from_files("MQ2007-agg", [home / "A2.txt.gz"], (3,), [home / "A1.txt.gz"])


def ohsumed(folder: Path) -> JudgedPool:
    """Read the test parts of folds 2 and 3; a forest learns on that of fold 1."""
    parts = [folder / "ohsumed" / f"Fold{fold}.test.txt.gz" for fold in (1, 2, 3)]
    return _from_files("OHSUMED", parts[1:], (2, 3), parts[:1])


def lightgbm_inputs(folder: Path) -> Inputs:
    """Read LightGBM's example, training and test queries together, in no order."""
    home = folder / "lightgbm-lambdarank"
    with tempfile.TemporaryDirectory() as scratch:
        path, scores = Path(scratch) / "all.txt", Path(scratch) / "zeros"
        with path.open("w") as out, scores.open("w") as zeros:
            for part in ("train", "test"):
                sizes = [int(line) for line in (home / f"rank.{part}.query").read_text().split()]
                names = [f"{part}{q}" for q, n in enumerate(sizes) for _ in range(n)]
                with gzip.open(home / f"rank.{part}.gz", "rt") as lines:
                    for name, line in zip(names, lines, strict=True):
                        grade, rest = line.split(maxsplit=1)
                        out.write(f"{grade} qid:{name} {rest}")
                        zeros.write("0\n")
        return from_letor([str(path)], [[str(scores)]])


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
