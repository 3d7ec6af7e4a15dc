"""Every module of the core is tested by a file of its name, or by the file that a row here names."""

from pathlib import Path

import pytest

import activeeval

CORE, HERE = Path(activeeval.__file__).parent / "core", Path(__file__).parent
TESTS = HERE.parent
ROWS = [line.split("\t") for line in (HERE / "tested-by.tsv").read_text("utf-8").splitlines()[1:]]
BY = {file: modules.split() for file, modules in ROWS}
"""Modules without a file of their name, by the file that tests them."""


def modules(core):
    """Return the modules of a core by their paths in it, without fronts of packages."""
    return {path.relative_to(core).with_suffix("") for path in core.rglob("*.py") if path.name != "__init__.py"}


def has_its_own(module, tests):
    """Whether there is a test file of a module's name."""
    return (tests / Path(module).parent / f"test_{Path(module).name}.py").exists()


def untested(core, tests, rows):
    """Return the modules that neither a test file nor a row names."""
    named = {Path(module) for listed in rows.values() for module in listed}
    return {module for module in modules(core) - named if not has_its_own(module, tests)}


def test_every_module_has_a_test_by_name():
    assert sorted(map(str, untested(CORE, HERE, BY))) == []


@pytest.mark.parametrize("file", BY)
def test_a_row_names_modules_without_a_file_of_their_own(file):
    assert (TESTS / file).is_file()
    assert {Path(module) for module in BY[file]} <= modules(CORE)
    assert [module for module in BY[file] if has_its_own(module, HERE)] == []


def test_no_module_has_two_rows():
    listed = [module for modules_of in BY.values() for module in modules_of]
    assert sorted(listed) == sorted(set(listed))


def test_a_module_without_a_test_is_noticed(tmp_path):
    core, tests = tmp_path / "core", tmp_path / "tests"
    for path in (core / "a" / "one.py", core / "a" / "two.py", core / "three.py", tests / "a" / "test_one.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert untested(core, tests, {"test_x.py": ["three"]}) == {Path("a/two")}
