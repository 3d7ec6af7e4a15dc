"""Serialisation of tasks, keys and results between processes.

A worker sets up its environment before imports that read it. So this module imports neither numpy nor numba: tasks and
keys are sent as bytes, and unpickled on the worker.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from activeeval import __version__
from activeeval.core.errors import ActiveEvalError, EngineError, InputError
from activeeval.scale.engines import Task
from activeeval.scale.engines.kernel_cache import private_place
from activeeval.scale.engines.local import Future, in_order
from activeeval.scale.engines.lost_workers import one_line

_RESULT, _ERROR = b"\0", b"\1"
_PYTHON = "{}.{}".format(*sys.version_info)
_ONE_THREAD = ("ACTIVEEVAL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PROCESS = uuid.uuid4().hex
"""Together with the process id, identifies this process among all hosts."""

_tasks: dict[bytes, Task] = {}
"""The last task received, by digest, so that it is unpickled only once for all of its keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTask:
    """Pickled task that runs in another process, after a check that versions agree.

    Attributes
    ----------
    content : bytes
        The pickled task; b"" if it is in a file.
    path : str
        The file, or "".
    digest : bytes
        Identifies the task in a worker's cache.
    version, python : str
        Versions of activeeval and Python in the sending process.
    sender : (str, int)
        Identifies the sending process: a random word and its process id.
    """

    content: bytes
    path: str = ""
    digest: bytes
    version: str = __version__
    python: str = _PYTHON
    sender: tuple[str, int]

    @classmethod
    def of(cls, task: Task) -> RemoteTask:
        """Pickle a task for sending.

        Raises
        ------
        InputError
            If it cannot be pickled.
        """
        content = pickled(task)
        return cls(content=content, digest=hashlib.sha256(content).digest(), sender=(_PROCESS, os.getpid()))

    def left_in(self, folder: str) -> RemoteTask:
        """Write the task to a file in a folder that the workers can access, and return a reference to it."""
        path = Path(folder, self.digest.hex())
        path.write_bytes(self.content)
        return replace(self, content=b"", path=str(path))

    def __call__(self, key: bytes) -> bytes:
        """Run the task on a pickled key; return bytes that `opened` unpacks to the result or the error."""
        try:
            self._check_worker()
            if self.sender != (_PROCESS, os.getpid()):  # in a worker, not in a thread of the sender
                set_up()
            return _RESULT + self._task()(pickle.loads(key))
        except ActiveEvalError as problem:
            return _ERROR + pickle.dumps(problem)
        except Exception as problem:
            return _ERROR + pickle.dumps(EngineError(_reason(problem)))

    def _task(self) -> Task:
        """Unpickle the task, or return it from the cache."""
        if self.digest not in _tasks:
            content = self.content or Path(self.path).read_bytes()
            task = pickle.loads(content)
            _tasks.clear()
            _tasks[self.digest] = task
            return task  # type: ignore[no-any-return]
        return _tasks[self.digest]

    def _check_worker(self) -> None:
        """Raise EngineError if the worker's versions differ from the sender's."""
        if (self.version, self.python) != (__version__, _PYTHON):
            worker = f"activeeval {__version__} on Python {_PYTHON}"
            sender = f"activeeval {self.version} on Python {self.python}"
            raise EngineError(f"{_place()}: this worker has {worker}, its caller {sender}: they must be the same")


def pickled(value: Any) -> bytes:
    """Pickle a task or a key.

    Raises
    ------
    InputError
        If it cannot be pickled.
    """
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as problem:  # pickle raises various errors: PicklingError, AttributeError, TypeError
        advice = "what workers run must be pickled: define its functions at the top of a module"
        raise InputError(f"{one_line(problem)}; {advice}") from None


def opened(content: bytes) -> bytes:
    """Unpack what a worker has sent: return the result, or raise the worker's error."""
    if content[:1] == _RESULT:
        return content[1:]
    raise pickle.loads(content[1:])


def results(submit: Callable[[bytes], Future], keys: Iterable[Any], n_ahead: int) -> Iterator[bytes]:
    """Yield the results in the order of keys.

    ``submit`` runs a task on a pickled key, at most ``n_ahead`` are pending.
    """
    with closing(in_order(submit, map(pickled, keys), n_ahead)) as contents:
        for content in contents:
            yield opened(content)


def warmed(number: int) -> bytes:
    """Import the modules of later tasks, so that the first real key does not wait for them; returns b"".

    `number` is ignored.
    """
    import_module("activeeval.scale.designs")
    return b""


def set_up() -> None:
    """Set the environment variables for one thread per task and for the kernel cache, before numba is imported."""
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    if "numba" in sys.modules:  # numba rejects changed settings after its import
        return
    os.environ["NUMBA_NUM_THREADS"] = "1"
    if "NUMBA_CACHE_DIR" not in os.environ and (folder := private_place()) is not None:
        os.environ["NUMBA_CACHE_DIR"] = folder


def _place() -> str:
    """Name this host and process for messages."""
    return f"{platform.node()}, process {os.getpid()}"


def _reason(problem: Exception) -> str:
    """Describe an error and its origin: host, process, and source line."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return f"{_place()}: {one_line(problem)}{'' if isinstance(problem, (OSError, MemoryError)) else at}"
