"""``activeeval adapt`` and ``rank``: a ranker tuned to what users prefer, and the scores that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import POSITIVE, SHARE, seed_option
from activeeval.cli.output import check_new, check_out, emit, force_option, output_option, places_option, say
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.rankers.preferring import RegularizationChoice, RegularizationRow


@click.command()
@click.argument("letor", metavar="LETOR")
@click.argument("pairs", metavar="PAIRS...", nargs=-1, required=True)
@click.option("--letor", "more", multiple=True, metavar="FILE", help="More judged documents; repeatable.")
@click.option("--pairs-letor", multiple=True, metavar="FILE",
              help="Where the compared documents are, if not among the judged ones; repeatable.")  # fmt: skip
@click.option("--base", metavar="FILE", help="Ranker to tune, learned from other queries. Default: boosted trees.")
@click.option("--trees", "n_trees", type=click.IntRange(1, 10_000), default=300, show_default=True, help="Of the base.")
@click.option("--leaves", "n_leaves", type=click.IntRange(2, 1000), default=20, show_default=True, help="Of a tree.")
@click.option("--learning-rate", type=POSITIVE, default=0.1, show_default=True, help="Of the base.")
@click.option("--method", type=click.Choice(("closed_form", "sgd", "hinge")), default="closed_form", show_default=True,
              help="Squared loss exactly or by stochastic gradient, or the hinge.")  # fmt: skip
@click.option("--regularization", "lambdas", type=POSITIVE, multiple=True, metavar="L",
              help="How much staying near the base counts; repeatable. Default: 0.01, 0.1, ... 10000.")  # fmt: skip
@click.option("--alpha", type=POSITIVE, default=1.0, show_default=True,
              help="How many times users' preferences count as much as judges' grades.")  # fmt: skip
@click.option("--folds", "n_folds", type=click.IntRange(2), default=5, show_default=True, help="Of queries.")
@click.option("--click-level", type=SHARE, default=0.05, show_default=True, help="Of the test of two click rates.")
@click.option("--plot", metavar="FILE", help="Draw nDCG@5, precision and B over the regularization.")
@click.option("--out", required=True, metavar="FILE", help="The tuned ranker: plain arrays, no code.")
@force_option
@seed_option
@places_option
@output_option
def adapt(
    letor: str,
    pairs: tuple[str, ...],
    more: tuple[str, ...],
    pairs_letor: tuple[str, ...],
    base: str | None,
    n_trees: int,
    n_leaves: int,
    learning_rate: float,
    method: str,
    lambdas: tuple[float, ...],
    alpha: float,
    n_folds: int,
    click_level: float,
    plot: str | None,
    out: str,
    force: bool,
    seed: int,
    places: int,
    form: str,
) -> None:
    """Tune a ranker to what users prefer, without losing what judges say.

    LETOR holds judged documents with features; PAIRS are preferences (a table of query, preferred, other) or click logs
    (query_id, doc_id, position, impressions, clicks), whose significant differences become preferences. Boosted trees
    learn from the grades; the values of their leaves are then moved towards the preferences. How far is chosen over
    five folds of queries by B, the harmonic mean of nDCG@5 and of the share of pairs in order.

    \b
    activeeval adapt S1.txt clicks.csv --out tuned.ranker --plot path.png
    activeeval rank S2.txt --ranker tuned.ranker --out tuned.S2.txt
    """
    from activeeval.rankers.preferring import REGULARIZATIONS
    from activeeval.report import PICTURES, plot_regularization
    from activeeval.session.adapting import adapted, read_preferences

    check_new(out, (), force)
    if plot:
        check_out(plot, PICTURES)
    tell("reading the preferences")
    comparisons, notes = read_preferences(pairs, click_level)
    for note in notes:
        say(note)
    tell("adapting")
    found = adapted(
        (letor, *more),
        comparisons,
        ", ".join(pairs),
        pairs_letor=pairs_letor,
        base=base,
        trees={"n_trees": n_trees, "n_leaves": n_leaves, "learning_rate": learning_rate, "seed": seed},
        lambdas=lambdas or REGULARIZATIONS,
        alpha=alpha,
        n_folds=n_folds,
        method=method,
        rng=seed,
    )
    found.ranker.save(out)
    if plot:
        plot_regularization(found, plot)
    emit(_rows(found), form, places)
    say(f"wrote {out}: regularization {found.regularization:g}")


@click.command()
@click.argument("letor", metavar="LETOR")
@click.option("--ranker", required=True, metavar="FILE", help="What `activeeval adapt` wrote.")
@click.option("--out", required=True, metavar="FILE", help="Scores, a number a line.")
@force_option
def rank(letor: str, ranker: str, out: str, force: bool) -> None:
    """Score the documents of a LETOR file by a ranker, so that it can enter a comparison.

    \b
    activeeval rank S2.txt --ranker tuned.ranker --out tuned.S2.txt
    activeeval simulate --letor S2.txt --scores tuned.S2.txt --versus-scores base.S2.txt --measure DCG@10 --budget 10%
    """
    from activeeval.io.scores import write_scores
    from activeeval.session.adapting import scored

    check_new(out, (), force)
    tell("scoring")
    scores = scored(ranker, letor)
    write_scores(scores, out)
    say(f"wrote {out}: {scores.size} scores")


def _rows(found: RegularizationChoice) -> list[dict[str, Any]]:
    return [_row(row, found) for row in (found.base, *found.table)]


def _row(row: RegularizationRow, found: RegularizationChoice) -> dict[str, Any]:
    """Return a λ as a row; the base has none."""
    is_base = row is found.base
    return {
        "regularization": None if is_base else row.regularization,
        "ndcg@5": row.measure.value,
        "ndcg@5_se": row.measure.se,
        "precision": row.precision.value,
        "precision_se": row.precision.se,
        "b": row.b.value,
        "b_se": row.b.se,
        "is_chosen": not is_base and row.regularization == found.regularization,
    }
