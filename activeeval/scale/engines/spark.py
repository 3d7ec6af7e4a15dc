"""Engine on Spark, classic or Connect."""

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
"""Concurrent jobs, so that workers finished with one continue with the next."""
_A_WORKER = 4
"""Keys per worker in a job: a job costs Spark 0.4 s of CPU time, however small (61 jobs of two keys: 23 s)."""
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options: Spark only forwards bytes here, and with quick compilation starts in 60 % of the time."""
_SCHEMA = "number long, content binary"


class SparkEngine:
    """Runs tasks on the executors of a Spark session, in jobs of several keys per worker.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The caller's session, which stays open.
    n_workers : int, optional
        Number of concurrent tasks; by default Spark's parallelism.
    """

    def __init__(self, session: Any, n_workers: int | None = None) -> None:
        """Store the session and the number of concurrent tasks ``n_workers`` (None: Spark's parallelism)."""
        self.session = session
        with _in_one_line():
            self.n_workers = n_workers or _parallelism(session)

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys; raise EngineError if the session is lost."""
        with _in_one_line(), ThreadPoolExecutor(_N_WAVES) as threads:
            job = _Job(self.session, _KeyRunner(self._sent(RemoteTask.of(task))), f"activeeval-{uuid.uuid4().hex}")
            rest = map(pickled, keys)
            waves = iter(lambda: list(islice(rest, _A_WORKER * self.n_workers)), [])
            try:
                for contents in in_order(lambda wave: threads.submit(job, wave), waves, _N_WAVES):
                    yield from map(opened, contents)
            except BaseException:
                job.cancel()
                raise

    def _sent(self, shipped: RemoteTask) -> Any:
        """Broadcast a task, ``shipped``, to the executors; return the broadcast, or the task itself.

        Spark Connect has no broadcast, so there the task is sent with every job.
        """
        return shipped if _is_connect(self.session) else self.session.sparkContext.broadcast(shipped)


@dataclass(frozen=True, slots=True)
class _KeyRunner:
    """Function for Spark's mapInArrow: applies a task, sent with it or as a broadcast, to rows of pickled keys."""

    sent: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield a batch (number and result) for each row of ``batches``, which have a number and a pickled key."""
        import pyarrow

        shipped = self.sent if isinstance(self.sent, RemoteTask) else self.sent.value
        for batch in batches:
            for number, key in zip(batch["number"].to_pylist(), batch["key"].to_pylist(), strict=True):
                yield pyarrow.RecordBatch.from_pydict({"number": [number], "content": [shipped(bytes(key))]})


@dataclass(frozen=True, slots=True)
class _Job:
    """Runs waves (lists) of pickled keys under a tag, by which they can be cancelled; `rows` is applied to each key."""

    session: Any
    rows: _KeyRunner
    tag: str

    def __call__(self, wave: list[bytes]) -> list[bytes]:
        """Run a wave of pickled keys as one Spark job; return the results in order."""
        import pyarrow

        # one batch per row: each becomes a partition, and thus a task
        rows = [pyarrow.table({"number": [number], "key": [key]}) for number, key in enumerate(wave)]
        self.session.addTag(self.tag)
        frame = self.session.createDataFrame(pyarrow.concat_tables(rows))
        contents = frame.mapInArrow(self.rows, _SCHEMA).toArrow().to_pydict()
        by_number = dict(zip(contents["number"], contents["content"], strict=True))
        return [by_number[number] for number in range(len(wave))]

    def cancel(self) -> None:
        """Cancel the running jobs, ignoring errors of a closed session."""
        with suppress(Exception):
            self.session.interruptTag(self.tag)


def _is_connect(session: Any) -> bool:
    """Check whether a session is of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _parallelism(session: Any) -> int:
    """Determine the number of concurrent tasks of a session.

    Spark Connect does not report it, so the partitions that Spark gives a range of numbers are counted.
    """
    if not _is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    return int(session.range(2**20).selectExpr("spark_partition_id()").distinct().count())


@contextmanager
def _in_one_line() -> Iterator[None]:
    # repeated with every import and call
    """Raise errors of Spark as EngineError in one line."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with as_engine_error("spark", Py4JError, PySparkException, ConnectionError):
        yield


@contextmanager
def of_master(master: str) -> Iterator[SparkEngine]:
    """Start a session on a master, as ``local[2,4]``; under spark-submit, use and keep its session."""
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
    """Open a session of Spark Connect, as ``sc://HOST:PORT``."""
    with _in_one_line():
        from pyspark.sql.connect.session import SparkSession

        session = SparkSession.builder.remote(address).create()
    try:
        yield SparkEngine(session)
    finally:
        with suppress(Exception):
            session.stop()


def _started(master: str) -> Any:
    """Start a session with its own JVM, whose output is discarded.

    `master` is a Spark address, such as ``local[4]``.
    """
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
    with suppress(ValueError):  # Spark installs its own handler in the main thread
        signal.signal(signal.SIGINT, handler)
    if master.startswith("local"):
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return SparkSession(context)


def _ended(session: Any) -> None:
    """Stop a session and its JVM."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    with suppress(Exception):
        session.stop()
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(10)
