"""Whoever goes over the partitions, the sample is the same, and what goes wrong comes back as one line."""

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import engine_tasks as tasks
import numpy as np
import pyarrow as pa
import pytest
from each_once import each_once
from patience import PATIENCE_S, until
from pyarrow import parquet

import activeeval
from activeeval import DCG, ERR, InputError, chunked_design
from activeeval.core.errors import EngineError
from activeeval.scale.engines import kernel_cache, lost_workers, shipping
from activeeval.scale.engines.executors import ExecutorEngine, Processes
from activeeval.scale.engines.local import LocalEngine
from activeeval.scale.engines.selection import opened_engine
from activeeval.scale.engines.shipping import RemoteTask, opened, pickled
from activeeval.scale.partitions import PartitionedPool
from activeeval.scale.scratch import TemporaryFolder
from tests.databases import free_port, missing

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
CHUNKS = [tasks.chunk(k) for k in range(4)]
ENGINES = ("processes:2", "dask:2", "spark:2", "ray:2")

# Dask and Spark leave sockets to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Have workers that are not this process's own find the tasks."""
    monkeypatch.setenv("PYTHONPATH", PATHS)


def needed(name):
    """Skip a test of an engine that is not installed."""
    for package in {"dask": ["distributed"], "spark": ["pyspark", "pyarrow"], "ray": ["ray"]}.get(name, []):
        if find_spec(package) is None:
            missing(name, f"{package} is not installed: pip install 'activeeval-ir[{name}]'")
    if name == "spark" and shutil.which("java") is None:
        missing("java", "no Java is installed (Debian: apt install default-jre-headless)")


def campaign_of(engine, method="items", measure=None):
    design = chunked_design(CHUNKS, measure or DCG(), method, engine=engine)
    return design, design.campaign(30, CHUNKS, rng=5)


def units_of(engine, **choices):
    design, campaign = campaign_of(engine, **choices)
    return design.cost, [(u.number, u.query_id, tuple(u.item_ids), u.level, u.cost) for u in campaign.planned]


def complaint(call):
    """Return the one line of an error."""
    with pytest.raises(EngineError) as told:
        call()
    assert "\n" not in str(told.value)
    return str(told.value)


# Laws of every engine


def check_order(engine):
    assert list(engine.map(tasks.echo, range(7))) == [tasks.echo(k) for k in range(7)]
    assert list(engine.map(tasks.echo, [])) == []


def check_errors(engine):
    with pytest.raises(InputError, match=r"^chunks\[3\]: item_costs must be positive, got -1\.0$") as told:
        list(engine.map(tasks.refusing, range(4)))
    assert told.value.field == "item_costs"
    text = complaint(lambda: list(engine.map(tasks.dividing, range(4))))
    assert "process " in text
    assert "ZeroDivisionError: " in text
    assert "engine_tasks.py:" in text
    text = complaint(lambda: list(engine.map(tasks.opening, range(4))))
    assert text.endswith("FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/0'")


def check_laziness(engine):
    """Keys are taken as results are, and a generator may be given up."""
    taken = []
    mapped = engine.map(tasks.echo, (taken.append(k) or k for k in range(1000)))
    assert next(mapped) == b"0"
    mapped.close()
    assert len(taken) < 40


def check_loss(engine, tmp_path):
    place = tmp_path / f"killed-{engine.n_workers}"
    assert list(engine.map(tasks.KillingOnce(str(place)), range(5))) == [tasks.echo(k) for k in range(5)]
    assert place.exists()


def check_threads(engine):
    names = ["ACTIVEEVAL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"]
    assert set(engine.map(tasks.environment, names)) == {b"1"}


def check_laws(engine, tmp_path):
    check_order(engine)
    check_errors(engine)
    check_laziness(engine)
    check_loss(engine, tmp_path)
    assert units_of(engine) == units_of(LocalEngine())


@pytest.mark.slow
@pytest.mark.parametrize("text", ENGINES)
def test_an_engine_keeps_the_laws(text, tmp_path, capfd):
    name, _, n_workers = text.partition(":")
    needed(name)
    with opened_engine(text) as engine:
        assert engine.n_workers == int(n_workers)
        check_laws(engine, tmp_path)
        check_threads(engine)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("text", ENGINES)
def test_a_worker_that_is_killed_in_each_pass_changes_no_sample(text, tmp_path):
    needed(text.partition(":")[0])
    numbers = np.random.default_rng(2)
    for k in range(4):
        rows = {"query_id": [f"q{k}{q}" for q in range(6) for _ in range(4)], "doc_id": [f"d{d}" for d in range(24)]}
        rows |= {"score:a": numbers.normal(size=24), "score:b": numbers.normal(size=24)}
        rows |= {f"p{j}": column for j, column in enumerate(numbers.dirichlet((1, 1, 1), 24).T)}
        parquet.write_table(pa.table(rows), tmp_path / f"part-{k}.parquet")
    pool = PartitionedPool.of(f"{tmp_path}/part-*.parquet", ["a", "b"])
    wanted = chunked_design(pool, DCG(), max_grade=2).campaign(40, pool, rng=5)
    (flags := tmp_path / "flags").mkdir()
    source, keeper = tasks.KillingSource(pool, str(flags)), TemporaryFolder()
    with opened_engine(text) as engine:
        scratch = tasks.KillingScratch(keeper.folder, str(flags))
        design = chunked_design(source, DCG(), max_grade=2, engine=engine, scratch=scratch)
        found = design.campaign(40, source, rng=5)
    assert sorted(path.name for path in flags.iterdir()) == ["levels", "rows", "survey"]
    levels = [[(u.query_id, u.item_ids, u.level, u.cost) for u in each.planned] for each in (found, wanted)]
    assert levels[0] == levels[1]
    assert found.design.blocks == wanted.design.blocks


@each_once(("n_workers", [1, 2, 4]), ("choices", [{}, {"method": "depth", "measure": ERR(3)}, {"method": "active"}]))
def test_any_number_of_workers_gives_the_same_campaign(n_workers, choices):
    with ThreadPoolExecutor(n_workers) as threads:
        for engine in (LocalEngine(n_workers), ExecutorEngine(threads, n_workers)):
            assert units_of(engine, **choices) == units_of(LocalEngine(), **choices)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 4])
def test_any_number_of_processes_gives_the_same_campaign(n_workers):
    with Processes(n_workers) as engine:
        assert units_of(engine, method="depth") == units_of(LocalEngine(), method="depth")


@pytest.mark.slow
def test_a_worker_of_dask_keeps_the_memory_that_arrays_leave():
    needed("dask")
    with opened_engine("dask:1") as engine:
        assert list(engine.map(tasks.environment, ["MALLOC_TRIM_THRESHOLD_", "MALLOC_ARENA_MAX"])) == [b"None", b"1"]


@pytest.mark.slow
def test_ray_on_this_machine_is_a_cluster_of_its_own(monkeypatch):
    needed("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with opened_engine("ray:1") as engine:
        check_order(engine)


def test_an_executor_of_the_caller_is_kept():
    with ProcessPoolExecutor(1) as executor:
        engine = ExecutorEngine(executor, 1)
        check_order(engine)
        check_errors(engine)
        check_laziness(engine)
        assert executor.submit(tasks.echo, 1).result() == b"1"


class Careless(Executor):
    """Runs every call twice, at any time; what is ready first counts."""

    def __init__(self):
        self.random, self.n_calls = random.Random(3), 0

    def submit(self, call, /, *arguments):
        future, lock = Future(), threading.Lock()
        for _ in range(2):
            threading.Timer(self.random.uniform(0, 0.02), self.run, [future, lock, call, arguments]).start()
        return future

    def run(self, future, lock, call, arguments):
        result = call(*arguments)
        with lock:
            self.n_calls += 1
            if not future.done():
                future.set_result(result)


def test_calls_that_are_made_twice_and_out_of_order_change_nothing():
    careless = Careless()
    assert units_of(ExecutorEngine(careless, 3)) == units_of(LocalEngine())
    assert careless.n_calls > 16


# Losses


def test_a_task_that_always_kills_its_worker_is_given_up():
    with Processes(2) as engine:
        text = complaint(lambda: list(engine.map(tasks.killing, range(4))))
        assert text.startswith("processes: a worker was lost 3 times over the same task")
        check_order(engine)


def test_an_executor_that_breaks_is_one_line():
    with ProcessPoolExecutor(1) as executor:
        text = complaint(lambda: list(ExecutorEngine(executor).map(tasks.killing, [0])))
    assert text.startswith("executor: BrokenProcessPool: A process in the process pool was terminated abruptly")


@pytest.mark.slow
@pytest.mark.parametrize("text", ENGINES[1:])
def test_a_task_that_always_kills_the_workers_of_a_cluster_is_given_up(text):
    name = text.partition(":")[0]
    needed(name)
    with opened_engine(text) as engine:
        assert complaint(lambda: list(engine.map(tasks.killing, range(3)))).startswith(f"{name}: ")
        check_order(engine)


RUN = """
import sys
import engine_tasks
from activeeval.scale.engines.selection import opened_engine
if __name__ == "__main__":
    with opened_engine(sys.argv[1]) as engine:
        for result in engine.map(engine_tasks.slow, range(1000)):
            print("running", flush=True)
"""


@contextmanager
def running(tmp_path, text):
    """Give a process, first of its group, while it goes over keys."""
    script = tmp_path / "run.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), text]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        try:
            assert process.stdout.readline() == "running\n"
            yield process
        finally:
            if is_there(process.pid):
                os.killpg(process.pid, signal.SIGKILL)


def is_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def assert_gone(group):
    """Wait until no process of a group is left."""
    until(lambda: not is_there(group))


@pytest.mark.slow
@pytest.mark.parametrize("text", ENGINES)
def test_ctrl_c_leaves_no_process(text, tmp_path):
    needed(text.partition(":")[0])
    with running(tmp_path, text) as process:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
        _, told = process.communicate(timeout=PATIENCE_S)
        assert told.count("Traceback (most recent call last):") == 1, told
        assert told.endswith("KeyboardInterrupt\n")
        assert_gone(process.pid)


@pytest.mark.slow
def test_workers_end_with_a_driver_that_is_killed(tmp_path):
    with running(tmp_path, "processes:2") as process:
        process.kill()
        process.wait()
        assert_gone(process.pid)


# What travels


def test_workers_of_another_version_are_named():
    shipped = RemoteTask.of(tasks.echo)
    assert opened(shipped(pickled(1))) == b"1"
    there = f"activeeval {activeeval.__version__} on Python {shipped.python}"
    for other, said in (
        (replace(shipped, version="9.9"), f"activeeval 9.9 on Python {shipped.python}"),
        (replace(shipped, python="3.99"), f"activeeval {activeeval.__version__} on Python 3.99"),
    ):
        text = complaint(lambda other=other: opened(other(pickled(1))))
        assert text.endswith(f": this worker has {there}, its caller {said}: they must be the same")


def test_what_cannot_be_pickled_is_one_line():
    with Processes(1) as engine, pytest.raises(InputError) as told:
        list(engine.map(lambda key: b"", [1]))
    assert str(told.value).endswith("; what workers run must be pickled: define its functions at the top of a module")
    assert "\n" not in str(told.value)
    with pytest.raises(InputError, match="must be pickled"):
        chunked_design(CHUNKS, lambda chunk: None, "items", engine=Processes(1))


def test_chunks_do_not_travel_with_every_task():
    from activeeval.scale.sources import SuppliedChunks

    source = pickle.loads(pickle.dumps(SuppliedChunks(lambda: iter(CHUNKS))))
    assert source.read(CHUNKS[0]) is CHUNKS[0]
    assert list(source.keys()) == []


def test_a_task_is_unpickled_once_for_its_keys():
    shipped = RemoteTask.of(tasks.KillingOnce("/dev/null"))
    assert [opened(shipped(pickled(k))) for k in range(3)] == [b"0", b"1", b"2"]
    assert shipping._tasks[shipped.digest] is shipped._task()
    assert len(shipping._tasks) == 1


# Compiled code


def test_a_cache_that_cannot_be_written_is_kept_elsewhere(monkeypatch, tmp_path):
    assert kernel_cache.private_place() is None
    monkeypatch.setattr(activeeval, "__file__", "/proc/nowhere/activeeval/__init__.py")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = Path(kernel_cache.private_place())
    assert folder == Path(kernel_cache.private_place())
    assert folder == tmp_path / f"activeeval-numba-{os.getuid()}-{activeeval.__version__}"
    folder.chmod(0o777)  # anybody may have left code there
    other = Path(kernel_cache.private_place())
    assert other.parent == tmp_path
    assert other != folder
    assert other.stat().st_mode & 0o777 == 0o700


def test_a_worker_sets_up_its_environment_before_numba_is_there(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(shipping, "private_place", lambda: "/tmp/place")
    for name in ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", *shipping._ONE_THREAD):
        monkeypatch.setenv(name, "7")
        if name == "NUMBA_CACHE_DIR":
            monkeypatch.delenv(name)
    shipping.set_up()
    assert os.environ["NUMBA_CACHE_DIR"] == "/tmp/place"
    assert {os.environ[name] for name in ("NUMBA_NUM_THREADS", *shipping._ONE_THREAD)} == {"1"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_stops_nothing_and_is_made_anew(suffix, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")

    def run():
        with Processes(1) as engine:
            assert list(engine.map(tasks.skipping, range(2))) == [b"2", b"2"]
        return {path: path.read_bytes() for path in tmp_path.rglob(f"*skip_blanks*.{suffix}")}

    sound = run()
    assert sound
    for path, content in sound.items():
        path.write_bytes(content[: len(content) // 2])
    assert {path: len(content) for path, content in run().items()} == {p: len(c) for p, c in sound.items()}


# Names


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("proceses:4", r"unknown engine 'proceses:4'; did you mean processes\? known: here, threads:N, processes:N, "),
        ("here:2", "unknown engine 'here:2'; known: here, "),
        ("", "unknown engine ''; known: here, "),
        ("processes:0", "engine 'processes:0': workers must be a positive number, got '0'$"),
        ("threads:", "engine 'threads:': workers must be a positive number, got ''$"),
        ("processes:-1", "engine 'processes:-1': workers must be a positive number, got '-1'$"),
        ("processes://host:1", "engine 'processes://host:1': processes has no address, it runs on this machine$"),
    ],
)
def test_an_engine_that_there_is_not_is_one_line(text, line):
    with pytest.raises(InputError, match=f"^{line}") as told, opened_engine(text):
        pass
    assert told.value.field == "engine"


@pytest.mark.parametrize("text", ["dask://127.0.0.1", "ray://127.0.0.1", "spark://127.0.0.1", "sc://127.0.0.1"])
def test_a_cluster_that_cannot_be_reached_is_one_line(text, monkeypatch):
    monkeypatch.setattr("activeeval.scale.engines.selection._check_installed", lambda name, text: None)
    address = f"{text}:{free_port()}"
    with pytest.raises(EngineError, match=f"^engine '{address}' cannot be reached: Connection refused$"):
        opened_engine(address).__enter__()
    with pytest.raises(InputError, match=r": expected [a-z]+://HOST:PORT$"):
        opened_engine(text.partition("127")[0]).__enter__()


@pytest.mark.parametrize(
    ("text", "extra"), [("dask", "dask"), ("ray", "ray"), ("spark:2", "spark"), ("sc://h", "spark")]
)
def test_a_package_that_is_missing_is_one_line(text, extra, monkeypatch):
    monkeypatch.setattr("activeeval.scale.engines.selection.find_spec", lambda name: None)
    with pytest.raises(InputError, match=rf"^engine '{text}' needs \w+: pip install 'activeeval-ir\[{extra}\]'$"):
        opened_engine(text).__enter__()


def test_java_that_is_missing_is_one_line(monkeypatch):
    monkeypatch.setattr("activeeval.scale.engines.selection._check_installed", lambda name, text: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert complaint(opened_engine("spark").__enter__).startswith("spark needs Java 17 or newer")


def test_a_cluster_of_the_caller_stays():
    needed("dask")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, processes=False, protocol="tcp://", dashboard_address=None) as cluster,
        Client(cluster),
    ):
        with opened_engine(cluster.scheduler_address.replace("tcp", "dask")) as engine:
            check_order(engine)
        assert len(cluster.workers) == 1


def test_a_cluster_of_which_no_worker_is_left_is_one_line(monkeypatch):
    needed("dask")
    from distributed import Client, LocalCluster

    from activeeval.scale.engines import dask

    monkeypatch.setattr(dask, "_PATIENCE", 0.3)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        text = complaint(lambda: list(dask.DaskEngine(client).map(tasks.echo, [1])))
    assert text.startswith("dask: no worker has been")


CONNECT = """
import sys
from subprocess import DEVNULL
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
choices = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin", "spark.connect.grpc.binding.port": sys.argv[1],
    "spark.ui.enabled": "false", "spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1",
}
conf = SparkConf().setMaster("local[2,4]").setAppName("connect").setAll(list(choices.items()))
context = SparkContext(conf=conf, gateway=launch_gateway(conf, {"stdout": DEVNULL, "stderr": DEVNULL}))
print("up", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_spark_connect_keeps_the_laws(tmp_path, monkeypatch):
    needed("spark")
    for package in ("grpc", "grpc_status", "zstandard"):
        if find_spec(package) is None:
            missing("spark", f"{package} is not installed: pip install 'activeeval-ir[spark]'")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    port = free_port()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CONNECT, str(port)], **pipes) as server:
        assert server.stdout.readline() == "up\n"
        with opened_engine(f"sc://127.0.0.1:{port}") as engine:
            assert engine.n_workers == 2
            check_laws(engine, tmp_path)
        server.stdin.close()


def test_what_an_engine_says_is_cut_to_one_line():
    java = RuntimeError("An error occurred\n\tat a.b\nCaused by: java.io.IOException: no disk\n\tat c")
    assert lost_workers.one_line(java) == "RuntimeError: Caused by: java.io.IOException: no disk"
    assert lost_workers.one_line(KeyError()) == "KeyError"
