"""What one peer does in a process of its own, which benchmarks.peers starts.

    python -m benchmarks.peer_jobs JOB FOLDER

A job prints its seconds as JSON and leaves the values of every query in ``FOLDER/values.JOB.npz``, by measure.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import seconds
from benchmarks.memory import peak_mb

MEASURES = ("nDCG@10", "DCG@10", "ERR(max_rel=4)@10", "ERR(max_rel=4)")
CALLS = 7
LONGEST = 1200


def ours(folder: Path) -> dict:
    """Score rankings that are given as arrays."""
    from activeeval import QueryPool, Rankings, parse_measure

    offsets, items, grades = (np.load(folder / f"{name}.npy") for name in ("offsets", "items", "grades"))
    start = time.perf_counter()
    pool = QueryPool(np.arange(offsets.size - 1), offsets)
    ranking = Rankings(pool, offsets, items)
    made = time.perf_counter() - start
    measures = {text: parse_measure(text) for text in MEASURES}
    first = {text: seconds(measure.score, pool, grades, ranking) for text, measure in measures.items()}
    taken = {text: [] for text in MEASURES}
    for _ in range(CALLS):
        for text, measure in measures.items():
            taken[text].append(seconds(measure.score, pool, grades, ranking))
    peak = peak_mb()
    extra = parse_measure("nDCG(dcg='exp-log2')@10")
    values = {text: measure.score(pool, grades, ranking) for text, measure in [*measures.items(), (str(extra), extra)]}
    times = {text: statistics.median(t) for text, t in taken.items()}
    return {"seconds": times, "first_s": sum(first.values()), "made_s": made, "peak_mb": peak, "values": values}


def sorting(folder: Path) -> dict:
    """Rank by score, equal scores by id."""
    from activeeval import QueryPool, Rankings
    from benchmarks import peer_data

    data = peer_data.load(folder)
    pool = QueryPool(data.query_ids, data.offsets, data.document_ids)
    Rankings.from_scores(pool, data.scores)
    return {"seconds": {"sort": statistics.median(seconds(Rankings.from_scores, pool, data.scores) for _ in range(3))}}


def pytrec_eval(folder: Path) -> dict:
    """Evaluate dicts of dicts with pytrec_eval, which ranks by itself."""
    import pytrec_eval as peer

    qrels, run = _dicts(folder)
    evaluator = peer.RelevanceEvaluator(qrels, {"ndcg_cut_10"})
    times = [seconds(evaluator.evaluate, run) for _ in range(2)]
    found = evaluator.evaluate(run)
    return {"seconds": {"nDCG@10": min(times)}, "values": {"nDCG@10": [v["ndcg_cut_10"] for v in found.values()]}}


def ranx(folder: Path) -> dict:
    """Evaluate a ranx Run, ranked when it was made; the first call compiles."""
    import ranx as peer

    qrels, run = _dicts(folder)
    start = time.perf_counter()
    judged, ranked = peer.Qrels(qrels), peer.Run(run)
    made = time.perf_counter() - start
    names = {"nDCG@10": "ndcg@10", "DCG@10": "dcg_burges@10"}
    first = seconds(peer.evaluate, judged, ranked, list(names.values()))
    times = {
        ours: min(seconds(peer.evaluate, judged, ranked, theirs) for _ in range(2)) for ours, theirs in names.items()
    }
    times["nDCG@10 and DCG@10"] = min(seconds(peer.evaluate, judged, ranked, list(names.values())) for _ in range(2))
    values = _of_ranx(peer, judged, ranked, names)
    return {"seconds": times, "first_s": first, "made_s": made, "values": values}


def ir_measures(folder: Path) -> dict:
    """Evaluate dicts of dicts with ir_measures."""
    import ir_measures as peer

    qrels, run = _dicts(folder)
    measure = peer.nDCG @ 10
    taken = seconds(peer.calc_aggregate, [measure], qrels, run)
    return {"seconds": {"nDCG@10": taken}, "values": _of_ir_measures(peer, [measure], qrels, run)}


def gdeval(folder: Path) -> dict:
    """Evaluate dicts of dicts with gdeval, which ir_measures starts; ERR alone is ERR at the longest list."""
    import ir_measures as peer

    if not peer.providers.registry["gdeval"].is_available():
        raise ModuleNotFoundError("No module named 'perl'", name="perl")
    qrels, run = _dicts(folder)
    at_ten = [peer.nDCG(dcg="exp-log2") @ 10, peer.ERR @ 10]
    names = ("nDCG(dcg='exp-log2')@10", "ERR(max_rel=4)@10")
    values, times = {}, {}
    for what, measures, keys in (
        ("nDCG and ERR at 10", at_ten, names),
        ("ERR", [peer.ERR @ LONGEST], ("ERR(max_rel=4)",)),
    ):
        start = time.perf_counter()
        found = _of_ir_measures(peer.providers.registry["gdeval"], measures, qrels, run)
        times[what] = time.perf_counter() - start
        values |= dict(zip(keys, found.values(), strict=True))
    return {"seconds": times, "values": values}


def text_ours(folder: Path) -> dict:
    """Score TREC text in this process."""
    from activeeval import parse_measure
    from activeeval.formats.loading import load_tables, pool_from_tables
    from activeeval.scoring.run_scores import score_run

    start = time.perf_counter()
    qrels, runs = load_tables(folder / "qrels.txt", [folder / "run.txt"])
    read = time.perf_counter()
    tables = pool_from_tables(qrels, runs, evaluated=1)
    joined = time.perf_counter()
    values = {text: score_run(tables, 0, parse_measure(text)).values for text in MEASURES}
    done = time.perf_counter()
    steps = {"read": read - start, "join and rank": joined - read, "score": done - joined}
    return {"seconds": steps, "values": values}


def text_trec_eval(folder: Path) -> dict:
    """Score TREC text with trec_eval: the program that $TREC_EVAL names, or one of that name on the path."""
    program = os.environ.get("TREC_EVAL", "trec_eval")
    command = [program, "-q", "-m", "ndcg_cut.10", folder / "qrels.txt", folder / "run.txt"]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise ModuleNotFoundError("No module named 'trec_eval'", name=f"the program {program}") from None
    taken = time.perf_counter() - start
    rows = [line.split() for line in done.stdout.splitlines()]
    return {"seconds": {"all": taken}, "values": {"nDCG@10": [float(v) for _, query, v in rows if query != "all"]}}


def text_pytrec_eval(folder: Path) -> dict:
    """Score TREC text with pytrec_eval."""
    import pytrec_eval as peer

    start = time.perf_counter()
    with (folder / "qrels.txt").open() as qrels, (folder / "run.txt").open() as run:
        judged, ranked = peer.parse_qrel(qrels), peer.parse_run(run)
    read = time.perf_counter()
    found = peer.RelevanceEvaluator(judged, {"ndcg_cut_10"}).evaluate(ranked)
    done = time.perf_counter()
    values = {"nDCG@10": [v["ndcg_cut_10"] for v in found.values()]}
    return {"seconds": {"read": read - start, "score": done - read}, "values": values}


def text_ranx(folder: Path) -> dict:
    """Score TREC text with ranx; what its first call compiles is in its cache or among its seconds."""
    import ranx as peer

    names = {"nDCG@10": "ndcg@10", "DCG@10": "dcg_burges@10"}
    start = time.perf_counter()
    judged = peer.Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
    ranked = peer.Run.from_file(str(folder / "run.txt"), kind="trec")
    read = time.perf_counter()
    peer.evaluate(judged, ranked, list(names.values()))
    done = time.perf_counter()
    steps = {"read and rank": read - start, "score": done - read}
    return {"seconds": steps, "values": _of_ranx(peer, judged, ranked, names)}


def text_ir_measures(folder: Path) -> dict:
    """Score TREC text with ir_measures."""
    import ir_measures as peer

    start = time.perf_counter()
    qrels = peer.read_trec_qrels(str(folder / "qrels.txt"))
    run = peer.read_trec_run(str(folder / "run.txt"))
    values = _of_ir_measures(peer, [peer.nDCG @ 10], qrels, run)
    return {"seconds": {"all": time.perf_counter() - start}, "values": values}


def _dicts(folder: Path) -> tuple[dict, dict]:
    """Return judgments and run as dicts of dicts."""
    from benchmarks import peer_data

    data = peer_data.load(folder)
    ends, documents = data.offsets.tolist(), data.document_ids.tolist()
    grades, scores = data.grades.tolist(), data.scores.tolist()
    qrels, run = {}, {}
    for query, start, stop in zip(data.query_ids.astype(str).tolist(), ends, ends[1:], strict=False):
        qrels[query] = dict(zip(documents[start:stop], grades[start:stop], strict=True))
        run[query] = dict(zip(documents[start:stop], scores[start:stop], strict=True))
    return qrels, run


def _of_ranx(peer, judged, ranked, names: dict[str, str]) -> dict:
    found = peer.evaluate(judged, ranked, list(names.values()), return_mean=False)
    return {ours: found[theirs] for ours, theirs in names.items()}


def _of_ir_measures(peer, measures: list, qrels, run) -> dict:
    """Return values by measure, in the order of the query ids, which have one width."""
    rows = sorted(peer.iter_calc(measures, qrels, run), key=lambda row: row.query_id)
    return {str(m): [row.value for row in rows if row.measure == m] for m in measures}


_ARRAYS = (ours, sorting, pytrec_eval, ranx, ir_measures, gdeval)
_TEXTS = (text_ours, text_trec_eval, text_pytrec_eval, text_ranx, text_ir_measures)
JOBS = {job.__name__: job for job in (*_ARRAYS, *_TEXTS)}


def main() -> None:
    """Run a job; a missing peer is reported, not a failure."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    try:
        found = JOBS[name](folder)
    except ModuleNotFoundError as missing:
        json.dump({"missing": f"{missing.name} is not installed here"}, sys.stdout)
        return
    np.savez(folder / f"values.{name}.npz", **found.pop("values", {}))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
