"""The site, built once for all tests of this folder, and a browser."""

import shutil
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
    """Build the site and return its folder: the version ``dev``, and a copy of it as ``stable``."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install -e '.[docs]'")
    from build import write_beside

    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, str(DOCS / "build.py"), "--out", str(out), "--version", "dev"]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(out / "dev", out / "stable")
    for page in (out / "stable").rglob("*.html"):
        page.write_text(page.read_text("utf-8").replace("<option>dev</option>", "<option>stable</option>"), "utf-8")
    write_beside(out)
    return out


@pytest.fixture(scope="session")
def browser():
    """Return Chromium."""
    with chromium_with("--no-sandbox") as chromium:
        yield chromium
