"""What a small file may take: peak memory and time of a process of its own, where it once took gigabytes, or no end.

The most resident memory (`VmHWM`) is what is bounded, the interpreter, numba and polars among it: `ru_maxrss` would
have that of the process which started it too. Seconds are those of the processor: others may use the machine.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from activeeval.core.errors import InputError
from activeeval.core.measures import parse_measure
from activeeval.formats.files import MOST_PARSED, MOST_UNPACKED

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")

MOST_MB, MOST_SECONDS = 600, 20
LONG = "x" * 130_000
SCRIPT = """
import re, time
from activeeval import InputError
from activeeval.formats import arrays, gains, loading
from activeeval.formats.tables import sheets
from activeeval.formats.text import letor, scores, trec
from activeeval.campaigns import scripted_judge
start = time.process_time()
try:
    print({call})
except InputError as problem:
    print(problem)
seconds = time.process_time() - start
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024, seconds)
"""


def said_and_peak_mb(call: str, path="") -> tuple[str, int]:
    script = SCRIPT.format(call=call.replace("PATH", repr(str(path))))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said, figures = done.stdout.strip().splitlines()
    peak, seconds = figures.split()
    assert float(seconds) < MOST_SECONDS
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


def many_rows_packed(path):
    pl.select(pl.int_range(0, 30_000_000) // 30_000_000).rename({"literal": "query_id"}).with_columns(
        doc_id=pl.lit("d"), relevance=pl.lit(1)
    ).write_parquet(path, compression="zstd")


def repeated_long_texts(path):
    pl.DataFrame({"query_id": [str(i) for i in range(9000)], "doc_id": ["y" * 100_000] * 9000, "relevance": [1] * 9000}
                 ).write_parquet(path, compression="zstd")  # fmt: skip


def single_vast_text(path):
    """One row, so that neither rows nor cells say how large it is."""
    pl.DataFrame({"query_id": ["q"], "doc_id": ["y" * (1 << 28)], "relevance": [1]}).write_parquet(path)


def names_of_their_own(n_rows):
    return lambda path: path.write_text("".join(f'{{"own{i}": 1}}\n' for i in range(n_rows)))


def packed(start, line, n_bytes, end=b""):
    """Write lines of a number of bytes, packed by hundreds."""

    def write(path):
        with gzip.open(path, "wb", 6) as handle:
            handle.write(start)
            for _ in range(max(n_bytes >> 20, 1)):
                handle.write(line * (min(n_bytes, 1 << 20) // len(line)))
            handle.write(end)

    return write


def many_names_packed(path):
    path.write_bytes(gzip.compress(",".join(f"c{i}" for i in range(2_000_000)).encode() + b"\n1,2\n"))


def arrays_of_zeros(path):
    np.savez_compressed(path, zeros=np.zeros(1 << 27))


def sheet_of_cells(cells, n_cells):
    """Return what writes a worksheet of one row that repeats its cells."""
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'

    def write(path):
        openpyxl = pytest.importorskip("openpyxl")
        openpyxl.Workbook().save(path)
        with zipfile.ZipFile(path) as sound:
            entries = {name: sound.read(name) for name in sound.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries.items():
                is_sheet = name.endswith("sheet1.xml")
                archive.writestr(name, head + cells * n_cells + b"</sheetData></worksheet>" if is_sheet else content)

    return write


def endless(path):
    path.symlink_to("/dev/zero")


def wide_lines_packed(path):
    path.write_bytes(gzip.compress(b"1 qid:1 900000:1\n" * 600))


UNPACKS, QRELS, RUN = "unpacks to ", b"query_id,doc_id,relevance\n", "loading.load_run(PATH)"
LOAD, SCORES, LETOR = "loading.load_qrels(PATH)", "scores.read_scores(PATH).size", "letor.read_letor(PATH).n_items"
GAINS, SCRIPT_OF, ARRAYS = "gains.read_gains(PATH)", "scripted_judge.script_of(PATH)", "arrays.read_arrays(PATH)"
CELL, TOO_FAR = b"<row><c><v>1</v></c></row>", b'<row r="9999999"><c r="A9999999"><v>1</v></c></row>'
THREE = b"1 qid:1 1:0 2:0 3:0\n"
ROW, ROWS_OF_COMMAS = b"q Q0 d 1 1 t\n", b"q,d,1" + b"," * 9999 + b"\n"
ENDLESS = "is a device that does not end, expected a file"
CASES = {
    "3,000 names of their own": (names_of_their_own(3000), "a.jsonl", LOAD, "no grade column in: own0"),
    "12,000 names of their own": (names_of_their_own(12_000), "a.jsonl", LOAD, "no grade column in: own0"),
    "70,000 names of their own": (names_of_their_own(70_000), "a.jsonl", LOAD, "a.jsonl:65537: 65537 columns"),
    "two million names": (many_names_packed, "a.csv.gz", LOAD, "a.csv.gz:1: 2000000 columns, expected at most 65536"),
    "rows of CSV": (packed(QRELS, b"q,d,1\n", 1 << 26), "a.csv.gz", LOAD, UNPACKS),
    "rows of CSV within bounds": (packed(QRELS, b"q,d,1\n", MOST_PARSED - 999), "a.csv.gz", LOAD, "is there twice"),
    "one column of TSV": (packed(b"query_id\n", b"1\n", MOST_PARSED - 999), "a.tsv.gz", LOAD, "no grade column"),
    "empty cells": (packed(QRELS, ROWS_OF_COMMAS, 1 << 26), "a.csv.gz", LOAD, UNPACKS),
    "empty objects": (packed(b"", b"{}\n", 1 << 26), "a.jsonl.gz", LOAD, UNPACKS),
    "objects within bounds": (packed(b"", b"{}\n", MOST_PARSED - 9), "a.jsonl.gz", LOAD, "no grade column in: no"),
    "a list": (packed(b'{"x":[', b"{},", MOST_PARSED - 99, b"1]}"), "a.jsonl.gz", LOAD, "no grade column in"),
    "brackets": (packed(b"", b"[", MOST_PARSED - 9), "a.jsonl.gz", LOAD, "nested too deeply"),
    "gains of lists": (packed(b'{"gains":[', b"[],", 1 << 26), "a.json.gz", GAINS, UNPACKS),
    "lines of a run": (packed(b"", ROW, 1 << 26), "a.run.gz", RUN, UNPACKS),
    "lines of a run within bounds": (packed(b"", ROW, MOST_UNPACKED - 9), "a.gz", RUN, "is there twice"),
    "lines of judgments": (packed(b"", b"q 0 d 1\n", MOST_UNPACKED - 9), "a.gz", LOAD, "is there twice"),
    "scripted judge": (packed(b"", b"#\n", 1 << 27), "a.gz", SCRIPT_OF, UNPACKS),
    "scores": (packed(b"", b"1\n", MOST_UNPACKED - 2), "a.gz", SCORES, "7864320"),
    "short lines of LETOR": (packed(b"", b"1 qid:1\n", MOST_UNPACKED), "a.gz", LETOR, "2097152"),
    "wide lines of LETOR": (wide_lines_packed, "a.gz", LETOR, "601 lines of 900000 features"),
    "arrays of a gigabyte": (arrays_of_zeros, "a.npz", ARRAYS, UNPACKS),
    "cells without places": (sheet_of_cells(CELL, 9_000_000), "a.xlsx", LOAD, UNPACKS),
    "such cells within bounds": (sheet_of_cells(CELL, 600_000), "a.xlsx", LOAD, "no grade column"),
    "a row behind all others": (sheet_of_cells(TOO_FAR, 1), "a.xlsx", LOAD, "its cells go to row 9999999"),
    **{
        f"zeros as {name}": (endless, name, call, ENDLESS)
        for calls in (
            dict.fromkeys(("a.csv", "a.jsonl", "a.parquet", "a.xlsx"), LOAD),
            {"a.run": RUN, "a.txt": LETOR, "a.sample": ARRAYS, "a.json": GAINS, "a.qrels": SCRIPT_OF},
        )
        for name, call in calls.items()
    },
    "an id of 130 KB in CSV": (one_long_id, "a.csv", LOAD, "a.csv:9: column doc_id: holds an id of"),
    "an id of 130 KB in parquet": (one_long_id_packed, "a.parquet", LOAD, "row 8, column doc_id"),
    "a gzip file of 900 MB": (packed(b"", THREE, 900 << 20), "a.txt.gz", LETOR, "unpacks to more than"),
    "a gzip file within bounds": (packed(b"", THREE, MOST_UNPACKED), "a.txt.gz", LETOR, "838848"),
    "parquet of 30 million rows": (many_rows_packed, "a.parquet", LOAD, "unpacks to more than"),
    "parquet of long texts": (repeated_long_texts, "a.parquet", LOAD, "unpacks to more than"),
    "parquet of a single text": (single_vast_text, "a.parquet", LOAD, "unpacks to more than"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_small_file_takes_little_memory(tmp_path, case):
    write, name, call, expected = CASES[case]
    write(tmp_path / name)
    said, peak = said_and_peak_mb(call, tmp_path / name)
    assert expected in said
    assert peak < MOST_MB, f"{peak} MB"


@pytest.mark.parametrize("case", ["zeros as a.run", "a row behind all others"])
def test_what_is_soon_refused_takes_little_memory(tmp_path, case):
    test_a_small_file_takes_little_memory(tmp_path, case)


def test_a_measure_of_a_vast_scale_is_refused_before_anything_is_made_of_it():
    tracemalloc.start()
    with pytest.raises(InputError, match=r"'ERR\(max_rel=500000000\)': max_grade must be at most 1000, got 500000000$"):
        parse_measure("ERR(max_rel=500000000)")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
