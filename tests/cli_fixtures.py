"""A folder of small inputs and a way to call the command line in it."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
from cli_files import json_rows, make_all

from activeeval import cli
from activeeval.core.grade_models.forest import Forests


@dataclass(frozen=True)
class Answer:
    """What a call of the command line left behind; long lines of talk are as they were before they were wrapped."""

    code: int
    out: str
    err: str

    def __bool__(self):
        raise TypeError("an answer is neither true nor false: ask for its code")

    @property
    def rows(self):
        """JSON lines of a call that went well."""
        assert self.code == 0, self.err
        return json_rows(self.out)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Return the folder of inputs; not to be written to."""
    folder = tmp_path_factory.mktemp("inputs")
    make_all(folder)
    return folder


@pytest.fixture(scope="session")
def made_files(made):
    return {path.name: path.read_bytes() for path in made.iterdir()}


@pytest.fixture
def folder(made_files, tmp_path, monkeypatch):
    """Return a copy of the inputs that is the working folder."""
    for name, content in made_files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder, capsys, monkeypatch):
    """Return a function from arguments to the answer of the command line, inside this process.

    A sample that is given no seed has the seed 0, not the operating system's.
    """
    monkeypatch.setattr("secrets.randbits", lambda bits: 0)

    def run(*arguments):
        code = cli.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err.replace("\n  ", " "))

    return run


TREES = 8
"""In a forest here, of 100 elsewhere: half of the time of many calls, and no test asks how good forests are."""


class GrownOnce:
    """Grows a forest of the same rows, parameters and seed once: most calls here train on the same few files."""

    grow = Forests._grow

    def __init__(self):
        self.forests = {}

    def __call__(self, model, features, targets):
        given = [getattr(model, name) for name in Forests.__annotations__ if name != "forests_"]
        if not isinstance(model.random_state, int):
            return GrownOnce.grow(model, features, targets)
        key = (repr(given), *((a.shape, a.dtype.str, a.tobytes()) for a in (features, *targets)))
        if key not in self.forests:
            n_trees, model.n_estimators = model.n_estimators, min(model.n_estimators, TREES)
            GrownOnce.grow(model, features, targets)
            model.n_estimators = n_trees
            self.forests[key] = model.forests_
        model.forests_ = list(self.forests[key])
        return None


@pytest.fixture(scope="session")
def grown_once():
    return GrownOnce()


@pytest.fixture(autouse=True)
def forests(monkeypatch, grown_once):
    """Let forests be those that earlier tests have grown."""
    monkeypatch.setattr(Forests, "_grow", lambda *given: grown_once(*given))


@pytest.fixture
def grown_anew(forests, monkeypatch):
    """Grow every forest, for a test that asks whether one seed gives one answer."""
    monkeypatch.setattr(Forests, "_grow", lambda *given: GrownOnce()(*given))


@pytest.fixture
def start(folder):
    """Return a function that starts the command line in a process of its own."""

    def run(*arguments, **options):
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        command = [sys.executable, "-m", "activeeval", *map(str, arguments)]
        return subprocess.Popen(command, cwd=folder, env=os.environ | {"MPLBACKEND": "agg"}, **given)

    return run
