"""The layers of the house as a small directed graph, and who may import which library."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import activeeval

HOUSE = Path(activeeval.__file__).parent

GROUND = {"errors", "checks", "types", "kernels", "pool", "results"}
MODELS = {"grade_models", "gains", "rankers", "adaptation", "top_k"}
DECISIONS = GROUND | {"measures", "design", "estimation"}
BELOW_CASES = DECISIONS | MODELS | {"io", "judgments", "campaign", "simulation", "planning", "generated"}
ALLOWED = {
    # ground
    "errors": set(),
    "lazily": set(),
    "kernels": {"types"},
    "types": set(),
    "checks": {"errors", "types"},
    "pool": {"errors", "checks", "types", "kernels"},
    "results": {"errors", "checks", "types"},
    "generated": {"errors", "checks", "types", "pool", "measures"},
    # beside
    "io": GROUND,
    "store": {"errors", "io", "types"},
    # nouns
    "measures": GROUND,
    "judgments": GROUND | {"measures", "io"},
    # models
    "grade_models": GROUND | {"measures", "io", "lazily"},
    "gains": GROUND | {"measures", "io"},
    "top_k": GROUND | {"measures"},
    "rankers": GROUND | {"measures", "grade_models"},
    "adaptation": GROUND | {"measures", "grade_models", "rankers", "io"},
    # decide, estimate
    "design": GROUND | {"measures"},
    "estimation": {"errors", "checks", "types", "results", "kernels", "design"},
    # foresight
    "simulation": DECISIONS,
    "planning": DECISIONS | {"simulation"},
    "scale": GROUND | {"measures", "design", "campaign"},
    # conductor
    "campaign": DECISIONS | {"grade_models", "io", "judgments"},
    # assembly
    "cases": BELOW_CASES,
    # show
    "report": BELOW_CASES,
    # verbs
    "tasks": BELOW_CASES | {"cases", "report", "store"},
    # faces
    "cli": BELOW_CASES | {"cases", "report", "store", "tasks"},
    "__main__": {"cli"},
}
LIBRARIES = {
    "numba": {"kernels"},
    "sklearn": {"grade_models", "rankers", "adaptation", "gains"},
    "mord": {"grade_models"},
    "clarabel": {"rankers", "adaptation", "gains"},
    "scipy.optimize": {"grade_models", "rankers", "adaptation", "gains"},
    "click": {"cli"},
    "rich": {"cli"},
    "matplotlib": {"report"},
    "python_calamine": {"io"},
    "sqlalchemy": {"store"},
    "alembic": {"store"},
    "psycopg": {"store"},
}
MODULES = [path for path in sorted(HOUSE.rglob("*.py")) if path != HOUSE / "__init__.py"]


def room_of(path):
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


@cache
def imported(path):
    """Return the full names of everything that a module imports, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_arrows_make_no_circle():
    assert set().union(*ALLOWED.values()) <= set(ALLOWED)
    TopologicalSorter(ALLOWED).prepare()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_imports_point_downward_only(path):
    room = room_of(path)
    assert room in ALLOWED, f"{room} has no place in the picture"
    parts = [name.split(".") for name in imported(path)]
    public = {"__version__"}  # the one name of the package itself that a room may want
    rooms = {name[1] for name in parts if name[0] == "activeeval" and len(name) > 1} - {room} - public
    assert rooms <= ALLOWED[room], f"{room} imports {sorted(rooms - ALLOWED[room])}"


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_in_their_rooms(library):
    users = {room_of(p) for p in MODULES if any(f"{name}.".startswith(f"{library}.") for name in imported(p))}
    assert users <= LIBRARIES[library]


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("module", ["activeeval", "activeeval.errors", "activeeval.cli"])
def test_importing_the_package_is_light(module):
    loaded = in_a_new_process(f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})")
    assert not {"numba", "sklearn", "mord", "matplotlib", "polars", "python_calamine"} & set(loaded)


def test_every_public_name_is_there_and_unknown_ones_are_not():
    for name in activeeval.__all__:
        assert getattr(activeeval, name) is not None
        assert name in dir(activeeval)
    with pytest.raises(AttributeError, match="module 'activeeval' has no attribute 'nothing'"):
        _ = activeeval.nothing


def test_the_contract_is_importable_from_the_top():
    contract = "QueryPool Rankings DCG ERR Additive Cascade NDCG AP Precision RBP parse_measure Moments"
    assert set(contract.split()) <= set(activeeval.__all__)
