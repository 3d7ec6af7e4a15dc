"""Databases for tests: files of SQLite, and a PostgreSQL server of one's own.

The server comes from Debian's package. Where it is missing tests skip; where ACTIVEEVAL_MUST_RUN names it
(``ACTIVEEVAL_MUST_RUN=postgresql,strace``) they fail.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from glob import glob
from pathlib import Path
from zlib import crc32

import pytest
from patience import PATIENCE_S
from sqlalchemy import text

from activeeval.campaigns.store import open_store, schema
from activeeval.campaigns.store.schema import VERSION, VERSION_TABLE

DATABASES = ("sqlite", "postgresql")


def missing(what, why):
    """Skip a test for want of a tool, or fail where the tool must be there."""
    if what in os.environ.get("ACTIVEEVAL_MUST_RUN", "").replace(",", " ").split():
        pytest.fail(f"{what} must run here: {why}")
    pytest.skip(f"{what}: {why}")


class Server:
    """A PostgreSQL server in a temporary folder, on a free port of this machine alone."""

    def __init__(self, binaries, *options):
        self.binaries = Path(binaries)
        self.folder = Path(tempfile.mkdtemp(prefix="activeeval-pg-"))
        # the server refuses to run as root
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.port = free_port()
        options = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N", *options]
        self._run("initdb", "-D", self.data, "-U", "tester", *options)
        self.start()

    @property
    def data(self):
        return str(self.folder / "data")

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder} -c max_connections=200"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self.data, "-l", log, "-w", "-t", str(PATIENCE_S), "-o", options, "start")

    def stop(self, mode="fast"):
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def bring_back(self):
        """Start anew, whatever became of the server."""
        with contextlib.suppress(AssertionError):  # it may have ended by itself
            self.stop("immediate")
        self.start()

    @property
    def main_process(self):
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def remove(self):
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def new_database(self):
        """Return the URL of an empty schema: that is made in a moment, a database takes a second."""
        import psycopg

        name = f"t{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}?options=-csearch_path%3D{name}"

    def script_of(self, url):
        """Return the statements that make the tables of a schema again, ``SCHEMA`` in the place of its name."""
        name = url.rpartition("%3D")[2]
        dumped = self._run("pg_dump", "-s", "-O", "-x", "-n", name, "-d", f"{self.url}?user=tester")
        lines = [line for line in dumped.splitlines() if not line.startswith(("CREATE SCHEMA", "--", "\\"))]
        return "\n".join(lines).replace(name, "SCHEMA")

    def _run(self, tool, *arguments):
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        done = subprocess.run(
            [self.binaries / tool, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if tool != "pg_ctl" else subprocess.DEVNULL,  # the server would keep a pipe open
            stderr=subprocess.STDOUT,
            text=True,
            **identity,
        )
        assert done.returncode == 0, f"{tool}: {done.stdout}"
        return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def started_server(*options):
    """Return a server that has just been made with options of initdb; skip where there is none to start."""
    if importlib.util.find_spec("psycopg") is None:
        missing("postgresql", "psycopg is not installed")
    found = sorted(glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb") or ""]
    if not found[-1]:
        missing("postgresql", "no server is installed (Debian: apt install postgresql)")
    return Server(Path(found[-1]).parent, *options)


@pytest.fixture(scope="session")
def postgresql():
    server = started_server()
    yield server
    server.remove()


class Maker:
    """Makes the tables of a store in an empty database as its migration does, in a tenth of their time."""

    def __init__(self):
        self.file, self.script = None, None

    def __call__(self, url, server=None):
        if url.startswith("sqlite"):
            self.make_file(Path(url.removeprefix("sqlite:///")))
        else:
            self.make_schema(url, server)

    def make_file(self, path):
        if self.file is None:
            open_store(f"sqlite:///{path}", create=True).close()
            self.file = path.read_bytes()
        path.write_bytes(self.file)

    def make_schema(self, url, server):
        import psycopg

        if self.script is None:
            first = server.new_database()
            open_store(first, create=True).close()
            self.script = server.script_of(first)
        with psycopg.connect(url, autocommit=True) as connection:
            name = url.rpartition("%3D")[2]
            connection.execute(self.script.replace("SCHEMA", name))
            connection.execute(f"INSERT INTO {name}.{VERSION_TABLE} VALUES ('{VERSION}')")


class QuickTables:
    """Makes the tables of a SQLite database by the statements that the migration made first, in a tenth of its time."""

    migrate = staticmethod(schema._migrate)

    def __init__(self):
        self.statements = []

    def __call__(self, connection):
        if connection.dialect.name != "sqlite" or not self.statements:
            self.migrate(connection)
        if connection.dialect.name != "sqlite":
            return
        for statement in self.statements:
            connection.exec_driver_sql(statement)
        if not self.statements:
            made = text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
            version = f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')"
            self.statements = [*connection.execute(made).scalars(), version]


@pytest.fixture(scope="session", autouse=True)
def quick_tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "_migrate", QuickTables())
        yield


@pytest.fixture
def migrated(monkeypatch):
    """Make tables by the migration, for a test that asks what it makes."""
    monkeypatch.setattr(schema, "_migrate", QuickTables.migrate)


@pytest.fixture(scope="session")
def maker():
    return Maker()


@pytest.fixture
def made_url(database_url, maker, request):
    """Return the URL of a database with the tables of a store and nothing in them."""
    is_sqlite = database_url.startswith("sqlite")
    maker(database_url, None if is_sqlite else request.getfixturevalue("postgresql"))
    return database_url


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/campaigns.activeeval"


@pytest.fixture
def postgresql_url(postgresql):
    return postgresql.new_database()


@pytest.fixture(params=DATABASES)
def database_url(request):
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def either_url(request, maker, sqlite_url):
    """Return the URL of a store on one of the databases, by the name of the test; SQLite where there is no server.

    What a law says is asked of one: that both do the same is asked by test_against_naive_store.
    """
    url = sqlite_url
    if crc32(request.node.name.encode()) % 2:
        with contextlib.suppress(pytest.skip.Exception):
            url = request.getfixturevalue("postgresql_url")
    maker(url, None if url == sqlite_url else request.getfixturevalue("postgresql"))
    return url
