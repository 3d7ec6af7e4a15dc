"""``activeeval gains``: learn a measure's gains and discounts from preferences, show them, choose the next pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, option_types, output
from activeeval.cli.help import command, group
from activeeval.cli.option_names import option_here
from activeeval.core.errors import InputError
from activeeval.report.numbers import agreeing, counted

if TYPE_CHECKING:
    from activeeval.gains import GainDiscountLearner, LearnedGains, ListSource

_FEW, _SURE = 20, 0.05
_ALIKE = "between lists of the same grades, which no measure of grades explains"
_MANY, _MUCH = 1000, 150_000
_OF_LEARNING = (
    "out", "force", "validation", "margin", "resamples", "best_gain", "by_rank", "confidence", "C", "C_ties"
)  # fmt: skip
"""Options of `learn` that --test rejects."""
_OPTIONS = (
    click.argument("prefs", metavar="PREFS...", nargs=-1, required=True),
    input_options.max_grade_option(help="Largest grade of the scale. Default: the largest seen."),
    input_options.qrels_option(help="Judgments, where the pairs name runs instead of listing grades."),
    input_options.run_option("runs", multiple=True, help="Run that pairs name; repeatable."),
    click.option("--depth", type=click.IntRange(1), help="Ranks of the runs that were seen side by side. Default: 10."),
    input_options.ties_option,
    click.option("--conflicts", type=click.Choice(("error", "keep")), default="error",
                 help="Where two lists of a query are preferred both ways: stop, or learn from both."),
    input_options.seed_option,
)  # fmt: skip


_MODEL_OPTIONS = (
    click.option("--C", "C", type=option_types.POSITIVE,
                 help="Weight of one preference. Default: the best by cross-validation."),
    click.option("--C-ties", "C_ties", type=option_types.FiniteRange(0),
                 help="Weight of one tie; 0 leaves ties out. Default: C."),
    click.option("--shape", type=click.Choice(("decreasing", "monotone")), default="decreasing",
                 help="monotone: a better grade is never worth less. decreasing: its advantage never grows with rank."),
)  # fmt: skip


def _preference_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that read preferences to a command."""
    return input_options.with_options(command, _OPTIONS)


@group()
def gains() -> None:
    """Learn gains and discounts from preferences between ranked lists.

    The result is a file that `--measure @FILE` takes wherever a measure is named.

    \b
    activeeval gains learn prefs.jsonl --out gains.json
    activeeval score qrels.txt new.run @gains.json DCG@10 --versus old.run
    """


@command()
@_preference_options
@partial(input_options.with_options, options=_MODEL_OPTIONS)
@click.option("--validation", multiple=True, metavar="FILE", help="Pairs that choose C instead of cross-validation.")
@click.option("--margin", type=click.Choice(("unit", "grades", "documents")), default="unit",
              help="Margin of a preference: 1, or the ranks at which grades or documents differ.")  # fmt: skip
@click.option("--resamples", type=click.IntRange(0), default=200,
              help="Bootstrap resamples for the stability band; 0 leaves it out.")  # fmt: skip
@click.option(
    "--best-gain", type=option_types.POSITIVE, help="Gain of the best grade, as 15. Default: the scale of the weights."
)
@click.option("--by-rank", is_flag=True, help="Write a gain for every rank and grade, not gains times discounts.")
@click.option("--test", "samples", type=click.IntRange(1), metavar="N",
              help="Learn nothing: test whether gains depend on the rank, by N bootstrap samples (199).")  # fmt: skip
@input_options.confidence_option
@output.out_option(help="File to write: .json.")
@output.force_option
@output.output_option
def learn(
    validation: tuple[str, ...],
    margin: str,
    samples: int | None,
    resamples: int,
    best_gain: float | None,
    by_rank: bool,
    confidence: float,
    out: str | None,
    force: bool,
    form: str,
    **options: Any,
) -> None:
    """Learn gains and discounts from preferences, and write them as a measure. PREFS are tables (.jsonl, .csv, .tsv or
    .parquet): a pair a line, lists of grades by rank, 0 … Y, higher is better.

    \b
    activeeval gains learn prefs.jsonl --out gains.json

    \b
    {"query": "q1", "preferred": [2, 1, 0], "other": [0, 2, 1], "tie": false}
    or
    {"query": "q1", "first": [2, 1, 0], "second": [0, 2, 1], "answer": "first"}

    Where runs were compared side by side, a pair names two runs in place of lists, with --qrels and --run.

    With --test nothing is learned: a likelihood ratio tests whether preferences need a gain for every rank and grade
    (--by-rank), or gains times discounts explain them. It is compared with those of preferences drawn from the gains
    and discounts that fit best. Where gains times discounts are true, p is at most .05 in no more than 5 of 100 cases.

    \b
    activeeval gains learn prefs.jsonl --test 199
    """
    from activeeval.formats.gains import write_gains
    from activeeval.gains import load_preferences
    from activeeval.gains.gain_rows import gains_record
    from activeeval.gains.learn import learn_gains

    if samples is not None:
        context = click.get_current_context()
        for name in _OF_LEARNING:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--test learns and writes nothing: leave out {option_here(name)}")
        _test(samples, form, options)
        return
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    output.check_new(out, (".json",), force)
    if validation and options["C"] is not None:
        raise click.UsageError("--validation chooses C: leave out --C")
    source = _source(options)
    data = load_preferences(options["prefs"], options["max_grade"], source)
    held_out = load_preferences(validation, data.max_grade, source) if validation else None
    if data.n_pairs > _MANY and data.n_pairs * data.depth * data.n_levels > _MUCH:
        output.say(
            f"{counted(data.n_pairs, 'pair')}: cross-validation and {resamples} resamples can take minutes; see --C, "
            "--resamples"
        )
    learner = _learner(options, margin=margin)
    how: dict[str, Any] = {"validation": held_out, "resamples": resamples, "confidence": confidence, "by_rank": by_rank}
    learned = learn_gains(learner, data, seed=options["seed"], best_gain=best_gain, **how)
    fields = gains_record(learned)
    write_gains(out, fields)
    _print_summary(learned)
    _emit(fields, form)
    output.say(f"wrote {out}: use it as --measure @{out}")


def _source(options: dict[str, Any]) -> ListSource | None:
    """Check --qrels, --run and --depth, and build the source that turns names of runs into lists of grades.

    The source is None if the pairs list grades themselves. UsageError is raised if the options do not go together.
    """
    from activeeval.formats.judgments.from_files import labels_of
    from activeeval.gains import ListSource

    if bool(options["qrels"]) != bool(options["runs"]):
        raise click.UsageError("--qrels and --run go together: the judgments and the runs that pairs name")
    if options["depth"] is not None and not options["runs"]:
        raise click.UsageError("--depth goes with --qrels and --run: lists of grades have a length of their own")
    if not options["runs"]:
        return None
    return ListSource(partial(labels_of, options["qrels"]), options["runs"], options["depth"] or 10, options["ties"])


def _settings(path: str | None) -> dict[str, Any]:
    """Read the learner's settings C, C_ties and shape from a gains file; without a path (None), use the defaults.

    InputError is raised if `gains learn` did not write the file.
    """
    from activeeval.formats.gains import read_gains

    if path is None:
        return {"C": None, "C_ties": None, "shape": "decreasing"}
    fields = read_gains(path).fields
    if "C_ties" not in fields:
        raise InputError(f"{path}: has no field 'C_ties', expected what `gains learn` writes")
    return {name: fields[name] for name in ("C", "C_ties", "shape")}


def _learner(options: dict[str, Any], **more: Any) -> GainDiscountLearner:
    """Build the learner that the options describe; `more` are further parameters of it."""
    from activeeval.gains import GainDiscountLearner

    more |= {name: options[name] for name in ("C_ties", "shape", "conflicts")}
    return GainDiscountLearner(C="cv" if options["C"] is None else options["C"], rng=options["seed"], **more)


def _print_summary(learned: LearnedGains) -> None:
    """Print on stderr the number of pairs, odd pairs, the chosen C and the warnings of a fit."""
    from activeeval.gains.learner import GRID
    from activeeval.report.message_lookup import text_of

    held_out, pairs = learned.held_out_precision, learned.pairs
    chosen = "" if held_out is None else f"; C = {learned.C:g} orders {held_out:.1%} of held-out preferences rightly"
    if learned.held_out_loss is not None and learned.C in (GRID[0], GRID[-1]):
        chosen += f", the {'least' if GRID[0] == learned.C else 'largest'} that is tried"
    output.say(
        f"{counted(pairs.pairs, 'preference')} and {counted(pairs.ties, 'tie')}, {learned.violated} not "
        f"ordered rightly{chosen}"
    )
    if learned.violated_by_measure != learned.violated:
        output.say(f"gains and discounts alone do not order {learned.violated_by_measure} rightly")
    odd = (
        (pairs.duplicates, "pairs repeat another"),
        (pairs.contradictory, "pairs of lists are preferred both ways"),
        (pairs.indistinguishable, f"preferences are {_ALIKE}"),
        (pairs.unexplainable, "preferences are for a list that every DCG calls the worse one"),
        (pairs.decided, "preferences are for a list that every DCG prefers: they tell little"),
        (learned.unjudged, "places of the lists hold an unjudged item: counted as grade 0"),
        (learned.missing, "places of the lists are empty: counted as grade 0"),
    )
    for n, text in odd:
        if n:
            output.say(f"{n} {text}")
    for caution in learned.cautions:
        output.say(f"caution: {text_of(caution)}")
    band = learned.stability
    if band is not None and band.units < _FEW:
        output.say(f"caution: {band.units} {band.resampled} make a rough stability band")


def _emit(fields: Mapping[str, Any], form: str) -> None:
    """Print the tables of gains and discounts and, for a gain for every rank and grade, the table of these.

    `fields` are those of a gains file, `form` is the output format.
    """
    from activeeval.gains.gain_rows import gains_band, gains_rows

    by_grade, by_rank = gains_rows(fields)
    output.emit(by_grade, form)
    if form != "jsonl":
        click.echo()
    output.emit(by_rank, form)
    if fields.get("by_rank"):
        if form != "jsonl":
            click.echo()
        weights = [{"rank": rank} | _by_grade(row) for rank, row in enumerate(fields["weights"], 1)]
        output.emit(weights, form)
        output.say("the measure is the last table, a gain for every rank and grade")
    if band := gains_band(fields):
        output.say(f"{band.columns[0]} … {band.columns[1]}: {band.meaning}")


def _by_grade(gains: Sequence[float]) -> dict[str, float]:
    """Label the gains of one rank as columns "grade 0", "grade 1", …."""
    return {f"grade {grade}": gain for grade, gain in enumerate(gains)}


@command()
@click.argument("file", metavar="FILE")
@output.plot_option(help="Draw gains and discounts (.png, .svg, .pdf).")
@output.output_option
def show(file: str, plot: str | None, form: str) -> None:
    """Show gains by grade and discounts by rank, beside the usual ones, with their intervals.

    share is of the best grade's gain; low and high are the ends of confidence intervals. Where the preferences support
    none, resampled_low and resampled_high hold most of the resamples: a stability band, not a confidence interval.

    \b
    activeeval gains show gains.json --plot gains.png
    """
    from activeeval.formats.gains import read_gains
    from activeeval.gains.gain_pictures import plot_gains
    from activeeval.report.pictures import PICTURES

    if plot:
        output.check_out(plot, PICTURES)
    stored = read_gains(file)
    fields = {**stored.fields, "gains": stored.gains, "discounts": stored.discounts}
    _emit(fields, form)
    if "rank_one_share" in fields:
        output.say(f"gains and discounts hold {fields['rank_one_share']:.1%} of the weights of ranks and grades")
    for caution in fields.get("cautions", ()):
        output.say(f"caution: {caution}")
    if plot:
        plot_gains(fields, plot)
        output.say(f"wrote {plot}")


@command("next")
@_preference_options
@click.option("--count", type=click.IntRange(1), default=1, help="Number of pairs.")
@click.option("--like", metavar="FILE", help="What `gains learn` wrote: with its C, weight of ties and shape. Default: "
              "C by cross-validation.")  # fmt: skip
@click.option("--start", type=click.IntRange(1), default=20,
              help="Answers before the choice is by weights; until then it is by chance.")  # fmt: skip
@output.output_option
def next_pair(count: int, start: int, like: str | None, form: str, **options: Any) -> None:
    """Name the pair to judge next: the one that is least certain by the answers so far. PREFS hold the pairs and the
    answers; fill in `answer` (first, second, tie) and call again.

    \b
    activeeval gains next pairs.jsonl

    \b
    {"query": "q1", "first": [2, 1, 0], "second": [0, 2, 1], "answer": ""}
    """
    from activeeval.gains.learn import next_pairs

    options |= _settings(like)
    how = {"count": count, "start": start, "seed": options["seed"]}
    chosen = next_pairs(options["prefs"], options["max_grade"], _source(options), _learner(options), **how)
    rows = [asdict(pair) for pair in chosen.pairs]
    for row in rows:
        if row["query"] is None:
            del row["query"]
        if form == "text" and chosen.is_by_chance:
            del row["difference"]
    output.emit(rows, form)
    by_chance = "; chosen by chance" if chosen.is_by_chance else ""
    output.say(
        f"{counted(chosen.n_answered, 'pair')} {agreeing(chosen.n_answered, 'is', 'are')} answered, "
        f"{chosen.n_unanswered} {agreeing(chosen.n_unanswered, 'is', 'are')} not{by_chance}"
    )


def _test(samples: int, form: str, options: dict[str, Any]) -> None:
    """Test whether gains times discounts explain the preferences, against a gain for every rank and grade.

    `samples` is the number of bootstrap samples, `options` are those of the command; the result is printed in the
    format `form`.
    """
    from activeeval.gains import load_preferences, rank_one_test

    data = load_preferences(options["prefs"], options["max_grade"], _source(options))
    tested = rank_one_test(data, shape=options["shape"], n_bootstrap=samples, rng=options["seed"])
    if form == "text":
        depends = tested.p_value <= _SURE
        text = "depend on the rank: `gains learn --by-rank` writes them" if depends else "need not depend on the rank"
        output.show_text(f"Gains {text} (p = {tested.p_value:.3g}, {counted(tested.n_preferences, 'preference')}).")
        click.echo()
    output.emit([asdict(tested)], form)


gains.add_late(
    "Commands",
    learn=("gains.commands.gains:learn", "Learn gains and discounts, and write them as a measure"),
    show=("gains.commands.gains:show", "Show what was learned"),
    next=("gains.commands.gains:next_pair", "Name the pair to judge next"),
)
