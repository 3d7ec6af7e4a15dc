"""Folder for compiled code on a worker; this module must not import numba, which reads its settings at import."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import activeeval


def private_place() -> str | None:
    """Find a private cache folder for compiled code; None if the package's or the user's cache is writable."""
    kernels = Path(activeeval.__file__).parent / "core" / "kernels" / "__pycache__"
    if _is_writable(kernels) or _is_writable(_place_of_user()):
        return None
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir(), f"activeeval-numba-{user}-{activeeval.__version__}")
    # cached code is executed, so a folder created by another user in the shared temporary folder is not trusted
    return str(folder) if _is_writable(folder) and _is_ours(folder) else tempfile.mkdtemp(prefix=f"{folder.name}-")


def _place_of_user() -> Path:
    """Return numba's default cache folder of the user."""
    if sys.platform == "darwin":
        return Path("~/Library/Caches/numba").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")


def _is_writable(folder: Path) -> bool:
    """Check whether files can be created in a folder, creating it if missing, as numba does."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_ours(folder: Path) -> bool:
    """Check that a path is a folder owned by this user and not writable by others."""
    state = folder.lstat()
    is_folder = stat.S_ISDIR(state.st_mode)
    return is_folder and state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
