"""What a spreadsheet does to an id, as functions of a text."""

import re
import unicodedata

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def shown_number(text):
    """A number of more than eleven digits, or with an exponent, is shown with an exponent."""
    if not NUMBER.fullmatch(text):
        return text
    return f"{float(text):.5E}" if len(text) > 11 or "e" in text.lower() else f"{float(text):.12g}"


def rounded_number(text):
    """The digits behind the fifteenth are lost."""
    if not NUMBER.fullmatch(text):
        return text
    return f"{float(f'{float(text):.15g}'):.0f}" if float(text).is_integer() else f"{float(text):.15g}"


def day(text):
    """Two small numbers are a day of this year."""
    found = re.fullmatch(r"(\d\d?)[-/](\d\d?)", text)
    iso = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text)
    if iso:
        return f"{int(iso[2])}/{int(iso[3])}/{iso[1]}"
    return f"{int(found[2]):02d}-{MONTHS[(int(found[1]) - 1) % 12]}" if found else text


def added_up(text):
    """A formula becomes its result, once its apostrophe is gone."""
    found = re.fullmatch(r"'?=(\d+)\+(\d+)", text)
    return str(int(found[1]) + int(found[2])) if found else text


ID_CHANGES = {
    "zeros in front lost": lambda t: t.lstrip("0") or "0" if t.isdigit() else t,
    "shown as a number": shown_number,
    "rounded to 15 digits": rounded_number,
    "a date": day,
    "a formula's result": added_up,
    "a boolean": lambda t: t.lower() if t == "TRUE" else "TRUE" if t == "true" else t,
    "a zero behind lost": lambda t: t.rstrip("0") if re.fullmatch(r"\d+\.\d+", t) else t,
    "an apostrophe lost": lambda t: t.removeprefix("'"),
    "an apostrophe doubled": lambda t: "'" + t if t.startswith("'") else t,
    "an apostrophe for every id": lambda t: "'" + t,
    "a curly apostrophe": lambda t: t.replace("'", "’"),
    "blanks that do not break": lambda t: t.replace(" ", "\xa0"),
    "a blank that does not break behind": lambda t: t + "\xa0",
    "blanks lost": str.strip,
    "blanks around": lambda t: f" {t} ",
    "capitals": str.upper,
    "small letters": str.lower,
    "accents apart": lambda t: unicodedata.normalize("NFD", t),
    "another encoding": lambda t: t.encode().decode("cp1252", "replace"),
    "ASCII alone": lambda t: t.encode("ascii", "replace").decode(),
    "cut": lambda t: t[:8],
    "a thousand's comma": lambda t: f"{int(t):,}" if t.isdigit() and len(t) > 3 else t,
    "hexadecimal read": lambda t: str(int(t, 16)) if t.lower().startswith("0x") else t,
    "a decimal comma": lambda t: t.replace(".", ","),
    "two digits behind the point": lambda t: f"{float(t):.2f}" if NUMBER.fullmatch(t) else t,
}


def change_ids(change):
    """Return a mangling of a column of ids, or of one of its cells."""

    def mangle(table, rng):
        name = ("query_id", "doc_id", "doc_id")[rng.integers(3)]
        rows = table.rows if rng.random() < 0.6 else [table.rows[rng.integers(len(table.rows))]]
        table.change(name, change, rows)
        if rng.random() < 0.3:
            table.change("query_id", change)

    return mangle
