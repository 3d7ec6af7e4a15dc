"""Functions and commands in processes of their own: what they answer, and what they take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, THREAD_POOLS, seconds

ONE_THREAD = dict.fromkeys((*THREAD_POOLS, "RAYON_NUM_THREADS"), "1")
_CALL = "import json, sys; from {} import {} as f; print(json.dumps(f(*json.loads(sys.argv[1]))))"


def run(command: list[str], folder: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    """Run a command by the code of this checkout, and return what it prints; stop where it fails."""
    whole = os.environ | {"PYTHONPATH": str(ROOT)} | dict(environment or {})
    done = subprocess.run(command, cwd=folder, env=whole, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def apart(function: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Call a function of a module in a process of its own; arguments and answer are JSON, the last line it prints."""
    module = function.__module__
    if module == "__main__":
        module = sys.modules["__main__"].__spec__.name
    command = [sys.executable, "-c", _CALL.format(module, function.__name__), json.dumps(arguments)]
    return json.loads(run(command, environment=environment).splitlines()[-1])


def wall_and_cpu(call: Callable[[], object]) -> tuple[float, float]:
    """Measure elapsed and processor seconds of the processes that a call starts; they differ on a busy machine."""
    before = os.times()
    elapsed = seconds(call)
    after = os.times()
    return elapsed, sum(after[2:4]) - sum(before[2:4])


def activeeval_command() -> list[str]:
    """Return the words that start the command line."""
    script = Path(sys.executable).with_name("activeeval")
    return [str(script)] if script.exists() else [sys.executable, "-m", "activeeval"]
