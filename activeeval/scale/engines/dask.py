"""The engine that is a cluster of Dask."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import EngineError
from activeeval.scale.engines import Task
from activeeval.scale.engines.lost_workers import as_engine_error, deaf_children
from activeeval.scale.engines.shipping import RemoteTask, results

_RETRIES = 3
_PATIENCE = 60
"""Seconds that a cluster may have no workers: they come back after a loss in a few."""
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MALLOC_ARENA_MAX"), 1
    ),
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""Of a cluster of this machine. As Dask has it, workers give memory back after each array: 10⁵ queries took 11.9 s of
processor in place of 7.6. It profiles whatever they run, and looks after itself so often that two idle workers take a
tenth of a processor; so they take a fiftieth."""


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Goes over partitions by the workers of a cluster of Dask.

    Attributes
    ----------
    client : distributed.Client
        The caller's, which stays open.
    """

    client: Any

    @property
    def n_workers(self) -> int:
        """How many threads the cluster has by now."""
        return sum(self.client.nthreads().values()) or 1

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key; see `Engine.map`."""
        with _in_one_line():
            # not scattered: what was is gone with the workers that had it, and this can be sent again
            shipped = self.client.submit(_same, RemoteTask.of(task), pure=False, retries=_RETRIES)
            yield from results(lambda key: self._submitted(shipped, key), keys, self.n_workers + 1)

    def _submitted(self, shipped: Any, key: bytes) -> _WorkerFuture:
        return _WorkerFuture(self.client, self.client.submit(_run, shipped, key, pure=False, retries=_RETRIES))


@dataclass(frozen=True, slots=True)
class _WorkerFuture:
    """A future that is not waited for where no worker is left."""

    client: Any
    future: Any

    def result(self) -> Any:
        """Wait for the result."""
        while True:
            try:
                return self.future.result(timeout=_PATIENCE)
            except TimeoutError:
                if not self.client.nthreads():
                    raise EngineError(f"dask: no worker has been left for {_PATIENCE} s") from None

    def cancel(self) -> None:
        """Give it up, on a cluster that may be gone."""
        with suppress(Exception):
            self.future.cancel()


def _same(shipped: RemoteTask) -> RemoteTask:
    return shipped


def _run(shipped: RemoteTask, key: bytes) -> bytes:
    return shipped(key)


@contextmanager
def _in_one_line() -> Iterator[None]:
    from distributed import KilledWorker

    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # a model may be large, and goes but once
    with as_engine_error("dask", KilledWorker, CancelledError, ImportError, OSError, RuntimeError):
        yield


@contextmanager
def on_this_machine(n_workers: int) -> Iterator[DaskEngine]:
    """Give a cluster of processes of this machine, one thread each."""
    import dask
    from distributed import Client, LocalCluster

    choices: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    choices["scheduler_kwargs"] = {
        "dashboard_address": ":0"
    }  # its server starts all the same, and port 8787 may be taken
    with _silent():
        starting = dask.config.set(_SETTINGS)
        with as_engine_error("dask", OSError, RuntimeError), deaf_children(), starting:
            cluster = LocalCluster(n_workers=n_workers, **choices)
        with cluster, Client(cluster, set_as_default=False) as client:
            yield DaskEngine(client)


@contextmanager
def of_address(address: str, timeout: float) -> Iterator[DaskEngine]:
    """Give the cluster of a scheduler, as ``tcp://HOST:PORT``, which stays."""
    from distributed import Client

    with _silent():
        with as_engine_error("dask", OSError, RuntimeError):
            client = Client(address, timeout=timeout, set_as_default=False)
        with client:
            yield DaskEngine(client)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep Dask from saying what errors say already."""
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
