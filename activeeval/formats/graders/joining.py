"""Replies that name queries and documents by their texts: which ids these are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

TextsOfIds = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class IdsOfTexts:
    """The ids that have a text, whatever its blanks; a text without any stands for itself.

    Examples
    --------
    >>> IdsOfTexts.of({"d1": "a  flea", "d2": "a flea"})["a flea "]
    ['d1', 'd2']
    """

    ids: Mapping[str, list[str]]

    @classmethod
    def of(cls, texts: TextsOfIds | None) -> Self:
        """Take the texts of ids."""
        ids: dict[str, list[str]] = {}
        for text_id, text in (texts or {}).items():
            ids.setdefault(_bare(text), []).append(text_id)
        return cls(ids)

    def __getitem__(self, text: str) -> list[str]:
        return self.ids.get(_bare(text), [text])


def joined_pairs(
    queries: Sequence[str], documents: Sequence[str], query_ids: IdsOfTexts, doc_ids: IdsOfTexts
) -> tuple[list[int], list[str], list[str]]:
    """Return the rows, the ids of queries and those of documents of all pairs that some texts are of."""
    rows, of_queries, of_documents = list[int](), list[str](), list[str]()
    for row, (query, document) in enumerate(zip(queries, documents, strict=True)):
        for query_id in query_ids[query]:
            for doc_id in doc_ids[document]:
                rows.append(row)
                of_queries.append(query_id)
                of_documents.append(doc_id)
    return rows, of_queries, of_documents


def _bare(text: str) -> str:
    return " ".join(text.split())
