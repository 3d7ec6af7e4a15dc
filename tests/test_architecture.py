"""The layers of the house as a small directed graph, its files as a larger one, and who may import which library."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import activeeval
from activeeval.core.lazily import homes_of
from benchmarks.house import nodes_of

HOUSE = Path(activeeval.__file__).parent

TABLE = {}
for line in Path(__file__).with_name("rooms.tsv").read_text("utf-8").splitlines():
    if line[0] != "#":
        what, _, words = line.partition("\t")
        TABLE[what] = set().union(*(TABLE[word] if word.isupper() else {word} for word in words.split()))
ALLOWED, LIBRARIES = (
    {what.removeprefix(kind): held for what, held in TABLE.items() if what.startswith(kind)}
    for kind in ("room ", "library ")
)
ENGINES = ("dask", "distributed", "ray", "pyspark", "py4j")
MODULES = [path for path in sorted(HOUSE.rglob("*.py")) if path != HOUSE / "__init__.py"]


def room(parts):
    """Return the room of a module: of the core its rooms, elsewhere the folder."""
    return "/".join(parts[: 2 if parts[0] == "core" else 1]).removesuffix(".py")


def room_of(path):
    return room(path.relative_to(HOUSE).parts)


def is_of_commands(path):
    """Whether a file is of the frame of the command line or holds commands of a capability."""
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return parts[0] in ("cli", "__main__") or "commands" in parts


@cache
def imported(path):
    """Return the full names of everything that a module imports, also inside functions."""
    names = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_arrows_make_no_circle():
    assert set().union(*ALLOWED.values()) <= set(ALLOWED)
    TopologicalSorter(ALLOWED).prepare()


def at_run_time(node):
    """Yield what a file says anywhere, also inside functions, but for what stands there for types alone."""
    left = [node]
    while left:
        for child in ast.iter_child_nodes(left.pop()):
            for_types = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
            said = child.orelse if for_types else [child]
            yield from said
            left += said


@cache
def file_of(name, house):
    """Return the file of a module, of a package its front (``__init__``), or None of what is neither."""
    place = house.parent.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def arrows_of(path, house):
    """Return the files that a file imports.

    A name of a package is an arrow to the package's front, a module of it to that module's file alone. So a room's file
    that imports its own front is in a circle wherever the front imports it. What a front imports late, by the name of
    its home, counts too: those of `_HOMES`, and those of the stub beside it.
    """
    stub = path.with_suffix(".pyi")
    names = list(homes_of(path)) if path.name == "__init__.py" and stub.is_file() else []
    for node in at_run_time(nodes_of(path)[0]):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [name if file_of(name, house) else node.module for name in whole]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOMES":
            names += ast.literal_eval(node.value)
    # the front of the whole is nobody's floor: rooms want nothing of it but its version, as a test below holds
    front = file_of(house.name, house)
    return {file_of(name, house) for name in names if name.split(".")[0] == house.name} - {None, front}


def files_in_order(house):
    """Raise where files import each other in a circle, which the error names."""
    front = house / "__init__.py"
    arrows = {path: arrows_of(path, house) for path in sorted(house.rglob("*.py")) if path != front}
    named = {str(a.relative_to(house)): {str(b.relative_to(house)) for b in held} for a, held in arrows.items()}
    TopologicalSorter(named).prepare()


def test_files_make_no_circle():
    files_in_order(HOUSE)


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a.py": "import house.b", "b.py": "import house.c", "c.py": "import house"}, None),
        ({"a.py": "from house.b import B", "b.py": "from house.a import A"}, {"a.py", "b.py"}),
        ({"a.py": "from house import b", "b.py": "def f():\n    from house.a import A"}, {"a.py", "b.py"}),
        ({"a.py": "import house.b", "b.py": "if TYPE_CHECKING:\n    import house.a"}, None),
        ({"a.py": "import house.r", "r/__init__.py": "import house.a"}, {"a.py", "r/__init__.py"}),
        ({"r/__init__.py": "from house.r.a import A", "r/a.py": "from house.r import B"}, {"r/__init__.py", "r/a.py"}),
        ({"r/__init__.py": "from house.r.a import A", "r/a.py": "from house.r.b import B", "r/b.py": ""}, None),
        ({"r/__init__.py": "_HOMES = {'house.r.a': ('A',)}", "r/a.py": "from house.r import A"},
         {"r/__init__.py", "r/a.py"}),
        ({"r/__init__.py": "", "r/__init__.pyi": "from house.r.a import A as A", "r/a.py": "from house.r import A"},
         {"r/__init__.py", "r/a.py"}),
    ],
)  # fmt: skip
def test_circles_of_files_are_found(tmp_path, files, circle):
    house = tmp_path / "house"
    for name, text in ({"__init__.py": "import house.a"} | files).items():
        (house / name).parent.mkdir(parents=True, exist_ok=True)
        (house / name).write_text(text)
    if circle is None:
        files_in_order(house)
        return
    with pytest.raises(CycleError) as told:
        files_in_order(house)
    assert set(told.value.args[1]) == circle


def test_imports_point_downward_only():
    public = {"__version__"}  # the one name of the package itself that a room may want
    upward = []
    for path in MODULES:
        own, parts = room_of(path), [name.split(".") for name in imported(path)]
        if path != HOUSE / "core" / "__init__.py":
            assert own in ALLOWED, f"{own} has no place in the picture"
            rooms = {room(name[1:]) for name in parts if name[0] == "activeeval" and len(name) > 1} - {own} - public
            upward += [f"{path} imports {name}" for name in sorted(rooms - ALLOWED[own])]
    assert not upward


def test_commands_are_imported_by_commands_alone():
    below = [path for path in MODULES if not is_of_commands(path)]
    users = {str(path) for path in below for name in imported(path) if {"commands", "cli"} & set(name.split(".")[1:-1])}
    assert users == set()


def test_click_is_of_commands_alone():
    users = {path for path in MODULES if any(name.split(".")[0] == "click" for name in imported(path))}
    assert [str(path) for path in users if not is_of_commands(path)] == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_in_their_rooms(library):
    users = {room_of(p) for p in MODULES if any(f"{name}.".startswith(f"{library}.") for name in imported(p))}
    assert users <= LIBRARIES[library]


def test_engines_are_imported_by_their_adapters_alone():
    users = {path for path in MODULES if {name.split(".")[0] for name in imported(path)} & set(ENGINES)}
    assert {path.parent.relative_to(HOUSE).as_posix() for path in users} == {"scale/engines"}


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("module", ["activeeval", "activeeval.core.errors", "activeeval.cli"])
def test_importing_the_package_is_light(module):
    loaded = in_a_new_process(f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})")
    assert not {"numba", "sklearn", "mord", "matplotlib", "jinja2", "polars", "python_calamine"} & set(loaded)


def test_what_a_worker_imports_first_leaves_numba_and_numpy_to_the_environment_that_it_sets():
    loaded = in_a_new_process("import sys, activeeval.scale.engines.shipping; print(*sys.modules)")
    assert not {"numba", "numpy", "distributed", "ray", "pyspark"} & set(loaded)


def test_every_public_name_is_there_and_unknown_ones_are_not():
    for name in activeeval.__all__:
        assert getattr(activeeval, name) is not None
        assert name in dir(activeeval)
    with pytest.raises(AttributeError, match="module 'activeeval' has no attribute 'nothing'"):
        _ = activeeval.nothing


def literals(path):
    """Yield the string literals of a file, with their lines, but for docstrings."""
    tree = nodes_of(path)[0]
    # what stands alone documents: a module, a function, or the constant above it
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_options_are_named_by_the_command_line_alone():
    below = [path for path in MODULES if not is_of_commands(path)]
    assert [(str(p), n, text) for p in below for n, text in literals(p) if re.search("--[a-z]", text)] == []


def test_what_decides_an_answer_is_found_in_one_place():
    """A second place followed another law, and left out what cannot be judged."""
    makers = {
        path.relative_to(HOUSE).as_posix()
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "MoreNeeded"
    }
    assert makers == {"core/campaign/more_needed.py"}
