"""The whole main job once, small: what its first use compiles. benchmarks.start runs it in a process of its own.

    python -m benchmarks.main_job FOLDER [--default]

Reads LETOR, score and TREC files that it writes into FOLDER; pool, grade model, moments, designs, a
campaign and a simulation with the paper's methods for DCG and ERR, one ranking and a comparison; with --default
also with the package's default method for each measure.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from activeeval import DCG, ERR, METHODS, Campaign, Target
from activeeval.core.design.methods import default_method
from activeeval.core.grade_models import ForestGradeModel
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.core.pool.keyed import Qrels
from activeeval.core.simulation import simulate
from activeeval.formats.text.trec import Run, read_qrels, read_run, write_qrels, write_run
from activeeval.inputs.chosen_inputs import from_letor
from activeeval.inputs.loading import Inputs, from_tables

N_QUERIES = 60
PAPERS = ("passive", "active", "active_uniC", "active_uniD")


def write_inputs(folder: Path) -> None:
    """Write a generated pool as LETOR text and score files, and as TREC judgments and runs."""
    made = generate_pool(N_QUERIES, 0)
    pool, features = made.pool, made.features
    names = pool.query_ids[pool.item_queries]
    with (folder / "pool.txt").open("w") as handle:
        for name, item, grade, row in zip(names, pool.item_ids, made.grades, features, strict=True):
            pairs = " ".join(f"{k}:{value:.6f}" for k, value in enumerate(row, start=1))
            handle.write(f"{grade} qid:{name} {pairs} #docid = {item}\n")
    write_qrels(Qrels(names, pool.item_ids, made.grades), folder / "qrels.txt")
    for k, name in enumerate(("first", "second")):
        scores = noisy_scores(features[:, 0], k)
        np.savetxt(folder / f"{name}.scores", scores)
        write_run(Run(names, pool.item_ids, scores, np.zeros(scores.size, np.int64), name), folder / f"{name}.run")


def evaluate(inputs: Inputs, with_default: bool) -> None:
    """Model, moments, designs, campaign and simulation on one set of inputs."""
    rest = inputs.held_out(0.4, np.random.default_rng(0))
    forest = ForestGradeModel(n_estimators=5, max_grade=4, random_state=0)
    probs = forest.fit(rest.training.features, rest.training.grades).predict_proba(rest.features)
    for measure in (DCG(), ERR(4)):
        for versus in (None, rest.versus):
            target = Target(measure, rest.ranking, versus)
            names = [*PAPERS, *([default_method(measure).name] if with_default else [])]
            designs = {name: METHODS[name].design(target, probs) for name in names}
            unit = designs["passive"].cost / target.pool.n_queries
            simulate(designs, rest.grades, [15.0], 20, 0, unit=unit)
            campaign = Campaign(designs["active"], 15 * unit, rng=0)
            while (drawn := campaign.ask()) is not None:
                campaign.tell(drawn, rest.grades[list(drawn.items)].tolist())
            campaign.estimate()


def main() -> None:
    """Write where nothing is written yet, then read and evaluate."""
    folder, with_default = Path(sys.argv[1]), "--default" in sys.argv[2:]
    if not (folder / "pool.txt").exists():
        write_inputs(folder)
    scores = [[str(folder / f"{name}.scores")] for name in ("first", "second")]
    evaluate(from_letor([str(folder / "pool.txt")], scores), with_default)
    runs = [read_run(folder / f"{name}.run") for name in ("first", "second")]
    evaluate(from_tables(read_qrels(folder / "qrels.txt"), runs, evaluated=2), with_default)


if __name__ == "__main__":
    main()
