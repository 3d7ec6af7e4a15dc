"""Prepare the runs of a watch with all known grades of their items, as for a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from activeeval.formats.text.trec import Run
from activeeval.inputs.choices import Choices
from activeeval.inputs.known_grades import KnownGrades
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.monitoring.judged_labels import certain_grades
from activeeval.monitoring.night_outputs import Pair, pairs_in
from activeeval.monitoring.settings import Settings


def case_of(
    runs: Mapping[str, Run],
    settings: Settings,
    known_grades: Mapping[Pair, tuple[int, int]],
    labels: Mapping[Pair, int],
    max_grade: int | None,
    progress: Callable[[str], object] = lambda what: None,
) -> PreparedCase:
    """Build the pool, targets' inputs and grade model of some runs; the first is compared with each of the others.

    Parameters
    ----------
    runs : mapping of str to Run
        By display name: a date, or the name of the reference run.
    settings : Settings
        Settings of the watch: measures, depth of the lists, grade models and seed.
    known_grades : mapping
        Grades from other sources by (query, document): the grade, and the digest of the judged text (0 if unknown).
    labels : mapping of (query, document) to int
        Labels by judges of the watch, −1 for items that cannot be judged. They train the grade model; estimates weight
        them by their inclusion probabilities, so they do not count as known.
    max_grade : int or None
        Largest grade of the scale; None takes the largest known grade.
    progress : callable
        Called with a text that names the next step.
    """
    listed = {pair for run in runs.values() for pair in pairs_in(run)}
    certain = certain_grades(known_grades, labels, listed)  # grades that need no weight in an estimate
    choices = Choices(
        runs=tuple(replace(run, source=name) for name, run in runs.items()),
        names=tuple(runs),
        contrasts="first" if len(runs) > 1 else None,
        judged=(KnownGrades("grades given before", certain),) if certain else (),
        max_grade=max_grade,
        pool_depth=settings.pool_depth,
        model=settings.models or None,
        seed=settings.seed,
    )
    taught = {pair: grade for pair, grade in labels.items() if grade >= 0}
    return prepare(choices, use_labels=False, measures=settings.measures, progress=progress, taught=taught)
