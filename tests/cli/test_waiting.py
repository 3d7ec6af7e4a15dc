"""What a terminal shows of long work, and what is written where there is none; stdout sees nothing of it."""

import os
import time

import pytest
from patience import until

from activeeval.cli import waiting as module
from activeeval.cli.waiting import FIRST_USE, keep_told, progress, settle, tell
from activeeval.core.kernels.first_use import WATCHERS, say_first_use


class Terminal:
    """A stderr that keeps what it is sent and says that it is a terminal, or that it is none."""

    def __init__(self, *, is_seen=True):
        self.sent = ""
        self.is_seen = is_seen

    def isatty(self):
        return self.is_seen

    def write(self, text):
        self.sent += text

    def flush(self):
        pass


def a_terminal(monkeypatch, patience=0.0):
    """Put a terminal in the place of stderr; inside a test, as pytest puts its own there before each."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(module, "_PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def a_file(monkeypatch, every=0.05):
    """Put something that is no terminal in the place of stderr."""
    written = Terminal(is_seen=False)
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(module, "_EVERY", every)
    return written


def shown_soon(terminal, text):
    return until(lambda: text in terminal.sent)


def test_steps_are_told_and_counted_until_the_answer(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with keep_told(quiet=False):
        tell("reading")
        assert shown_soon(terminal, "reading")
        with progress(3, "three steps") as advance:
            assert shown_soon(terminal, "three steps")
            advance("one")
            advance("two")
            assert shown_soon(terminal, "two (2 of 3)")
        settle()
        before = terminal.sent
        tell("nobody reads this")
        time.sleep(0.2)
        assert terminal.sent == before
    assert "nobody" not in terminal.sent


@pytest.mark.parametrize("place", [a_terminal, a_file])
def test_short_work_shows_nothing(monkeypatch, place):
    sent = place(monkeypatch, 60.0)
    with keep_told(quiet=False):
        tell("reading")
    assert sent.sent == ""
    assert not module._LINES


def broken(terminal):
    with keep_told(quiet=False):
        tell("reading")
        assert shown_soon(terminal, "reading")
        raise ValueError("bad")


def test_an_error_takes_the_line_away(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with pytest.raises(ValueError, match="bad"):
        broken(terminal)
    assert terminal.sent.endswith("\x1b[2K")
    assert not module._LINES


def test_without_a_terminal_a_line_is_written_again_and_again(monkeypatch):
    written = a_file(monkeypatch)
    with keep_told(quiet=False):
        with progress(3, "three steps") as advance:
            advance("one")
            assert shown_soon(written, "activeeval: one (1 of 3), 0 s so far\n")
        tell("reading")
        assert shown_soon(written, "reading, 0 s so far\nactiveeval: reading, 0 s so far\n")
        settle()
        before = written.sent
        time.sleep(0.2)
        assert written.sent == before


@pytest.mark.parametrize("how", [{"quiet": True}, {"quiet": False, "is_all": False}])
def test_whoever_wants_to_hear_nothing_hears_nothing(monkeypatch, how):
    written = a_file(monkeypatch, every=0.0)
    with keep_told(**how):
        say_first_use()
        time.sleep(0.2)
    assert written.sent == ""


def test_a_stderr_that_is_gone_ends_no_work(monkeypatch):
    written = a_file(monkeypatch, every=0.0)
    monkeypatch.setattr(written, "write", lambda text: 1 / 0 if not text else os.close(-1))
    with keep_told(quiet=False):
        time.sleep(0.2)
        say_first_use()
    assert not module._LINES


@pytest.mark.parametrize("place", [a_terminal, a_file])
@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_a_first_use_is_said_once(monkeypatch, place, patience):
    sent = place(monkeypatch, patience)
    with keep_told(quiet=False):
        if not patience:
            assert shown_soon(sent, "working")
        say_first_use()
        say_first_use()
        assert shown_soon(sent, "first use: compiling")
    assert sent.sent.replace("\n", " ").count(FIRST_USE[:30]) == 1
    assert WATCHERS == []
