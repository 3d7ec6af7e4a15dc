"""Where real files lie that some tests read."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("ACTIVEEVAL_SHARED") or Path(__file__).resolve().parents[2] / "shared")


@pytest.fixture
def kit():
    """Return a function from a name below the data kit to its path; skips where it is missing."""

    def find(name: str) -> Path:
        path = SHARED / "data" / name
        if not path.exists():
            pytest.skip(f"needs {path}; set ACTIVEEVAL_SHARED to the folder that holds data/")
        return path

    return find
