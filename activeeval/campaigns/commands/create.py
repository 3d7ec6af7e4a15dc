"""Commands ``activeeval campaign create``, ``top-up`` and ``list``."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import any_db_option, check_free, of_campaign, opened, place_of
from activeeval.cli.help import command
from activeeval.cli.input_options import any_policy_option, budget_option, worded
from activeeval.cli.option_names import option_here
from activeeval.cli.output import emit, emit_done, output_option, say, say_note, warn_of_weights
from activeeval.cli.waiting import tell
from activeeval.report.numbers import counted
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.options import BUDGET_HELP

if TYPE_CHECKING:
    from activeeval.campaigns.draw import CampaignDrawing
    from activeeval.inputs.budgets import Budget
    from activeeval.inputs.known_grades import KnownGrades
    from activeeval.inputs.texts import TextFile, TextFiles

_MINUTES = 60
_RULES = ("strict_order", "adjudicate", "judges_per_item", "policy")
_OF_NEW = (*_RULES, "lease", "judged_from")
"""Options that a further round takes from its campaign, so that they may not be given."""


@command()
@of_campaign
@sampling_options.drawing_options
@click.option(
    "--judged-from",
    multiple=True,
    metavar="NAME",
    help="Use the judgments of this campaign as known, as --judged; URL#NAME if it is in another store. Repeatable.",
)
@click.option(
    "--redraw", is_flag=True, help="Draw a further round of the campaign NAME, with all judgments so far known."
)
@sampling_options.texts_options
@click.option("--judges-per-item", type=click.IntRange(1), help="Number of judges for each item. Default: 1.")
@any_policy_option(
    type=click.Choice(("majority", "median", "mean-gain")),
    help="What counts if judges differ: the most frequent grade (the lowest in a tie), the lower median, or the mean "
    "gain. Default: majority; with an even number of judges mean-gain, with --adjudicate median.",
)
@click.option("--adjudicate", is_flag=True, help="Two judges for each item, and a third if they differ.")
@click.option(
    "--lease",
    type=click.FloatRange(0, 525_600, min_open=True),
    default=15.0,
    metavar="MINUTES",
    help="Time for which a claimed item is reserved for its judge.",
)
@click.option(
    "--strict-order",
    is_flag=True,
    help="Give items out in order, without deferring: `estimate --strict-order` works at any time. Default: "
    "any order within a block; estimates at the ends of blocks.",
)
@output_option
def create(
    name: str,
    db: str | None,
    redraw: bool,
    judged_from: tuple[str, ...],
    documents: str | None,
    queries: str | None,
    lease: float,
    form: str,
    **options: Any,
) -> None:
    """Draw a sample and store it as a campaign, ready for judges; no label of the pool is read.

    The options are those of `activeeval sample`. One campaign answers all measures and questions named here.

    --redraw draws a further round for an existing campaign, with a grade model fitted to all judgments so far: on the
    same pool, for the same measures and questions, which need not be named again. Judged items are known: they cost
    nothing and are not drawn again. Each round must be completely judged before the next is drawn. `estimate` combines
    the rounds with weights that depend only on their budgets: fix the budgets beforehand, as shares (10%) if rounds
    differ in cost. If answers have judging times, the costs of items and queries are fitted to these (`campaign cost`);
    --cost or --overhead override them.

    \b
    activeeval campaign create week1 --run new.run --versus-run old.run --max-grade 3 --budget 200
    activeeval campaign create week1 --db postgresql://team@db/judging --letor S2.txt \\
        --scores ranker.S2 --train S1.txt --budget 10% --judges-per-item 3 --policy median
    activeeval campaign create week1 --redraw --run new.run --versus-run old.run --budget 100
    """
    from activeeval.campaigns.draw import rules_for
    from activeeval.campaigns.store import checked_name

    rule_options = {rule: options.pop(rule) for rule in _RULES}
    if redraw:
        _further_round(name, db, form, options, documents=documents, queries=queries)
        return
    check_free(checked_name(name), db)
    with worded():
        rules = rules_for(options["measures"], lease_s=max(1, math.ceil(lease * _MINUTES)), **rule_options)
    text_files: dict[str, TextFile] = {}  # tables of texts of the campaigns whose judgments are known; the first wins
    for other in dict.fromkeys(judged_from):
        labels, texts = _labels(other, db)
        options["judged"], text_files = (*options["judged"], labels), {**texts, **text_files}
    choices, request = sampling_options.requested(options, queries)
    with worded():
        draws = _drawing(name, db, create=True, documents=documents, queries=queries, kept=text_files)
        sample, row = draws.new(choices, request, rules)  # row: the summary to print
    say(f"seed {row.seed}: campaign {name} is in {row.db}, {counted(row.as_of, 'event')}")
    if rules.judges_per_item > 1:
        third = ", a third where they differ" if rules.adjudicate else ""
        say(f"each item has {rules.judges_per_item} judges{third}; their grades count by policy: {rules.policy}")
    warn_of_weights(sample.campaign.design.name, sample.campaign.design)
    _say_next(name, db)
    emit_done([asdict(row)], form)


def _further_round(name: str, db: str | None, form: str, options: dict[str, Any], **texts: Any) -> None:
    """Draw a further sample (round) of a campaign under its existing rules, and print what was drawn.

    Parameters
    ----------
    name, db : str
        The campaign, and its store (a file or a URL; None for the default one).
    form : str
        Output format, as "text" or "jsonl".
    options : dict
        Values of the command's sampling options by name.
    texts
        ``documents`` and ``queries``: tables of the texts, or None.

    Raises
    ------
    UsageError
        If an option is given that only a new campaign has.
    """
    source, typed = click.get_current_context().get_parameter_source, click.core.ParameterSource.COMMANDLINE
    for option in _OF_NEW:
        if source(option) is typed:
            raise click.UsageError(f"--redraw takes a --budget and the rules of the campaign: no {option_here(option)}")
    if source("measures") is not typed:
        options["measures"] = ()
    choices, request = sampling_options.requested(options, texts["queries"])
    with worded():
        # measured judging times are the costs of items and queries, unless costs are typed
        by_clock = typed not in (source("cost"), source("overhead"))
        _, row = _drawing(name, db, **texts).further_round(choices, request, by_clock=by_clock)
    say(f"seed {row.seed}: a further round of campaign {name}, as of event {row.as_of}")
    _say_next(name, db)
    emit_done([asdict(row)], form)


def _drawing(name: str, db: str | None, *, create: bool = False, **texts: Any) -> CampaignDrawing:
    """Describe where a campaign's samples are stored and which tables hold its texts.

    Parameters
    ----------
    name, db : str
        The campaign, and its store (a file or a URL; None for the default one).
    create : bool
        True if the store may be created.
    texts
        Fields of `CampaignDrawing` that name tables of texts.
    """
    from activeeval.campaigns.draw import CampaignDrawing

    store = partial(opened, name, db, create=create)
    return CampaignDrawing(opened=store, name=name, place=place_of(name, db), progress=tell, say=say_note, **texts)


def _say_next(name: str, db: str | None) -> None:
    """Print the next step of a campaign: the command that continues judging, or that all is judged.

    ``db`` is the campaign's store: a file or a URL, None for the default one.
    """
    from activeeval.campaigns.commands.next_step import next_command
    from activeeval.campaigns.report.judges_content import Step
    from activeeval.campaigns.report.next_steps import next_sentence

    with opened(name, db) as store:
        campaign = store.campaign(name)
        has_free = bool(store.waiting(name)["free"])
    by_query = campaign.judging.is_whole  # top-k judging: the documents of a query are compared, without sheets
    step = Step(kind="judge" if has_free else "done")
    command = next_command(step, name, db, judges_per_item=campaign.judges_per_item, by_query=by_query)
    say(next_sentence(step, command))


def _labels(other: str, db: str | None) -> tuple[KnownGrades, TextFiles]:
    """Read another campaign's grades, and the files that its texts came from.

    Parameters
    ----------
    other : str
        ``NAME``, or ``URL#NAME`` for a campaign in another store.
    db : str or None
        Store of a campaign without a URL; None for the default store.
    """
    from activeeval.campaigns.draw import kept_texts, known_of
    from activeeval.core.masked_addresses import masked

    url, separator, name = other.rpartition("#")
    with opened(name, url or db) as store:
        known = known_of(store, name, f"campaign {masked(url)}{separator}{name}")
        return known, kept_texts(store.campaign(name).config)


@command("top-up")
@of_campaign
@budget_option(required=True, help=f"Budget to add. {BUDGET_HELP}.")
@sampling_options.texts_options
@output_option
def top_up(name: str, db: str | None, budget: Budget, documents: str | None, queries: str | None, form: str) -> None:
    """Add to the budget of a campaign: extend the same sample by one block.

    No label is paid for twice. If you decide on a top-up from the estimates, that is an interim analysis: a plain
    interval then covers the true value less often than stated.

    \b
    activeeval campaign top-up week1 --budget 100
    """
    from activeeval.campaigns.create_and_grow import NewCampaign
    from activeeval.campaigns.draw import topped_up

    tell("topping up")
    with opened(name, db) as store:
        sample, seq = topped_up(store, name, budget, documents=documents, queries=queries, say=say_note)
        row = NewCampaign.of(store, name, place_of(name, db), sample, seq)
    say(f"campaign {name} is topped up as of event {seq}")
    _say_next(name, db)
    emit_done([asdict(row)], form)


@command("list")
@any_db_option(required=True, help="A file, sqlite:///FILE or postgresql://USER@HOST/DATABASE.")
@output_option
def list_(db: str, form: str) -> None:
    """List the campaigns of a store.

    \b
    activeeval campaign list --db week1.activeeval
    """
    with opened("", db) as store:
        rows = [{"campaign": name, "events": store.last_seq(name)} for name in store.campaigns()]
    emit(rows, form)
