"""Pools, samples and tables behind ``s3://``: the server is moto's, in this process."""

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest

from activeeval import cli
from activeeval.core.errors import InputError
from activeeval.scale import partition_files
from activeeval.scale.partitions import PartitionedPool
from activeeval.scale.scratch import scratch_of
from tests.databases import free_port

pa = pytest.importorskip("pyarrow", reason="a pool in parquet needs pyarrow")
fs = pytest.importorskip("pyarrow.fs")
ROOT = Path(__file__).parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}

for package in ("moto", "boto3", "flask"):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'moto[server]' boto3", allow_module_level=True)

# moto's server leaves sockets to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server():
    """Give the port of an object store on this machine."""
    from moto.server import ThreadedMotoServer

    port = free_port()
    there = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    there.start()
    yield port
    there.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    """Give what makes an address of a name in an empty bucket."""
    import boto3

    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server}")
    client.create_bucket(Bucket="pools")
    options = f"endpoint_override=127.0.0.1:{server}&scheme=http"
    yield lambda name, bucket="pools": f"s3://{bucket}/{name}?{options}"
    for held in client.list_objects_v2(Bucket="pools").get("Contents", []):
        client.delete_object(Bucket="pools", Key=held["Key"])
    client.delete_bucket(Bucket="pools")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Stand in a folder with two runs of thirty queries."""
    monkeypatch.chdir(tmp_path)
    for name, turn in (("old", 1), ("new", 7)):
        rows = [f"q{q} Q0 d{(turn * k + q) % 8} {k + 1} {8 - k} {name}\n" for q in range(30) for k in range(6)]
        Path(f"{name}.run").write_text("".join(rows))
    return ["--run", "new.run", "--versus-run", "old.run", "--max-grade", "2"]


def run(*words):
    """Run a command and return its code and what it says of errors."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as told:
        code = cli.run(list(words))
    return code, told.getvalue()


def done(*words):
    code, told = run(*words)
    assert code == 0, told


def one_line(*words):
    code, told = run("--quiet", *words)
    assert code == 1, told
    assert told.count("activeeval: ") == 1, told
    return " ".join(told.split())


def drawn(pool, name, *more):
    words = ["--run", "new", "--versus-run", "old", "--measure", "DCG@5", "--budget", "20", "--seed", "4"]
    done("sample", "--pool-parquet", pool, *words, "--out", f"{name}.sample", "--sheet", f"{name}.csv", *more)
    return Path(f"{name}.csv").read_bytes()


@pytest.mark.slow
def test_a_pool_behind_an_address_gives_the_sample_of_files(bucket, runs):
    done("pool", "write", *runs, "--partitions", "3", "--out", "pool")
    done("pool", "write", *runs, "--partitions", "3", "--out", bucket("pool"))
    wanted = drawn("pool/*.parquet", "files")
    assert drawn(bucket("pool/*.parquet"), "store") == wanted
    tables = ("--engine", f"processes:2,scratch={bucket('scratch')}")
    assert drawn(bucket("pool/*.parquet"), "tables", *tables) == wanted
    assert names_in(bucket("scratch")) == []  # they went with the command


def names_in(address):
    system, path, _ = partition_files._opened(partition_files.within(address, "x"))
    held = system.get_file_info(fs.FileSelector(path.rpartition("/")[0], recursive=True, allow_not_found=True))
    return [info.path for info in held if info.is_file]


def test_a_pool_that_is_there_already_is_kept_but_for_force(bucket, runs):
    done("pool", "write", *runs, "--partitions", "3", "--out", bucket("pool"))
    assert "is there already" in one_line("pool", "write", *runs, "--partitions", "2", "--out", bucket("pool"))
    done("pool", "write", *runs, "--partitions", "2", "--out", bucket("pool"), "--force")
    assert [Path(name).name for name in names_in(bucket("pool"))] == ["part-00000.parquet", "part-00001.parquet"]


def test_a_bucket_that_is_not_there_is_one_line(bucket, runs):
    done("pool", "write", *runs, "--out", "pool")
    place, words = bucket("pool", bucket="nowhere"), ["--run", "new", "--budget", "5", "--seed", "1"]
    ends = ["--out", "x.sample", "--sheet", "x.csv"]
    assert "NO_SUCH_BUCKET" in one_line("pool", "write", *runs, "--out", place)
    text = one_line("sample", "--pool-parquet", bucket("*.parquet", bucket="nowhere"), *words, *ends)
    assert "there is no such file" in text
    text = one_line("sample", "--pool-parquet", "pool/*.parquet", "--engine", f"here,scratch={place}", *words, *ends)
    assert "a worker cannot write or read there" in text
    assert "NO_SUCH_BUCKET" in text
    assert not Path("x.sample").exists()


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_one_line(bucket):
    address = "s3://pools/pool/*.parquet?endpoint_override=127.0.0.1:1&scheme=http"
    with pytest.raises(InputError, match=r"127\.0\.0\.1") as told:
        PartitionedPool.of(address)
    assert "\n" not in str(told.value)


def test_options_of_an_address_that_there_are_not_are_named():
    with pytest.raises(InputError, match="endpoint_overide") as told:
        partition_files.listed("s3://pools/pool/*.parquet?endpoint_overide=127.0.0.1:1")
    assert "fsspec" not in str(told.value)


def test_tables_behind_an_address_are_taken_away_where_all_fails(bucket):
    with suppress(KeyError), scratch_of(bucket("scratch")) as scratch:
        scratch.write("units-0", b"abc")
        assert scratch.read("units-0") == b"abc"
        with pytest.raises(InputError, match="cannot write or read there") as told:
            scratch.read("units-1")
        assert "\n" not in str(told.value)
        raise KeyError
    assert names_in(bucket("scratch")) == []


@pytest.mark.slow
def test_the_command_ends_without_a_word_about_the_store(bucket, runs):
    command = [sys.executable, "-m", "activeeval", "pool", "write", *runs, "--out", bucket("pool"), "-o", "tsv"]
    paths = {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | paths)
    assert "inaliz" not in ended.stderr
    assert "S3" not in ended.stderr
