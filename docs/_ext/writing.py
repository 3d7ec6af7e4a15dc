"""Write the pages that are made: of each command's help, of stored figures, of the methods, and of the notebooks.

They stand beside the pages that people write, in folders that git ignores. A file is written only where its text has
changed, so that Sphinx reads again what is new alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MAKERS: tuple[Callable[[], dict[str, str]], ...] = ()
"""Each returns texts by the path below docs/."""
NOTEBOOKS = "notebooks"
FOLDERS = ("commands", "evidence", "made", NOTEBOOKS)


def write_pages(docs: Path) -> None:
    """Write what has changed below the folder of the pages, and remove what is no longer made."""
    texts = {path: text for make in MAKERS for path, text in make().items()}
    texts |= {f"{NOTEBOOKS}/{each.name}": each.read_text("utf-8") for each in docs.parent.glob("notebooks/*.ipynb")}
    for folder in FOLDERS:
        for file in (docs / folder).glob("*"):
            if f"{folder}/{file.name}" not in texts:
                file.unlink()
    for path, text in texts.items():
        file = docs / path
        if not file.exists() or file.read_text("utf-8") != text:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
