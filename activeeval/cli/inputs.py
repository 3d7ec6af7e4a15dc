"""The options that describe a pool, shared by simulate, sample and design, and what they are turned into."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from activeeval.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from activeeval.design import Design
    from activeeval.measures import Target
    from activeeval.modelling import GradeBeliefs
    from activeeval.workload import Workload


class FiniteRange(click.FloatRange):
    """A range of floats that refuses NaN and infinity too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that a text stands for."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = FiniteRange(0, min_open=True)
SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
level_option = click.option("--level", type=SHARE, default=0.95, show_default=True, help="Confidence of the intervals.")
seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="One seed, one answer.")
ties_option = click.option(
    "--ties",
    type=click.Choice(("id", "rank", "input")),
    default="id",
    show_default=True,
    help="Order of equal scores in a run: document id descending (trec_eval), the rank column, or input order.",
)
_OPTIONS = (
    click.option("--letor", multiple=True, metavar="FILE", help="Pool from a LETOR/SVMlight file; repeatable."),
    click.option("--qrels", metavar="FILE", help="Judgments of the pool's items, with --run."),
    click.option("--run", "runs", multiple=True, metavar="FILE", help="TREC run to evaluate."),
    click.option("--pool-run", "pool_runs", multiple=True, metavar="FILE", help="Run for features only; repeatable."),
    click.option("--scores", multiple=True, metavar="FILE",
                 help="Scores that rank the items: a file for each --letor, a number a line."),
    click.option("--versus-scores", multiple=True, metavar="FILE", help="Scores of a second ranking to compare with."),
    click.option("--versus-run", metavar="FILE", help="TREC run to compare with."),
    click.option("--index-update", type=SHARE, metavar="SHARE",
                 help="Compare with the ranking less this share of its items, removed at random."),
    ties_option,
    click.option("--model", metavar="forest|logit|uniform|probs=FILE",
                 help="Grade model. Default: forest with training data, else uniform."),
    click.option("--train", multiple=True, metavar="FILE", help="LETOR file to train the model on; repeatable."),
    click.option("--train-qrels", metavar="FILE",
                 help="Judgments to train on, with --run; their queries are not in the pool."),
    click.option("--train-fraction", type=SHARE, metavar="SHARE", help="Share of the queries set aside to train on."),
    click.option("--tune", is_flag=True, help="Choose the model's parameters on half of the training queries."),
    click.option("--query-factor/--no-query-factor", default=True, show_default=True,
                 help="Learn from the training queries what the grades of a query have in common; the uniform model "
                      "takes it as on other collections."),
    click.option("--max-grade", type=click.IntRange(1), help="Largest grade of the scale. Default: the largest label."),
    click.option("--unjudged", type=click.Choice(("error", "irrelevant")), default="error", show_default=True,
                 help="Items without a grade: an error where a grade is needed, and left out of training; or grade 0."),
    click.option("--overhead", type=FiniteRange(0), default=0.0, show_default=True,
                 help="Cost of turning to a query, in mean item costs."),
    click.option("--cost", default="uniform", show_default=True, metavar="uniform|log-length:FEATURE|FILE",
                 help="Cost of judging an item; log-length is log(e + feature)."),
    click.option("--traffic", metavar="FILE",
                 help="How often each query is asked, `query weight` a line. Default: all alike."),
    click.option("--defensive-share", type=FiniteRange(0, 1),
                 help="Share left to p whatever the model says; it bounds weights. "
                      "Default: 0 for the paper's, else 0.1."),
    seed_option,
)  # fmt: skip


def with_options(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Add options that several commands share, in the order in which help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def pool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a pool."""
    return with_options(command, _OPTIONS)


@dataclass(frozen=True)
class PoolOptions:
    """The values of `pool_options`."""

    letor: tuple[str, ...]
    qrels: str | None
    runs: tuple[str, ...]
    pool_runs: tuple[str, ...]
    scores: tuple[str, ...]
    versus_scores: tuple[str, ...]
    versus_run: str | None
    index_update: float | None
    ties: str
    model: str | None
    train: tuple[str, ...]
    train_qrels: str | None
    train_fraction: float | None
    tune: bool
    query_factor: bool
    max_grade: int | None
    unjudged: str
    overhead: float
    cost: str
    traffic: str | None
    defensive_share: float | None
    seed: int

    def check(self) -> None:
        """Raise a usage error where options contradict each other."""
        if bool(self.letor) == bool(self.runs):
            raise click.UsageError("give either --letor with --scores, or --run (with --qrels to simulate)")
        if len(self.runs) > 1:
            raise click.UsageError("--run is given once; --versus-run is the second ranking, --pool-run adds features")
        if self.letor and not self.scores:
            raise click.UsageError("--letor needs --scores: one score file for each --letor, aligned with its lines")
        mixed = {"--qrels": self.qrels, "--pool-run": self.pool_runs, "--versus-run": self.versus_run}
        mixed["--train-qrels"] = self.train_qrels
        if self.letor and any(mixed.values()):
            raise click.UsageError(f"{next(k for k, v in mixed.items() if v)} goes with --run, not with --letor")
        mixed = {"--scores": self.scores, "--versus-scores": self.versus_scores, "--train": self.train}
        if self.runs and any(mixed.values()):
            raise click.UsageError(f"{next(k for k, v in mixed.items() if v)} goes with --letor, not with --run")
        if sum(map(bool, (self.versus_scores, self.versus_run, self.index_update is not None))) > 1:
            raise click.UsageError("give one ranking to compare with: --versus-scores, --versus-run or --index-update")
        if sum(map(bool, (self.train, self.train_qrels, self.train_fraction is not None))) > 1:
            raise click.UsageError("give one of --train, --train-qrels and --train-fraction")
        if self.tune and not self.has_training:
            raise click.UsageError("--tune needs labels to tune on: --train, --train-qrels or --train-fraction")
        if self.model == "probs=":
            raise click.UsageError("--model probs=FILE needs the name of a file")

    @property
    def has_training(self) -> bool:
        """Whether there is something to train a model on."""
        return bool(self.train or self.train_qrels) or self.train_fraction is not None


@dataclass(frozen=True)
class Case:
    """A workload with its grade model, ready for methods."""

    workload: Workload
    beliefs: GradeBeliefs
    max_grade: int
    model: str
    seed: np.random.SeedSequence

    def target(self, text: str) -> Target:
        """Return what a measure string asks to estimate."""
        from activeeval.measures import Target
        from activeeval.workload import on_scale, sampled_measure

        measure = on_scale(sampled_measure(text), self.max_grade)
        return Target(measure, self.workload.ranking, self.workload.versus)

    def n_grades(self, target: Target) -> int:
        """Return how many grades the scale of a target has."""
        return (target.measure.max_grade or self.max_grade) + 1

    def design(
        self,
        method: str,
        target: Target,
        defensive_share: float | None = None,
        *,
        budget: float | None = None,
        expected: bool = False,
    ) -> Design:
        """Return a method's design for a target, with what is believed of the grades; ``budget`` in mean items."""
        from activeeval.methods import find_method

        chosen, n_grades = find_method(method), self.n_grades(target)
        beliefs = self.beliefs.for_method(chosen, n_grades)
        return chosen.design(
            target,
            **beliefs,
            max_grade=n_grades - 1,
            budget=budget,
            expected=expected,
            defensive_share=defensive_share,
        )


def load_case(options: PoolOptions, *, use_labels: bool) -> Case:
    """Read the files, set costs, set training queries aside, fit the model.

    Without ``use_labels`` no label of the pool is looked at, only those of the training rows.
    """
    import numpy as np

    from activeeval.cli.output import progress, say
    from activeeval.io.traffic import read_traffic
    from activeeval.modelling import believe

    options.check()
    *streams, seed = np.random.SeedSequence(options.seed).spawn(4)
    split_rng, update_rng, model_rng = map(np.random.default_rng, streams)
    workload, judged = _load(options, use_labels)
    for note in workload.notes:
        say(note)
    workload, model = _with_model_inputs(options, workload)
    workload = workload.in_id_order()
    if options.train_fraction is not None:
        workload = workload.held_out(options.train_fraction, split_rng)
    elif judged is not None:
        workload = workload.trained_on(_with_model_inputs(options, judged, with_costs=False)[0].in_id_order())
    if workload.training is not None and (n_left_out := workload.training.n_left_out):
        say(f"{n_left_out} ranked items of the training queries are not judged: left out of training")
    if not use_labels:
        workload = workload.without_labels()
    elif not (workload.grades >= 0).any():
        raise InputError("no item of the pool is judged, so there is no truth to compare with")
    workload = workload.with_costs(workload.pool.item_costs, options.overhead)
    if options.traffic is not None:
        workload = workload.with_traffic(read_traffic(options.traffic).align(workload.pool))
    if options.index_update is not None:
        workload = workload.updated_index(options.index_update, update_rng)
    max_grade = _max_grade(options, workload, model)
    if model == "uniform" and options.model is None:
        say("no training data: the uniform grade model is used (--train, --train-qrels or --train-fraction train one)")
    with progress(1, f"fitting the {model} model") as advance:
        beliefs = believe(workload, model, max_grade, model_rng, tune=options.tune, with_factor=options.query_factor)
        advance(model)
    return Case(workload, beliefs, max_grade, model, seed)


def _load(options: PoolOptions, use_labels: bool) -> tuple[Workload, Workload | None]:
    """Return the workload to evaluate and, with --train-qrels, the one to train on."""
    from activeeval.io.tables import load_qrels, load_run
    from activeeval.workload import from_letor, from_tables

    if options.letor:
        return from_letor(options.letor, options.scores, options.versus_scores, options.train), None
    if use_labels and options.qrels is None:
        raise click.UsageError("--run needs --qrels here: the labels of the pool")
    if options.train_fraction is not None and options.qrels is None:
        raise click.UsageError("--train-fraction needs --qrels: labels to train on")
    names = [*options.runs, *([options.versus_run] if options.versus_run else []), *options.pool_runs]
    runs = [load_run(name) for name in names]

    def put_together(qrels: str | None) -> Workload:
        evaluated = 2 if options.versus_run else 1
        judgments = load_qrels(qrels) if qrels else None
        return from_tables(judgments, runs, evaluated=evaluated, ties=options.ties, unjudged=options.unjudged)

    return put_together(options.qrels), put_together(options.train_qrels) if options.train_qrels else None


def _with_model_inputs(options: PoolOptions, workload: Workload, *, with_costs: bool = True) -> tuple[Workload, str]:
    """Return the workload with item costs and, for given probabilities, those as features; and the kind of model."""
    from activeeval.io.tables import load_probabilities, read_costs
    from activeeval.workload import given_probabilities, item_costs

    kind = options.cost if with_costs else "uniform"
    is_file = kind != "uniform" and not kind.startswith("log-length")
    workload = workload.with_costs(item_costs(read_costs(kind) if is_file else kind, workload), 0.0)
    default = "forest" if options.has_training else "uniform"
    model = default if options.model is None else options.model
    name, _, path = model.partition("=")
    if name != "probs":
        return workload, model
    if options.train:
        raise click.UsageError("given probabilities are recalibrated with --train-fraction, not with --train")
    return given_probabilities(workload, load_probabilities(path)), "given"


def _max_grade(options: PoolOptions, workload: Workload, model: str) -> int:
    seen = workload.max_grade if workload.has_labels else 0
    columns = workload.features.shape[1] - 1 if model == "given" else 0
    top = max(seen, columns, options.max_grade or 0)
    if options.max_grade is not None and top > options.max_grade:
        raise InputError(f"labels or probabilities go up to grade {top}, above --max-grade {options.max_grade}")
    if top == 0:
        raise click.UsageError(
            "--max-grade is needed: no label of the pool is looked at, and nothing else tells the largest grade"
        )
    return top


def check_names(measures: Sequence[str], methods: Sequence[str]) -> None:
    """Raise where a measure or a method is not on offer, or one not for the other, before any file is read."""
    from activeeval.measures import shown_name
    from activeeval.methods import find_method
    from activeeval.workload import sampled_measure

    asked = [sampled_measure(text) for text in measures]
    for method in map(find_method, methods):
        for measure in asked:
            if not method.fits(measure):
                raise InputError(
                    f"method {method.name!r} is for additive measures (DCG, RBP, P), not for {shown_name(measure)}"
                )


def distinct(values: Sequence[float]) -> list[float]:
    """Return repeated numbers once each, ascending."""
    return sorted(set(values))
