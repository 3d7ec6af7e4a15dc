"""Files to try commands with: two runs of a generated collection, judgments of people and of a machine."""

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
"""Standard deviation of what a ranker adds to the best one: the new ranker is the better one."""
MACHINE_ERRORS, MACHINE_SHARES = (-1, 0, 1, 2), (0.1, 0.5, 0.3, 0.1)
"""What a machine's grade is off by, and how often: it is lenient, as language models often are."""
SEED = 7
JUDGED, MEASURE, QUESTIONS = "judged.csv", "DCG@10", ("difference", "run", "versus")
SAMPLE_BUDGET, SAMPLE_SEED = 200, 3
"""What README's command draws."""


def write_example(folder: str | Path) -> list[str]:
    """Write old.run, new.run, qrels.txt, llm.qrels, truth.qrels and judged.csv; files that are there stay as they are.

    Each of 150 queries has 20 documents in a run. qrels.txt holds what people said of the documents of the first 60
    queries, llm.qrels what a machine says of all, truth.qrels what people would say of all: it stands for the judges.
    judged.csv is a sheet that they have filled in: of the sample of 200 that README draws with the machine's advice.

    Returns
    -------
    list of str
        The names of all six.
    """
    made, rng = generate_pool(N_QUERIES, SEED), np.random.default_rng(SEED)
    owners, known = made.pool.item_queries, made.features[:, : WEIGHTS.size] @ WEIGHTS
    queries = np.array([f"q{number + 101}" for number in owners.tolist()])
    documents = np.array([f"D{number:05d}" for number in range(owners.size)])
    listed = np.zeros(owners.size, dtype=bool)
    files: dict[str, Callable[[Path], None]] = {}
    for name, noise in NOISES.items():
        rows, ranks, scores = _best(owners, (known + noise * rng.standard_normal(known.size)).round(4))
        listed[rows] = True
        files[f"{name}.run"] = partial(write_run, Run(*_ids(queries, documents, rows), scores, ranks, name))
    machine = np.clip(made.grades + rng.choice(MACHINE_ERRORS, owners.size, p=MACHINE_SHARES), 0, MAX_GRADE)
    judged = listed & (owners < N_JUDGED)
    for name, taken, grades in (
        ("qrels.txt", judged, made.grades),
        ("llm.qrels", listed, machine),
        ("truth.qrels", listed, made.grades),
    ):
        files[name] = partial(write_qrels, Qrels(*_ids(queries, documents, np.flatnonzero(taken)), grades[taken]))
    pairs = zip(queries.tolist(), documents.tolist(), strict=True)
    known_grades = dict(zip(pairs, made.grades.tolist(), strict=True))
    files[JUDGED] = partial(_write_judged, files=dict(files), pairs=known_grades)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, write in files.items():
        if not Path(folder, name).exists():
            write(Path(folder, name))
    return list(files)


def _write_judged(
    path: Path, files: Mapping[str, Callable[[Path], None]], pairs: Mapping[tuple[str, str], int]
) -> None:
    """Draw the sample of the files, wherever others of their names may stand, and write its sheet filled in."""
    with TemporaryDirectory() as name:
        place = Path(name)
        for file, write in files.items():
            write(place / file)
        new, old, machine, sheet = (str(place / file) for file in ("new.run", "old.run", "llm.qrels", "sheet.csv"))
        choices = Choices(runs=(new,), versus_run=old, graders=(machine,), max_grade=MAX_GRADE, seed=SAMPLE_SEED)
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
    return Texts.from_array(queries[rows]), Texts.from_array(documents[rows])


def _best(owners: Ints, scores: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the rows of the best documents of each query, best first, their ranks and scores."""
    order = np.lexsort((-scores, owners))
    ranks = np.arange(order.size) - np.searchsorted(owners, owners) + 1
    is_kept = ranks <= DEPTH
    rows = order[is_kept]
    return rows, ranks[is_kept], scores[rows]
