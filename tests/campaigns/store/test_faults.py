"""Databases that are not there, damaged, locked, of another version: one line each, and nothing lost."""

import contextlib
import json
import random
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from store_cases import complaint, grade, make_campaign, make_units, work_off
from test_watches import WATCH, add

from activeeval.campaigns.store import open_store
from activeeval.campaigns.store.tables import APPEND_ONLY
from activeeval.core.errors import ActiveEvalError, InputError, StateError
from tests.databases import free_port


def file_of(url):
    return Path(url.removeprefix("sqlite:///"))


def run_sql(url, *statements):
    """Run statements past the store."""
    with open_store(url) as store:
        for statement in statements:
            store._database.write(lambda connection, statement=statement: connection.execute(text(statement)))


# Not there


def test_a_file_and_a_folder_that_are_not_there(sqlite_url, tmp_path):
    for url, create, says in (
        (sqlite_url, False, "there is no such file"),
        (f"sqlite:///{tmp_path}/none/here", True, "there is no folder"),
        (f"sqlite:///{tmp_path}", False, "is a folder"),
        (f"sqlite:///{tmp_path}", True, "is a folder"),
    ):
        assert says in complaint(InputError, lambda url=url, create=create: open_store(url, create=create))
    assert not list(tmp_path.iterdir())


def test_a_database_without_campaigns(postgresql_url, sqlite_url):
    file_of(sqlite_url).touch()
    for url in (postgresql_url, sqlite_url):
        assert "it contains no campaigns" in complaint(InputError, lambda url=url: open_store(url))


def test_a_database_of_something_else_is_left_alone(sqlite_url):
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url))) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    before = file_of(sqlite_url).read_bytes()
    assert "contains tables of another program" in complaint(InputError, lambda: open_store(sqlite_url, create=True))
    assert "it contains no campaigns" in complaint(InputError, lambda: open_store(sqlite_url))
    assert file_of(sqlite_url).read_bytes() == before


@pytest.mark.parametrize(
    "url",
    [
        *(
            *("", "night.activeeval", "mysql://host/db", "sqlite+aiosqlite:///x"),
            *("postgresql://[", "postgresql://h:port/db"),
        ),
        *(
            "sqlite://host/night",
            "sqlite://ann:secret@host/night",
            "sqlite:///night%00",
            "sqlite:///https://host/night",
        ),
        *("postgresql://h/db?option", "postgresql://h/db?no=thing", "postgresql://ann:a@b@h/db"),
    ],
)
def test_what_is_no_url_of_a_database(url):
    complaint(InputError, lambda: open_store(url))


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg")
    url = f"postgres://ann:secret@127.0.0.1:{free_port()}/night"
    says = complaint(InputError, lambda: open_store(url))
    assert "cannot be reached" in says
    assert "secret" not in says


def test_a_server_that_goes_away_and_comes_back(postgresql, postgresql_url):
    with open_store(postgresql_url, create=True) as store:
        make_campaign(store)
        got = store.claim("night", "ann")
        postgresql.stop()
        try:
            complaint(ActiveEvalError, lambda: store.submit("night", got.token, grade()))
        finally:
            postgresql.start()
        assert store.submit("night", got.token, grade()).event.kind == "judged"  # the connections are made anew
        assert store.verify("night") == []


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'activeeval-ir[postgresql]'" in complaint(InputError, lambda: open_store("postgresql://h/db"))


# Damaged


def full_file(url):
    with open_store(url, create=True) as store:
        make_campaign(store, make_units(40, 4))
        work_off(store, "ann")
        log = store.events("night")
    return file_of(url).read_bytes(), log


def read_all(url):
    """Return what can be got out of a file, or the line that says why nothing can."""
    try:
        with open_store(url, wait_s=1) as store:
            store.campaigns()
            problems = store.verify("night")
            store.claim("night", "bob")
            return problems or store.events("night")
    except ActiveEvalError as error:
        return str(error)


def test_a_file_cut_short_is_noticed(sqlite_url):
    whole, log = full_file(sqlite_url)
    rng = random.Random(1)
    lengths = [0, 1, 15, 16, 99, 100, 1023, 4095, 4096, 4097, len(whole) - 4096, len(whole) - 1]
    for length in lengths + [rng.randrange(len(whole)) for _ in range(4)]:
        file_of(sqlite_url).write_bytes(whole[:length])
        for more in ("-wal", "-shm"):
            file_of(sqlite_url + more).unlink(missing_ok=True)
        said = read_all(sqlite_url)
        assert said != log
        assert "\n" not in said if isinstance(said, str) else all("\n" not in line for line in said)
    file_of(sqlite_url).write_bytes(whole)
    assert read_all(sqlite_url) == log


def test_random_bytes_are_no_database(sqlite_url):
    file_of(sqlite_url).write_bytes(random.Random(2).randbytes(20_000))
    for create in (False, True):
        says = complaint(InputError, lambda create=create: open_store(sqlite_url, create=create))
        assert "is not a database" in says


def test_bytes_changed_anywhere_end_in_one_line(sqlite_url):
    """Half of the changes hit free space or texts that verify finds; none may end in a trace."""
    whole, _ = full_file(sqlite_url)
    rng = random.Random(3)
    for _ in range(6):
        start = rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[start : start + 64] = rng.randbytes(64)
        file_of(sqlite_url).write_bytes(damaged[: len(whole)])
        read_all(sqlite_url)


# Locked, read-only


def test_a_database_that_another_process_writes(sqlite_url):
    with open_store(sqlite_url, create=True, wait_s=0.2) as store:
        make_campaign(store)
        with contextlib.closing(sqlite3.connect(file_of(sqlite_url), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            says = complaint(StateError, lambda: store.claim("night", "ann"))
            assert "another process has been writing to it for 0.2 s" in says
            assert store.last_seq("night") == 4  # who reads need not wait
            other.execute("ROLLBACK")
        assert store.claim("night", "ann").doc_id == "d1-0"


def test_a_campaign_that_another_process_holds(postgresql_url):
    with open_store(postgresql_url, create=True) as holder, open_store(postgresql_url, wait_s=0.2) as store:
        make_campaign(holder)

        def while_held(connection):
            connection.execute(text("SELECT id FROM campaign FOR UPDATE"))
            return complaint(StateError, lambda: store.claim("night", "ann"))

        assert "another process has been writing to it for 0.2 s" in holder._database.write(while_held)
        assert store.claim("night", "ann").doc_id == "d1-0"


@pytest.mark.parametrize(
    "options", ["?", "?mode=ro", "?mode=ro&uri=true", "?uri=bad", "?timeout=abc", "?mode=memory&cache=shared&uri=true"]
)
def test_a_file_takes_no_options(tmp_path, options):
    """Catches a campaign that is gone with the process, a file of another name, and a trace of SQLAlchemy's."""
    for name in ("night", "file:night"):
        for create in (True, False):
            url = f"sqlite:///{tmp_path}/{name}{options}"
            says = complaint(InputError, lambda url=url, create=create: open_store(url, create=create))
            assert f"{name}: a file of SQLite takes no options; a ? in its name is written %3F" in says
    assert not list(tmp_path.iterdir())


# Changed behind the store's back


def test_raw_sql_changes_nothing(each_store, database_url):
    make_campaign(each_store)
    work_off(each_store, "ann")
    each_store.watches.create(WATCH)
    add(each_store, "2026-11-01")
    log = each_store.events("night")
    third = "REPLACE INTO {0} SELECT * FROM {0}" if database_url.startswith("sqlite") else "TRUNCATE {0} CASCADE"
    for table in APPEND_ONLY:
        for statement in ("UPDATE {0} SET {1} = {1}", "DELETE FROM {0}", third):
            change = statement.format(table.name, list(table.columns)[-1].name)
            says = complaint(StateError, lambda change=change: run_sql(database_url, change))
            assert "append-only" in says or "no row of it is changed or deleted" in says
    assert each_store.events("night") == log
    assert each_store.verify("night") == []


def no_triggers(url, table):
    if url.startswith("sqlite"):
        return [f"DROP TRIGGER {table}_no_{verb}" for verb in ("update", "delete", "replace")]
    return [f"DROP TRIGGER {table}_no_change ON {table}"]


TAMPERED = [line.split("\t") for line in Path(__file__).with_name("tampered.tsv").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("table", "change", "says"), TAMPERED)
def test_verify_finds_what_was_changed(store, either_url, table, change, says):
    make_campaign(store)
    for _ in range(4):
        store.submit("night", store.claim("night", "ann").token, grade(1))
    store.claim("night", "bob")
    assert store.verify("night") == []
    run_sql(either_url, *(no_triggers(either_url, table) if table else []), change)
    problems = store.verify("night")
    for expected in json.loads(says):
        assert any(problem.startswith(expected) for problem in problems), problems
    assert all("\n" not in problem for problem in problems)


def test_a_log_with_a_hole_is_not_rebuilt_from(store, either_url):
    make_campaign(store)
    work_off(store, "ann")
    run_sql(either_url, *no_triggers(either_url, "event"), "DELETE FROM event WHERE seq = 6")
    assert "the log is damaged: event 6 is missing" in complaint(StateError, lambda: store.rebuild("night"))


def test_a_document_of_two_campaigns_is_stored_once(store):
    for name in ("one", "two"):
        make_campaign(store, name=name)
    n = store._database.read(lambda connection: connection.execute(text("SELECT count(*) FROM document")).scalar())
    assert n == 4
