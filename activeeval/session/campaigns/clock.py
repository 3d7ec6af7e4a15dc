"""What judging costs by the judges' own clocks: seconds for an item, for its length, its grade, and for a new query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.io.tables import Costs
from activeeval.io.texts import DOCUMENTS, read_texts
from activeeval.session.samples import unpacked_sample
from activeeval.store import EventRow, Store, UnitRow

Floats = NDArray[np.float64]

PRIOR_ITEMS = 30.0
"""How many judgments the prior counts for: times of judgments spread about as widely as their mean, so that thirty tell
it to a fifth."""
LONGEST = 10.0
"""Times above ten times the median are taken for that: somebody left without stopping the clock."""
PRIOR_SECONDS = 14.2
"""For an item, before anything is known: the 50 items of a query took the graders of Niu et al. (SIGIR 2012) 11.8
minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Expected seconds: ``item + length · thousand letters + grade · grade``, and ``query`` for the first of a query.

    Attributes
    ----------
    item, length, grade, query : float
        Seconds; none is negative.
    n_items : int
        Judgments that it was fitted to.
    std_errors : tuple of float
        Of the four.
    """

    item: float = PRIOR_SECONDS
    length: float = 0.0
    grade: float = 0.0
    query: float = 0.0
    n_items: int = 0
    std_errors: tuple[float, ...] = (float("nan"),) * 4

    def item_seconds(self, lengths: Floats, expected_grades: Floats) -> Floats:
        """Return what each item takes, given its letters and the grade to expect of it."""
        return self.item + self.length * lengths / 1000 + self.grade * expected_grades

    @property
    def words(self) -> str:
        """What it says, in a line."""
        parts = [f"{self.item:.3g} s an item", f"{self.length:.3g} s each 1,000 letters"]
        parts += [f"{self.grade:.3g} s each grade", f"{self.query:.3g} s a new query"]
        return f"{', '.join(parts)}, of {self.n_items} timed judgments"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clocked:
    """What the next design is to take for costs.

    Attributes
    ----------
    model : CostModel
    costs : Costs
        Seconds, of each item of the campaign's pool.
    """

    model: CostModel
    costs: Costs

    @property
    def overhead(self) -> float:
        """What turning to a query costs, in mean items."""
        return self.model.query / float(self.costs.values.mean())


def fitted(units: Iterable[UnitRow], events: Iterable[EventRow], prior: CostModel | None = None) -> CostModel:
    """Return the cost model of judgments whose time was taken, shrunk to a prior.

    Least squares of the active seconds s on (1, letters / 1000, grade, first of its query for its judge), with a normal
    prior whose precision is that of `PRIOR_ITEMS` judgments: b = b₀ + (XᵀX + n₀ S)⁻¹ Xᵀ(s − X b₀), S the diagonal of
    XᵀX / n. A coefficient that comes out negative is set to 0 and the others are fitted again.

    Raises
    ------
    InputError
        Where no judgment's time was taken.
    """
    prior = prior or CostModel()
    rows, seconds = _observations(units, events)
    if not seconds.size:
        raise InputError("no judgment has a time: judges' clocks come with the answers (active_ms)")
    seconds = np.minimum(seconds, LONGEST * np.median(seconds))
    before = np.array([prior.item, prior.length, prior.grade, prior.query])
    free = np.array([True, bool(rows[:, 1].any()), bool(rows[:, 2].any()), bool(rows[:, 3].any())])
    while True:
        found, errors = _solved(rows, seconds, before, free)
        if (found >= 0).all():
            break
        worst = int(np.argmin(found))
        free[worst], before[worst] = False, 0.0
    return replace(
        prior,
        **dict(zip(("item", "length", "grade", "query"), found.tolist(), strict=True)),
        n_items=seconds.size,
        std_errors=tuple(errors.tolist()),
    )


def clocked(store: Store, name: str, documents: str | None = None) -> Clocked:
    """Return what judging takes by the clocks of a campaign's judges, fitted to all of them so far.

    The length is that of the texts that the campaign or ``documents`` holds, the mean of those elsewhere; the grade
    that which the grade model of the last design expects.

    Parameters
    ----------
    documents : str, optional
        A table as `activeeval.io.texts.read_texts` reads it.

    Raises
    ------
    InputError
        Where no judgment's time was taken.
    """
    sample, _ = unpacked_sample(store.samples(name)[-1].payload, f"campaign {name}")
    design, units = sample.campaign.design, store.units(name)
    model, pool = fitted(units, store.events(name)), design.pool
    queries, items = pool.query_texts[pool.item_queries], pool.item_texts
    known, ids = _letters(units), items.tolist()
    found = read_texts(documents, DOCUMENTS, set(ids)).by_id if documents is not None else {}
    elsewhere = {doc: sum(map(len, texts.values())) for doc, texts in found.items() if texts}
    letters = [known.get(pair) or elsewhere.get(pair[1]) for pair in zip(queries.tolist(), ids, strict=True)]
    there = [n for n in letters if n]
    mean = float(np.mean(there)) if there else 0.0
    lengths = np.array([n or mean for n in letters], dtype=np.float64)
    grades = np.zeros(pool.n_items) if design.beliefs is None else design.beliefs.expected_grades()[0]
    seconds = model.item_seconds(lengths, grades)
    return Clocked(model=model, costs=Costs(seconds, queries, items, "the judges' clocks"))


def is_timed(events: Iterable[EventRow]) -> bool:
    """Whether the time of a judgment was taken."""
    return bool(_observations((), events)[1].size)


def _solved(rows: Floats, seconds: Floats, before: Floats, free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return coefficients and their standard errors; those that are not free stay what they were."""
    x, left = rows[:, free], seconds - rows @ before
    gram = x.T @ x
    gram = gram + PRIOR_ITEMS * np.diag(np.diag(gram)) / seconds.size
    found, errors = before.copy(), np.full(before.size, np.nan)
    found[free] += np.linalg.solve(gram, x.T @ left)
    rest = seconds - rows @ found
    inverse = np.linalg.inv(gram)
    errors[free] = np.sqrt(np.diag(inverse) * float(rest @ rest) / max(seconds.size - int(free.sum()), 1))
    return found, errors


def _observations(units: Iterable[UnitRow], events: Iterable[EventRow]) -> tuple[Floats, Floats]:
    """Return what was known of each timed judgment, shape (n, 4), and its active seconds."""
    letters = _letters(units)
    met: set[tuple[str, str]] = set()
    rows, seconds = [], []
    for event in events:
        if event.kind not in ("judged", "cannot"):
            continue
        is_first = (event.judge, event.query_id) not in met
        met.add((event.judge, event.query_id))
        if event.active_ms is not None and event.kind == "judged" and event.supersedes is None:
            rows.append([1.0, letters.get((event.query_id, event.doc_id), 0) / 1000, event.grade or 0, is_first])
            seconds.append(event.active_ms / 1000)
    return np.array(rows, dtype=np.float64).reshape(-1, 4), np.array(seconds, dtype=np.float64)


def _letters(units: Iterable[UnitRow]) -> dict[tuple[str, str], int]:
    return {
        (unit.query_id, place.doc_id): sum(map(len, place.text.values())) for unit in units for place in unit.places
    }
