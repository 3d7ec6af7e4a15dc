"""Draw a night of a watch: select the items to judge for tonight's run, given all labels so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.draw import kept_texts
from activeeval.campaigns.store import NightRow, Store, WatchRow
from activeeval.core.campaign import Campaign
from activeeval.core.design import Design
from activeeval.core.design.carried_samples import CarriedScheme, EarlierLabels, going_on, numbers_of
from activeeval.core.errors import InputError, StateError, did_you_mean, shown
from activeeval.core.pool import key_of
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats
from activeeval.formats.arrays import unpacked
from activeeval.formats.files import FileStamp
from activeeval.formats.loading import load_run
from activeeval.formats.sample_file import lists_of
from activeeval.formats.text.trec import Run
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import QuestionTarget
from activeeval.monitoring.cases import case_of
from activeeval.monitoring.judged_labels import by_night, n_waiting
from activeeval.monitoring.night_inputs import NightInputs, NightState, before_more, before_night, last_night
from activeeval.monitoring.night_outputs import NightRecord, Pair, held_after, in_hand, run_of
from activeeval.monitoring.settings import OF_NIGHTS, REFERENCE, Settings, segments_of
from activeeval.monitoring.watched_segments import NightPlan, plan_night
from activeeval.sampling.draw import with_texts as texts_of_sample
from activeeval.sampling.drawn_sample import DrawnSample

ONLY_LISTS = "the first night's lists"
"""Name of a run that is not compared: it keeps queries without a list tonight in the pool."""
MISSING = "missing"
"""Key in the configuration of a night's campaign: counts of the queries without a list tonight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDraw:
    """The sample drawn on a night (a dated run).

    Attributes
    ----------
    campaign : str
        Name of the campaign in which it is judged.
    n_new, n_pending : int
        Number of items to judge: new ones, and unjudged ones of earlier nights.
    n_in_hand : int
        Number of items that can change tonight's estimates and have a label from earlier nights.
    n_known : int
        Number of items of tonight's lists with a grade from other sources.
    n_changed : int
        Number of items that lost their grade because their text has changed.
    notes : tuple of Note or Caution
        Messages on the number of labels needed for the requested half-widths.
    """

    campaign: str
    n_new: int
    n_pending: int
    n_in_hand: int
    n_known: int
    n_changed: int
    notes: tuple[Note | Caution, ...] = ()


def draw_night(
    store: Store, name: str, tonight: NightInputs, *, progress: Callable[[str], object] = lambda what: None
) -> NightDraw:
    """Draw the sample of a night of watch `name`, and store it as a campaign; if anything fails, nothing is stored.

    A night is a dated run of the watched index.

    Parameters
    ----------
    progress : callable
        Called with a text that names the next step.

    Raises
    ------
    InputError
        If the night exists already or precedes the last one, a file cannot be read, its run has a query that is not in
        the watch, the largest grade is unknown, or a scripted judge lacks a grade.
    """
    watch = store.watches.get(name)
    stamp = FileStamp.of(tonight.run) if isinstance(tonight.run, (str, os.PathLike)) else None
    run = load_run(tonight.run)
    before = before_night(store, watch, tonight, run)
    return _draw(store, watch, tonight, run, before, progress, stamp=stamp)


def draw_more(
    store: Store,
    name: str,
    answers: Mapping[Pair, int] | None = None,
    *,
    progress: Callable[[str], object] = lambda what: None,
) -> NightDraw:
    """Draw the labels on suspicion of the last night (further labels for a bad night) as a separate campaign.

    The questions are those of the night. Each item keeps its random number; the threshold below which an item is drawn
    rises until the expected cost of new labels is the budget on suspicion. A night is a dated run of the watched index.

    Parameters
    ----------
    answers : mapping of (query, document) to int, optional
        Grades of a scripted judge: a drawn item without one is an error.

    Raises
    ------
    StateError
        If items of the night are unjudged, or it has labels on suspicion already.
    InputError
        If the watch has no night, or the scripted judge lacks a grade.
    """
    watch, last = store.watches.get(name), last_night(store, name)
    if last.is_more:
        raise StateError(f"watch {name}: {last.night} has its labels on suspicion already: campaign {last.campaign}")
    check_judged(store, name, last)
    before = before_more(store, watch)
    assert before.left is not None
    tonight = NightInputs(run=before.left.run, date=last.night, answers=answers)
    return _draw(store, watch, tonight, before.left.run, before, progress, on_suspicion=last)


def _draw(
    store: Store,
    watch: WatchRow,
    tonight: NightInputs,
    run: Run,
    before: NightState,
    progress: Callable[[str], object],
    on_suspicion: NightRow | None = None,
    stamp: FileStamp | None = None,
) -> NightDraw:
    """Draw and store a step of a night: its own sample, or its labels on suspicion if `on_suspicion` is passed.

    A night is a dated run of the watched index.

    Parameters
    ----------
    before : NightState
        State of the watch before this step.
    on_suspicion : NightRow, optional
        The step that the labels on suspicion extend.
    stamp : FileStamp, optional
        Stamp of the run's file, to refuse a file that is still being written.
    """
    settings, is_first = Settings.of(watch.config), on_suspicion is None
    queries = before.queries or tuple(dict.fromkeys(run.query_ids.tolist()))
    runs = _runs(store, watch, settings, run, tonight.date, before, queries)
    _check_queries(run, queries)
    progress("reading the files")
    max_grade = _scale(store, watch, settings, tonight, before)
    case = case_of(runs, settings, before.known_grades, before.taught, max_grade, progress)
    questions = _questions(case, settings, tonight.date)
    progress("drawing what is new")
    hand = in_hand(case.inputs.pool, before.histories, before.labels)
    plan = plan_night(case, settings, questions, segments_of(watch, settings), hand) if is_first else NightPlan()
    budget = settings.budget if is_first else settings.on_suspicion
    design, probs = _designed(case, settings, questions, plan, hand, budget)
    sample = _sample(settings, case, questions, design).judged_by_machines(before.machines)
    if on_suspicion is not None:
        sample = replace(sample, text_files=kept_texts(store.campaign(on_suspicion.campaign).config))
    _check_answers(sample, tonight.answers)
    campaign = f"{watch.name}.{before.step}"
    sample, texts = texts_of_sample(sample, campaign, tonight.documents, tonight.queries)
    histories = held_after(case.inputs.pool, before.histories, probs, before.digests, before.number)
    left = NightRecord(run=run, queries=queries, histories=histories, known_grades=before.known_grades)
    put = partial(  # stores the campaign and the night in one transaction
        store.watches.add_night,
        watch.name,
        NightRow(date=before.step, campaign=campaign, payload=left.packed(settings.pool_depth)),
        before.last,
    )
    if stamp is not None:
        stamp.check()
    config = {"watch": watch.name, "date": before.step, "seed": settings.seed, MISSING: _missing(run, queries)}
    config |= {"texts": {what: asdict(file) for what, file in sample.text_files.items()}} if sample.text_files else {}
    create(store, campaign, sample, settings.rules, texts=texts, beside=config, put=put)
    return _drawn(campaign, sample, hand.probs, before.n_changed, plan.notes)


def check_judged(store: Store, name: str, night: NightRow) -> None:
    """Raise StateError if a step of a night (a dated run) has drawn items that are not judged."""
    if n := n_waiting(store, night):
        raise StateError(f"watch {name}: {n} items of {night.night} are not judged yet: judge all that was drawn first")


def _missing(run: Run, queries: Sequence[str]) -> dict[str, Any]:
    """Count the queries of the watch without a list tonight, whose value is 0."""
    listed = set(run.query_ids.tolist())
    return {
        "n_missing": sum(query not in listed for query in queries),
        "n_queries": len(queries),
        "run": Path(run.source or run.name).name,
    }


def _designed(
    case: PreparedCase,
    settings: Settings,
    questions: Sequence[QuestionTarget],
    plan: NightPlan,
    hand: EarlierLabels,
    budget: float,
) -> tuple[Design, Floats]:
    """Design a step of a night (a dated run) for its questions and the plan's segments.

    The sample goes on from the earlier ones: probabilities of items only rise, so that earlier labels still count.

    Parameters
    ----------
    plan : NightPlan
        Weights of the targets, and the threshold that suffices for the half-widths (None: spend the budget).
    hand : EarlierLabels
        Labels and inclusion probabilities of earlier nights.
    budget : float
        Expected cost of new labels, in mean items.

    Returns
    -------
    (Design, ndarray of shape (n_items,))
        The design, and the probability M that each item of the pool was drawn on any night, this one included.
    """
    targets = [each.target for each in questions]
    base = case.design(settings.method, targets, weights=plan.weights, beside=plan.beside)
    return going_on(base, hand, budget, plan.enough)


def _sample(settings: Settings, case: PreparedCase, questions: Sequence[QuestionTarget], design: Design) -> DrawnSample:
    """Build the sample of a design for tonight's questions, with the random numbers of the watch's seed."""
    names = dict(zip(map(id, case.inputs.rankings), case.systems, strict=True))  # a ranking's system, by identity
    return DrawnSample(
        campaign=Campaign(design, key=int(key_of(settings.seed))),
        questions=tuple(each.question for each in questions),
        systems=tuple(names[id(ranking)] for ranking in lists_of(design)),
        depth=case.depth,
        seed=settings.seed,
        model=case.model,
    )


def _check_answers(sample: DrawnSample, answers: Mapping[Pair, int] | None) -> None:
    """Raise InputError if a scripted judge lacks a grade of a drawn item.

    `answers` are the judge's grades by (query, document); None without such a judge.
    """
    lacking = [] if answers is None else [pair for pair in sample.pairs if answers.get(pair, -1) < 0]
    if lacking:
        query, doc = lacking[0]
        problem = f"document {shown(doc)} of query {shown(query)} was drawn and has no grade "
        raise InputError(f"{problem}({len(lacking)} such items): expected one", field="oracle")


def _drawn(
    campaign: str, sample: DrawnSample, probs_before: Floats, n_changed: int, notes: tuple[Note | Caution, ...]
) -> NightDraw:
    """Count the new, unjudged and known items of a drawn sample; `campaign` is the name under which it is stored.

    `probs_before`, shape (n_items,), has the probability that each item was drawn before tonight. A drawn item whose
    random number lies below it was drawn before and is still unjudged (pending). ``in_hand`` has the grade of each
    item's earlier label, −1 without one.
    """
    design = sample.campaign.design
    to_judge = [item for unit in sample.campaign.planned for item in unit.items]
    drawn = design.order.items[sample.campaign.whole_selection.places]  # judged before or to judge
    has_label = np.asarray(design.scheme.in_hand)[drawn] >= 0
    n_pending = int(np.count_nonzero(_numbers(sample)[to_judge] < probs_before[to_judge])) if to_judge else 0
    return NightDraw(
        campaign=campaign,
        n_new=len(to_judge) - n_pending,
        n_pending=n_pending,
        n_in_hand=int(has_label.sum()),
        n_known=int((design.known >= 0).sum()),
        n_changed=n_changed,
        notes=notes,
    )


def _numbers(sample: DrawnSample) -> Floats:
    """Compute the permanent random number u in (0, 1) of every item, shape (n_items,).

    An item is drawn on the first night on which its inclusion probability exceeds u. u is 1 for items that no question
    needs. An item whose text has changed (`versions`) has a new number. A night is a dated run of the watched index.
    """
    order, scheme = sample.campaign.design.order, sample.campaign.design.scheme
    assert isinstance(scheme, CarriedScheme)
    numbers = np.ones(order.pool.n_items)
    numbers[order.items] = numbers_of(order, sample.campaign.key, scheme.versions)
    return numbers


def _runs(
    store: Store,
    watch: WatchRow,
    settings: Settings,
    run: Run,
    tonight: str,
    before: NightState,
    queries: Sequence[str],
) -> dict[str, Run]:
    """Collect the runs of a night (a dated run) by name: tonight's, the previous night's, and the reference.

    `tonight` is the date, `before` the state of the watch, `queries` are those of the watch. If one has no list in any
    of these runs, the first night's run is added, so that the query stays in the pool, where its value is 0.
    """
    runs = {tonight: run}
    if before.run is not None:
        runs[before.night] = before.run
    if settings.reference not in OF_NIGHTS:
        arrays = unpacked(watch.payload, f"watch {watch.name}", ("run.queries",), "the run of reference")
        runs[REFERENCE] = run_of(arrays)
    if before.run is None:
        return runs
    first = by_night(store.watches.nights(watch.name))[0][0]
    listed = set().union(*(set(each.query_ids.tolist()) for each in runs.values()))
    name = first.night if settings.reference == "first" else ONLY_LISTS
    if first.night not in runs and (name == first.night or set(queries) - listed):
        runs[name] = NightRecord.of(store.watches.payload(watch.name, first.date), first.date).run
    return runs


def _check_queries(run: Run, queries: Sequence[str]) -> None:
    """Raise InputError if a run has a query that is not in the watch; `queries` are those of the watch."""
    wanted = set(queries)
    foreign = sorted(set(run.query_ids.tolist()) - wanted)
    if foreign:
        meant = did_you_mean(foreign[0], queries)
        problem = (
            f"query {shown(foreign[0])} is not one of the {len(wanted)} queries of the watch ({len(foreign)} such)"
        )
        raise InputError(f"{run.source}: {problem}; {meant}a watch has one set of queries")


def _scale(store: Store, watch: WatchRow, settings: Settings, tonight: NightInputs, before: NightState) -> int:
    """Determine the largest grade of a watch: as set up, else the largest known on its first night (a dated run).

    Raises
    ------
    InputError
        If neither is known.
    """
    if settings.max_grade is not None:
        return settings.max_grade
    if before.queries:  # a first night that is redrawn determines the scale anew
        return int(store.campaign(by_night(store.watches.nights(watch.name))[0][0].campaign).max_grade or 0)
    known = (grade for grade, _ in before.known_grades.values())
    largest = max((tonight.largest, *known, *before.labels.values()))
    if not largest:
        problem = f"watch {watch.name} has no largest grade: give `max_grade` when you set it up"
        raise InputError(problem, field="max_grade")
    return largest


def _questions(case: PreparedCase, settings: Settings, tonight: str) -> list[QuestionTarget]:
    """List tonight's questions: its value, and its difference from each compared run, unless the lists are the same."""
    questions = case.asked(settings.measures, ["run", "difference"] if len(case.systems) > 1 else ["run"])
    of_tonight = [each for each in questions if each.system == tonight and each.versus != ONLY_LISTS]
    return [each for each in of_tonight if not each.versus or each.target.matters.any()]
