"""The API as it describes itself, asked by schemathesis: what it says of bodies, statuses and headers is so."""

import random

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient
from web.conftest import Site
from web.test_comparing_page import Compares

from activeeval.web.settings import ServerSettings

DOOR = ServerSettings(host="127.0.0.1", port=80, address="http://testserver")
SETTINGS = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


def described(kind):
    """Return a campaign, and its API as it describes itself."""
    site = Site(door=DOOR, budget=96.0) if kind == "grades" else Compares(door=DOOR)
    return site, schemathesis.openapi.from_asgi("/api/openapi.json", site.app)


def ask(kind, n, **options):
    """Ask each of the three calls so often, with what it says that it takes and with what not; return the statuses.

    In two of three answers the token is that of an item in hand: else all would end at a token that nobody has.
    """
    site, schema = described(kind)
    access = site.store.access(site.served.name)
    tokens = [access.issue("token", "judge", name) for name in ("ann", "bob")]
    chance, seen = random.Random(0), []
    client = TestClient(site.app, base_url=DOOR.url)

    def claimed(token):
        path = f"/api/campaigns/{site.served.name}/claim"
        return client.post(path, json={}, headers={"Authorization": f"Bearer {token}"}).json()

    def check(case):
        token = chance.choice(tokens)
        if chance.random() < 0.9:
            case.path_parameters = {"name": site.served.name}
        body = case.body if isinstance(case.body, dict) else {}
        if isinstance(body.get("token"), str) and len(body["token"]) <= 200 and chance.random() < 0.67:
            item = claimed(token)
            body["token"] = item.get("token", body["token"])
            docs = [each["doc_id"] for each in item.get("text", {}).get("documents", ())]
            for name in ("preferred", "discard"):
                if docs and isinstance(body.get(name), str):
                    body[name] = docs[0]
        response = case.call_and_validate(headers={"Authorization": f"Bearer {token}"})
        seen.append((case.operation.path.rpartition("/")[2], response.status_code))

    for result in schema.get_all_operations():
        operation = result.ok()
        modes = [schemathesis.GenerationMode.POSITIVE] * 2
        if operation.body:  # any text may be the name of a campaign: of the status nothing can be wrong
            modes[1] = schemathesis.GenerationMode.NEGATIVE
        for mode in modes:
            once = given(operation.as_strategy(generation_mode=mode))(check)
            settings(max_examples=n, **SETTINGS, **options)(once)()
    site.served.desk.reading.wait()
    return seen


@pytest.mark.parametrize("kind", ["grades", "pairs"])
def test_some_calls_are_answered_as_the_description_says(kind):
    seen = ask(kind, 5, derandomize=True)
    assert len(seen) >= 20
    assert ("claim", 200) in seen
    assert (("status", 200) in seen) == (kind == "grades")  # the sample of the other one is none that can be read


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grades", "pairs"])
def test_thousands_of_calls_are_answered_as_the_description_says(kind):
    seen = ask(kind, 250)
    assert len(seen) >= 1000
    assert {("submit", 200), ("submit", 404), ("submit", 422)} <= set(seen)
