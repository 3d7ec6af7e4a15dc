"""Example files: two runs of a generated collection, with judgments by people and by a grader."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.pool.generated import WEIGHTS, generate_pool
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints
from activeeval.formats.text.trec import Run, write_qrels, write_run
from activeeval.formats.writing import write_atomically
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.draw_case import draw

N_QUERIES, N_JUDGED, DEPTH, MAX_GRADE = 150, 60, 20, 4
NOISES = {"old": 2.2, "new": 1.7}
"""Standard deviation of the noise added to the best scores, by ranker: the new ranker is the better one."""
GRADER_ERRORS, GRADER_SHARES = (-1, 0, 1, 2), (0.1, 0.5, 0.3, 0.1)
"""Errors of the grader and their probabilities: it is lenient, as language models often are."""
SEED = 7
JUDGED, MEASURE, QUESTIONS = "judged.csv", "DCG@10", ("difference", "run", "versus")
SAMPLE_BUDGET, SAMPLE_SEED = 200, 3
"""Budget and seed of the README's command."""


def write_example(folder: str | Path) -> list[str]:
    """Write old.run, new.run, qrels.txt, llm.qrels, truth.qrels and judged.csv; existing files are kept.

    A run has 20 documents for each of 150 queries. qrels.txt holds people's grades of the documents of the first 60
    queries, llm.qrels a grader's grades of all documents, truth.qrels people's grades of all documents, the ground
    truth. judged.csv is a completed judging sheet: of the sample of 200 that the README draws with the grader's grades.

    Returns
    -------
    list of str
        The names of all six files.
    """
    pool, rng = generate_pool(N_QUERIES, SEED), np.random.default_rng(SEED)
    # query number of each document, and its score by the true weights of the features, to which rankers add noise
    owners, true_scores = pool.pool.item_queries, pool.features[:, : WEIGHTS.size] @ WEIGHTS
    queries = np.array([f"q{number + 101}" for number in owners.tolist()])
    documents = np.array([f"D{number:05d}" for number in range(owners.size)])
    listed = np.zeros(owners.size, dtype=bool)
    files: dict[str, Callable[[Path], None]] = {}
    for name, noise in NOISES.items():
        rows, ranks, scores = _best(owners, (true_scores + noise * rng.standard_normal(true_scores.size)).round(4))
        listed[rows] = True
        files[f"{name}.run"] = partial(write_run, Run(*_ids(queries, documents, rows), scores, ranks, name))
    grader = np.clip(pool.grades + rng.choice(GRADER_ERRORS, owners.size, p=GRADER_SHARES), 0, MAX_GRADE)
    judged = listed & (owners < N_JUDGED)
    for name, taken, grades in (
        ("qrels.txt", judged, pool.grades),
        ("llm.qrels", listed, grader),
        ("truth.qrels", listed, pool.grades),
    ):
        files[name] = partial(write_qrels, Qrels(*_ids(queries, documents, np.flatnonzero(taken)), grades[taken]))
    pairs = zip(queries.tolist(), documents.tolist(), strict=True)
    known_grades = dict(zip(pairs, pool.grades.tolist(), strict=True))
    files[JUDGED] = partial(_write_judged, files=dict(files), pairs=known_grades)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, write in files.items():
        if not Path(folder, name).exists():
            write(Path(folder, name))
    return list(files)


def _write_judged(
    path: Path, files: Mapping[str, Callable[[Path], None]], pairs: Mapping[tuple[str, str], int]
) -> None:
    """Draw the README's sample from fresh copies of the files, and write its sheet with all grades filled in.

    `files` has the function that writes each file; `pairs` has the grade of each (query, document).
    """
    with TemporaryDirectory() as name:
        place = Path(name)
        for file, write in files.items():
            write(place / file)
        new, old, grader, sheet = (str(place / file) for file in ("new.run", "old.run", "llm.qrels", "sheet.csv"))
        choices = Choices(runs=(new,), versus_run=old, graders=(grader,), max_grade=MAX_GRADE, seed=SAMPLE_SEED)
        case = prepare(choices, use_labels=False, measures=(MEASURE,))
        sample = draw(case, (MEASURE,), QUESTIONS, Budget(float(SAMPLE_BUDGET)))
        sample.write(str(place / "drawn.sample"), sheet)
        with open(sheet, newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader(handle))
    with write_atomically(path) as handle:
        writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | {"grade": str(pairs[row["query_id"], row["doc_id"]])} for row in rows)


def _ids(queries: NDArray[Any], documents: NDArray[Any], rows: Ints) -> tuple[Texts, Texts]:
    """Select the query and document ids of the row numbers `rows`."""
    return Texts.from_array(queries[rows]), Texts.from_array(documents[rows])


def _best(owners: Ints, scores: Floats) -> tuple[Ints, Ints, Floats]:
    """Select the first 20 documents of each query by score: their row numbers, best first, ranks from 1, and scores.

    `owners`, shape (n,), has the query number of each row, in ascending order.
    """
    order = np.lexsort((-scores, owners))
    ranks = np.arange(order.size) - np.searchsorted(owners, owners) + 1
    is_top = ranks <= DEPTH
    rows = order[is_top]
    return rows, ranks[is_top], scores[rows]
