"""``activeeval adapt`` and ``rank``: adapt a ranker to user preferences, and score documents with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import seed_option
from activeeval.cli.option_types import POSITIVE
from activeeval.cli.waiting import tell
from activeeval.report.numbers import counted, number

if TYPE_CHECKING:
    from activeeval.adaptation.adapt import Preferences
    from activeeval.adaptation.choice import RegularizationChoice


OF_BASE = {"n_trees": "--trees", "n_leaves": "--leaves"}


@command()
@click.argument("letor", metavar="LETOR")
@click.argument("pairs", metavar="PAIRS...", nargs=-1, required=True)
@click.option("--letor", "more", multiple=True, metavar="FILE", help="More judged documents; repeatable.")
@click.option("--pairs-letor", multiple=True, metavar="FILE",
              help="More documents that pairs may name, not judged; they replace the judged documents of their query."
              " Repeatable.")  # fmt: skip
@click.option("--base", metavar="FILE", help="Ranker to tune, learned from other queries. Default: boosted trees.")
@click.option("--trees", "n_trees", type=click.IntRange(1, 10_000), default=300, help="Trees of the default base.")
@click.option("--leaves", "n_leaves", type=click.IntRange(2, 1000), default=20, help="Leaves of a tree.")
@click.option("--method", type=click.Choice(("closed_form", "sgd", "hinge")), default="closed_form",
              help="Squared loss exactly or by stochastic gradient, or the hinge.")  # fmt: skip
@click.option("--regularization", "lambdas", type=POSITIVE, multiple=True, metavar="L",
              help="Weight of staying near the base; repeatable. Default: 0.01, 0.1, ... 10000.")  # fmt: skip
@click.option("--alpha", type=POSITIVE, default=1.0,
              help="Weight of users' preferences, relative to judges' grades.")  # fmt: skip
@output.plot_option(help="Draw nDCG@5, precision and B over the regularization.")
@output.out_option(required=True, help="The tuned ranker and its base: plain arrays, no code.")
@output.force_option
@seed_option
@output.output_option
@click.pass_context
def adapt(
    context: click.Context,
    /,
    letor: str,
    pairs: tuple[str, ...],
    more: tuple[str, ...],
    base: str | None,
    plot: str | None,
    out: str,
    force: bool,
    form: str,
    **options: Any,
) -> None:
    """Tune a ranker to users' preferences, and keep its quality by judges' grades.

    LETOR holds judged documents with features; PAIRS are preferences (a table of query, preferred, other) or click logs
    (query_id, doc_id, position, impressions, clicks), whose significant differences become preferences. Several logs
    are added up to one; a pair that is listed twice counts twice. Boosted trees learn from the grades; the values of
    their leaves are then moved towards the preferences. How far is chosen over five folds of queries by B, the harmonic
    mean of nDCG@5 and of the share of pairs in order; the nDCG@5 of a query without a relevant document counts as 0.

    \b
    activeeval adapt S1.txt clicks.csv --out tuned.ranker --plot path.png
    activeeval rank S2.txt --ranker tuned.ranker --out tuned.S2.txt
    """
    from activeeval.adaptation.adapt import choice_rows, read_preferences
    from activeeval.adaptation.messages import click_lines
    from activeeval.report.pictures import PICTURES

    _check_base(context, base)
    read = (letor, *more, *pairs, *options["pairs_letor"], *([base] if base else []))
    output.check_apart({"out": out, "plot": plot}, read)
    output.check_new(out, (), force)
    if plot:
        output.check_new(plot, PICTURES, force)
    tell("reading the preferences")
    preferences = read_preferences(pairs)
    if preferences.clicks is not None:
        for line in click_lines(preferences.clicks):
            output.say(f"{preferences.logs}: {line}")
    tell("adapting")
    choice = _adapted((letor, *more), preferences, base=base, **options)
    output.emit(choice_rows(choice, is_exact=form in ("jsonl", "tsv")), form)
    _write(choice, out, plot)
    _say_cautions(choice, base)
    output.say(f"wrote {out}: regularization {choice.regularization:g}")


@command()
@click.argument("letor", metavar="LETOR")
@click.option("--ranker", required=True, metavar="FILE", help="Ranker that `activeeval adapt` wrote.")
@click.option("--base", "of_base", is_flag=True, help="Score by the ranker's base, before it was tuned.")
@output.out_option(required=True, help="Scores, a number a line.")
@output.force_option
def rank(letor: str, ranker: str, of_base: bool, out: str, force: bool) -> None:
    """Score the documents of a LETOR file by a ranker, to compare it with others or with its own base.

    \b
    activeeval rank S2.txt --ranker tuned.ranker --out tuned.S2.txt
    activeeval rank S2.txt --ranker tuned.ranker --base --out base.S2.txt
    activeeval simulate --letor S2.txt --scores tuned.S2.txt --scores base.S2.txt \\
        --measure DCG@10 --budget 10%
    """
    from activeeval.adaptation.adapt import scored
    from activeeval.formats.text.scores import write_scores

    output.check_apart({"out": out}, (letor, ranker))
    output.check_new(out, (), force)
    tell("scoring")
    scores = scored(ranker, letor, of_base=of_base)
    write_scores(scores, out)
    output.say(f"wrote {out}: {counted(scores.size, 'score')}")


def _check_base(context: click.Context, base: str | None) -> None:
    """Raise UsageError if --base is combined with options of the default base."""
    source, typed = context.get_parameter_source, click.core.ParameterSource.COMMANDLINE
    of_trees = [option for name, option in OF_BASE.items() if source(name) is typed]
    if base and of_trees:
        raise click.UsageError(f"{of_trees[0]} is for the default base: leave it out with --base")


def _adapted(letor: Sequence[str], preferences: Preferences, **options: Any) -> RegularizationChoice:
    """Adapt the ranker with the command's options.

    On too large a problem, raise SideError with the command's own advice.
    """
    from activeeval.adaptation.adapt import adapted
    from activeeval.adaptation.choice import REGULARIZATIONS
    from activeeval.adaptation.weights import SideError

    trees = {name: options.pop(name) for name in OF_BASE} | {"seed": options["seed"]}
    options |= {"lambdas": options["lambdas"] or REGULARIZATIONS, "rng": options.pop("seed")}
    try:
        return adapted(letor, preferences, trees=trees, advice="; --pairs-letor adds documents", **options)
    except SideError as problem:
        raise SideError(problem.size, "--method sgd has no such limit") from None


def _write(choice: RegularizationChoice, out: str, plot: str | None) -> None:
    """Write the ranker file and, if `plot` names one, the chart; both or, on an error, none."""
    from activeeval.adaptation.choice_picture import plot_regularization
    from activeeval.adaptation.ranker_files import write_ranker
    from activeeval.formats.writing import AtomicFiles

    with AtomicFiles() as files:
        write_ranker(out, choice.ranker, files)
        if plot:
            plot_regularization(choice, plot, files)


def _say_cautions(choice: RegularizationChoice, base: str | None) -> None:
    """Print on stderr what limits the figures of a choice; `base` is the file of the base ranker, if one was passed."""
    if choice.n_irrelevant:
        share = f"{choice.n_irrelevant} of {counted(choice.n_queries, 'judged query')}"
        output.say(f"{share} have no relevant document: their nDCG@5 counts as 0")
    if choice.n_seen:
        output.say(
            f"{base} was tuned on {choice.n_seen} of these queries before: for them the figures are not held out"
        )
    if open_ones := [f"{row.regularization:g}" for row in choice.table if not row.converged]:
        output.say(f"the hinge has not converged at λ = {', '.join(open_ones)}: these figures are not final")
    if not choice.is_better:
        values = f"B {number(choice.chosen.b.value, 4)} against {number(choice.base.b.value, 4)}"
        output.say(f"no λ is better than the base: {values}; the ranker is written anyway")
    if choice.is_within_error:
        lead = f"{number(choice.lead.value, 4)} ± {number(choice.lead.se, 4)} of B"
        output.say(
            f"the chosen λ is above the base by {lead} over the folds, within its standard error: it may be chance"
        )
    if choice.end:
        output.say(
            f"the chosen λ = {choice.regularization:g} is the {choice.end} of the path, the best one may lie beyond it"
        )
