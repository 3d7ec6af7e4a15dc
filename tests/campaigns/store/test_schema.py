"""The tables that the migration makes are those that the store knows."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import text
from store_cases import complaint, make_campaign, make_units

from activeeval import cli
from activeeval.campaigns.store import open_store, schema
from activeeval.campaigns.store.tables import metadata_with_partial_indexes
from activeeval.core.errors import InputError


@pytest.mark.usefixtures("migrated")
def test_the_migration_makes_the_tables_of_this_release(database_url):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def differences(connection):
        options = {"compare_type": True, "version_table": schema.VERSION_TABLE}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata_with_partial_indexes())

    with open_store(database_url, create=True) as store:
        assert store._database.read(differences) == []
        make_campaign(store)
    for create in (True, False):  # again, which changes nothing
        with open_store(database_url, create=create) as store:
            assert store.campaigns() == ["night"]


def test_there_is_one_migration_of_this_version():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(schema._MIGRATIONS))
    config.set_main_option("path_separator", "os")
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert revisions == [schema.VERSION]


@pytest.mark.usefixtures("migrated")
def test_the_version_changes_with_the_statements_that_make_the_tables():
    """Catches tables that are changed in place under the old version: files of before would fail in the middle."""
    everything = text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
    with open_store("sqlite://", create=True) as store:
        statements = store._database.read(lambda connection: connection.execute(everything).scalars().all())
    plain = "\n".join(" ".join(statement.split()) for statement in statements)
    assert f"0001_{hashlib.sha256(plain.encode()).hexdigest()[:8]}" == schema.VERSION


def test_a_file_of_before_is_refused_by_every_command_in_one_line(sqlite_url, tmp_path, capsys):
    """Catches an error of SQL in the middle of a command, of a column that the file does not have."""
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store)
    path = tmp_path / "campaigns.activeeval"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE event RENAME COLUMN shown_at TO seen_at")
        connection.execute(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0001'")
        connection.commit()
    for create in (True, False):
        says = complaint(InputError, lambda create=create: open_store(sqlite_url, create=create))
        assert ": was made by another version of activeeval (schema '0001', this one has " in says
        assert says.endswith("; open it with that version, or create the campaign anew")
    for words in (("status", "night"), ("claim", "night", "--judge", "ann"), ("verify", "night"), ("list",)):
        assert cli.run(["campaign", *words, "--db", str(path)]) == 1
        (line,) = capsys.readouterr().err.replace("\n  ", " ").splitlines()
        assert "campaigns.activeeval" in line
        assert "made by another version of activeeval" in line


def test_opening_and_claiming_loads_no_migrations(sqlite_url):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store)
    code = f"""
import sys
from activeeval.campaigns.store import open_store
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
        digests = ["ba7ef3f744f3c04e0a7a4b44e3c1e6c5", "f43617b587cda0c1067022b814cfd34e"]
        assert [event.digest for event in store.events("night")] == digests


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
