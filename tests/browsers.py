"""Chromium for tests: started once for many, or a line that says what is missing."""

import shutil
from contextlib import contextmanager

import pytest
from databases import missing


@contextmanager
def chromium_with(*options):
    """Yield a browser that was started with some options."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing("chromium", "no browser is installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=path, args=list(options))
