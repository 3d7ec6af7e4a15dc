"""Read simple judgment files in pure Python, which starts faster than the compiled readers."""

from __future__ import annotations

import gzip
import os
import re

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
        if not os.path.isfile(path):
            return None
        with (gzip.open if _is_packed(path) else open)(path, "rt", encoding="utf-8") as lines:
            n_read = 0
            while line := lines.readline(_LONGEST):
                n_read += len(line)
                if len(line) == _LONGEST or n_read > _MOST_PLAIN or not _add_line(line, grades):
                    return None
    except (OSError, UnicodeError, EOFError):
        return None
    return grades or None


def first_words(path: PathLike) -> list[str]:
    """Read the words of the first line that is neither blank nor a comment; an empty list if there is none.

    Files that are not regular, such as pipes, are not opened, as they can be read only once.
    """
    try:
        if not os.path.isfile(path):
            return []
        with (gzip.open if _is_packed(path) else open)(path, "rt", encoding="utf-8", errors="replace") as lines:
            n_read = 0
            while (line := lines.readline(_LONGEST)) and n_read < _LONGEST:
                n_read += len(line)
                words = line.removeprefix("\ufeff").split()
                if words and not words[0].startswith("#"):
                    return words
    except (OSError, EOFError):
        pass
    return []


def _is_packed(path: PathLike) -> bool:
    """Check whether a file is gzip."""
    with open(path, "rb") as handle:
        return handle.read(2) == b"\x1f\x8b"


def _add_line(line: str, grades: Grades) -> bool:
    """Add the grade of a line to `grades`; return False if the line cannot be read."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return True
    if len(words) > 1 and words[1].startswith("qid:"):
        match = _DOCUMENT.search(line)
        pair, grade = (words[1][4:], match[1] if match else ""), words[0].replace("-", "?")
    else:
        pair, grade = (words[0], words[2] if len(words) == _COLUMNS else ""), words[-1]
    if not pair[1] or pair in grades or not _WHOLE.fullmatch(grade):
        return False
    grades[pair] = int(grade)
    return True
