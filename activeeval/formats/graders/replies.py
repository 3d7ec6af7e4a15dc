"""A grader's replies as columns: values, probabilities, costs, models and prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import FormatError, shown
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints

Names = NDArray[np.object_]
"""Column of few distinct texts, each stored once; "" means unknown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replies:
    """Replies of a grader in the order of their file; a pair of query and document may have several.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    values : ndarray of float64, shape (n,)
        A grade or a score; NaN if the reply is missing.
    probs : ndarray of float64, shape (n, n_grades), or None
        Probabilities of the grades 0, 1, …; a row of NaN if the reply has none.
    costs : ndarray of float64, shape (n,), or None
        Costs of the replies, in money.
    tokens : ndarray of int64, shape (n, 2), or None
        Tokens of the question and of the reply.
    models, prompt_versions : array of str, shape (n,), or None
    explanations : Texts or sequence of str, shape (n,), or None
    is_sampled : bool
        True if several replies of a pair are samples, not conflicts.
    n_of_people : int
        Number of rows left out because a person judged them.
    line_of : callable or None
        Maps a row to its line in the file; None if rows have no lines.
    source : str
    """

    query_ids: Texts
    doc_ids: Texts
    values: Floats
    probs: Floats | None = None
    costs: Floats | None = None
    tokens: Ints | None = None
    models: Names | None = None
    prompt_versions: Names | None = None
    explanations: Sequence[str] | None = None
    is_sampled: bool = False
    n_of_people: int = 0
    line_of: Callable[[int], int] | None = None
    source: str = "the grades"

    def place(self, row: int) -> str:
        """Format the place of a row for a message."""
        return f"row {row + 1}" if self.line_of is None else f"line {self.line_of(row)}"

    def pair(self, row: int) -> str:
        """Format the pair of a row for a message."""
        return f"document {shown(self.doc_ids[row])} of query {shown(self.query_ids[row])}"

    def fail(self, row: int, problem: str) -> NoReturn:
        """Raise FormatError that names the line of a row."""
        line = None if self.line_of is None else self.line_of(row)
        raise FormatError(self.source, line, problem if line is not None else f"{self.place(row)}: {problem}")


def few_names(texts: Sequence[str]) -> Names:
    """Convert texts to an array in which equal texts share one object."""
    distinct: dict[str, str] = {}
    return np.array([distinct.setdefault(text, text) for text in texts], dtype=object)
