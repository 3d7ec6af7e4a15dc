"""What a small file may take: peak memory of a process of its own, below 600 MB where it once took gigabytes.

The most resident memory (`VmHWM`) is what is bounded, the interpreter, numba and polars among it: `ru_maxrss` would
have that of the process which started it too.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from activeeval.io.files import MOST_UNPACKED

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")

MOST_MB = 600
LONG = "x" * 130_000
SCRIPT = """
import re
from activeeval import InputError, measures
from activeeval.io import letor, sheets, tables, trec
try:
    print({call})
except InputError as problem:
    print(problem)
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


def said_and_peak_mb(call: str, path="") -> tuple[str, int]:
    script = SCRIPT.format(call=call.replace("PATH", repr(str(path))))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said, peak = done.stdout.strip().splitlines()
    return said, int(peak)


def one_long_id(path):
    rows = [f"q,d{i},1" for i in range(4000)]
    rows[7] = f"q,{LONG},1"
    path.write_text("query_id,doc_id,relevance\n" + "\n".join(rows) + "\n")


def one_long_id_packed(path):
    ids = ["d" * (1 + i) for i in range(300)] * 20
    ids[7] = LONG
    pl.DataFrame({"query_id": [f"q{i}" for i in range(6000)], "doc_id": ids, "relevance": [1] * 6000}).write_parquet(
        path, compression="zstd"
    )


def repetitive_lines(path):
    line = b"1 qid:1 1:0 2:0 3:0\n"
    with gzip.open(path, "wb") as handle:
        for _ in range(900):
            handle.write(line * (1_000_000 // len(line)))


def repetitive_within_bounds(path):
    line = b"1 qid:1 1:0 2:0 3:0\n"
    path.write_bytes(gzip.compress(line * (MOST_UNPACKED // len(line)), 9))


def many_rows_packed(path):
    pl.select(pl.int_range(0, 30_000_000) // 30_000_000).rename({"literal": "query_id"}).with_columns(
        doc_id=pl.lit("d"), relevance=pl.lit(1)
    ).write_parquet(path, compression="zstd")


def repeated_long_texts(path):
    pl.DataFrame({"query_id": [str(i) for i in range(9000)], "doc_id": ["y" * 100_000] * 9000, "relevance": [1] * 9000}
                 ).write_parquet(path, compression="zstd")  # fmt: skip


CASES = {
    "an id of 130 KB in CSV": (
        one_long_id,
        "a.csv",
        "tables.load_qrels(PATH)",
        "a.csv:9: column doc_id: holds an id of",
    ),
    "an id of 130 KB in parquet": (one_long_id_packed, "a.parquet", "tables.load_qrels(PATH)", "row 8, column doc_id"),
    "a gzip file of 900 MB": (repetitive_lines, "a.txt.gz", "letor.read_letor(PATH)", "unpacks to more than"),
    "a gzip file of 64 MB": (repetitive_within_bounds, "a.txt.gz", "letor.read_letor(PATH).n_items", "3355443"),
    "parquet of 30 million rows": (many_rows_packed, "a.parquet", "tables.load_qrels(PATH)", "unpacks to more than"),
    "parquet of long texts": (repeated_long_texts, "a.parquet", "tables.load_qrels(PATH)", "unpacks to more than"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_small_file_takes_little_memory(tmp_path, case):
    write, name, call, expected = CASES[case]
    write(tmp_path / name)
    said, peak = said_and_peak_mb(call, tmp_path / name)
    assert expected in said
    assert peak < MOST_MB, f"{peak} MB"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR(max_rel=500000000)", "measure 'ERR(max_rel=500000000)': max_grade must be at most 1000, got 500000000"),
        ("ERR(max_rel=1001)", "measure 'ERR(max_rel=1001)': max_grade must be at most 1000, got 1001"),
    ],
)
def test_a_measure_of_a_vast_scale_is_refused(text, expected):
    said, peak = said_and_peak_mb(f"measures.parse_measure({text!r})")
    assert said == expected
    assert peak < MOST_MB, f"{peak} MB"
