"""A night of a watch: what is drawn for tonight's run, all labels so far in hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from activeeval.campaign import Campaign
from activeeval.campaign.sample import lists_of
from activeeval.cases.case import Case
from activeeval.cases.known import graded_rows
from activeeval.cases.systems import Asked
from activeeval.design import Design
from activeeval.design.carried import Carried, InHand, going_on, numbers_of
from activeeval.errors import InputError, did_you_mean, shown
from activeeval.io.arrays import unpacked
from activeeval.io.loading import load_run
from activeeval.io.tables.texts import DOCUMENTS, read_texts
from activeeval.io.text.trec import Run
from activeeval.judgments import read
from activeeval.pool import key_of
from activeeval.results import Caution, Note
from activeeval.store import NightRow, Store, WatchRow
from activeeval.tasks.campaigns.making import create
from activeeval.tasks.campaigns.state import state_of
from activeeval.tasks.drawing import with_texts as texts_of_sample
from activeeval.tasks.samples import Sample
from activeeval.tasks.watching.cases import case_of
from activeeval.tasks.watching.labels import labels_so_far
from activeeval.tasks.watching.leaving import Held, Left, Pair, held_after, in_hand, pairs_in, run_of, with_texts
from activeeval.tasks.watching.segments import NightPlan, plan_night
from activeeval.tasks.watching.settings import OF_NIGHTS, REFERENCE, Settings, segments_of
from activeeval.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """What comes in on a night.

    Attributes
    ----------
    run : str or Run
    date : str
        As 2026-11-25.
    judged : sequence of str
        Files of judgments that are known.
    documents, queries : str or None
        Tables of texts.
    machine_is_truth : bool
        Take what machines say in files of judgments for labels.
    largest : int
        A grade that is known to be one of the scale; 0 where none is.
    answers : mapping of (query, document) to int, or None
        What a scripted judge will say: a night of which it lacks a grade is refused.
    """

    run: Any
    date: str
    judged: Sequence[str] = ()
    documents: str | None = None
    queries: str | None = None
    machine_is_truth: bool = False
    largest: int = 0
    answers: Mapping[Pair, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What was drawn on a night.

    Attributes
    ----------
    campaign : str
        In which it is judged.
    n_new, n_pending : int
        Items that are to be judged: new ones, and those that an earlier night left.
    n_in_hand : int
        Items of tonight's question that were judged before and go on counting.
    n_known : int
        Items of tonight's lists whose grades come from elsewhere.
    n_changed : int
        Items that have lost their grade, as their text is another.
    notes : tuple of Note or Caution
        How many labels half-widths take, where such are asked for.
    """

    campaign: str
    n_new: int
    n_pending: int
    n_in_hand: int
    n_known: int
    n_changed: int
    notes: tuple[Note | Caution, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Before:
    """What there is before a night: the last one, tonight's texts, what is held, labels, grades from elsewhere.

    Attributes
    ----------
    machines : dict of str to int
        By file how many grades of machines are taken for people's, on earlier nights or tonight.
    """

    number: int
    last: str
    left: Left | None
    digests: dict[Pair, int]
    held: dict[Pair, Held]
    labels: dict[Pair, int]
    known_grades: dict[Pair, tuple[int, int]]
    machines: dict[str, int]
    n_changed: int


def draw_night(
    store: Store,
    name: str,
    tonight: Tonight,
    *,
    progress: Callable[[str], object] = lambda what: None,
) -> Drawn:
    """Draw what is new on a night and store it as a campaign; all of it or nothing.

    Raises
    ------
    InputError
        Where the night is there already or lies before the last, its run is of other queries, or a scripted judge
        lacks a grade.
    """
    watch = store.watches.get(name)
    settings, run = Settings.of(watch.config), load_run(tonight.run)
    before = _before(store, watch, tonight, run)
    runs = _runs(store, watch, settings, run, tonight.date, before)
    queries = before.left.queries if before.left else tuple(dict.fromkeys(run.query_ids.tolist()))
    _check_queries(run, queries, runs)
    progress("reading the files")
    max_grade = _scale(store, watch, settings, tonight, before)
    case = case_of(runs, settings, before.known_grades, before.labels, max_grade, progress)
    asked = _asked(case, settings, tonight.date)
    progress("drawing what is new")
    hand = in_hand(case.inputs.pool, before.held, before.labels)
    plan = plan_night(case, settings, asked, segments_of(watch, settings), hand)
    design, probs = _designed(case, settings, asked, plan, hand)
    sample = _sample(settings, case, asked, design).judged_by_machines(before.machines)
    _check_answers(sample, tonight.answers)
    campaign = f"{name}.{tonight.date}"
    sample, texts = texts_of_sample(sample, campaign, tonight.documents, tonight.queries)
    held = held_after(case.inputs.pool, before.held, probs, before.digests, before.number)
    left = Left(run=run, queries=queries, held=held, known_grades=before.known_grades)
    night = NightRow(date=tonight.date, campaign=campaign, payload=left.packed(settings.pool_depth))
    put = partial(store.watches.add_night, name, night, before.last)
    beside = {"watch": name, "date": tonight.date, "seed": settings.seed}
    beside |= {"texts": {what: asdict(file) for what, file in sample.text_files.items()}} if sample.text_files else {}
    create(store, campaign, sample, settings.rules, texts=texts, beside=beside, put=put)
    return _drawn(campaign, sample, hand.probs, before.n_changed, plan.notes)


def last_night(store: Store, name: str) -> NightRow:
    """Return the last night of a watch, without what it leaves; raises InputError where there is none yet."""
    nights = store.watches.nights(name)
    if not nights:
        raise InputError(f"watch {name} has no night yet: `watch night` takes the first")
    return nights[-1]


def _designed(
    case: Case, settings: Settings, asked: Sequence[Asked], plan: NightPlan, hand: InHand
) -> tuple[Design, Floats]:
    """Return the design of a night, and M of every item of the pool after it."""
    targets = [each.target for each in asked]
    base = case.design(settings.method, targets, weights=plan.weights, beside=plan.beside)
    return going_on(base, hand, settings.budget, plan.enough)


def _sample(settings: Settings, case: Case, asked: Sequence[Asked], design: Design) -> Sample:
    names = dict(zip(map(id, case.inputs.rankings), case.systems, strict=True))
    return Sample(
        campaign=Campaign(design, key=int(key_of(settings.seed))),
        questions=tuple(each.question for each in asked),
        systems=tuple(names[id(ranking)] for ranking in lists_of(design)),
        depth=case.depth,
        seed=settings.seed,
        model=case.model,
    )


def _check_answers(sample: Sample, answers: Mapping[Pair, int] | None) -> None:
    """Raise where a scripted judge lacks a grade of what is drawn."""
    lacking = [] if answers is None else [pair for pair in sample.pairs if answers.get(pair, -1) < 0]
    if lacking:
        query, doc = lacking[0]
        problem = f"document {shown(doc)} of query {shown(query)} is asked for and has no grade "
        raise InputError(f"{problem}({len(lacking)} such items): expected one", field="oracle")


def _drawn(
    campaign: str, sample: Sample, probs_before: Floats, n_changed: int, notes: tuple[Note | Caution, ...]
) -> Drawn:
    design = sample.campaign.design
    new = [item for unit in sample.campaign.planned for item in unit.items]
    whole = design.order.items[sample.campaign.whole_selection.places]
    settled = np.asarray(design.scheme.in_hand)[whole] >= 0
    n_pending = int(np.count_nonzero(_numbers(sample)[new] < probs_before[new])) if new else 0
    return Drawn(
        campaign=campaign,
        n_new=len(new) - n_pending,
        n_pending=n_pending,
        n_in_hand=int(settled.sum()),
        n_known=int((design.known >= 0).sum()),
        n_changed=n_changed,
        notes=notes,
    )


def _numbers(sample: Sample) -> Floats:
    """Return u of every item of a pool that a sample goes by, shape (n_items,); 1 of items that it does not hold."""
    order, scheme = sample.campaign.design.order, sample.campaign.design.scheme
    assert isinstance(scheme, Carried)
    numbers = np.ones(order.pool.n_items)
    numbers[order.items] = numbers_of(order, sample.campaign.key, scheme.versions)
    return numbers


def _before(store: Store, watch: WatchRow, tonight: Tonight, run: Run) -> _Before:
    """Return what there is before a night; raises where it is out of order, or texts are lacking."""
    nights = store.watches.nights(watch.name)
    last = nights[-1].date if nights else ""
    _check_date(watch.name, tonight.date, last)
    left = None
    held: dict[Pair, Held] = {}
    known_grades: dict[Pair, tuple[int, int]] = {}
    if nights:
        left = Left.of(store.watches.payload(watch.name, last), f"watch {watch.name}, {last}")
        held, known_grades = dict(left.held), dict(left.known_grades)
    digests = _digests(tonight.documents, run)
    _check_texts(held, digests, run, tonight)
    held, n_changed = with_texts(held, digests, len(nights) + 1)
    labels = labels_so_far(store, nights, held, Settings.of(watch.config))
    known_grades = {pair: row for pair, row in known_grades.items() if row[1] in (0, digests.get(pair, row[1]))}
    rows, machines = _given(tonight)
    for query, document, grade in rows:
        known_grades[query, document] = (grade, digests.get((query, document), 0))
    return _Before(
        number=len(nights) + 1,
        last=last,
        left=left,
        digests=digests,
        held=held,
        labels=labels,
        known_grades=known_grades,
        machines=_machines_of(store, nights) | machines,
        n_changed=n_changed,
    )


def _check_date(name: str, tonight: str, last: str) -> None:
    try:
        is_date = date.fromisoformat(tonight).isoformat() == tonight
    except ValueError:
        is_date = False
    if not is_date:
        raise InputError(f"a night's date is as 2026-11-25, got {tonight!r}", field="date")
    if tonight == last:
        raise InputError(f"watch {name}: the night of {last} is there already", field="date")
    if tonight < last:
        raise InputError(
            f"watch {name}: {tonight} lies before the last night, {last}: nights come in order", field="date"
        )


def _check_texts(held: Mapping[Pair, Held], digests: Mapping[Pair, int], run: Run, tonight: Tonight) -> None:
    """Raise where a document had a text on an earlier night and has none tonight: nobody knows whether it changed."""
    for pair in pairs_in(run):
        row = held.get(pair)
        if row is not None and row.text and pair not in digests:
            where = tonight.documents or "tonight's call names no `documents`"
            problem = f"{where}: document {shown(pair[1])} had a text on an earlier night and has none tonight: "
            raise InputError(problem + "nobody knows whether it has changed", field="documents")


def _digests(documents: str | None, run: Run) -> dict[Pair, int]:
    """Return a digest of the text of each document of a run that has one, by query and document."""
    if documents is None:
        return {}
    pairs = pairs_in(run)
    texts = read_texts(documents, DOCUMENTS, {doc for _, doc in pairs}).by_id
    of_docs = {doc: _digest(text) for doc, text in texts.items() if text}
    return {pair: of_docs[pair[1]] for pair in pairs if pair[1] in of_docs}


def _digest(text: Mapping[str, str]) -> int:
    words = "\0".join(f"{name}\0{text[name]}" for name in sorted(text))
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") | 1


def _machines_of(store: Store, nights: Sequence[NightRow]) -> dict[str, int]:
    """Return by file how many grades of machines the last night takes for people's: its own, and earlier nights'."""
    cautions = state_of(store, nights[-1].campaign).machine_cautions if nights else []
    return {str(caution.numbers["source"]): int(str(caution.numbers["n"])) for caution in cautions}


def _given(tonight: Tonight) -> tuple[list[tuple[str, str, int]], dict[str, int]]:
    """Return query, document and grade of each judgment that is known tonight, and how many a file has of machines."""
    rows: list[tuple[str, str, int]] = []
    machines: dict[str, int] = {}
    for path in tonight.judged:
        judgments = read(path, machine_is_truth=tonight.machine_is_truth)
        mine = [(query, doc, grade) for query, doc, grade, _ in graded_rows(judgments) if grade >= 0]
        if not mine:
            raise InputError(f"{path}: holds no grade yet", field="judged")
        rows += mine
        machines |= {path: judgments.n_of_machines} if judgments.n_of_machines else {}
    return rows, machines


def _runs(store: Store, watch: WatchRow, settings: Settings, run: Run, tonight: str, before: _Before) -> dict[str, Run]:
    """Return the runs of a night by what they are called: tonight's, last night's, and the reference."""
    runs = {tonight: run}
    if before.left is not None:
        runs[before.last] = before.left.run
    if settings.reference not in OF_NIGHTS:
        arrays = unpacked(watch.payload, f"watch {watch.name}", ("run.queries",), "the run of reference")
        runs[REFERENCE] = run_of(arrays)
    elif settings.reference == "first" and before.left is not None:
        first = store.watches.nights(watch.name)[0].date
        if first not in runs:
            runs[first] = Left.of(store.watches.payload(watch.name, first), first).run
    return runs


def _check_queries(run: Run, queries: Sequence[str], runs: Mapping[str, Run]) -> None:
    """Raise where a run is of other queries than the watch."""
    there, wanted = set(run.query_ids.tolist()), set(queries)
    foreign = sorted(there - wanted)
    if foreign:
        meant = did_you_mean(foreign[0], queries)
        problem = f"query {shown(foreign[0])} is none of the {len(wanted)} queries of the watch ({len(foreign)} such)"
        raise InputError(f"{run.source}: {problem}; {meant}a watch is of one set of queries")
    listed = set().union(*(set(each.query_ids.tolist()) for each in runs.values()))
    lost = sorted(wanted - listed)
    if lost:
        where = "tonight and on the night before" if len(runs) > 1 else "tonight"
        raise InputError(f"{run.source}: query {shown(lost[0])} has no list {where} ({len(lost)} such queries)")


def _scale(store: Store, watch: WatchRow, settings: Settings, tonight: Tonight, before: _Before) -> int:
    """Return the largest grade of a watch: as it was set up, else as its first night had it."""
    if settings.max_grade is not None:
        return settings.max_grade
    if before.left is not None:
        return int(store.campaign(store.watches.nights(watch.name)[0].campaign).max_grade or 0)
    largest = max((tonight.largest, *(grade for grade, _ in before.known_grades.values())))
    if not largest:
        problem = f"watch {watch.name} knows no largest grade: say `max_grade` when it is set up"
        raise InputError(problem, field="max_grade")
    return largest


def _asked(case: Case, settings: Settings, tonight: str) -> list[Asked]:
    """Return tonight's questions: its value, and what it is more than each other run whose lists are not the same."""
    asked = case.asked(settings.measures, ["run", "difference"] if len(case.systems) > 1 else ["run"])
    of_tonight = [each for each in asked if each.system == tonight]
    return [each for each in of_tonight if not each.versus or each.target.matters.any()]
