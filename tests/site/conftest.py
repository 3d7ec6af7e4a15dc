"""The site, built once for all tests of this folder, and a browser."""

import subprocess
import sys
from pathlib import Path

import pytest
from browsers import chromium_with

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Return the folder of the site with both versions, the stable one a copy of the other."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install -e '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, str(DOCS / "build.py"), "--out", str(out), "--version"]
    done = subprocess.run([*build, "dev"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([*build, "stable"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="session")
def browser():
    """Return Chromium."""
    with chromium_with("--no-sandbox") as chromium:
        yield chromium
