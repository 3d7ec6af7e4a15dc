import numpy as np
import pytest


def graded_items(n, seed, n_grades=4, missing=0.0):
    """Items whose latent value is linear in the features plus logistic noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    latent = X @ np.array([1.5, -1.0, 0.5, 0.0, 0.0]) + random.logistic(size=n)
    y = np.digitize(latent, np.linspace(0.0, 3.0, n_grades - 1))
    X[random.random(X.shape) < missing] = np.nan
    return X, y


@pytest.fixture
def items():
    return graded_items
