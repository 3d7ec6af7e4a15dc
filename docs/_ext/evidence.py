"""Pages of evidence: the tables of `benchmarks/`, grouped, each with the command and the commit that made it.

`benchmarks/RESULTS.md` is cut at its sections, which name their command and commit; what stands in files of its own is
taken whole. A section that no page takes, or that has no origin, stops the build.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # benchmarks are no part of what is installed

from benchmarks import headlines as leading  # noqa: E402
from benchmarks.all import STEPS  # noqa: E402

BENCHMARKS = ROOT / "benchmarks"
FOLDER = "evidence"
STORED = "stored"
MOST_ROWS = 30
"""Tables with more rows are folded: a reader sees what stands behind them."""
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
PICTURE = re.compile(r"(!\[[^\]]*\]\()results/(?P<path>[^)]+)\)")
ORIGIN = re.compile(r"`python -m benchmarks\.[^`]+`,? commit [0-9a-f]{7,}")
WITHOUT_ORIGIN = ("Where results differ from the paper, and why",)
"""What explains figures of other sections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A page of evidence.

    Attributes
    ----------
    title, about : str
        Its heading, and a sentence on what it shows.
    files : tuple of str
        In benchmarks/results, taken whole.
    sections : tuple of str
        Of RESULTS.md, by the beginning of their headings.
    """

    title: str
    about: str
    files: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()


TOPICS = {
    "coverage": Topic(
        title="Coverage",
        about="How often 95 % intervals hold the truth: with good and bad models, few queries, the worst known cases.",
        files=("coverage.md",),
    ),
    "efficiency": Topic(
        title="Efficiency",
        about="How many times the labels random queries judged whole need for the same error, beside the limit.",
        files=("readme-table.md", "efficiency.md"),
    ),
    "peers": Topic(
        title="Peers",
        about="Speed and precision beside other software, and beside the field's own ways to sample.",
        sections=("Speed and precision beside the peers",),
        files=("baselines.md",),
    ),
    "active-evaluation": Topic(
        title="Active evaluation: the paper's claims",
        about="Figures 1 to 6 of Sawade et al., on a generated collection as large as MSLR-WEB30K and on real ones.",
        sections=("The paper's experiments", "Where results differ", "How the generated collection"),
    ),
    "gains": Topic(
        title="Gains and discounts: the papers' claims",
        about="The experiments of Zhou and Zha on learning gains and discounts from preferences.",
        sections=("Learning gains and discounts",),
    ),
    "rankers": Topic(
        title="Top-k and tuned rankers: the papers' claims",
        about="The experiments of Niu et al. on top-k judging, and of Chen et al. on rankers tuned with clicks.",
        sections=("Rankers of a top-k truth", "Boosted trees adapted", "Top-k labelling", "Top-k truths"),
    ),
    "one-sample": Topic(
        title="One sample, many questions",
        about="What one sample loses against a sample for each question; all pairs of many systems.",
        sections=("One sample, many questions", "Many systems"),
    ),
    "planning": Topic(
        title="Planning",
        about="What was planned beside what came: half-widths, ranges, pilots, segments, effective sample sizes.",
        sections=("What is planned", "Half-widths by segment", "Forecasts of a half-width", "How right effective"),
    ),
    "nights": Topic(
        title="Nights",
        about="Index updates from night to night: labels, coverage, alarms, delays.",
        sections=("Ten nights",),
    ),
    "performance": Topic(
        title="Performance",
        about="Kernels, readers, start-up; pools in chunks and in files; engines; what a sample's file takes.",
        sections=("Kernels", "Pools of 10", "A pool in files", "Size and time", "Looking at a stored", "How the house"),
    ),
    "durability": Topic(
        title="Durability",
        about="The store and the judging page under kills, failing disks and load, on SQLite and PostgreSQL.",
        sections=("What the store promises", "The judging page", "Campaigns in the store"),
    ),
}  # fmt: skip
SHOWN_ON = {
    "efficiency.md": "efficiency",
    "coverage.md": "coverage",
    "nights.json": "nights",
    "page.json": "durability",
    "engines-large.json": "performance",
}
"""The page that shows the figures of a file, of those that README leads with."""


def pages() -> dict[str, str]:
    """Return a page for each topic, one of all that is stored, and the tables of the section's first page."""
    sections = sections_of((BENCHMARKS / "RESULTS.md").read_text("utf-8"))
    taken = [title for topic in TOPICS.values() for title in _titles(topic, sections)]
    if sorted(taken) != sorted(sections):
        raise ValueError(f"evidence: not on exactly one page: {sorted({*sections} ^ {*taken}) or taken}")
    texts = {f"{FOLDER}/{name}.md": "\n".join(_page(topic, sections)) + "\n" for name, topic in TOPICS.items()}
    texts[f"{FOLDER}/{STORED}.md"] = "\n".join(_stored()) + "\n"
    return texts | {"made/evidence.txt": _index(), "made/headlines.txt": "\n".join(_headlines()) + "\n"}


def pictures() -> dict[str, Path]:
    """Return the pictures that the pages show, by their paths below docs/."""
    text = (BENCHMARKS / "RESULTS.md").read_text("utf-8")
    shown = [match["path"] for match in PICTURE.finditer(text)]
    return {f"{FOLDER}/{Path(path).name}": BENCHMARKS / "results" / path for path in shown}


def sections_of(text: str) -> dict[str, str]:
    """Return the sections of RESULTS.md by their headings.

    Examples
    --------
    >>> sections_of("# Results\\n\\n## One\\n\\ntext\\n\\n## Two\\n\\nmore\\n")
    {'One': 'text', 'Two': 'more'}
    """
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {title.strip(): body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _titles(topic: Topic, sections: dict[str, str]) -> list[str]:
    return [title for title in sections if title.startswith(topic.sections)] if topic.sections else []


def _page(topic: Topic, sections: dict[str, str]) -> Iterator[str]:
    yield from (f"# {topic.title}", "", topic.about)
    for name in topic.files:
        yield from ("", _file(name))
    for title in _titles(topic, sections):
        if title not in WITHOUT_ORIGIN and not ORIGIN.search(sections[title]):
            raise ValueError(f"evidence: {title!r} does not say which command and commit made it")
        text = PICTURE.sub(lambda match: f"{match[1]}{Path(match['path']).name})", sections[title])
        yield from ("", f"## {title}", "", folded(text))


def _file(name: str) -> str:
    text = (BENCHMARKS / "results" / name).read_text("utf-8").strip()
    if name == "readme-table.md":
        made = json.loads((BENCHMARKS / "results" / "efficiency.json").read_text("utf-8"))
        text = f"# In short\n\n`{made['command']}`, commit {made['git_commit']}: of the tables below.\n\n{text}"
    if not ORIGIN.search(text):
        raise ValueError(f"evidence: {name} does not say which command and commit made it")
    return folded(re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE))


def folded(text: str) -> str:
    """Return a text whose long tables are shown on demand.

    Examples
    --------
    >>> folded("a\\n\\n| x |\\n| - |\\n| 1 |")
    'a\\n\\n| x |\\n| - |\\n| 1 |'
    """

    def fold(table: re.Match[str]) -> str:
        n_rows = table[0].strip().count("\n") - 1
        if n_rows <= MOST_ROWS:
            return table[0]
        return f":::{{dropdown}} A table of {n_rows} rows\n\n{table[0].strip()}\n:::\n"

    return TABLE.sub(fold, text)


def _headlines() -> Iterator[str]:
    """Yield the table that README leads with: what, figure, where."""
    yield from ("| what | figure | where |", "|---|---|---|")
    for row in leading.headlines().splitlines()[2:]:
        what, value = (cell.strip() for cell in row.strip("| ").split(" | "))
        figure, file = re.fullmatch(r"\[(.+)\]\(benchmarks/results/(.+)\)", value).groups()  # type: ignore[union-attr]
        topic = SHOWN_ON[file]
        yield f"| {what} | {figure} | [{TOPICS[topic].title}]({FOLDER}/{topic}.md), from `{file}` |"


def _stored() -> Iterator[str]:
    """Yield the page of every stored result."""
    yield from (
        "# Every stored result",
        "",
        "Each row is a file below `benchmarks/`, with the command that makes it again",
    )
    yield from ("and the commits that made what it holds. `python -m benchmarks.all --only NAME` runs one.", "")
    yield from ("| name | figures | command | file | commit |", "|---|---|---|---|---|")
    for step in STEPS:
        files = [file for file in step.files if file.endswith(".json")]
        stored = [json.loads((BENCHMARKS / file).read_text("utf-8")) for file in files]
        commits = dict.fromkeys(commit for each in stored for commit in _commits(each))
        names = ", ".join(f"`{file}`" for file in step.files)
        yield f"| {step.name} | {step.figures} | `python -m {step.command}` | {names} | {', '.join(commits) or '–'} |"


def _commits(stored: Any) -> Iterator[str]:
    """Yield every commit that is named in a stored result."""
    if isinstance(stored, dict):
        if stored.get("git_commit"):
            yield str(stored["git_commit"])[:12]
        stored = list(stored.values())
    if isinstance(stored, list):
        for each in stored:
            if isinstance(each, dict | list):
                yield from _commits(each)


def _index() -> str:
    about = {name: (topic.title, topic.about) for name, topic in TOPICS.items()}
    about[STORED] = (
        "Every stored result",
        "All files with their commands and commits, those without a table of their own too.",
    )
    rows = [f"| [{title}]({FOLDER}/{name}.md) | {text} |" for name, (title, text) in about.items()]
    names = "\n".join(f"{FOLDER}/{name}" for name in about)
    table = ["| page | what it shows |", "|---|---|", *rows, ""]
    return "\n".join([*table, "```{toctree}", ":hidden:", "", names, "```", ""])
