"""``activeeval sample``, ``estimate`` and ``design``: from a pool without labels to an estimate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import BUDGET, BUDGET_HELP, level_option, pool_options, prepared
from activeeval.cli.output import check_out, emit, output_option, places_option, say, warn_of_weights
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.campaign import Campaign
    from activeeval.campaign.sheet import Progress
    from activeeval.design import Design
    from activeeval.measures import Target
    from activeeval.session.budgets import Budget
    from activeeval.session.cases import Case

_FEW = 30
"""Below 30 judged queries the bias of a fitted estimate was measured up to .4 of its root mean squared error."""
_method_option = click.option(
    "--method", help="See `activeeval methods`. Default: the best for the measure that a bad model cannot spoil."
)


def _one(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> str:
    """Return the only one of what an option was given."""
    if len(given) > 1:
        raise click.UsageError(
            f"--measure is given {len(given)} times: a sample is drawn for one measure, and read for others by "
            "`activeeval estimate --measure`"
        )
    return str(given[0])


_measure_option = click.option(
    "--measure",
    multiple=True,
    callback=_one,
    default=["DCG"],
    show_default="DCG",
    help="DCG, ERR, RBP, P, RR, nDCG or AP, as ERR(max_rel=4)@10; @FILE: learned gains.",
)


def _asked(method: str | None, measure: str, out: str, options: dict[str, Any]) -> tuple[Case, Target, str]:
    """Return the case of some options, what is to be estimated, and the name of the method."""
    from activeeval.io.sheets import SUFFIXES
    from activeeval.methods import default_method
    from activeeval.session.cases import check_fits

    check_fits([measure], [method] if method else [])
    check_out(out, SUFFIXES)
    case = prepared(options, use_labels=False)
    target = case.target(measure)
    return case, target, method or default_method(target.measure).name


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=BUDGET, required=True, help=f"{BUDGET_HELP}; never exceeded.")
@click.option(
    "--expected", is_flag=True, help="Draws with replacement meet the budget in expectation, not as a hard limit."
)
@click.option("--out", required=True, metavar="FILE", help="Sheet to write: .csv, .tsv, .jsonl or .parquet.")
@click.option("--force", is_flag=True, help="Overwrite a sheet that holds grades.")
def sample(
    measure: str, method: str | None, budget: Budget, expected: bool, out: str, force: bool, **options: Any
) -> None:
    """Draw what to judge for a budget; no label of the pool is looked at.

    Writes two files. The sheet goes to the judges: one row an item, block by block. They fill in the column `grade`, in
    a spreadsheet if they like, and write `cannot` where an item cannot be judged. The sample stays beside it, under its
    name with .sample.npz behind it; `activeeval estimate` reads both, also once the first blocks alone are judged.

    \b
    activeeval sample --run new.run --measure DCG@10 --max-grade 3 --budget 200 --out draws.csv
    """
    from activeeval.campaign import Campaign
    from activeeval.errors import BudgetError
    from activeeval.methods import find_method

    if expected and not (method and find_method(method).with_replacement):
        raise click.UsageError("--expected is for draws with replacement: passive, active, active_uniC, active_uniD")
    if not force:
        _check_no_grades(out)
    case, target, name = _asked(method, measure, out, options)
    if not target.matters.any():
        raise InputError(f"no label can change {target.name} of these rankings: there is nothing to judge")
    try:
        design = case.design(name, target, options["defensive_share"], budget=budget.of(target), expected=expected)
    except BudgetError as problem:
        raise InputError(f"--{budget.refused(problem, target)}") from None
    campaign = Campaign(design, rng=case.seed)
    drawn = _write(campaign, out)
    _say_what_was_drawn(campaign, out)
    if design.max_grade is not None:
        scale = "" if options["max_grade"] else " (--max-grade says otherwise)"
        say(f"for {target.name}, judges give grades 0 … {design.max_grade}{scale}")
    if options["runs"] and target.measure.needs_all_items:
        say(
            f"{target.measure} compares with the best order of the items of these runs: relevant ones that no run "
            "holds are not counted, so it is larger than with all judgments of a collection"
        )
    say(f"seed {options['seed']}, sample {drawn}, kept in {sample_path(out)}, which `activeeval estimate` reads")
    warn_of_weights(design.name, design)
    for caution in design.cautions:
        say(caution)


def _write(campaign: Campaign, out: str) -> str:
    """Write the sheet and the sample, both or neither; return the id of the sample."""
    from activeeval.campaign.sample import id_of, to_arrays
    from activeeval.campaign.sheet import sheet_of
    from activeeval.io.arrays import arrays_beside
    from activeeval.io.draws import write_draws

    arrays = to_arrays(campaign)
    with arrays_beside(sample_path(out), arrays):
        write_draws(sheet_of(campaign, id_of(arrays)), out)
    return id_of(arrays)


def _say_what_was_drawn(campaign: Campaign, out: str) -> None:
    units, design = campaign.planned, campaign.design
    n_items, n_queries = sum(len(u.items) for u in units), len({u.query for u in units})
    spent = sum(u.cost for u in units)
    is_everything = n_items == int((design.order.roots > 0).sum())
    sizes = [sum(len(u.items) for u in units if u.block == k + 1) for k in range(len(design.blocks))]
    while sizes and sizes[-1] == 0:
        sizes.pop()
    what = "everything is to be judged, " if is_everything else ""
    paid = f"cost {spent:.6g} of {design.budget:.6g}" + (" (met on average)" if design.expected else "")
    say(f"wrote {out}: {what}{n_items} items of {n_queries} queries, {paid}; 1 is the judging of one mean item")
    if len(sizes) > 1:
        say(f"{len(sizes)} blocks of {', '.join(map(str, sizes))} items: the sample may be read once one is complete")
    if not is_everything and n_queries < min(_FEW, design.pool.n_queries):
        say(f"{n_queries} judged queries make a rough interval; with {_FEW} or more it can be relied on")


def sample_path(sheet: str) -> str:
    """Return where the sample of a sheet lies: beside it, under its whole name with .sample.npz behind it."""
    return f"{sheet}.sample.npz"


def _check_no_grades(path: str) -> None:
    """Raise where a file that would be overwritten holds the work of judges."""
    from activeeval.io.draws import EMPTY, read_draws

    if not os.path.isfile(path):
        return
    try:
        sheet = read_draws(path)
    except InputError as problem:
        raise InputError(f"{problem}; --force overwrites it") from None
    n_grades = int((sheet.grade != EMPTY).sum())
    if n_grades:
        raise InputError(f"{path} holds {n_grades} grades already: --force overwrites them")


@click.command()
@click.argument("draws", metavar="SHEET")
@click.option("--record", metavar="FILE", help="The sample of the sheet. Default: SHEET with .sample.npz behind it.")
@click.option("--measure", help="Any that the sample reaches. Default: the one that it was drawn for.")
@click.option(
    "--question",
    type=click.Choice(("difference", "run", "versus")),
    help="The first ranking less the second, the first alone, or the second. Default: what was drawn for.",
)
@click.option(
    "--scope",
    type=click.Choice(("pool", "population")),
    default="pool",
    show_default=True,
    help="What the interval is about: this pool, or all the queries that it is a sample of.",
)
@click.option(
    "--interval",
    "kind",
    type=click.Choice(("t", "skewed", "bootstrap", "group-sequential")),
    default="t",
    show_default=True,
    help="skewed: a comparison that hangs on few queries; bootstrap: as a check; group-sequential: valid at the end of "
    "every block, for those who look again.",
)
@level_option
@places_option
@output_option
def estimate(
    draws: str,
    record: str | None,
    measure: str | None,
    question: str | None,
    scope: str,
    kind: str,
    level: float,
    places: int,
    form: str,
) -> None:
    """Turn a judged sheet into an estimate with its interval.

    An empty grade waits, `cannot` is an item that cannot be judged. Reads the highest block of which no item waits; how
    many do, and what else a reader should know, is said on stderr.
    """
    from activeeval.estimation import INTERVALS

    campaign, progress = _judged(draws, record)
    asked, target = _target(campaign.design, measure, question)
    result = campaign.estimate(target, scope=scope)
    interval = campaign.interval(INTERVALS[kind](), level, target, scope=scope)
    for caution in result.cautions:
        say(caution)
    if progress.waiting:
        say(f"{progress.waiting} of {sum(progress)} items wait for a grade")
    row = {
        "measure": target.name,
        "question": asked,
        "scope": result.scope,
        "value": result.value,
        "std_error": result.std_error,
        "low": interval.low,
        "high": interval.high,
        "level": level,
        "interval": kind,
        "method": result.method,
        **progress._asdict(),
        "draws": result.n_draws,
        "queries": result.n_queries,
        "items": result.n_items,
        "spent": result.cost,
    }
    emit([row], form, places)


def _judged(draws: str, path: str | None) -> tuple[Campaign, Progress]:
    """Return the campaign of a sheet and its sample, with all that was judged."""
    from activeeval.campaign.sample import FIELDS, from_arrays, id_of
    from activeeval.campaign.sheet import take
    from activeeval.io.arrays import read_arrays
    from activeeval.io.draws import read_draws

    sheet, beside = read_draws(draws), path or sample_path(draws)
    if path is None and not os.path.exists(beside):
        raise InputError(
            f"{beside}: no such file, expected the sample that `activeeval sample` wrote beside the sheet; "
            "--record names it where it lies elsewhere"
        )
    arrays = read_arrays(beside, FIELDS)
    try:
        campaign = from_arrays(arrays)
    except InputError as problem:
        raise InputError(f"{beside}: {problem}") from None
    try:
        return campaign, take(campaign, sheet, id_of(arrays))
    except InputError as problem:
        raise InputError(f"{draws}: {problem}") from None


def _target(design: Design, measure: str | None, question: str | None) -> tuple[str, Target]:
    """Return which question is asked of a sample, and its target."""
    from activeeval.measures import Target
    from activeeval.session.workload import on_scale, sampled_measure

    own, top = design.target, design.max_grade
    drawn_for = "run" if own.versus is None else "difference"
    asked = question or drawn_for
    if asked != "run" and own.versus is None:
        raise InputError(f"the sample is of one ranking: there is no second one, and no --question {asked}")
    if measure is None and asked == drawn_for:
        return asked, own
    chosen = own.measure if measure is None else sampled_measure(measure)
    if top is not None:
        chosen = on_scale(chosen, top)
    ranking = own.other if asked == "versus" else own.ranking
    return asked, Target(chosen, ranking, own.versus if asked == "difference" else None)


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=BUDGET, default="10%", show_default=True, help=f"{BUDGET_HELP}.")
@click.option("--out", required=True, metavar="FILE", help="Table to write: .parquet, .csv, .tsv or .jsonl.")
@click.option("--plot", metavar="FILE", help="Draw q/p over cost and expected performance (.png, .svg, .pdf).")
def design(measure: str, method: str | None, budget: Budget, out: str, plot: str | None, **options: Any) -> None:
    """Write the sampling distribution, moments and costs of every query of a pool, without any label.

    Columns: query_id, query_prob (p), sampling_prob (q of a draw, or the probability π of being in the sample), weight
    (p over that), mean, variance, cost (of judging the query whole), expected_cost (spent on it on average, by a draw
    or by the sample), n_items. Costs are in mean items.
    """
    from activeeval.errors import BudgetError
    from activeeval.io.export import write_columns
    from activeeval.report import PICTURES, design_columns, plot_design

    if plot:
        check_out(plot, PICTURES)
    case, target, name = _asked(method, measure, out, options)
    made = case.design(name, target, options["defensive_share"])
    is_draw = not made.scheme.can_be_topped_up
    try:
        made = made if is_draw else made.with_budget(budget.of(target))
    except BudgetError as problem:
        raise InputError(f"--{budget.refused(problem, target)}") from None
    warn_of_weights(made.name, made)
    if plot:
        plot_design(made, plot)
    columns = design_columns(made)
    write_columns(columns, out)
    say(
        f"wrote {out}: {made.pool.n_queries} queries, {target.name}, "
        f"{'a draw' if is_draw else 'the sample'} costs {columns['expected_cost'].sum():.6g} on average"
    )
    if plot:
        say(f"wrote {plot}")
