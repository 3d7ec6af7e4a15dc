"""Texts in one buffer against lists of str."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from activeeval import METHODS, Campaign, InputError, QueryPool, Rankings, Target, parse_measure
from activeeval.core.pool import pool_hashes
from activeeval.core.pool.id_checks import as_ids, as_texts
from activeeval.core.pool.texts import LONGEST_ID, Texts, joined_texts
from activeeval.formats.arrays import write_arrays
from activeeval.formats.sample_file import read_campaign, to_arrays
from activeeval.formats.writing import AtomicFiles

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)
LETTERS = st.characters(exclude_characters="\0")
WORDS = st.lists(st.text(LETTERS, max_size=6), max_size=12)


@pytest.mark.kernel
@SETTINGS
@given(WORDS, st.data())
def test_texts_are_a_list_of_str(words, data):
    texts = Texts.from_list(words)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=len(words), max_size=len(words)))
    shared = Texts(texts.data, texts.offsets, np.cumsum([0, *repeats]))
    long = [word for word, n in zip(words, repeats, strict=True) for _ in range(n)]
    for own, listed in ((texts, words), (shared, long), (shared.plain(), long)):
        assert own.tolist() == list(own) == listed
        assert own.size == len(own) == len(listed)
        assert [own[i] for i in range(-len(listed), len(listed))] == listed + listed
        rows = data.draw(st.lists(st.integers(0, max(len(listed) - 1, 0)), max_size=5)) if listed else []
        assert own[np.array(rows, dtype=np.int64)].tolist() == [listed[row] for row in rows]
        assert own[np.array(rows, dtype=np.int64) - len(listed)].tolist() == [listed[row] for row in rows]
        assert own[1:].tolist() == listed[1:]
        assert own[np.array([i % 2 == 0 for i in range(len(listed))], dtype=bool)].tolist() == listed[::2]
        assert np.asarray(own).tolist() == np.array(listed, dtype=str).tolist()
        assert joined_texts([own, texts]).tolist() == listed + words
        assert pickle.loads(pickle.dumps(own)).tolist() == listed
        assert own.equals(Texts.from_list(listed))
    assert Texts.from_array(np.array(words, dtype=str)).tolist() == np.array(words, dtype=str).tolist()
    for beyond in (len(words), np.array([len(words)]), np.array([-len(words) - 1])):
        with pytest.raises(IndexError):
            texts[beyond]


def test_one_long_text_does_not_make_all_rows_wide():
    long = "x" * LONGEST_ID
    texts = Texts.from_list([*map(str, range(100_000)), long])
    array = texts.array()
    assert array.dtype == object
    assert array.tolist() == texts.tolist()
    assert texts.array() is array
    assert not array.flags.writeable
    assert Texts.from_list(["a", long]).array().dtype == f"U{LONGEST_ID}"
    assert as_ids(array, "ids").tolist() == texts.tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", ""], r"ids\[1\] is empty"),
        (["a", "é" * 2049], r"ids\[1\] is an id of 4098 bytes, 'é+…', expected at most 4096"),
        (np.array(["a", "b" * 4097]), r"ids\[1\] is an id of 4097 bytes, 'b+…', expected at most 4096"),
        (["a", "b\0c"], r"ids\[1\] holds a NUL, expected text: 'b\\x00c'"),
        (np.array(["a", "b\0c"]), r"ids\[1\] holds a NUL, expected text: 'b\\x00c'"),
        (["a", 1.5], r"ids\[1\] must be text or a whole number, got 1.5"),
        (["a", True], r"ids\[1\] must be text or a whole number, got True"),
        (np.array([1.5]), r"ids must hold text or whole numbers, got dtype float64"),
        (np.array([["a"]]), r"ids must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_what_is_no_id_is_told_with_its_place(values, expected):
    with pytest.raises(InputError, match=f"^{expected}$"):
        as_texts(values, "ids")


def test_ids_of_any_array_are_alike():
    expected = ["7", "12"]
    big_endian, objects = np.array(expected, dtype=">U5"), np.array(expected, dtype=object)
    for values in (
        [7, 12],
        np.array([7, 12]),
        expected,
        big_endian,
        objects,
        np.array(expected, np.dtypes.StringDType()),
    ):
        assert as_texts(values, "ids").tolist() == expected
    assert as_texts(["a" * LONGEST_ID], "ids").lengths.tolist() == [LONGEST_ID]


def test_a_half_of_a_pair_is_a_letter():
    pool = QueryPool(["\ud800"], [0, 2], ["\udc00", "\uffff"])
    assert pool.item_ids.tolist() == ["\udc00", "\uffff"]
    assert Rankings.from_scores(pool, [0.0, 0.0]).items.tolist() == [1, 0]
    assert pool_hashes(pool)[1].size == 2


def test_pools_are_told_apart_by_their_ids():
    pool = QueryPool(["q", "r"], [0, 1, 3], ["a", "b", "c"])
    assert pool.holds_the_same(QueryPool(["q", "r"], [0, 1, 3], ["a", "b", "c"]))
    assert not pool.holds_the_same(QueryPool(["q", "s"], [0, 1, 3], ["a", "b", "c"]))
    assert not pool.holds_the_same(QueryPool(["q", "r"], [0, 2, 3], ["a", "b", "c"]))
    assert not pool.holds_the_same(QueryPool(["q", "r"], [0, 1, 3], ["a", "bc", "d"]))
    assert not pool.holds_the_same(QueryPool(["q", "r"], [0, 1, 3], ["a", "b", "d"]))


def test_a_sample_with_one_long_id_stays_small(tmp_path):
    n = 1100
    pool = QueryPool(["q" * LONGEST_ID, "r"], [0, n, 2 * n], [*map(str, range(2 * n - 1)), "x" * LONGEST_ID])
    target = Target(parse_measure("DCG@3"), Rankings.from_scores(pool, np.arange(2.0 * n)))
    campaign = Campaign(METHODS["items"].design(target, np.full((2 * n, 2), 0.5), budget=4), rng=0)
    arrays = to_arrays(campaign)
    assert sum(array.nbytes for name, array in arrays.items() if name.startswith("pool.item_ids")) < 100_000
    with AtomicFiles() as files:
        write_arrays(tmp_path / "a.sample", arrays, files)
    again, _ = read_campaign(str(tmp_path / "a.sample"))
    assert again.design.pool.holds_the_same(pool)
    assert [unit.item_ids for unit in again.planned] == [unit.item_ids for unit in campaign.planned]
