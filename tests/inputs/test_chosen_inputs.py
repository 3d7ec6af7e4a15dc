"""Pools of LETOR files: rankings and names of rankers come from their score files."""

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.inputs.chosen_inputs import from_letor

LINES = "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:0.1 2:0 #docid = b\n1 qid:2 1:0.3 2:1 #docid = c\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.txt").write_text(LINES)
    (tmp_path / "up.txt").write_text("1\n2\n3\n")
    (tmp_path / "down.txt").write_text("3\n2\n1\n")
    return tmp_path


def test_rankers_are_called_as_their_files_unless_named(files):
    rankers = [["up.txt"], ["down.txt"]]
    inputs = from_letor(["test.txt"], rankers)
    assert inputs.names == ("up.txt", "down.txt")
    assert from_letor(["test.txt"], rankers, names=("BM25", "new")).names == ("BM25", "new")
    assert inputs.grades.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(inputs.scores, [[1, 3], [2, 2], [3, 1]])
    assert [ranking.items.tolist() for ranking in inputs.rankings] == [[1, 0, 2], [0, 1, 2]]


def test_a_query_of_the_pool_trains_no_model(files):
    with pytest.raises(InputError, match=r"query '1'"):
        from_letor(["test.txt"], [["up.txt"]], train=["test.txt"])
