"""What the methods save on real judged collections: ``python -m benchmarks.savings``.

Runs `activeeval simulate` on MQ2008 (RankBoost's ranking, RankBoost against ListNet, an index update of
RankBoost's) and on TREC Robust 2003, topics 601–650 (two runs, the others as features), prints the tables
and stores every row with the command that made it in benchmarks/results/savings.json.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np

from activeeval.cli import cli, run
from activeeval.core.design.methods import METHODS
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from benchmarks.machine import ROOT, data_folder, describe, store

BUDGETS = {"mq2008": ("3%", "6%", "10%", "20%", "30%"), "robust03": ("16%", "33%", "50%")}
GRADED_TOPICS = range(601, 651)


def mq2008(folder: Path) -> dict[str, list[str]]:
    """Return the cases on parts 2–5; a forest learns on part 1."""
    parts = [f"--letor={folder / f'S{part}.txt.gz'}" for part in (2, 3, 4, 5)]
    # the test part of fold k is S5 for k = 1, otherwise S(k − 1)
    folds = (3, 4, 5, 1)

    def ranker(option: str, name: str) -> list[str]:
        return [f"--{option}={next((folder / 'rankers' / name).glob(f'Fold{fold}.*'))}" for fold in folds]

    common = [
        *parts,
        *ranker("scores", "RankBoost"),
        f"--train={folder / 'S1.txt.gz'}",
        "--measure=DCG",
        "--measure=ERR",
    ]
    return {
        "MQ2008, RankBoost": common,
        "MQ2008, RankBoost - ListNet": [*common, *ranker("scores", "ListNet")],
        "MQ2008, index update of RankBoost": [*common, "--index-update=0.1"],
    }


def robust03(folder: Path, scratch: Path) -> dict[str, list[str]]:
    """Return the case on the topics that have three grades; 40 % of them train."""
    qrels = scratch / "qrels.601-650.txt"
    with gzip.open(folder / "robust03_qrels.txt.gz", "rt") as lines:
        qrels.write_text("".join(line for line in lines if int(line.split()[0]) in GRADED_TOPICS))
    runs = {path.name.split(".")[1]: path for path in sorted((folder / "runs").glob("input.*.gz"))}
    first, second = runs.pop("pircRBa1"), runs.pop("THUIRr0301")
    common = [f"--qrels={qrels}", f"--run={first}", *(f"--pool-run={path}" for path in runs.values())]
    # The pool's judgments end at a depth; what lies below counts as irrelevant, as in the track's own measures.
    common += ["--unjudged=irrelevant", "--train=40%", "--measure=DCG@10", "--measure=ERR@10"]
    return {"Robust 2003, pircRBa1": common, "Robust 2003, pircRBa1 - THUIRr0301": [*common, f"--versus-run={second}"]}


def rows_of(arguments: list[str]) -> list[dict]:
    """Run one simulation through the command line and return its rows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run([*arguments, "--output=jsonl"])
    if code:
        raise SystemExit(code)
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def plain_random(arguments: list[str], budgets: tuple[str, ...], repetitions: int) -> dict[str, list[float]]:
    """Return the error of random sampling without replacement for the pool that command line options mean."""
    given = cli.commands["simulate"].make_context("simulate", arguments[1:]).params
    case = prepare(
        Choices(**{f.name: given[f.name] for f in dataclasses.fields(Choices) if f.name in given}), use_labels=True
    )
    reference = {}
    for text in given["measures"]:
        target = case.target(text)
        costs = METHODS["passive"].design(target).order.dearest_units
        paid = [Budget.parse(budget).of(target) for budget in budgets]
        values = target.values(case.inputs.grades)
        reference[str(target.measure)] = without_replacement(values, costs, paid, repetitions)
    return reference


def without_replacement(values: np.ndarray, costs: np.ndarray, budgets: list[float], repetitions: int) -> list[float]:
    """Return the root mean squared error of plain random sampling in which no query comes up twice.

    As in every method here, the first query that the budget cannot pay ends a run.
    """
    random = np.random.default_rng(0)
    errors = np.empty((repetitions, len(budgets)))
    for r in range(repetitions):
        order = random.permutation(values.size)
        spent = np.cumsum(costs[order])
        sums = np.cumsum(values[order])
        for k, budget in enumerate(budgets):
            n = int(np.searchsorted(spent, budget * (1 + 1e-12), side="right"))
            errors[r, k] = sums[n - 1] / n - values.mean()
    return np.sqrt((errors**2).mean(axis=0)).tolist()


def show(title: str, rows: list[dict]) -> None:
    """Print a case as a table: efficiency against passive at each budget, with its standard error."""
    print(f"\n{title}")
    for row in rows:
        saved = "" if row["labels_saved"] is None else f"{row['labels_saved']:5.0%}"
        wrong = "" if row["selection_error"] is None else f"{row['selection_error']:.3f}"
        print(
            f"  {row['measure']:24} {row['method']:12} {row['budget']:8.0f}  rmse {row['rmse']:.4f}  "
            f"efficiency {row['efficiency']:5.2f} ± {row['efficiency_se']:.2f}  saved {saved:5}  "
            f"coverage {row['coverage']:.3f}  queries {row['queries']:6.1f}  wrong {wrong}".rstrip()
        )


def main() -> None:
    """Run every case whose data are there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "savings.json")
    options = parser.parse_args()
    data = data_folder()
    if not data.is_dir():
        raise SystemExit("no judged collections: set ACTIVEEVAL_SHARED to the folder that holds data/")
    result = describe("benchmarks.savings") | {"cases": {}}
    with tempfile.TemporaryDirectory() as scratch:
        cases = {key: ("mq2008", given) for key, given in mq2008(data / "mq2008").items()}
        cases |= {key: ("robust03", given) for key, given in robust03(data / "trec-robust03", Path(scratch)).items()}
        for title, (collection, given) in cases.items():
            budgets = [f"--budget={budget}" for budget in BUDGETS[collection]]
            arguments = ["simulate", *given, *budgets, f"--repetitions={options.repetitions}"]
            rows = rows_of(arguments)
            show(title, rows)
            reference = plain_random(arguments, BUDGETS[collection], options.repetitions)
            for measure, rmse in reference.items():
                print(f"  {measure:24} random without replacement, rmse " + ", ".join(f"{e:.4f}" for e in rmse))
            shown = " ".join(["activeeval", *arguments]).replace(str(data), "DATA").replace(scratch, "SCRATCH")
            plain = {"budgets": BUDGETS[collection], "rmse": reference}
            result["cases"][title] = {"command": shown, "rows": rows, "random without replacement": plain}
    store(options.out, result)


if __name__ == "__main__":
    main()
