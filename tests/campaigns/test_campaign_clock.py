"""What judging costs by the judges' clocks, against least squares of NumPy and a law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from activeeval.campaigns.seconds import PRIOR_ITEMS, CostModel, _solved, fitted
from activeeval.campaigns.store import PlaceRow, UnitRow
from activeeval.core.errors import InputError
from activeeval.core.judgments.log import Event


def timed(n, rng, noise, seconds):
    """Return units of two items and timed judgments of them by one judge."""
    units, events, rows = [], [], []
    for q in range(n // 2):
        letters = rng.integers(100, 3000, 2)
        texts = {f"d{q}-{z}": {"text": "x" * int(letters[z])} for z in range(2)}
        places = tuple(PlaceRow(doc_id=doc, probability=0.5, text=text) for doc, text in texts.items())
        units.append(UnitRow(number=q + 1, block=1, query_id=f"q{q}", level=1.0, cost=2.0, places=places))
        for z in range(2):
            grade, is_first = int(rng.integers(0, 4)), z == 0
            rows.append([1.0, letters[z] / 1000, grade, is_first])
            took = float(np.dot(rows[-1], seconds)) * (1 + noise * rng.normal())
            item = {"query_id": f"q{q}", "doc_id": f"d{q}-{z}", "grade": grade, "active_ms": round(1000 * took)}
            events.append(Event(seq=len(events) + 1, kind="judged", at=0, judge="a", **item))
    return units, events, np.array(rows)


def parts_of(model):
    return [model.item, model.length, model.grade, model.query]


def least_squares(rows, events):
    return np.linalg.lstsq(rows, [event.active_ms / 1000 for event in events], rcond=None)[0]


def test_many_judgments_tell_what_they_were_made_of():
    seconds = (9.0, 3.0, 1.5, 6.0)
    units, events, rows = timed(4000, np.random.default_rng(0), 0.1, seconds)
    found = fitted(units, events)
    assert parts_of(found) == pytest.approx(least_squares(rows, events), rel=0.06)
    assert parts_of(found) == pytest.approx(seconds, rel=0.1)
    assert found.n_items == 4000


def test_few_are_held_to_the_prior():
    units, events, rows = timed(20, np.random.default_rng(1), 0.0, (9.0, 3.0, 1.5, 6.0))
    before = np.array([30.0, 0, 0, 0])
    expected = before + 20 / (20 + PRIOR_ITEMS) * (least_squares(rows, events) - before)
    assert (expected > 0).all()
    assert parts_of(fitted(units, events, CostModel(item=30.0))) == pytest.approx(expected)


def test_what_is_held_to_no_prior_takes_as_long_as_it_did_on_average():
    """Judges of two seconds an item are not taken for slower ones, however few items they have judged."""
    for n in (4, 20, 400):
        units, events, rows = timed(n, np.random.default_rng(n), 0.2, (1.2, 0.3, 0.2, 0.4))
        found = fitted(units, events)
        taken = np.mean([event.active_ms / 1000 for event in events])
        mean = rows.mean(axis=0) @ parts_of(found)
        assert mean == pytest.approx(taken, rel=0.02)


def test_documents_of_about_one_length_tell_nothing_of_letters():
    units, events, _ = timed(200, np.random.default_rng(4), 0.0, (20.0, 0, 3.0, 30.0))
    for k, unit in enumerate(units):
        alike = tuple(replace(place, text={"text": "x" * (60 + k % 3)}) for place in unit.places)
        units[k] = replace(unit, places=alike)
    found = fitted(units, events)
    assert found.length == 0
    assert found.item_seconds(np.array([2000.0]), np.array([0.0]))[0] < 40
    share = 200 / (200 + PRIOR_ITEMS)
    assert (found.grade, found.query) == pytest.approx((share * 3, share * 30), abs=0.05)
    assert np.isnan(found.std_errors[1])


def test_who_left_without_stopping_the_clock_counts_for_ten_medians():
    units, events, _ = timed(200, np.random.default_rng(2), 0.0, (10.0, 0, 0, 0))
    events[7] = replace(events[7], active_ms=9_000_000)
    found = fitted(units, events)
    assert found.item + found.query / 2 < 15


def test_nothing_is_fitted_to_no_times():
    with pytest.raises(InputError, match="no judgment has a time"):
        fitted([], [Event(seq=1, kind="judged", at=0, grade=1)])


def test_no_cost_is_negative():
    units, events, _ = timed(400, np.random.default_rng(3), 0.3, (20.0, 0, 0, 0))
    found = fitted(units, events)
    assert min(parts_of(found)) >= 0


@pytest.mark.parametrize("n", [3, 30, 300])
def test_standard_errors_are_those_of_least_squares_shrunk_to_the_prior(n):
    random = np.random.default_rng(n)
    rows = np.column_stack((np.ones(n), random.random(n), random.integers(0, 4, n), random.random(n) < 0.5))
    before, seconds = np.array([5.0, 1.0, 2.0, 3.0]), random.normal(30, 5, n)
    found, errors = _solved(rows, seconds, before, np.array([True, True, False, False]))
    line = stats.linregress(rows[:, 1], seconds - rows @ before)
    share = n / (n + PRIOR_ITEMS)
    assert found == pytest.approx(before + share * np.array([line.intercept, line.slope, 0, 0]))
    assert errors[:2] == pytest.approx(np.sqrt(share) * np.array([line.intercept_stderr, line.stderr]))
    assert np.isnan(errors[2:]).all()
