"""The engine that is a cluster of Ray."""

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
    """Goes over partitions by the workers of the cluster that Ray is connected to, see `ray.init`."""

    @property
    def n_workers(self) -> int:
        """How many processors the cluster has by now."""
        import ray

        return int(ray.cluster_resources().get("CPU", 1))

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key; see `Engine.map`."""
        import ray

        with as_engine_error("ray", ray.exceptions.RayError, ConnectionError):
            shipped, run = ray.put(RemoteTask.of(task)), ray.remote(max_retries=_RETRIES)(_run)
            yield from results(lambda key: _Reference(run.remote(shipped, key)), keys, self.n_workers + 1)


@dataclass(frozen=True, slots=True)
class _Reference:
    """What is on its way, as of concurrent.futures."""

    reference: Any

    def result(self) -> Any:
        """Wait for the result."""
        import ray

        return ray.get(self.reference)

    def cancel(self) -> None:
        """End what runs."""
        import ray

        ray.cancel(self.reference, force=True)


def _run(shipped: RemoteTask, key: bytes) -> bytes:
    return shipped(key)


@contextmanager
def on_this_machine(n_workers: int) -> Iterator[RayEngine]:
    """Give a new cluster of this machine, or the one that Ray is in already, as in a job of Ray, which stays."""
    is_job = "RAY_ADDRESS" in os.environ
    choices: dict[str, Any] = {} if is_job else {"address": "local", "num_cpus": n_workers, "include_dashboard": False}
    with _connected(**choices) as engine:
        yield engine


@contextmanager
def of_address(address: str) -> Iterator[RayEngine]:
    """Give a cluster of others, as ``ray://HOST:PORT``, which stays."""
    with _connected(address=address) as engine:
        yield engine


@contextmanager
def _connected(**choices: Any) -> Iterator[RayEngine]:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of what it will do one day
    import ray

    if ray.is_initialized():
        yield RayEngine()
        return
    try:
        with (
            as_engine_error("ray", ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError),
            warnings.catch_warnings(action="ignore"),  # what it warns of it raises as well
        ):
            ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **choices)
        _silence()
        yield RayEngine()
    finally:
        ray.shutdown()


def _silence() -> None:
    """Keep Ray from printing that a worker was lost among the results: it does so on stdout, whatever it is told."""
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None
