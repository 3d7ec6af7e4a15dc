"""Files that are broken, each with the reader that meets it and the line that it must say.

An entry is (name of the file, bytes, reader, regular expression); the error's text is ``<folder>/<file><rest>`` and the
expression must match all of the rest.
"""

from __future__ import annotations

import base64
import gzip
import io
import struct
import zipfile

from activeeval.formats.arrays import read_arrays
from activeeval.formats.gains import read_gains
from activeeval.formats.loading import load_probabilities, load_qrels, load_run, read_costs
from activeeval.formats.tables.draws import read_draws
from activeeval.formats.tables.segments import read_segments
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores
from activeeval.formats.text.traffic import read_traffic
from activeeval.formats.text.trec import read_prels, read_qrels, read_run
from activeeval.gains import load_preferences

ODD_WEIGHTS = b'{"gains": [0, 1], "discounts": [1, 1], "weights": [[0, 1]]}'


def read_labels(path):
    return read_letor(path, features=False)


def read_121_scores(path):
    return read_scores(path, 121, "S1.txt")


ROW = b"1 qid:7 1:0.5 2:1\n"
LINE = r"expected <grade> qid:<query> <index>:<value> …"
RUN = r"query Q0 document rank score tag"
QRELS = r"query iteration document grade"
DRAWS = b"sample,block,query_id,doc_id,grade\n"
DRAW = b"1f,1,q1,d1,2\n"
LONG = b"x" * 5000
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


def draw(**cells: bytes) -> bytes:
    """Return a sheet whose third line has some cells changed."""
    names = DRAWS.decode().strip().split(",")
    values = DRAW.strip().split(b",")
    changed = [cells.get(name, value) for name, value in zip(names, values, strict=True)]
    return DRAWS + DRAW + b",".join(changed) + b"\n"


TEXT_FILES = {
    read_letor: "a.txt",
    read_scores: "a.score",
    read_qrels: "a.qrels",
    read_run: "a.run",
    read_prels: "a.prels",
    read_costs: "a.costs",
    read_draws: "a.csv",
    load_probabilities: "a.jsonl",
}
LATIN = r":3: the bytes b'\\xe9.*' are not UTF-8, expected UTF-8 text(: .* save the sheet as CSV UTF-8)?"
NO_TEXT = [
    (b"", r": the file is empty"),
    (b"\xef\xbb\xbf", r": the file is empty"),
    (b"1\n\x00\n", r":2: a NUL byte, expected text"),
    (b"PK\x03\x04\x00\n", r": packed, as a sample or a spreadsheet is, expected text"),
    (b"1\n2\ncaf\xe9 1\n", LATIN),
    ("1 qid:1".encode("utf-16"), r":1: the text is UTF-16, expected UTF-8"),
    (gzip.compress(ROW * 999)[:-20], r": the gzip file is cut short, expected its end marker"),
    (gzip.compress(ROW)[:-8] + b"\0" * 8, r": the gzip file is broken: .+"),
    (gzip.compress(ROW) + b"tail", r": the gzip file is broken: .+"),
    (gzip.compress(ROW)[:10] + b"\xff" * 30, r": the gzip file is broken: .+"),
    (b"\n  \n\n", r": (no data lines, expected .+|the table holds no rows)"),
]
"""What every reader of a text refuses."""

VAST = b"x" * 4097
NO_GRADES = (b"-1", b"-2", b"1.5", b"good", b"nan", b"1e99", b'"1,5"', b"1_5", b"1001")
GRADE = ":3: column grade: holds '{}', expected a whole number from 0 on, empty or cannot"
CASES = {
    (read_letor, "a.txt"): [
        (b"# a\n# b\n", rf": no data lines, {LINE}"),
        (ROW + b"1.5 qid:7 1:1\n", rf":2: the grade '1.5' is not a whole number from 0 on, {LINE}"),
        (b"-1 qid:7 1:1\n", rf":1: the grade '-1' is not a whole number from 0 on, {LINE}"),
        (b"\n\nnan qid:7 1:1\n", rf":3: the grade 'nan' is not a whole number from 0 on, {LINE}"),
        (b"# c\ngood qid:7\n", rf":2: the grade 'good' is not a whole number from 0 on, {LINE}"),
        (b"9999999999 qid:7\n", rf":1: the grade '9999999999' is not a whole .*, {LINE}"),
        (b" # c\n", rf":1: the grade '#' is not a whole number from 0 on, {LINE}"),
        (ROW + b"1 1:0.5\n", rf":2: no query id at '1:0.5', {LINE}"),
        (b"1 qid: 1:0.5\n", rf":1: no query id at 'qid:', {LINE}"),
        (b"1\n", rf":1: no query id at '', {LINE}"),
        (b"1 qid:7\n1", rf":2: no query id at '', {LINE}"),
        (b"1 qid:7 5\n", r":1: '5' is not a feature, expected <index>:<value> with .*"),
        (b"1 qid:7 x:5\n", r":1: 'x:5' is not a feature, expected <index>:<value> with .*"),
        (b"1 qid:7 -1:5\n", r":1: '-1:5' is not a feature, expected .*"),
        (b"1 qid:7 99999999999:5\n", r":1: '99999999999:5' is not a feature, expected .*"),
        (b"1 qid:7 0:5\n", r":1: the feature '0:5' is out of order, expected indices from 1 on .*"),
        (ROW + b"1 qid:7 2:5 1:5\n", r":2: the feature '1:5' is out of order, expected .*"),
        (b"1 qid:7 2:5 2:6\n", r":1: the feature '2:6' is out of order, expected .*"),
        (b"1 qid:7 900:5 2:6\n", r":1: the feature '900:5' is out of order, expected .*"),
        (b"1 qid:7 1:\n", r":1: the value of feature '1:' is not a finite number, expected .* NULL"),
        (b"1 qid:7 1:NaN\n", r":1: the value of feature '1:NaN' is not a finite number, .*"),
        (b"1 qid:7 1:-inf\n", r":1: the value of feature '1:-inf' is not a finite number, .*"),
        (ROW + b"1 qid:7 1:1e999\n", r":2: the value '1e999' is too large, expected a finite number"),
        (b"1 qid:7 1:0x1F\n", r":1: the value of feature '1:0x1F' is not a finite number, .*"),
        (b"1 qid:7 1:1_0\n", r":1: the value of feature '1:1_0' is not a finite number, .*"),
        (b"1 qid:7 1:0,5\n", r":1: the value of feature '1:0,5' is not a finite number, .*"),
        (b"1 qid:7 1:1.2.3\n", r":1: the value of feature '1:1.2.3' is not a finite number, .*"),
        (b"1 qid:7 1:1e\n", r":1: the value of feature '1:1e' is not a finite number, .*"),
        (b"1 qid:7 1:NULLS\n", r":1: the value of feature '1:NULLS' is not a finite number, .*"),
        (ROW + b"0 qid:8\n" + ROW, r":3: query '7' has lines in two places, first at .*a.txt:1; expected .*"),
        (b"1 qid:7 #docid = A\n\n0 qid:7 #docid = A\n", r":3: document 'A' is twice .*a.txt:1; .*"),
        (b"1 qid:7 #docid = A\n0 qid:7\n", r":2: no document id, expected '#docid = <id>' .*"),
        (b"1 qid:7 #docid = A\n0 qid:7 #docid =\n", r":2: no document id, expected .*"),
        (b"1 qid:7 #docid = " + LONG + b"\n", r":1: an id of 5000 bytes, 'x+…', expected at most 4096"),
        (b"1 qid:7 999999999:1\n" * 9000, r": 9001 lines of 999999999 .* GB, more than there is"),
        (ROW + b"1001 qid:7 1:1\n", r":2: the grade 1001 is too large, .* 1000"),
        (b"1 qid:" + VAST + b" 1:1\n", r":1: an id of 4097 bytes, .* 4096"),
    ],
    (read_scores, "a.score"): [
        (b"1\nx\n", r":2: 'x' is not a finite number, expected: one score a line"),
        (b"1\n\nnan\n", r":3: 'nan' is not a finite number, .*"),
        (b"inf\n", r":1: 'inf' is not a finite number, .*"),
        (b"1\n2e308\n", r":2: the number '2e308' is too large, .*"),
        (b"1\n1 2\n", r":2: 2 columns in '1 2', expected 1: one score a line"),
    ],
    (read_121_scores, "a.score"): [(b"1\n" * 120, r": 120 scores for 121 lines of S1.txt")],
    (read_qrels, "a.qrels"): [
        (b"q 0 d\n", rf":1: 3 columns in 'q 0 d', expected 4: {QRELS}"),
        (b"q 0 d 1\nq 0 e 1 1\n", rf":2: 5 columns in .*, expected 4: {QRELS}"),
        (b"q 0 d 0.5\n", r":1: the grade 0.5 is not a whole number, expected one"),
        (b"q 0 d 1\nq 0 e x\n", rf":2: 'x' is not a finite number, expected: {QRELS}"),
        (b"q 0 d 1\n#\nq 0 d 1\n", r":3: document 'd' of query 'q' .* at line 1; .*"),
        (b"q 0 d 1\nr 0 d 1\nq 0 d 2\n", r":3: document 'd' .* at line 1; .*"),
        (b"q 0 d 1 # good\n", r":1: 6 columns in .*"),
        (b"q 0 d 1\nq 0 e 1001\n", r":2: the grade 1001 is too large, .* 1000"),
        (VAST + b" 0 d 1\n", r":1: an id of 4097 bytes, 'x+…', .* 4096"),
    ],
    (read_run, "a.run"): [
        (b"q Q0 d 1 0.5\n", rf":1: 5 columns in 'q Q0 d 1 0.5', expected 6: {RUN}"),
        (b"q Q0 d 1 NaN t\n", rf":1: 'NaN' is not a finite number, expected: {RUN}"),
        (b"q Q0 d 1 -Infinity t\n", r":1: '-Infinity' is not a finite number, .*"),
        (b"q Q0 d 1.5 1 t\n", r":1: the rank 1.5 is not a whole number, expected one"),
        (b"q Q0 d 1 2 t\nq Q0 d 2 1 t\n", r":2: document 'd' of query 'q' is there twice, .*"),
        (b"q Q0 d 1 2 t\nq Q0 e", r":2: 3 columns in 'q Q0 e', expected 6: .*"),
        (b"q Q0 " + VAST + b" 1 1 t\n", r":1: an id of 4097 bytes, .* 4096"),
        (b"q Q0 d 1 1 " + VAST + b"\n", r":1: an id of 4097 bytes, .* 4096"),
        (b"q Q0 d 0." + b"0" * 400 + b"1e1000000 1 t\n", r":1: .*"),
        (gzip.compress(b"q Q0 d 1 1 t\n" * 6_000_000, 1), r": unpacks to more than .*"),
    ],
    (read_prels, "a.prels"): [
        (b"q d 1 1 0\n", r":1: the probability 0.0 is out of range, .* \(0, 1\]"),
        (b"q d 1 1 2\n", r":1: the probability 2.0 is out of range, .*"),
        (b"q d 1 .5 1\n", r":1: the method 0.5 is not a whole number, expected one"),
        (b"q " + VAST + b" 1 1 1\n", r":1: an id of 4097 bytes, .* 4096"),
    ],
    (read_costs, "a.costs"): [(b"1\n0\n", r":2: the cost 0.0 is not positive, expected a positive number")],
    (read_costs, "a.csv"): [
        (b"query_id,doc_id,cost\nq,d,-1\n", r":2: column cost: holds -1.0, expected .*"),
        (b"query_id,doc_id\nq,d\n", r":1: no cost column in: query_id, doc_id; .*"),
    ],
    (load_qrels, "a.csv"): [
        (b"qid,docno\nq,d\n", r":1: no grade column in: qid, docno; expected .*"),
        (b"qid,docno,label\nq,d,.5\n", r":2: column label: holds 0.5, expected a whole .*"),
        (b"qid,docno,label\nq,d,1\nq,d,1\n", r":3: column docno: .* at line 2; .*"),
        (b"qid,docno,label\n", r": the table holds no rows"),
        (b"qid,docno,label\nq,,1\n", r":2: column docno: is empty, expected an id"),
        (b"qid,docno,label\nq, \t,1\n", r":2: column docno: is empty, expected .*"),
        (b'qid,docno,label\nq, "d",1\n', r""":2: column docno: holds ' "d"', expected no blank before a quoted cell"""),
        (b"qid,docno,label\nq,d\n", r":2: 2 cells in 'q,d', expected 3: qid, docno, label"),
        (b'qid,docno,label\nq,"d,1\n', r":2: the quoting is broken: .*"),
        (b"qid,qid,label\nq,d,1\n", r":1: column 'qid' is there twice, expected it once"),
        (b"qid,,label\nq,d,1\n", r":1: column 2 has no name, expected a header .*"),
        (b"qid,docno,label\nq,d,1001\n", r":2: column label: holds 1001, .* 1000"),
        (b"qid,docno," + VAST + b"\nq,d\n", r":2: 2 cells in 'q,d', .*…"),
    ],
    (load_run, "a.csv"): [
        (b"qid,docno,score\nq,d,nan\n", r":2: column score: holds nan, expected a finite number"),
        (b"qid,docno,score\nq," + VAST + b",1\n", r":2: column docno: .*"),
    ],
    (load_run, "a.jsonl"): [
        (b'{"qid": 1}\n{qid}\n', r":2: '{qid}' is not JSON: .*; expected one object"),
        (b"[1]\n", r":1: '\[1\]' is not an object, expected one object a line"),
        (
            b'{"qid": 1.5, "docno": "d", "score": 1}\n',
            r":1: column qid: holds '1.5', expected an id, text or a whole number",
        ),
        (b'{"qid": 1, "docno": "d", "score": Infinity}\n', r":1: column score: holds inf, expected a finite number"),
        (
            b'{"qid": 1, "docno": "d", "score": 1}\n{"qid": 1, "docno": "e", "score": 1, "score": 2}\n',
            r":2: .* is not JSON: the key 'score' is there twice; expected one object",
        ),
        (
            b'{"qid": 1, "docno": "d", "score": ' + b"9" * 5000 + b"}",
            r":1: .* is not JSON: a number of 5000 digits, 9{20}…; expected one object",
        ),
        (b"[" * 100_000, r":1: .* is not JSON: nested too deeply; .*"),
        (b'{"qid": "' + VAST + b'", "docno": "d", "score": 1}', r":1: column qid: .*"),
        (b'{"qid": "a\\u0000b", "docno": "d", "score": 1}', r":1: column qid: .*"),
    ],
    (load_qrels, "a.jsonl"): [
        (b'{"qid": 1, "docno": "d", "label": true}\n', r":1: column label: 'True' is not a number, expected one")
    ],
    (read_gains, "a.json"): [
        (b'{"gains": [' + b"9" * 5000 + b"]}", r": is not JSON: a .*"),
        (b'{"gains": 1, "gains": 2}', r": is not JSON: the key .*"),
        (b"gains\n", r":1: is not JSON: .*"),
        (b"[1]", r": is not a JSON object, expected .*"),
        (b'{"discounts": [1]}', r": the field gains is None, .* 2 numbers or more"),
        (b'{"gains": [0, 1], "discounts": []}', r": the field discounts is .*"),
        (b'{"gains": [0, NaN], "discounts": [1]}', r": gains.1. is nan, .* 1e15"),
        (ODD_WEIGHTS, r": the field weights does not match .* 2 rows by rank .*"),
        (b'{"gains": [' + b"1," * 1001 + b'1], "discounts": [1]}', r": .* 1001"),
    ],
    (load_preferences, "a.csv"): [
        (b"first,second,answer\n1 0," + b"9" * 5000 + b" 0,\n", r":2: other is '9+, expected a list of grades.*"),
        (b"first,second,answer\n1 0,1001 0,\n", r":2: .* 1000"),
    ],
    (load_run, "a.parquet"): [
        (DAMAGED, r": cannot be read as parquet: .+"),
        (b"PAR1 and no more", r": cannot be read as parquet: .+"),
        (b"", r": the file is empty"),
    ],
    (load_probabilities, "a.csv"): [
        (b"qid,docno\nq,d\n", r": no columns p0, p1, … without a gap in: .*"),
        (b"qid,docno,p0,p2\nq,d,.5,.5\n", r": no columns p0, p1, … without a gap .*"),
        (
            b"qid,docno,p0,p1\nq,d,-.5,1.5\n",
            r":2: column p0: holds -0.5 at document 'd' of query 'q', expected a probability",
        ),
        (
            b"qid,docno,p0,p1\nq,c,1,0\nq,d,.5,.4\n",
            r":3: column p0 … p1: the row of document 'd' of query 'q' sums to 0.9, expected 1",
        ),
    ],
    (read_draws, "a.txt"): [(DRAWS + DRAW, r": is not a table by its name, expected one that .*")],
    (read_draws, "a.csv"): [
        *((draw(grade=cell), GRADE.format(cell.decode().strip('"'))) for cell in NO_GRADES),
        (
            b"sample,query_id\n1f,q\n",
            r":1: no column block, doc_id, grade in: sample, query_id; expected the sheet of a sample",
        ),
        (DRAWS.replace(b"block", b"GRADE") + DRAW, r": column 'grade' is there twice, expected it once"),
        (draw(sample=b"2f"), r":3: column sample: holds '2f', the first row '1f': expected one sample a sheet"),
        (draw(block=b""), r":3: column block: is empty, expected a number"),
        (draw(block=b"0"), r":3: column block: holds 0, expected .* from 1 on"),
        (draw(doc_id=b""), r":3: column doc_id: is empty, expected an id"),
        (draw(grade=b"W").replace(b",", b";").replace(b"W", b"1,0"), GRADE.format("1,0")),
        (draw(doc_id=VAST), r":3: column doc_id: holds an id of 4097 bytes, .* 4096"),
    ],
    (read_segments, "a.seg"): [(b"q " + VAST + b"\n", r":1: an id of 4097 bytes, .* 4096")],
    (read_traffic, "a.traffic"): [(VAST + b" 1\n", r":1: an id of 4097 bytes, .* 4096")],
    (read_arrays, "a.npz"): [
        (packed_header(text), r": cannot be read as a file of arrays \(.npz\): expected a drawn sample")
        for text in ("{'descr': '<f8', 'shape': (3,", "(" * 9000, "{'descr': '<f8'}", "1" * 5000, "")
    ],
    (read_labels, "a.txt"): [
        (ROW + b"x qid:7\n", r":2: the grade 'x' is not a whole number .*"),
        (ROW + b"0 qid:8\n" + ROW, r":3: query '7' has lines in .*"),
    ],
}
"""What must follow the file's name, by reader and file."""

BROKEN = [
    *((name, content, reader, expected) for reader, name in TEXT_FILES.items() for content, expected in NO_TEXT),
    *((name, content, reader, expected) for (reader, name), cases in CASES.items() for content, expected in cases),
]
