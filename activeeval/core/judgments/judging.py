"""Forms of judging: items are graded, or whole queries are judged by comparing two documents at a time.

The form is chosen once, from the measures (`judging_of`) or a campaign's configuration (`judging_in`), and passed on
as a `Judging`, whose methods cover the differences between forms. Code that needs more context (the costs of a pool, a
store) tests its class, once in each place.
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
"""Document id of a judgment of a whole query."""


class DocumentToJudge(NamedTuple):
    """A document shown to a judge, with its texts; or `WHOLE`, with all ``documents`` of a query.

    Attributes
    ----------
    probability : float
        Inclusion probability in the sample.
    text : mapping
        Texts by field name, such as title and body.
    """

    doc_id: str
    probability: float
    text: Mapping[str, Any]


class Judging(Protocol):
    """The form of the answers of judges and their meaning; the method bodies here apply to grades.

    Attributes
    ----------
    name : str
        Name of the form in options.
    is_whole : bool
        True if one answer settles all documents of a query.
    has_grades : bool
        True if labels are grades of a scale, as predicted by a grade model.
    """

    name: ClassVar[str]
    is_whole: ClassVar[bool] = False
    has_grades: ClassVar[bool] = True

    # Choices of the caller

    def check_choices(self, names: Sequence[str]) -> None:
        """Raise ChoiceError if one of the named options (of the caller) does not apply to this form of judging."""
        return

    # Sampling

    @property
    def config(self) -> dict[str, int | None]:
        """Entry of a campaign's configuration that names this form: ``top_k``, the k of a top k, or None for grades."""

    def check_rules(self, judges_per_item: int) -> None:
        """Raise InputError if an item cannot have that many judges."""
        return

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Build notes to show before judging.

        ``measures`` are names; `n_ideal` is the number of items in the ideal (best) ranking of a measure, 0 without
        one; ``max_grade`` is None on an open scale.
        """

    def shown(self, query: str, items: Sequence[DocumentToJudge]) -> list[DocumentToJudge]:
        """Convert the items of a unit (what is drawn and judged at once) to documents that judges see, with texts."""
        return list(items)

    # Answers of judges

    def check_labels(self, pool: QueryPool, labels: Ints, source: str) -> None:
        """Raise InputError if labels (n_items,), −1 if unjudged, contradict each other; ``source`` names them."""
        return

    def check_grade(self, place: str) -> None:
        """Raise InputError if an item at a ``place`` of a sheet (file and line) has a grade but this form has none."""
        return

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Return this form if judges rank documents; raise InputError with the text `refusal` otherwise."""

    def grades(self, doc_id: str, item_ids: Sequence[str], judgments: Mapping[str, Event]) -> dict[str, dict[str, int]]:
        """Compute the grade of each item from each judge's judgment of a document; `CANNOT` if there is no grade.

        Parameters
        ----------
        doc_id : str
            The document; `WHOLE` for a judgment of a whole query.
        item_ids : sequence of str
            Items of the document's unit (what was drawn at once).
        judgments : mapping of str to Event
            Judgments by judge.

        Returns
        -------
        dict of str to dict of str to int
            Grades by item, then by judge.
        """
        return {doc_id: {judge: CANNOT if e.grade is None else e.grade for judge, e in judgments.items()}}

    # Campaigns

    def check_sheets(self, name: str) -> None:
        """Raise InputError if this form cannot be judged on sheets (tables to fill in); `name` is the campaign."""
        return

    def check_known(self, name: str) -> None:
        """Raise InputError if labels of this form cannot serve as known grades; `name` is the campaign."""
        return

    @property
    def about_labels(self) -> list[Note]:
        """Notes about labels that are exported for other tools."""
        return []


@dataclass(frozen=True, slots=True)
class ByGrades(Judging):
    """Judging in which each item gets a grade."""

    name: ClassVar[str] = "grades"

    @property
    def config(self) -> dict[str, int | None]:
        """Configuration entry for judging by grades: no top k."""
        return {"top_k": None}

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Build notes about the scale (None: open) and the number of items in the ideal ranking (0: none is needed)."""
        from activeeval.core.results import Note

        scale = [] if max_grade is None else [Note("judges grade", {"measures": measures, "max_grade": max_grade})]
        return [*scale, *([Note("ideal of the pool", {"n_items": n_ideal})] if n_ideal else [])]

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Raise InputError: items are graded, not ranked."""
        raise InputError(refusal)


GRADES = ByGrades()
"""The default form of judging."""


class BySubtopics(ByGrades):
    """Judging in which each item gets a grade for each subtopic of its query; lists can only be scored by it."""

    __slots__ = ()
    name: ClassVar[str] = "subtopics"


SUBTOPICS = BySubtopics()


@dataclass(frozen=True, slots=True)
class ByComparisons(Judging):
    """Judging in which comparisons of two documents at a time find the k best of each query; labels are κ-grades.

    The κ-grade of a document is k + 1 − rank.

    Parameters
    ----------
    k : int
    """

    k: int
    name: ClassVar[str] = "top-k"
    is_whole: ClassVar[bool] = True
    has_grades: ClassVar[bool] = False

    def check_choices(self, names: Sequence[str]) -> None:
        """Raise ChoiceError if any option is given: the cost of a query follows from its comparisons."""
        if names:
            problem = f"`{names[0]}` applies to grades: for a measure of the top k, a query costs its comparisons"
            raise ChoiceError(problem, field=names[0])

    @property
    def config(self) -> dict[str, int | None]:
        """Configuration entry: the number of best documents to find."""
        return {"top_k": self.k}

    def check_rules(self, judges_per_item: int) -> None:
        """Raise InputError if an item has several judges: their ranks have no majority."""
        if judges_per_item > 1:
            raise InputError("top-k judging takes one judge a query: ranks of several judges have no majority")

    def notes(self, measures: tuple[str, ...], max_grade: int | None, n_ideal: int) -> list[Note]:
        """Build a note with the number of best documents to find for ``measures``; the scale has no effect."""
        from activeeval.core.results import Note

        return [Note("judges compare", {"measures": measures, "k": self.k})]

    def shown(self, query: str, items: Sequence[DocumentToJudge]) -> list[DocumentToJudge]:
        """Combine all items of a query into one document, whose text field ``documents`` lists their ids and texts.

        Hashes of the ids set the order in which the documents are compared, which decides ties.
        """
        order = sorted(items, key=lambda item: arrival_number(query, item.doc_id))
        documents = [{"doc_id": item.doc_id, **item.text} for item in order]
        return [DocumentToJudge(WHOLE, items[0].probability, {"documents": documents})]

    def check_labels(self, pool: QueryPool, labels: Ints, source: str) -> None:
        """Raise InputError if κ-grades (k + 1 − rank) of a query skip a rank, or fewer than k documents have one."""
        from activeeval.core.judgments.comparisons import check_truths

        check_truths(pool, labels, self.k, source)

    def check_grade(self, place: str) -> None:
        """Raise InputError: documents have ranks, not grades."""
        expected = "expected a table of query, rank, doc_id"
        raise InputError(f"{place}: holds a grade, but the {self.k} best documents get ranks: {expected}")

    def of_ranks(self, refusal: str) -> ByComparisons:
        """Return this form: it yields ranks."""
        return self

    def grades(self, doc_id: str, item_ids: Sequence[str], judgments: Mapping[str, Event]) -> dict[str, dict[str, int]]:
        """Compute κ-grades (k for the best document, … 1 for the k-th, 0 below) from each judge's ranking of a query.

        Returns grades by item, then by judge; `CANNOT` if a ranking lacks the item. A ``doc_id`` other than `WHOLE`
        comes from a sheet that lists ranks, whose judgments are κ-grades already.
        """
        from activeeval.core.judgments.comparisons import Truth  # imported here so that claim and submit start fast

        if doc_id != WHOLE:
            return Judging.grades(self, doc_id, item_ids, judgments)
        truths = {judge: Truth.from_parts(e.body if e.kind == "judged" else {}) for judge, e in judgments.items()}
        ranked = {judge: truth.grades(self.k) for judge, truth in truths.items()}
        return {item: {judge: grades.get(item, CANNOT) for judge, grades in ranked.items()} for item in item_ids}

    def check_sheets(self, name: str) -> None:
        """Raise InputError: the next comparison depends on the answers so far, so there is no sheet."""
        how = "use `campaign label`, or claim them"
        raise InputError(f"campaign {name}: documents are compared two at a time, not graded on sheets: {how}")

    def check_known(self, name: str) -> None:
        """Raise InputError: the ranks of a campaign ``name`` cannot serve as known grades of another one."""
        raise InputError(f"campaign {name}: holds ranks, which cannot serve as known grades")

    @property
    def about_labels(self) -> list[Note]:
        """A note that other tools would read the ranks as grades."""
        from activeeval.core.results import Note

        return [Note("ranks as grades", {"k": self.k})]


def judging_of(measures: Iterable[Any]) -> Judging:
    """Choose the form of judging (grades, or comparisons for the top k) for some measures.

    Raises
    ------
    InputError
        If some measures use grades and others a top k or subtopics, or if their k differ.
    """
    listed = list(measures)
    kinds = {
        ByComparisons(measure.k)
        if getattr(measure, "is_judged_whole", False)
        else (SUBTOPICS if getattr(measure, "needs_subtopics", False) else GRADES)
        for measure in listed
    }
    if len(kinds) > 1:
        names = ", ".join(map(str, listed))
        if SUBTOPICS in kinds:
            raise InputError(f"{names}: judgments are of subtopics for all measures or for none: score them apart")
        raise InputError(f"{names}: a sample is judged by grades, or by the top k with one k for all measures")
    return kinds.pop() if kinds else GRADES


def judging_in(config: Mapping[str, Any]) -> Judging:
    """Read the form of judging from a campaign's configuration: comparisons if it has ``top_k``, else grades."""
    k = config.get("top_k")
    return GRADES if k is None else ByComparisons(int(k))


def arrival_number(query: str, doc: str) -> bytes:
    """Compute the hash that orders a query's documents for comparison, the same in every campaign."""
    return sha256(f"{query}\0{doc}".encode()).digest()
