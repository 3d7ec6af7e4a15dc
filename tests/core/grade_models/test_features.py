import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.grade_models import ForestGradeModel, feature_names, run_features
from activeeval.core.pool import QueryPool


def test_features_of_runs_by_hand():
    pool = QueryPool(["q1", "q2"], [0, 3, 5], ["a", "b", "c", "a", "b"])
    scores = [[0.5, 0.5, 0.9, np.nan, 2.0], [np.nan, 1.0, 3.0, np.nan, np.nan]]
    out = run_features(pool, scores)
    nan = np.nan
    expected = [
        [0.5, 3, 1 / 3, nan, nan, nan, 1],
        [0.5, 2, 1 / 2, 1.0, 2, 1 / 2, 2],
        [0.9, 1, 1, 3.0, 1, 1, 2],
        [nan, nan, nan, nan, nan, nan, 0],
        [2.0, 1, 1, nan, nan, nan, 1],
    ]
    np.testing.assert_array_equal(out, expected)
    assert len(feature_names(["x", "y"])) == out.shape[1]


def test_features_feed_a_model():
    random = np.random.default_rng(0)
    pool = QueryPool(range(40), np.arange(0, 401, 10), None)
    y = random.integers(0, 3, 400)
    scores = y + random.normal(size=(3, 400))
    scores[random.random(scores.shape) < 0.3] = np.nan
    model = ForestGradeModel(n_estimators=10, random_state=0).fit(run_features(pool, scores), y)
    assert model.score(run_features(pool, scores), y) > 0.5


def test_bad_scores_are_named():
    pool = QueryPool(["q1"], [0, 2], ["a", "b"])
    for scores in ([1.0, 2.0], [[1.0]], np.empty((0, 2))):
        with pytest.raises(InputError, match=r"shape \(n_runs, 2\)"):
            run_features(pool, scores)
    with pytest.raises(InputError, match="item 'b' of query 'q1'"):
        run_features(pool, [[0.0, np.inf]])
