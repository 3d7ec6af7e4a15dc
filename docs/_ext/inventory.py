"""Write the inventory of NumPy's documentation, of the few names that ours links to: `python docs/_ext/inventory.py`.

The others under `_inventories/` are the projects' own files. NumPy's is not in any package, and a build has no network.
"""

from __future__ import annotations

import zlib
from pathlib import Path

NAMES = {
    "numpy.ndarray": ("class", "reference/generated/numpy.ndarray.html"),
    "numpy.random.Generator": ("class", "reference/random/generator.html"),
    "numpy.random.default_rng": ("function", "reference/random/generator.html"),
    "numpy.random.SeedSequence": ("class", "reference/random/bit_generators/generated/numpy.random.SeedSequence.html"),
}


def main() -> None:
    """Write `_inventories/numpy.inv`, of version 2 of the format."""
    head = "# Sphinx inventory version 2\n# Project: NumPy\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = [f"{name} py:{kind} 1 {place}#$ -\n" for name, (kind, place) in NAMES.items()]
    target = Path(__file__).resolve().parent.parent / "_inventories" / "numpy.inv"
    target.write_bytes(head.encode() + zlib.compress("".join(lines).encode(), 9))


if __name__ == "__main__":
    main()
