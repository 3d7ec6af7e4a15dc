"""Compilation of the kernels: once, cached on disk, without exceptions, without the interpreter's lock.

A call of a cached function still imports numba, which takes half a second to a second. A short process is faster if
Python interprets the same functions.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path

import numpy as np

from activeeval.core.kernels.first_use import say_first_use

# an entry point for C callers is not needed and would take a tenth of the compile time
_OPTIONS = {"cache": True, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
_REPORTED_FOLDERS = []
_LEFT_TO_PYTHON = []


def jit(function):
    """Compile a function with numba at its first call, and cache the compiled code on disk if possible.

    After `leave_to_python` the function is not compiled; Python runs it.
    """
    if _LEFT_TO_PYTHON:  # compiled code does not warn of overflows, which hashes rely on
        return np.errstate(all="ignore")(function)
    import numba

    compiled = numba.njit(**_OPTIONS)(function)
    cache_of = getattr(compiled, "_cache", None)  # missing with NUMBA_DISABLE_JIT
    # cached code is valid while no file of the package changes (`_stamps`); numba checks only the function's own
    if cache_of is not None:
        cache_of._cache_file._source_stamp = (cache_of._cache_file._source_stamp, _stamps())
        cache_of.load_overload = _watched(_or_nothing(cache_of.load_overload, cache_of))
        cache_of.save_overload = _or_nothing(cache_of.save_overload, cache_of)
    return compiled


def leave_to_python() -> None:
    """Let Python interpret all kernels defined from now on, for the rest of the process: faster if it is short."""
    _LEFT_TO_PYTHON.append(True)


@cache
def _stamps():
    """List ``(name, mtime_ns, size)`` of every file of the kernels package.

    The cached code of a function contains the code of the functions it calls, but numba checks only the time of the
    function's own file: if only a called file changes, for example by a pull, numba would use outdated code.
    """
    folder = Path(__file__).parent
    files = ((path, path.stat()) for path in folder.rglob("*.py"))
    return tuple(sorted((str(path.relative_to(folder)), stat.st_mtime_ns, stat.st_size) for path, stat in files))


def _watched(load):
    """Wrap numba's ``load`` of cached code: if it finds none, `say_first_use` announces that compilation follows.

    ``load`` returns the code of a function for given types of arguments, or None.
    """

    @wraps(load)
    def watched(*arguments):
        """Load the code; None if there is none."""
        code = load(*arguments)
        if code is None:
            say_first_use()
        return code

    return watched


def _or_nothing(step, cache_of):
    """Wrap a cache operation ``step``: if a damaged file or a full disk breaks it, return None and report that once.

    The function's cached code is then deleted (``cache_of`` is its numba cache), so that the next process can cache it
    again.
    """

    @wraps(step)
    def forgiving(*arguments):
        """Run the step; None if it fails."""
        try:
            return step(*arguments)
        except Exception as problem:  # a damaged file can break the unpickler in any way
            with suppress(Exception):
                cache_of.flush()
            if not _REPORTED_FOLDERS:
                folder = cache_of.cache_path
                _REPORTED_FOLDERS.append(folder)
                reason = " ".join(str(problem).split()) or type(problem).__name__
                message = f"compiled code in {folder} cannot be used ({reason}), it is compiled anew: is the disk full?"
                print(f"activeeval: {message}", file=sys.stderr)
            return None

    return forgiving
