"""The tables that migrations make are those that the store knows."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import text
from store_cases import make_campaign

from activeeval.errors import InputError
from activeeval.store import open_store, schema, upgrade
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


def test_an_older_version_says_how_to_bring_it_up(database_url, monkeypatch):
    open_store(database_url, create=True).close()
    monkeypatch.setattr(schema, "VERSIONS", ("0001", "0002"))
    with pytest.raises(InputError, match="was written by an older release; activeeval campaign upgrade brings it up"):
        open_store(database_url)


def test_upgrading_runs_the_migrations_that_are_missing(database_url, monkeypatch):
    ran = []
    open_store(database_url, create=True).close()
    monkeypatch.setattr(schema, "VERSIONS", ("0001", "0002"))
    monkeypatch.setattr(schema, "_upgrade", ran.append)
    upgrade(database_url)
    open_store(database_url, create=True).close()
    assert len(ran) == 2


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
