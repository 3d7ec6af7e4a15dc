"""Sheets that come back as .xlsx or .ods: the same as their CSV, or one line that names the row."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import zipfile
from datetime import date, datetime, time

import numpy as np
import pytest
from spreadsheet_files import WRITERS, with_entry, write_ods_table, write_xlsx

from activeeval.core.errors import FormatError, InputError
from activeeval.formats.judgments.from_files import read
from activeeval.formats.loading import load_probabilities, load_qrels, load_run, read_costs
from activeeval.formats.tables import spreadsheets
from activeeval.formats.tables.draws import CANNOT, EMPTY, read_draws
from activeeval.formats.tables.preferences import read_pairs
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.text_tables import DOCUMENTS, read_texts

SUFFIXES = tuple(WRITERS)
SHEET = "xl/worksheets/sheet1.xml"
HEADER = ["sample", "block", "query_id", "doc_id", "judge", "grade", "note"]
ROWS = [
    ["abc", 1.0, "007", "'=1+1", "Ann", 2.0, None],
    ["abc", 1, 7.0, "1e5", None, "cannot", date(2024, 5, 1)],
    [None] * 7,
    ["abc", "2", 999_999_999_999_999.0, " padded ", 7, None, True],
    [" abc ", 2, "é☃𝔘", "two\nlines", "", "3.0", 0.5],
    ["abc", 2, -3.0, "12345678901234567890", "", " ", "x"],
]


@pytest.fixture(params=SUFFIXES)
def saved(request, tmp_path):
    """Return a function from rows to a file that a spreadsheet saved."""
    return lambda rows: WRITERS[request.param](tmp_path / f"a{request.param}", rows)


def test_a_sheet_as_a_spreadsheet_saves_it(saved):
    path = saved([[], [name.upper() for name in HEADER], *ROWS])
    found = read_draws(path)
    assert found.sample == "abc"
    assert found.block.tolist() == [1, 1, 2, 2, 2]
    assert found.query_id.tolist() == ["007", "7", "999999999999999", "é☃𝔘", "-3"]
    assert found.doc_id.tolist() == ["=1+1", "1e5", " padded ", "two\nlines", "12345678901234567890"]
    assert found.grade.tolist() == [2, CANNOT, EMPTY, 3, EMPTY]
    assert found.judge.tolist() == ["Ann", "", "7", "", ""]
    assert read(path).item_ids.tolist() == found.doc_id.tolist()
    assert read_sheet(path).lines == [3, 4, 6, 7, 8]


SPOILT = {
    "16 digits": (1234567890123456.0, "holds '1234567890123456.0', expected an id, text or a whole number; did a .*"),
    "scientific": (1.23457e15, r"holds '1234570000000000\.0', .*; did a spreadsheet change it\?"),
    "a date": (date(2024, 5, 1), "holds '2024-05-01.*', expected an id, .*; did a spreadsheet change it.*"),
    "a day": (datetime(2024, 1, 2, 3, 4), "holds '2024-01-02 03:04:00', expected .*; did a spreadsheet change it.*"),
    "a boolean": (True, "holds 'True', expected an id, .*; did a spreadsheet change it.*"),
    "a decimal": (1.1, "holds '1.1', expected an id, text or a whole number"),
    "a share": (0.05, "holds '0.05', expected an id, text or a whole number"),
    "nothing": (None, "is empty, expected an id.*"),
}


@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize(("value", "expected"), SPOILT.values(), ids=SPOILT)
def test_an_id_that_a_spreadsheet_changed_is_refused_with_its_row(saved, column, value, expected):
    row = [value if name == column else cell for name, cell in zip(HEADER, ROWS[0], strict=True)]
    path = saved([HEADER, ROWS[0], [], row])
    with pytest.raises(InputError, match=rf"^{path}:4: column {column}: {expected}$"):
        read_draws(path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, "'1.5'"),
        (-1.0, "'-1'"),
        (True, "'True'"),
        (date(1900, 1, 2), "'1900-01-02.*'"),
        ("good", "'good'"),
        (1e300, r"'1e\+300'"),
        ("2:30", "'2:30'"),
    ],
)
def test_a_grade_that_is_none_is_refused_with_its_row(saved, value, expected):
    path = saved([HEADER, ROWS[0], ["abc", 1, "q", "d", None, value]])
    with pytest.raises(InputError, match=rf"^{path}:3: column grade: holds {expected}, expected a whole .* or cannot"):
        read_draws(path)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([HEADER], r": the table holds no rows"),
        ([[]], r": the table holds no rows"),
        ([HEADER, [*ROWS[0], "beside"]], r":2: 8 cells in .*, expected 7: sample, block, .*"),
        ([[*HEADER[:3], None, *HEADER[4:]], ROWS[0]], r":1: column 4 has no name, .*"),
        ([[*HEADER, "grade"], [*ROWS[0], 1]], r":1: column 'grade' is there twice, .*"),
        ([[*HEADER, "Grade"], [*ROWS[0], 1]], r": column 'grade' is there twice, .*"),
        ([ROWS[5], ROWS[4]], r":1: column 5 has no name, expected a header .*"),
        ([["abc", 1, "q", "d", 2], ["abc", 1, "q", "e", 3]], r":1: no column sample, .* in: abc, 1, q, d, 2; .*"),
    ],
)
def test_a_sheet_of_another_shape(saved, rows, expected):
    path = saved(rows)
    with pytest.raises(InputError, match=f"^{path}{expected}$"):
        read_draws(path)


def test_every_table_reader_takes_them(saved):
    qrels = load_qrels(saved([["qid", "docno", "label"], [1, "a", 2.0], ["q", 3, 0]]))
    assert (qrels.query_ids.tolist(), qrels.doc_ids.tolist()) == (["1", "q"], ["a", "3"])
    run = load_run(saved([["qid", "docno", "score"], [1, "a", 2.5], ["q", 3, 0]]))
    assert (run.doc_ids.tolist(), run.scores.tolist()) == (["a", "3"], [2.5, 0.0])
    assert read_costs(saved([["qid", "docno", "cost"], [1, "a", 2.5]])).values.tolist() == [2.5]
    probs = load_probabilities(saved([["qid", "docno", "p0", "p1"], [1, "a", 0.25, 0.75]]))
    np.testing.assert_array_equal(probs.probs, [[0.25, 0.75]])
    assert read_pairs([saved([["preferred", "other"], ["1 0", "0 0"]])]).places == [f"{saved([['a'], [1]])}:2"]
    texts = read_texts(saved([["id", "text"], [7, "one\ntwo"], ["8", 5]]), DOCUMENTS, {"7", "8"})
    assert texts.by_id == {"7": {"text": "one\ntwo"}, "8": {"text": "5"}}


# Files that are damaged, too large, or none


def test_without_the_package_it_is_said_how_to_go_on(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "a.xlsx", [HEADER, ROWS[0]])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    told = r'\.xlsx is read with pip install "activeeval-ir\[spreadsheets\]"; or save the sheet as CSV \(UTF-8\)'
    with pytest.raises(FormatError, match=rf"^{path}: {told}$"):
        read_draws(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04", "cannot be read as {}: File is not a zip file"),
        (b"sample,block\n1,2\n", "cannot be read as {}: File is not a zip file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "cannot be read as {}: File is not a zip file"),
    ],
)
def test_what_is_no_spreadsheet(tmp_path, suffix, content, expected):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^{path}: {expected.format(suffix)}$"):
        read_draws(path)
    with pytest.raises(InputError, match=r"gone\.xlsx: no such file"):
        read_draws(tmp_path / "gone.xlsx")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_damage_is_one_line_or_none_at_all(tmp_path, suffix):
    """Bytes lost, changed or added anywhere: the sheet as it was, or one line."""
    path = WRITERS[suffix](tmp_path / f"a{suffix}", [HEADER, *ROWS])
    whole, sound = path.read_bytes(), read_draws(path)
    rng = random.Random(5)
    said = []
    for _ in range(300):
        data, place = bytearray(whole), rng.randrange(len(whole))
        match rng.randrange(4):
            case 0:
                data[place] ^= 1 << rng.randrange(8)
            case 1:
                del data[place:]
            case 2:
                del data[place : place + rng.randrange(1, 50)]
            case _:
                data[place:place] = rng.randbytes(rng.randrange(1, 50))
        path.write_bytes(data)
        try:
            found = read_draws(path)
        except InputError as problem:
            said.append(str(problem))
        else:
            assert (found.doc_id.tolist(), found.grade.tolist()) == (sound.doc_id.tolist(), sound.grade.tolist())
    assert all(re.fullmatch(rf"{path}: [^\n]+", line) for line in said)
    assert len(said) > 200


@pytest.mark.parametrize(("suffix", "entry"), [(".xlsx", SHEET), (".ods", "content.xml")])
def test_damage_inside_a_sound_archive(tmp_path, suffix, entry):
    path = WRITERS[suffix](tmp_path / f"a{suffix}", [HEADER, *ROWS])
    with zipfile.ZipFile(path) as packed:
        content = packed.read(entry)
    for length in range(0, len(content), 97):
        with_entry(path, entry, lambda _, length=length: content[:length])
        with pytest.raises(InputError, match=f"^{path}: [^\n]+$"):
            read_draws(path)


@pytest.mark.parametrize(("suffix", "entry"), [(".xlsx", SHEET), (".ods", "content.xml")])
def test_what_unpacks_to_far_too_much_is_not_unpacked(tmp_path, monkeypatch, suffix, entry):
    monkeypatch.setattr(spreadsheets, "_MOST_BYTES", 1 << 22)
    path = WRITERS[suffix](tmp_path / f"a{suffix}", [HEADER, *ROWS])
    with_entry(path, entry, lambda content: content + b" " * (1 << 22))
    assert path.stat().st_size < 1 << 17
    with pytest.raises(InputError, match=rf"^{path}: unpacks to 4 MB, expected at most 4 MB; save .* as CSV .*$"):
        read_draws(path)
    # an archive that says that it is small is held to it
    data = path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        size = packed.getinfo(entry).file_size
    path.write_bytes(data.replace(size.to_bytes(4, "little"), (5000).to_bytes(4, "little")))
    with pytest.raises(InputError, match=rf"^{path}: cannot be read as {suffix}: .*$"):
        read_draws(path)


FAR = r": its cells span \d+ places, expected at most 10000000: is there a cell far behind the others\?"
ODS_CELL = '<table:table-cell office:value-type="string" table:number-columns-repeated="{}"/>'
ODS_ROW = '<table:table-row table:number-rows-repeated="{}">{}</table:table-row>'


def test_cells_far_apart_are_refused_before_there_is_no_room(tmp_path):
    for cell in (b'<c r="XFD1048576"><v>1</v></c>', b"<c s='1' r='xfd1048576' t='n'><v>1</v></c>"):
        path = write_xlsx(tmp_path / "a.xlsx", [HEADER, *ROWS])
        end = b'<row r="1048576">' + cell + b"</row></sheetData>"
        with_entry(path, SHEET, lambda content, end=end: content.replace(b"</sheetData>", end))
        with pytest.raises(InputError, match=rf"^{path}{FAR}$"):
            read_draws(path)
    for table in (
        ODS_ROW.format(1048576, ODS_CELL.format(16384)),
        ODS_ROW.format(1, ODS_CELL.format(16384)) + ODS_ROW.format(1048574, "") + ODS_ROW.format(1, ODS_CELL.format(1)),
    ):
        path = write_ods_table(tmp_path / "a.ods", table)
        with pytest.raises(InputError, match=rf"^{path}{FAR}$"):
            read_draws(path)


def test_formats_of_empty_cells_far_away_do_no_harm(tmp_path):
    path = write_xlsx(tmp_path / "a.xlsx", [HEADER, *ROWS])
    empty = b'<row r="1048576"><c r="XFD1048576" s="0"/></row></sheetData>'
    with_entry(path, SHEET, lambda content: content.replace(b"</sheetData>", empty))
    assert read_draws(path).doc_id.size == 5


def test_reading_csv_does_not_load_the_package():
    code = "import sys; from activeeval.formats.tables import sheets, spreadsheets\n"
    code += "print('python_calamine' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_times_are_no_ids(tmp_path):
    path = write_xlsx(tmp_path / "a.xlsx", [HEADER, ["abc", 1, time(12, 30), "d", None, 1, None]])
    with pytest.raises(InputError, match=r"a\.xlsx:2: column query_id: holds '12:30:00', .*; did a spreadsheet"):
        read_draws(path)
