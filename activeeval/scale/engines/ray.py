"""Engine on a Ray cluster."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from activeeval.scale.engines import Task
from activeeval.scale.engines.lost_workers import as_engine_error
from activeeval.scale.engines.shipping import RemoteTask, results

_RETRIES = 3


class RayEngine:
    """Runs tasks on the workers of the connected Ray cluster, see `ray.init`."""

    @property
    def n_workers(self) -> int:
        """Current number of CPUs of the cluster."""
        import ray

        return int(ray.cluster_resources().get("CPU", 1))

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys; raise EngineError if the cluster is lost."""
        import ray

        with as_engine_error("ray", ray.exceptions.RayError, ConnectionError):
            shipped, run = ray.put(RemoteTask.of(task)), ray.remote(max_retries=_RETRIES)(_run)
            yield from results(lambda key: _Reference(run.remote(shipped, key)), keys, self.n_workers + 1)


@dataclass(frozen=True, slots=True)
class _Reference:
    """Pending result of Ray with the interface of concurrent.futures."""

    reference: Any

    def result(self) -> Any:
        """Wait for the result."""
        import ray

        return ray.get(self.reference)

    def cancel(self) -> None:
        """Cancel the task and kill its process."""
        import ray

        ray.cancel(self.reference, force=True)


def _run(shipped: RemoteTask, key: bytes) -> bytes:
    """Run the task on a pickled key; called by a worker."""
    return shipped(key)


@contextmanager
def on_this_machine(n_workers: int) -> Iterator[RayEngine]:
    """Start a local cluster, or, within a Ray job, connect to its cluster, which keeps running."""
    is_job = "RAY_ADDRESS" in os.environ
    choices: dict[str, Any] = {} if is_job else {"address": "local", "num_cpus": n_workers, "include_dashboard": False}
    with _connected(**choices) as engine:
        yield engine


@contextmanager
def of_address(address: str) -> Iterator[RayEngine]:
    """Connect to a remote cluster, as ``ray://HOST:PORT``; it keeps running."""
    with _connected(address=address) as engine:
        yield engine


@contextmanager
def _connected(**choices: Any) -> Iterator[RayEngine]:
    """Connect Ray with these options unless it is connected, and disconnect at the end."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # avoids a warning about a future change
    import ray

    if ray.is_initialized():
        yield RayEngine()
        return
    try:
        with (
            as_engine_error("ray", ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError),
            warnings.catch_warnings(action="ignore"),  # its warnings are also raised as errors
        ):
            ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **choices)
        _silence()
        yield RayEngine()
    finally:
        ray.shutdown()


def _silence() -> None:
    """Stop Ray from printing lost workers on stdout, which it does at any log level."""
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None
