from __future__ import annotations

from collections import Counter

import pytest

from benchmarks import user_study
from benchmarks.user_study import N_QUERIES, PUBLISHED, assignments, part, people, study_rows


def test_nobody_sees_a_query_under_both_methods_and_two_see_it_under_each():
    seen = {method: Counter(assignments(method)) for method in ("top-k", "grades")}
    assert not seen["top-k"] & seen["grades"]
    for pairs in seen.values():
        assert set(pairs.values()) == {1}
        assert Counter(query for query, _ in pairs) == dict.fromkeys(range(N_QUERIES), 2)
        assert set(Counter(assessor for _, assessor in pairs).values()) == {20}


def test_the_figures_of_a_small_study(monkeypatch):
    monkeypatch.setattr(user_study, "N_QUERIES", 5)
    top_k, grades = part("top-k", people(0.5), 1), part("grades", people(0.5), 1)
    rows = {row["what"]: row for row in study_rows([top_k], [grades], ["overall, top-k"])}
    assert rows.keys() == PUBLISHED.keys()
    assert all(row["published"] == PUBLISHED[name] for name, row in rows.items())
    assert rows["overall, top-k"]["value"] == pytest.approx(100 * top_k.agreement.overall.value)
    assert 100 < rows["comparisons a query"]["value"] < 180


def test_without_noise_people_agree():
    found = part("grades", people(0), 3).agreement
    assert found.overall.value == 1
    assert sum(found.counts[k, k] for k in range(3)) == found.counts.sum()
