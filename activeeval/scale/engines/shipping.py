"""What travels to another process and back: a task, its keys, and what came of them.

A worker sets up its environment before anything is imported that reads it, so importing this module imports neither
numpy nor numba: tasks and keys travel as bytes, and are unpickled inside.
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
"""With its number, what tells this process from all others of all machines."""

_tasks: dict[bytes, Task] = {}
"""The last task that came here, so that it is unpickled once for all of its keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTask:
    """A task that runs in another process.

    Attributes
    ----------
    content : bytes
        The pickled task; b"" where it lies in a file.
    path : str
        The file, or "".
    digest : bytes
        By which a worker knows a task that it has.
    version, python : str
        activeeval's and Python's, of the process that ships it.
    sender : (str, int)
        That process.
    """

    content: bytes
    path: str = ""
    digest: bytes
    version: str = __version__
    python: str = _PYTHON
    sender: tuple[str, int]

    @classmethod
    def of(cls, task: Task) -> RemoteTask:
        """Return a task as it travels.

        Raises
        ------
        InputError
            Where it cannot be pickled.
        """
        content = pickled(task)
        return cls(content=content, digest=hashlib.sha256(content).digest(), sender=(_PROCESS, os.getpid()))

    def left_in(self, folder: str) -> RemoteTask:
        """Return the task with its bytes in a file, which stands for them wherever the folder is reached."""
        path = Path(folder, self.digest.hex())
        path.write_bytes(self.content)
        return replace(self, content=b"", path=str(path))

    def __call__(self, key: bytes) -> bytes:
        """Return what the task makes of a pickled key, or why it makes nothing of it, for `opened`."""
        try:
            self._check_worker()
            if self.sender != (_PROCESS, os.getpid()):
                set_up()
            return _RESULT + self._task()(pickle.loads(key))
        except ActiveEvalError as problem:
            return _ERROR + pickle.dumps(problem)
        except Exception as problem:
            return _ERROR + pickle.dumps(EngineError(_reason(problem)))

    def _task(self) -> Task:
        if self.digest not in _tasks:
            content = self.content or Path(self.path).read_bytes()
            task = pickle.loads(content)
            _tasks.clear()
            _tasks[self.digest] = task
            return task  # type: ignore[no-any-return]
        return _tasks[self.digest]

    def _check_worker(self) -> None:
        if (self.version, self.python) != (__version__, _PYTHON):
            here = f"activeeval {__version__} on Python {_PYTHON}"
            there = f"activeeval {self.version} on Python {self.python}"
            raise EngineError(f"{_place()}: this worker has {here}, who calls it {there}: they must be the same")


def pickled(value: Any) -> bytes:
    """Return the bytes by which a task or a key travels.

    Raises
    ------
    InputError
        Where it cannot be pickled.
    """
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as problem:  # pickle raises what it likes: PicklingError, AttributeError, TypeError
        advice = "what workers run must be pickled: define its functions at the top of a module"
        raise InputError(f"{one_line(problem)}; {advice}") from None


def opened(content: bytes) -> bytes:
    """Return the result that a worker has sent, or raise the error that it has."""
    if content[:1] == _RESULT:
        return content[1:]
    raise pickle.loads(content[1:])


def results(submit: Callable[[bytes], Future], keys: Iterable[Any], n_ahead: int) -> Iterator[bytes]:
    """Yield the result of each key in turn; ``submit`` runs a shipped task on a pickled key."""
    with closing(in_order(submit, map(pickled, keys), n_ahead)) as contents:
        for content in contents:
            yield opened(content)


def warmed(number: int) -> bytes:
    """Import what other tasks run, and return nothing: the first key of a worker does not wait for it."""
    import_module("activeeval.scale.designs")
    return b""


def set_up() -> None:
    """Set what is read at an import: one thread for a task, and a place for compiled code."""
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    if "numba" in sys.modules:  # it does not like settings that change
        return
    os.environ["NUMBA_NUM_THREADS"] = "1"
    if "NUMBA_CACHE_DIR" not in os.environ and (folder := private_place()) is not None:
        os.environ["NUMBA_CACHE_DIR"] = folder


def _place() -> str:
    return f"{platform.node()}, process {os.getpid()}"


def _reason(problem: Exception) -> str:
    """Return what went wrong and where: the machine, and the line that was running."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return f"{_place()}: {one_line(problem)}{'' if isinstance(problem, (OSError, MemoryError)) else at}"
