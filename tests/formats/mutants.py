"""Mutants of small sound files, fed to every reader in a process whose memory and time are limited.

    python tests/formats/mutants.py KIND COUNT SEED FOLDER

prints a line of JSON for every mutant that ends in anything but a value or an error of one line; the mutant that is
being read stands in FOLDER, so that one which ends the process is found there.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from activeeval import METHODS, Campaign, QueryPool, Rankings, Target, parse_measure
from activeeval.core.errors import ActiveEvalError
from activeeval.formats.arrays import read_arrays, write_arrays
from activeeval.formats.gains import read_gains
from activeeval.formats.loading import load_probabilities, load_qrels, load_run, pool_from_tables, read_costs
from activeeval.formats.sample_file import read_campaign, to_arrays
from activeeval.formats.tables.clicks import read_clicks
from activeeval.formats.tables.draws import read_draws
from activeeval.formats.tables.segments import read_segments
from activeeval.formats.tables.text_tables import DOCUMENTS, read_texts
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores
from activeeval.formats.text.traffic import read_traffic
from activeeval.formats.text.trec import read_prels
from activeeval.formats.writing import AtomicFiles
from activeeval.gains import load_preferences

SECONDS, ROOM = 10, 1 << 30
"""Of the processor for one mutant, and bytes of address space for all that a reader takes beside what was held."""
MOST_BYTES = 1 << 20
"""Of a mutant: lines that repeat a thousand times grow fast."""
LONGEST = 1500
"""Letters of an error."""
WORDS = """--1 nan inf -Infinity 1e999 -1e-999 0x1F 1_0 1,5 ٣ NULL 1e-1000000 18446744073709551616 1001 "" '=1+1
qid: qid:1 1:2 1: :1 0:1 999999999:1 null true {"a":1,"a":2} "\\ud800" @file"""
NASTY = [
    *("", "\r\n", "\n\n", "# docid =", *WORDS.split()),
    *" -+.e\0\ufeff\u2028\u0085\u200b𝔘\x7f\r\n\t,;\"'#{}[]@()",
    *("9" * 18, "9" * 400, "9" * 5000, "0." + "0" * 3000 + "1e1000000", "x" * 4096, "x" * 4097, "é" * 3000),
    *("[" * 2000, "-" * 3000),
]
VALUES = [None, "", "q1", "d1", "x" * 5000, "\0", "🔎", 0, 1, -1, 2**40, 10**15, 0.5, float("nan"), float("inf"), True]

RUN = "".join(f"q{q} Q0 d{d} {d} {10 - d}.{q}5 tag\n" for q in range(3) for d in range(4)).encode()
QRELS = "".join(f"q{q} 0 d{d} {d % 3}\n" for q in range(3) for d in range(4)).encode()
LETOR = "".join(
    f"{d % 3} qid:{q} 1:{d} 2:0.{q}5 3:-1e-3 5:NULL #docid = d{d} inc = 1\n" for q in range(3) for d in range(4)
).encode()
PAIRS = [(q, d) for q in range(3) for d in range(4)]
ROWS = {
    "qrels": [{"query_id": f"q{q}", "doc_id": f"d{d}", "relevance": d % 3} for q, d in PAIRS],
    "run": [{"qid": f"q{q}", "docno": f"d{d}", "score": 5.5 - d, "rank": d} for q, d in PAIRS],
    "probs": [{"query_id": f"q{q}", "doc_id": f"d{d}", "p0": 0.5, "p1": 0.25, "p2": 0.25} for q, d in PAIRS],
    "costs": [{"query_id": f"q{q}", "doc_id": f"d{d}", "cost": 1.5} for q, d in PAIRS],
    "clicks": [
        {"query": f"q{q}", "doc_id": f"d{d}", "position": d + 1, "impressions": 9, "clicks": d} for q, d in PAIRS
    ],
    "segments": [{"query_id": f"q{q}", "segment": f"s{d}"} for q, d in PAIRS],
    "texts": [{"id": f"d{d}{q}", "title": "a title", "text": "some text, with a comma"} for q, d in PAIRS],
    "draws": [
        {"sample": "abc", "block": 1, "query_id": f"q{q}", "doc_id": f"d{d}", "judge": "", "grade": "1", "note": ""}
        for q, d in PAIRS
    ],
    "pairs": [{"query": f"q{q}", "preferred": [2, 1, d % 3], "other": [0, 1, 1], "tie": d == 2} for q, d in PAIRS],
    "asked": [{"first": "2 1 0", "second": "0 1 2", "answer": "first"} for _ in PAIRS],
}
GAINS = json.dumps(
    {
        "gains": [0, 1, 3.5],
        "discounts": [1, 0.5],
        "weights": [[0, 1, 3.5], [0, 0.5, 1.75]],
        "rank_one_share": 0.6,
        "cautions": ["few pairs"],
        "intervals": {"confidence": 0.95, "gains": [[0, 1, 3], [0, 1, 4]], "discounts": [[1, 0.4], [1, 0.6]]},
    }
).encode()
MEASURES = [
    "nDCG@10",
    "nDCG(dcg='exp-log2')@5",
    "ERR(max_rel=4)@20",
    "RBP(p=0.9,rel=2)",
    "P(rel=1)@5",
    "ndcg_cut_10",
    "AP(rel=1)",
    "Additive(gains={0:0,1:1},discounts=[1,0.5])@2",
    "Judged@10",
    "dcg_burges@10",
]


def in_csv(rows: list[dict], separator: str = ",") -> bytes:
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]), delimiter=separator, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue().encode()


def in_jsonl(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def in_parquet(rows: list[dict]) -> bytes:
    content = io.BytesIO()
    try:
        frame = pl.DataFrame(rows, strict=False, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):  # cells of kinds that no column holds together
        frame = pl.DataFrame([{name: str(cell) for name, cell in row.items()} for row in rows])
    frame.write_parquet(content)
    return content.getvalue()


def in_xlsx(rows: list[dict]) -> bytes:
    from openpyxl import Workbook

    book, content = Workbook(), io.BytesIO()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def a_sample() -> bytes:
    pool = QueryPool([f"q{q}" for q in range(6)], np.arange(7) * 4, [f"d{z}" for z in range(24)])
    ranking = Rankings.from_scores(pool, np.arange(24.0))
    design = METHODS["items"].design(Target(parse_measure("DCG@3"), ranking), np.full((24, 3), 1 / 3), budget=6)
    path = Path(sys.argv[4]) / "whole.sample"
    with AtomicFiles() as files:
        write_arrays(path, to_arrays(Campaign(design, rng=0)), files)
    return path.read_bytes()


def scored(path: Path) -> None:
    """Read a run and bring it onto a pool."""
    run = load_run(path)
    pool_from_tables(None, [run], evaluated=1)


def texts(path: Path) -> None:
    read_texts(path, DOCUMENTS, {"d00"})


def preferences(path: Path) -> None:
    data = load_preferences(path)
    data.n_levels  # noqa: B018


def as_measure(path: Path) -> None:
    parse_measure(path.read_bytes().decode("utf-8", "replace"))


KINDS: dict[str, tuple[Callable[[Path], object], str, Callable[[], bytes]]] = {
    "run": (scored, ".run", lambda: RUN),
    "packed run": (scored, ".run.gz", lambda: gzip.compress(RUN)),
    "qrels": (load_qrels, ".qrels", lambda: QRELS),
    "prels": (read_prels, ".prels", lambda: b"q d 1 1 0.5\nq e 0 2 1\nr d 1 1 1e-3\n"),
    "scores": (read_scores, ".score", lambda: b"1\n-0.5\n1e-7\n12345678901234567890\n0\n"),
    "costs": (read_costs, ".costs", lambda: b"1\n2.5\n1e3\n"),
    "traffic": (read_traffic, ".tsv.txt", lambda: b"q1 5\nq2 1.5\nq3 1e3\n"),
    "segments": (read_segments, ".txt", lambda: b"q1 head\nq2 tail\nq2 head\n"),
    "LETOR": (read_letor, ".txt", lambda: LETOR),
    "labels": (lambda path: read_letor(path, features=False), ".txt", lambda: LETOR),
    "gains": (read_gains, ".json", lambda: GAINS),
    "measures": (as_measure, ".txt", lambda: MEASURES[RANDOM.integers(len(MEASURES))].encode()),
    "arrays": (read_arrays, ".npz", lambda: SAMPLE),
    "sample": (lambda path: read_campaign(str(path)), ".sample", lambda: SAMPLE),
    **{
        f"{what} {suffix}": (reader, suffix, lambda rows=ROWS[what], form=form: form(rows))
        for what, reader, forms in (
            ("qrels", load_qrels, (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")),
            ("run", scored, (".csv", ".jsonl", ".parquet", ".jsonl.gz")),
            ("probs", load_probabilities, (".csv", ".jsonl", ".parquet")),
            ("costs", read_costs, (".csv", ".parquet")),
            ("clicks", read_clicks, (".csv", ".jsonl", ".parquet")),
            ("segments", read_segments, (".csv", ".jsonl")),
            ("texts", texts, (".csv", ".jsonl", ".parquet")),
            ("draws", read_draws, (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")),
            ("pairs", preferences, (".jsonl", ".parquet")),
            ("asked", preferences, (".csv", ".jsonl")),
        )
        for suffix in forms
        for form in (
            {
                ".csv": in_csv,
                ".tsv": lambda rows: in_csv(rows, "\t"),
                ".jsonl": in_jsonl,
                ".jsonl.gz": lambda rows: gzip.compress(in_jsonl(rows)),
                ".parquet": in_parquet,
                ".xlsx": in_xlsx,
            }[suffix],
        )
    },
}
BINARY = (".parquet", ".xlsx", ".npz", ".sample", ".gz")
RANDOM = np.random.default_rng(0)
SAMPLE = b""


def mutant(whole: bytes, suffix: str, rng: np.random.Generator) -> bytes:
    """Return a content changed in one to four ways."""
    is_binary = suffix.endswith(BINARY)
    content = gzip.decompress(whole) if suffix.endswith(".gz") and rng.random() < 0.5 else whole
    packs_again = content is not whole
    ways = [flipped, cut, doubled_slice] if is_binary and not packs_again else WAYS
    for _ in range(rng.integers(1, 5)):
        content = ways[rng.integers(len(ways))](content, rng)[:MOST_BYTES]
    return gzip.compress(content, 1) if packs_again else content


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if changed:
            changed[rng.integers(len(changed))] = rng.choice([rng.integers(256), 0, 0xFF, 0x0A, 0x22])
    return bytes(changed)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = np.sort(rng.integers(0, len(content) + 1, 2))
    return content[:stop] if rng.random() < 0.5 else content[:start] + content[min(start + 3, stop) :]


def doubled_slice(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = np.sort(rng.integers(0, len(content) + 1, 2))
    return content[:stop] + content[start:stop] + content[stop:]


def lines_changed(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    i, j = rng.integers(len(lines), size=2)
    way = rng.integers(4)
    if way == 0:
        lines.insert(j, lines[i])
    elif way == 1:
        del lines[i]
    elif way == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] *= int(rng.integers(2, 200))
    return b"".join(lines)


def token_changed(content: bytes, rng: np.random.Generator) -> bytes:
    pieces = re.split(rb"([\s,:;\"{}\[\]()=]+)", content)
    nasty = NASTY[rng.integers(len(NASTY))].encode("utf-8", "surrogatepass")
    i = int(rng.integers(len(pieces)))
    pieces[i] = nasty if rng.random() < 0.6 else pieces[i] + nasty
    return b"".join(pieces)


def key_repeated(content: bytes, rng: np.random.Generator) -> bytes:
    pieces = re.split(rb"([,\t}])", content)
    i = int(rng.integers(len(pieces)))
    pieces.insert(i, pieces[int(rng.integers(len(pieces)))])
    return b"".join(pieces)


WAYS = [flipped, cut, doubled_slice, lines_changed, token_changed, token_changed, token_changed, key_repeated]


def typed(what: str, suffix: str, rng: np.random.Generator) -> bytes:
    """Return a sound file of whose cells some hold what they should not."""
    rows = [dict(row) for row in ROWS[what]]
    names = list(rows[0])
    for _ in range(rng.integers(1, 6)):
        name, value = names[rng.integers(len(names))], VALUES[rng.integers(len(VALUES))]
        for row in rows if rng.random() < 0.3 else [rows[rng.integers(len(rows))]]:
            row[name] = value if suffix != ".xlsx" or value != "\0" else "x"
    return (in_parquet if suffix == ".parquet" else in_xlsx)(rows)


def problem_of(read: Callable[[Path], object], path: Path) -> str:
    """Return what is wrong with how a reader ends, nothing where it is as it should be."""
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        read(path)
    except ActiveEvalError as told:
        lines = getattr(told, "lines", (str(told),))  # of several places a line each
        is_short = all("\n" not in line and len(line) < LONGEST for line in lines)
        return "" if is_short else f"told at length: {told}"[:300]
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def out_of_time(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def limit_memory() -> None:
    """Let the process take so much more address space than it has."""
    held = int(re.search(r"VmSize:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))


def main() -> None:
    global RANDOM, SAMPLE
    kind, count, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    read, suffix, whole = KINDS[kind]
    if kind in ("arrays", "sample"):
        SAMPLE = a_sample()
    RANDOM = rng = np.random.default_rng([seed, *kind.encode()])
    path = folder / f"mutant{suffix}"
    path.write_bytes(whole())
    read(path)  # which compiles what it needs, too
    signal.signal(signal.SIGPROF, out_of_time)
    limit_memory()
    for number in range(count):
        has_types = suffix in (".parquet", ".xlsx") and rng.random() < 0.5
        content = typed(kind.split()[0], suffix, rng) if has_types else mutant(whole(), suffix, rng)
        path.write_bytes(content)
        if problem := problem_of(read, path):
            kept = folder / f"{kind.replace(' ', '-')}-{number}{suffix}"
            kept.write_bytes(content)
            print(json.dumps({"kind": kind, "mutant": str(kept), "problem": problem}))


if __name__ == "__main__":
    main()
