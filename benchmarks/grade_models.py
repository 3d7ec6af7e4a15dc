"""Held-out log-loss of the grade models on the collections of the data kit.

Queries are split at random into five folds. "1/5" trains on one fold and scores the other four, as
the paper does; "4/5" trains on four and scores the fifth. The loss of a query is the mean over its
items of −log p(grade); the table shows its mean over queries, and its difference to the first model
with the standard error over queries, which does not tell how much another training sample would change.

"tuned" chooses the leaf size or the prior on half of the training queries and refits on all.

    python -m benchmarks.grade_models [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from activeeval.core.grade_models import ForestGradeModel, OrderedLogitModel, UniformGradeModel, tune_grade_model
from activeeval.formats.text.letor import read_letor
from benchmarks.machine import data_folder, describe, store

N_FOLDS = 5
SMALLEST = float(np.finfo(np.float64).eps)
COLLECTIONS = {
    "MQ2008": ["mq2008/S1.txt.gz", "mq2008/S2.txt.gz", "mq2008/S3.txt.gz", "mq2008/S4.txt.gz", "mq2008/S5.txt.gz"],
    "MQ2007-agg": ["mq2007-agg/A1.txt.gz", "mq2007-agg/A2.txt.gz"],
    "OHSUMED": ["ohsumed/Fold1.test.txt.gz", "ohsumed/Fold2.test.txt.gz", "ohsumed/Fold3.test.txt.gz"],
    "MSLR sample": [
        "mslr-sample/mslr_fold1_train_sample.from_pickle.txt.gz",
        "mslr-sample/mslr_fold1_valid_sample.txt.gz",
    ],
}


class ClassFrequencies:
    """The training data's shares of the grades, whatever the item."""

    def __init__(self, max_grade):
        self.max_grade = max_grade

    def fit(self, X, y):
        self.shares_ = np.bincount(y, minlength=self.max_grade + 1) / y.size
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


class Tuned:
    """A model whose parameters are chosen on half of the training queries."""

    def __init__(self, model, grid, seed):
        self.model, self.grid, self.seed = model, grid, seed

    def fit(self, X, y, queries):
        return tune_grade_model(self.model, self.grid, X, y, queries, rng=self.seed)


def candidates(max_grade, n_trees, seed):
    forest = {"n_estimators": n_trees, "max_grade": max_grade, "random_state": seed}
    return {
        "one forest": ForestGradeModel(**forest),
        "separate forests": ForestGradeModel(**forest, separate=True),
        "proportional odds": OrderedLogitModel(max_grade=max_grade),
        "all-threshold": OrderedLogitModel(loss="all-threshold", max_grade=max_grade),
        "immediate-threshold": OrderedLogitModel(loss="immediate-threshold", max_grade=max_grade),
        "one forest, tuned": Tuned(ForestGradeModel(**forest), {"min_samples_leaf": [5, 20, 50]}, seed),
        "prop. odds, tuned": Tuned(OrderedLogitModel(max_grade=max_grade), {"alpha": [1, 10, 100, 1000]}, seed),
        "all-thr., tuned": Tuned(
            OrderedLogitModel(loss="all-threshold", max_grade=max_grade), {"alpha": [1, 10, 100, 1000]}, seed
        ),
        "class frequencies": ClassFrequencies(max_grade),
        "uniform": UniformGradeModel(max_grade),
    }


def held_out(model, X, y, query_of_row, fold_of_row, trains_on_one):
    """Return the mean loss of every row over the folds that held it out, seconds, share with p(y) = 0."""
    losses, times_held, zeros, start = np.zeros(y.size), np.zeros(y.size), 0, time.perf_counter()
    for fold in range(N_FOLDS):
        trains = (fold_of_row == fold) == trains_on_one
        queries = (query_of_row[trains],) if isinstance(model, Tuned) else ()
        probs = model.fit(X[trains], y[trains], *queries).predict_proba(X[~trains])
        of_grade = probs[np.arange(len(probs)), y[~trains]]
        losses[~trains] -= np.log(np.maximum(of_grade, SMALLEST))
        times_held[~trains] += 1
        zeros += int((of_grade == 0).sum())
    return losses / times_held, time.perf_counter() - start, zeros / times_held.sum()


def compare(name, paths, args):
    data = read_letor(paths)
    X, y, starts = data.features, data.grades, data.query_offsets
    lengths = np.diff(starts)
    fold_of_query = np.random.default_rng(args.seed).permutation(lengths.size) % N_FOLDS
    query_of_row = np.repeat(np.arange(lengths.size), lengths)
    fold_of_row = fold_of_query[query_of_row]
    rows = []
    for share, trains_on_one in (("1/5", True), ("4/5", False)):
        reference = None
        for model_name, model in candidates(int(y.max()), args.trees, args.seed).items():
            losses, seconds, zeros = held_out(model, X, y, query_of_row, fold_of_row, trains_on_one)
            of_query = np.add.reduceat(losses, starts[:-1]) / lengths
            reference = of_query if reference is None else reference
            difference = of_query - reference
            rows.append(
                {
                    "collection": name,
                    "n_queries": int(lengths.size),
                    "n_items": int(y.size),
                    "training_share": share,
                    "model": model_name,
                    "log_loss": float(of_query.mean()),
                    "difference": float(difference.mean()),
                    "std_error": float(difference.std(ddof=1) / np.sqrt(difference.size)),
                    "share_of_zero_probability": zeros,
                    "seconds": seconds,
                }
            )
            print_row(rows[-1])
    return rows


def print_row(row):
    print(
        f"{row['collection']:12} {row['training_share']:5} {row['model']:20} {row['log_loss']:8.4f}"
        f" {row['difference']:+9.4f} ± {row['std_error']:.4f} {row['share_of_zero_probability']:8.5f}"
        f" {row['seconds']:7.1f} s",
        flush=True,
    )


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--out", type=Path, default=here / "results" / "grade_models.json")
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS), help="all by default; repeatable")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    origin = describe("benchmarks.grade_models", ("mord",))
    print(f"{'collection':12} train {'model':20} log-loss difference ± std error  p(y)=0    time")
    rows = []
    for name in args.collection or COLLECTIONS:
        rows += compare(name, [args.data / path for path in COLLECTIONS[name]], args)
    result = origin | {"trees": args.trees, "seed": args.seed, "folds": N_FOLDS, "rows": rows}
    store(args.out, result)


if __name__ == "__main__":
    main()
