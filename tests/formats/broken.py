"""Files that are broken, each with the reader that meets it and the line that it must say.

Those that are short texts stand in ``broken-files.jsonl``: reader, name of the file, its text, and what the error says
behind the file's name, in which ``*`` is anything. The others are made here.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import zipfile
from pathlib import Path

from activeeval.formats.arrays import read_arrays
from activeeval.formats.comparisons import comparisons_of, truths_of
from activeeval.formats.gains import read_gains
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_probabilities, load_qrels, load_run, read_costs
from activeeval.formats.tables.clicks import read_clicks
from activeeval.formats.tables.draws import read_draws
from activeeval.formats.tables.query_log import load_query_log
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.segments import read_segments
from activeeval.formats.tables.text_tables import DOCUMENTS, read_texts
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores
from activeeval.formats.text.traffic import read_traffic
from activeeval.formats.text.trec import read_prels, read_qrels, read_run
from activeeval.gains import load_preferences

READERS = {
    reader.__name__: reader
    for reader in (
        *(read_letor, read_scores, read_qrels, read_run, read_prels, read_costs, read_draws, read_gains, read_clicks),
        *(load_qrels, load_run, load_probabilities, load_preferences, load_query_log, labels_of, read_arrays),
        *(read_segments, read_traffic),
    )
} | {
    "read_labels": lambda path: read_letor(path, features=False),
    "read_121_scores": lambda path: read_scores(path, 121, "S1.txt"),
    "read_grades": Grades.read,
    "read_documents": lambda path: read_texts(path, DOCUMENTS, {"1"}),
    "read_comparisons": lambda path: comparisons_of(read_sheet(path)),
    "read_truth": lambda path: truths_of(read_sheet(path)),
}
ROW = b"1 qid:7 1:0.5 2:1\n"
DAMAGED = base64.b85decode(
    "P(e~L6$BLu6$(rh0u=xN009610C5!n6%Z8=EENV75ETX$1^@s8000060fYk;3>h^51`rt-1953&6#y0n7FHHkCM+fh02Krk9u*!;6$TXm000"
    "31003bD0001D0RR91V-)}u6crRK6$TX$6$TXs00062000I70s|xf6$}|Q00s~l7zJc+V{UI102T%oZWeAP$^j;l0RR;M6+9I@EENV702Kxm1"
    "^@s8000060RR910002+KL7v#00000KmY&$00008KotrZB>)B)7zJ}<Z*pZ702T%oUKU;^yaE6j92P7UG8O;;02v$>$^jKN761SM85|b80u^2"
    "s0000L0vSw51afb0bQJ~w6$~W;7z1%>WF-Jh8~^|S6$~W;7zJc+V{UIH08AVJ000#VB?1@)b7OCEWdIfi85|irCV~MR6$}|Q00s~l7z1%>WE"
    "B7w1{PKpRwgVa2mlt&0~HhiCb$9|6$}|Q00s~l7zJc+V{UI102T%oZWeAP$^j;l0RR@_0~HnkCYl2r6$%+800tQt1#@F>a%B|&76ukx7G5U2"
    "0st2H0~Hnk7NP<c1||p=q5>2E02v$@3_(&-Pggo~V`yb<VHlhOFE1}IFF1EWK|w)9K|w)5ICd{DFL+TwK|w)9K|w`9K|w)FK|ymtLqS1HK|x"
    "VLD^M>lFL!rAK|w)DK|yChK|w)9K|xJHK|w-mK|w)5PeDOJK|xVLK|w=RFE1}INkKtDK|(=6K|w)DK|w)5K~YUXK|w)5K|w?|FE1}IL1#fnK"
    "|xtTLP0@BK|w)5V=_*5V{KJIK|w@CFE1}IM?pbBK|(=6K|w)DK|w)5K~hmcK|w)5K|w@CFE1}ILQz3MK}S+{Su!<tK|w)5H&8DxFL`%CK|w)"
    "hK|w)5M?pbBK|w`TK|w)LK|)DELP0@MK|)1ALqS17K|yyxK|w)5K~Q=xFE2PnK|xVLL3cqxK}be$T0ucQ02oeCZ){<5b08>id30!RZYdykWp"
    "Z<AZ*CwmE-@}JAShyWX>4R5H)c67GGb&iW@cnEH)duyGGs9{GB-G3Fgal|IW=ZxGG;enWn?)rDH%K*000~S02}}S07?P?08l|vF#"
)
"""A parquet file of which a byte was changed: polars panics."""


def packed_header(text: str) -> bytes:
    """Return a file of one array whose header says a text."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        header = text.encode("latin-1") + b"\n"
        packed.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return content.getvalue()


TEXT_FILES = {
    "read_letor": "a.txt",
    "read_scores": "a.score",
    "read_qrels": "a.qrels",
    "read_run": "a.run",
    "read_prels": "a.prels",
    "read_costs": "a.costs",
    "read_draws": "a.csv",
    "load_probabilities": "a.jsonl",
}
NO_TEXT = [
    (b"", r": the file is empty"),
    (b"\xef\xbb\xbf", r": the file is empty"),
    (b"1\n\x00\n", r":2: a NUL byte, expected text"),
    (b"PK\x03\x04\x00\n", r": packed, as a sample or a spreadsheet is, expected text"),
    (b"1\n2\ncaf\xe9 1\n", r":3: the bytes b'\xe9*' are not UTF-8, expected UTF-8 text*"),
    ("1 qid:1".encode("utf-16"), r":1: the text is UTF-16, expected UTF-8"),
    (gzip.compress(ROW * 999)[:-20], r": the gzip file is cut short, expected its end marker"),
    (gzip.compress(ROW)[:-8] + b"\0" * 8, r": the gzip file is broken: *"),
    (gzip.compress(ROW) + b"tail", r": the gzip file is broken: *"),
    (gzip.compress(ROW)[:10] + b"\xff" * 30, r": the gzip file is broken: *"),
]
"""What every reader of a text refuses."""


VAST = b"x" * 4097
TOO_LONG = "an id of 4097 bytes, * 4096"
NINES = b"9" * 5000
MADE = {
    ("read_letor", "a.txt"): [
        (b"1 qid:7 #docid = " + b"x" * 5000 + b"\n", ":1: an id of 5000 bytes, 'x*…', expected at most 4096"),
        (b"1 qid:7 999999999:1\n" * 9000, ": 9001 lines of 999999999 * GB, more than there is"),
        (b"1 qid:" + VAST + b" 1:1\n", f":1: {TOO_LONG}"),
    ],
    ("read_labels", "a.txt"): [
        (ROW + b"x qid:7\n", ":2: the grade 'x' is not a whole number *"),
        (ROW + b"0 qid:8\n" + ROW, ":3: query '7' has lines in *"),
    ],
    ("read_121_scores", "a.score"): [(b"1\n" * 120, ": 120 scores for 121 lines of S1.txt")],
    ("read_qrels", "a.qrels"): [(VAST + b" 0 d 1\n", f":1: {TOO_LONG}")],
    ("read_run", "a.run"): [
        (b"q Q0 " + VAST + b" 1 1 t\n", f":1: {TOO_LONG}"),
        (b"q Q0 d 1 1 " + VAST + b"\n", f":1: {TOO_LONG}"),
        (b"q Q0 d 0." + b"0" * 400 + b"1e1000000 1 t\n", ":1: *"),
        (gzip.compress(b"q Q0 d 1 1 t\n" * 6_000_000, 1), ": unpacks to more than *"),
    ],
    ("read_prels", "a.prels"): [(b"q " + VAST + b" 1 1 1\n", f":1: {TOO_LONG}")],
    ("load_qrels", "a.csv"): [(b"qid,docno," + VAST + b"\nq,d\n", ":2: 2 cells in 'q,d', *…")],
    ("load_run", "a.csv"): [(b"qid,docno,score\nq," + VAST + b",1\n", ":2: column docno: *")],
    ("load_run", "a.jsonl"): [
        (b'{"qid": 1, "score": ' + NINES + b"}", f":1: * is not JSON: a number of 5000 digits, {'9' * 20}*"),
        (b"[" * 100_000, ":1: * is not JSON: nested too deeply; *"),
        (b'{"qid": "' + VAST + b'", "docno": "d", "score": 1}', ":1: column qid: *"),
    ],
    ("load_run", "a.parquet"): [
        (DAMAGED, ": cannot be read as parquet: *"),
        (b"PAR1 and no more", ": cannot be read as parquet: *"),
        (b"", ": the file is empty"),
    ],
    ("read_gains", "a.json"): [
        (b'{"gains": [' + NINES + b"]}", ": is not JSON: a *"),
        (b'{"gains": [' + b"1," * 1001 + b'1], "discounts": [1]}', ": * 1001"),
    ],
    ("load_preferences", "a.csv"): [
        (b"first,second,answer\n1 0," + NINES + b" 0,\n", ":2: other is '9*, expected a list of grades*")
    ],
    ("read_draws", "a.csv"): [
        (b"sample,block,query_id,doc_id,grade\n1f,1,q1," + VAST + b",2\n", f":2: column doc_id: holds {TOO_LONG}")
    ],
    ("read_segments", "a.seg"): [(b"q " + VAST + b"\n", f":1: {TOO_LONG}")],
    ("read_traffic", "a.traffic"): [(VAST + b" 1\n", f":1: {TOO_LONG}")],
    ("read_documents", "a.jsonl"): [(b'{"id": ' + NINES + b"}\n", ":1: * is not JSON: *")],
    ("read_arrays", "a.npz"): [
        (packed_header(text), ": cannot be read as a file of arrays (.npz): expected a drawn sample")
        for text in ("{'descr': '<f8', 'shape': (3,", "(" * 9000, "{'descr': '<f8'}", "1" * 5000, "")
    ],
}
SHORT = list(map(json.loads, Path(__file__).with_name("broken-files.jsonl").read_text("utf-8").splitlines()))
BROKEN = [
    *((case["reader"], case["file"], case["text"].encode(), case["says"]) for case in SHORT),
    *((reader, file, content, says) for reader, file in TEXT_FILES.items() for content, says in NO_TEXT),
    *((*place, content, says) for place, cases in MADE.items() for content, says in cases),
]
