"""How what was drawn is judged: items by grades, or whole queries by comparisons of two documents.

What depends on that is asked of the `Judging`, so that nobody has to ask which one it is. It is chosen once, by what
measures are of (`judging_of`) or what a campaign was made with (`judging_in`), and handed on. What needs more than a
judging knows (the costs of a pool, a store) goes by its class, once in each place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.policies import CANNOT

if TYPE_CHECKING:
    from activeeval.core.pool import QueryPool
    from activeeval.core.results import Note
    from activeeval.core.types import Ints

WHOLE = "*"
"""The document of a query that is judged as a whole."""


class DocumentToJudge(NamedTuple):
    """What a judge is shown at once: a document with its texts, or `WHOLE` with all ``documents`` of a query.

    Attributes
    ----------
    probability : float
        With which it came into the sample.
    text : mapping
        By the names of its texts.
    """

    doc_id: str
    probability: float
    text: Mapping[str, Any]


class Judging(Protocol):
    """What is asked of judges, and what their answers stand for; what has a body here is so of grades.

    Attributes
    ----------
    name : str
        What it is called where it is chosen.
    is_whole : bool
        Whether one answer settles all documents of a query.
    has_grades : bool
        Whether labels are grades of a scale, of which a grade model speaks.
    """

    name: ClassVar[str]
    is_whole: ClassVar[bool] = False
    has_grades: ClassVar[bool] = True

    # Of choices

    def check_choices(self, names: Sequence[str]) -> None:
        """Raise ChoiceError where choices that were made by these names are of another judging."""
        return

    # Of a sample

    @property
    def config(self) -> dict[str, int | None]:
        """What a campaign keeps of it, as `judging_in` reads it."""

    def check_rules(self, judges_per_item: int) -> None:
        """Raise InputError where an item cannot have so many judges."""
        return

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Return what to know before judging; ``n_ideal`` is of how many items the ideal of a measure is, 0 of none."""

    def shown(self, query: str, items: Sequence[DocumentToJudge]) -> list[DocumentToJudge]:
        """Return what judges are shown of a unit's items, each with its texts."""
        return list(items)

    # Of what judges say

    def check_labels(self, pool: QueryPool, labels: Ints, source: str) -> None:
        """Raise InputError where labels (n_items,), −1 where nobody has judged, do not fit each other."""
        return

    def check_grade(self, place: str) -> None:
        """Raise InputError where an item has a grade, at a place of a sheet, that cannot have one."""
        return

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Return itself where ranks are asked for; raise InputError with a refusal where they are not."""

    def grades(self, doc_id: str, item_ids: Sequence[str], judgments: Mapping[str, Event]) -> dict[str, dict[str, int]]:
        """Return the grade that each judge gives each item by judgments of a document, `CANNOT` where there is none.

        Parameters
        ----------
        item_ids : sequence of str
            Of the unit that the document is of.
        judgments : mapping of str to Event
            By judge.
        """
        return {doc_id: {judge: CANNOT if e.grade is None else e.grade for judge, e in judgments.items()}}

    # Of a campaign

    def check_sheets(self, name: str) -> None:
        """Raise InputError where a campaign of a name takes no sheets."""
        return

    def check_known(self, name: str) -> None:
        """Raise InputError where the labels of a campaign of a name are no grades that another may take for known."""
        return

    @property
    def about_labels(self) -> list[Note]:
        """What to know of labels that are written out for other tools."""
        return []


@dataclass(frozen=True, slots=True)
class ByGrades(Judging):
    """Each item has a grade."""

    name: ClassVar[str] = "grades"

    @property
    def config(self) -> dict[str, int | None]:
        """That no query has a top."""
        return {"top_k": None}

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Return the scale, and of how many items the ideal is."""
        from activeeval.core.results import Note

        scale = [] if max_grade is None else [Note("judges grade", {"measures": measures, "max_grade": max_grade})]
        return [*scale, *([Note("ideal of the pool", {"n_items": n_ideal})] if n_ideal else [])]

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Refuse: items are graded."""
        raise InputError(refusal)


GRADES = ByGrades()
"""What is so where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class ByComparisons(Judging):
    """The k best of each query are found by comparing two documents at a time; labels are κ-grades, k + 1 − rank.

    Parameters
    ----------
    k : int
    """

    k: int
    name: ClassVar[str] = "top-k"
    is_whole: ClassVar[bool] = True
    has_grades: ClassVar[bool] = False

    def check_choices(self, names: Sequence[str]) -> None:
        """Raise ChoiceError where there is a choice: what a query costs follows from its comparisons, all of them."""
        if names:
            problem = f"`{names[0]}` is of grades: of a measure of the top k a query costs its comparisons, all of them"
            raise ChoiceError(problem, field=names[0])

    @property
    def config(self) -> dict[str, int | None]:
        """How many of the best of a query are asked for."""
        return {"top_k": self.k}

    def check_rules(self, judges_per_item: int) -> None:
        """Raise InputError where there are several judges: their ranks have no majority."""
        if judges_per_item > 1:
            raise InputError("of ranks one judge's count: a query of top-k judging has one judge, not several")

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Return how many of the best are looked for."""
        from activeeval.core.results import Note

        return [Note("judges compare", {"measures": measures, "k": self.k})]

    def shown(self, query: str, items: Sequence[DocumentToJudge]) -> list[DocumentToJudge]:
        """Return all of a query's items as one; a tie keeps what came first, so ids decide on that."""
        order = sorted(items, key=lambda item: arrival_number(query, item.doc_id))
        documents = [{"doc_id": item.doc_id, **item.text} for item in order]
        return [DocumentToJudge(WHOLE, items[0].probability, {"documents": documents})]

    def check_labels(self, pool: QueryPool, labels: Ints, source: str) -> None:
        """Raise InputError where κ-grades of a query skip a rank, or too few of its best have one."""
        from activeeval.core.judgments.comparisons import check_truths

        check_truths(pool, labels, self.k, source)

    def check_grade(self, place: str) -> None:
        """Refuse: documents have ranks."""
        expected = "expected a table of query, rank, doc_id"
        raise InputError(f"{place}: a grade, where the {self.k} best are asked for: {expected}")

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Return itself."""
        return self

    def grades(self, doc_id: str, item_ids: Sequence[str], judgments: Mapping[str, Event]) -> dict[str, dict[str, int]]:
        """Return κ-grades k, k − 1, … of the order that a judge has brought a query into, and 0 below.

        Of a sheet with truths in the place of grades they are those of each item already.
        """
        from activeeval.core.judgments.comparisons import Truth  # whoever claims and submits does not wait for tables

        if doc_id != WHOLE:
            return Judging.grades(self, doc_id, item_ids, judgments)
        truths = {judge: Truth.from_parts(e.body if e.kind == "judged" else {}) for judge, e in judgments.items()}
        ranked = {judge: truth.grades(self.k) for judge, truth in truths.items()}
        return {item: {judge: grades.get(item, CANNOT) for judge, grades in ranked.items()} for item in item_ids}

    def check_sheets(self, name: str) -> None:
        """Refuse: what to compare next follows from the answers so far."""
        how = "`campaign label` asks, or claim them"
        raise InputError(f"campaign {name}: documents are compared, two at a time: {how}")

    def check_known(self, name: str) -> None:
        """Refuse."""
        raise InputError(f"campaign {name}: holds ranks, which are no known grades")

    @property
    def about_labels(self) -> list[Note]:
        """What other tools would take them for."""
        from activeeval.core.results import Note

        return [Note("ranks as grades", {"k": self.k})]


def judging_of(measures: Iterable[Any]) -> Judging:
    """Return how measures are judged.

    Raises
    ------
    InputError
        Where some are of grades and some of a top k, or of different k: one judging answers one kind.
    """
    asked = list(measures)
    kinds = {ByComparisons(measure.k) if getattr(measure, "is_judged_whole", False) else GRADES for measure in asked}
    if len(kinds) > 1:
        names = ", ".join(map(str, asked))
        raise InputError(f"{names}: one judging is of grades, or of the top k with one k for all measures")
    return kinds.pop() if kinds else GRADES


def judging_in(config: Mapping[str, Any]) -> Judging:
    """Return the judging of a campaign, by what it keeps."""
    k = config.get("top_k")
    return GRADES if k is None else ByComparisons(int(k))


def arrival_number(query: str, doc: str) -> bytes:
    """Return the number by which a query's documents are put in the order in which they are met."""
    return sha256(f"{query}\0{doc}".encode()).digest()
