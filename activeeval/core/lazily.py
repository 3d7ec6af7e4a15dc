"""Lazy import of the public names of a package at their first use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def attached(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Build ``__getattr__`` and ``__dir__`` of a package whose names are defined in submodules.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    homes : mapping of str to sequence of str
        Module -> the names that it defines.

    Returns
    -------
    (callable, callable)
        ``__getattr__``, which imports a name at its first use, and ``__dir__``, which lists the names of ``homes`` and
        of the package's ``__all__``. The first raises AttributeError for other names.

    Examples
    --------
    >>> get, names = attached("activeeval", {"activeeval.core.errors": ["InputError"]})
    >>> get("InputError"), "InputError" in names(), "annotations" in names()
    (<class 'activeeval.core.errors.InputError'>, True, False)
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        """Import a name from its module and store it in the package; raise AttributeError if it is unknown."""
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*home, *vars(sys.modules[package]).get("__all__", ())})


def homes_of(front: str) -> dict[str, list[str]]:
    """Map each module to the names that a package imports from it, as read from the stub next to its ``__init__.py``.

    Parameters
    ----------
    front : str
        The ``__file__`` of the package; its stub ends in ``.pyi``.
    """
    stub = ast.parse(Path(front).with_suffix(".pyi").read_text("utf-8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {str(node.module): [alias.name for alias in node.names] for node in imports}
