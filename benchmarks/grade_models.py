"""Held-out log-loss of the grade models on the collections of the data kit.

Queries are split at random into five folds. "1/5" trains on one fold and scores the other four, as
the paper does; "4/5" trains on four and scores the fifth. The loss of a query is the mean over its
items of −log p(grade); the table shows its mean over queries, and its difference to the first model
with the standard error over queries, which does not tell how much another training sample would change.

"tuned" chooses the leaf size or the prior on half of the training queries and refits on all.

    python -m benchmarks.grade_models [--data ../shared/data]
"""

from __future__ import annotations

import time

import numpy as np

from activeeval.core.grade_models import ForestGradeModel, OrderedLogitModel, UniformGradeModel, tune_grade_model
from activeeval.formats.text.letor import read_letor
from benchmarks.frame.experiment import RESULTS, Experiment
from benchmarks.frame.report import table
from benchmarks.machine import data_folder

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
            where = {"collection": name, "n_queries": int(lengths.size), "n_items": int(y.size)}
            row = where | {"training_share": share, "model": model_name, "log_loss": float(of_query.mean())}
            row |= {"difference": float(difference.mean()), "share_of_zero_probability": zeros, "seconds": seconds}
            rows.append(row | {"std_error": float(difference.std(ddof=1) / np.sqrt(difference.size))})
    return rows


def measure(options):
    """Compare the models on the chosen collections."""
    paths = {name: [data_folder() / path for path in COLLECTIONS[name]] for name in options.collection}
    return {"folds": N_FOLDS, "rows": [row for name, own in paths.items() for row in compare(name, own, options)]}


def report(result):
    """Write a line for each model."""
    columns = ("collection", "training_share", "model", "log_loss", "difference", "std_error")
    rows = ([x if isinstance(x := row[name], str) else f"{x:.4f}" for name in columns] for row in result["rows"])
    return "\n".join(table(columns, rows))


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    report=report,
    packages=("mord",),
    out=RESULTS / "grade_models.json",
    collection=tuple(COLLECTIONS),
    trees=100,
    seed=0,
)


if __name__ == "__main__":
    EXPERIMENT.main()
