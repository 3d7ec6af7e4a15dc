"""Tables in files of every form; .xlsx by openpyxl, .ods as LibreOffice lays it out."""

import gzip
import zipfile
from datetime import date, datetime
from xml.sax.saxutils import escape, quoteattr

import openpyxl
import polars as pl

_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "table", "text", "manifest")
)
_MIME = "application/vnd.oasis.opendocument.spreadsheet"


def write_xlsx(path, rows):
    """Write rows of cells: text, numbers, dates, booleans, None; a text is never taken for a formula."""
    book = openpyxl.Workbook()
    for r, row in enumerate(rows, start=1):
        for c, value in enumerate(row, start=1):
            if value is not None:
                cell = book.active.cell(r, c)
                cell.value = value
                if isinstance(value, str):
                    cell.data_type = "s"
    book.save(path)
    return path


def write_ods(path, rows):
    """Write rows of cells as `write_xlsx` does; behind them the empty rows and columns that LibreOffice tells."""
    most = max(map(len, rows))
    behind = f'<table:table-cell table:number-columns-repeated="{16384 - most}"/>'
    lines = ["".join(map(_ods_cell, row)) + "<table:table-cell/>" * (most - len(row)) + behind for row in rows]
    table = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    table += (
        f'<table:table-row table:number-rows-repeated="{1048576 - len(rows)}">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    )
    return write_ods_table(path, table)


def write_ods_table(path, table):
    """Write an .ods file out of the text of its one table."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_SPACES} office:version="1.3"><office:body>'
        f'<office:spreadsheet><table:table table:name="Sheet1">{table}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest {_SPACES} manifest:version="1.3">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_MIME}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", _MIME, zipfile.ZIP_STORED)
        packed.writestr("META-INF/manifest.xml", manifest)
        packed.writestr("content.xml", content)
    return path


def _ods_cell(value):
    if value is None or value == "":
        return "<table:table-cell/>"
    if isinstance(value, bool):
        kind, attribute = "boolean", f'office:boolean-value="{str(value).lower()}"'
    elif isinstance(value, (int, float)):
        kind, attribute = "float", f'office:value="{value!r}"'
    elif isinstance(value, (date, datetime)):
        kind, attribute = "date", f"office:date-value={quoteattr(value.isoformat())}"
    else:
        kind, attribute = "string", ""
    lines = "".join(f"<text:p>{_spaced(line)}</text:p>" for line in str(value).split("\n"))
    return f'<table:table-cell office:value-type="{kind}" {attribute}>{lines}</table:table-cell>'


def _spaced(line):
    # XML may fold blanks; the format has an element for them
    return escape(line).replace(" ", "<text:s/>").replace("\t", "<text:tab/>")


WRITERS = {".xlsx": write_xlsx, ".ods": write_ods}


def with_entry(path, name, change):
    """Write an archive again with one of its entries changed, or added where it was not there."""
    with zipfile.ZipFile(path) as packed:
        entries = {entry: packed.read(entry) for entry in packed.namelist()}
    entries[name] = change(entries.get(name, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry, content in entries.items():
            packed.writestr(entry, content)
    return path


def write_table(path, frame):
    """Write a frame of polars, or rows as dicts, in the form that the file's name says, packed or not."""
    frame = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    kind = next(suffix for suffix in path.suffixes if suffix in (".csv", ".tsv", ".jsonl", ".parquet", *WRITERS))
    if kind in WRITERS:
        return WRITERS[kind](path, [frame.columns, *frame.rows()])
    if kind == ".parquet":
        frame.write_parquet(path)
        return path
    text = frame.write_ndjson() if kind == ".jsonl" else frame.write_csv(separator="\t" if kind == ".tsv" else ",")
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path
