"""The labelling of all queries of a sheet by one judge: which two documents to compare next, the truth so far."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from activeeval.errors import InputError
from activeeval.io.comparisons import Comparison, Truth
from activeeval.io.labelling import Told, append_told, read_told
from activeeval.io.tables.draws import TEXTS, draws_of
from activeeval.io.tables.sheets import read_sheet
from activeeval.judgments import read
from activeeval.top_k import Remaining, TopKLabelling


@dataclass(frozen=True, slots=True)
class Question:
    """Two documents of a query to compare, as they are shown; ``number`` counts the queries from 1."""

    query: str
    number: int
    first: str
    second: str


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The answers of one judge to the queries of a sheet: a fold over the lines of a log.

    Attributes
    ----------
    path : str
        The log.
    docs : mapping of str to list of str
        The documents of each query, in the order in which they are met.
    texts : mapping of (str, str) to str
        What is to be read of a query, the document empty, and of its documents.
    parts : dict of str to TopKLabelling
    """

    path: str
    docs: Mapping[str, Sequence[str]]
    texts: Mapping[tuple[str, str], str]
    parts: dict[str, TopKLabelling]

    @classmethod
    def of(cls, sheet: str, k: int, path: str) -> Self:
        """Return the labelling of a sheet's queries with what its log says already.

        Raises
        ------
        InputError
            Where the sheet cannot be read, or the log is of other documents or another k.
        """
        docs, texts = _read(sheet)
        # where ties are not those of a ranking what came first is kept: an order of the ids favours no run
        docs = {query: sorted(of_query, key=partial(arrival_number, query)) for query, of_query in docs.items()}
        parts = {
            query: TopKLabelling(len(of_query), min(k, len(of_query)), order="given")
            for query, of_query in docs.items()
        }
        labelling = cls(path, docs, texts, parts)
        for number, step in enumerate(read_told(path) if os.path.exists(path) else (), start=1):
            try:
                labelling._take(step)
            except InputError as problem:
                raise InputError(f"{path}:{number}: {problem}; is it the log of {sheet}, for the top {k}?") from None
        return labelling

    @property
    def n_settled(self) -> int:
        """How many queries are settled."""
        return sum(part.ask() is None for part in self.parts.values())

    @property
    def n_ties(self) -> int:
        """How many pairs were told to be alike."""
        return sum(len(part.ties) for part in self.parts.values())

    @property
    def n_overruled(self) -> int:
        """How many of them do not share a rank in the truths of settled queries, as other answers set them apart."""
        return sum(part.n_overruled for part in self.parts.values() if part.ask() is None)

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.docs)

    @property
    def n_comparisons(self) -> int:
        """How many comparisons count so far."""
        return sum(part.n_comparisons for part in self.parts.values())

    def ask(self) -> Question | None:
        """Return what to compare next, one query after another; None when all are settled."""
        for number, (query, part) in enumerate(self.parts.items(), start=1):
            if (pair := part.ask()) is not None:
                first, second = (self.docs[query][item] for item in pair)
                return Question(query, number, *sided(query, first, second))
        return None

    def remaining(self, query: str) -> Remaining:
        """Return how many comparisons a query may still take."""
        return self.parts[query].remaining(0, 50)

    def tell(self, step: Told) -> None:
        """Take what the judge says, and record it before anything else is asked.

        Raises
        ------
        InputError
            Where it is no answer to what was asked, or cannot be recorded: nothing is changed then.
        """
        self._check(step)
        append_told(self.path, step)
        self._take(step)

    def last(self) -> str | None:
        """Return the query whose last answer `undone` would take back: the current one, or the one before."""
        asked = self.ask()
        names = list(self.parts)
        at = len(names) if asked is None else names.index(asked.query) + 1
        return next((query for query in reversed(names[:at]) if self.parts[query].answers), None)

    def truths(self) -> dict[str, Truth]:
        """Return the truth of every settled query."""
        truths = {}
        for query, part in self.parts.items():
            if part.ask() is None:
                truths[query] = truth_of(part, self.docs[query])
        return truths

    def is_own(self, path: str) -> bool:
        """Whether a file holds only truths or comparisons that this labelling says too."""
        try:
            judgments = read(path)
            if judgments.holds("truth"):
                now = self.truths()
                return all(now.get(query) == truth for query, truth in judgments.truths().items())
            return set(judgments.comparisons()) <= set(self.comparisons())
        except InputError:
            return False

    def comparisons(self) -> list[Comparison]:
        """Return the comparisons that stand, of all queries."""
        comparisons = []
        for query, part in self.parts.items():
            for first, second, preferred in part.preferences():
                docs = [self.docs[query][item] for item in (first, second)]
                better = docs[0] if preferred is None else self.docs[query][preferred]
                comparisons.append(Comparison(query, better, next(d for d in docs if d != better), preferred is None))
        return comparisons

    def _check(self, step: Told) -> None:
        asked = self.parts[step.query].ask() if step.query in self.parts else None
        if step.query not in self.parts:
            raise InputError(f"query {step.query!r} is none of the sheet")
        docs = self.docs[step.query]
        if step.kind == "compared" and (asked is None or {step.first, step.second} != {docs[z] for z in asked}):
            raise InputError(
                f"documents {step.first!r} and {step.second!r} of query {step.query!r} were not asked about"
            )
        if step.kind == "discarded" and step.first not in docs:
            raise InputError(f"document {step.first!r} of query {step.query!r} is none of the sheet")

    def _take(self, step: Told) -> None:
        self._check(step)
        part, docs = self.parts[step.query], self.docs[step.query]
        if step.kind == "undone":
            part.undo()
        elif step.kind == "discarded":
            part.discard(docs.index(step.first))
        else:
            part.tell(None if step.preferred is None else docs.index(step.preferred))


def truth_of(settled: TopKLabelling, docs: Sequence[str]) -> Truth:
    """Return what a settled labelling of documents came to."""
    groups = settled.groups()
    above = {item for group in groups for item in group}
    below = [doc for item, doc in enumerate(docs) if item not in {*above, *settled.discarded}]
    return Truth.of(([docs[item] for item in group] for group in groups), below, [docs[z] for z in settled.discarded])


def arrival_number(query: str, doc: str) -> bytes:
    """Return the number by which a query's documents are put in the order in which they are met."""
    return hashlib.sha256(f"{query}\0{doc}".encode()).digest()


def sided(query: str, first: str, second: str) -> tuple[str, str]:
    """Return two documents in the order in which they are shown, for a pair that is asked again in the other one.

    An algorithm would show what it knows best always on one side, and whoever likes a side better would favour it; so
    ids decide, as the throw of a coin would.
    """
    ids = "\0".join((query, *sorted((first, second)), "sides"))
    return (first, second) if hashlib.sha256(ids.encode()).digest()[0] % 2 == 0 else (second, first)


def _read(path: str) -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """Return the documents of each query of a sample's sheet, in its order, and what there is to read of them."""
    sheet = read_sheet(path).plainly_named()
    draws = draws_of(sheet, path)
    columns = {name: sheet.words(name) for name in TEXTS if name in sheet.columns}
    docs: dict[str, list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    for row, (query, doc) in enumerate(zip(draws.query_id.tolist(), draws.doc_id.tolist(), strict=True)):
        if doc in docs.setdefault(query, []):
            raise InputError(f"{draws.place(path, row)}: document {doc!r} of query {query!r} is there twice")
        docs[query].append(doc)
        words = {name: cells[row] for name, cells in columns.items()}
        texts[query, ""] = words.pop("query", "") or texts.get((query, ""), "")
        texts[query, doc] = "\n".join(filter(None, words.values()))
    return docs, texts
