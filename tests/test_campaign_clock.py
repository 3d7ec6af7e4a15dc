"""What judging costs by the judges' clocks, against least squares of NumPy and a law."""

from __future__ import annotations

import numpy as np
import pytest

from activeeval.errors import InputError
from activeeval.session.campaigns.clock import PRIOR_ITEMS, CostModel, fitted
from activeeval.store import EventRow, PlaceRow, UnitRow


def timed(n, rng, noise, seconds):
    """Return units of two items and timed judgments of them by one judge."""
    units, events, rows = [], [], []
    for q in range(n // 2):
        letters = rng.integers(100, 3000, 2)
        places = tuple(
            PlaceRow(doc_id=f"d{z}", probability=0.5, text={"text": "x" * int(letters[z])}) for z in range(2)
        )
        units.append(UnitRow(number=q + 1, block=1, query_id=f"q{q}", level=1.0, cost=2.0, places=places))
        for z in range(2):
            grade, is_first = int(rng.integers(0, 4)), z == 0
            rows.append([1.0, letters[z] / 1000, grade, is_first])
            took = float(np.dot(rows[-1], seconds)) * (1 + noise * rng.normal())
            event = EventRow(
                seq=len(events) + 1, kind="judged", at=0, judge="a", query_id=f"q{q}", doc_id=f"d{z}", grade=grade,
                active_ms=round(1000 * took),
            )  # fmt: skip
            events.append(event)
    return units, events, np.array(rows)


def test_many_judgments_tell_what_they_were_made_of():
    seconds = (9.0, 3.0, 1.5, 6.0)
    units, events, rows = timed(4000, np.random.default_rng(0), 0.1, seconds)
    found = fitted(units, events)
    taken = np.array([event.active_ms / 1000 for event in events])
    plain = np.linalg.lstsq(rows, taken, rcond=None)[0]
    assert (found.item, found.length, found.grade, found.query) == pytest.approx(plain, rel=0.06)
    assert (found.item, found.length, found.grade, found.query) == pytest.approx(seconds, rel=0.1)
    assert found.n_items == 4000


def test_few_are_held_to_the_prior():
    units, events, rows = timed(20, np.random.default_rng(1), 0.0, (9.0, 3.0, 1.5, 6.0))
    prior = CostModel(item=30.0)
    found = fitted(units, events, prior)
    gram = rows.T @ rows
    left = np.array([e.active_ms / 1000 for e in events]) - rows @ [30.0, 0, 0, 0]
    ridge = gram + PRIOR_ITEMS / 20 * np.diag(np.diag(gram))
    expected = np.array([30.0, 0, 0, 0]) + np.linalg.solve(ridge, rows.T @ left)
    if (expected >= 0).all():
        assert (found.item, found.length, found.grade, found.query) == pytest.approx(expected)
    assert 9.0 < found.item < 30.0


def test_who_left_without_stopping_the_clock_counts_for_ten_medians():
    units, events, _ = timed(200, np.random.default_rng(2), 0.0, (10.0, 0, 0, 0))
    hours = EventRow(**{name: getattr(events[7], name) for name in EventRow.__slots__} | {"active_ms": 9_000_000})
    found = fitted(units, [*events[:7], hours, *events[8:]])
    assert found.item + found.query / 2 < 15


def test_nothing_is_fitted_to_no_times():
    with pytest.raises(InputError, match="no judgment has a time"):
        fitted([], [EventRow(seq=1, kind="judged", at=0, grade=1)])


def test_no_cost_is_negative():
    units, events, _ = timed(400, np.random.default_rng(3), 0.3, (20.0, 0, 0, 0))
    found = fitted(units, events)
    assert min(found.item, found.length, found.grade, found.query) >= 0
