"""How easily pages read: `python docs/_ext/reading_ease.py [PAGE…]`, README.md and the tutorials where none is named.

Flesch's reading ease, 206.835 − 1.015 · words per sentence − 84.6 · syllables per word, of the prose alone: without
code, tables, headings and links' targets. Syllables are groups of vowels, less a silent e: a count of our own, within a
few points of what others count. A figure, not a gate: 60 to 70 is plain English, below 50 is hard.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ("a-week", "page", "nights", "graders", "five-tasks")
NOT_PROSE = (
    re.compile(r"^(```|:::).*?^\1[ ]*$", re.MULTILINE | re.DOTALL),
    re.compile(r"^[ ]*(\||#|<|!\[|\[!\[).*$", re.MULTILINE),
)
INLINE = ((re.compile(r"`[^`]*`"), "it"), (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"), (re.compile(r"[*_]"), ""))
ENDS = re.compile(r"[.!?](?=\s|$)|\n\s*\n|^\s*[-*] ", re.MULTILINE)
HIATUS = re.compile(r"(?<![tcsgx])i[ao](?!u)|rea[t](?=e)|(?<!q)ua(?!l?t)|eo(?!p)|area")
SILENT = re.compile(r"[^aeiouyl]e$|[^aeiouy]le(?<![^aeiouy]le)$|[^aeiouytd]ed$|[^aeiouyscxzgh]es$")
WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")


def prose_of(text: str) -> str:
    """Return the sentences of a page."""
    for pattern in NOT_PROSE:
        text = pattern.sub("\n", text)
    for pattern, instead in INLINE:
        text = pattern.sub(instead, text)
    return text


def syllables(word: str) -> int:
    """Return how many syllables a word has, about.

    Examples
    --------
    >>> [syllables(word) for word in ("grade", "query", "judgment", "evaluation")]
    [1, 2, 2, 5]
    """
    lower = word.lower().replace("’", "'").removesuffix("'s")
    groups = len(re.findall(r"[aeiouy]+", lower)) + len(HIATUS.findall(lower))
    return max(groups - bool(SILENT.search(lower)), 1)


def reading_ease(text: str) -> float:
    """Return Flesch's reading ease of a page's prose."""
    prose = prose_of(text)
    words = WORD.findall(prose)
    sentences = sum(1 for part in ENDS.split(prose) if WORD.search(part))
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * sum(map(syllables, words)) / len(words)


def main() -> None:
    """Print the figure of each page."""
    named = [Path(name) for name in sys.argv[1:]]
    for page in named or [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in TUTORIALS)]:
        print(f"{reading_ease(page.read_text('utf-8')):5.1f}  {page.name}")


if __name__ == "__main__":
    main()
