"""Many judgments as columns: what they count as, and what they say of their judges.

A judge is a person or a machine. Labels are of people alone: what a machine says feeds models, and no call that returns
labels looks at it.
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
    """Judgments as columns, in the order of the file or the log that they come from; `read` makes them.

    Attributes
    ----------
    query_ids, item_ids : Texts, shape (n,)
    values : ndarray of int64, shape (n,)
        As `Judgment.value`.
    kinds : ndarray of uint8, shape (n,), or None
        Places in `KINDS`; None where all are grades.
    judge : ndarray of int64, shape (n,), or None
        Places in `judges`; None where all are of the first.
    judges : tuple of Judge
    others, reasons : sequence of str, shape (n,), or None
    at, seq : ndarray of int64, shape (n,), or None
        −1 where that is not known.
    seconds : ndarray of float64, shape (n,), or None
        NaN where that is not known.
    blocks : ndarray of int64, shape (n,), or None
        Of the sample whose sheet it is.
    source : str
        What messages call it.
    places : sequence of int or None
        On which line, or in which row, of the file each stands; None where they stand in its rows one after another.
    has_lines : bool
        Whether `places` are lines.
    sample : str
        The id of the sample whose sheet it is.
    is_by_text : bool
        Whether queries are named by a column that may hold their texts.
    is_distinct : bool
        Whether it is known that no item has two rows.
    n_of_machines : int
        How many judgments of machines are taken for people's, see `as_truth`.

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

    @classmethod
    def of(cls, rows: Iterable[Judgment], **options: Any) -> Self:
        """Take judgments one by one.

        Parameters
        ----------
        rows : iterable of Judgment
        **options
            What holds for all of them: source, places, has_lines, is_by_text.
        """
        held = list(rows)
        judges = tuple(dict.fromkeys(row.judge for row in held)) or (Judge(),)
        number = {judge: k for k, judge in enumerate(judges)}
        kind = {name: k for k, name in enumerate(KINDS)}
        has_times = any(row.at is not None for row in held)
        return cls(
            query_ids=Texts.from_list([row.query for row in held]),
            item_ids=Texts.from_list([row.item for row in held]),
            values=np.array([row.value for row in held], dtype=np.int64),
            kinds=np.array([kind[row.kind] for row in held], dtype=np.uint8),
            judge=np.array([number[row.judge] for row in held], dtype=np.int64),
            judges=judges,
            others=[row.other for row in held],
            reasons=[row.reason for row in held],
            at=_numbers([row.at for row in held]) if has_times else None,
            seconds=np.array([np.nan if row.seconds is None else row.seconds for row in held], dtype=np.float64),
            seq=_numbers([row.seq for row in held]),
            **options,
        )

    def __len__(self) -> int:
        return self.values.size

    def __iter__(self) -> Iterator[Judgment]:
        n = len(self)
        columns = (self.query_ids, self.item_ids, self.kind_of, self.judge_of, self.values)
        texts = (self.others or [""] * n, self.reasons or [""] * n)
        known = (_known(self.at, n), _known(self.seconds, n), _known(self.seq, n))
        rows = zip(*(column.tolist() for column in columns), *texts, *known, strict=True)
        for query, item, kind, judge, value, other, reason, at, seconds, seq in rows:
            who = self.judges[judge]
            yield Judgment(query, item, who, KINDS[kind], value, other, reason, at, seconds, seq)

    @property
    def kind_of(self) -> Bytes:
        """The kind of each, as a place in `KINDS`, shape (n,)."""
        return np.zeros(len(self), dtype=np.uint8) if self.kinds is None else self.kinds

    @property
    def judge_of(self) -> Ints:
        """The judge of each, as a place in `judges`, shape (n,)."""
        return np.zeros(len(self), dtype=np.int64) if self.judge is None else self.judge

    @property
    def is_of_people(self) -> Bools:
        """Whether a person is the judge, shape (n,)."""
        return ~np.array([judge.is_machine for judge in self.judges], dtype=np.bool_)[self.judge_of]

    def place(self, row: int) -> str:
        """Return the file and the line of a judgment, for messages."""
        number = row + 1 if self.places is None else self.places[row]
        return f"{self.source}:{number}" if self.has_lines else f"{self.source}: row {number}"

    def holds(self, kind: str) -> bool:
        """Return whether any judgment is of a kind."""
        if self.kinds is None:
            return kind == "grade" and len(self) > 0
        return bool((self.kinds == KINDS.index(kind)).any())

    @property
    def is_of_grades(self) -> bool:
        """Whether items are graded, and not compared or ranked."""
        return not (self.holds("preference") or self.holds("truth"))

    def refuse(self, expected: str) -> NoReturn:
        """Raise InputError that says what there is, where something else was expected."""
        held = [name for kind, name in zip(KINDS, _NAMES, strict=True) if self.holds(kind)]
        raise InputError(f"{self.source}: holds {' and '.join(held) or 'no judgments'}, expected {expected}")

    def where(self, rows: Any) -> Self:
        """Return some of the judgments, by their places or a mask."""
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
        """Return the judgments with a name for the judge who has none."""
        return replace(self, judges=tuple(judge if judge.name else replace(judge, name=name) for judge in self.judges))

    def labels(self, policy: str = "median") -> Any:
        """Return the grade of each item that people have graded, or the distribution of their grades.

        Where a file says that an item was pooled and not judged its grade stays negative. What cannot be judged, waits
        or was graded by machines alone is left out.

        Parameters
        ----------
        policy : {"refuse", "majority", "median", "mean-gain"}
            What several judges' grades count as; see `activeeval.core.judgments.policies`.

        Returns
        -------
        Qrels
            With ``mean-gain`` `Probabilities`: the share of the judges who gave each grade, shape (n_items, n_grades).

        Raises
        ------
        InputError
            Where it holds comparisons or ranks, a judge gives an item two grades, several do and the policy is to
            refuse, or machines are the only judges.
        """
        return self.of_people()._resolved(policy)

    def model_grades(self, policy: str = "median") -> Qrels:
        """Return the grade of each item by anybody, machines too, for a model to look at; else as `labels`."""
        grades: Qrels = self._resolved(policy)
        return grades

    def graded_pairs(self, policy: str = "median") -> dict[Pair, int]:
        """Return `labels` by query and item, without those that have no grade."""
        from activeeval.core.judgments.counting import label_columns

        queries, items, grades = label_columns(self.of_people(), policy)
        rows = zip(queries.tolist(), items.tolist(), grades.tolist(), strict=True)
        return {(query, item): grade for query, item, grade in rows if grade >= 0}

    def of_people(self) -> Self:
        """Return the grades that people gave, without what they could not judge and what waits.

        Raises
        ------
        InputError
            Where it holds comparisons or ranks, or machines are the only judges.
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
        """Return the judgments with what machines say taken for people's; `notes` says so from then on."""
        n_of_machines = int((~self.is_of_people).sum())
        judges = tuple(replace(judge, kind="person") for judge in self.judges)
        return replace(self, judges=judges, n_of_machines=n_of_machines)

    def notes(self) -> tuple[Note | Caution, ...]:
        """Return what whoever takes these for labels should know: what of machines is left out, or taken for truth."""
        from activeeval.core.results import Note

        if self.n_of_machines:
            return (truth_of_machines(self.source, self.n_of_machines),)
        n_left_out = int((~self.is_of_people).sum())
        return (Note("machines left out", {"source": self.source, "n": n_left_out}),) if n_left_out else ()

    def _resolved(self, policy: str) -> Any:
        from activeeval.core.judgments.counting import distributions, label_columns
        from activeeval.core.pool.keyed import Qrels

        return distributions(self) if policy == "mean-gain" else Qrels(*label_columns(self, policy), self.source)

    def truths(self) -> dict[str, Truth]:
        """Return the top-k truth of each query.

        Raises
        ------
        InputError
            Where it holds none, or two judges have ranked one query and differ.
        """
        if not self.holds("truth"):
            self.refuse("ranks (query, rank, doc_id)")
        truths: dict[str, Truth] = {}
        for (judge, query), truth in self.truths_by_judge().items():
            if truths.setdefault(query, truth) != truth:
                named = shown(judge.name)
                raise InputError(f"{self.source}: query {shown(query)} has two truths, one of {named}: expected one")
        return truths

    def truths_by_judge(self) -> dict[tuple[Judge, str], Truth]:
        """Return the truth of each judge and query; none of other judgments."""
        from activeeval.core.judgments.counting import truths_by_judge

        return truths_by_judge(self)

    def rows_of(self, kind: int) -> Iterator[tuple[int, str, str, int, int]]:
        """Yield place, query, item, value and judge's number of the judgments of a kind, by its place in `KINDS`."""
        rows = np.flatnonzero(self.kind_of == kind)
        columns = (rows, self.query_ids[rows], self.item_ids[rows], self.values[rows], self.judge_of[rows])
        yield from zip(*(column.tolist() for column in columns), strict=True)

    def comparisons(self) -> list[Comparison]:
        """Return every pair of documents that somebody compared or ranked.

        A truth says of every two documents which is the better one: the top in its order, documents that share a rank
        tied, and so are all below with those that were thrown out. Of a query that a judge has settled it takes the
        place of what this judge was asked.

        Raises
        ------
        InputError
            Where it holds grades alone.
        """
        if self.is_of_grades:
            self.refuse("comparisons (query, preferred, other)")
        return [comparison for _, comparison in self.placed_comparisons()]

    def placed_comparisons(self) -> Iterator[tuple[str, Comparison]]:
        """Yield the place and the pair of each of `comparisons`."""
        from activeeval.core.judgments.counting import placed_comparisons

        return placed_comparisons(self)

    def coded_grades(self) -> CodedGrades:
        """Return the grades by judge and item, as numbers; raises InputError where a judge gives an item two."""
        graded = (row for row in self.rows_of(GRADE) if row[3] >= 0)
        return CodedGrades.of((self.judges[who].name, query, item, grade) for _, query, item, grade, who in graded)

    def coded_relations(self) -> Relations:
        """Return which item of each pair judges prefer, as numbers; raises InputError where a judge says two things."""
        return Relations.of((c.judge, c.query, c.preferred, c.other, c.is_tie) for _, c in self.placed_comparisons())

    def agreement(
        self, confidence: float = 0.95, n_resamples: int = 1000, rng: np.random.Generator | int | None = None
    ) -> Agreements:
        """Return how far judges agree, on grades and on preferences; else as `activeeval.core.judgments.agreements`."""
        from activeeval.core.judgments.agreement import agreements

        grades, relations = self.coded_grades(), self.coded_relations()
        if not grades.judges and not relations.judges:
            raise InputError(f"{self.source}: nobody has judged anything yet")
        return agreements(grades, relations, confidence, n_resamples, rng)


def _numbers(values: Sequence[int | None]) -> Ints:
    return np.array([UNJUDGED if value is None else value for value in values], dtype=np.int64)


def _known(column: NDArray[Any] | None, n: int) -> list[Any]:
    """Return a column's entries, None where they are not known."""
    if column is None:
        return [None] * n
    is_known = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return [value if known else None for value, known in zip(column.tolist(), is_known.tolist(), strict=True)]
