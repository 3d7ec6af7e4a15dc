"""Write the pages that are made: of each command's help, of stored figures, of the methods, and of the notebooks.

They stand beside the pages that people write, in folders that git ignores. A file is written only where its content has
changed, so that Sphinx reads again what is new alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import commands, decision, evidence

MAKERS: tuple[Callable[[], dict[str, str]], ...] = (commands.pages, decision.pages, evidence.pages)
"""Each returns texts by the path below docs/."""
COPIERS: tuple[Callable[[], dict[str, Path]], ...] = (evidence.pictures,)
"""Each returns files to be copied, by the path below docs/."""
NOTEBOOKS = "notebooks"
FOLDERS = ("commands", "evidence", "made", NOTEBOOKS)


def write_pages(docs: Path) -> None:
    """Write what has changed below the folder of the pages, and remove what is no longer made."""
    contents = made(docs)
    for folder in FOLDERS:
        for file in (docs / folder).glob("*"):
            if f"{folder}/{file.name}" not in contents:
                file.unlink()
    for path, content in contents.items():
        file = docs / path
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)


def made(docs: Path) -> dict[str, bytes]:
    """Return what is made, by the path below docs/."""
    contents = {path: text.encode() for make in MAKERS for path, text in make().items()}
    contents |= {path: file.read_bytes() for copy in COPIERS for path, file in copy().items()}
    return contents | {f"{NOTEBOOKS}/{each.name}": each.read_bytes() for each in docs.parent.glob("notebooks/*.ipynb")}
