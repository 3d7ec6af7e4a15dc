"""Rankers in files: to the last bit, and what is refused."""

import io
import zipfile

import numpy as np
import pytest
from boosted_trees import judged, preferences

from activeeval.adaptation import read_ranker, write_ranker
from activeeval.adaptation.ranker_files import _digest
from activeeval.core.errors import FormatError, InputError


@pytest.mark.parametrize("adapted", [False, True])
def test_a_ranker_survives_its_file_to_the_last_bit(base, X, tmp_path, adapted):
    ranker = base.adapt(X, preferences(X, 30), method="hinge", rng=0) if adapted else base
    for name in ("model.npz", "model.skops", "model"):
        write_ranker(tmp_path / name, ranker)
        back = read_ranker(tmp_path / name)
        for rows in (X, judged(3)[0]):
            np.testing.assert_array_equal(back.predict(rows), ranker.predict(rows))
        np.testing.assert_array_equal(back.base.predict(X), ranker.base.predict(X))
        assert (back.adaptation_ is not None) is adapted
        assert back.adaptation_ == ranker.adaptation_
    assert (tmp_path / "model").read_bytes() == (tmp_path / "model.npz").read_bytes()
    again = back.adapt(X, preferences(X, 30), regularization=0.1)
    np.testing.assert_array_equal(again.coef_, ranker.adapt(X, preferences(X, 30), regularization=0.1).coef_)


def rewritten(path, change, sealed=True):
    """The file with some arrays changed, its digest made anew or not."""
    with np.load(path) as held:
        arrays = {name: held[name] for name in held.files}
    change(arrays)
    if sealed:
        arrays["digest"] = np.array([_digest({k: v for k, v in arrays.items() if k != "digest"})])
    np.savez(path, **arrays)


def put(name, place, value):
    def change(arrays):
        arrays[name][place] = value

    return change


def turn_round(arrays):
    """Two inner nodes become each other's children, every node still has one parent."""
    left, features = arrays["left"], arrays["features"]
    first = next(a for a in left[left >= 0] if features[a] >= 0 and features[left[a]] >= 0)
    parent = int(np.flatnonzero(left == first)[0])
    second = left[first]
    left[parent], left[second] = left[second], left[parent]


@pytest.mark.parametrize(
    ("change", "sealed", "message"),
    [
        (put("coef", 0, 9.0), False, "it was changed after it was written"),
        (lambda arrays: arrays.update(extra=np.zeros(1)), False, "it was changed after it was written"),
        (put("format", 0, "other"), True, "it is of another format"),
        (put("version", 0, 3), True, "it is version 3 of the format, not 1,"),
        (lambda arrays: arrays.pop("left"), True, "lacks left"),
        (lambda arrays: arrays.pop("query_hashes"), True, "lacks query_hashes"),
        (lambda arrays: arrays.update(coef=arrays["coef"].astype(str)), True, "coef is <U32 of shape"),
        (lambda arrays: arrays.update(version=np.array([1, 1])), True, r"version is int64 of shape \(2,\)"),
        (lambda arrays: arrays.update(coef=arrays["coef"][1:]), True, "weights are not as many as its leaves"),
        (put("coef", 0, np.nan), True, "its weights are not finite"),
        (put("intercept", 0, np.inf), True, "its weights are not finite"),
        (put("left", 0, 0), True, "its nodes are no trees"),
        (put("right", 0, 1), True, "its nodes are no trees"),
        (turn_round, True, "its nodes are no trees"),
        (put("left", 0, 10**9), True, "its nodes are no trees"),
        (put("left", 0, -7), True, "its nodes are no trees"),
        (put("roots", 1, 0), True, "its nodes are no trees"),
        (lambda arrays: arrays.update(roots=arrays["roots"][:0]), True, "its nodes are no trees"),
        (lambda arrays: arrays.update(thresholds=arrays["thresholds"][1:]), True, "its nodes are no trees"),
        (put("features", 0, 5), True, "it compares a feature outside 0 … 4"),
        (put("features", 0, -2), True, "it compares a feature outside 0 … 4"),
        (put("thresholds", 0, np.nan), True, "a threshold is missing"),
        (put("method", 0, "x"), True, "its method is unknown"),
    ],
)
def test_damaged_files_are_refused_in_one_line(base, X, tmp_path, change, sealed, message):
    path = tmp_path / "model"
    write_ranker(path, base.adapt(X, preferences(X, 30)))
    read_ranker(path)
    path.rename(tmp_path / "model.npz")
    rewritten(tmp_path / "model.npz", change, sealed)
    with pytest.raises(FormatError, match=message) as told:
        read_ranker(tmp_path / "model.npz")
    assert "\n" not in str(told.value)
    assert "expected a hyper-linear ranker that write_ranker wrote" in str(told.value)


def test_files_of_another_kind_are_refused_and_nothing_in_them_is_run(base, tmp_path):
    write_ranker(tmp_path / "model", base)
    whole = (tmp_path / "model").read_bytes()
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "pickle", "w") as packed:
        packed.writestr("coef.npy", pickled.getvalue())
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text").write_text("1 qid:1 1:0.5\n")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("pickle", "cut", "text", "empty", "missing"):
        with pytest.raises(InputError) as told:
            read_ranker(tmp_path / name)
        assert str(tmp_path / name) in str(told.value)
        assert "\n" not in str(told.value)


def test_no_changed_byte_goes_unnoticed(base, X, tmp_path):
    """Every change of one byte is refused, or was in what an archive holds beside its arrays."""
    write_ranker(tmp_path / "model", base)
    whole, scores = (tmp_path / "model").read_bytes(), base.predict(X)
    random = np.random.default_rng(0)
    refused = 0
    for place in random.choice(len(whole), 150, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(random.integers(8))
        (tmp_path / "changed").write_bytes(changed)
        try:
            np.testing.assert_array_equal(read_ranker(tmp_path / "changed").predict(X), scores)
        except FormatError:
            refused += 1
    assert refused > 100
