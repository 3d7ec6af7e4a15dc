"""Programs with a token: claim, submit and status, with the lines of the command line."""

import numpy as np
import pytest

URL = "/api/campaigns/week"


def claim(program):
    return program.post(f"{URL}/claim", json={})


def submit(program, **body):
    return program.post(f"{URL}/submit", json=body)


def test_claim_and_submit_say_what_the_commands_say(site):
    program = site.program()
    item = claim(program).json()
    names = ["token", "query_id", "doc_id", "unit", "block", "k", "lease_until", "was_put_off", "query_text", "text"]
    assert list(item) == names
    done = submit(program, token=item["token"], grade=2, active_ms=500).json()
    assert list(done) == ["seq", "kind", "judge", "query_id", "doc_id", "grade", "token"]
    assert (done["kind"], done["judge"], done["grade"]) == ("judged", "ann", 2)
    assert site.judged[0].active_ms == 500


def test_the_same_again_is_the_same_and_another_changes_nothing(site):
    program = site.program()
    token = claim(program).json()["token"]
    first, again = submit(program, token=token, grade=1), submit(program, token=token, grade=1)
    assert again.json() == first.json() | {"repeated": True}
    other = submit(program, token=token, grade=2)
    assert other.status_code == 409
    assert "is a different answer" in other.json()["error"]
    assert [event.grade for event in site.judged] == [1]


@pytest.mark.parametrize(
    "body",
    [
        *({"grade": 1, "later": True}, {}, {"grade": "1"}, {"grade": 7}, {"grade": -1}, {"cannot": ""}),
        *({"grade": 1, "active_ms": -5}, {"grade": 1, "more": 1}, {"grade": 1, "key": ""}),
    ],
)
def test_what_nobody_can_say_is_refused_in_a_sentence(site, body):
    program = site.program()
    refused = submit(program, token=claim(program).json()["token"], **body)
    assert refused.status_code == 422
    says = refused.json()["error"]
    assert "\n" not in says
    assert 5 < len(says) < 300


@pytest.mark.parametrize("content", [b"{", b"[" * 30_000, b"\xff", b'{"token": NaN}', b"1"])
def test_what_is_no_json_is_refused(site, content):
    headers = {"Content-Type": "application/json"}
    refused = site.program().post(f"{URL}/submit", content=content, headers=headers)
    assert refused.status_code in (400, 422)
    assert isinstance(refused.json()["error"], str)


def test_the_unit_is_a_word_that_says_nothing_of_the_queue_and_stays(site):
    program, seen = site.program(), {}
    item = claim(program).json()
    assert claim(program).json()["unit"] == item["unit"]
    while item:
        seen[item["query_id"], item["doc_id"]] = item["unit"]
        item = submit(program, token=item["token"], grade=1, then_claim=True).json()["next"]
    numbers = {(unit.query_id, place.doc_id): unit.number for unit in site.store.units("week") for place in unit.places}
    assert len(seen) == len(numbers) > 20
    assert all(len(word) == 16 and int(word, 16) >= 0 for word in seen.values())
    assert len(set(seen.values())) == len(set(numbers.values()))
    by_number = sorted(seen, key=numbers.get)
    order = [sorted(set(seen.values())).index(seen[pair]) for pair in by_number]
    # of 48 numbers in an order that is chance |r| is above .5 once in 3,000 campaigns; this one is always the same
    assert abs(np.corrcoef(order, range(len(order)))[0, 1]) < 0.5


def test_what_cannot_be_judged_is_counted_apart(site):
    program = site.program()
    for body in ({"cannot": "blank"}, {"grade": 1}, {"cannot": "blank"}):
        submit(program, token=claim(program).json()["token"], **body)
    row = program.get(f"{URL}/status").json()
    assert (row["judged"], row["cannot"], row["waiting"]) == (1, 2, row["free"])
    text = site.at("zoe", "lead").get("/lead").text
    planned = row["judged"] + row["cannot"] + row["waiting"]
    assert f"1 of {planned} judgments, by ann" in text
    assert "2 items cannot be judged" in text


def test_status_has_no_estimate(site):
    row = site.program().get(f"{URL}/status").json()
    assert (row["campaign"], row["judged"]) == ("week", 0)
    assert row["waiting"] == row["free"]
    assert not {"value", "low", "high", "system"} & set(row)
