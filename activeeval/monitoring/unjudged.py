"""Bound the value of a watch's last night over its unjudged items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.campaigns.store import Store
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.formats.loading import pool_from_tables
from activeeval.inputs.loading import sampled_measure
from activeeval.monitoring.judged_labels import labels_so_far
from activeeval.monitoring.night_inputs import last_night
from activeeval.monitoring.night_outputs import NightRecord, Pair, pairs_in
from activeeval.monitoring.settings import Settings
from activeeval.scoring.unjudged import UnjudgedBounds, unjudged_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class NightUnjudged:
    """Bounds of a night's values over its unjudged items.

    A night is a dated run of the watched index.

    Attributes
    ----------
    date : str
        Date of the night.
    bounds : tuple of UnjudgedBounds
        By measure; empty if no item of its lists is judged yet.
    n_unjudged : int
        Number of queries without any judgment, which the means exclude.
    """

    date: str
    bounds: tuple[UnjudgedBounds, ...]
    n_unjudged: int


def unjudged_of_last_night(
    store: Store, name: str, budgets: Sequence[int] = (), progress: Callable[[str], object] = lambda what: None
) -> NightUnjudged:
    """Bound the values of a watch's last night for each of its measures, over the unjudged items of its lists.

    Labels of all nights and grades from other sources count as known. A night is a dated run of the watched index.

    Parameters
    ----------
    budgets : sequence of int
        Numbers of further judgments: for each, the bounds after that many are computed too.
    progress : callable
        Called with a text that names the next step.

    Raises
    ------
    InputError
        If the watch has no night yet.
    """
    settings, last = Settings.of(store.watches.get(name).config), last_night(store, name)
    nights = store.watches.nights(name)
    record = NightRecord.of(store.watches.payload(name, last.date), f"watch {name}, {last.date}")
    run = replace(record.run, source=last.night)
    grades = _grades_of(record, labels_so_far(store, name, nights, record.histories, settings))
    if grades.keys().isdisjoint(pairs_in(run)):
        return NightUnjudged(date=last.night, bounds=(), n_unjudged=len(record.queries))
    tables = pool_from_tables(_as_judgments(grades), [run], evaluated=1)
    tables = replace(tables, rankings=[tables.rankings[0].cut_at(settings.pool_depth)])
    measures, top = [sampled_measure(text) for text in settings.measures], store.campaign(nights[0].campaign).max_grade
    bounds = unjudged_bounds(tables, 0, run, last.night, measures, max_grade=top, budgets=budgets, progress=progress)
    return NightUnjudged(date=last.night, bounds=tuple(bounds), n_unjudged=len(record.queries) - tables.pool.n_queries)


def _grades_of(record: NightRecord, labels: Mapping[Pair, int]) -> dict[Pair, int]:
    """Collect all known grades by (query, document); labels of the watch's judges override other sources.

    `record` is that of the last night (a dated run of the watched index).
    """
    queries = set(record.queries)
    grades = {pair: grade for pair, (grade, _) in record.known_grades.items() if pair[0] in queries}
    return grades | {pair: grade for pair, grade in labels.items() if grade >= 0}


def _as_judgments(grades: Mapping[Pair, int]) -> Qrels:
    """Convert grades by (query, document) to a table of judgments."""
    queries, docs = (Texts.from_list([pair[k] for pair in grades]) for k in (0, 1))
    return Qrels(queries, docs, np.array(list(grades.values()), dtype=np.int64), "the labels so far")
