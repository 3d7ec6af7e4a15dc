"""Write the pages that are made: of each command's help, of stored figures, of the methods, and of the notebooks.

They stand beside the pages that people write, in folders that git ignores. A file is written only where its content has
changed, so that Sphinx reads again what is new alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from _ext import cautions, commands, decision, evidence

MAKERS: tuple[Callable[[], dict[str, str]], ...] = (commands.pages, decision.pages, evidence.pages, cautions.pages)
"""Each returns texts by the path below docs/."""
NOTEBOOKS = "notebooks"
FOLDERS = ("commands", "evidence", "made", NOTEBOOKS)


def write_pages(docs: Path) -> None:
    """Write what has changed below the folder of the pages, and remove what is no longer made."""
    sys.path.insert(0, str(docs.parent))  # benchmarks are no package that is installed
    from benchmarks.headlines import headlines

    made = {path: text.encode() for make in MAKERS for path, text in make().items()}
    made["made/headlines.md"] = headlines(link="").encode()
    made |= {path: source.read_bytes() for path, source in evidence.pictures().items()}
    made |= {f"{NOTEBOOKS}/{each.name}": each.read_bytes() for each in docs.parent.glob("notebooks/*.ipynb")}
    for folder in FOLDERS:
        for file in (docs / folder).glob("*"):
            if f"{folder}/{file.name}" not in made:
                file.unlink()
    for path, content in made.items():
        file = docs / path
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
