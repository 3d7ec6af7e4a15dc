"""How everything in this room is compiled: once, kept on disk, without exceptions, free of the interpreter's lock.

Before a kept function can be called, numba has to be there: half to a whole second. A process that has but a little to
do is done before that where Python runs the same functions.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path

import numpy as np

from activeeval.core.kernels.first_use import say_first_use

# an entry for callers in C, which nobody is, would take a tenth of the time that compiling takes
_OPTIONS = {"cache": True, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
_SAID = []
_LEFT_TO_PYTHON = []


def jit(function):
    """Return a function compiled at its first call, with what was compiled kept where that is possible."""
    if _LEFT_TO_PYTHON:  # compiled code says nothing of an overflow, which hashes are made of
        return np.errstate(all="ignore")(function)
    import numba

    compiled = numba.njit(**_OPTIONS)(function)
    kept = getattr(compiled, "_cache", None)  # there is none with NUMBA_DISABLE_JIT
    if kept is not None:
        kept._cache_file._source_stamp = (kept._cache_file._source_stamp, _stamps())
        kept.load_overload = _watched(_or_nothing(kept.load_overload, kept))
        kept.save_overload = _or_nothing(kept.save_overload, kept)
    return compiled


def leave_to_python() -> None:
    """Have Python run what this room defines from now on, for the rest of the process: the same code, not compiled."""
    _LEFT_TO_PYTHON.append(True)


@cache
def _stamps():
    """List name, time and size of every file of this room.

    A compiled function holds the code of those that it calls, but numba looks at the time of its own file alone: where
    only theirs changed, as by a pull, it would go on computing what it did before.
    """
    folder = Path(__file__).parent
    files = ((path, path.stat()) for path in folder.rglob("*.py"))
    return tuple(sorted((str(path.relative_to(folder)), stat.st_mtime_ns, stat.st_size) for path, stat in files))


def _watched(load):
    """Return how kept code is loaded, with word to who watches where there is none: it is compiled next."""

    @wraps(load)
    def watched(*arguments):
        code = load(*arguments)
        if code is None:
            say_first_use()
        return code

    return watched


def _or_nothing(step, kept):
    """Return a step that answers with nothing where a damaged file or a full disk ends it, and says so once.

    What is kept of the function is forgotten, so that whoever compiles it next can keep it again.
    """

    @wraps(step)
    def forgiving(*arguments):
        try:
            return step(*arguments)
        except Exception as problem:  # a damaged file can break the unpickler in any way
            with suppress(Exception):
                kept.flush()
            if not _SAID:
                folder = kept.cache_path
                _SAID.append(folder)
                reason = " ".join(str(problem).split()) or type(problem).__name__
                message = f"compiled code in {folder} cannot be used ({reason}), it is compiled anew: is the disk full?"
                print(f"activeeval: {message}", file=sys.stderr)
            return None

    return forgiving
