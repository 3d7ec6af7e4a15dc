"""What a team waits for: a sample trained on judged topics, and four measures of arrays.

    python -m benchmarks.sampling [--before CHECKOUT] [--out benchmarks/results/sampling.json] [--only SECTION]

`activeeval sample` is timed as a whole process, what it takes of the processor, in this checkout and in another that
``--before`` names, by turns; figures are minima of at least two, as the first compiles. The query factor is taught by
forests of half the trees; "teaching" holds it against that of all trees on held-out queries: what it is, and the root
mean squared error of what is estimated by the designs of both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from activeeval import DCG, ERR, METHODS, Rankings, Target
from activeeval.core.grade_models import ForestGradeModel, QueryFactor, cross_fitted_probs
from activeeval.core.simulation import simulate
from activeeval.formats.text.letor import read_letor
from activeeval.inputs.choices import Choices
from activeeval.inputs.modelling import GradeBeliefs
from activeeval.inputs.prepared_case import prepare
from benchmarks.machine import ROOT, data_folder, describe, figure, show, store

MODULE = "benchmarks.sampling"
TREES = 100
RUNS = ("pircRBa1", "uwmtCR0")
CASES = {
    "lists of 100, judged items train": ("--measure", "DCG"),
    "lists of 1,000, judged items train": ("--measure", "DCG", "--pool-depth", "1000"),
    "lists of 1,000, what nobody judged is grade 0": (
        "--measure", "DCG", "--pool-depth", "1000", "--unjudged", "irrelevant",
    ),
}  # fmt: skip
COLLECTIONS = {
    "MQ2008": [f"mq2008/S{part}.txt.gz" for part in range(1, 6)],
    "OHSUMED": [f"ohsumed/Fold{part}.test.txt.gz" for part in (1, 2, 3)],
}
BARE = """
import json, resource, time
import numpy as np
rng, n_queries, n_items = np.random.default_rng(0), 31531, 119
offsets = np.arange(n_queries + 1) * n_items
grades, scores = rng.integers(0, 5, offsets[-1]), rng.random(offsets[-1])
start = time.perf_counter()
from activeeval import QueryPool, Rankings, parse_measure
pool = QueryPool(np.arange(n_queries), offsets)
ranking = Rankings.from_scores(pool, scores)
made, taken = time.perf_counter() - start, []
measures = [parse_measure(m) for m in ("nDCG@10", "DCG@10", "ERR(max_rel=4)@10", "ERR(max_rel=4)")]
for _ in range(7):
    start = time.perf_counter()
    for measure in measures:
        measure.score(pool, grades, ranking)
    taken.append(time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
print(json.dumps({"made": made, "first": taken[0], "least": min(taken), "peak_mb": peak}))
"""


# The processes


def robust_files(folder: Path) -> list[str]:
    """Write two runs of 50 topics and the judgments of every second of these; return what trains on the judgments."""
    source = data_folder() / "trec-robust03"
    judged = gzip.decompress((source / "robust03_qrels.txt.gz").read_bytes()).decode().splitlines()
    topics = sorted({line.split()[0] for line in judged}, key=int)[:50]
    (folder / "train.qrels").write_text("\n".join(x for x in judged if x.split()[0] in topics[::2]) + "\n")
    for run in RUNS:
        lines = gzip.decompress((source / "runs" / f"input.{run}.gz").read_bytes()).decode().splitlines()
        (folder / f"{run}.run").write_text("\n".join(x for x in lines if x.split()[0] in topics) + "\n")
    first, second = (str(folder / f"{run}.run") for run in RUNS)
    return ["--run", first, "--versus-run", second, "--train", str(folder / "train.qrels"), "--max-grade", "2"]


def processor_seconds(checkout: Path, arguments: list[str]) -> tuple[float, float]:
    """Return what a process takes of the processor, and its peak in MB."""
    command = [sys.executable, "-m", "activeeval", "--quiet", *arguments]
    process = subprocess.Popen(command, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed in {checkout}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def time_samples(before: Path | None, repeats: int) -> dict:
    """Time `activeeval sample` for 25 topics that trains on 25 others, in both checkouts by turns."""
    checkouts = {"after": ROOT} | ({} if before is None else {"before": before})
    taken: dict[tuple[str, str], list] = {}
    with tempfile.TemporaryDirectory() as folder:
        given = robust_files(Path(folder))
        out = ["--budget", "10%", "--seed", "0", "--force", "--out", f"{folder}/x.sample", "--sheet", f"{folder}/x.csv"]
        for _ in range(repeats):
            for name, more in CASES.items():
                for which, checkout in checkouts.items():
                    found = processor_seconds(checkout, ["sample", *given, *more, *out])
                    taken.setdefault((name, which), []).append(found)
    rows = []
    for name in CASES:
        least = {which: min(taken[name, which]) for which in checkouts}
        details = (
            {} if before is None else {"before_s": least["before"][0], "ratio": least["before"][0] / least["after"][0]}
        )
        note = "" if before is None else f"before {details['before_s']:.2f} s, {details['ratio']:.1f} times as long"
        rows.append(figure(name, least["after"][0], "s", at_most=8, peak_mb=least["after"][1], note=note, **details))
    return {"figures": rows}


def time_arrays(before: Path | None, repeats: int) -> dict:
    """Time four measures of 31,531 × 119 items in a bare script, with its peak in memory."""
    rows = []
    for which, checkout in (({} if before is None else {"before": before}) | {"after": ROOT}).items():
        found = []
        for _ in range(repeats):
            command = [sys.executable, "-c", BARE]
            environment = {**os.environ, "PYTHONPATH": str(checkout)}
            done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout))
        least = {name: min(one[name] for one in found) for name in found[0]}
        bars = ({"at_most": 0.1}, {"at_most": 400}) if which == "after" else ({}, {})
        rows.append(figure(f"four measures, {which}", least["least"], "s", **bars[0]))
        rows.append(figure(f"the script's peak, {which}", least["peak_mb"], "MB", **bars[1]))
        rows.append(figure(f"importing, pool and ranking, {which}", least["made"], "s"))
    return {"figures": rows}


# What half the trees teach


def judged_rows(name: str) -> tuple:
    """Return features, grades, queries, pool and two rankings of a collection."""
    if name in COLLECTIONS:
        data = read_letor([data_folder() / path for path in COLLECTIONS[name]])
        pool = data.pool()
        ranking = Rankings.from_scores(pool, np.nan_to_num(data.features[:, 0]) + np.nan_to_num(data.features[:, 24]))
        return data.features, data.grades, pool, ranking
    runs = [str(data_folder() / "trec-robust03" / "runs" / f"input.{run}.gz") for run in RUNS]
    qrels = str(data_folder() / "trec-robust03" / "robust03_qrels.txt.gz")
    choices = Choices(
        runs=runs[:1], versus_run=runs[1], qrels=qrels, unjudged="irrelevant", pool_depth=100, model="uniform"
    )
    inputs = prepare(choices, use_labels=True).inputs
    return inputs.features, inputs.grades, inputs.pool, inputs.ranking


def compare_teaching(name: str, seeds: int, repetitions: int) -> list[dict]:
    """Train on two fifths of the queries, several times; return how half the trees' factor differs from all trees'."""
    features, grades, pool, ranking = judged_rows(name)
    owners, top = pool.item_queries, int(grades.max())
    found: dict[int, list[list[float]]] = {TREES: [], TREES // 2: []}
    for seed in range(seeds):
        chosen = np.random.default_rng(seed).permutation(pool.n_queries) < 0.4 * pool.n_queries
        trains = chosen[owners]
        rest, items = pool.subset(np.flatnonzero(~chosen))
        model = ForestGradeModel(TREES, max_grade=top, random_state=seed)
        probs = model.fit(features[trains], grades[trains]).predict_proba(features[items])
        own = ranking.restricted_to(rest, items)
        for n_trees, rows in found.items():
            taught = ForestGradeModel(n_trees, max_grade=top, random_state=seed)
            held_out = cross_fitted_probs(taught, features[trains], grades[trains], owners[trains], rng=seed)
            factor = QueryFactor.fit(held_out, grades[trains], owners[trains])
            errors = _errors(GradeBeliefs(probs, factor), own, grades[items], top, repetitions, seed)
            rows.append([factor.sigma, factor.slope, *errors])
    everything, half = (np.array(rows) for rows in found.values())
    named = ("sigma", "slope", "log error of DCG@10", "log error of ERR@10")
    return [
        figure(
            f"{name}: {what}, half less all",
            float(difference.mean()),
            "",
            of_all=float(all_trees.mean()),
            std_error=float(difference.std(ddof=1) / np.sqrt(seeds)),
            note=f"± {difference.std(ddof=1) / np.sqrt(seeds):.2g}; of all {all_trees.mean():.3g}",
        )
        for what, all_trees, difference in zip(named, everything.T, (half - everything).T, strict=True)
    ]


def _errors(beliefs: GradeBeliefs, ranking: Rankings, grades, top: int, repetitions: int, seed: int) -> list[float]:
    """Return the log of the root mean squared error of DCG@10 and ERR@10 of a tenth of the judgments."""
    found = []
    for measure in (DCG(cutoff=10), ERR(top, cutoff=10)):
        target = Target(measure, ranking)
        designs = {name: METHODS[name].design(target, **beliefs.for_method(METHODS[name], top + 1), max_grade=top)
                   for name in ("passive", "items" if measure.is_additive else "depth")}  # fmt: skip
        budget = 0.1 * designs["passive"].cost
        summaries = simulate(designs, grades, [budget], repetitions, seed)
        found.append(float(np.log(summaries[-1].rmse.value)))
    return found


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "sampling.json")
    parser.add_argument("--only", action="append", choices=("sample", "arrays", "teaching"), help="repeatable")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=8, help="splits of each collection")
    args = parser.parse_args()
    names = (*COLLECTIONS, "Robust03")
    sections = {
        "sample": ("activeeval sample, seconds of the processor", lambda: time_samples(args.before, args.repeats)),
        "arrays": ("Four measures of arrays, a bare script", lambda: time_arrays(args.before, args.repeats)),
        "teaching": (
            "What half the trees teach of the query factor, beside all",
            lambda: {"figures": [row for name in names for row in compare_teaching(name, args.seeds, 300)]},
        ),
    }
    result = describe(MODULE) | {"sections": {}}
    if args.only and args.out.exists():  # the other sections stay, each with the command that measured it
        result["sections"] = json.loads(args.out.read_text())["sections"]
    for name in args.only or sections:
        title, measure = sections[name]
        result["sections"][name] = {"title": title, "measured_by": describe(MODULE)} | measure()
        show(title, result["sections"][name]["figures"])
    store(args.out, result)


if __name__ == "__main__":
    main()
