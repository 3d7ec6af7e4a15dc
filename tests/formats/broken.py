"""Files that are broken, each with the reader that meets it and the line that it must say.

An entry is (name of the case, name of the file, bytes, reader, regular expression); the error's
text is ``<folder>/<rest>`` and the expression must match all of the rest.
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


EVERY_READER = [
    (f"{problem} {reader.__name__}", name, content, reader, rf"{name}{expected}")
    for reader, name in (
        (read_letor, "a.txt"),
        (read_scores, "a.score"),
        (read_qrels, "a.qrels"),
        (read_run, "a.run"),
        (read_prels, "a.prels"),
        (read_costs, "a.costs"),
        (read_draws, "a.csv"),
        (load_probabilities, "a.jsonl"),
    )
    for problem, content, expected in (
        ("empty", b"", r": the file is empty"),
        ("mark only", b"\xef\xbb\xbf", r": the file is empty"),
        ("NUL", b"1\n\x00\n", r":2: a NUL byte, expected text"),
        ("packed", b"PK\x03\x04\x00\n", r": packed, as a sample or a spreadsheet is, expected text"),
        (
            "latin-1",
            b"1\n2\ncaf\xe9 1\n",
            r":3: the bytes b'\\xe9.*' are not UTF-8, expected UTF-8 text(: .* save the sheet as CSV UTF-8)?",
        ),
        ("UTF-16", "1 qid:1".encode("utf-16"), r":1: the text is UTF-16, expected UTF-8"),
        ("cut gzip", gzip.compress(ROW * 999)[:-20], r": the gzip file is cut short, expected its end marker"),
        ("bad gzip", gzip.compress(ROW)[:-8] + b"\0" * 8, r": the gzip file is broken: .+"),
        ("gzip tail", gzip.compress(ROW) + b"tail", r": the gzip file is broken: .+"),
        ("gzip body", gzip.compress(ROW)[:10] + b"\xff" * 30, r": the gzip file is broken: .+"),
        ("blank", b"\n  \n\n", r": (no data lines, expected .+|the table holds no rows)"),
    )
]

LETOR = [
    ("only comments", b"# a\n# b\n", rf"a.txt: no data lines, {LINE}"),
    (
        "fractional grade",
        ROW + b"1.5 qid:7 1:1\n",
        rf"a.txt:2: the grade '1.5' is not a whole number from 0 on, {LINE}",
    ),
    ("negative grade", b"-1 qid:7 1:1\n", rf"a.txt:1: the grade '-1' is not a whole number from 0 on, {LINE}"),
    ("nan grade", b"\n\nnan qid:7 1:1\n", rf"a.txt:3: the grade 'nan' is not a whole number from 0 on, {LINE}"),
    ("word grade", b"# c\ngood qid:7\n", rf"a.txt:2: the grade 'good' is not a whole number from 0 on, {LINE}"),
    ("huge grade", b"9999999999 qid:7\n", rf"a.txt:1: the grade '9999999999' is not a whole .*, {LINE}"),
    ("indented comment", b" # c\n", rf"a.txt:1: the grade '#' is not a whole number from 0 on, {LINE}"),
    ("no qid", ROW + b"1 1:0.5\n", rf"a.txt:2: no query id at '1:0.5', {LINE}"),
    ("empty qid", b"1 qid: 1:0.5\n", rf"a.txt:1: no query id at 'qid:', {LINE}"),
    ("grade alone", b"1\n", rf"a.txt:1: no query id at '', {LINE}"),
    ("grade at the end", b"1 qid:7\n1", rf"a.txt:2: no query id at '', {LINE}"),
    ("no colon", b"1 qid:7 5\n", r"a.txt:1: '5' is not a feature, expected <index>:<value> with .*"),
    ("word index", b"1 qid:7 x:5\n", r"a.txt:1: 'x:5' is not a feature, expected <index>:<value> with .*"),
    ("negative index", b"1 qid:7 -1:5\n", r"a.txt:1: '-1:5' is not a feature, expected .*"),
    ("vast index", b"1 qid:7 99999999999:5\n", r"a.txt:1: '99999999999:5' is not a feature, expected .*"),
    ("index 0", b"1 qid:7 0:5\n", r"a.txt:1: the feature '0:5' is out of order, expected indices from 1 on .*"),
    ("falling index", ROW + b"1 qid:7 2:5 1:5\n", r"a.txt:2: the feature '1:5' is out of order, expected .*"),
    ("same index", b"1 qid:7 2:5 2:6\n", r"a.txt:1: the feature '2:6' is out of order, expected .*"),
    ("index falls from far", b"1 qid:7 900:5 2:6\n", r"a.txt:1: the feature '900:5' is out of order, expected .*"),
    ("empty value", b"1 qid:7 1:\n", r"a.txt:1: the value of feature '1:' is not a finite number, expected .* NULL"),
    ("nan value", b"1 qid:7 1:NaN\n", r"a.txt:1: the value of feature '1:NaN' is not a finite number, .*"),
    ("inf value", b"1 qid:7 1:-inf\n", r"a.txt:1: the value of feature '1:-inf' is not a finite number, .*"),
    ("overflow", ROW + b"1 qid:7 1:1e999\n", r"a.txt:2: the value '1e999' is too large, expected a finite number"),
    ("hex value", b"1 qid:7 1:0x1F\n", r"a.txt:1: the value of feature '1:0x1F' is not a finite number, .*"),
    ("underscore", b"1 qid:7 1:1_0\n", r"a.txt:1: the value of feature '1:1_0' is not a finite number, .*"),
    ("comma", b"1 qid:7 1:0,5\n", r"a.txt:1: the value of feature '1:0,5' is not a finite number, .*"),
    ("two points", b"1 qid:7 1:1.2.3\n", r"a.txt:1: the value of feature '1:1.2.3' is not a finite number, .*"),
    ("bare exponent", b"1 qid:7 1:1e\n", r"a.txt:1: the value of feature '1:1e' is not a finite number, .*"),
    ("null in part", b"1 qid:7 1:NULLS\n", r"a.txt:1: the value of feature '1:NULLS' is not a finite number, .*"),
    (
        "query back",
        ROW + b"0 qid:8\n" + ROW,
        r"a.txt:3: query '7' has lines in two places, first at .*a.txt:1; expected .*",
    ),
    ("document twice", b"1 qid:7 #docid = A\n\n0 qid:7 #docid = A\n", r"a.txt:3: document 'A' is twice .*a.txt:1; .*"),
    ("document left out", b"1 qid:7 #docid = A\n0 qid:7\n", r"a.txt:2: no document id, expected '#docid = <id>' .*"),
    ("empty document", b"1 qid:7 #docid = A\n0 qid:7 #docid =\n", r"a.txt:2: no document id, expected .*"),
    (
        "long document",
        b"1 qid:7 #docid = " + LONG + b"\n",
        r"a.txt:1: an id of 5000 bytes, 'x+…', expected at most 4096",
    ),
    ("too many features", b"1 qid:7 999999999:1\n" * 9000, r"a.txt: 9001 lines of 999999999 .* GB, more than there is"),
]

COLUMNS = [
    (
        "word score",
        "a.score",
        b"1\nx\n",
        read_scores,
        r"a.score:2: 'x' is not a finite number, expected: one score a line",
    ),
    ("nan score", "a.score", b"1\n\nnan\n", read_scores, r"a.score:3: 'nan' is not a finite number, .*"),
    ("inf score", "a.score", b"inf\n", read_scores, r"a.score:1: 'inf' is not a finite number, .*"),
    ("vast score", "a.score", b"1\n2e308\n", read_scores, r"a.score:2: the number '2e308' is too large, .*"),
    ("two scores", "a.score", b"1\n1 2\n", read_scores, r"a.score:2: 2 columns in '1 2', expected 1: one score a line"),
    ("too few scores", "a.score", b"1\n" * 120, read_121_scores, r"a.score: 120 scores for 121 lines of S1.txt"),
    ("three columns", "a.qrels", b"q 0 d\n", read_qrels, rf"a.qrels:1: 3 columns in 'q 0 d', expected 4: {QRELS}"),
    (
        "five columns",
        "a.qrels",
        b"q 0 d 1\nq 0 e 1 1\n",
        read_qrels,
        rf"a.qrels:2: 5 columns in .*, expected 4: {QRELS}",
    ),
    (
        "fractional",
        "a.qrels",
        b"q 0 d 0.5\n",
        read_qrels,
        r"a.qrels:1: the grade 0.5 is not a whole number, expected one",
    ),
    (
        "word",
        "a.qrels",
        b"q 0 d 1\nq 0 e x\n",
        read_qrels,
        rf"a.qrels:2: 'x' is not a finite number, expected: {QRELS}",
    ),
    (
        "twice",
        "a.qrels",
        b"q 0 d 1\n#\nq 0 d 1\n",
        read_qrels,
        r"a.qrels:3: document 'd' of query 'q' .* at line 1; .*",
    ),
    ("twice apart", "a.qrels", b"q 0 d 1\nr 0 d 1\nq 0 d 2\n", read_qrels, r"a.qrels:3: document 'd' .* at line 1; .*"),
    ("comment inside", "a.qrels", b"q 0 d 1 # good\n", read_qrels, r"a.qrels:1: 6 columns in .*"),
    ("five columns", "a.run", b"q Q0 d 1 0.5\n", read_run, rf"a.run:1: 5 columns in 'q Q0 d 1 0.5', expected 6: {RUN}"),
    ("nan", "a.run", b"q Q0 d 1 NaN t\n", read_run, rf"a.run:1: 'NaN' is not a finite number, expected: {RUN}"),
    ("inf", "a.run", b"q Q0 d 1 -Infinity t\n", read_run, r"a.run:1: '-Infinity' is not a finite number, .*"),
    ("rank", "a.run", b"q Q0 d 1.5 1 t\n", read_run, r"a.run:1: the rank 1.5 is not a whole number, expected one"),
    (
        "twice",
        "a.run",
        b"q Q0 d 1 2 t\nq Q0 d 2 1 t\n",
        read_run,
        r"a.run:2: document 'd' of query 'q' is there twice, .*",
    ),
    ("cut", "a.run", b"q Q0 d 1 2 t\nq Q0 e", read_run, r"a.run:2: 3 columns in 'q Q0 e', expected 6: .*"),
    (
        "probability 0",
        "a.prels",
        b"q d 1 1 0\n",
        read_prels,
        r"a.prels:1: the probability 0.0 is out of range, .* \(0, 1\]",
    ),
    ("probability 2", "a.prels", b"q d 1 1 2\n", read_prels, r"a.prels:1: the probability 2.0 is out of range, .*"),
    (
        "method",
        "a.prels",
        b"q d 1 .5 1\n",
        read_prels,
        r"a.prels:1: the method 0.5 is not a whole number, expected one",
    ),
    (
        "cost 0",
        "a.costs",
        b"1\n0\n",
        read_costs,
        r"a.costs:2: the cost 0.0 is not positive, expected a positive number",
    ),
    ("cost", "a.csv", b"query_id,doc_id,cost\nq,d,-1\n", read_costs, r"a.csv:2: column cost: holds -1.0, expected .*"),
    ("no cost", "a.csv", b"query_id,doc_id\nq,d\n", read_costs, r"a.csv:1: no cost column in: query_id, doc_id; .*"),
]

TABLES = [
    ("no grade", "a.csv", b"qid,docno\nq,d\n", load_qrels, r"a.csv:1: no grade column in: qid, docno; expected .*"),
    (
        "half",
        "a.csv",
        b"qid,docno,label\nq,d,.5\n",
        load_qrels,
        r"a.csv:2: column label: holds 0.5, expected a whole .*",
    ),
    ("twice", "a.csv", b"qid,docno,label\nq,d,1\nq,d,1\n", load_qrels, r"a.csv:3: column docno: .* at line 2; .*"),
    ("no rows", "a.csv", b"qid,docno,label\n", load_qrels, r"a.csv: the table holds no rows"),
    ("no id", "a.csv", b"qid,docno,label\nq,,1\n", load_qrels, r"a.csv:2: column docno: is empty, expected an id"),
    ("blank id", "a.csv", b"qid,docno,label\nq, \t,1\n", load_qrels, r"a.csv:2: column docno: is empty, expected .*"),
    (
        "blank before quotes",
        "a.csv",
        b'qid,docno,label\nq, "d",1\n',
        load_qrels,
        r"""a.csv:2: column docno: holds ' "d"', expected no blank before a quoted cell""",
    ),
    (
        "cells",
        "a.csv",
        b"qid,docno,label\nq,d\n",
        load_qrels,
        r"a.csv:2: 2 cells in 'q,d', expected 3: qid, docno, label",
    ),
    ("quote", "a.csv", b'qid,docno,label\nq,"d,1\n', load_qrels, r"a.csv:2: the quoting is broken: .*"),
    (
        "name twice",
        "a.csv",
        b"qid,qid,label\nq,d,1\n",
        load_qrels,
        r"a.csv:1: column 'qid' is there twice, expected it once",
    ),
    ("nameless", "a.csv", b"qid,,label\nq,d,1\n", load_qrels, r"a.csv:1: column 2 has no name, expected a header .*"),
    (
        "nan",
        "a.csv",
        b"qid,docno,score\nq,d,nan\n",
        load_run,
        r"a.csv:2: column score: holds nan, expected a finite number",
    ),
    (
        "not JSON",
        "a.jsonl",
        b'{"qid": 1}\n{qid}\n',
        load_run,
        r"a.jsonl:2: '{qid}' is not JSON: .*; expected one object",
    ),
    ("list", "a.jsonl", b"[1]\n", load_run, r"a.jsonl:1: '\[1\]' is not an object, expected one object a line"),
    (
        "float id",
        "a.jsonl",
        b'{"qid": 1.5, "docno": "d", "score": 1}\n',
        load_run,
        r"a.jsonl:1: column qid: holds '1.5', expected an id, text or a whole number",
    ),
    (
        "infinite",
        "a.jsonl",
        b'{"qid": 1, "docno": "d", "score": Infinity}\n',
        load_run,
        r"a.jsonl:1: column score: holds inf, expected a finite number",
    ),
    (
        "true",
        "a.jsonl",
        b'{"qid": 1, "docno": "d", "label": true}\n',
        load_qrels,
        r"a.jsonl:1: column label: 'True' is not a number, expected one",
    ),
    (
        "key twice",
        "a.jsonl",
        b'{"qid": 1, "docno": "d", "score": 1}\n{"qid": 1, "docno": "e", "score": 1, "score": 2}\n',
        load_run,
        r"a.jsonl:2: .* is not JSON: the key 'score' is there twice; expected one object",
    ),
    (
        "vast whole number",
        "a.jsonl",
        b'{"qid": 1, "docno": "d", "score": ' + b"9" * 5000 + b"}",
        load_run,
        r"a.jsonl:1: .* is not JSON: a number of 5000 digits, 9{20}…; expected one object",
    ),
    ("nested JSON", "a.jsonl", b"[" * 100_000, load_run, r"a.jsonl:1: .* is not JSON: nested too deeply; .*"),
    ("vast number in gains", "a.json", b'{"gains": [' + b"9" * 5000 + b"]}", read_gains, r"a.json: is not JSON: a .*"),
    ("key twice in gains", "a.json", b'{"gains": 1, "gains": 2}', read_gains, r"a.json: is not JSON: the key .*"),
    ("no JSON in gains", "a.json", b"gains\n", read_gains, r"a.json:1: is not JSON: .*"),
    ("list of gains", "a.json", b"[1]", read_gains, r"a.json: is not a JSON object, expected .*"),
    ("no gains", "a.json", b'{"discounts": [1]}', read_gains, r"a.json: the field gains is None, .* 2 numbers or more"),
    ("no discount", "a.json", b'{"gains": [0, 1], "discounts": []}', read_gains, r"a.json: the field discounts is .*"),
    ("nan gain", "a.json", b'{"gains": [0, NaN], "discounts": [1]}', read_gains, r"a.json: gains.1. is nan, .* 1e15"),
    (
        "odd weights",
        "a.json",
        ODD_WEIGHTS,
        read_gains,
        r"a.json: the field weights does not match .* 2 rows by rank .*",
    ),
    (
        "vast list of grades",
        "a.csv",
        b"first,second,answer\n1 0," + b"9" * 5000 + b" 0,\n",
        load_preferences,
        r"a.csv:2: other is '9+, expected a list of grades.*",
    ),
    ("damaged parquet", "a.parquet", DAMAGED, load_run, r"a.parquet: cannot be read as parquet: .+"),
    *(
        (
            f"header {text[:9]}",
            "a.npz",
            packed_header(text),
            read_arrays,
            r"a.npz: cannot be read as a file of arrays \(.npz\): expected a drawn sample",
        )
        for text in ("{'descr': '<f8', 'shape': (3,", "(" * 9000, "{'descr': '<f8'}", "1" * 5000, "")
    ),
    ("no parquet", "a.parquet", b"PAR1 and no more", load_run, r"a.parquet: cannot be read as parquet: .+"),
    ("empty parquet", "a.parquet", b"", load_run, r"a.parquet: the file is empty"),
    ("no p", "a.csv", b"qid,docno\nq,d\n", load_probabilities, r"a.csv: no columns p0, p1, … without a gap in: .*"),
    (
        "gap",
        "a.csv",
        b"qid,docno,p0,p2\nq,d,.5,.5\n",
        load_probabilities,
        r"a.csv: no columns p0, p1, … without a gap .*",
    ),
    (
        "negative p",
        "a.csv",
        b"qid,docno,p0,p1\nq,d,-.5,1.5\n",
        load_probabilities,
        r"a.csv:2: column p0: holds -0.5 at document 'd' of query 'q', expected a probability",
    ),
    (
        "sum",
        "a.csv",
        b"qid,docno,p0,p1\nq,c,1,0\nq,d,.5,.4\n",
        load_probabilities,
        r"a.csv:3: column p0 … p1: the row of document 'd' of query 'q' sums to 0.9, expected 1",
    ),
    ("suffix", "a.txt", DRAWS + DRAW, read_draws, r"a.txt: is not a table by its name, expected one that .*"),
    (
        "no column",
        "a.csv",
        b"sample,query_id\n1f,q\n",
        read_draws,
        r"a.csv:1: no column block, doc_id, grade in: sample, query_id; expected the sheet of a sample",
    ),
    (
        "column twice",
        "a.csv",
        DRAWS.replace(b"block", b"GRADE") + DRAW,
        read_draws,
        r"a.csv: column 'grade' is there twice, expected it once",
    ),
    (
        "two samples",
        "a.csv",
        draw(sample=b"2f"),
        read_draws,
        r"a.csv:3: column sample: holds '2f', the first row '1f': expected one sample a sheet",
    ),
    (
        "grade half",
        "a.csv",
        draw(grade=b"1.5"),
        read_draws,
        r"a.csv:3: column grade: holds '1.5', expected a whole number from 0 on, empty or cannot",
    ),
    *(
        (
            f"grade {grade}",
            "a.csv",
            draw(grade=grade.encode()),
            read_draws,
            rf"a.csv:3: column grade: holds '{grade}', expected a whole number from 0 on, empty or cannot",
        )
        for grade in ("-1", "-2")
    ),
    (
        "grade word",
        "a.csv",
        draw(grade=b"good"),
        read_draws,
        r"a.csv:3: column grade: holds 'good', expected a whole .*",
    ),
    (
        "grade of NaN",
        "a.csv",
        draw(grade=b"nan"),
        read_draws,
        r"a.csv:3: column grade: holds 'nan', expected a whole .*",
    ),
    (
        "grade far off",
        "a.csv",
        draw(grade=b"1e99"),
        read_draws,
        r"a.csv:3: column grade: holds '1e99', expected a whole .*",
    ),
    ("no block", "a.csv", draw(block=b""), read_draws, r"a.csv:3: column block: is empty, expected a number"),
    ("block 0", "a.csv", draw(block=b"0"), read_draws, r"a.csv:3: column block: holds 0, expected .* from 1 on"),
    ("no id", "a.csv", draw(doc_id=b""), read_draws, r"a.csv:3: column doc_id: is empty, expected an id"),
    (
        "quoted comma",
        "a.csv",
        draw(grade=b'"1,5"'),
        read_draws,
        r"a.csv:3: column grade: holds '1,5', expected a whole .*",
    ),
    ("underscore", "a.csv", draw(grade=b"1_5"), read_draws, r"a.csv:3: column grade: holds '1_5', expected a whole .*"),
    (
        "European comma",
        "a.csv",
        draw(grade=b"W").replace(b",", b";").replace(b"W", b"1,0"),
        read_draws,
        r"a.csv:3: column grade: holds '1,0', expected a whole .*",
    ),
]

VAST = b"x" * 4097
LIMITS = [
    ("vast grade", "a.qrels", b"q 0 d 1\nq 0 e 1001\n", read_qrels, r"a.qrels:2: the grade 1001 is too large, .* 1000"),
    ("vast grade", "a.csv", b"qid,docno,label\nq,d,1001\n", load_qrels, r"a.csv:2: column label: holds 1001, .* 1000"),
    ("vast grade", "a.txt", ROW + b"1001 qid:7 1:1\n", read_letor, r"a.txt:2: the grade 1001 is too large, .* 1000"),
    (
        "vast grade",
        "a.csv",
        draw(grade=b"1001"),
        read_draws,
        r"a.csv:3: column grade: holds '1001', expected a whole .*",
    ),
    ("vast grade", "a.csv", b"first,second,answer\n1 0,1001 0,\n", load_preferences, r"a.csv:2: .* 1000"),
    ("vast table", "a.json", b'{"gains": [' + b"1," * 1001 + b'1], "discounts": [1]}', read_gains, r"a.json: .* 1001"),
    ("vast query", "a.qrels", VAST + b" 0 d 1\n", read_qrels, r"a.qrels:1: an id of 4097 bytes, 'x+…', .* 4096"),
    ("vast document", "a.run", b"q Q0 " + VAST + b" 1 1 t\n", read_run, r"a.run:1: an id of 4097 bytes, .* 4096"),
    ("vast tag", "a.run", b"q Q0 d 1 1 " + VAST + b"\n", read_run, r"a.run:1: an id of 4097 bytes, .* 4096"),
    ("vast id", "a.prels", b"q " + VAST + b" 1 1 1\n", read_prels, r"a.prels:1: an id of 4097 bytes, .* 4096"),
    ("vast id", "a.csv", b"qid,docno,score\nq," + VAST + b",1\n", load_run, r"a.csv:2: column docno: .*"),
    (
        "vast id",
        "a.jsonl",
        b'{"qid": "' + VAST + b'", "docno": "d", "score": 1}',
        load_run,
        r"a.jsonl:1: column qid: .*",
    ),
    ("vast id", "a.csv", draw(doc_id=VAST), read_draws, r"a.csv:3: column doc_id: holds an id of 4097 bytes, .* 4096"),
    ("vast query", "a.txt", b"1 qid:" + VAST + b" 1:1\n", read_letor, r"a.txt:1: an id of 4097 bytes, .* 4096"),
    ("vast segment", "a.seg", b"q " + VAST + b"\n", read_segments, r"a.seg:1: an id of 4097 bytes, .* 4096"),
    ("vast query", "a.traffic", VAST + b" 1\n", read_traffic, r"a.traffic:1: an id of 4097 bytes, .* 4096"),
    (
        "NUL in an id",
        "a.jsonl",
        b'{"qid": "a\\u0000b", "docno": "d", "score": 1}',
        load_run,
        r"a.jsonl:1: column qid: .*",
    ),
    ("header of a page", "a.csv", b"qid,docno," + VAST + b"\nq,d\n", load_qrels, r"a.csv:2: 2 cells in 'q,d', .*…"),
    ("rank of a thousand zeros", "a.run", b"q Q0 d 0." + b"0" * 400 + b"1e1000000 1 t\n", read_run, r"a.run:1: .*"),
    (
        "gzip bomb",
        "a.run",
        gzip.compress(b"q Q0 d 1 1 t\n" * 6_000_000, 1),
        read_run,
        r"a.run: unpacks to more than .*",
    ),
]

BROKEN = [
    *LIMITS,
    *EVERY_READER,
    *((name, "a.txt", content, read_letor, expected) for name, content, expected in LETOR),
    *COLUMNS,
    *TABLES,
    ("labels: grade", "a.txt", ROW + b"x qid:7\n", read_labels, r"a.txt:2: the grade 'x' is not a whole number .*"),
    ("labels: query back", "a.txt", ROW + b"0 qid:8\n" + ROW, read_labels, r"a.txt:3: query '7' has lines in .*"),
]
