"""Pools in parquet files: what a partition becomes, and what is refused in one line that names it."""

import numpy as np
import pytest
from each_once import each_once

from activeeval import DCG, InputError, QueryPool, chunked_design
from activeeval.core.errors import FormatError
from activeeval.core.grade_models import OrderedLogitModel
from activeeval.core.pool import pool_hashes
from activeeval.scale.partition_files import within
from activeeval.scale.partitions import PartitionedPool
from activeeval.scale.scratch import Folder
from activeeval.scale.tables import UnitTable

pa = pytest.importorskip("pyarrow", reason="a pool in parquet needs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def columns(first, n_queries=4, seed=0, **changes):
    """Return the columns of some queries with three documents each."""
    random = np.random.default_rng((seed, first))
    queries = np.repeat(np.arange(first, first + n_queries), 3)
    probs = random.dirichlet((2.0, 1.0, 1.0), queries.size)
    made = {
        "query_id": [f"q{q:03d}" for q in queries],
        "doc_id": [f"d{q}-{k % 3}" for k, q in enumerate(queries)],
        "score:a": random.permutation(queries.size).astype(float),
        "rank:b": pa.array([1, None, 2] * n_queries, pa.int32()),
        **{f"p{k}": probs[:, k] for k in range(3)},
    }
    return made | changes


def put(path, held, **options):
    parquet.write_table(pa.table(held), path, **options)


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        put(tmp_path / f"part-{k}.parquet", columns(4 * k))
    return tmp_path


def pattern(folder):
    return str(folder / "part-*.parquet")


def drawn(folder, runs=("a", "b"), seed=3, **options):
    pool = PartitionedPool.of(pattern(folder), runs)
    return chunked_design(pool, DCG(cutoff=3), max_grade=2, **options).campaign(12, pool, rng=seed)


def units_of(campaign):
    return [(unit.query_id, unit.item_ids, unit.level) for unit in campaign.planned]


def test_a_partition_is_a_chunk_of_what_its_columns_say(folder):
    pool = PartitionedPool.of(pattern(folder), ["b", "a"])
    chunk = pool.read(pool.keys()[1])
    held = columns(4)
    assert chunk.pool.query_ids.tolist() == ["q004", "q005", "q006", "q007"]
    place = {pair: z for z, pair in enumerate(zip(held["query_id"], held["doc_id"], strict=True))}
    rows = [place[pair] for pair in chunk.pool.pairs_of(np.arange(12))]
    np.testing.assert_array_equal(chunk.grade_probs[:, 1], held["p1"][rows].astype(np.float32))
    listed = chunk.pool.pairs_of(chunk.ranking.items)
    assert [doc for query, doc in listed if query == "q005"] == ["d5-0", "d5-2"]
    by_score = sorted(range(3, 6), key=lambda row: -held["score:a"][row])
    versus = [doc for query, doc in chunk.pool.pairs_of(chunk.versus.items) if query == "q005"]
    assert versus == [held["doc_id"][row] for row in by_score]
    assert (np.diff(pool_hashes(chunk.pool)[1].astype(float).reshape(-1, 3)) > 0).all()


def test_neither_the_order_of_rows_nor_the_partitioning_changes_a_sample(folder, tmp_path):
    wanted = units_of(drawn(folder))
    whole = pa.concat_tables([parquet.read_table(folder / f"part-{k}.parquet") for k in range(3)])
    random = np.random.default_rng(1)
    for n, size in ((1, 12), (2, 5), (4, 2)):
        place = tmp_path / f"again-{n}"
        place.mkdir()
        shares = np.array_split(random.permutation(12), n)
        for k, queries in enumerate(shares):
            names = pa.array([f"q{q:03d}" for q in queries])
            part = whole.filter(pa.compute.is_in(whole["query_id"], value_set=names))
            put(place / f"part-{k}.parquet", part.take(random.permutation(len(part))), row_group_size=size)
        assert units_of(drawn(place)) == wanted


def test_some_queries_of_a_partition_are_read_alone(folder):
    pool = PartitionedPool.of(pattern(folder))
    key = pool.keys()[2]
    some, whole = pool.read_some(key, np.array([1, 3])), pool.read(key)
    part, items = whole.pool.subset([1, 3])
    assert some.pool.pairs_of(np.arange(6)) == part.pairs_of(np.arange(6))
    np.testing.assert_array_equal(some.grade_probs, whole.grade_probs[items])
    with pytest.raises(InputError, match="its queries, or their traffic, are not those"):
        pool.read_some(key, np.array([4]))


def test_costs_traffic_and_known_grades_are_taken(folder):
    n = np.repeat([1.0, 2.0, 3.0, 4.0], 3)
    beside = {"cost": np.arange(1.0, 13), "query_cost": n / 2, "traffic": n, "grade": pa.array([2, None, -1] * 4)}
    for k in range(3):
        put(folder / f"part-{k}.parquet", columns(4 * k, **beside))
    pool = PartitionedPool.of(pattern(folder))
    chunk = pool.read(pool.keys()[0])
    np.testing.assert_allclose(chunk.weights, [1, 2, 3, 4])
    np.testing.assert_array_equal(chunk.pool.query_costs, [0.5, 1.0, 1.5, 2.0])
    assert isinstance(chunk.pool, QueryPool)
    known = {doc: grade for (_, doc), grade in zip(chunk.pool.pairs_of(np.arange(12)), chunk.judged, strict=True)}
    assert (known["d0-0"], known["d0-1"], known["d0-2"]) == (2, -1, -1)
    docs = [doc for _, doc in chunk.pool.pairs_of(np.arange(12))]
    costs = dict(zip(docs, chunk.pool.item_costs, strict=True))
    assert costs["d3-2"] == 12


def broken():
    """Yield what is wrong with the second partition, and what is said."""
    place = r".*part-1\.parquet"
    nan = columns(4)["score:a"].copy()
    nan[5] = np.nan
    yield "NaN", {"score:a": nan}, rf"{place}: column score:a holds NaN: expected numbers, or empty cells"
    yield "a rank twice", {"rank:b": [1, 1, 2] * 4}, rf"{place}: rank:b: item 'd4-[01]' of query 'q004' shares its .*"
    yield "a probability", {"p0": np.full(12, 2.0)}, rf"{place}: grade_probs of item .*"
    yield "no text", {"doc_id": pa.array([None, *["d"] * 11])}, rf"{place}: column doc_id has empty cells"
    yield "two traffics", {"traffic": np.arange(1.0, 13)}, rf"{place}: column traffic has two values for query 'q004'"
    yield "a text", {"p1": ["x"] * 12}, rf"{place}: column p1 holds string, expected numbers"
    yield "a document twice", {"doc_id": ["d"] * 12}, rf"{place}: query 'q004' holds item 'd' twice"
    yield "half a grade", {"grade": np.full(12, 0.5)}, rf"{place}: column grade holds 0\.5, expected whole grades"
    again = ["q000", "q000", "q000", *columns(4)["query_id"][3:]]
    yield "a query twice", {"query_id": again}, rf"query 'q000' stands in two partitions, .*part-0\.parquet and {place}"


@pytest.mark.parametrize(("changes", "text"), [pytest.param(*rest, id=name) for name, *rest in broken()])
def test_what_is_wrong_with_a_partition_is_one_line(folder, changes, text):
    extra = {name: values for name, values in changes.items() if name not in columns(0)}
    if extra:  # of one schema all the same
        for k in (0, 2):
            put(folder / f"part-{k}.parquet", columns(4 * k, **{name: np.full(12, 1.0) for name in extra}))
    put(folder / "part-1.parquet", columns(4, **changes))
    with pytest.raises(InputError, match=f"^{text}$") as caught:
        drawn(folder)
    assert "\n" not in str(caught.value)


def test_a_model_predicts_from_features_wherever_a_partition_is_read(folder):
    random = np.random.default_rng(3)
    features, grades = random.normal(size=(60, 2)), random.integers(0, 3, 60)
    model = OrderedLogitModel(max_grade=2).fit(features, grades)
    for k in range(3):
        own = np.random.default_rng(k).normal(size=(12, 2))
        probs = {f"p{j}": column for j, column in enumerate(model.predict_proba(own).T)}
        put(folder / f"part-{k}.parquet", columns(4 * k, f0=own[:, 0], f1=own[:, 1], **probs))
    pool = PartitionedPool.of(pattern(folder))
    by_model = pool.predicted_by(model)
    keys = pool.keys()
    for key in keys:
        np.testing.assert_allclose(by_model.read(key).grade_probs, pool.read(key).grade_probs, rtol=1e-6)
    samples = [chunked_design(each, DCG(cutoff=3), max_grade=2).campaign(12, each, rng=1) for each in (pool, by_model)]
    assert [u.item_ids for u in samples[0].planned] == [u.item_ids for u in samples[1].planned]
    put(folder / "part-0.parquet", columns(0))
    with pytest.raises(InputError, match="has no features"):
        PartitionedPool.of(pattern(folder)).predicted_by(model)


def test_trusted_ids_are_not_looked_at(folder):
    put(folder / "part-1.parquet", columns(0))
    with pytest.raises(InputError, match="stands in two partitions"):
        drawn(folder)
    pool = PartitionedPool.of(pattern(folder))
    assert chunked_design(pool, DCG(cutoff=3), max_grade=2, trust_ids=True).n_queries == 12


def test_files_that_are_none_of_a_pool_are_refused(folder):
    pool = PartitionedPool.of(pattern(folder))
    held = columns(4)
    del held["p2"]
    put(folder / "part-1.parquet", held)
    with pytest.raises(InputError, match=r"part-1\.parquet: lacks the column p2, which .*part-0\.parquet has"):
        drawn(folder)
    put(folder / "part-1.parquet", {name: values[:0] for name, values in columns(4, **{"rank:b": [1]}).items()})
    with pytest.raises(InputError, match=r"part-1\.parquet: is empty"):
        drawn(folder)
    content = (folder / "part-2.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=r"part-1\.parquet: cannot be read as parquet: "):
        drawn(folder)
    (folder / "part-1.parquet").unlink()
    with pytest.raises(InputError, match=r"part-1\.parquet: .*[Nn]o such file"):
        pool.read(pool.keys()[1])
    with pytest.raises(InputError, match=r"holds no run 'c'; .*there are b, a"):
        PartitionedPool.of(pattern(folder), ["c"])
    put(folder / "part-0.parquet", {"query_id": ["q"]})
    with pytest.raises(FormatError, match="lacks the column doc_id"):
        PartitionedPool.of(pattern(folder))
    with pytest.raises(InputError, match="there is no such file"):
        PartitionedPool.of(str(folder / "other-*.parquet"))


def test_a_partition_that_changed_between_the_passes_is_refused(folder):
    pool = PartitionedPool.of(pattern(folder))
    design = chunked_design(pool, DCG(cutoff=3), max_grade=2)
    for k in range(3):
        put(folder / f"part-{k}.parquet", columns(4 * k, traffic=np.full(12, 5.0 + k)))
    with pytest.raises(InputError, match=r"part-\d\.parquet: its queries, or their traffic, are not those"):
        design.campaign(12, PartitionedPool.of(pattern(folder)), rng=3)


FEWER_DOCUMENTS = pa.array([k % 3 != 2 for k in range(12)])
CHANGES = {
    "other queries": lambda: pa.table(columns(100)),
    "more queries": lambda: pa.table(columns(4, 6)),
    "fewer documents": lambda: pa.table(columns(4)).filter(FEWER_DOCUMENTS),
    "other documents": lambda: pa.table(columns(4, doc_id=[f"x{k}" for k in range(12)])),
    "other scores": lambda: pa.table(columns(4, seed=9)),
    "grades": lambda: pa.table(columns(4, grade=np.ones(12))),
    "costs": lambda: pa.table(columns(4, cost=np.full(12, 50.0))),
    "another run": lambda: pa.table(columns(4)).drop(["rank:b"]),
    "no rows": lambda: pa.table(columns(4)).slice(0, 0),
    "no table": lambda: None,
}


@each_once(
    ("how", CHANGES),
    ("options", [{}, {"method": "depth"}, {"method": "depth", "adaptive_depth": "each"}, {"method": "active"}]),
)
def test_a_partition_whose_place_another_takes_while_a_sample_is_drawn_is_named(folder, how, options):
    pool = PartitionedPool.of(pattern(folder), ("a", "b"))
    design = chunked_design(pool, DCG(cutoff=3), max_grade=2, **options)
    other, place = CHANGES[how](), folder / "part-1.parquet"
    if other is None:
        place.write_text("hello")
    else:
        parquet.write_table(other, place)
    with pytest.raises((InputError, FormatError), match=r"part-1\.parquet: ") as refused:
        design.campaign(20, pool, rng=3)
    assert "\n" not in str(refused.value)


def test_options_of_an_address_stay_behind_it():
    assert within("s3://bucket/pool/?region=eu", "a.parquet") == "s3://bucket/pool/a.parquet?region=eu"


def test_draws_with_replacement_leave_of_a_partition_what_its_queries_are_known_again_by(folder, tmp_path):
    scratch = Folder(str(tmp_path / "tables"))
    (tmp_path / "tables").mkdir()
    pool = PartitionedPool.of(pattern(folder), ["a"])
    design = chunked_design(pool, DCG(cutoff=3), "active", max_grade=2, scratch=scratch)
    tables = [UnitTable.unpacked(scratch.read(f"units-{k}")) for k in range(3)]
    assert [table.numbers.tolist() for table in tables] == [[0, 1, 2, 3]] * 3
    assert [table.hashes.size + len(table.variances) for table in tables] == [0, 0, 0]
    assert design.campaign(6, pool, rng=1).design.pool.n_queries >= 2
    put(folder / "part-1.parquet", columns(100))
    with pytest.raises(InputError, match=r"part-1\.parquet: its queries, or their traffic, are not those"):
        design.campaign(30, pool, rng=1)
