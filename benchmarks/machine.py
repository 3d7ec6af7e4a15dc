"""What a figure needs beside it: the command, versions, the machine; and how the figures are stored and shown."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("activeeval-ir", "numpy", "numba", "scipy", "scikit-learn", "polars")
THREAD_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


def data_folder() -> Path:
    """Return the data kit: data/ in $ACTIVEEVAL_SHARED, or in ../shared beside the checkout; it may not exist."""
    return Path(os.environ.get("ACTIVEEVAL_SHARED") or ROOT.parent / "shared") / "data"


def stay_on_one_core(module: str) -> None:
    """Pin the process, and all it starts, to one core, and start it again with every thread pool at 1."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    _start_again_with(dict.fromkeys(THREAD_POOLS, "1"), module)


def on_one_thread(module: str) -> None:
    """Start the process again with every thread pool at 1, for what is spread over processes."""
    _start_again_with(dict.fromkeys(THREAD_POOLS, "1"), module)


def keep_freed_memory(module: str) -> None:
    """Start the process again so that glibc keeps large arrays that are freed for the next ones.

    Otherwise it hands them back to the system, which clears every page anew: a third of the time where arrays of a
    gigabyte come and go.
    """
    _start_again_with({"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(10**11)}, module)


def _start_again_with(environment: dict[str, str], module: str) -> None:
    """Run a module in this process's place, unless the environment is as wanted already."""
    if any(os.environ.get(name) != value for name, value in environment.items()):
        os.environ.update(environment)
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])


def describe(module: str, packages: tuple[str, ...] = ()) -> dict:
    """Return command, date, versions, those of further packages too, and the size of the machine."""
    return {
        # a place on this machine says nothing elsewhere
        "command": " ".join(["python -m", module, *("PATH" if os.path.isabs(a) else a for a in sys.argv[1:])]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in (*_PACKAGES, *packages)}},
        "git_commit": _git("rev-parse", "--short=12", "HEAD"),
        "uncommitted_changes_to_activeeval": bool(_git("status", "--porcelain", "activeeval")),
        "machine": {
            "cpu": _first_value("/proc/cpuinfo", "model name") or platform.processor(),
            "cores": os.cpu_count(),
            "cores_used": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "memory_gb": round(int((_first_value("/proc/meminfo", "MemTotal") or "0").split()[0]) / 2**20, 1),
            "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "system": platform.platform(terse=True),
        },
    }


def store(path: Path, result: dict) -> None:
    """Write a result as JSON under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=1) + "\n")
    partial.replace(path)


def seconds(call, *arguments) -> float:
    """Measure the seconds of one call."""
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def median_seconds(call, repeats: int) -> float:
    """Return the median time of several calls, after one that does not count."""
    call()
    return statistics.median(seconds(call) for _ in range(repeats))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _first_value(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
