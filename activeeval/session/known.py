"""Grades that are known before a sample is drawn: of judgments, of judged sheets, and what a sample knew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign.sample import read_campaign
from activeeval.errors import InputError
from activeeval.io.arrays import is_arrays
from activeeval.io.draws import read_draws_if_any
from activeeval.io.files import bare_suffix
from activeeval.io.sheets import SPREADSHEETS
from activeeval.io.tables import load_qrels
from activeeval.pool import QueryPool
from activeeval.pool.doors import Texts

Ints = NDArray[np.int64]


def known_grades_of(paths: Sequence[str], pool: QueryPool) -> tuple[Ints, tuple[str, ...]]:
    """Return what files say of a pool's items, −1 where they say nothing, and notes.

    Parameters
    ----------
    paths : sequence of str
        Judgments as `load_qrels` reads them, sheets of samples, or samples.

    Raises
    ------
    InputError
        Where two files give an item different grades, or a file grades no item of the pool.
    """
    known, said_by = np.full(pool.n_items, -1, dtype=np.int64), np.full(pool.n_items, -1)
    places, queries = pool.item_positions(), {str(name): q for q, name in enumerate(pool.query_ids.tolist())}
    notes = []
    for number, path in enumerate(paths):
        n_graded, n_here = 0, 0
        for query, item, grade in zip(*(column.tolist() for column in _graded(path)), strict=True):
            if grade < 0:
                continue
            n_graded += 1
            z = places.get((queries.get(query, -1), item))
            if z is None:
                continue
            n_here += 1
            if said_by[z] >= 0 and known[z] != grade:
                other = f"{known[z]} in {paths[said_by[z]]}"
                raise InputError(f"{path}: {pool.place(z)} has the grade {grade}, and {other}: expected one")
            known[z], said_by[z] = grade, number
        if n_here == 0:
            raise InputError(f"{path}: none of its {n_graded} grades is of an item of the pool")
        if n_here < n_graded:
            notes.append(f"{n_graded - n_here} of {n_graded} grades of {path} are of items that are not in the pool")
    return known, tuple(notes)


def _graded(path: str) -> tuple[Texts, Texts, Ints]:
    """Return the queries, items and grades of a file."""
    # .xlsx and .ods are packed as arrays are
    if is_arrays(path) and bare_suffix(path) not in SPREADSHEETS:
        design = read_campaign(path)[0].design
        pool = design.pool
        return pool.query_ids[pool.item_queries], pool.item_ids, design.known
    if (sheet := read_draws_if_any(path)) is not None:
        return sheet.query_id, sheet.doc_id, sheet.grade
    qrels = load_qrels(path)
    return qrels.query_ids, qrels.doc_ids, qrels.grades
