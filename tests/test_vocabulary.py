"""Every term of art in messages, tables and help stands in docs/words.md; what is plain English stands in a list here.

A word that is neither stops this test: it is a term, and words.md says what it means, or it is plain, and goes to
``tests/plain-words.txt``. ``python tests/test_vocabulary.py`` prints such words.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from activeeval.cli import cli

ROOT = Path(__file__).resolve().parent.parent
PLAIN = ROOT / "tests" / "plain-words.txt"
WORD = re.compile(r"[A-Za-z][a-z]{2,}(?:-[a-z]+)*")
NOT_WORDS = re.compile(
    r"`[^`]*`|\{[^}]*\}|<[^>]*>|--?[a-z][a-z-]*|'[^']*'|\"[^\"]*\"|\S*[._/=@]\S*|\b[A-Z][A-Z]+\b|\b[a-z]{26,}\b|\b(?=[a-z]*\d)[0-9a-f]{16,}\b"
)
ENDINGS = ("", "s", "es", "d", "ed", "ing", "ly")


def words_in(text):
    """Return the words of a text, without options, names of files, examples and ids."""
    return {word.lower() for word in WORD.findall(NOT_WORDS.sub(" ", text))}


def helps(command, path=()):
    """Yield what a command's help says: its lines and those of its options, without examples."""
    yield command.short_help or ""
    yield from (text for text in (command.help or "").split("\n\n") if not text.startswith("\b"))
    yield from (parameter.help or "" for parameter in command.params if isinstance(parameter, click.Option))
    for name in getattr(command, "commands", {}):
        yield from helps(command.commands[name], (*path, name))


def messages():
    """Yield every sentence of the corpus, every line of help, and every line that the page of outputs shows."""
    for line in (ROOT / "tests" / "report" / "wording.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)["text"]
    yield from helps(cli)
    yield from re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "outputs.md").read_text("utf-8"), re.DOTALL)


def explained():
    """Return the words that stand in bold on the page of words."""
    bold = re.findall(r"\*\*([^*]+)\*\*", (ROOT / "docs" / "words.md").read_text("utf-8"))
    return {word.lower() for text in bold for word in re.findall(r"[A-Za-z]+(?:-[a-z]+)*", text)}


def stems(word):
    """Yield a word without its endings."""
    for ending in ENDINGS:
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            yield from (stem, f"{stem}e", f"{stem}y" if ending == "es" else stem, stem.removesuffix("i") + "y")
            if len(stem) > 3 and stem[-1] == stem[-2]:
                yield stem[:-1]


def unknown(texts):
    """Return the words of texts that are neither plain nor explained."""
    known = explained() | set(PLAIN.read_text("utf-8").split())
    return {word for text in texts for word in words_in(text) if not known.intersection(stems(word))}


def test_every_term_of_messages_stands_in_words():
    assert sorted(unknown(messages())) == []


def test_a_new_term_is_noticed():
    assert unknown(["the estimate is heteroskedastic, judge more"]) == {"heteroskedastic"}


def test_no_word_is_plain_and_a_term_and_all_are_used():
    plain = PLAIN.read_text("utf-8").split()
    assert plain == sorted(set(plain))
    assert explained().intersection(plain) == set()
    used = {stem for text in messages() for word in words_in(text) for stem in stems(word)}
    assert [word for word in plain if word not in used] == []


def test_every_word_has_an_example():
    rows = [line for line in (ROOT / "docs" / "words.md").read_text("utf-8").splitlines() if line.startswith("| **")]
    assert len(rows) > 120
    assert [row for row in rows if len([cell for cell in row.strip("|").split(" | ") if cell.strip()]) < 3] == []


if __name__ == "__main__":
    print("\n".join(sorted(unknown(messages()))))
