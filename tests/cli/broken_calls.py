"""Calls of the command line that are wrong, each with its exit code and the line that it must get.

A row of broken-calls.tsv is a call: a name, the exit code, arguments, a regular expression, files to write before (as
JSON; null stands for a sample that was really drawn). With exit code 1 the expression must match all that stderr holds
after ``activeeval: ``, with 2 all after ``Error: ``. Calls of bytes and of long texts are here, in the same order.
"""

# ruff: noqa: E501

import gzip
import json
from pathlib import Path

TABLE = Path(__file__).with_name("broken-calls.tsv")
LETOR = "simulate --letor {} --scores {} --budget 20% --repetitions 20"
SCORE = "score q.qrels a.run"
SCORED = "score x.qrels a.run P@2"
PAIRS = b'{"query": "q1", "preferred": [2, 1, 0], "other": [0, 2, 1]}\n'
TOO_ALIKE = r"only grade 1 occurs in the training data, a grade model needs at least two different grades"
ONE_GRADE = {"x.txt": "".join(f"1 qid:{5000 + i // 3} 1:0.5 2:1 3:10 #docid = {i}\n" for i in range(30))}
LONG_CALLS = [
    ("gzip cut short", 1, LETOR.format("x.gz", "a.score"), r"x\.gz: the gzip file is cut short, expected its end marker", {"x.gz": gzip.compress(b"1 qid:1 1:2\n" * 99)[:-9]}),
    ("gzip broken", 1, LETOR.format("a.txt", "x.gz"), r"x\.gz: the gzip file is (cut short|broken).*", {"x.gz": b"\x1f\x8b rubbish"}),
    ("UTF-16", 1, LETOR.format("x.txt", "a.score"), r"x\.txt:1: the text is UTF-16, expected UTF-8", {"x.txt": "1 qid:1 1:1\n".encode("utf-16")}),
    ("latin-1", 1, "score q.qrels x.run P@2", r"x\.run:1: the bytes b'\\xe9.*' are not UTF-8, expected UTF-8 text", {"x.run": b"q1 Q0 caf\xe9 1 1 r\n"}),
    ("one grade to train on", 1, LETOR.format("a.txt", "a.score") + " --train x.txt", TOO_ALIKE, ONE_GRADE),
    ("one grade to train a logit on", 1, LETOR.format("a.txt", "a.score") + " --train x.txt --model logit", TOO_ALIKE, ONE_GRADE),
    ("vast cutoff DCG@", 1, f"{SCORE} DCG@{'9' * 5000}", r"measure '\w+@?9+: the cutoff must be a positive whole number, got '9{59}", {}),
    ("vast cutoff P_99", 1, f"{SCORE} P_{'9' * 5000}", r"measure '\w+@?9+: the cutoff must be a positive whole number, got '9{59}", {}),
    ("gains without end", 1, f"{SCORE} DCG(gains={{{','.join(f'{y}:1' for y in range(1002))}}})", r"measure 'DCG.*: gains of 1002 grades, expected at most 1001", {}),
    ("an id of 130 KB", 1, SCORED, r"x\.qrels:1: an id of 130000 bytes, 'd+…', expected at most 4096", {"x.qrels": f"q1 0 {'d' * 130_000} 1\n"}),
    ("a gzip bomb", 1, SCORED, r"x\.qrels: unpacks to more than 37 MB, expected at most 16 MB or 100 times its size", {"x.qrels": lambda: gzip.compress(b"q1 0 d 1\n" * 9_000_000, 1)}),
    ("nested minus signs", 1, f"{SCORE} RBP(p={'-' * 20_000}1)", r"measure 'RBP\(p=-+: cannot read the parameters 'p=-+; expected k=v, k=v", {}),
    ("pairs: cut gzip", 1, "gains learn x.jsonl --out x.json", r"x\.jsonl: the gzip file is cut short, expected its end marker", {"x.jsonl": gzip.compress(PAIRS)[:-9]}),
]  # fmt: skip


def rows_of_the_table():
    """Yield the calls of the table in the order of its columns, files at the end."""
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        name, code, arguments, says, *files = line.split("\t")
        yield name, int(code), arguments, says, json.loads(files[0]) if files else {}


BROKEN_CALLS = [*rows_of_the_table(), *LONG_CALLS]
