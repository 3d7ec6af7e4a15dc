"""Replace the texts of queries in judgments by their ids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.judgments.table import Judgments
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.formats.graders.joining import IdsOfTexts
from activeeval.formats.tables.text_tables import NEED, QUERIES, read_texts


def with_query_ids(judgments: Judgments, path: str) -> Judgments:
    """Replace query texts by the ids of a table of texts; judgments of a text without an id are left out and counted.

    Judgments that name queries by ids are returned unchanged.

    Raises
    ------
    InputError
        If no query of the judgments is a text or an id of the table, or a text is of several ids.
    """
    texts = read_texts(path, QUERIES).by_id
    by_id = {key: next((text for name, text in of_id.items() if name != NEED), "") for key, of_id in texts.items()}
    ids = IdsOfTexts.of(by_id)
    names = judgments.query_ids.tolist()
    ids_of = {name: [name] if name in by_id else ids[name] for name in dict.fromkeys(names)}
    unknown = [name for name, of_name in ids_of.items() if not any(query in by_id for query in of_name)]
    if not judgments.is_by_text and (len(unknown) == len(ids_of) or not by_id.keys().isdisjoint(names)):
        return judgments
    if len(unknown) == len(ids_of):
        problem = f"holds no query of {judgments.source}, whose first is {names[0]!r}"
        raise InputError(f"{path}: {problem}", field="queries")
    if twice := [name for name, of_name in ids_of.items() if len(of_name) > 1]:
        problem = f"the text {twice[0]!r} is of the queries {' and '.join(ids_of[twice[0]])}, expected one"
        raise InputError(f"{path}: {problem}", field="queries")
    ids_of |= {name: [] for name in unknown}
    rows = np.repeat(np.arange(len(names)), [len(ids_of[name]) for name in names])
    queries = [query for name in names for query in ids_of[name]]
    note = Note("queries without id", {"source": path, "n": len(unknown), "of": len(ids_of)})
    notes = (*judgments.read_notes, *([note] if unknown else []))
    return replace(judgments.where(rows), query_ids=Texts.from_list(queries), is_by_text=False, read_notes=notes)
