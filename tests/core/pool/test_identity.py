"""Numbers that belong to ids, against the published hashes in Python's whole numbers; what they may depend on."""

import itertools

import numpy as np
import pytest
from core_cases import judge_all
from each_once import each_once
from hypothesis import given, settings, strategies as st
from naive import fnv1a, id_hash, id_hashes, number_of, splitmix
from scipy.stats import binom, kstest

from activeeval import AP, DCG, ERR, METHODS, NDCG, RBP, Campaign, InputError, QueryPool, Rankings, Target
from activeeval.core.grade_models.query_factor import QueryFactor
from activeeval.core.kernels import numbers
from activeeval.core.pool import key_of, known_digest, pool_hashes
from activeeval.core.pool.identity import hashed_uniforms
from activeeval.core.pool.texts import Texts

pytestmark = pytest.mark.kernel

GOLDEN = 0x9E3779B97F4A7C15
IDS = ["", "q", "query 17", "naïve", "Straße", "検索", "поиск", "🔎", "a🔎é検", "\x7f\x80", "߿ࠀ", "￿\U00010000"]
ids = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1, max_size=12)


def kernel_hash(start, words):
    texts = Texts.from_list(words)
    out = np.empty(texts.size, np.uint64)
    numbers.text_hashes(np.uint64(start), texts.data, texts.offsets, out)
    return out.tolist()


def test_the_references_are_the_published_hashes():
    """FNV-1a's own vectors; the first numbers of splitmix64 from 1234567 and from 0."""
    assert [fnv1a(text) for text in (b"", b"a", b"foobar")] == [
        0xCBF29CE484222325,
        0xAF63DC4C8601EC8C,
        0x85944171F73967E8,
    ]
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [splitmix((1234567 + k * GOLDEN) % 2**64) for k in range(4)] == expected
    assert splitmix(0) == 0xE220A8397B1DCDAF


def test_a_word_is_mixed_as_splitmix_does():
    for word in (0, 1, 2**63, 2**64 - 1, 1234567, 0xB7E151628AED2A6B):
        assert int(numbers.mixed(np.uint64(word))) == splitmix(word)
        for key in (0, 7, 2**64 - 1):
            assert numbers.number(np.uint64(key), np.uint64(word)) == number_of(key, word)


@pytest.mark.parametrize("start", [0, 1, 0xB7E151628AED2A6B])
def test_ids_are_hashed_by_their_bytes_whatever_their_length(start):
    """One to four bytes a character, at the edges of each; alone and beside others."""
    expected = [id_hash(start, text) for text in IDS]
    assert kernel_hash(start, IDS) == expected
    assert [kernel_hash(start, [text])[0] for text in IDS[1:]] == expected[1:]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(ids, min_size=1, max_size=4, unique=True), st.lists(ids, min_size=1, max_size=4, unique=True))
def test_the_hashes_of_a_pool_are_those_of_its_ids(queries, items):
    offsets = np.arange(len(queries) + 1) * len(items)
    of_queries, of_items = pool_hashes(QueryPool(queries, offsets, items * len(queries)))
    expected = id_hashes(QueryPool(queries, offsets, items * len(queries)))
    assert (of_queries.tolist(), of_items.tolist()) == expected
    assert len({*expected[0], *expected[1]}) == len(queries) * (1 + len(items))


@pytest.mark.statistical
@pytest.mark.parametrize("fixed", ["key", "word"])
def test_numbers_are_uniform_and_keys_and_ids_tell_them_apart(fixed):
    """Kolmogorov-Smirnov on 4,000 numbers, neighbouring keys or ids: else 1 run in 5,000 would fail each."""
    words = np.arange(4000, dtype=np.uint64)
    sevens = np.full(4000, 7, dtype=np.uint64)
    pairs = (sevens, words) if fixed == "key" else (words, sevens)
    found = np.array([numbers.number(key, word) for key, word in zip(*pairs, strict=True)])
    assert kstest(found, "uniform").pvalue > 2e-4
    assert kstest((found * 1024) % 1, "uniform").pvalue > 2e-4  # the lower bits too
    ascents = int((np.diff(found)[::2] > 0).sum())
    assert min(binom.cdf(ascents, 2000, 0.5), binom.sf(ascents - 1, 2000, 0.5)) > 1e-4
    assert 0 < found.min() < found.max() < 1


@pytest.mark.statistical
def test_streams_of_one_id_are_apart():
    """Correlations of 4,000 numbers within 4.5 standard errors: 1 run in 50,000 would fail with others."""
    words = np.arange(4000, dtype=np.uint64)
    streams = hashed_uniforms(3, words, 3)
    assert streams[1].tolist() == [number_of(splitmix(3 ^ 1), word) for word in range(4000)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(streams[a], streams[b])[0, 1]) < 4.5 / np.sqrt(4000)


# Keys


def test_a_seed_makes_a_key_and_known_grades_change_it():
    pool = QueryPool(["a", "b"], [0, 2, 4], list("xyxy"))
    hashes = pool_hashes(pool)[1]
    unknown = np.full(4, -1)
    assert known_digest(hashes, unknown) == 0
    keys = {int(key_of(seed, known_digest(hashes, unknown))) for seed in range(100)}
    assert len(keys) == 100
    assert key_of(5) == key_of(np.random.SeedSequence(5)) == key_of(5, 0)
    digests = [known_digest(hashes, np.array(known)) for known in np.ndindex(3, 3, 3, 3)]
    shifted = [known_digest(hashes, np.array(known) - 1) for known in np.ndindex(3, 3, 3, 3)]
    assert len({int(one) for one in digests + shifted}) == 2 * 3**4 - 2**4  # both know grades 0 and 1 of all
    assert len({int(key_of(5, digest)) for digest in digests}) == 81


def test_the_digest_of_known_grades_does_not_depend_on_the_order_of_rows():
    random = np.random.default_rng(0)
    hashes, known = random.integers(0, 2**63, 50).astype(np.uint64), random.integers(-1, 4, 50)
    order = random.permutation(50)
    assert known_digest(hashes[order], known[order]) == known_digest(hashes, known)


def test_no_seed_takes_fresh_randomness_and_a_generator_moves_on():
    assert key_of(None) != key_of(None)
    random = np.random.default_rng(1)
    assert key_of(random) != key_of(random)
    assert key_of(np.random.default_rng(1)) == key_of(np.random.default_rng(1))


# What a sample may depend on: the ids and the key

CASES = {
    "items": DCG(),
    "items_plain": RBP(0.7, gains="linear"),
    "depth": ERR(4),
    "depth_plain": NDCG(cutoff=3),
    "whole": AP(),
    "random": NDCG(),
    "passive": DCG(cutoff=3),
    "active": ERR(4),
}


def permuted(pool, random, queries=True, items=True):
    """Return a pool with its queries, and the items within them, in another order, and where its items stood."""
    starts = np.split(np.arange(pool.n_items), pool.query_offsets[1:-1])
    order = random.permutation(pool.n_queries) if queries else np.arange(pool.n_queries)
    parts = [random.permutation(starts[q]) if items else starts[q] for q in order]
    places = np.concatenate(parts)
    other = QueryPool(
        pool.query_ids[order],
        np.concatenate(([0], np.cumsum([part.size for part in parts]))),
        pool.item_ids[places],
        pool.item_costs[places],
        pool.query_costs[order],
        pool.query_probs[order],
    )
    return other, places


def drawn(pool, probs, grades, lists, method, measure, known):
    """Return the units of a sample by ids, and its estimate."""
    target = Target(measure, *(Rankings.from_ids(pool, one) for one in lists))
    factor = None if method in ("random", "passive", "active") else QueryFactor(1.2)
    design = METHODS[method].design(target, probs, factor=factor, judged=known)
    campaign = judge_all(Campaign(design, budget=0.5 * design.cost, rng=3), grades)
    units = {(unit.query_id, frozenset(unit.item_ids), str(unit.level)) for unit in campaign.units}
    return units, campaign.estimate(), [unit.query_id for unit in campaign.units]


@each_once(("with_known", [False, True]), ("method", CASES))
def test_any_order_of_queries_and_items_gives_the_same_sample(method, with_known):
    """The same items of the same queries, their levels equal to the last bit, and the same estimate."""
    random = np.random.default_rng(4)
    lengths = random.integers(2, 7, 30)
    ids = [f"d{z}" for n in lengths for z in random.permutation(40)[:n]]
    pool = QueryPool(
        [f"frage {q}" for q in range(30)],
        np.concatenate(([0], np.cumsum(lengths))),
        ids,
        item_costs=random.uniform(0.5, 3, lengths.sum()),
        query_costs=random.choice([0.0, 1.0, 2.5], 30),
        query_probs=random.dirichlet(np.full(30, 3.0)),
    )
    probs, grades = random.dirichlet(np.full(5, 0.6), pool.n_items), random.integers(0, 5, pool.n_items)
    known = None
    if with_known:
        known = np.where(random.random(pool.n_items) < 0.2, grades, -1)
    spans = itertools.pairwise(pool.query_offsets.tolist())
    own = {str(q): pool.item_ids[a:b].tolist() for q, (a, b) in zip(pool.query_ids, spans, strict=True)}
    lists = [
        {q: random.permutation(docs)[: max(len(docs) - cut, 1)].tolist() for q, docs in own.items()} for cut in (1, 2)
    ]
    if METHODS[method].with_replacement and with_known:
        with pytest.raises(InputError, match="draws with replacement: one target of all queries, no known grades"):
            drawn(pool, probs, grades, lists, method, CASES[method], known)
        return
    units, estimate, asked = drawn(pool, probs, grades, lists, method, CASES[method], known)
    assert len(units) > 10
    for queries, items in ((True, False), (False, True), (True, True)):
        other, places = permuted(pool, random, queries, items)
        others = None if known is None else known[places]
        again = drawn(other, probs[places], grades[places], lists, method, CASES[method], others)
        assert {*again[0]} == units
        assert again[2] == asked
        assert again[1].value == pytest.approx(estimate.value, rel=1e-12)
        assert again[1].std_error == pytest.approx(estimate.std_error, rel=1e-9)
        assert again[1].cost == pytest.approx(estimate.cost, rel=1e-12)
