"""Whether a change of the code left every number as it was: ``python -m benchmarks.unchanged --out BEFORE.json``.

Draws 30 samples of a pool that it makes by a seed, judges their sheets, asks 300 questions and more of them, and writes
the digest of each sample and of each answer. ``--against BEFORE.json`` compares with another checkout's and names what
differs. Everything goes through the command line, which stays when rooms move.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from itertools import product
from pathlib import Path

import numpy as np

from activeeval.cli import run

N_QUERIES, N_ITEMS, N_TRAIN, MAX_GRADE = 60, 14, 20, 3
NUMBERS = (
    *("value", "estimate", "std_error", "low", "high", "p_value", "p_holm", "low_simultaneous", "high_simultaneous"),
    *("half_width_at_end", "effective_sample_size", "n_queries", "n_items", "cost", "spent", "block", "draws"),
    *("rank_from", "rank_to"),
)
MEASURES = ("DCG@10", "ERR@5", "nDCG@10", "AP", "P@5", "RR", "RBP(p=0.8)")
METHODS = ("passive", "active", "random", "whole", "depth_plain", "depth", "items_plain", "items")


def command(*arguments: str) -> tuple[str, str]:
    """Run a command of `activeeval` here and return what it printed; ends the program where it was refused."""
    code, out, told = answered(*arguments)
    if code != 0:
        raise SystemExit(f"activeeval {' '.join(arguments)}\n{told}")
    return out, told


def answered(*arguments: str) -> tuple[int, str, str]:
    """Run a command and return its exit code and what it printed."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = run([*arguments])
    return code, out.getvalue(), told.getvalue()


def write_collection() -> dict[tuple[str, str], int]:
    """Write runs, judgments to train on, traffic and topic segments; return the grades of the others."""
    random = np.random.default_rng(7)
    n = N_QUERIES + N_TRAIN
    ease = random.normal(size=(n, 1)) + random.normal(size=(n, N_ITEMS))
    grades = np.digitize(ease, [0.2, 1.0, 1.9])
    for name, noise in (("old", 1.2), ("new", 0.8), ("third", 1.6)):
        scores = ease + noise * random.normal(size=ease.shape)
        rows = [
            f"q{q} Q0 d{d} {rank + 1} {scores[q, d]:.6f} {name}\n"
            for q in range(n)
            for rank, d in enumerate(np.argsort(-scores[q], kind="stable").tolist())
        ]
        Path(f"{name}.run").write_text("".join(rows), "utf-8")
        evaluated = [row for row in rows if int(row[1 : row.index(" ")]) < N_QUERIES]
        Path(f"{name}60.run").write_text("".join(evaluated), "utf-8")
    train = [f"q{q} 0 d{d} {grades[q, d]}\n" for q in range(N_QUERIES, n) for d in range(N_ITEMS)]
    Path("train.qrels").write_text("".join(train), "utf-8")
    known = [f"q{q} 0 d{d} {grades[q, d]}\n" for q in range(0, N_QUERIES, 3) for d in range(0, N_ITEMS, 4)]
    Path("known.qrels").write_text("".join(known), "utf-8")
    weights = random.integers(1, 9, size=n).tolist()
    Path("traffic.txt").write_text("".join(f"q{q} {weights[q]}\n" for q in range(N_QUERIES)), "utf-8")
    Path("parts.txt").write_text("".join(f"q{q} {'odd' if q % 2 else 'even'}\n" for q in range(N_QUERIES)), "utf-8")
    return {(f"q{q}", f"d{d}"): int(grades[q, d]) for q in range(n) for d in range(N_ITEMS)}


def judge(sheet: str, grades: dict[tuple[str, str], int], *, n_cannot: int = 0) -> None:
    """Fill in a sheet; its first rows cannot be judged."""
    with open(sheet, encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for place, row in enumerate(rows):
        grade = grades[row["query_id"], row["doc_id"]]
        row["grade"] = "cannot" if place < n_cannot else str(grade)
    with open(sheet, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def cases() -> dict[str, list[str]]:
    """Return the options of 30 samples by name."""
    models = {"uniform": ["--model", "uniform"], "forest": ["--train-qrels", "train.qrels"]}
    pairs = ["--run", "new.run", "--versus-run", "old.run"]
    one = ["--run", "new60.run", "--model", "uniform"]
    found = {
        f"{method}, {measure}": [*pairs, *models["forest"], "--method", method, "--measure", measure]
        for method, measure in zip(METHODS, (*MEASURES, "DCG@5"), strict=True)
        if not (method.startswith("items") and measure in ("nDCG@10", "AP", "ERR@5", "RR"))
    }
    for measure, (overhead, blocks) in product(("DCG@10", "ERR@5", "nDCG@10", "P@5"), (("0", "40"), ("3", "45"))):
        found[f"one, {measure}, {overhead}"] = [
            *one, "--measure", measure, "--overhead", overhead, "--budget", f"{blocks}%",
        ]  # fmt: skip
    for measure in ("DCG@10", "RBP(p=0.8)", "nDCG@10", "RR"):
        found[f"known, {measure}"] = [
            "--run", "new60.run", "--versus-run", "old60.run", "--judged", "known.qrels", "--measure", measure,
        ]  # fmt: skip
    systems = ["--run", "new60.run", "--run", "old60.run", "--run", "third60.run", "--model", "uniform"]
    for measure, weights in product(("DCG@10", "ERR@5"), ("equal", "minimax")):
        found[f"three, {measure}, {weights}"] = [*systems, "--measure", measure, "--weights", weights]
    for measure in ("DCG@10", "nDCG@10", "P@5"):
        found[f"traffic, {measure}"] = [*one, "--traffic", "traffic.txt", "--measure", measure]
    for share in ("0.05", "0.2"):
        found[f"index update {share}"] = [*one, "--index-update", share, "--measure", "DCG@10"]
    found["two measures"] = [*pairs, *models["forest"], "--measure", "DCG@10", "--measure", "nDCG@10"]
    found["two models"] = [*pairs, *models["forest"], "--model", "forest", "--model", "uniform", "--measure", "DCG@10"]
    return found


def asked(name: str) -> list[list[str]]:
    """Return the options of the questions that a sample is asked."""
    found = [["--scope", scope, "--interval", kind] for scope in ("pool", "population") for kind in ("t", "skewed")]
    if name.startswith("one"):
        found.append(["--interval", "logit"])
    if "passive" not in name and "active" not in name:
        found.append(["--interval", "group-sequential"])
        found.append(["--by", "parts.txt"])
    if not name.startswith(("one", "traffic", "three")):
        found.append(["--question", "run", "--question", "versus"])
    return found


def number(value: object) -> object:
    """Return a number by all its digits but the last two, which the order of sums may move."""
    return float(f"{value:.13g}") if isinstance(value, float) else value


def made(seed: int) -> dict[str, str]:
    """Return the digest of every sample and of every answer."""
    grades = write_collection()
    digests: dict[str, str] = {}
    for name, options in cases().items():
        budget = [] if "--budget" in options else ["--budget", "40%"]
        files = ["--out", "a.sample", "--sheet", "a.csv", "--force"]
        told = command("sample", *options, *budget, "--max-grade", str(MAX_GRADE), "--seed", str(seed), *files)[1]
        ids = re.findall(r"sample (\S+): wrote", told)
        if not ids:
            raise SystemExit(f"sample {name}: no id in\n{told}")
        digests[f"sample {name}"] = ids[0]
        judge("a.csv", grades, n_cannot=1 if name.startswith("known") else 0)
        for question in asked(name):
            code, printed, _ = answered("estimate", "a.sample", "a.csv", *question, "-o", "jsonl")
            if code:  # a question out of the sample's reach
                digests[f"estimate {name} {' '.join(question)}"] = "refused"
            for line, row in enumerate(map(json.loads, printed.splitlines())):
                kept = {key: number(row[key]) for key in NUMBERS if key in row}
                text = json.dumps(kept, sort_keys=True)
                digests[f"estimate {name} {' '.join(question)} {line}"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return digests


def main() -> None:
    """Write digests, or compare them with those of another checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the digests")
    parser.add_argument("--against", type=Path, help="digests of another checkout")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    before = json.loads(options.against.read_text("utf-8")) if options.against else None
    out = options.out and options.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        digests = made(options.seed)
        os.chdir("/")
    n_samples = sum(name.startswith("sample") for name in digests)
    print(f"{n_samples} samples, {len(digests) - n_samples} answers")
    if out:
        out.write_text(json.dumps(digests, indent=1) + "\n", "utf-8")
    if before is not None:
        differ = [name for name in {**before, **digests} if before.get(name) != digests.get(name)]
        print(*(f"differs: {name}" for name in differ), f"{len(differ)} of {len(before)} differ", sep="\n")
        sys.exit(bool(differ))


if __name__ == "__main__":
    main()
