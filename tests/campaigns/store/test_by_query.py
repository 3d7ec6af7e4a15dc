"""What a page claims: query by query within a block, and within a query as chance will have it."""

from dataclasses import replace

from store_cases import grade, make_campaign, make_units

N = 120


def of_a_query_each(n_items):
    return [replace(unit, query_id=f"q{unit.number}") for unit in make_units(N, n_items, per_block=N)]


def test_a_place_in_a_list_says_nothing_of_when_it_is_shown(store):
    """Each of 4 places comes first about N / 4 times: beyond 4.5 sigma for one of them once in 30,000 runs."""
    make_campaign(store, of_a_query_each(4))
    places = [int(store.claim("night", f"judge {k}", by_query=True).doc_id.partition("-")[2]) for k in range(N)]
    assert max(abs(places.count(place) - N / 4) for place in range(4)) < 4.5 * (N * 3 / 16) ** 0.5


def test_whoever_comes_next_gets_a_query_that_nobody_is_at(store):
    make_campaign(store, make_units(6, 2, per_block=6))
    queries = [store.claim("night", f"judge {k}", by_query=True).query_id for k in range(3)]
    assert len(set(queries)) == 3


def test_a_judge_stays_with_a_query_as_long_as_its_block_has_items_of_it(store):
    make_campaign(store, make_units(12, 2, per_block=6))
    claimed, item = [], store.claim("night", "ann", by_query=True)
    while item is not None:
        claimed.append((item.block, item.query_id))
        _, item = store.submit_and_claim("night", item.token, grade(), by_query=True)
    runs = [each for k, each in enumerate(claimed) if not k or claimed[k - 1] != each]
    assert len(claimed) == 24
    assert len(runs) == len(set(claimed)) == 6
    assert claimed == sorted(claimed, key=lambda each: each[0])


def test_what_was_put_off_comes_last(store):
    make_campaign(store, make_units(2, 2, per_block=2))
    first = store.claim("night", "ann", by_query=True)
    _, item = store.submit_and_claim("night", first.token, replace(grade(), kind="deferred", grade=None), by_query=True)
    docs = []
    while item is not None:
        docs.append(item.doc_id)
        _, item = store.submit_and_claim("night", item.token, grade(), by_query=True)
    assert docs[-1] == first.doc_id
    assert len(docs) == 4


def test_strict_order_stays_strict(store):
    make_campaign(store, make_units(6, 2), strict_order=True)
    units, item = [], store.claim("night", "ann", by_query=True)
    while item is not None:
        units.append(item.unit)
        _, item = store.submit_and_claim("night", item.token, grade(), by_query=True)
    assert units == sorted(units)
