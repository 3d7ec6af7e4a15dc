"""Use graders' grades of a pool: read them, add them to the inputs, and model human grades given their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from activeeval.core import grade_models  # its names import scikit-learn once they are used
from activeeval.core.errors import ChoiceError
from activeeval.core.estimation.clustered import slope
from activeeval.core.estimation.slopes import FEWEST_QUERIES, GradeSlope
from activeeval.core.grade_models.values import PRIOR_LABELS, ValueTable, default_shares, posterior
from activeeval.core.measures import Target
from activeeval.core.results import Caution, Note, Told
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.graders.grader_grades import Grades
from activeeval.inputs.choices import GRADER
from activeeval.inputs.loading import Inputs, TrainingRows


def read_graders(sources: Sequence[Any]) -> tuple[Grades, ...]:
    """Read graders from files, frames, judgments or `Grades` (`sources`), and name those without a name.

    Raises
    ------
    ChoiceError
        If two have the same name.
    """
    graders = tuple(Grades.parse(source) if isinstance(source, str) else Grades.read(source) for source in sources)
    names = [grader.name for grader in graders]
    if "" in names:  # of frames
        names = [name or (f"grader {k}" if len(names) > 1 else "grader") for k, name in enumerate(names, 1)]
        graders = tuple(replace(grader, name=name) for grader, name in zip(graders, names, strict=True))
    for grader in graders:
        if names.count(grader.name) > 1:
            problem = f"two of `graders` are called {grader.name!r}: give each a name, as FILE:name=ours"
            raise ChoiceError(problem, field="graders")
    return graders


def model_names(graders: Sequence[Grades]) -> tuple[str, ...]:
    """List the names of graders among grade models, "grader=NAME"."""
    return tuple(f"{GRADER}{grader.name}" for grader in graders)


def with_graders(inputs: Inputs, graders: Sequence[Grades], *, with_notes: bool = True) -> Inputs:
    """Add a feature column of each grader's values, NaN for items without a grade, which only the grader's model uses.

    Parameters
    ----------
    with_notes : bool
        Add notes about the values, and raise InputError for a grader without any grade in the pool. False for
        queries that only train a model, where missing grades do no harm.
    """
    for name, grader in zip(model_names(graders), graders, strict=True):
        if with_notes:
            on_pool = grader.on(inputs.pool)
            inputs = replace(inputs, notes=(*inputs.notes, *on_pool.notes, *_of_price(grader)))
            values = on_pool.values
        else:
            values = grader.values_on(inputs.pool)
        inputs = inputs.with_columns(name, values[:, None])
    return inputs


def asked_about(
    inputs: Inputs, graders: Sequence[Grades], targets: Sequence[Target], known: Ints | None
) -> list[tuple[Grades, Bools]]:
    """List the graders that have a price, each with a mask of the items for which it is paid, shape (n_items,).

    These are the items with a value by the grader that can change a target and whose human grade is not known.
    """
    matters = np.logical_or.reduce([target.matters for target in targets])
    if known is not None:
        matters &= known < 0
    return [
        (grader, matters & ~np.isnan(inputs.looked_at(name, inputs.features)[:, 0]))
        for name, grader in zip(model_names(graders), graders, strict=True)
        if grader.cost is not None
    ]


def counted_missing(
    notes: Sequence[Note | Caution], inputs: Inputs, graders: Sequence[Grades], targets: Sequence[Target]
) -> tuple[Note | Caution, ...]:
    """Add to notes on missing grades the counts of missing grades among the items that can change a target.

    A grader is usually asked about the first places of lists; missing grades of later places do no harm.
    """
    matters = np.logical_or.reduce([target.matters for target in targets])
    of_source: dict[str, dict[str, Told]] = {}
    for name, grader in zip(model_names(graders), graders, strict=True):
        is_missing = np.isnan(inputs.looked_at(name, inputs.features)[:, 0])
        of_source[grader.source] = {"n_counted": int((matters & is_missing).sum()), "of_counted": int(matters.sum())}
    return tuple(
        replace(note, numbers={**note.numbers, **of_source[str(note.numbers["source"])]})
        if note.code == "grader missing"
        else note
        for note in notes
    )


def _of_price(grader: Grades) -> list[Note]:
    """Note a price that is unusual: 0, or at least that of a human judgment."""
    if grader.cost is None or 0 < grader.cost < 1:
        return []
    return [Note("grader price", {"name": grader.name, "price": grader.cost, "is_free": int(grader.cost == 0)})]


def grader_model(
    values: Floats, rows: TrainingRows | None, known: Ints | None, max_grade: int
) -> tuple[Any, Ints, Ints | None]:
    """Build the grade model of a grader, and code the values of items and of training rows by the model's bins.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        NaN for items without a grade.
    rows : TrainingRows or None
        With the grader's values as the features.
    known : ndarray of int64, shape (n_items,), or None
        Known grades, −1 if unknown; they estimate the shares of human grades if there are no rows.
    max_grade : int
        Largest human grade.

    Returns
    -------
    GraderModel, ndarray of int64, ndarray of int64 or None
        The model, each item's code, and each training row's.
    """
    # rows with ``items`` are items of the pool, whose values are in ``values`` already
    of_rows = np.empty(0) if rows is None or rows.items is not None else rows.features[:, 0]
    table = ValueTable.of(np.concatenate((values, of_rows)), _shares(values, rows, known, max_grade + 1))
    of_pool, of_training = table.codes[: values.size], None
    if rows is not None:
        of_training = of_pool[rows.items] if rows.items is not None else table.codes[values.size :]
    return grade_models.GraderModel(table.probs), of_pool, of_training


def distrusted(inputs: Inputs, graders: Sequence[Grades], known: Ints, max_grade: int) -> tuple[list[str], list[Note]]:
    """Find the graders whose values do not rise significantly with the known human grades of the pool.

    The figure is the slope of the regression of known grades on the grades expected under the default model without
    known grades: items drawn by the values themselves do not bias it. In tenths of 53 queries of TREC DL 2021 (DCG@10
    of one run and of two, 400 samples each) it found none of three language models, a weak one in fewer than 1 in 100
    samples, a grader with random grades in 8 in 10, and one with a reversed scale in all.

    Returns
    -------
    list of str, list of Note
        Their names as grade models, and a note for each.
    """
    items, unreliable, notes = np.flatnonzero(known >= 0), [], []
    for name in model_names(graders):
        values = inputs.looked_at(name, inputs.features)[:, 0]
        of_name = items[~np.isnan(values[items])]
        queries = inputs.pool.item_queries[of_name]
        if np.unique(queries).size < FEWEST_QUERIES:
            continue
        # the table has the grade probabilities of each bin of values, and the bin of each item (`codes`)
        table = ValueTable.of(values, default_shares(max_grade + 1))
        expected = (table.probs @ np.arange(max_grade + 1.0))[table.codes[of_name]]
        if np.ptp(expected) == 0:
            continue
        figure = slope(expected, known[of_name].astype(np.float64), np.ones(of_name.size), queries)
        measured = GradeSlope(figure.value, figure.se, of_name.size, np.unique(queries).size)
        if measured.is_turned or measured.says_little:
            unreliable.append(name)
            notes.append(Note("grader distrusted", {"name": name.removeprefix(GRADER), **asdict(measured)}))
    return unreliable, notes


def probs_at(inputs: Inputs, graders: Sequence[Grades], known: Ints | None, max_grade: int, rho: float) -> Floats:
    """Predict human grades from graders, equally weighted, if their values had the correlation `rho` with them.

    `known`, shape (n_items,), or None has known human grades, −1 if unknown; they estimate the shares of grades.

    Returns
    -------
    ndarray, shape (n_items, max_grade + 1)
    """
    probs = []
    for name in model_names(graders):
        values = inputs.looked_at(name, inputs.features)[:, 0]
        table = ValueTable.of(values, _shares(values, None, known, max_grade + 1), rho)
        probs.append(table.probs[table.codes])
    return np.asarray(np.mean(probs, axis=0))


def _shares(values: Floats, rows: TrainingRows | None, known: Ints | None, n_grades: int) -> Floats:
    """Estimate the shares of human grades, shape (n_grades,), from labels and a prior.

    Labels are those of training rows; without rows, known grades of items with a grader's value.
    """
    if rows is not None:
        grades = rows.grades
    elif known is not None:
        grades = known[(known >= 0) & ~np.isnan(values)]
    else:
        grades = np.empty(0, dtype=np.int64)
    counts = np.bincount(grades, minlength=n_grades).astype(np.float64)
    return posterior(counts, default_shares(n_grades), PRIOR_LABELS)
