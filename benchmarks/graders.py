"""Graders that are machines, over a design without any model: ``python -m benchmarks.graders``.

Passages of TREC Deep Learning 2021: people's grades of 53 queries, four language models' grades, 30 runs; and of 2023
(llmjudge: 25 queries, no runs, so that the order by another language model's grades stands in for one). No label trains
anything. A tenth of what judging the pool whole costs, four questions of one run and four of two, DCG@10, ERR@10 and
nDCG@10; the geometric mean of how many times passive each is, over the same without a model. Beside the models stand a
grader that throws dice, and one that is turned round. "Alone" is what a grader's own grades would say, in per cent of
the truth.

The bias that predictions leave that learn from the sample is told in standard deviations. Either part may be run on its
own (``--only``); the other stays as stored. ± is a Monte-Carlo standard error.
Stores benchmarks/results/graders.json.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from activeeval import Target
from activeeval.core.design import Design, Reading
from activeeval.core.design.item_readings import ItemReading
from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.pool.keyed import Qrels
from activeeval.core.simulation import replicate, simulate
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.loading import load_qrels, load_run
from activeeval.formats.text.trec import Run
from activeeval.inputs.grader_values import model_names, read_graders, with_graders
from activeeval.inputs.loading import Inputs, from_tables, on_scale, sampled_measure
from activeeval.inputs.modelling import GradeBeliefs, believe, uniform_beliefs
from benchmarks.frame.experiment import Experiment, Options, Row, spread
from benchmarks.frame.report import figure
from benchmarks.machine import data_folder

MEASURES = ("DCG@10", "ERR@10", "nDCG@10")
SHARE, TOP, SEED = 0.1, 3, 1
DL21 = ("binary-gpt4", "binary-gpt4o", "binary-llama3.2", "exam-max-gpt4")
GOOD, WEAK = (
    ("willia-umbrela1", "RMITIR-llama70B", "Olz-multiprompt"),
    ("TREMA-questions", "TREMA-other", "Olz-halfbin"),
)
STAND_INS = ("Olz-gpt4o", "h2oloo-zeroshot1", "NISTRetrieval-instruct0", "TREMA-CoT", "prophet-setting1")
PAIRS = ((0, 15), (5, 22), (9, 28), (12, 3))
USELESS = ("dice", "turned round")
SLOWER = 5
"""So many times as many repetitions are made of measures whose predictions are not worked out anew in full."""


@dataclass(frozen=True, slots=True)
class Collection:
    """People's grades, runs in pairs, and graders."""

    name: str
    people: Qrels
    pairs: Sequence[tuple[Run, Run]]
    graders: Mapping[str, str]
    turned: str


def dl21() -> Collection:
    """Return TREC Deep Learning 2021."""
    home = data_folder() / "dl-passage-llm"
    runs = sorted((home / "runs-dl21").glob("*.run.gz"))
    pairs = [(load_run(str(runs[a])), load_run(str(runs[b]))) for a, b in PAIRS]
    graders = {name: str(home / f"{name}.dl21.qrels.gz") for name in DL21}
    return Collection("DL21", load_qrels(str(home / "human.dl21.qrels.gz")), pairs, graders, DL21[0])


def llmjudge() -> Collection:
    """Return the passages of 2023."""
    home = data_folder() / "llmjudge"
    runs = [_as_run(load_qrels(str(home / f"{name}.qrels.gz")), name) for name in STAND_INS]
    graders = {name: str(home / f"{name}.qrels.gz") for name in (*GOOD, *WEAK)}
    people = load_qrels(str(home / "human.qrels.gz"))
    return Collection("llmjudge", people, list(pairwise(runs)), graders, GOOD[0])


def _as_run(qrels: Qrels, name: str) -> Run:
    scores = qrels.grades.astype(np.float64)
    return Run(qrels.query_ids, qrels.doc_ids, scores, np.zeros(scores.size, dtype=np.int64), name)


def beliefs_of(inputs: Inputs, collection: Collection) -> dict[str, GradeBeliefs]:
    """Make the beliefs without a model and by each grader, useless ones too."""
    rng = np.random.default_rng(SEED)
    graders = list(read_graders(list(collection.graders.values())))
    whole = graders[list(collection.graders).index(collection.turned)]
    dice = rng.integers(0, TOP + 1, len(whole)).astype(np.float64)
    graders += [_other(whole, USELESS[0], dice), _other(whole, USELESS[1], -whole.values)]
    laid, names = with_graders(inputs, graders), model_names(graders)
    believed = {"no model": uniform_beliefs(inputs.pool.n_items, TOP)}
    for name, grader in zip(names, graders, strict=True):
        believed[grader.name.removesuffix(".dl21")] = believe(laid, name, TOP, rng)
    return believed


def _other(grader: Grades, name: str, values: np.ndarray) -> Grades:
    """Return a grader of the same items who says something else."""
    return Grades(query_ids=grader.query_ids, item_ids=grader.item_ids, values=values, name=name)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one run or of two, what is believed by each grader, and a tenth of what judging it whole costs."""

    where: Row
    target: Target
    inputs: Inputs
    believed: Mapping[str, GradeBeliefs]
    passive: Design
    budget: float

    def design(self, name: str) -> Design:
        """Return the design of what is believed by a grader."""
        method = default_method(self.target.measure)
        return method.design(self.target, **self.believed[name].for_method(method, TOP + 1))


def questions(
    collection: Collection, pair: tuple[Run, Run], measures: Sequence[str], runs: Sequence[int] = (1, 2)
) -> Iterator[Asked]:
    """Yield the questions of a pair of runs."""
    for n in runs:
        loaded = from_tables(collection.people, pair[:n], evaluated=n, unjudged="irrelevant")
        inputs = loaded.in_id_order().with_costs(None, 0.0)
        believed = beliefs_of(inputs, collection)
        for text in measures:
            target = Target(on_scale(sampled_measure(text), TOP), *inputs.rankings)
            passive = METHODS["passive"].design(target)
            where = {"collection": collection.name, "pair": pair[0].name, "runs": n, "measure": text}
            yield Asked(where, target, inputs, believed, passive, SHARE * passive.cost)


def cells(collection: Collection, pair: tuple[Run, Run], options: Options) -> Iterator[Row]:
    """Yield the figures of one run and of two, of each measure and each belief."""
    for asked in questions(collection, pair, options.measure):
        designs = {"passive": asked.passive} | {name: asked.design(name) for name in asked.believed}
        slow = asked.where["measure"] == MEASURES[2]
        repetitions = max(options.repetitions // SLOWER, 2) if slow else options.repetitions
        _, *summaries = simulate(designs, asked.inputs.grades, [asked.budget], repetitions, SEED)
        truth = float(asked.inputs.pool.query_probs @ asked.target.values(asked.inputs.grades))
        for name, summary in zip(asked.believed, summaries, strict=True):
            row = summary.row()
            kept = {key: row[key] for key in ("efficiency", "coverage", "bias", "rmse", "rmse_se", "width", "queries")}
            yield asked.where | {"grader": name, "truth": truth, "repetitions": repetitions} | kept


def biases_of(collection: Collection, pair: tuple[Run, Run], options: Options) -> Iterator[Row]:
    """Yield the bias of estimates under the hard budget whose predictions learn from the sample.

    The difference form with the same order and budget takes the model at its word, has no bias, and errs alike: its
    mean error, times the slope of one error on the other, is taken off. Beside the estimate stand the fit alone and
    what learns without a fit.
    """
    for each in questions(collection, pair, options.measure, (1,)):
        truth = float(each.inputs.pool.query_probs @ each.target.values(each.inputs.grades))
        fast = each.where["measure"] != MEASURES[2]
        repetitions = options.bias_repetitions * (SLOWER if fast else 1)
        fitted = each.design(collection.turned)
        untaught = tuple(_untaught(reading) for reading in fitted.readings)
        forms = {
            "difference": replace(fitted, is_fitted=False, readings=untaught),
            "fitted, learning": fitted,
            "fitted": replace(fitted, readings=untaught),
            "difference, learning": replace(fitted, is_fitted=False),
        }
        control, *others = (
            replicate(design, each.inputs.grades, [each.budget], repetitions, SEED).values[:, 0] - truth
            for design in forms.values()
        )
        for form, errors in zip(list(forms)[1:], others, strict=True):
            left = errors - np.cov(errors, control)[0, 1] / control.var(ddof=1) * control
            spread = float(errors.std(ddof=1))
            yield each.where | {
                "grader": collection.turned,
                "form": form,
                "repetitions": repetitions,
                "bias": float(left.mean()) / spread,
                "bias_se": float(left.std(ddof=1)) / math.sqrt(repetitions) / spread,
                "without_control": float(errors.mean()) / spread,
            }


def _untaught(reading: Reading) -> Reading:
    """Return a reading whose predictions learn nothing from the sample."""
    if reading.beliefs is None:
        return reading
    untaught = replace(reading, beliefs=replace(reading.beliefs, refit=None))
    return replace(untaught, learns=False) if isinstance(untaught, ItemReading) else untaught


def figures_of(rows: Sequence[Row]) -> list[Row]:
    """Return the geometric means over questions of each grader over no model, with the bars."""
    ours = {(r["collection"], r["pair"], r["runs"], r["measure"], r["grader"]): r for r in rows}
    found: dict[tuple[str, str, int, str], list[tuple[Row, Row]]] = {}
    for (collection, pair, n, measure, grader), row in ours.items():
        free = ours[collection, pair, n, measure, "no model"]
        found.setdefault((collection, measure, n, grader), []).append((row, free))
    out = []
    for (collection, measure, n, grader), values in found.items():
        times = np.array([row["efficiency"] for row, _ in values])
        over = np.array([row["efficiency"] / free["efficiency"] for row, free in values])
        coverage = np.array([row["coverage"] for row, _ in values])
        what = f"{collection}, {measure}, {'one run' if n == 1 else 'two runs'}, {grader}"
        details = {"times_passive": _mean(times), "coverage": float(coverage.mean()), "least_coverage": coverage.min()}
        if grader == "no model":
            details |= _plus_minus(_mean(times), [row for row, _ in values])
            out.append(figure(what, _mean(times), "times passive", **details))
        else:
            details |= _plus_minus(_mean(over), [row for both in values for row in both], len(values))
            out.append(figure(what, _mean(over), "over none", at_least=_bar(collection, measure, grader), **details))
    return out


def _plus_minus(value: float, rows: Sequence[Row], n_questions: int = 0) -> Row:
    """Return the standard error of a geometric mean of ratios of squared errors, taken as independent."""
    relative = np.array([2 * row["rmse_se"] / row["rmse"] for row in rows])
    se = value * float(np.sqrt((relative**2).sum())) / (n_questions or len(rows))
    return {"se": se, "note": f"± {se:.3f}"}


def _mean(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean()))


def _bar(collection: str, measure: str, grader: str) -> float | None:
    """Return the target, where there is one."""
    if grader in USELESS:
        return 0.93 if grader == USELESS[0] else 0.95
    if measure == "ERR@10":
        return 0.92
    if collection == "llmjudge" and measure == "DCG@10":
        return 1.12 if grader in GOOD else 0.97
    return None


def bias_table(rows: Sequence[Row]) -> list[Row]:
    """Return the size of each bias in standard deviations of the estimate."""
    return [
        figure(
            f"{row['collection']}, {row['measure']}, one run, {row['grader']}: bias, {row['form']}",
            abs(row["bias"]),
            "sd",
            at_most=0.01,
            se=row["bias_se"],
            note=f"± {row['bias_se']:.4f}, {row['repetitions']:,} repetitions",
        )
        for row in rows
    ]


def coverage_table(rows: Sequence[Row]) -> list[Row]:
    """Return the mean coverage, of each measure too, and the least of a cell."""
    least = min(rows, key=lambda row: float(row["coverage"]))
    se = math.sqrt(0.95 * 0.05 / least["repetitions"])
    of_measures: dict[str, list[float]] = {}
    for row in rows:
        of_measures.setdefault(f"{row['measure']}, mean over cells", []).append(row["coverage"])
    mean = float(np.mean([row["coverage"] for row in rows]))
    note = f"± {se:.3f}; {least['collection']}, {least['measure']}, {least['runs']} runs, {least['grader']}"
    return [
        figure("coverage of 95 % intervals, mean over cells", mean, "", at_least=0.94),
        figure("the least of a cell", least["coverage"], "", at_least=0.93, se=se, note=note),
        *(figure(what, float(np.mean(values)), "") for what, values in of_measures.items()),
    ]


Tables = Sequence[Callable[[Sequence[Row]], list[Row]]]


def part(options: Options, measured: Callable[..., Iterator[Row]], tables: Tables, n_pairs: int) -> Row:
    """Measure some pairs of runs of each collection, and make the figures."""
    cases = ((measured, name, k, options) for name in options.collection for k in range(n_pairs))
    rows = spread(_of_pair, cases, options.jobs)
    return {"figures": [row for table in tables for row in table(rows)], "rows": rows}


def _of_pair(measured: Callable[..., Iterator[Row]], name: str, k: int, options: Options) -> Iterator[Row]:
    collection = COLLECTIONS[name]()
    return measured(collection, collection.pairs[k], options)


COLLECTIONS = {"DL21": dl21, "llmjudge": llmjudge}
EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        name: (title, partial(part, measured=measured, tables=tables, n_pairs=n_pairs))
        for name, title, measured, tables, n_pairs in (
            ("graders", "Over no model, and coverage", cells, (figures_of, coverage_table), len(PAIRS)),
            ("bias", "Bias under the hard budget", biases_of, (bias_table,), 1),
        )
    },
    repetitions=1000,
    bias_repetitions=6000,
    measure=MEASURES,
    collection=tuple(COLLECTIONS),
    jobs=2,
)


if __name__ == "__main__":
    EXPERIMENT.main()
