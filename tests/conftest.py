"""What all tests share."""

import gc
import signal

import hypothesis
import numba
import pytest
from kit import kit  # noqa: F401
from threadpoolctl import threadpool_limits

from activeeval.core.planning import rehearsals
from tests.databases import (  # noqa: F401
    database_url,
    either_url,
    made_url,
    maker,
    migrated,
    postgresql,
    postgresql_url,
    quick_tables,
    sqlite_url,
)

# machines are shared: a slow second is no bug
hypothesis.settings.register_profile("full", deadline=None)
hypothesis.settings.register_profile("few", deadline=None, max_examples=30)
hypothesis.settings.load_profile("full")


def pytest_configure(config):
    """Words of 64 bits wrap around, in numpy's scalars with a warning; processes take Ctrl-C in the background too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's background, and so of what tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if numba.config.DISABLE_JIT:
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay to the end: searching them for garbage takes a third of the time of collecting them.

    Afterwards garbage is looked for seldom: it took three quarters of the time of parsing the house's files.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


WHOLE = {name: getattr(rehearsals, name) for name in ("_SETS", "_REPETITIONS")}
"""How much a plan rehearses."""


@pytest.fixture(scope="session", autouse=True)
def short_rehearsals():
    """Let plans rehearse few samples: four fifths of the time of drawing one, and few tests ask how good they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsals, "_SETS", 2)
        patch.setattr(rehearsals, "_REPETITIONS", 4)
        yield


@pytest.fixture
def whole_rehearsals(monkeypatch):
    """Let plans rehearse what they do for everybody."""
    for name, value in WHOLE.items():
        monkeypatch.setattr(rehearsals, name, value)


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_small_matrices():
    """The matrices and trees here are small: several threads of a library only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_progress_lines():
    """On a slow machine no progress line gets into the output that a test compares."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("activeeval.cli.waiting._EVERY", 1e6)
        yield


def pytest_terminal_summary(terminalreporter):
    """Tell what tests have found to differ from what is stored, where that is no failure."""
    reports = terminalreporter.getreports("passed")
    lines = [value for report in reports for name, value in report.user_properties if name == "differs"]
    if lines:
        terminalreporter.section("says something else than what is stored")
        for line in sorted(set(lines)):
            terminalreporter.line(line)
