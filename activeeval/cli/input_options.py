"""The options that describe a pool, shared by simulate, sample and design, and what they are turned into."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.core.errors import ChoiceError, InputError

if TYPE_CHECKING:
    from activeeval.inputs.budgets import Budget


class FiniteRange(click.FloatRange):
    """A range of floats that refuses NaN and infinity too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that a text stands for."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class BudgetType(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """A number of judgments, as 200, or a share of judging everything, as 10%."""

    name = "N|P%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Budget:
        """Return the budget that a text stands for."""
        from activeeval.inputs.budgets import Budget

        if isinstance(value, Budget):
            return value
        try:
            return Budget.parse(str(value))
        except InputError as problem:
            self.fail(str(problem), param, ctx)


BUDGET = BudgetType()
BUDGET_HELP = "Judgments (200), or a share of judging everything (10%)"
MEASURES_HELP = (
    "DCG, ERR, RBP, P, Success, RR, nDCG, R or AP, as DCG@10; @FILE: learned gains; of top-k judging kNDCG(k=5)@10"
)
measures_option = click.option(
    "--measure", "measures", multiple=True, default=["DCG"], show_default="DCG", help=f"{MEASURES_HELP}; repeatable."
)
POSITIVE = FiniteRange(0, min_open=True)
SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
SCALE = click.IntRange(1, 1000)
"""Of the largest grade; the library has the same, which a test holds."""
SEED = click.IntRange(0, 2**63 - 1)
"""The library has the same, which a test holds."""
SCOPES = ("pool", "population")
confidence_option = click.option("--confidence", type=SHARE, default=0.95, help="Confidence of the intervals.")
# what commands declare with a help of their own: the name, the metavar and the type are the same in each
qrels_option = partial(click.option, "--qrels", metavar="FILE")
run_option = partial(click.option, "--run", metavar="FILE")
versus_run_option = partial(click.option, "--versus-run", metavar="FILE")
model_option = partial(click.option, "--model", multiple=True, metavar="MODEL")
judged_option = partial(click.option, "--judged", multiple=True, metavar="FILE")
max_grade_option = partial(click.option, "--max-grade", type=SCALE)
unjudged_option = partial(click.option, "--unjudged", type=click.Choice(("error", "irrelevant")), default="error")
any_seed_option = partial(click.option, "--seed", type=SEED)
any_policy_option = partial(click.option, "--policy")
seed_option = any_seed_option(default=0, help="One seed, one answer.")
fresh_seed_option = any_seed_option(help="One seed, one answer. Default: a new one, which is said.")
name_option = click.option(
    "--name", "names", multiple=True, metavar="TEXT",
    help="What a system is called, as 'BM25 v7'; one for each, in their order. Default: its file.",
)  # fmt: skip
policy_option = any_policy_option(
    type=click.Choice(("refuse", "majority", "median", "mean-gain")),
    default="refuse",
    help="Where judges differ: an error, the grade that most give, the lower median, or the mean gain.",
)
ties_option = click.option(
    "--ties",
    type=click.Choice(("id", "rank", "input")),
    default="id",
    help="Order of equal scores: by document id, descending (trec_eval); by the rank column; as read.",
)


contrasts_option = click.option(
    "--contrasts",
    type=click.Choice(("all", "first")),
    help="Of several runs: compare every pair (the default), or the first with each of the others.",
)
weights_option = click.option(
    "--weights",
    type=click.Choice(("equal", "sum", "minimax")),
    default="equal",
    help="Several questions share a sample: each loses alike, the least in sum, or the least for the worst.",
)


judging_option = click.option(
    "--judging",
    type=click.Choice(("grades", "top-k")),
    default="grades",
    help="Documents are graded; or the k best of a query are found by comparing two at a time.",
)


machine_is_truth_option = click.option(
    "--machine-is-truth",
    is_flag=True,
    help="Take a machine's grades in files of judgments for people's; every output says so.",
)


def scope_option(default: str) -> Callable[[Any], Any]:
    """Return the option that says what an interval is about."""
    return click.option(
        "--scope",
        type=click.Choice(SCOPES),
        default=default,
        help="The interval is about: these queries, or all the queries that they are a sample of.",
    )


_OPTIONS = (
    click.option("--letor", multiple=True, metavar="FILE", help="LETOR/SVMlight file, in place of runs; repeatable."),
    qrels_option(help="Judgments of the documents in the runs."),
    run_option("runs", multiple=True, help="A run: TREC file or table; repeatable."),
    click.option("--pool-run", "pool_runs", multiple=True, metavar="FILE",
                 help="A run for the model's features only; repeatable."),
    click.option("--scores", multiple=True, metavar="FILE",
                 help="Scores of the documents of each --letor, a number a line; repeatable."),
    click.option("--versus-scores", multiple=True, metavar="FILE", help="Scores of the second of two rankers."),
    versus_run_option(help="The run to compare with: the value is --run less this one."),
    name_option,
    contrasts_option,
    click.option("--index-update", type=SHARE, metavar="SHARE",
                 help="Compare with the same ranking, less this share of its items, removed at random."),
    ties_option,
    click.option("--pool-depth", type=click.IntRange(1), metavar="K",
                 help="Lists end at this rank. Default: 100 for --run without --qrels."),
    model_option(help="Predicts grades: forest, logit, uniform, scores, probs=FILE. Default: the graders, else forest "
                      "with labels to learn from, else uniform. Repeatable: a mixture."),
    click.option("--grader", "graders", multiple=True, metavar="FILE[:OPTIONS]",
                 help="A machine's grades (a language model's): they say where to look and are never labels. Options: "
                      "cost=.01, scale=0-3, name=TEXT, made=RUN, queries=FILE, documents=FILE. Repeatable."),
    click.option("--grader-trust", type=click.Choice(("auto", "model", "regressor", "off")), default="auto",
                 help="Graders say whom to judge (auto, model), only sharpen the estimate (regressor), or off."),
    click.option("--train", multiple=True, metavar="FILE", help="LETOR file to train on; repeatable."),
    click.option("--train-scores", multiple=True, metavar="FILE",
                 help="Scores of each --train, as --scores, for --model scores."),
    click.option("--train-qrels", metavar="FILE",
                 help="Judgments to train on; their queries are not measured (--judged: are)."),
    click.option("--train-fraction", type=SHARE, metavar="SHARE",
                 help="Share of the queries to train on; they are not measured."),
    click.option("--tune", is_flag=True, help="Choose the model's parameters on half of the training queries."),
    click.option("--query-factor/--no-query-factor", default=True,
                 help="Learn what the grades of a query have in common."),
    judged_option(help="Judgments, judged sheets or samples: free, and they train the model; their queries are "
                       "measured (--train-qrels: are not). Repeatable."),
    click.option("--judged-policy", type=click.Choice(("refuse", "majority", "median")), default="refuse",
                 help="Where known grades differ: an error, the grade that most give, or the lower median."),
    machine_is_truth_option,
    max_grade_option(help="Largest grade of the scale. Default: the largest label."),
    unjudged_option(help="Items without a grade where one is needed: an error, or grade 0."),
    click.option("--overhead", type=FiniteRange(0), default=0.0,
                 help="Cost of turning to a query, in mean item costs."),
    click.option("--cost", default="uniform", metavar="COST",
                 help="Cost of an item: uniform, log-length:FEATURE (log(e + feature)) or a FILE."),
    click.option("--traffic", metavar="FILE",
                 help="How often each query is asked: a line `query weight`. Default: alike."),
    click.option("--defensive-share", type=FiniteRange(0, 1),
                 help="Share of the draws that follow no model; it bounds weights. Default: 0 or 0.1, by --method."),
)  # fmt: skip


def with_options(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Add options that several commands share, in the order in which help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def pool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a pool."""
    return with_options(command, (*_OPTIONS, seed_option))


def drawn_pool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a pool that judges are asked of: no two samples by chance have one seed."""
    return with_options(command, (*_OPTIONS, fresh_seed_option))


@contextmanager
def worded() -> Iterator[None]:
    """Let choices that are refused be an error of usage, in the words of the command."""
    from activeeval.cli.wording import complaint

    try:
        yield
    except ChoiceError as problem:
        raise click.UsageError(complaint(problem, click.get_current_context().command)) from None
