"""Engine on a Dask cluster."""

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
"""Timeout in seconds for a cluster without workers; lost workers are usually replaced in a few seconds."""
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MALLOC_ARENA_MAX"), 1
    ),
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""Settings of a local cluster. By default Dask's workers release memory after each array: 10⁵ queries took 11.9 s of
CPU time instead of 7.6. Dask also profiles all tasks and monitors itself so often that two idle workers use a tenth of
a CPU; with these settings, a fiftieth."""


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Runs tasks on the workers of a Dask cluster.

    Attributes
    ----------
    client : distributed.Client
        The caller's client, which stays open.
    """

    client: Any

    @property
    def n_workers(self) -> int:
        """Current number of threads of the cluster."""
        return sum(self.client.nthreads().values()) or 1

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys; raise EngineError if the cluster is lost."""
        with _in_one_line():
            # submitted, not scattered: scattered data is lost with its workers, a submitted result can be recomputed
            shipped = self.client.submit(_same, RemoteTask.of(task), pure=False, retries=_RETRIES)
            yield from results(lambda key: self._submitted(shipped, key), keys, self.n_workers + 1)

    def _submitted(self, shipped: Any, key: bytes) -> _WorkerFuture:
        """Submit the task for one pickled key; `shipped` is the Dask future of the task, which workers hold already."""
        return _WorkerFuture(self.client, self.client.submit(_run, shipped, key, pure=False, retries=_RETRIES))


@dataclass(frozen=True, slots=True)
class _WorkerFuture:
    """Future whose wait fails if the cluster has no workers left."""

    client: Any
    future: Any

    def result(self) -> Any:
        """Wait for the result, or raise EngineError if the cluster has no workers."""
        while True:
            try:
                return self.future.result(timeout=_PATIENCE)
            except TimeoutError:
                if not self.client.nthreads():
                    raise EngineError(f"dask: no worker has been left for {_PATIENCE} s") from None

    def cancel(self) -> None:
        """Cancel the task, ignoring errors of a closed cluster."""
        with suppress(Exception):
            self.future.cancel()


def _same(shipped: RemoteTask) -> RemoteTask:
    """Return the task unchanged; submitted to Dask, this stores the task on the cluster."""
    return shipped


def _run(shipped: RemoteTask, key: bytes) -> bytes:
    """Run the task on a pickled key; called by a worker."""
    return shipped(key)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Raise errors of Dask as EngineError in one line."""
    from distributed import KilledWorker

    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # a large model is sent only once
    with as_engine_error("dask", KilledWorker, CancelledError, ImportError, OSError, RuntimeError):
        yield


@contextmanager
def on_this_machine(n_workers: int) -> Iterator[DaskEngine]:
    """Start a local cluster of single-threaded processes, which end with the block; raise EngineError if that fails."""
    import dask
    from distributed import Client, LocalCluster

    choices: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    choices["scheduler_kwargs"] = {
        "dashboard_address": ":0"
    }  # the dashboard's server starts anyway, and port 8787 may be in use
    with _silent():
        starting = dask.config.set(_SETTINGS)
        with as_engine_error("dask", OSError, RuntimeError), deaf_children(), starting:
            cluster = LocalCluster(n_workers=n_workers, **choices)
        with cluster, Client(cluster, set_as_default=False) as client:
            yield DaskEngine(client)


@contextmanager
def of_address(address: str, timeout: float) -> Iterator[DaskEngine]:
    """Connect to the cluster of a scheduler, as ``tcp://HOST:PORT``; it keeps running after the block.

    `timeout` is in seconds. EngineError is raised if the connection fails.
    """
    from distributed import Client

    with _silent():
        with as_engine_error("dask", OSError, RuntimeError):
            client = Client(address, timeout=timeout, set_as_default=False)
        with client:
            yield DaskEngine(client)


@contextmanager
def _silent() -> Iterator[None]:
    """Silence Dask's log, as errors are raised anyway."""
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
