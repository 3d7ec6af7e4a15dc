"""Every term of art that a message, a table or help uses is explained in docs/words.md.

What is plain English stands in tests/plain-words.txt, a word a line. A word that is neither there nor explained in
docs/words.md is a new term: say there what it means, with an example, or write the message in plainer words. Only a
word that everybody knows goes to plain-words.txt. ``python tests/test_vocabulary.py`` prints what is neither.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

import activeeval
from activeeval.cli import cli
from activeeval.measures.parsing import _PARAMETERS

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "docs" / "words.md"
PLAIN = ROOT / "tests" / "plain-words.txt"
WORDING = ROOT / "tests" / "report" / "wording.jsonl"
PACKAGE = Path(activeeval.__file__).parent
DRAWN = ("charts.py", "pictures.py", "result_pictures.py", "savings.py")
"""Their keys are those of the library that draws."""
CODE = re.compile(r"`[^`]*`|'[^']*'|--?[a-z][\w-]*|\S+[./_:@]\S+|\S+\(.*?\)|[A-Z]{2,}\S*|\w*\d\w*|[A-Za-z]*=\S+")
"""What is quoted, an option, a file, an address, a measure, a name of an argument or a number: no words."""
WORD = re.compile(r"[A-Za-z][a-z]+(?:-[a-z]+)*")
ENDINGS = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
    ("ing", "e"),
    ("er", ""),
    ("d", ""),
)
ROW = re.compile(r"^\| (?P<terms>\*\*.+?) \| (?P<meaning>.+?) \| (?P<example>.+?) \|$", re.MULTILINE)


def commands(group: click.Group) -> Iterator[click.Command]:
    """Yield every command below a group, and the group."""
    yield group
    for member in group.commands.values():
        yield from commands(member) if isinstance(member, click.Group) else (member,)


def messages() -> Iterator[tuple[str, str]]:
    """Yield each text that a reader sees, with where it is from."""
    for line in WORDING.read_text("utf-8").splitlines():
        yield "wording.jsonl", json.loads(line)["text"]
    for command in commands(cli):
        yield f"{command.name}: short help", command.short_help or ""
        for option in command.params:
            yield f"{command.name} {option.opts[0]}", getattr(option, "help", "") or ""
            yield (
                f"{command.name} {option.opts[0]}",
                " ".join(name.lstrip("-").replace("-", " ") for name in option.opts),
            )
    for path in sorted(set((PACKAGE / "report").glob("*.py")) - {PACKAGE / "report" / name for name in DRAWN}):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
                yield from ((path.name, key.replace("_", " ")) for key in keys)


def terms() -> dict[str, str]:
    """Return each word of all messages, in small letters, with a place where it is used."""
    places: dict[str, str] = {}
    for place, text in messages():
        for word in WORD.findall(CODE.sub(" ", text)):
            places.setdefault(word.lower(), place)
    return places


def plain() -> set[str]:
    """Return the words that need no explanation."""
    return set(PLAIN.read_text("utf-8").split())


def explained() -> set[str]:
    """Return the words that words.md explains: those in bold, alone or as parts of a longer term."""
    bold = re.findall(r"\*\*([^*]+)\*\*", WORDS.read_text("utf-8"))
    return {word.lower() for term in bold for word in re.findall(r"[A-Za-z]+", term)}


def forms(word: str) -> set[str]:
    """Return a word with what it may be a form of.

    Examples
    --------
    >>> sorted(forms("queries"))
    ['queri', 'querie', 'queries', 'query']
    """
    return {word} | {word.removesuffix(end) + instead for end, instead in ENDINGS if word.endswith(end)}


def unexplained() -> dict[str, str]:
    """Return the words that are neither plain nor explained, with a place where each is used."""
    known = plain() | explained() | {name.lower() for name in _PARAMETERS}
    return {
        word: place
        for word, place in sorted(terms().items())
        if not forms(word) & known and not all(forms(part) & known for part in word.split("-"))
    }


def test_every_term_of_a_message_is_explained():
    assert len(terms()) > 500
    assert unexplained() == {}


def test_a_new_term_in_a_message_is_noticed(monkeypatch):
    texts = [("a message", "the heteroscedasticity of these queries is large: judge more")]
    monkeypatch.setitem(globals(), "messages", lambda: iter(texts))
    assert unexplained() == {"heteroscedasticity": "a message"}


def test_each_word_has_a_meaning_and_an_example():
    rows = list(ROW.finditer(WORDS.read_text("utf-8")))
    assert len(rows) > 120
    lines = [line for line in WORDS.read_text("utf-8").splitlines() if line.startswith("| **")]
    assert len(lines) == len(rows)
    assert [row["terms"] for row in rows if not row["meaning"].strip() or not row["example"].strip()] == []


def test_the_terms_that_readers_asked_for_are_explained_and_not_called_plain():
    asked = {
        "run",
        "versus",
        "difference",
        "scope",
        "block",
        "unit",
        "level",
        "overhead",
        "limit",
        "passive",
        "freedom",
    }
    assert asked - explained() == set()
    assert asked & plain() == set()


def test_no_plain_word_is_listed_that_nothing_uses():
    used = {form for word in terms() for part in (word, *word.split("-")) for form in forms(part)}
    assert plain() - used == set()


if __name__ == "__main__":
    for missing, at in unexplained().items():
        print(f"{missing}  ({at})")
