"""Find the ids of queries and documents that replies name by their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

TextsOfIds = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class IdsOfTexts:
    """Ids by text, whatever its white space; a text without ids is its own id.

    Examples
    --------
    >>> IdsOfTexts.of({"d1": "a  flea", "d2": "a flea"})["a flea "]
    ['d1', 'd2']
    """

    ids: Mapping[str, list[str]]

    @classmethod
    def of(cls, texts: TextsOfIds | None) -> Self:
        """Build the index from texts by id."""
        ids: dict[str, list[str]] = {}
        for text_id, text in (texts or {}).items():
            ids.setdefault(_bare(text), []).append(text_id)
        return cls(ids)

    def __getitem__(self, text: str) -> list[str]:
        """Get the ids of a text, whatever its white space; the text itself if it has none."""
        return self.ids.get(_bare(text), [text])


def joined_pairs(
    queries: Sequence[str], documents: Sequence[str], query_ids: IdsOfTexts, doc_ids: IdsOfTexts
) -> tuple[list[int], list[str], list[str]]:
    """Find all pairs of ids whose texts a row has; return row numbers, query ids and document ids.

    ``queries`` and ``documents`` have the texts of each row, ``query_ids`` and ``doc_ids`` the ids of a text.
    """
    rows, of_queries, of_documents = list[int](), list[str](), list[str]()
    for row, (query, document) in enumerate(zip(queries, documents, strict=True)):
        for query_id in query_ids[query]:
            for doc_id in doc_ids[document]:
                rows.append(row)
                of_queries.append(query_id)
                of_documents.append(doc_id)
    return rows, of_queries, of_documents


def _bare(text: str) -> str:
    """Normalize white space."""
    return " ".join(text.split())
