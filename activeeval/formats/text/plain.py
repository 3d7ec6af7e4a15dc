"""Read simple judgment files in pure Python, which starts faster than the compiled readers."""

from __future__ import annotations

import io
import re

from activeeval.core.errors import InputError
from activeeval.formats.packing import is_readable_twice, open_unpacked
from activeeval.formats.suffixes import PathLike

_DOCUMENT = re.compile(r"#\s*docid\s*=\s*(\S+)")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_COLUMNS = 4
_LONGEST = 1 << 16
_MOST_PLAIN = 1 << 24
"""Most characters read line by line: beyond, the compiled readers are faster, and limit the unpacked size."""
Grades = dict[tuple[str, str], int]


def plain_grades(path: PathLike) -> Grades | None:
    """Read the grade of each query and document from TREC qrels, or from LETOR lines with document ids.

    Returns
    -------
    dict, or None
        None if the file needs the compiled readers, which make all checks.
    """
    grades: Grades = {}
    try:
        if not is_readable_twice(path):
            return None
        with io.TextIOWrapper(open_unpacked(path), encoding="utf-8") as lines:
            n_read = 0
            while line := lines.readline(_LONGEST):
                n_read += len(line)
                if len(line) == _LONGEST or n_read > _MOST_PLAIN or not _add_line(line, grades):
                    return None
    except (OSError, UnicodeError, EOFError, InputError):  # reported by the compiled readers
        return None
    return grades or None


def first_lines(path: PathLike, n: int = 1) -> list[str]:
    """Read up to `n` first lines that are neither blank nor a comment; fewer if the file cannot be read.

    Files that are not regular, such as pipes, are not opened, as they can be read only once.
    """
    kept: list[str] = []
    try:
        if not is_readable_twice(path):
            return []
        with io.TextIOWrapper(open_unpacked(path), encoding="utf-8", errors="replace") as lines:
            n_read = 0
            while len(kept) < n and (line := lines.readline(_LONGEST)) and n_read < _LONGEST:
                n_read += len(line)
                line = line.removeprefix("\ufeff").rstrip("\r\n")
                if line.strip() and not line.lstrip().startswith("#"):
                    kept.append(line)
    except (OSError, EOFError, InputError):  # reported by the reader
        pass
    return kept


def _add_line(line: str, grades: Grades) -> bool:
    """Add the grade of a line to `grades`; return False if the line cannot be read."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return True
    if len(words) > 1 and words[1].startswith("qid:"):
        # a negative grade becomes no number: LETOR allows none, and the compiled reader reports it
        match = _DOCUMENT.search(line)
        pair, grade = (words[1][4:], match[1] if match else ""), words[0].replace("-", "?")
    else:
        pair, grade = (words[0], words[2] if len(words) == _COLUMNS else ""), words[-1]
    if not pair[1] or pair in grades or not _WHOLE.fullmatch(grade):
        return False
    grades[pair] = int(grade)
    return True
