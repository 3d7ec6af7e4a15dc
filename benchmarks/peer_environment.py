"""The peers' own environment: ``python -m benchmarks.peer_environment``; benchmarks.peer_efficiency runs peers in it.

It is a virtual environment of the newest Python from 3.12 on that is on the path or installed beside this one, as
glide-py asks for. Where there is none, this Python makes it, and pip passes over what glide-py asks for: its code runs
with Python 3.11 and SciPy 1.17 too. ppi-python asks for a package that downloads data; only what its estimators import
is installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import ROOT

FOLDER = ROOT / ".venv-peers"
NEWEST, OLDEST = 19, 12
NEEDED = ("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "numba")
PEERS = ("glide-py", "ppi-python")
_TELL = """
import importlib.metadata, json, platform, sys
versions = {name: importlib.metadata.version(name) for name in sys.argv[1:]}
print(json.dumps({"python": platform.python_version()} | versions))
"""


def interpreter() -> Path:
    """Return the Python to make it with."""
    beside = Path(sys.base_prefix).parent
    for minor in range(NEWEST, OLDEST - 1, -1):
        name = f"python3.{minor}"
        for one in (shutil.which(name), *sorted(beside.glob(f"*/bin/{name}"))):
            if one and not subprocess.run([one, "-c", "import venv"], capture_output=True, check=False).returncode:
                return Path(one)
    return Path(sys.executable)


def python(folder: Path = FOLDER) -> Path:
    """Return the Python of the environment; it may not be there."""
    return folder / "bin" / "python"


def make(folder: Path = FOLDER) -> Path:
    """Make the environment where it is not there, and return its Python."""
    own = python(folder)
    if not own.exists():
        subprocess.run([interpreter(), "-m", "venv", folder], check=True)
    pip = [own, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", *NEEDED], check=True)
    subprocess.run([*pip, "--no-deps", "--ignore-requires-python", *PEERS], check=True)
    return own


def versions(folder: Path = FOLDER) -> dict[str, str]:
    """Return the versions of Python and of the peers; what is not installed is left out."""
    if not python(folder).exists():
        return {}
    done = subprocess.run(
        [python(folder), "-I", "-c", _TELL, *PEERS, "numpy", "scipy"], capture_output=True, check=True
    )
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    print(make())
