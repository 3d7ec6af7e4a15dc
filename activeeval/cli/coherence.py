"""``activeeval coherence``: how often two measures prefer the same of two ranked lists."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import seed_option
from activeeval.cli.output import check_out, emit, output_option, places_option, say, say_notes
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.measures import Additive
    from activeeval.types import Ints


@click.command()
@click.argument("first", metavar="MEASURE")
@click.argument("second", metavar="MEASURE")
@click.option("--grades", metavar="LIST", help="Compare random orders of a list of grades, as 4,4,3,3,2,2,1,1,0,0.")
@click.option("--qrels", metavar="FILE", help="Compare random orders of each query's judged items.")
@click.option("--run", metavar="FILE", help="With --qrels and --versus-run: compare the lists of two runs.")
@click.option("--versus-run", metavar="FILE", help="The second run.")
@click.option("--depth", type=click.IntRange(1), help="Length of the lists. Default: all of --grades; 10 with --qrels.")
@click.option(
    "--pairs", "n_pairs", type=click.IntRange(1, 10_000_000), default=100_000, show_default=True, help="Random pairs."
)
@click.option("--bins", type=click.IntRange(1, 1000), default=10, show_default=True,
              help="Bins of the difference under the first measure.")  # fmt: skip
@click.option("--plot", metavar="FILE", help="Draw agreement over difference (.png, .svg, .pdf).")
@seed_option
@places_option
@output_option
def coherence(
    first: str, second: str, n_pairs: int, bins: int, plot: str | None, seed: int, places: int, form: str, **lists: Any
) -> None:
    """Tell how often two measures prefer the same of two lists, by how far the lists differ under the first.

    MEASURE is a sum of gains over ranks: DCG@10 (2^y - 1), "DCG(dcg='log2')@10", RBP, P@5 or @FILE, learned gains.

    \b
    activeeval coherence DCG "DCG(dcg='log2')" --grades 4,4,3,3,2,2,1,1,0,0
    activeeval coherence @gains.json DCG@10 --qrels qrels.txt --run new.run --versus-run old.run
    """
    from activeeval.gains import coherence as compare
    from activeeval.report import PICTURES, plot_coherence

    if plot:
        check_out(plot, PICTURES)
    measures = _additive(first), _additive(second)
    sides = _lists(n_pairs=n_pairs, seed=seed, **lists)
    report = compare(*measures, *sides, bins, sampled=lists["run"] is None)
    rows = [
        {"from": one.low, "to": one.high, "pairs": one.pairs} | _known(agree=one.agree, std_error=one.std_error)
        for one in report.bins
    ]
    whole = {"pairs": report.pairs} | _known(agree=report.agree, std_error=report.std_error)
    whole |= {"disagree": report.disagree, "one_tied": report.one_tied}
    emit(rows, form, places)
    if form != "jsonl":
        click.echo()
    emit([whole], form, places)
    if report.always:
        say(f"they agree on all lists of this length and scale: {report.always}")
    if plot:
        plot_coherence(report, plot)
        say(f"wrote {plot}")


def _known(**figures: float) -> dict[str, float]:
    """Return the figures that there are: an empty bin has no share, and pairs that are all there are no error."""
    return {name: value for name, value in figures.items() if not math.isnan(value)}


def _additive(text: str) -> Additive:
    from activeeval.cases.arguments import asked_measure
    from activeeval.measures import Additive

    measure = asked_measure(text)
    if not isinstance(measure, Additive):
        raise InputError(f"{measure} is no sum of gains over ranks; choose DCG, RBP, P or @FILE, learned gains")
    return measure


def _lists(
    *,
    grades: str | None,
    qrels: str | None,
    run: str | None,
    versus_run: str | None,
    depth: int | None,
    n_pairs: int,
    seed: int,
) -> tuple[Ints, Ints]:
    from activeeval.gains import random_list_pairs

    if bool(grades) == bool(qrels):
        raise click.UsageError("give one of --grades and --qrels: the lists to compare")
    if bool(run) != bool(versus_run) or (run and not qrels):
        raise click.UsageError("--run, --versus-run and --qrels go together")
    if grades:
        words = grades.replace(",", " ").split()
        if not words or not all(word.isdecimal() for word in words):
            raise click.UsageError(f"--grades is {grades!r}, expected whole grades from 0 on, as 4,4,3,3,2,2,1,1,0,0")
        return random_list_pairs([int(word) for word in words], n_pairs, depth, seed)
    return _judged_lists(str(qrels), [name for name in (run, versus_run) if name], depth or 10, n_pairs, seed)


def _judged_lists(qrels: str, runs: list[str], depth: int, n_pairs: int, seed: int) -> tuple[Ints, Ints]:
    from activeeval.gains import PreferenceData, random_judged_pairs
    from activeeval.io.loading import load_tables, pool_from_tables
    from activeeval.judgments import labels_of

    judgments, read = load_tables(partial(labels_of, qrels), runs)
    tables = pool_from_tables(judgments, read, evaluated=len(runs))
    say_notes(tables.notes)
    if not runs:
        return random_judged_pairs(tables.pool, tables.grades, n_pairs, depth, seed)
    rankings = dict(zip(("first", "second"), tables.rankings, strict=True))
    held = (tables.rankings[0].lengths > 0) & (tables.rankings[1].lengths > 0)
    if n_left := int((~held).sum()):
        say(f"{n_left} of {held.size} judged queries are not in both runs: left out")
    pairs = [(query, *rankings) for query in tables.pool.query_texts[held].tolist()]
    data = PreferenceData.from_rankings(tables.pool, tables.grades, rankings, pairs, depth)
    if n_unknown := data.n_unjudged + data.n_missing:
        say(f"{n_unknown} places of the lists hold no judged item: counted as grade 0")
    return data.preferred, data.other
