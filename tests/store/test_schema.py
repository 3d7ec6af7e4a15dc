"""The tables that migrations make are those that the store knows."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from store_cases import grade, make_campaign, make_units

from activeeval.errors import InputError
from activeeval.store import SampleRow, open_store, schema, upgrade
from activeeval.store.tables import metadata


def test_migrations_make_the_tables_of_this_release(database_url):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def differences(connection):
        options = {"compare_type": True, "version_table": schema.VERSION_TABLE}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    with open_store(database_url, create=True) as store:
        assert store._database.read(differences) == []


def test_the_newest_version_is_the_last_migration():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(schema._MIGRATIONS))
    config.set_main_option("path_separator", "os")
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(revisions)) == schema.VERSIONS


def test_opening_again_changes_nothing(database_url):
    with open_store(database_url, create=True) as store:
        make_campaign(store)
    for create in (True, False):
        with open_store(database_url, create=create) as store:
            assert store.campaigns() == ["night"]
    upgrade(database_url)


def test_a_newer_version_is_not_touched(database_url):
    with open_store(database_url, create=True) as store:
        change = text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'")
        store._database.write(lambda connection: connection.execute(change))
    for ask in (open_store, upgrade, lambda url: open_store(url, create=True)):
        with pytest.raises(InputError, match="was written by a newer release of activeeval"):
            ask(database_url)


@pytest.fixture
def first_release(database_url, monkeypatch):
    """A database with a campaign as the first version of the tables had it: two of four items judged, one in hand."""
    monkeypatch.setattr(schema, "VERSIONS", ("0001",))

    def put(connection):
        for name, rows in json.loads((Path(__file__).parent / "first_release.json").read_text("utf-8")).items():
            for row in rows:
                values = {column: value for column, value in row.items() if column != "id"}
                values |= {"payload": base64.b64decode(row["payload"])} if "payload" in row else {}
                columns = ", ".join(values)
                places = ", ".join(f":{column}" for column in values)
                connection.execute(text(f"INSERT INTO {name} ({columns}) VALUES ({places})"), values)

    with open_store(database_url, create=True) as store:
        store._database.write(put)
    monkeypatch.undo()
    return database_url


def test_an_older_version_says_how_to_bring_it_up(first_release):
    with pytest.raises(InputError, match="was written by an older release; activeeval campaign upgrade brings it up"):
        open_store(first_release)


@pytest.mark.parametrize("bring_up", [upgrade, lambda url: open_store(url, create=True).close()])
def test_a_campaign_of_an_older_version_goes_on(first_release, clock, bring_up):
    """As of a moment, as it left off: log, slots and leases are those of before, and its chain goes on."""
    bring_up(first_release)
    with open_store(first_release, clock=clock) as store:
        log = store.events("night")
        assert [event.kind for event in log] == [
            "drawn",
            "drawn",
            "ended",
            *["shown", "judged", "shown", "cannot", "shown"],
        ]
        assert store.verify("night") == []
        assert not store.campaign("night").by_level
        got = store.claim("night", "bob")
        assert (got.query_id, got.doc_id) == (log[-1].query_id, log[-1].doc_id)
        store.submit("night", got.token, grade(2))
        more = make_units(1, 1, first=3, version=2)
        store.grow("night", SampleRow(version=2, digest="def", payload=b"more"), more)
        assert store.verify("night") == []
        store.rebuild("night")
        assert store.events("night")[: len(log)] == log


def test_what_was_changed_in_a_campaign_of_an_older_version_is_found(first_release):
    upgrade(first_release)
    with open_store(first_release) as store:
        store._database.write(
            lambda connection: connection.execute(text("UPDATE slot SET state = 'free' WHERE state = 'leased'"))
        )
        assert [problem.split(" is ")[0] for problem in store.verify("night")] == ["slot 1 of place 0 of unit 2"]


def test_opening_and_claiming_loads_no_migrations(sqlite_url):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store)
    code = f"""
import sys
from activeeval.store import open_store
with open_store({sqlite_url!r}) as store:
    assert store.claim("night", "ann")
heavy = {{"alembic", "mako", "numpy", "psycopg"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_chain_of_today_is_that_of_every_later_release(sqlite_url, clock):
    """A column that a later release adds must not change what the digests of campaigns of today are made of."""
    with open_store(sqlite_url, create=True, clock=clock) as store:
        make_campaign(store, make_units(1, 1), ended="budget")
        assert [event.digest for event in store.events("night")] == [
            "ba7ef3f744f3c04e0a7a4b44e3c1e6c5",
            "f43617b587cda0c1067022b814cfd34e",
        ]


def test_a_file_is_its_owners_alone(tmp_path):
    """Catches judgments, and what documents say, that everybody on the machine reads."""
    before = os.umask(0)
    try:
        with open_store(f"sqlite:///{tmp_path}/night", create=True) as store:
            make_campaign(store)
            store.claim("night", "ann")
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("night", "night-wal", "night-shm"), 0o600)


def test_a_file_that_was_made_in_vain_is_gone(tmp_path):
    """Catches an empty store where a campaign could not be made, and one with a campaign that is thrown away."""
    url = f"sqlite:///{tmp_path}/night"

    def others():
        with open_store(url, create=True) as store:
            make_campaign(store, name="day")

    def fail(before=lambda: None):
        with open_store(url, create=True) as store:
            before()
            make_campaign(store, make_units() * 2)

    with pytest.raises(InputError, match="two units"):
        fail()
    assert not list(tmp_path.iterdir())
    for before in (others, lambda: None):
        with pytest.raises(InputError, match="two units"):
            fail(before)
    with open_store(url) as store:
        assert store.campaigns() == ["day"]
