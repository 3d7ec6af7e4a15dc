"""The engine that is Spark, in this process or behind Spark Connect."""

from __future__ import annotations

import os
import sys
import uuid
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from subprocess import DEVNULL
from typing import Any

from activeeval.scale.engines import Task
from activeeval.scale.engines.local import in_order
from activeeval.scale.engines.lost_workers import as_engine_error
from activeeval.scale.engines.shipping import RemoteTask, opened, pickled

_N_WAVES = 2
"""Jobs at once: workers that are done with one go on with the next."""
_A_WORKER = 4
"""Keys of a job for each worker: a job takes Spark .4 s of processor, however small it is (61 of two keys: 23 s)."""
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Spark passes bytes on: code that is compiled once and quickly starts in 60 % of the time."""
_SCHEMA = "number long, content binary"


class SparkEngine:
    """Goes over partitions by the executors of a Spark session, classic or Connect, some keys of each worker a job.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The caller's, which stays open.
    n_workers : int, optional
        How many tasks run at once; by default what Spark takes for its parallelism.
    """

    def __init__(self, session: Any, n_workers: int | None = None) -> None:
        self.session = session
        with _in_one_line():
            self.n_workers = n_workers or _parallelism(session)

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key; see `Engine.map`."""
        with _in_one_line(), ThreadPoolExecutor(_N_WAVES) as threads:
            job = _Job(self.session, _OverRows(self._sent(RemoteTask.of(task))), f"activeeval-{uuid.uuid4().hex}")
            rest = map(pickled, keys)
            waves = iter(lambda: list(islice(rest, _A_WORKER * self.n_workers)), [])
            try:
                for contents in in_order(lambda wave: threads.submit(job, wave), waves, _N_WAVES):
                    yield from map(opened, contents)
            except BaseException:
                job.cancel()
                raise

    def _sent(self, shipped: RemoteTask) -> Any:
        """Return a task that travels once: Connect has no broadcast of its own, and sends it with every wave."""
        return shipped if _is_connect(self.session) else self.session.sparkContext.broadcast(shipped)


@dataclass(frozen=True, slots=True)
class _OverRows:
    """Goes over rows on a worker: a shipped task, or its broadcast, as Spark calls it."""

    sent: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        shipped = self.sent if isinstance(self.sent, RemoteTask) else self.sent.value
        for batch in batches:
            for number, key in zip(batch["number"].to_pylist(), batch["key"].to_pylist(), strict=True):
                yield pyarrow.RecordBatch.from_pydict({"number": [number], "content": [shipped(bytes(key))]})


@dataclass(frozen=True, slots=True)
class _Job:
    """Runs waves of keys under a tag, by which they are cancelled."""

    session: Any
    rows: _OverRows
    tag: str

    def __call__(self, wave: list[bytes]) -> list[bytes]:
        """Return what came of pickled keys, in their order."""
        import pyarrow

        # a batch a row: each becomes a partition, and so a task
        rows = [pyarrow.table({"number": [number], "key": [key]}) for number, key in enumerate(wave)]
        self.session.addTag(self.tag)
        frame = self.session.createDataFrame(pyarrow.concat_tables(rows))
        contents = frame.mapInArrow(self.rows, _SCHEMA).toArrow().to_pydict()
        by_number = dict(zip(contents["number"], contents["content"], strict=True))
        return [by_number[number] for number in range(len(wave))]

    def cancel(self) -> None:
        """End what runs, of a session that may be gone."""
        with suppress(Exception):
            self.session.interruptTag(self.tag)


def _is_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _parallelism(session: Any) -> int:
    if not _is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    return int(session.range(2**20).selectExpr("spark_partition_id()").distinct().count())


@contextmanager
def _in_one_line() -> Iterator[None]:
    # it says so with every import and call
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with as_engine_error("spark", Py4JError, PySparkException, ConnectionError):
        yield


@contextmanager
def of_master(master: str) -> Iterator[SparkEngine]:
    """Give a session of a master, as ``local[2,4]``, or the one that there is, as under spark-submit, which stays."""
    from pyspark.sql import SparkSession

    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None:
        yield SparkEngine(SparkSession.builder.getOrCreate())
        return
    with _in_one_line():
        session = _started(master)
    try:
        yield SparkEngine(session)
    finally:
        _ended(session)


@contextmanager
def of_connect(address: str) -> Iterator[SparkEngine]:
    """Give a session of Spark Connect, as ``sc://HOST:PORT``."""
    with _in_one_line():
        from pyspark.sql.connect.session import SparkSession

        session = SparkSession.builder.remote(address).create()
    try:
        yield SparkEngine(session)
    finally:
        with suppress(Exception):
            session.stop()


def _started(master: str) -> Any:
    """Return a session of its own JVM, whose output nobody sees."""
    import signal

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    choices = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if master.startswith("local"):
        choices |= {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
        choices["spark.driver.defaultJavaOptions"] = _QUICK_START
    conf = SparkConf().setMaster(master).setAppName("activeeval").setAll(list(choices.items()))
    handler = signal.getsignal(signal.SIGINT)
    context = SparkContext(conf=conf, gateway=launch_gateway(conf, {"stdout": DEVNULL, "stderr": DEVNULL}))
    with suppress(ValueError):  # Spark has put its own there, where this is the main thread
        signal.signal(signal.SIGINT, handler)
    if master.startswith("local"):
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return SparkSession(context)


def _ended(session: Any) -> None:
    """End a session and its JVM."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    with suppress(Exception):
        session.stop()
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(10)
