"""Where a worker keeps compiled code; nothing here imports numba, which reads its settings when it is imported."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import activeeval


def private_place() -> str | None:
    """Return a folder for the cache where neither the package's own nor the user's can be written, else None."""
    kernels = Path(activeeval.__file__).parent / "core" / "kernels" / "__pycache__"
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
