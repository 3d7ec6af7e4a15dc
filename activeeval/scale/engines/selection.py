"""Engines by name, as ``processes:4`` or ``dask://scheduler:8786``."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from urllib.parse import urlsplit

from activeeval.core.errors import EngineError, InputError, did_you_mean, shown
from activeeval.scale.engines import Engine
from activeeval.scale.engines.local import LocalEngine
from activeeval.scale.engines.shipping import warmed

FORMS = (
    "here", "threads:N", "processes:N", "dask", "dask://HOST:PORT", "ray", "ray://HOST:PORT",
    "spark", "spark://HOST:PORT", "spark://local[N]", "sc://HOST:PORT",
)  # fmt: skip
"""Forms of an engine's name; N defaults to the number of CPUs."""
_PACKAGES = {"dask": ("distributed",), "ray": ("ray",), "spark": ("pyspark", "pyarrow", "pandas")}
_PACKAGES["sc"] = (*_PACKAGES["spark"], "grpc", "grpc_status", "google.rpc")
_PORTS = {"dask": 8786, "ray": 10001, "spark": 7077, "sc": 15002}
_TIMEOUT = 5.0
"""Connection timeout of a cluster in seconds."""
_SPARK_FAILURES = 4
"""Attempts of a task on local Spark, the default on clusters; Spark's local default is one."""


@contextmanager
def opened_engine(text: str) -> Iterator[Engine]:
    """Open an engine by its name, ready for tasks; processes started for it end with the block.

    Parameters
    ----------
    text : str
        One of `FORMS`. Without an address dask, ray and spark start on this machine.

    Raises
    ------
    InputError
        If the engine is unknown, or its package is not installed.
    EngineError
        If it cannot be reached, or its workers have another version.

    Examples
    --------
    >>> with opened_engine("threads:2") as engine:
    ...     list(engine.map(bytes, range(3)))
    [b'', b'\\x00', b'\\x00\\x00']
    """
    with _engine_of(text) as engine:
        if not isinstance(engine, LocalEngine):
            for _ in engine.map(warmed, range(engine.n_workers)):
                pass
        yield engine


def _engine_of(text: str) -> AbstractContextManager[Engine]:
    """Create the engine of a name, or raise InputError if the name is unknown or a package is missing.

    EngineError is raised if its address cannot be reached.
    """
    name, colon, rest = text.partition(":")
    known = {form.partition(":")[0] for form in FORMS}
    if name not in known or (colon and name == "here"):
        meant = did_you_mean(name, sorted(known - {name}))
        raise InputError(f"unknown engine {shown(text)}; {meant}known: {', '.join(FORMS)}", field="engine")
    _check_installed(name, text)
    if rest.startswith("//"):
        return _of_address(name, text, rest.removeprefix("//"))
    if name == "spark":
        return _spark(rest or "*", text)
    n_workers = _n_workers(rest, text) if colon else n_processors()
    if name in ("here", "threads"):
        return nullcontext(LocalEngine(n_workers if name == "threads" else 1))
    if name == "processes":
        from activeeval.scale.engines.executors import Processes

        return Processes(n_workers)
    if name == "dask":
        from activeeval.scale.engines.dask import on_this_machine as dask_here

        return dask_here(n_workers)
    if name == "ray":
        from activeeval.scale.engines.ray import on_this_machine as ray_here

        return ray_here(n_workers)
    raise InputError(f"engine {shown(text)} needs an address, as sc://HOST:PORT", field="engine")


def _of_address(name: str, text: str, place: str) -> AbstractContextManager[Engine]:
    """Connect to the engine `name` at the address `place`, after a check that the port is open.

    `text` is the whole name of the engine, for messages. Raises InputError if the engine has no address, and
    EngineError if it cannot be reached.
    """
    if name == "spark" and place.startswith("local"):
        return _spark(place, text)
    if name not in _PORTS:
        raise InputError(f"engine {shown(text)}: {name} has no address, it runs on this machine", field="engine")
    host_port = _reached(name, text)
    if name == "dask":
        from activeeval.scale.engines.dask import of_address as dask_of

        return dask_of(f"tcp://{host_port}", _TIMEOUT)
    if name == "ray":
        from activeeval.scale.engines.ray import of_address as ray_of

        return ray_of(f"ray://{host_port}")
    from activeeval.scale.engines.spark import of_connect, of_master

    return of_connect(text) if name == "sc" else of_master(f"spark://{host_port}")


def _spark(master: str, text: str) -> AbstractContextManager[Engine]:
    """Start Spark on this machine; `master` is ``local[N]``, or N alone.

    EngineError is raised if Java is not installed.
    """
    from activeeval.scale.engines.spark import of_master

    n = "1" if master == "local" else master.removeprefix("local[").removesuffix("]").split(",")[0]
    n_workers = n_processors() if n == "*" else _n_workers(n, text)
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise EngineError("spark needs Java 17 or newer, and none is installed here", field="engine")
    return of_master(f"local[{n_workers},{_SPARK_FAILURES}]")


def n_processors() -> int:
    """Return the number of CPUs available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _n_workers(text: str, whole: str) -> int:
    """Parse a positive number of workers; raise InputError with the engine's name `whole` if it is not one."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(f"engine {shown(whole)}: workers must be a positive number, got {shown(text)}", field="engine")
    return int(text)


def _check_installed(name: str, text: str) -> None:
    """Raise InputError if a package of the engine `name` is not installed; `text` is the engine's whole name."""
    for package in _PACKAGES.get(name, ()):
        parts = package.split(".")
        if any(find_spec(".".join(parts[: k + 1])) is None for k in range(len(parts))):
            extra = "spark" if name == "sc" else name
            advice = f"pip install 'activeeval-ir[{extra}]'"
            raise InputError(f"engine {shown(text)} needs {package}: {advice}", field="engine")


def _reached(name: str, text: str) -> str:
    """Check that a connection to an address succeeds, and return host and port; engines take minutes to time out.

    Raises
    ------
    InputError
        If the address `text` has no host.
    EngineError
        If the connection fails.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or _PORTS[name]
    except ValueError:
        host, port = None, 0
    if not host:
        raise InputError(f"engine {shown(text)}: expected {name}://HOST:PORT", field="engine")
    try:
        socket.create_connection((host, port), _TIMEOUT).close()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise EngineError(f"engine {shown(text)} cannot be reached: {reason}", field="engine") from None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
