"""What the judges of a sheet are to read: texts of its documents and queries, looked up by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.errors import InputError, unseen_difference
from activeeval.io.tables.texts import DOCUMENTS, QUERIES, TextsById, Vocabulary, read_texts
from activeeval.results import Note, Told

SheetTexts = dict[str, list[str]]


def texts_of(
    pairs: Sequence[tuple[str, str]], sheet: str, documents: str | None = None, queries: str | None = None
) -> tuple[SheetTexts, list[Note]]:
    """Return texts by the name of their column, one for each row of a sheet, and what is without one as notes.

    Parameters
    ----------
    pairs : sequence of (query id, document id)
        The rows of the sheet.
    sheet : str
        Its name, for messages.
    documents, queries : str, optional
        Tables as `io.texts.read_texts` reads them.

    Raises
    ------
    InputError
        Where a table holds no text of the sheet at all.
    """
    columns: SheetTexts = {}
    notes: list[Note] = []
    if queries is not None:
        ids = [query for query, _ in pairs]
        texts = _found(queries, QUERIES, ids, sheet, "queries")
        columns["query"] = [next(iter(texts.by_id.get(query, {}).values()), "") for query in ids]
        notes += _missing(queries, texts, list(dict.fromkeys(ids)), "queries")
    if documents is not None:
        ids = [document for _, document in pairs]
        texts = _found(documents, DOCUMENTS, ids, sheet, "items")
        columns |= {name: [texts.by_id.get(text_id, {}).get(name, "") for text_id in ids] for name in texts.names}
        notes += _missing(documents, texts, ids, "items")
    return columns, notes


def _found(path: str, vocabulary: Vocabulary, ids: Sequence[str], sheet: str, what: str) -> TextsById:
    texts = read_texts(path, vocabulary, set(ids))
    if ids and not any(texts.by_id.values()):
        of = f"its first id is {texts.first_id!r}, the sheet's {ids[0]!r}{unseen_difference([texts.first_id], ids)}"
        raise InputError(f"{path}: none of its {texts.n_rows} rows has a text for the {what} of {sheet}: {of}")
    return texts


def _missing(path: str, texts: TextsById, ids: Sequence[str], what: str) -> list[Note]:
    n_missing = sum(not texts.by_id.get(text_id) for text_id in ids)
    numbers: dict[str, Told] = {"n": n_missing, "of": len(ids), "what": what, "source": path}
    return [Note("missing texts", numbers)] if n_missing else []
