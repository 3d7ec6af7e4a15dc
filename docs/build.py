"""Build the site: `python docs/build.py [--version dev|stable] [--out FOLDER]`.

Each version is a folder of its own, `FOLDER/dev` and `FOLDER/stable`; beside them stand `versions.js`, by which a page
finds the others, and a first page that leads to the stable version, or to the only one. Warnings are errors, and so are
links within the site that lead nowhere. Without a network: inventories of other projects are committed, notebooks show
their stored outputs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _ext.links import crawl  # noqa: E402

VERSIONS = ("stable", "dev")
MOVED = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>activeeval</title>
<meta http-equiv="refresh" content="0; url={version}/index.html"></head>
<body><a href="{version}/index.html">activeeval</a></body>
</html>
"""


def main() -> int:
    """Build one version and write what stands beside all; return Sphinx's exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", choices=VERSIONS, default="dev", help="default: dev")
    parser.add_argument("--out", type=Path, default=HERE / "_build" / "site", help="default: docs/_build/site")
    asked = parser.parse_args()
    target = asked.out / asked.version
    options = ["-W", "-n", "-q", "--keep-going", "-j", "auto", "-A", f"version_name={asked.version}"]
    code = sphinx([*options, "-d", str(HERE / "_build" / "doctrees"), "-b", "html", str(HERE), str(target)])
    if code:
        return code
    write_beside(asked.out)
    crawled = crawl(target, allowed=("../versions.js",))
    for problem in (*crawled.broken, *crawled.elsewhere):
        print(f"broken, or from elsewhere: {problem}", file=sys.stderr)
    print(f"{crawled.n_pages} pages, {crawled.n_links:,} links within the site, {len(crawled.broken)} broken")
    print(f"look at {target / 'index.html'}")
    return bool(crawled.broken or crawled.elsewhere)


def write_beside(site: Path) -> None:
    """Write the list of versions with their pages, and the page that leads to one."""
    built = {name: pages for name in VERSIONS if (pages := pages_of(site / name))}
    (site / "versions.js").write_text(f"window.ACTIVEEVAL_VERSIONS = {json.dumps(built)};\n")
    (site / "index.html").write_text(MOVED.format(version=next(iter(built))))


def pages_of(version: Path) -> list[str]:
    """Return the names of a version's pages."""
    return sorted(page.relative_to(version).with_suffix("").as_posix() for page in version.rglob("*.html"))


if __name__ == "__main__":
    sys.exit(main())
