"""Size of a sample's file, and what writing it and reading it again takes.

    python -m benchmarks.sample_size [--out benchmarks/results/sample-size.json]

Each sample is drawn, written with its sheet and read again as the command line does it, in a process of its own: of a
pool of MSLR-WEB30K's size with two rankings and a model's probabilities of five grades, the same with a cost of its own
for every item, and of 25 topics of two runs 1,000 documents deep, without a model. Time is the clock's, the best of
three; the processor's stands beside it. Writing is all from the drawn sample to two files that are on the disk; reading
is all from the file to a campaign that can be judged, digest and arrays checked. Peaks are of the process, since
the step before.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import Rankings
from activeeval.core.grade_models import QueryFactor
from activeeval.core.pool.generated import noisy_scores, ranked_by_expected_grade
from activeeval.formats.arrays import read_arrays
from activeeval.formats.sample_file import digest_of
from activeeval.formats.text.trec import Run, write_run
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.sampling.draw_case import draw
from activeeval.sampling.read_samples import read_sample
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.frame.processes import apart
from benchmarks.frame.report import figure
from benchmarks.kernels import MAX_GRADE, MSLR_QUERIES, mslr_sized
from benchmarks.memory import peak_mb

N_TOPICS, DEPTH, SHARED = 25, 1000, 0.6
COLLECTIONS = ("FBIS3-", "FT922-", "LA0101", "FR940104-0-")
BUDGET, ROUNDS = 1000.0, 3
TITLES = {
    "model": "two rankings, probabilities of five grades",
    "costs": "the same, every item with a cost of its own",
    "runs": "two runs, 1,000 deep, no model",
}
MOST_BYTES, MOST_MB, MOST_SECONDS = 30, 1.5, 10


def modelled_case(n_queries: int, *, with_costs: bool) -> PreparedCase:
    """Return a case of MSLR-WEB30K's list lengths, as of files with a trained model; costs are alike or not."""
    rng = np.random.default_rng(0)
    pool, probs = mslr_sized(n_queries, rng)
    second = Rankings.from_scores(pool, noisy_scores(probs @ np.arange(MAX_GRADE + 1), rng))
    unknown = np.full(pool.n_items, -1)
    inputs = Inputs(pool, (ranked_by_expected_grade(pool, probs), second), unknown, probs).in_id_order()
    costs = np.log(np.e + np.exp(rng.normal(6.5, 1.0, pool.n_items))) if with_costs else None
    return PreparedCase(
        inputs=inputs.with_costs(costs, 0.0),
        beliefs=GradeBeliefs(inputs.features, QueryFactor(sigma=0.7)),
        max_grade=MAX_GRADE,
        model="given",
        seed=np.random.SeedSequence(0),
    )


def run_case(folder: Path, n_topics: int) -> PreparedCase:
    """Return the case of two runs that share some of their documents, read from files."""
    rng, names = np.random.default_rng(1), [str(folder / name) for name in ("a.run", "b.run")]
    n_own = int(DEPTH * (2 - SHARED))
    numbers = np.array([rng.choice(900_000, n_own, replace=False) for _ in range(n_topics)]) + 10_000
    kinds = rng.choice(COLLECTIONS, (n_topics, n_own))
    ids = np.char.add(kinds, numbers.astype(np.str_))
    queries, ranks = np.repeat(np.arange(301, 301 + n_topics).astype(np.str_), DEPTH), np.arange(1, DEPTH + 1)
    for name, own in zip(names, (ids[:, :DEPTH], ids[:, -DEPTH:]), strict=True):
        docs = rng.permuted(own, axis=1).ravel()
        scores = np.tile(1000.0 - ranks, n_topics)
        write_run(Run(queries, docs, scores, np.tile(ranks, n_topics), Path(name).stem), name)
    return prepare(Choices(runs=names[:1], versus_run=names[1], max_grade=2), use_labels=False)


def measured(name: str) -> dict[str, Any]:
    """Draw, write and read one of the samples in this process; return sizes, times and peaks."""
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        case = run_case(folder, N_TOPICS) if name == "runs" else modelled_case(MSLR_QUERIES, with_costs=name == "costs")
        sample = draw(case, ["DCG"], [], Budget(BUDGET))
        path, sheet = str(folder / "x.sample"), str(folder / "x.csv")
        peaks = {"drawing": peak_mb()}
        writing = best(partial(sample.write, path, sheet))
        n_queries, n_items = case.inputs.pool.n_queries, case.inputs.pool.n_items
        del case, sample  # reading is on its own, as in a process that did not draw
        peaks["writing"] = peak_mb()
        reading = best(partial(read_sample, path))
        peaks["reading"] = peak_mb()
        arrays = read_arrays(path)
        packed = {"bytes": Path(path).stat().st_size, "unpacked_bytes": sum(a.nbytes for a in arrays.values())}
        checking = best(partial(digest_of, arrays))
    sizes = {"queries": n_queries, "items": n_items} | packed
    return sizes | {"seconds": {"writing": writing, "reading": reading, "digest": checking}, "peaks_mb": peaks}


def best(call: Callable[[], object]) -> tuple[float, float]:
    """Return the least seconds of the clock of a few calls, and those of the processor then."""
    found = []
    for _ in range(ROUNDS):
        clock, processor = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return min(found)


def figures_of(name: str, found: dict[str, Any]) -> list[dict]:
    """Return the figures of a sample; bars hold for those that they are meant for."""
    mb, each = found["bytes"] / 1e6, found["bytes"] / found["items"]
    of_size = {} if name == "costs" else {"at_most": MOST_BYTES}
    note = f"{found['items']:,} items; unpacked {found['unpacked_bytes'] / found['items']:.0f} bytes an item"
    rows = [
        figure("bytes an item of the pool", each, "bytes", **of_size, note=note),
        figure("file", mb, "MB", **({"at_most": MOST_MB} if name == "runs" else {})),
    ]
    for what, bar in (
        ("writing", {} if name == "runs" else {"at_most": MOST_SECONDS}),
        ("reading", {}),
        ("digest", {}),
    ):
        clock, processor = found["seconds"][what]
        rows.append(figure(what, clock, "s", **bar, note=f"{processor:.2f} s of the processor"))
    return rows + [figure(f"peak while {what}", peak, "MB") for what, peak in found["peaks_mb"].items()]


def section(_: Options, name: str) -> dict[str, Any]:
    """Measure a sample in a process of its own."""
    found = apart(measured, name)
    return found | {"title": f"{found['queries']:,} queries: {TITLES[name]}", "figures": figures_of(name, found)}


EXPERIMENT = Experiment(
    __spec__, __doc__, sections={name: (title, partial(section, name=name)) for name, title in TITLES.items()}
)


if __name__ == "__main__":
    EXPERIMENT.main()
