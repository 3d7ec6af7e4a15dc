"""Real data to rank, with the scores of the original program of the Ranking SVM."""

import pytest

from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores


@pytest.fixture
def mq2008(kit):
    """Return what fold 1 trains on, what it tests on, and the stored scores of the latter."""
    folder = kit("mq2008")
    train, test = (read_letor([folder / f"S{part}.txt.gz" for part in parts]) for parts in ((1, 2, 3), (5,)))
    return train, test, read_scores(folder / "rankers" / "svm_rank" / "Fold1.test_score.gz", test.n_items)
