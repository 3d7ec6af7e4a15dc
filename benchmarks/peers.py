"""Speed beside the peers: the same data, one run, each peer in a process of its own.

    python -m benchmarks.peers [--only SECTION] [--trec-eval PATH] [--out benchmarks/results/peers.json]

Values of all peers and of this package must agree on every query, or nothing is reported. A peer that cannot be
imported has a row that says so. With --only the other sections that are stored already are kept. trec_eval is built
from its source by `make` in seconds; --trec-eval takes the program, otherwise it is the one on the path.
Readers and start-up: benchmarks.kernels. How precise the peers' estimators are: benchmarks.peer_efficiency.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import peer_data
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.frame.processes import run, wall_and_cpu
from benchmarks.frame.report import figure
from benchmarks.peer_jobs import MEASURES

MSLR_QUERIES, SLICE = 31_531, 1000
TOLERANCE, PRINTED = 1e-6, {"gdeval": 0.5e-5, "text_trec_eval": 0.5e-4}
PACKAGES = ("pytrec_eval-terrier", "ranx", "ir_measures")


def run_job(name: str, folder: Path) -> dict:
    """Run a job in a process of its own; add the seconds of all of it, elapsed and of the processor."""
    command = [sys.executable, "-m", "benchmarks.peer_jobs", name, str(folder)]
    answers: list[str] = []
    elapsed, processor = wall_and_cpu(lambda: answers.append(run(command)))
    return json.loads(answers[0].splitlines()[-1]) | {"process_s": elapsed, "processor_s": processor}


def check_agreement(folder: Path, own: str, peer: str, skipped: np.ndarray) -> str:
    """Stop where a peer's values of a query are not ours; return what was compared.

    ``skipped`` queries are left out: those with equal scores, where a peer leaves the order of equal scores open.
    """
    ours, theirs = (np.load(folder / f"values.{name}.npz") for name in (own, peer))
    tolerance = TOLERANCE + PRINTED.get(peer, 0.0)
    for measure in theirs.files:
        gaps = np.abs(ours[measure][: theirs[measure].size] - theirs[measure])[~skipped[: theirs[measure].size]]
        if not np.all(gaps <= tolerance):
            bad = int(np.argmax(gaps > tolerance))
            raise SystemExit(f"{peer}, {measure}: off by {gaps[bad]:.2g} at place {bad}; nothing is reported")
    n = int(np.count_nonzero(~skipped[: theirs[theirs.files[0]].size]))
    return f"agrees on {n} queries to {tolerance:.1g}"


def unavailable(name: str, found: dict) -> dict:
    """Return the row of a peer that is not there."""
    return {"what": name, "missing": found["missing"]}


def time_arrays(folder: Path, data: peer_data.PeerData) -> dict:
    """Time the measures on arrays; of peers with objects of their own, from these objects."""
    own, sorting = run_job("ours", folder), run_job("sorting", folder)
    total = sum(own["seconds"].values())
    rows = [
        figure(f"activeeval, {text}", own["seconds"][text], "s", ratio=1.0, note="rankings given") for text in MEASURES
    ]
    rows += [
        figure("activeeval, all four", total, "s", at_most=0.1, note=f"first call of all {own['first_s']:.2f} s"),
        figure("activeeval, peak memory of the process", own["peak_mb"], "MB", at_most=400),
        figure("activeeval, making pool and rankings, checks included", own["made_s"], "s"),
        figure("activeeval, sorting by score and id", sorting["seconds"]["sort"], "s"),
    ]
    nothing = np.zeros(data.n_queries, dtype=bool)
    for name, what, skipped in (
        ("pytrec_eval", "pytrec_eval, sorting in it", nothing),
        ("ranx", "ranx, sorted before", data.has_tie),
        ("ir_measures", "ir_measures, sorting in it", nothing),
    ):
        found = run_job(name, folder)
        if "missing" in found:
            rows.append(unavailable(name, found))
            continue
        note = check_agreement(folder, "ours", name, skipped)
        for text, taken in found["seconds"].items():
            ours = sum(own["seconds"][part] for part in text.split(" and "))
            rows.append(figure(f"{what}, {text}", taken, "s", ratio=taken / ours, note=note))
        if "made_s" in found:
            first = f"first call of evaluate {found['first_s']:.1f} s"
            rows.append(figure(f"{name}, making its objects from dicts", found["made_s"], "s", note=first))
    return {"n_queries": data.n_queries, "n_items": int(data.offsets[-1]), "figures": rows + gdeval(folder, data, own)}


def gdeval(folder: Path, data: peer_data.PeerData, own: dict) -> list[dict]:
    """Time gdeval on the first queries, and scale by the number of items."""
    n = min(SLICE, data.n_queries)
    part = folder / "slice"
    part.mkdir()
    peer_data.save(data.first(n), part)
    found = run_job("gdeval", part)
    if "missing" in found:
        return [unavailable("gdeval by ir_measures", found)]
    (part / "values.gdeval.npz").rename(folder / "values.gdeval.npz")
    note = check_agreement(folder, "ours", "gdeval", np.zeros(n, dtype=bool))
    scale = data.offsets[-1] / data.offsets[n]
    measured = sum(found["seconds"].values())
    ours = sum(own["seconds"].values())
    note = f"{measured:.2f} s for {n} queries, scaled by {scale:.1f}; {note}"
    what = "gdeval by ir_measures, nDCG@10, ERR@10 and ERR"
    return [figure(what, measured * scale, "s", ratio=measured * scale / ours, note=note)]


def time_text(folder: Path, data: peer_data.PeerData) -> dict:
    """Time whole processes from TREC text to values, after one of each that does not count."""
    megabytes = peer_data.write_text(data, folder)
    command = [sys.executable, "-m", "activeeval", "score", *(str(folder / f"{n}.txt") for n in ("qrels", "run"))]
    run([*command, *MEASURES])
    own, busy = zip(*(wall_and_cpu(lambda: run([*command, *MEASURES])) for _ in range(5)), strict=True)
    whole, spent = statistics.median(own), statistics.median(busy)
    inside = run_job("text_ours", folder)["seconds"]
    steps = ", ".join(f"{name} {taken:.2f} s" for name, taken in inside.items())
    note, what = (
        f"least {min(own):.2f} s; {spent:.2f} s of the processor",
        "activeeval score, four measures, the process",
    )
    rows = [
        figure(what, whole, "s", at_most=3, ratio=1.0, minimum_s=min(own), processor_s=spent, note=note),
        figure("activeeval, the same calls in Python", sum(inside.values()), "s", note=steps),
    ]
    nothing = np.zeros(data.n_queries, dtype=bool)
    for peer in ("trec_eval", "pytrec_eval", "ir_measures", "ranx"):
        found = [run_job(f"text_{peer}", folder) for _ in range(2)][-1]
        if "missing" in found:
            rows.append(unavailable(peer, found))
            continue
        note = check_agreement(folder, "text_ours", f"text_{peer}", data.has_tie if peer == "ranx" else nothing)
        what = f"{peer}, {'two measures' if peer == 'ranx' else 'one measure'}, the process"
        note = f"{found['processor_s']:.2f} s of the processor; {note}"
        ratio, of_processor = found["process_s"] / whole, found["processor_s"] / spent
        rows.append(figure(what, found["process_s"], "s", ratio=ratio, processor_ratio=of_processor, note=note))
    return {"text_mb": megabytes, "n_queries": data.n_queries, "figures": rows}


def with_data(options: Options, measure: Callable[..., dict]) -> dict:
    """Measure a section that takes generated data in a folder."""
    if options.trec_eval:
        os.environ["TREC_EVAL"] = str(options.trec_eval.resolve(strict=True))
    data = peer_data.generate(MSLR_QUERIES, options.seed)
    with tempfile.TemporaryDirectory() as name:
        peer_data.save(data, Path(name))
        return measure(Path(name), data)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "arrays": ("Four measures from arrays", partial(with_data, measure=time_arrays)),
        "text": ("The same from TREC text", partial(with_data, measure=time_text)),
    },
    packages=PACKAGES,
    seed=0,
    trec_eval=None,
)


if __name__ == "__main__":
    EXPERIMENT.main()
