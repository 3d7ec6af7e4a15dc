"""A quotation mark in tab-separated text: a character of its cell, unless the file is quoted for certain."""

from __future__ import annotations

import csv
import io
from itertools import product

import polars as pl
import pytest
from each_once import each_once

from activeeval.core.errors import ActiveEvalError
from activeeval.formats.graders.from_files import read_replies
from activeeval.formats.judgments.from_files import read
from activeeval.formats.loading import load_qrels, load_run, read_costs
from activeeval.formats.tables import large_log
from activeeval.formats.tables.clicks import read_clicks
from activeeval.formats.tables.draws import read_draws
from activeeval.formats.tables.export import write_columns
from activeeval.formats.tables.query_log import load_query_log
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.segments import read_segments
from activeeval.formats.tables.text_tables import DOCUMENTS, read_texts

LETTERS = 'a"\t\n'


def words(longest):
    return ["".join(word) for n in range(longest + 1) for word in product(LETTERS, repeat=n)]


def plain_rows(body):
    """Split at every tab and end of a line; None where a line that is not blank has other than two cells."""
    lines = [line.split("\t") for line in body.split("\n") if line.strip()]
    for cells in lines:
        while len(cells) > 2 and not cells[-1].strip():
            cells.pop()
    return lines if all(len(cells) == 2 for cells in lines) else None


def quoted_rows(body):
    """Read letter by letter what quotes its cells as RFC 4180 does; None where a mark stands anywhere else."""
    rows, cells, cell, k = [], [], "", 0
    while k < len(body):
        if body[k] == '"' and not cell:
            k += 1
            while True:
                if k >= len(body):
                    return None
                if body[k] == '"' and body[k + 1 : k + 2] == '"':
                    cell, k = cell + '"', k + 2
                elif body[k] == '"':
                    k += 1
                    break
                else:
                    cell, k = cell + body[k], k + 1
            if k < len(body) and body[k] not in "\t\n":
                return None
        elif body[k] == '"':
            return None
        elif body[k] == "\t":
            cells, cell, k = [*cells, cell], "", k + 1
        elif body[k] == "\n":
            rows, cells, cell, k = [*rows, [*cells, cell]], [], "", k + 1
        else:
            cell, k = cell + body[k], k + 1
    rows = [row for row in [*rows, [*cells, cell]] if any(map(str.strip, row))]
    for row in rows:
        while len(row) > 2 and not row[-1].strip():
            row.pop()
    return rows if all(len(row) == 2 for row in rows) else None


def reading(path):
    """Return the rows of a table, or the message of what is wrong with it."""
    try:
        sheet = read_sheet(path)
        return [list(row) for row in zip(*(sheet.columns[name] for name in sheet.columns), strict=True)]
    except ActiveEvalError as problem:
        return str(problem)


def test_every_short_body_has_its_plain_reading_or_a_certain_one(tmp_path):
    """A row, then all that four letters make of up to five: no line that is a row is lost, and nothing is guessed."""
    path, seen = tmp_path / "a.tsv", dict.fromkeys(("plain", "quoted", "refused"), 0)
    for body in words(5):
        text = f"i\tx\n{body}"
        path.write_text(f"id\ttext\n{text}")
        plain, quoted = plain_rows(text), quoted_rows(text)
        rows = reading(path)
        if isinstance(rows, str):
            assert rows.startswith(f"{path}:")
            assert "\n" not in rows
            seen["refused"] += 1
            # what has one reading is read
            assert plain != quoted or plain is None, body
            assert not ('"' not in body and plain is not None), body
            assert quoted_rows(body) is not None or plain is None, body
            continue
        assert rows in (plain, quoted), body
        seen["plain" if rows == plain else "quoted"] += 1
        if rows != plain:
            # no cell holds lines that are rows as they stand
            within = sum(cell.count("\n") for row in rows for cell in row)
            lines = text.split("\n")
            assert plain is None or not within, body
            assert sum(len(line.split("\t")) == 2 for line in lines) <= len(lines) - within, body
    assert min(seen.values()) > 20


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("order", [1, -1])
def test_what_csv_writes_is_read_or_refused(tmp_path, quoting, order):
    """Quoted names leave nothing open; without, a cell of lines that are rows is not one cell."""
    path = tmp_path / "a.tsv"
    for text in words(4):
        if not text.strip() or text != text.strip("\n"):
            continue
        rows = [["7", text][::order], ["8", "b"][::order]]
        content = io.StringIO()
        writer = csv.writer(content, delimiter="\t", lineterminator="\n", quoting=quoting)
        writer.writerows([["id", "text"][::order], *rows])
        path.write_text(content.getvalue())
        read_rows = reading(path)
        if isinstance(read_rows, str):
            assert quoting == csv.QUOTE_MINIMAL
            assert "save it as .csv where cells are quoted, as .jsonl where they are not" in read_rows
            continue
        holds_rows = quoting == csv.QUOTE_MINIMAL and "\n" in text and "\t" in text
        assert read_rows == rows or holds_rows, text


def test_all_that_is_written_comes_back(tmp_path):
    path = tmp_path / "a.tsv"
    texts = [word for word in words(4) if word.strip()]
    for text in texts:
        write_columns({"text": [text, "b"], "id": ["7", "8"]}, path)
        assert read_sheet(path).words("text") == [text, "b"]
    write_columns({"id": list(map(str, range(len(texts)))), "text": texts}, path)
    assert read_sheet(path).words("text") == texts
    write_columns({"id": ["7"], "text": ["b"]}, path)
    assert path.read_text() == "id\ttext\n7\tb\n"


MARKED = ['"a', "b", 'c"']
DOORS = {
    "texts": ("id text", "d{k} {}", lambda p: [text["text"] for text in read_texts(p, DOCUMENTS).by_id.values()]),
    "runs": ("query_id doc_id score", "{} d 1", lambda p: load_run(p).query_ids.tolist()),
    "qrels": ("query_id doc_id relevance", "q {} 1", lambda p: load_qrels(p).doc_ids.tolist()),
    "judgments": ("query_id doc_id grade", "q {} 1", lambda p: [row.item for row in read(p)]),
    "sheets": ("sample block query_id doc_id grade note", "s 1 q d{k} 1 {}", lambda p: read_draws(p).note.tolist()),
    "replies": ("query_id doc_id grade explanation", "q d{k} 1 {}", lambda p: list(read_replies(p).explanations)),
    "query logs": ("query count", "{} 1", lambda p: sorted(load_query_log(p).spellings)),
    "segments": ("query_id segment", "q{k} {}", lambda p: read_segments(p).names.tolist()),
    "clicks": (
        "query_id doc_id position impressions clicks",
        "{} d 1 9 1",
        lambda p: read_clicks(p).query_ids.tolist(),
    ),
    "costs": ("query_id doc_id cost", "q {} 3", lambda p: read_costs(p).doc_ids.tolist()),
}


@each_once(("name", ["a.tsv", "a.TSV", "a.csv"]), ("end", ["\n", "\r\n"]), ("door", DOORS))
def test_a_lone_mark_swallows_no_line_at_any_door(tmp_path, door, end, name):
    header, row, reader = DOORS[door]
    rows = [header, *(row.format(word, k=k) for k, word in enumerate(MARKED))]
    (tmp_path / name).write_bytes("".join(line.replace(" ", "\t") + end for line in rows).encode())
    assert reader(tmp_path / name) == MARKED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('query\tcount\n"a\t3\nb\t2\nc"\t1\n', ['"a', "b", 'c"']),
        ('query\tcount\nan "a\t3\nb\t2\n"c\t1\n', ['"c', 'an "a', "b"]),
        ('query\tcount\n"a"\t3\nb\t2\n"c ""d"""\t1\n', ["a", "b", 'c "d"']),
        ('query,count\n"a, b",3\nb,2\n', ["a, b", "b"]),
    ],
)
def test_large_logs_are_read_as_small_ones_are(tmp_path, monkeypatch, text, expected):
    path = tmp_path / ("a.tsv" if "\t" in text else "a.csv")
    path.write_text(text)
    small = load_query_log(path)
    monkeypatch.setattr(large_log, "LARGE", 0)
    assert large_log.fast_counts(path, {"query": ("query",), "count": ("count",), "segment": ()}) is not None
    large = load_query_log(path)
    assert sorted(large.spellings) == sorted(small.spellings) == expected
    assert large.counts.tolist() == small.counts.tolist()


REFUSED = {
    "a cell with marks of its own": ('id\ttext\n1\tx\n2\t"romeo"\n', r'a\.tsv:3: column text: \'"romeo"\' is a quoted'),
    "a broken line between lone marks": ('id\ttext\n1\t"a\nb\n2\tc"\n3\td\n', r"a\.tsv:2: the quotation mark opens"),
    "lone marks beside a quoted cell": ('id\ttext\n1\t"a\n2\tb"\n3\t""\n', r"a\.tsv:2: the quotation mark opens"),
    "no end": ('"id"\t"text"\n1\tx\n2\t"a\n3\tb\n', r"a\.tsv:3: the quoting is broken"),
    "text behind the end": ('"id"\t"text"\n1\tx\n2\t"a"b\n3\tb\n', r"a\.tsv:3: the quoting is broken"),
    "no end of .csv": ('id,text\n1,x\n2,"a\n3,b\n', r"a\.csv:3: the quoting is broken"),
    "text behind the end of .csv": ('id,text\n1,x\n2,"a\n3,"b"\n', r"a\.csv:3: the quoting is broken"),
    "semicolons": ('id;text\n1;x\n2;"a\n3;b\n', r"a\.csv:3: the quoting is broken"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("before", ["", "\n\n"])
def test_what_is_open_is_refused_with_its_line(tmp_path, case, before):
    text, expected = REFUSED[case]
    path = tmp_path / ("a.tsv" if "\t" in text else "a.csv")
    path.write_text(before + text)
    if before:
        expected = expected.replace(":3", ":5").replace(":2", ":4")
    with pytest.raises(ActiveEvalError, match=expected):
        read_texts(path, DOCUMENTS)


def test_texts_that_nobody_reads_refuse_no_grades(tmp_path):
    """A spreadsheet quotes a text with a comma in it: the sheet's grades have one reading all the same."""
    path = tmp_path / "a.tsv"
    path.write_text('sample\tblock\tquery_id\tdoc_id\ttext\tgrade\ns\t1\tq\td\t"so, so"\t2\n')
    assert read_draws(path).grade.tolist() == [2]
    with pytest.raises(ActiveEvalError, match=r"a\.tsv:2: column text: '\"so, so\"' is a quoted cell or"):
        read_sheet(path).words("text")


def test_marks_far_into_a_file_and_long_lines(tmp_path):
    path = tmp_path / "a.tsv"
    long = "x" * 100_000
    rows = [("1", long), ("2", f'{long} "so"'), ("3", '"a'), ("4", 'b"')]
    path.write_text("id\ttext\n" + "".join(f"{name}\t{text}\n" for name, text in rows))
    assert read_sheet(path).words("text") == [text for _, text in rows]
    pl.DataFrame({"id": ["1", "2"], "text": [f"{long}\n{long}", ""]}).write_csv(path, separator="\t")
    assert read_sheet(path).words("text") == [f"{long}\n{long}", ""]
    path.write_text(f'sep=\t\nid\ttext\n1\t{long}\n2\t"{long}"\n')
    with pytest.raises(ActiveEvalError, match=r"a\.tsv:4: column text"):
        read_sheet(path).words("text")
