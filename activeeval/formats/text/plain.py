"""Plain judgments line by line, without compiled readers: whoever starts again and again does not wait for these."""

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
"""Letters that are read line by line: of more the compiled readers are the faster, and bound what is unpacked."""
Grades = dict[tuple[str, str], int]


def plain_grades(path: PathLike) -> Grades | None:
    """Return the grade of each query and document of TREC judgments, or of LETOR lines that name their documents.

    Returns
    -------
    dict, or None
        None where a closer look is needed: the readers with all their checks say what the file is.
    """
    grades: Grades = {}
    try:
        if not os.path.isfile(path):
            return None
        with (gzip.open if _is_packed(path) else open)(path, "rt", encoding="utf-8") as lines:
            n_read = 0
            while line := lines.readline(_LONGEST):
                n_read += len(line)
                if len(line) == _LONGEST or n_read > _MOST_PLAIN or not _takes(line, grades):
                    return None
    except (OSError, UnicodeError, EOFError):
        return None
    return grades or None


def first_words(path: PathLike) -> list[str]:
    """Return the words of the first line of a regular file that is neither blank nor a comment; none of another file.

    What is no regular file, as a pipe, can be read but once.
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
    with open(path, "rb") as handle:
        return handle.read(2) == b"\x1f\x8b"


def _takes(line: str, grades: Grades) -> bool:
    """Add what a line says, and return whether it could be read."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return True
    if len(words) > 1 and words[1].startswith("qid:"):
        named = _DOCUMENT.search(line)
        pair, grade = (words[1][4:], named[1] if named else ""), words[0].replace("-", "?")
    else:
        pair, grade = (words[0], words[2] if len(words) == _COLUMNS else ""), words[-1]
    if not pair[1] or pair in grades or not _WHOLE.fullmatch(grade):
        return False
    grades[pair] = int(grade)
    return True
