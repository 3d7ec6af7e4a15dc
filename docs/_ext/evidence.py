"""Pages of evidence: the tables of `benchmarks/`, grouped, each with the command and the commit that made it.

`benchmarks/RESULTS.md` is cut at its sections, which name their command and commit; what stands in files of its own is
taken whole. A section that no page takes, or that has no origin, stops the build.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FOLDER = "evidence"
MOST_ROWS = 30
"""Tables with more rows are folded, so that a reader sees what stands behind them."""
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
PICTURE = re.compile(r"(!\[[^\]]*\]\()results/(?P<path>[^)]+)\)")
ORIGIN = re.compile(r"`python -m benchmarks\.[^`]+`.*?commit [0-9a-f]{7,}", re.DOTALL)
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
        about="How often 95 % intervals hold the truth: good and bad models, few queries, the worst cases.",
        files=("coverage.md",),
    ),
    "efficiency": Topic(
        title="Efficiency",
        about="How many times the labels random queries need for the same error, with the limit beside it.",
        files=("efficiency.md",),
    ),
    "peers": Topic(
        title="Peers",
        about="Speed and precision beside other software, and beside the field's own ways to sample.",
        sections=("Speed beside the peers",),
        files=("baselines.md",),
    ),
    "active-evaluation": Topic(
        title="Active evaluation: the paper's claims",
        about="Figures 1 to 6 of Sawade et al. on a generated collection of MSLR-WEB30K's size and on real ones.",
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
        sections=("Rankers of a top-k truth", "Boosted trees adapted", "Top-k labelling"),
    ),
    "one-sample": Topic(
        title="One sample, many questions",
        about="What one sample loses against a sample for each question; all pairs of many systems.",
        sections=("One sample, many questions", "Many systems"),
    ),
    "planning": Topic(
        title="Planning",
        about="What was planned beside what came: half-widths, ranges, pilots, segments, effective sample sizes.",
        sections=("What is planned", "Half-widths by segment", "How right effective"),
    ),
    "nights": Topic(
        title="Nights",
        about="Index updates from night to night: labels, coverage, alarms, delays.",
        sections=("Thirty nights",),
    ),
    "performance": Topic(
        title="Performance",
        about="Kernels, readers, start-up; pools in files; engines; what a sample's file takes.",
        sections=("Kernels", "A pool in files", "Size and time", "How the house"),
    ),
    "durability": Topic(
        title="Durability",
        about="The store and the judging page under kills, failing disks and load, on SQLite and PostgreSQL.",
        sections=("What the store promises", "The judging page"),
    ),
}  # fmt: skip


def pages() -> dict[str, str]:
    """Return a page for each topic, and the list of them."""
    sections = sections_of((BENCHMARKS / "RESULTS.md").read_text("utf-8"))
    taken = [title for topic in TOPICS.values() for title in _titles(topic, sections)]
    if sorted(taken) != sorted(sections):
        raise ValueError(f"evidence: not on exactly one page: {sorted({*sections} ^ {*taken}) or taken}")
    texts = {f"{FOLDER}/{name}.md": _page(topic, sections) for name, topic in TOPICS.items()}
    return texts | {"made/evidence.md": _index()}


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


def _page(topic: Topic, sections: dict[str, str]) -> str:
    lines = [f"# {topic.title}", "", topic.about]
    for title in _titles(topic, sections):
        if title not in WITHOUT_ORIGIN and not ORIGIN.search(sections[title]):
            raise ValueError(f"evidence: {title!r} does not say which command and commit made it")
        lines += [
            "",
            f"## {title}",
            "",
            folded(PICTURE.sub(lambda match: f"{match[1]}{Path(match['path']).name})", sections[title])),
        ]
    for name in topic.files:
        text = (BENCHMARKS / "results" / name).read_text("utf-8")
        if not ORIGIN.search(text):
            raise ValueError(f"evidence: {name} does not say which command and commit made it")
        lines += ["", folded(re.sub(r"^(#+) ", r"#\1 ", text.strip(), flags=re.MULTILINE))]
    return "\n".join(lines) + "\n"


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


def _index() -> str:
    rows = [f"| [{topic.title}]({FOLDER}/{name}.md) | {topic.about} |" for name, topic in TOPICS.items()]
    names = "\n".join(f"{FOLDER}/{name}" for name in TOPICS)
    table = ["| page | what it shows |", "|---|---|", *rows, ""]
    return "\n".join([*table, "```{toctree}", ":hidden:", "", names, "```", ""])
