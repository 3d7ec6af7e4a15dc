"""Every public name has an example that runs, stands on a page of the reference, and in a group of help(activeeval)."""

import inspect
import pydoc
import re
from importlib import import_module
from pathlib import Path

import pytest

import activeeval

PAGES = Path(__file__).parents[1] / "docs" / "api"
ENTRY = re.compile(r"^\.\. auto(?:class|data|exception|function):: (\S+)$", re.MULTILINE)
IN_A_MODULE = {"__version__": "activeeval", "METHODS": "activeeval.core.design.methods"}
"""Values have no docstring of their own: their example stands in that of a module, and names them."""
UNNAMED = ("ForestGradeModel", "HyperLinearRanker", "cross_fitted_probs", "read_letor")
"""Names of rooms that the overview leads to, which programs call here."""
GROUPS = (
    *("Read judgments that are there", "Plan and draw what to judge", "Read what was judged"),
    *("Judge for as long as it takes", "Queries, rankings and judgments", "Measures", "Methods and designs"),
    *("Simulate where all labels are known", "Grade models and graders", "Learn what grades are worth"),
    *("Top-k labels and rankers", "Errors and warnings"),
)


NAMES = ["__version__", *(name for names in activeeval._HOMES.values() for name in names)]
"""Every name that the package has, those that `__all__` lists and the others."""


def listed() -> list[str]:
    """Return the full names that the pages of the reference list."""
    return [name for page in sorted(PAGES.glob("*.md")) for name in ENTRY.findall(page.read_text("utf-8"))]


def value_of(name: str) -> object:
    """Return what a full name names."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def has_example(name: str, value: object) -> bool:
    """Say whether a docstring shows the name in use: its own, not one that a class inherits."""
    last = name.rpartition(".")[2]
    if last in IN_A_MODULE:
        module = import_module(IN_A_MODULE[last])
        return re.search(rf"^(>>>|\.\.\.).*\b{last}\b", module.__doc__ or "", re.MULTILINE) is not None
    # a class without a docstring would show its base's
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return ">>>" in (text or "")


def without_example(names: list[str]) -> list[str]:
    """Return those of some full names that have no example."""
    return [name for name in names if not has_example(name, value_of(name))]


def test_every_name_of_the_package_has_an_example():
    assert set(activeeval.__all__) < set(NAMES)
    assert without_example([f"activeeval.{name}" for name in NAMES]) == []


def test_every_name_of_the_reference_has_an_example():
    assert len(listed()) > len(NAMES)
    assert without_example(listed()) == []


def test_the_reference_lists_every_name_of_the_package_once():
    names = listed()
    last = {name.rpartition(".")[2] for name in names}
    assert sorted(set(NAMES) - last - {"__version__"}) == []
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_index_leads_to_every_page():
    index = (PAGES.parent / "api.md").read_text("utf-8")
    pages = [page.stem for page in sorted(PAGES.glob("*.md"))]
    assert pages
    assert [page for page in pages if f"](api/{page}.md)" not in index or f"\napi/{page}\n" not in index] == []


@pytest.mark.parametrize("group", GROUPS)
def test_help_holds_each_group(group):
    page = pydoc.render_doc(activeeval, renderer=pydoc.plaintext)
    assert f"\n    {group}\n" in page


def test_help_names_every_name():
    page = activeeval.__doc__
    assert [name for name in NAMES if name not in {*IN_A_MODULE, *UNNAMED} and f"`{name}`" not in page] == []
    assert [name for name in IN_A_MODULE if name not in page] == []


def test_a_name_without_an_example_is_noticed():
    def bare():
        """Do nothing."""

    class Heir(activeeval.Estimate):
        pass

    assert not has_example("tests.bare", bare)
    assert not has_example("tests.Heir", Heir)
    assert has_example("activeeval.score", activeeval.score)
