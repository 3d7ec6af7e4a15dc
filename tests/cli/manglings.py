"""What spreadsheets and people do to a sheet of judges, as functions of a table and a random number generator.

`HARMLESS` ones leave every number as it was; `HARMFUL` ones may only do so, or be refused.
"""

import csv
import gzip
import io
import re
from dataclasses import dataclass, field
from datetime import date

from id_changes import ID_CHANGES, NUMBER, change_ids
from spreadsheet_files import WRITERS


@dataclass
class Table:
    """A judged sheet on its way back: cells of text, and how the file is to be written."""

    header: list[str]
    rows: list[list[str]]
    foreign: list[list[str]]
    separator: str = ","
    end: str = "\n"
    mark: str = ""
    before: str = ""
    encoding: str = "utf-8"
    quoting: int = csv.QUOTE_MINIMAL
    suffix: str = ".csv"
    is_typed: bool = False
    cut: float = 1.0
    names: list[str] = field(default_factory=list)

    def place(self, name):
        """Return which column a name is of, however it is spelt now."""
        return next((k for k, held in enumerate(self.header) if held.strip().lower() == name), None)

    def change(self, name, function, rows=None):
        """Change the cells of a column."""
        k = self.place(name)
        for row in self.rows if rows is None else rows:
            if k is not None and k < len(row):
                row[k] = function(row[k])

    def write(self, stem):
        """Write the file and return its name."""
        path = f"{stem}{self.suffix}"
        if self.suffix in WRITERS:
            typed = typed_cell if self.is_typed else (lambda cell: cell or None)
            WRITERS[self.suffix](path, [self.header, *[[typed(cell) for cell in row] for row in self.rows]])
        else:
            text = io.StringIO()
            # where lines end with CR alone, csv leaves an LF in a cell bare
            quoting = csv.QUOTE_ALL if self.end == "\r" else self.quoting
            writer = csv.writer(text, delimiter=self.separator, lineterminator=self.end, quoting=quoting)
            writer.writerows([self.header, *self.rows] if self.header else self.rows)
            data = (self.mark + self.before + text.getvalue()).encode(self.encoding, "replace")
            data = data[: round(len(data) * self.cut)]
            with open(path, "wb") as handle:
                handle.write(gzip.compress(data) if self.suffix.endswith(".gz") else data)
        return path


def typed_cell(cell):
    """Return what a spreadsheet makes of a text that is typed into it."""
    if NUMBER.fullmatch(cell.strip()):
        return float(cell)
    if cell.upper() in ("TRUE", "FALSE"):
        return cell.upper() == "TRUE"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", cell):
        return date.fromisoformat(cell)
    return cell or None


# What leaves all numbers as they were


def some_rows(table, rng, most=6):
    """Return copies of a few rows."""
    return [list(table.rows[k]) for k in rng.integers(len(table.rows), size=rng.integers(1, most))]


def reorder_rows(table, rng):
    table.rows = [table.rows[k] for k in rng.permutation(len(table.rows))]


def reorder_columns(table, rng):
    order = rng.permutation(len(table.header))
    table.header = [table.header[k] for k in order]
    table.rows = [[row[k] for k in order] if len(row) == len(order) else row for row in table.rows]


def double_rows(table, rng):
    table.rows[rng.integers(len(table.rows)) : 0] = some_rows(table, rng)


def double_rows_without_a_grade(table, rng):
    more = some_rows(table, rng)
    table.change("grade", lambda cell: "", more)
    table.rows += more


def add_columns(table, rng):
    at = rng.integers(len(table.header) + 1)
    name = ("rank", "query id", "Grade 2", "a,b;c", "text\nof it")[rng.integers(5)]
    if name in table.header:
        return
    table.header.insert(at, name)
    for row in table.rows:
        cell = ("", "7", "=1+1", "two\nlines", 'say "no"; or, yes')[rng.integers(5)]
        row.insert(at, cell if "".join(row).strip() else "")


def add_empty_rows(table, rng):
    for _ in range(rng.integers(1, 5)):
        table.rows.insert(rng.integers(len(table.rows) + 1), [" " * int(rng.integers(2))] * len(table.header))


def capital_headers(table, rng):
    table.header = [name.upper() if rng.random() < 0.7 else name.title() for name in table.header]


def blanks_around_headers(table, rng):
    table.header = [(" {}", "{} ", "\xa0{} ")[rng.integers(3)].format(name) for name in table.header]


def blanks_around_cells(table, rng):
    for name in ("sample", "block", "judge", "grade"):
        table.change(name, lambda cell: (" {} ", "{}\xa0", "\t{}")[rng.integers(3)].format(cell))


def grades_as_numbers(table, rng):
    form = ("{}.0", "{}.00", " {} ", "+{}", "0{}", "{}e0", "{}.")[rng.integers(7)]
    table.change("grade", lambda cell: form.format(cell) if cell.isdigit() else cell)


def blocks_as_numbers(table, rng):
    table.change("block", lambda cell: f"{cell}.0" if cell.isdigit() else cell)


def fill_notes(table, rng):
    notes = ("easy", "", "=1+1", "two\nlines", "'", '"', "1,5")
    held = [row for row in table.rows if "".join(row).strip()]
    table.change("note", lambda cell: notes[rng.integers(len(notes))], held)


def without(name):
    def drop_column(table, rng):
        if (k := table.place(name)) is not None:
            table.header.pop(k)
            for row in table.rows:
                row[k : k + 1] = []

    return drop_column


def saved(**how):
    def save(table, rng):
        for name, value in how.items():
            setattr(table, name, value)

    return save


def separated(separator, before="", suffix=".csv", **how):
    return saved(separator=separator, before=before, suffix=suffix, **how)


def pack(table, rng):
    table.suffix += ".gz" if table.suffix in (".csv", ".tsv") else ""


def named(*functions):
    return {function.__name__: function for function in functions}


HARMLESS = {
    **named(reorder_rows, reorder_columns, double_rows, double_rows_without_a_grade, add_columns, add_empty_rows),
    **named(capital_headers, blanks_around_headers, blanks_around_cells, grades_as_numbers, blocks_as_numbers),
    **named(fill_notes),
    "no column for the judge": without("judge"),
    "semicolons": separated(";"),
    "tabs": separated("\t"),
    "tabs by name": separated("\t", suffix=".tsv"),
    "sep=": separated(";", "sep=;\n"),
    "SEP= and CRLF": separated("\t", "SEP=\t\r\n", end="\r\n"),
    "sep= and CR": separated(";", "sep=;\r", end="\r"),
    "an empty line first": separated(",", "\n"),
    "a byte order mark": saved(mark="\ufeff"),
    "CRLF": saved(end="\r\n"),
    "CR": saved(end="\r"),
    "all quoted": saved(quoting=csv.QUOTE_ALL),
    "packed": pack,
    "xlsx": saved(suffix=".xlsx", is_typed=False),
    "ods": saved(suffix=".ods", is_typed=False),
}


# What may be refused


def drop_rows(table, rng):
    for _ in range(rng.integers(1, 4)):
        if len(table.rows) > 1:
            table.rows.pop(rng.integers(len(table.rows)))


def double_rows_with_other_grades(table, rng):
    more = some_rows(table, rng)
    table.change("grade", lambda cell: str((int(cell) + 1) % 4) if cell.isdigit() else "1", more)
    table.rows += more


def other_samples(table, rng):
    rows = [list(row) for row in table.foreign]
    if rng.random() < 0.5:
        table.rows += rows[: rng.integers(1, len(rows))]
    else:
        table.rows = rows


def sample_changed(table, rng):
    change = (str.upper, str.title, lambda t: t[:8], lambda t: f"'{t}", lambda t: "", lambda t: "1.2345E+14")
    rows = table.rows if rng.random() < 0.5 else [table.rows[rng.integers(len(table.rows))]]
    table.change("sample", change[rng.integers(len(change))], rows)


def bad_grades(table, rng):
    cells = ["4", "22", "-1", "-2", "good", "two", "2,0", "1,5"]
    cells += ["1.5", "02-Jan", "TRUE", "2/3", "½", "#N/A", "nan", "inf"]
    table.change("grade", lambda cell: cells[rng.integers(len(cells))], [table.rows[rng.integers(len(table.rows))]])


def decimal_commas(table, rng):
    table.change("grade", lambda cell: f"{cell},0" if cell.isdigit() else cell)


def bad_blocks(table, rng):
    cells = ("", "0", "-1", "1.5", "01-Jan", "one")
    table.change("block", lambda cell: cells[rng.integers(6)], [table.rows[rng.integers(len(table.rows))]])


def total_row(table, rng):
    row = [""] * len(table.header)
    row[rng.integers(len(row))] = "Total"
    if (k := table.place("grade")) is not None:
        row[k] = "57"
    table.rows.append(row)


def sum_row(table, rng):
    row = [""] * len(table.header)
    row[rng.integers(len(row))] = str(rng.integers(4))
    table.rows.append(row)


def second_header(table, rng):
    table.rows.insert((0, rng.integers(len(table.rows) + 1))[rng.integers(2)], list(table.header))


def header_missing(table, rng):
    table.header = table.rows.pop(0) if rng.random() < 0.5 else list(table.rows[0])


def title_first(table, rng):
    table.rows.insert(0, table.header)
    table.header = ["Judgments of week 1", *[""] * (len(table.rows[0]) - 1)]


def header_renamed(table, rng):
    k = rng.integers(len(table.header))
    table.header[k] = ("query", "id", "", "grade", "sample", table.header[k].replace("_", " "))[rng.integers(6)]


def cell_too_many(table, rng):
    table.rows[rng.integers(len(table.rows))].append(("x", "2", "")[rng.integers(3)])


def cell_lost(table, rng):
    row = table.rows[rng.integers(len(table.rows))]
    row.pop(rng.integers(len(row)))


def cut_short(table, rng):
    table.cut = rng.random()


HARMFUL = {
    **{name: change_ids(change) for name, change in ID_CHANGES.items()},
    **named(drop_rows, double_rows_with_other_grades, other_samples, sample_changed, bad_grades, decimal_commas),
    **named(bad_blocks, total_row, sum_row, second_header, header_missing, title_first, header_renamed),
    **named(cell_too_many, cell_lost, cut_short),
    "UTF-16": saved(encoding="utf-16"),
    "cp1252": saved(encoding="cp1252"),
    "UTF-16 of the other end": saved(encoding="utf-16-be", mark="\ufeff"),
    "typed into xlsx": saved(suffix=".xlsx", is_typed=True),
    "typed into ods": saved(suffix=".ods", is_typed=True),
    "semicolons by another name": separated(";", suffix=".tsv"),
    "bars": separated("|"),
    "another sep=": separated(";", "sep=,\n"),
}
