"""Whether a change of the code left every answer as it was: ``python -m benchmarks.unchanged --out BEFORE.json``.

Draws 30 samples of a pool that it makes by a seed, judges their sheets and asks 300 questions and more of them; then it
calls every command on the same files, and keeps its exit code and its rows of JSON (its text where it has none).
``--against BEFORE.json`` compares with another checkout's and names the fields that differ, but for those that
`INTENDED` lists. Everything goes through the command line, which stays when rooms move.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from fnmatch import fnmatch
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
BY_THE_CLOCK = frozenset(("token", "until", "head", "lease_until", "at", "digest", "shown_at", "active_ms", "db"))
BY_THE_CLOCK |= {"created_at", "seconds"}
"""Fields that no two calls have alike."""
VERDICTS = (0, 10, 11)
INTENDED = Path(__file__).with_name("intended.md")
"""A table of patterns of differences that are meant, and why."""
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


def cases() -> dict[str, str]:
    """Name the samples with their options."""
    forest, uniform = "--train train.qrels", "--model uniform"
    pairs, one = "--run new.run --versus-run old.run", f"--run new60.run {uniform}"
    known = "--run new60.run --versus-run old60.run --judged known.qrels"
    systems = f"--run new60.run --run old60.run --run third60.run {uniform}"
    found = {
        f"{method}, {measure}": f"{pairs} {forest} --method {method} --measure {measure}"
        for method, measure in zip(METHODS, (*MEASURES, "DCG@5"), strict=True)
        if not (method.startswith("items") and measure in ("nDCG@10", "AP", "ERR@5", "RR"))
    }
    for measure, (overhead, budget) in product(("DCG@10", "ERR@5", "nDCG@10", "P@5"), ((0, 40), (3, 45))):
        options = f"--measure {measure} --overhead {overhead} --budget {budget}%"
        found[f"one, {measure}, {overhead}"] = f"{one} {options}"
    for measure in ("DCG@10", "RBP(p=0.8)", "nDCG@10", "RR"):
        found[f"known, {measure}"] = f"{known} --measure {measure}"
    for measure, weights in product(("DCG@10", "ERR@5"), ("equal", "minimax")):
        found[f"three, {measure}, {weights}"] = f"{systems} --measure {measure} --weights {weights}"
    for measure in ("DCG@10", "nDCG@10", "P@5"):
        found[f"traffic, {measure}"] = f"{one} --traffic traffic.txt --measure {measure}"
    found["two measures"] = f"{pairs} {forest} --measure DCG@10 --measure nDCG@10"
    found["two models"] = f"{pairs} {forest} --model forest {uniform} --measure DCG@10"
    return found


def asked(name: str) -> list[str]:
    """List the options of the questions that a sample is asked."""
    found = [f"--scope {scope} --interval t" for scope in ("pool", "population")]
    if "passive" not in name and "active" not in name:
        found += ["--interval group-sequential", "--by parts.txt"]
    if not name.startswith(("one", "traffic", "three")):
        found.append("--question run --question versus")
    return found


def number(value: object) -> object:
    """Round a number to all its digits but the last two, which the order of sums may move; also within lists."""
    if isinstance(value, dict):
        return {key: number(each) for key, each in value.items() if key not in BY_THE_CLOCK}
    if isinstance(value, list):
        return [number(each) for each in value]
    return float(f"{value:.13g}") if isinstance(value, float) else value


def samples(seed: int, grades: dict[tuple[str, str], int]) -> dict[str, str]:
    """Compute the digest of every sample and of every answer."""
    digests: dict[str, str] = {}
    for name, options in cases().items():
        budget = [] if "--budget" in options else ["--budget", "40%"]
        files = f"--max-grade {MAX_GRADE} --seed {seed} --out a.sample --sheet a.csv --force".split()
        told = command("sample", *options.split(), *budget, *files)[1]
        ids = re.findall(r"sample (\S+): wrote", told)
        if not ids:
            raise SystemExit(f"sample {name}: no id in\n{told}")
        digests[f"sample {name}"] = ids[0]
        judge("a.csv", grades, n_cannot=1 if name.startswith("known") else 0)
        for question in asked(name):
            code, printed, _ = answered("estimate", "a.sample", "a.csv", *question.split(), "-o", "jsonl")
            if code:  # a question out of the sample's reach
                digests[f"estimate {name} {question}"] = "refused"
            for line, row in enumerate(map(json.loads, printed.splitlines())):
                kept = {key: number(row[key]) for key in NUMBERS if key in row}
                text = json.dumps(kept, sort_keys=True)
                digests[f"estimate {name} {question} {line}"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return digests


class Commands:
    """Calls commands one after the other and keeps what they answer.

    Attributes
    ----------
    answers : dict of str to dict
        By command: its exit code, and its rows or its text.
    """

    def __init__(self) -> None:
        self.answers: dict[str, dict] = {}

    def __call__(self, words: str, *, is_text: bool = False) -> None:
        """Call a command and keep its answer."""
        arguments = shlex.split(words)
        code, printed, told = answered(*arguments, *([] if is_text else ["-o", "jsonl"]))
        if code not in VERDICTS:
            raise SystemExit(f"activeeval {words} ended with {code}\n{told}")
        rows = [number(json.loads(line)) for line in printed.splitlines() if line.startswith("{")]
        answer = {"code": code, "rows": rows} if rows else {"code": code, "text": printed.splitlines()}
        self.answers[" ".join(arguments)] = answer


def of_commands(grades: dict[tuple[str, str], int]) -> dict[str, dict]:
    """Call every command that answers on the files of `write_collection`; see `Commands.answers`."""
    call = Commands()
    _write_more(grades)
    pair = f"--run new60.run --versus-run old60.run --max-grade {MAX_GRADE} --measure DCG@10"
    call("score all.qrels new60.run DCG@10 nDCG@10 AP ERR(max_rel=3)@10 --run old60.run")
    call("score known.qrels new60.run DCG@5 --versus old60.run")
    call("compare old60.run new60.run --qrels all.qrels --measure DCG@10 --margin 0.2")
    call("compare old60.run new60.run --qrels known.qrels --unjudged irrelevant --measure P@5")
    call("agreement ann.csv bob.csv")
    call("""coherence DCG "DCG(dcg='log2')" --grades 3,3,2,2,1,1,0,0""")
    call(f"plan {pair} --model uniform --seed 5")
    call(f"plan {pair} --model uniform --half-width 1 --seed 5")
    call(
        "simulate --run new60.run --versus-run old60.run --qrels all.qrels --measure DCG@10 --model uniform"
        " --budget 100 --repetitions 20 --seed 5"
    )
    sampled = f"sample {pair} --grader machine.qrels --budget 150 --seed 5 --out b.sample --sheet b.csv"
    call(sampled, is_text=True)
    judge("b.csv", grades, n_cannot=2)
    for scope in ("pool", "population"):
        call(f"estimate b.sample b.csv --scope {scope}")
    call("audit b.sample b.csv --grader machine.qrels")
    call("top-up b.sample --budget 40 --out more.sample --sheet more.csv", is_text=True)
    judge("more.csv", grades)
    call("estimate more.sample b.csv more.csv")
    call(f"campaign create week {pair} --model uniform --budget 60 --seed 5")
    call("campaign next week --out week.csv")
    judge("week.csv", grades, n_cannot=1)
    call("campaign import week week.csv --judge ann")
    for name in ("status", "estimate", "verify"):
        call(f"campaign {name} week")
    call("campaign audit week --grader machine.qrels")
    call("campaign export week --format jsonl", is_text=True)
    call("campaign top-up week --budget 20")
    call("campaign report week --out week.json")
    settings = f"--measure DCG@10 --max-grade {MAX_GRADE} --budget-per-night 40 --margin 0.3 --seed 5"
    call(f"watch init nights {settings}")
    for day, name in enumerate(("old60.run", "new60.run", "third60.run"), 1):
        call(f"watch night nights --run {name} --date 2026-01-0{day} --oracle all.qrels")
    call("watch status nights")
    call("watch estimate nights")
    call("queries draw log.csv --n 10 --seed 5 --out drawn.csv", is_text=True)
    call("gains learn prefs.jsonl --out gains.json")
    call("gains show gains.json")
    return call.answers


def _write_more(grades: dict[tuple[str, str], int]) -> None:
    """Write complete judgments, a machine's, two judges', a log of queries, and preferences."""
    random = np.random.default_rng(3)
    mine = {pair: grade for pair, grade in grades.items() if int(pair[0][1:]) < N_QUERIES}
    Path("all.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in mine.items()), "utf-8")
    noisy = {pair: int(np.clip(g + random.integers(-1, 2), 0, MAX_GRADE)) for pair, g in mine.items()}
    Path("machine.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in noisy.items()), "utf-8")
    for judge, chance in (("ann", 0.1), ("bob", 0.3)):
        rows = [
            f"{q},{d},{min(g + int(random.random() < chance), MAX_GRADE)},{judge}\n"
            for (q, d), g in [*mine.items()][::5]
        ]
        Path(f"{judge}.csv").write_text("query_id,doc_id,grade,judge\n" + "".join(rows), "utf-8")
    counts = [f"what is {q},{int(n)}\n" for q, n in enumerate(random.integers(1, 50, 40))]
    Path("log.csv").write_text("query,count\n" + "".join(counts), "utf-8")
    prefs = []
    for q in range(30):
        of_query = [(grade, d) for (query, d), grade in mine.items() if query == f"q{q}"]
        better = sorted(of_query, reverse=True)[:5]
        first, second = [g for g, _ in better], [g for g, _ in better[::-1]]
        prefs.append(json.dumps({"query": f"q{q}", "preferred": first, "other": second, "tie": False}) + "\n")
    Path("prefs.jsonl").write_text("".join(prefs), "utf-8")


def intended(name: str) -> bool:
    """Whether a difference is one that the repository lists."""
    lines = INTENDED.read_text("utf-8").splitlines() if INTENDED.exists() else []
    patterns = [line.split("|")[1].strip() for line in lines if line.startswith("| `")]
    return any(fnmatch(name, pattern.strip("`")) for pattern in patterns)


def differences(before: dict, now: dict) -> list[str]:
    """List the names of answers, and of the fields in them, that differ between two checkouts."""
    names = []
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict) and "rows" in old and "rows" in new:
            if old["code"] != new["code"]:
                names.append(f"{name}: code {old['code']} → {new['code']}")
            if len(old["rows"]) != len(new["rows"]):
                names.append(f"{name}: {len(old['rows'])} → {len(new['rows'])} rows")
            for k, (first, second) in enumerate(zip(old["rows"], new["rows"], strict=False)):
                fields = [field for field in {**first, **second} if first.get(field) != second.get(field)]
                names += [f"{name}: row {k}, {f}: {first.get(f)!r:.60} → {second.get(f)!r:.60}" for f in fields]
        else:
            names.append(name)
    return [name for name in names if not intended(name)]


def main() -> None:
    """Write digests, or compare them with those of another checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the digests")
    parser.add_argument("--against", type=Path, help="digests of another checkout")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--only", choices=("samples", "commands"))
    options = parser.parse_args()
    before = json.loads(options.against.read_text("utf-8")) if options.against else None
    out = options.out and options.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        grades = write_collection()
        digests = {} if options.only == "commands" else samples(options.seed, grades)
        commands = {} if options.only == "samples" else of_commands(grades)
        os.chdir("/")
    n_samples = sum(name.startswith("sample") for name in digests)
    print(f"{n_samples} samples, {len(digests) - n_samples} answers, {len(commands)} commands")
    digests |= commands
    if out:
        out.write_text(json.dumps(digests, indent=1) + "\n", "utf-8")
    if before is not None:
        differ = differences(before, digests)
        print(*(f"differs: {name}" for name in differ), f"{len(differ)} differences", sep="\n")
        sys.exit(bool(differ))


if __name__ == "__main__":
    main()
