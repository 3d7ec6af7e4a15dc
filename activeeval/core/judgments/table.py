"""Tables of judgments: their labels, and agreement between judges.

A judge is a person or a grader (an LLM or another model). Only people's grades count as labels; a grader's grades are
input for models, and functions that return labels ignore them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.coded_grades import CodedGrades, Relations
from activeeval.core.judgments.judgment import GRADE, KINDS, UNJUDGED, Judge, Judgment
from activeeval.core.judgments.policies import refuse_as_labels, truth_of_machines
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Bools, Bytes, Floats, Ints

if TYPE_CHECKING:
    from activeeval.core.judgments.agreement import Agreements
    from activeeval.core.judgments.comparisons import Comparison, Truth
    from activeeval.core.pool.keyed import Qrels
    from activeeval.core.results import Caution, Note

_NAMES = ("grades", "items that cannot be judged", "items put off", "comparisons", "ranks", "items that wait")
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgments:
    """Judgments as columns, in the order of their file or log; `read` creates them.

    Attributes
    ----------
    query_ids, item_ids : Texts, shape (n,)
    values : ndarray of int64, shape (n,)
        As `Judgment.value`.
    kinds : ndarray of uint8, shape (n,), or None
        Indices into `KINDS`; None if all are grades.
    judge : ndarray of int64, shape (n,), or None
        Indices into `judges`; None if all are by the first.
    judges : tuple of Judge
    others, reasons : sequence of str, shape (n,), or None
    at, seq : ndarray of int64, shape (n,), or None
        −1 if unknown.
    seconds : ndarray of float64, shape (n,), or None
        NaN if unknown.
    blocks : ndarray of int64, shape (n,), or None
        Block of the sample that the judgment's sheet belongs to.
    source : str
        Name of the judgments in messages.
    places : sequence of int or None
        Line or row of each judgment in the file; None if they are its consecutive rows.
    has_lines : bool
        True if `places` are line numbers.
    sample : str
        Id of the sample that the sheet belongs to.
    is_by_text : bool
        True if queries are named by a column that can contain their texts.
    is_distinct : bool
        True if no item is known to have two rows.
    n_of_machines : int
        Number of graders' judgments that are accepted as people's; see `as_truth`.
    read_notes : tuple of Note
        Notes on how the file was read.
    gains : ndarray of float64, or None
        Distinct gains, ascending, of judgments that are gains rather than grades; `values` are then indices into it.

    Examples
    --------
    >>> two = Judgments.of([Judgment("q1", "d1", Judge("ann"), value=2), Judgment("q1", "d1", Judge("bob"), value=1)])
    >>> two.labels("median").grades.tolist(), two.labels("mean-gain").probs.tolist()
    ([1], [[0.0, 0.5, 0.5]])
    """

    query_ids: Texts
    item_ids: Texts
    values: Ints
    kinds: Bytes | None = None
    judge: Ints | None = None
    judges: tuple[Judge, ...] = (Judge(),)
    others: Sequence[str] | None = None
    reasons: Sequence[str] | None = None
    at: Ints | None = None
    seconds: Floats | None = None
    seq: Ints | None = None
    blocks: Ints | None = None
    source: str = "the judgments"
    places: Sequence[int] | None = None
    has_lines: bool = False
    sample: str = ""
    is_by_text: bool = False
    is_distinct: bool = False
    n_of_machines: int = 0
    read_notes: tuple[Note, ...] = ()
    gains: Floats | None = None

    @classmethod
    def of(cls, rows: Iterable[Judgment], **options: Any) -> Self:
        """Build the table from single judgments.

        Parameters
        ----------
        rows : iterable of Judgment
        **options
            Fields that apply to all of them: source, places, has_lines, is_by_text.
        """
        judgments = list(rows)
        judges = tuple(dict.fromkeys(row.judge for row in judgments)) or (Judge(),)
        number = {judge: k for k, judge in enumerate(judges)}
        kind = {name: k for k, name in enumerate(KINDS)}
        has_times = any(row.at is not None for row in judgments)
        return cls(
            query_ids=Texts.from_list([row.query for row in judgments]),
            item_ids=Texts.from_list([row.item for row in judgments]),
            values=np.array([row.value for row in judgments], dtype=np.int64),
            kinds=np.array([kind[row.kind] for row in judgments], dtype=np.uint8),
            judge=np.array([number[row.judge] for row in judgments], dtype=np.int64),
            judges=judges,
            others=[row.other for row in judgments],
            reasons=[row.reason for row in judgments],
            at=_numbers([row.at for row in judgments]) if has_times else None,
            seconds=np.array([np.nan if row.seconds is None else row.seconds for row in judgments], dtype=np.float64),
            seq=_numbers([row.seq for row in judgments]),
            **options,
        )

    def __len__(self) -> int:
        """Number of judgments."""
        return self.values.size

    def __iter__(self) -> Iterator[Judgment]:
        """Yield each row as a `Judgment`."""
        n = len(self)
        columns = (self.query_ids, self.item_ids, self.kind_of, self.judge_of, self.values)
        texts = (self.others or [""] * n, self.reasons or [""] * n)
        known = (_known(self.at, n), _known(self.seconds, n), _known(self.seq, n))
        rows = zip(*(column.tolist() for column in columns), *texts, *known, strict=True)
        for query, item, kind, judge, value, other, reason, at, seconds, seq in rows:
            yield Judgment(query, item, self.judges[judge], KINDS[kind], value, other, reason, at, seconds, seq)

    @property
    def kind_of(self) -> Bytes:
        """Index of each judgment's kind in `KINDS`, shape (n,)."""
        return np.zeros(len(self), dtype=np.uint8) if self.kinds is None else self.kinds

    @property
    def judge_of(self) -> Ints:
        """Index of each judgment's judge in `judges`, shape (n,)."""
        return np.zeros(len(self), dtype=np.int64) if self.judge is None else self.judge

    @property
    def is_of_people(self) -> Bools:
        """True for judgments by a person, shape (n,)."""
        return ~np.array([judge.is_machine for judge in self.judges], dtype=np.bool_)[self.judge_of]

    def place(self, row: int) -> str:
        """Format the file and line (or row) of a judgment for messages."""
        number = row + 1 if self.places is None else self.places[row]
        return f"{self.source}:{number}" if self.has_lines else f"{self.source}: row {number}"

    def holds(self, kind: str) -> bool:
        """Check whether any judgment has this kind, one of `KINDS`."""
        if self.kinds is None:
            return kind == "grade" and len(self) > 0
        return bool((self.kinds == KINDS.index(kind)).any())

    @property
    def is_of_grades(self) -> bool:
        """True if items are graded rather than compared or ranked."""
        return not (self.holds("preference") or self.holds("truth"))

    def refuse(self, expected: str) -> NoReturn:
        """Raise InputError: the text names the kinds of judgments present and the expected one."""
        present = [name for kind, name in zip(KINDS, _NAMES, strict=True) if self.holds(kind)]
        raise InputError(f"{self.source}: holds {' and '.join(present) or 'no judgments'}, expected {expected}")

    def where(self, rows: Any) -> Self:
        """Select judgments by row numbers or a mask (n,)."""
        chosen = np.flatnonzero(rows) if np.asarray(rows).dtype == np.bool_ else np.asarray(rows, dtype=np.int64)
        columns: dict[str, Any] = {}
        for name in ("query_ids", "item_ids", "values", "kinds", "judge", "at", "seconds", "seq", "blocks"):
            column = getattr(self, name)
            columns[name] = None if column is None else column[chosen]
        if columns["kinds"] is not None and not columns["kinds"].any():
            columns["kinds"] = None
        for name in ("others", "reasons"):
            texts = getattr(self, name)
            columns[name] = None if texts is None else [texts[row] for row in chosen.tolist()]
        places = (chosen + 1).tolist() if self.places is None else [self.places[row] for row in chosen.tolist()]
        return replace(self, places=places, **columns)

    def named(self, name: str) -> Self:
        """Name the judge who has no name in the input."""
        return replace(self, judges=tuple(judge if judge.name else replace(judge, name=name) for judge in self.judges))

    def labels(self, policy: str = "median") -> Any:
        """Compute the grade of each item graded by people, or the distribution of their grades.

        An item that the file lists as pooled but unjudged keeps its negative grade. Items that cannot be judged, wait,
        or were graded only by graders (LLMs and other models) are left out.

        Parameters
        ----------
        policy : {"refuse", "majority", "median", "mean-gain"}
            How to combine the grades of several judges; see `activeeval.core.judgments.policies`.

        Returns
        -------
        Qrels
            With ``mean-gain``, `Probabilities`: the share of the judges who gave each grade, shape (n_items, n_grades).

        Raises
        ------
        InputError
            If the table holds comparisons or ranks, if a judge gives an item two grades, if judges differ and the
            policy is ``refuse``, or if all judges are graders.
        """
        return self.of_people()._resolved(policy)

    def model_grades(self, policy: str = "median") -> Qrels:
        """Compute the grade of each item from all judges, graders (LLMs and other models) included, for a model.

        ``policy`` combines grades of several judges: "refuse", "majority" or "median"; errors are those of `labels`.
        """
        grades: Qrels = self._resolved(policy)
        return grades

    def graded_pairs(self, policy: str = "median") -> dict[Pair, int]:
        """Map (query, item) to the grade by people, of judged items; ``policy`` is "refuse", "majority" or "median"."""
        from activeeval.core.judgments.counting import label_columns

        queries, items, grades = label_columns(self.of_people(), policy)
        rows = zip(queries.tolist(), items.tolist(), grades.tolist(), strict=True)
        return {(query, item): grade for query, item, grade in rows if grade >= 0}

    def of_people(self) -> Self:
        """Select the grades by people; drop those by graders (LLMs and other models), "cannot" answers and deferrals.

        Raises
        ------
        InputError
            If the table holds comparisons or ranks, or all judges are graders.
        """
        if not self.is_of_grades:
            self.refuse("grades")
        is_of_people = self.is_of_people
        if len(self) and not is_of_people.any():
            refuse_as_labels(self.source)
        if self.kinds is None and is_of_people.all():
            return self
        return self.where((self.kind_of == GRADE) & is_of_people)

    def as_truth(self) -> Self:
        """Treat the judgments of graders (LLMs and other models) as people's; `notes` then reports their number."""
        n_of_machines = int((~self.is_of_people).sum())
        judges = tuple(replace(judge, kind="person") for judge in self.judges)
        return replace(self, judges=judges, n_of_machines=n_of_machines)

    def notes(self) -> tuple[Note | Caution, ...]:
        """Build the notes on the file, and on judgments of graders (LLMs, models) left out or counted as labels."""
        from activeeval.core.results import Note

        if self.n_of_machines:
            return (*self.read_notes, truth_of_machines(self.source, self.n_of_machines))
        n_left_out = int((~self.is_of_people).sum())
        left_out = (Note("machines left out", {"source": self.source, "n": n_left_out}),) if n_left_out else ()
        return (*self.read_notes, *left_out)

    def _resolved(self, policy: str) -> Any:
        """Combine the grades of several judges by a policy: `Probabilities` for ``mean-gain``, else `Qrels`."""
        from activeeval.core.judgments.counting import distributions, label_columns
        from activeeval.core.pool.keyed import Qrels

        if policy == "mean-gain":
            return distributions(self)
        return Qrels(*label_columns(self, policy), self.source, gains=self.gains)

    def truths(self) -> dict[str, Truth]:
        """Get the top-k truth (ranking of the k best documents) of each query.

        Raises
        ------
        InputError
            If there is none, or the truths of two judges for a query differ.
        """
        if not self.holds("truth"):
            self.refuse("ranks (query, rank, doc_id)")
        truths: dict[str, Truth] = {}
        for (judge, query), truth in self.truths_by_judge().items():
            if truths.setdefault(query, truth) != truth:
                name = shown(judge.name)
                raise InputError(f"{self.source}: query {shown(query)} has two truths, one of {name}: expected one")
        return truths

    def truths_by_judge(self) -> dict[tuple[Judge, str], Truth]:
        """Get the truth (ranking of the k best documents) of each judge and query; other judgments are ignored."""
        from activeeval.core.judgments.counting import truths_by_judge

        return truths_by_judge(self)

    def rows_of(self, kind: int) -> Iterator[tuple[int, str, str, int, int]]:
        """Yield row, query, item, value and judge's index of the judgments of a kind, given by its index in `KINDS`."""
        rows = np.flatnonzero(self.kind_of == kind)
        columns = (rows, self.query_ids[rows], self.item_ids[rows], self.values[rows], self.judge_of[rows])
        yield from zip(*(column.tolist() for column in columns), strict=True)

    def comparisons(self) -> list[Comparison]:
        """List all pairs of documents that a judge compared or ranked.

        A truth implies a comparison of every two of its documents: the top in its order, documents with the same rank
        tied, and all documents below the top, rejected ones included, tied with each other. The truth of a query
        replaces the same judge's comparisons.

        Raises
        ------
        InputError
            If the table holds only grades.
        """
        if self.is_of_grades:
            self.refuse("comparisons (query, preferred, other)")
        return [comparison for _, comparison in self.placed_comparisons()]

    def placed_comparisons(self) -> Iterator[tuple[str, Comparison]]:
        """Yield the pairs of `comparisons` as ``(place in the input, comparison)``."""
        from activeeval.core.judgments.counting import placed_comparisons

        return placed_comparisons(self)

    def coded_grades(self) -> CodedGrades:
        """Encode the grades by judge and item as integers; raises InputError if a judge gives an item two grades."""
        graded = (row for row in self.rows_of(GRADE) if row[3] >= 0)
        return CodedGrades.of((self.judges[judge].name, query, item, grade) for _, query, item, grade, judge in graded)

    def coded_relations(self) -> Relations:
        """Encode the preferences as integers; raises InputError if a judge gives two answers for a pair."""
        return Relations.of((c.judge, c.query, c.preferred, c.other, c.is_tie) for _, c in self.placed_comparisons())

    def agreement(
        self, confidence: float = 0.95, n_resamples: int = 1000, rng: np.random.Generator | int | None = None
    ) -> Agreements:
        """Compute the agreement between judges on grades and preferences, see `core.judgments.agreements`.

        Intervals with level ``confidence`` are by ``n_resamples`` bootstrap samples of the queries, with seed ``rng``.
        Raises InputError if nothing can be compared.
        """
        from activeeval.core.judgments.agreement import agreements

        grades, relations = self.coded_grades(), self.coded_relations()
        if not grades.judges and not relations.judges:
            raise InputError(f"{self.source}: there are no judgments yet")
        return agreements(grades, relations, confidence, n_resamples, rng)


def _numbers(values: Sequence[int | None]) -> Ints:
    """Convert optional numbers to an array of int64; None becomes −1."""
    return np.array([UNJUDGED if value is None else value for value in values], dtype=np.int64)


def _known(column: NDArray[Any] | None, n: int) -> list[Any]:
    """Convert a column to a list with None for unknown entries (NaN or negative), or without a column ``n`` None."""
    if column is None:
        return [None] * n
    is_known = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return [value if known else None for value, known in zip(column.tolist(), is_known.tolist(), strict=True)]
