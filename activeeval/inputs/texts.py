"""Look up the texts of a sheet's documents and queries by their ids, for judges to read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from activeeval.core.errors import InputError, unseen_difference
from activeeval.core.results import Note, Told
from activeeval.formats.tables.text_tables import DOCUMENTS, NEED, QUERIES, TextsById, Vocabulary, read_texts

SheetTexts = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A table of texts and the digest of its content.

    Attributes
    ----------
    path : str
        As the user named it; `kept` makes it absolute.
    digest : str
        SHA-256 of its content.
    """

    path: str
    digest: str

    @property
    def kept(self) -> Self:
        """The same table with an absolute path."""
        return replace(self, path=os.path.abspath(self.path))

    @classmethod
    def of(cls, path: str) -> Self:
        """Compute the digest of a table as it is now; raise InputError if it cannot be read."""
        try:
            with open(path, "rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError as problem:
            raise InputError(f"{path}: {problem.strerror or problem}") from None
        return cls(path=path, digest=digest)


TextFiles = Mapping[str, TextFile]
"""Tables of texts by kind: "documents", "queries"."""


def recalled(
    earlier: TextFiles, documents: str | None = None, queries: str | None = None
) -> tuple[dict[str, TextFile], list[Note]]:
    """Choose the tables of texts: those that are named, else those used before if they still exist.

    Return them by kind, "documents" and "queries", and notes.

    Parameters
    ----------
    earlier : mapping of str to TextFile
        Tables used before, by kind.
    documents, queries : str, optional
        Tables that replace them.
    """
    files: dict[str, TextFile] = {}
    notes: list[Note] = []
    for kind, path in (("documents", documents), ("queries", queries)):
        if path is not None:
            files[kind] = TextFile.of(path)
        elif kind in earlier:
            before = earlier[kind]
            source = _from_here(before.path)
            if not os.path.isfile(before.path):
                notes.append(Note("texts gone", {"source": source, "what": kind}))
                continue
            files[kind] = TextFile.of(before.path)
            changed = files[kind].digest != before.digest
            notes.append(Note("texts changed" if changed else "texts recalled", {"source": source, "what": kind}))
    return files, notes


def _from_here(path: str) -> str:
    """Shorten a path below the current folder to a relative one; others become absolute."""
    current = os.path.join(os.path.realpath(os.curdir), "")
    return os.path.realpath(path).removeprefix(current)


def texts_of(
    pairs: Sequence[tuple[str, str]], sheet: str, documents: str | None = None, queries: str | None = None
) -> tuple[SheetTexts, list[Note]]:
    """Look up the texts of a sheet's rows: a list for each column name; also return notes on missing texts.

    Parameters
    ----------
    pairs : sequence of (query id, document id)
        The rows of the sheet.
    sheet : str
        Its name, for messages; "" accepts a table without any text of these rows.
    documents, queries : str, optional
        Tables for `activeeval.formats.tables.text_tables.read_texts`.

    Raises
    ------
    InputError
        If a table has no text for any row of the sheet.
    """
    columns: SheetTexts = {}
    notes: list[Note] = []
    if queries is not None:
        ids = [query for query, _ in pairs]
        texts = _found(queries, QUERIES, ids, sheet, "queries")
        columns["query"] = [_asked(texts.by_id.get(query, {})) for query in ids]
        columns |= {NEED: [texts.by_id.get(query, {}).get(NEED, "") for query in ids]} if NEED in texts.names else {}
        notes += _missing(queries, texts, list(dict.fromkeys(ids)), "queries")
    if documents is not None:
        ids = [document for _, document in pairs]
        texts = _found(documents, DOCUMENTS, ids, sheet, "items")
        columns |= {name: [texts.by_id.get(text_id, {}).get(name, "") for text_id in ids] for name in texts.names}
        notes += _missing(documents, texts, ids, "items")
    return columns, notes


def _asked(texts: Mapping[str, str]) -> str:
    """Return the query as typed: its first text other than the information need (a longer description)."""
    return next((text for name, text in texts.items() if name != NEED), "")


def _found(path: str, vocabulary: Vocabulary, ids: Sequence[str], sheet: str, what: str) -> TextsById:
    """Read the texts of `ids` from a table; raise InputError if the sheet has a name and no row has a text.

    `what` names the ids in the message.
    """
    texts = read_texts(path, vocabulary, set(ids))
    if sheet and ids and not any(texts.by_id.values()):
        of = f"its first id is {texts.first_id!r}, the sheet's {ids[0]!r}{unseen_difference([texts.first_id], ids)}"
        raise InputError(f"{path}: none of its {texts.n_rows} rows has a text for the {what} of {sheet}: {of}")
    return texts


def _missing(path: str, texts: TextsById, ids: Sequence[str], what: str) -> list[Note]:
    """Note how the table was read, and how many of `ids` have no text in the file `path`."""
    n_missing = sum(not texts.by_id.get(text_id) for text_id in ids)
    numbers: dict[str, Told] = {"n": n_missing, "of": len(ids), "what": what, "source": path}
    return [*texts.notes, *([Note("missing texts", numbers)] if n_missing else [])]
