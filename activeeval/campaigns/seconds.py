"""What judging costs by the judges' own clocks: seconds for an item, for its length, its grade, and for a new query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaigns.store import Store, UnitRow
from activeeval.campaigns.versions import unpacked_version
from activeeval.core.errors import InputError
from activeeval.core.judgments.log import Event
from activeeval.core.pool.keyed import Costs
from activeeval.core.results import Note
from activeeval.core.types import Floats
from activeeval.formats.tables.text_tables import DOCUMENTS, NEED, read_texts
from activeeval.report.numbers import counted
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell

_PARTS = {"item": "an item", "length": "1,000 letters", "grade": "a grade more", "query": "a new query"}
PRIOR_ITEMS = 30.0
"""How many judgments the prior counts for: times of judgments spread about as widely as their mean, so that thirty tell
it to a fifth."""
LONGEST = 10.0
"""Times above ten times the median are taken for that: somebody left without stopping the clock."""
LEAST_SPREAD = 0.1
"""Of the lengths of documents, beside their mean: 20 s an item look like 350 s each 1,000 letters where all documents
have about 60, and the page that has 2,000 would be thought to take a quarter of an hour."""


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

    item: float
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
        return f"{', '.join(parts)}, of {counted(self.n_items, 'timed judgment')}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasuredCosts(PrintableResult):
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
    def note(self) -> Note:
        """What judging takes, in a line."""
        return Note("costs by clocks", {"model": self.model.words})

    @property
    def sentences(self) -> list[str]:
        """What turning to a query costs."""
        return [f"Overhead {self.of_a_query}."]

    @property
    def of_a_query(self) -> str:
        """What turning to a query costs, in words."""
        return (
            f"{self.overhead:.3g} is what turning to a query costs, in mean items of {self.costs.values.mean():.3g} s"
        )

    @property
    def table(self) -> list[dict[str, Cell]]:
        """What judging takes."""
        return self.rows()

    @property
    def columns(self) -> dict[str, Any]:
        """What each item of the pool should take, column by column, as ``cost`` takes it."""
        costs = self.costs
        return {"query_id": list(costs.query_ids or ()), "doc_id": list(costs.doc_ids or ()), "cost": costs.values}

    def rows(self) -> list[dict[str, Cell]]:
        """Return the seconds for each part of judging, as the command line has them."""
        model = self.model
        return [
            {"seconds for": words, "value": getattr(model, key), "std_error": error, "judgments": model.n_items}
            for (key, words), error in zip(_PARTS.items(), model.std_errors, strict=True)
        ]

    @property
    def overhead(self) -> float:
        """What turning to a query costs, in mean items."""
        return self.model.query / float(self.costs.values.mean())


def fitted(units: Iterable[UnitRow], events: Iterable[Event], prior: CostModel | None = None) -> CostModel:
    """Return the cost model of judgments whose time was taken, shrunk to a prior.

    Least squares of the active seconds s on (1, letters / 1000, grade, first of its query for its judge), with a normal
    prior that tells as much as n₀ = `PRIOR_ITEMS` judgments of the same kind would: b = b₀ + n / (n + n₀) (b̂ − b₀), b̂
    without one. By default it says that an item takes as long as these did on average and nothing else matters. Lengths
    that hardly differ (`LEAST_SPREAD`) tell nothing of letters and are left out; a coefficient that comes out negative
    is set to 0 and the others are fitted again.

    Raises
    ------
    InputError
        Where no judgment's time was taken.
    """
    rows, seconds = _observations(units, events)
    if not seconds.size:
        raise InputError("no judgment has a time: judges' clocks come with the answers (active_ms)")
    if (usual := float(np.median(seconds))) > 0:
        seconds = np.minimum(seconds, LONGEST * usual)
    prior = prior or CostModel(item=float(seconds.mean()))
    before = np.array([prior.item, prior.length, prior.grade, prior.query])
    lengths = rows[:, 1]
    differs = float(lengths.std()) > LEAST_SPREAD * float(lengths.mean())
    free = np.array([True, differs, *(bool(np.ptp(rows[:, k]) > 0) for k in (2, 3))])
    while True:
        solution, errors = _solved(rows, seconds, before, free)
        if (solution >= 0).all():
            break
        worst = int(np.argmin(solution))
        free[worst], before[worst] = False, 0.0
    return replace(
        prior,
        **dict(zip(("item", "length", "grade", "query"), solution.tolist(), strict=True)),
        n_items=seconds.size,
        std_errors=tuple(errors.tolist()),
    )


def clocked(store: Store, name: str, documents: str | None = None) -> MeasuredCosts:
    """Return what judging takes by the clocks of a campaign's judges, fitted to all of them so far.

    The length is that of the texts that the campaign or ``documents`` holds, the mean of those elsewhere; the grade
    that which the grade model of the last design expects.

    Parameters
    ----------
    documents : str, optional
        A table as `activeeval.formats.tables.text_tables.read_texts` reads it.

    Raises
    ------
    InputError
        Where no judgment's time was taken.
    """
    versions = store.samples(name)
    sample, _ = unpacked_version(versions, versions[-1], f"campaign {name}")
    design, units = sample.campaign.design, store.units(name)
    model, pool = fitted(units, store.events(name)), design.pool
    queries, items = pool.query_texts[pool.item_queries], pool.item_texts
    ids = items.tolist()
    texts_by_id = read_texts(documents, DOCUMENTS, set(ids)).by_id if documents is not None else {}
    letters = {doc: sum(map(len, texts.values())) for doc, texts in texts_by_id.items() if texts} | _letters(units)
    there = [letters[doc] for doc in ids if doc in letters]
    mean = float(np.mean(there)) if there else 0.0
    lengths = np.array([letters.get(doc, mean) for doc in ids], dtype=np.float64)
    grades = np.zeros(pool.n_items) if design.beliefs is None else design.beliefs.expected_grades()[0]
    seconds = model.item_seconds(lengths, grades)
    return MeasuredCosts(model=model, costs=Costs(seconds, queries, items, "the judges' clocks"))


def is_timed(events: Iterable[Event]) -> bool:
    """Whether the time of a judgment was taken."""
    return bool(_observations((), events)[1].size)


def _solved(rows: Floats, seconds: Floats, before: Floats, free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return coefficients and their standard errors; those that are not free stay what they were."""
    x, left, n = rows[:, free], seconds - rows @ before, seconds.size
    share = n / (n + PRIOR_ITEMS)
    solution, errors = before.copy(), np.full(before.size, np.nan)
    plain = np.linalg.lstsq(x, left, rcond=None)[0]
    solution[free] += share * plain
    rest = left - x @ plain
    spread = float(rest @ rest) / max(n - int(free.sum()), 1)
    errors[free] = np.sqrt(np.diag(np.linalg.pinv(x.T @ x)) * share * spread)
    return solution, errors


def _observations(units: Iterable[UnitRow], events: Iterable[Event]) -> tuple[Floats, Floats]:
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
            rows.append([1.0, letters.get(event.doc_id, 0) / 1000, event.grade or 0, is_first])
            seconds.append(event.active_ms / 1000)
    return np.array(rows, dtype=np.float64).reshape(-1, 4), np.array(seconds, dtype=np.float64)


def _letters(units: Iterable[UnitRow]) -> dict[str, int]:
    """Return the length of each document of which a campaign has a text."""
    return {place.doc_id: _length(place.text) for unit in units for place in unit.places if place.text}


def _length(texts: Mapping[str, str]) -> int:
    """Return the length of a document's own texts: what was needed is of its query."""
    return sum(len(text) for name, text in texts.items() if name != NEED)
