"""Install a built wheel into an empty environment and run the demo from there: `python tests/install_wheel.py dist`.

Nothing of the repository is on the path: what the wheel lacks is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

DEMO = ("demo", "--queries", "100", "--repetitions", "50")


def main() -> int:
    """Return 0 where the demo of the installed package writes its picture."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        programs = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for command in (["python", "-m", "pip", "install", "--quiet", str(wheel)], ["activeeval", *DEMO]):
            subprocess.run([str(programs / command[0]), *command[1:]], cwd=place, env=environment, check=True)
        is_there = (place / "demo-out" / "demo.png").is_file()
    print(f"{wheel.name}: {'installed, and the demo ran' if is_there else 'the demo wrote no picture'}")
    return not is_there


if __name__ == "__main__":
    sys.exit(main())
