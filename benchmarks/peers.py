"""Speed and precision beside the peers: the same data, one run, each peer in a process of its own.

    python -m benchmarks.peers [--quick] [--only SECTION] [--trec-eval PATH] [--out benchmarks/results/peers.json]

Values of all peers and of this package must agree on every query, or nothing is reported. A peer that cannot be
imported has a row that says so. With --only the other sections that are stored already are kept. trec_eval is built
from its source by `make` in seconds; --trec-eval takes the program, otherwise it is the one on the path.
How precise the peers' estimators are on the grid of benchmarks.efficiency: benchmarks.peer_efficiency.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import peer_data, peer_estimates, readers, start
from benchmarks.frame.report import figure, figures_table, show
from benchmarks.machine import ROOT, describe, seconds, store
from benchmarks.peer_jobs import MEASURES

MODULE = "benchmarks.peers"
MSLR_QUERIES, SLICE, FEW = 31_531, 1000, 60
TOLERANCE, PRINTED = 1e-6, {"gdeval": 0.5e-5, "text_trec_eval": 0.5e-4}
PACKAGES = ("pytrec_eval-terrier", "ranx", "ir_measures", "ppi-python", "statsmodels", "glide-py")


def run_job(name: str, folder: Path) -> dict:
    """Run a job in a process of its own; add the seconds of all of it, elapsed and of the processor."""
    command = [sys.executable, "-m", "benchmarks.peer_jobs", name, str(folder)]
    answers = []

    def work() -> None:
        answers.append(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False))

    elapsed, processor = start.wall_and_cpu(work)
    if answers[0].returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{answers[0].stderr}")
    return json.loads(answers[0].stdout.splitlines()[-1]) | {"process_s": elapsed, "processor_s": processor}


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


def time_arrays(is_quick: bool, folder: Path, data: peer_data.PeerData) -> dict:
    """Time the measures on arrays; of peers with objects of their own, from these objects."""
    own, sorting = run_job("ours", folder), run_job("sorting", folder)
    total = sum(own["seconds"].values())
    rows = [
        figure(f"activeeval, {text}", own["seconds"][text], "s", ratio=1.0, note="rankings given") for text in MEASURES
    ]
    rows += [
        figure("activeeval, all four", total, "s", at_most=0.1, note=f"first call of all {own['first_s']:.2f} s"),
        figure("activeeval, peak memory of the process", own["peak_mb"], "MB", at_most=400),
        figure(
            "activeeval, making pool and rankings",
            own["made_s"],
            "s",
            note="checks, and loading what is compiled, included",
        ),
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


def time_text(is_quick: bool, folder: Path, data: peer_data.PeerData) -> dict:
    """Time whole processes from TREC text to values, after one of each that does not count."""
    megabytes = peer_data.write_text(data, folder)
    command = [sys.executable, "-m", "activeeval", "score", *(str(folder / f"{n}.txt") for n in ("qrels", "run"))]
    start.run([*command, *MEASURES])
    own, busy = zip(*(start.wall_and_cpu(lambda: start.run([*command, *MEASURES])) for _ in range(5)), strict=True)
    whole, spent = statistics.median(own), statistics.median(busy)
    inside = run_job("text_ours", folder)["seconds"]
    steps = ", ".join(f"{name} {taken:.2f} s" for name, taken in inside.items())
    rows = [
        figure(
            "activeeval score, four measures, the process",
            whole,
            "s",
            at_most=3,
            ratio=1.0,
            minimum_s=min(own),
            processor_s=spent,
            note=f"least {min(own):.2f} s; {spent:.2f} s of the processor",
        ),
        figure("activeeval, the same calls in Python", sum(inside.values()), "s", note=steps),
    ]
    for name, skipped in (
        ("text_trec_eval", None),
        ("text_pytrec_eval", None),
        ("text_ir_measures", None),
        ("text_ranx", data.has_tie),
    ):
        peer = name.removeprefix("text_")
        found = [run_job(name, folder) for _ in range(2)][-1]
        if "missing" in found:
            rows.append(unavailable(peer, found))
            continue
        skipped = np.zeros(data.n_queries, dtype=bool) if skipped is None else skipped
        note = check_agreement(folder, "text_ours", name, skipped)
        what = f"{peer}, {'two measures' if peer == 'ranx' else 'one measure'}, the process"
        note = f"{found['processor_s']:.2f} s of the processor; {note}"
        ratio, of_processor = found["process_s"] / whole, found["processor_s"] / spent
        rows.append(figure(what, found["process_s"], "s", ratio=ratio, processor_ratio=of_processor, note=note))
    return {"text_mb": megabytes, "n_queries": data.n_queries, "figures": rows}


def with_data(measure):
    """Return a section that is given generated data in a folder of its own."""

    def section(is_quick: bool, seed: int) -> dict:
        data = peer_data.generate(FEW if is_quick else MSLR_QUERIES, seed)
        with tempfile.TemporaryDirectory() as name:
            peer_data.save(data, Path(name))
            return measure(is_quick, Path(name), data)

    return section


def time_letor(is_quick: bool, seed: int) -> dict:
    """Time the readers of LETOR text."""
    return readers.time_readers(20 if is_quick else 200)


def time_start(is_quick: bool, seed: int) -> dict:
    """Time imports in new processes, and the first use with nothing compiled."""
    repeats = 1 if is_quick else 5
    rows = start.time_commands(repeats)
    for name in ("pytrec_eval", "ir_measures", "ranx", "ppi_py"):
        command = [sys.executable, "-c", f"import {name}"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            rows.append(unavailable(f"import {name}", {"missing": f"{name} is not installed here"}))
            continue
        taken = [seconds(start.run, command) for _ in range(repeats)]
        rows.append(figure(f"import {name}", statistics.median(taken), "s", minimum_s=min(taken)))
    return {"figures": rows if is_quick else [*rows, *start.first_use(), first_use_of_ranx()]}


def first_use_of_ranx() -> dict:
    """Return what ranx compiles for two queries and one measure: the first process less the next."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        if "missing" in run_job("ranx_first_use", Path(folder)):
            return unavailable("ranx, first use", {"missing": "ranx is not installed here"})
        command = [sys.executable, "-m", "benchmarks.peer_jobs", "ranx_first_use", folder]
        first, again = (seconds(lambda: start.run(command, NUMBA_CACHE_DIR=cache)) for _ in range(2))
    return figure(
        "ranx, compiling one measure, once", first - again, "s", note=f"compiled before: {again:.2f} s in all"
    )


def compare_estimates(is_quick: bool, seed: int) -> dict:
    """Compare the estimators with PPI++."""
    found = peer_estimates.compare(is_quick, seed)
    rows = [unavailable(text.split(" ")[0], {"missing": text}) for text in found.pop("missing")]
    return found | {"figures": [*rows, *widest(found["rows"])]}


def widest(rows: list[dict]) -> list[dict]:
    """Return the largest ratios of our widths to those of PPI++, and in how many cases they are above 1 for certain."""
    default = {"DCG": "items", "ERR": "depth"}
    kinds = {
        "regression, same sample, pool": lambda r: r["what"] == "regression" and r["scope"] == "pool",
        "regression, same sample, population": lambda r: r["what"] == "regression" and r["scope"] == "population",
        "default design, same cost, pool": lambda r: r["what"] == default[r["measure"]],
    }
    figures = []
    for name, belongs in kinds.items():
        for how, key in (("nominal", "width_ratio"), ("equal coverage", "equal_coverage_ratio")):
            own = [r for r in rows if key in r and belongs(r)]
            if own:
                worst = max(own, key=lambda r: r[key])
                n_above = sum(r[key] - 2 * r[key + "_se"] > 1 for r in own)
                middle = statistics.median(r[key] for r in own)
                note = f"± {worst[key + '_se']:.3f}; median {middle:.3f}; above 1 by 2 s.e. in {n_above} of {len(own)}"
                figures.append(figure(f"{name}, {how}: widest", worst[key], "PPI++", at_most=1.0, note=note))
    return figures


SECTIONS = {
    "arrays": ("Four measures from arrays", with_data(time_arrays)),
    "text": ("The same from TREC text", with_data(time_text)),
    "letor": ("Reading LETOR text", time_letor),
    "start": ("Import, start and first use", time_start),
    "estimates": ("The mean from a labelled sample and a model, beside PPI++", compare_estimates),
}


def markdown(result: dict) -> str:
    """Return the tables of a result."""
    lines = []
    for section in result["sections"].values():
        lines += [f"### {section['title']}", "", *figures_table(section["figures"])]
        lines += ["", *estimates_table(section.get("rows", []))]
    return "\n".join(lines)


def estimates_table(rows: list[dict]) -> list[str]:
    """Return the table of estimators: everything as a ratio to PPI++ but coverage."""
    if not rows:
        return []
    names = ("mse_ratio", "width_ratio", "equal_coverage_ratio")
    lines = [
        "MSE and mean interval widths as multiples of those of PPI++ on a uniform sample; ± is Monte-Carlo error.",
        "",
    ]
    lines += ["| pool, measure, case | labelled | truth | estimator | MSE | width | at equal coverage | coverage |"]
    lines += ["| --- " * 8 + "|"]
    for row in rows:
        is_peer = row["what"] == "PPI++"
        shown = [f"{row[n]:.3f} ± {row[n + '_se']:.3f}" if n in row else "1" if is_peer else "" for n in names]
        where = f"{row['pool']}, {row['measure']}, {row['case']} | {row['labelled']} of {row['queries']}"
        lines.append(f"| {where} | {row['scope']} | {row['what']} | {' | '.join(shown)} | {row['coverage']:.3f} |")
    return [*lines, ""]


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "peers.json")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; no figure counts")
    parser.add_argument("--only", action="append", choices=list(SECTIONS), help="repeatable; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trec-eval", type=Path, metavar="PATH", help="the program; by default the one on the path")
    args = parser.parse_args()
    if args.trec_eval:
        os.environ["TREC_EVAL"] = str(args.trec_eval.resolve(strict=True))
    kept = json.loads(args.out.read_text())["sections"] if args.only and args.out.exists() else {}
    described = describe(MODULE, PACKAGES)
    measured = measure_all(args.only or list(SECTIONS), args.quick, args.seed)
    parts = {name: measured.get(name, kept.get(name)) for name in SECTIONS}
    result = described | {"quick": args.quick, "seed": args.seed, "sections": {k: v for k, v in parts.items() if v}}
    store(args.out, result)


def measure_all(names: list[str], is_quick: bool, seed: int) -> dict:
    """Return the sections by name, each shown as soon as it is there."""
    measured = {}
    for name in names:
        title, measure = SECTIONS[name]
        measured[name] = {"title": title} | measure(is_quick, seed)
        show(title, measured[name]["figures"])
    return measured


if __name__ == "__main__":
    main()
