"""Cost of judging from the judges' clocks: seconds for an item, its length, its grade, and for opening a query."""

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
"""Number of judgments that the prior counts as. Judging times have a standard deviation of about their mean, so that
30 of them determine the mean to a fifth."""
LONGEST = 10.0
"""Times above this multiple of the median are cut to it: the judge left without stopping the clock."""
LEAST_SPREAD = 0.1
"""Minimum standard deviation of documents' lengths relative to their mean, for fitting an effect of length. With 20 s
for each item and documents of about 60 characters, the fit would give 350 s for each 1,000 characters, and a page of
2,000 would be expected to take a quarter of an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Model of judging time, in seconds.

    An item takes ``item + length · characters / 1000 + grade · grade``; the first item of a query takes ``query`` more.

    Attributes
    ----------
    item, length, grade, query : float
        Seconds; none is negative.
    n_items : int
        Number of judgments in the fit.
    std_errors : tuple of float
        Of the four coefficients, in this order; NaN for those that were not fitted.
    """

    item: float
    length: float = 0.0
    grade: float = 0.0
    query: float = 0.0
    n_items: int = 0
    std_errors: tuple[float, ...] = (float("nan"),) * 4

    def item_seconds(self, lengths: Floats, expected_grades: Floats) -> Floats:
        """Predict the seconds of each item from its length in characters and its expected grade; shapes (n_items,)."""
        return self.item + self.length * lengths / 1000 + self.grade * expected_grades

    @property
    def words(self) -> str:
        """Coefficients as a line of text."""
        parts = [f"{self.item:.3g} s an item", f"{self.length:.3g} s each 1,000 letters"]
        parts += [f"{self.grade:.3g} s each grade", f"{self.query:.3g} s for opening a query"]
        return f"{', '.join(parts)}, of {counted(self.n_items, 'timed judgment')}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasuredCosts(PrintableResult):
    """Judging costs for the next design.

    Attributes
    ----------
    model : CostModel
        Fitted seconds.
    costs : Costs
        Seconds of each item of the campaign's pool.
    """

    model: CostModel
    costs: Costs

    @property
    def note(self) -> Note:
        """Note with the fitted coefficients."""
        return Note("costs by clocks", {"model": self.model.words})

    @property
    def sentences(self) -> list[str]:
        """A sentence on the overhead of opening a query."""
        return [f"Overhead {self.of_a_query}."]

    @property
    def of_a_query(self) -> str:
        """Overhead of opening a query, as text, in mean items (1 is the cost of an average item of the pool)."""
        return (
            f"{self.overhead:.3g} is the overhead of opening a query, in mean items of {self.costs.values.mean():.3g} s"
        )

    @property
    def table(self) -> list[dict[str, Cell]]:
        """Fitted seconds, one row for each part (item, text length, grade, new query)."""
        return self.rows()

    @property
    def columns(self) -> dict[str, Any]:
        """Expected seconds of each item of the pool, as the columns query_id, doc_id and cost of a table."""
        costs = self.costs
        return {"query_id": list(costs.query_ids or ()), "doc_id": list(costs.doc_ids or ()), "cost": costs.values}

    def rows(self) -> list[dict[str, Cell]]:
        """Build a row of fitted seconds for each part of judging, as the command line prints them."""
        model = self.model
        return [
            {"seconds for": words, "value": getattr(model, key), "std_error": error, "judgments": model.n_items}
            for (key, words), error in zip(_PARTS.items(), model.std_errors, strict=True)
        ]

    @property
    def overhead(self) -> float:
        """Overhead of opening a query, in mean items (1 is the cost of an average item of the pool)."""
        return self.model.query / float(self.costs.values.mean())


def fitted(units: Iterable[UnitRow], events: Iterable[Event], prior: CostModel | None = None) -> CostModel:
    """Fit the cost model to timed judgments, shrunk to a prior.

    Least squares of the active seconds on the four regressors (1, characters / 1000, grade, 1 for the first item of its
    query that the judge sees else 0), with a normal prior worth n₀ = `PRIOR_ITEMS` judgments of the same kind
    (Zellner's g-prior): b = b₀ + n / (n + n₀) (b̂ − b₀), with n the number of judgments, b₀ the prior's coefficients
    and b̂ the estimate without a prior. The default prior is the mean time for each item and no other effect. If
    lengths hardly differ (`LEAST_SPREAD`), their effect is left out. A coefficient that comes out negative is set to 0
    and the others are fitted again.

    Parameters
    ----------
    units : iterable of UnitRow
        The items, with their texts.
    events : iterable of Event
        Log of the campaign.
    prior : CostModel, optional
        Coefficients b₀ to shrink to.

    Raises
    ------
    InputError
        If no judgment was timed.
    """
    rows, seconds = _observations(units, events)
    if not seconds.size:
        raise InputError("no judgment has a time: pass the judges' times with the answers (active_ms)")
    if (usual := float(np.median(seconds))) > 0:  # longer times: the judge left without stopping the clock
        seconds = np.minimum(seconds, LONGEST * usual)
    prior = prior or CostModel(item=float(seconds.mean()))
    before = np.array([prior.item, prior.length, prior.grade, prior.query])
    lengths = rows[:, 1]
    differs = float(lengths.std()) > LEAST_SPREAD * float(lengths.mean())
    # coefficients to fit: grade and first item of a query only if they vary
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
    """Fit the cost model of a campaign to its judges' clocks and predict the cost of each item of its pool.

    Lengths are those of the texts in the campaign or in ``documents``, and their mean for other documents; grades are
    those that the grade model of the last design expects.

    Parameters
    ----------
    documents : str, optional
        A table of documents' ids and texts (.csv, .tsv, .jsonl, .parquet …), of which the lengths are used.

    Raises
    ------
    InputError
        If no judgment was timed.
    """
    versions = store.samples(name)
    sample, _ = unpacked_version(versions, versions[-1], f"campaign {name}")
    design, units = sample.campaign.design, store.units(name)
    model, pool = fitted(units, store.events(name)), design.pool
    queries, items = pool.query_texts[pool.item_queries], pool.item_texts
    ids = items.tolist()
    texts_by_id = read_texts(documents, DOCUMENTS, set(ids)).by_id if documents is not None else {}
    # lengths in characters by document id; those of the campaign's texts win
    letters = {doc: sum(map(len, texts.values())) for doc, texts in texts_by_id.items() if texts} | _letters(units)
    known_lengths = [letters[doc] for doc in ids if doc in letters]
    mean = float(np.mean(known_lengths)) if known_lengths else 0.0
    lengths = np.array([letters.get(doc, mean) for doc in ids], dtype=np.float64)
    grades = np.zeros(pool.n_items) if design.beliefs is None else design.beliefs.expected_grades()[0]
    seconds = model.item_seconds(lengths, grades)
    return MeasuredCosts(model=model, costs=Costs(seconds, queries, items, "the judges' clocks"))


def is_timed(events: Iterable[Event]) -> bool:
    """Check whether any grade in a log was timed (corrections of earlier answers do not count)."""
    return bool(_observations((), events)[1].size)


def _solved(rows: Floats, seconds: Floats, before: Floats, free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Fit the free coefficients by least squares, shrunk to the prior.

    With s = n / (n + `PRIOR_ITEMS`): b = b₀ + s (b̂ − b₀), with variance s σ̂² (XᵀX)⁻¹ (posterior under Zellner's
    g-prior), where b̂ and σ̂² are those of least squares.

    Parameters
    ----------
    rows : array of shape (n, 4)
        Regressors X of each judgment.
    seconds : array of shape (n,)
        Active seconds of each judgment.
    before : array of shape (4,)
        The prior's coefficients b₀, kept where not free.
    free : bool array of shape (4,)
        True for coefficients to fit.

    Returns
    -------
    coefficients, std_errors : arrays of shape (4,)
        Standard errors are NaN where not free.
    """
    x, beyond_prior, n = rows[:, free], seconds - rows @ before, seconds.size
    share = n / (n + PRIOR_ITEMS)
    solution, errors = before.copy(), np.full(before.size, np.nan)
    plain = np.linalg.lstsq(x, beyond_prior, rcond=None)[0]
    solution[free] += share * plain
    residuals = beyond_prior - x @ plain
    spread = float(residuals @ residuals) / max(n - int(free.sum()), 1)
    errors[free] = np.sqrt(np.diag(np.linalg.pinv(x.T @ x)) * share * spread)
    return solution, errors


def _observations(units: Iterable[UnitRow], events: Iterable[Event]) -> tuple[Floats, Floats]:
    """Collect the regressors of each timed grade, shape (n, 4), and its active seconds, shape (n,).

    Corrections of earlier answers are left out. The regressors are 1, length of the document in thousand characters,
    grade, and 1 for the judge's first item of the query (else 0).
    """
    letters = _letters(units)
    met: set[tuple[str, str]] = set()  # (judge, query) pairs so far
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
    """Compute the length in characters of each document with a stored text, by document id."""
    return {place.doc_id: _length(place.text) for unit in units for place in unit.places if place.text}


def _length(texts: Mapping[str, str]) -> int:
    """Compute the length of a document's own texts, without the information need, which belongs to the query."""
    return sum(len(text) for name, text in texts.items() if name != NEED)
