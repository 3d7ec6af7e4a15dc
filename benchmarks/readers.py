"""Reading LETOR text: this package, scikit-learn's reader and polars, in MB of text a second."""

from __future__ import annotations

import gzip
import re
import statistics
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from activeeval.formats.text.letor import read_letor
from benchmarks.frame.report import figure
from benchmarks.machine import data_folder, seconds

SAMPLES = ("mslr_fold1_train_sample.from_pickle.txt.gz", "mslr_fold1_valid_sample.txt.gz")
SLICE_MB = 20
ROUNDS = 5


def sample_text() -> bytes:
    """Return LETOR text of MSLR's shape."""
    paths = (data_folder() / "mslr-sample" / name for name in SAMPLES)
    return b"".join(gzip.decompress(path.read_bytes()).replace(b"\r\n", b"\n") for path in paths)


def repeat_to(path: Path, text: bytes, megabytes: int) -> float:
    """Write the text again and again with new query ids until the file is large enough; return its MB."""
    copies = int(megabytes * 1e6 // len(text)) + 1
    with path.open("wb") as handle:
        for k in range(copies):
            handle.write(re.sub(rb" qid:", b" qid:%03d" % k, text))
    return path.stat().st_size / 1e6


def read_with_polars(path: Path) -> pl.DataFrame:
    """Split lines at spaces into columns of text; the ``index:value`` pairs are not parsed."""
    return pl.read_csv(
        path, separator=" ", has_header=False, infer_schema=False, quote_char=None, truncate_ragged_lines=True
    )


def parse_with_polars(path: Path) -> pl.DataFrame:
    """Split lines at spaces and turn what follows each colon into a number."""
    pairs = pl.all().exclude("column_1", "column_2")
    return read_with_polars(path).with_columns(pairs.str.split(":").list.last().cast(pl.Float64, strict=False))


def time_readers(megabytes: int) -> dict:
    """Time every reader on plain files in a temporary folder; the files are in the system's cache."""
    text = sample_text()
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.txt", Path(folder) / "part.txt"
        sizes = {whole: repeat_to(whole, text, megabytes), part: repeat_to(part, text, min(SLICE_MB, megabytes))}
        cases = {
            "labels and query ids": (whole, lambda: read_letor(whole, features=False), {"at_least": 300}, ""),
            "labels, query ids, 136 features": (whole, lambda: read_letor(whole), {"at_least": 150}, ""),
            "polars: columns of text, nothing parsed": (whole, lambda: read_with_polars(whole), {}, ""),
            "polars: pairs split and parsed": (part, lambda: parse_with_polars(part), {}, "on a slice"),
            "scikit-learn load_svmlight_file": (
                part, lambda: load_svmlight_file(str(part), query_id=True), {}, "on a slice"
            ),
        }  # fmt: skip
        check_agreement(part)
        times = {name: [] for name in cases}
        cases["labels and query ids"][1]()
        cases["labels, query ids, 136 features"][1]()
        for _ in range(ROUNDS):
            for name, (_, call, _, _) in cases.items():
                times[name].append(seconds(call))
    rows = []
    for name, (path, _, target, note) in cases.items():
        median, best = statistics.median(times[name]), min(times[name])
        spread = f"best {sizes[path] / best:,.0f}" + (f", {note}" if note else "")
        details = {"best": sizes[path] / best, "file_mb": sizes[path], "median_s": median, "note": spread}
        rows.append(figure(name, sizes[path] / median, "MB/s", **target, **details))
    return {"rounds": ROUNDS, "figures": rows}


def check_agreement(path: Path) -> None:
    """Stop where this reader and scikit-learn's do not return the same numbers."""
    ours = read_letor(path)
    features, grades, _ = load_svmlight_file(str(path), query_id=True)
    if not (np.array_equal(ours.features, features.toarray()) and np.array_equal(ours.grades, grades)):
        raise SystemExit(f"{path.name}: the readers disagree")
