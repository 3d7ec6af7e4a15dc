"""LETOR files: values to the bit, queries, documents, alignment of files."""

from __future__ import annotations

import gzip
import io
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.datasets import load_svmlight_file

from activeeval.core.errors import FormatError, InputError
from activeeval.core.kernels.text import number_texts as text_numbers
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores, read_scores_of

SMALL = b"""# a comment
2 qid:10 1:0.5 3:-1e-3 #docid = GX1 inc = 1 prob = 0.02
0.0 qid:10 2:NULL # docid = GX2

1.0 qid:q\xc3\xa9 3:1 4:7 #docno=\xe2\x98\x83x\r
"""


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64)


def text_value(text):
    """Read one number as the readers do: by the kernel, or by Python where the kernel leaves it."""
    data = np.frombuffer(bytearray(text.encode()), dtype=np.uint8)
    stop, kind, value = text_numbers.number_at(data, 0)
    assert kind == text_numbers.BAD or stop == data.size
    return None if kind == text_numbers.BAD else float(text) if kind == text_numbers.SLOW else value


def write(path, content):
    path.write_bytes(content)
    return path


def test_a_small_file(tmp_path):
    data = read_letor(write(tmp_path / "a.txt", SMALL))
    assert data.grades.tolist() == [2, 0, 1]
    assert data.query_ids.tolist() == ["10", "qé"]
    assert data.query_offsets.tolist() == [0, 2, 3]
    assert data.item_ids.tolist() == ["GX1", "GX2", "☃x"]
    expected = [[0.5, 0, -1e-3, 0], [0, np.nan, 0, 0], [0, 0, 1, 7]]
    np.testing.assert_array_equal(data.features, expected)
    assert data.features.flags.c_contiguous
    pool = data.pool(item_costs=[1, 2, 3])
    assert (pool.n_queries, pool.n_items) == (2, 3)
    assert data.judgments().tolist() == [2, 0, 1]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \t\r\n", b""])
def test_line_ends_marks_and_gzip_change_nothing(tmp_path, end):
    lines = [b"1 qid:1 1:0.25", b"0\tqid:1  1:2.", b"2 qid:2 1:.5"]
    plain = (end or b"\n").join(lines) + end
    packed = gzip.compress(plain[:20]) + gzip.compress(plain[20:])
    for content in (plain, b"\xef\xbb\xbf" + plain, packed):
        data = read_letor(write(tmp_path / "a.txt", content))
        assert data.features.ravel().tolist() == [0.25, 2.0, 0.5]
        assert data.item_ids is None
        assert data.pool().item_ids.tolist() == ["1", "2", "1"]


def test_labels_alone_agree_with_the_full_reading(tmp_path):
    path = write(tmp_path / "a.txt", SMALL)
    full, labels = read_letor(path), read_letor(path, features=False)
    assert labels.features is None
    for name in ("grades", "query_ids", "query_offsets", "item_ids", "file_offsets"):
        np.testing.assert_array_equal(getattr(full, name), getattr(labels, name))


def test_files_join_and_scores_align_file_by_file(tmp_path):
    a = write(tmp_path / "a.txt", b"1 qid:1 1:1\n0 qid:2 1:2\n")
    b = write(tmp_path / "b.txt", b"1 qid:2 1:3 5:4\n# c\n2 qid:3")
    data = read_letor([a, b])
    assert data.query_ids.tolist() == ["1", "2", "3"]
    assert data.query_offsets.tolist() == [0, 1, 3, 4]
    assert data.file_offsets.tolist() == [0, 2, 4]
    assert data.features.tolist() == [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [3, 0, 0, 0, 4], [0] * 5]
    s, t = write(tmp_path / "s", b"1\n2\n"), write(tmp_path / "t", b"3\n4.5\n")
    assert read_scores_of([s, t], data).tolist() == [1, 2, 3, 4.5]
    long = write(tmp_path / "long", b"1\n2\n3\n4\n")
    assert read_scores_of(long, data).tolist() == [1, 2, 3, 4]
    with pytest.raises(FormatError, match=r"long: 4 scores for 2 lines of .*b.txt$"):
        read_scores_of([s, long], data)
    with pytest.raises(InputError, match="3 score files for 2 LETOR files, expected one each, or one for all"):
        read_scores_of([s, s, s], data)
    with pytest.raises(InputError, match="n_expected must hold one entry for each of the 2 score files, got 1"):
        read_scores([s, t], [2])
    with pytest.raises(FormatError, match=r"a.txt:1: query '1' has lines in two places, first at .*a.txt:1"):
        read_letor([a, b, a])


def test_a_document_twice_over_two_files_names_both(tmp_path):
    a = write(tmp_path / "a.txt", b"1 qid:1 #docid = X\n")
    b = write(tmp_path / "b.txt", b"\n1 qid:1 #docid = X\n")
    with pytest.raises(FormatError, match=r"b.txt:2: document 'X' is twice in its query, first at .*a.txt:1"):
        read_letor([a, b])
    c = write(tmp_path / "c.txt", b"1 qid:2\n")
    with pytest.raises(FormatError, match=r"c.txt:1: no document id"):
        read_letor([a, c])
    with pytest.raises(InputError, match="given no file"):
        read_letor([])


@pytest.mark.kernel
@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_texts_of_doubles_come_back(value):
    for text in (repr(value), f"{value:.17g}", f"{value:.6f}", f"{value:+.3e}"):
        assert bits(text_value(text)) == bits(float(text))


@pytest.mark.kernel
def test_texts_at_the_midpoint_of_two_doubles_round_as_python_does():
    rng = random.Random(1)
    for _ in range(2000):
        n_places = rng.randint(1, 18)
        below = rng.randint(2**53, 2**58) / 10**n_places
        middle = (Fraction(below) + Fraction(float(np.nextafter(below, np.inf)))) / 2
        digits = str(int(middle * 10**n_places) + rng.randint(-1, 1)).zfill(n_places + 1)
        text = f"{digits[:-n_places]}.{digits[-n_places:]}"
        assert bits(text_value(text)) == bits(float(text)), text


@pytest.mark.kernel
@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "--1", "1x", "nan", "inf", "0x1", "1_0"])
def test_what_is_no_number_is_refused(text):
    assert text_value(text) is None


EDGES = "0 -0.0 1e22 1e23 9007199254740993 4.9e-324 1e-400 00012.5 123456789012345678901234567890"


@pytest.mark.kernel
@pytest.mark.parametrize("text", EDGES.split())
def test_numbers_at_the_edges_of_the_exact_path(text):
    assert bits(text_value(text)) == bits(float(text))


def test_many_long_numbers_pass_the_room_for_slow_ones(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.random((30_000, 3)) * 10.0 ** rng.integers(-40, 40, (30_000, 3))
    lines = [f"0 qid:{i // 10} 1:{a!r} 2:{b!r} 3:{c!r}\n" for i, (a, b, c) in enumerate(values.tolist())]
    data = read_letor(write(tmp_path / "a.txt", "".join(lines).encode()))
    np.testing.assert_array_equal(bits(data.features), bits(values))


@pytest.mark.parametrize("name", ["mq2008/S1.txt.gz", "mslr-sample/mslr_fold1_valid_sample.txt.gz"])
def test_real_files_agree_with_scikit_learn(kit, name):
    data = read_letor(kit(name))
    text = gzip.decompress(kit(name).read_bytes())
    values, grades, queries = load_svmlight_file(io.BytesIO(text), query_id=True)
    np.testing.assert_array_equal(bits(data.features), bits(values.toarray()))
    np.testing.assert_array_equal(data.grades, grades)
    np.testing.assert_array_equal(np.repeat(data.query_ids, np.diff(data.query_offsets)).astype(int), queries)


def test_mq2008_has_the_counts_of_its_description(kit):
    data = read_letor([kit(f"mq2008/S{k}.txt.gz") for k in range(1, 6)], features=False)
    assert np.bincount(data.grades).tolist() == [12_279, 2_001, 931]
    assert data.query_ids.size == 784
    assert np.diff(data.file_offsets).tolist() == [2_933, 3_635, 3_062, 2_707, 2_874]
    assert data.item_ids[0].startswith("GX")
    assert data.pool().n_items == 15_211


def test_mq2007_agg_marks_what_is_missing(kit):
    data = read_letor([kit("mq2007-agg/A1.txt.gz"), kit("mq2007-agg/A2.txt.gz")])
    assert int(np.isnan(data.features).sum()) == 206_863
    assert data.features.shape == (28_303, 21)
    ranker = [kit(f"mq2007-agg/rankers/svm_light/Fold{k}.test_score.gz") for k in (2, 3)]
    assert read_scores_of(ranker, data).shape == (28_303,)


def test_more_features_far_down_than_at_the_start(tmp_path):
    rows = [f"1 qid:{i // 50} 1:{i} 2:0.5\n" for i in range(6000)]
    rows[5500] = "1 qid:110 1:7 3:0.25 9:4\n"
    path = tmp_path / "a.txt"
    path.write_text("".join(rows))
    data = read_letor(path)
    assert data.features.shape == (6000, 9)
    assert data.features[5500].tolist() == [7, 0, 0.25, 0, 0, 0, 0, 0, 4]
    assert data.features[5999].tolist() == [5999, 0.5, 0, 0, 0, 0, 0, 0, 0]
    rows[5999] = "1 qid:119 9:1 3:2\n"
    path.write_text("".join(rows))
    with pytest.raises(InputError, match=r"a.txt:6000: the feature '3:2' is out of order"):
        read_letor(path)
