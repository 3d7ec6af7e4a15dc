"""Numba's cache of compiled code, on a worker: a place for it that can be written, and what to do where it is damaged.

Nothing here imports numba: it reads its settings when it is imported.
"""

from __future__ import annotations

import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import activeeval

_CACHING = os.path.join("numba", "core", "caching.py")
_INDEX = "*.nbi"


def private_place() -> str | None:
    """Return a folder for the cache where neither the package's own nor the user's can be written, else None."""
    kernels = Path(activeeval.__file__).parent / "kernels" / "__pycache__"
    if _is_writable(kernels) or _is_writable(_place_of_user()):
        return None
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir(), f"activeeval-numba-{user}-{activeeval.__version__}")
    # what lies in a cache is run: a folder that another user has made ready in a place for all is not to be trusted
    return str(folder) if _is_writable(folder) and _is_ours(folder) else tempfile.mkdtemp(prefix=f"{folder.name}-")


def _place_of_user() -> Path:
    if sys.platform == "darwin":
        return Path("~/Library/Caches/numba").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")


def _is_writable(folder: Path) -> bool:
    """Return whether files can be made in a folder, which is made where it is missing, as numba tries it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_ours(folder: Path) -> bool:
    state = folder.lstat()
    is_folder = stat.S_ISDIR(state.st_mode)
    return is_folder and state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def mended(problem: BaseException) -> bool:
    """Return whether an error came from numba's cache, which can be done without by now.

    The cache of the function is switched off in this process, so that each can fail but once, and what is damaged
    beside it is removed: other processes compile and save it anew.
    """
    caches = [cache for cache in map(_cache_of, _frames(problem)) if cache is not None]
    for cache in caches:
        cache.disable()
        with suppress(OSError):
            for index in Path(cache.cache_path).glob(_INDEX):
                if not _is_sound(index):
                    index.unlink(missing_ok=True)
    return bool(caches)


def _frames(problem: BaseException | None) -> Iterator[FrameType]:
    """Yield what was running when an error came, also the one behind it."""
    while problem is not None:
        trace = problem.__traceback__
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next
        problem = problem.__cause__ or problem.__context__


def _cache_of(frame: FrameType) -> Any:
    """Return the cache of a compiled function that a frame reads or writes, or None."""
    cache = frame.f_locals.get("self") if frame.f_code.co_filename.endswith(_CACHING) else None
    return cache if hasattr(cache, "disable") and getattr(cache, "_enabled", False) else None


def _is_sound(index: Path) -> bool:
    """Return whether an index, and all that it names, can be read."""
    try:
        with index.open("rb") as file:
            pickle.load(file)
            _, names = pickle.load(file)
        for name in set(names.values()):
            with suppress(FileNotFoundError):  # numba compiles what is missing
                pickle.loads(index.with_name(name).read_bytes())
    except Exception:  # a damaged file may raise anything
        return False
    return True
