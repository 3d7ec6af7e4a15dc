"""Options declared once, as dataclass fields, from which the command line, arguments and docs tables are generated."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

KEY = "option"
KINDS = (
    "text", "file", "flag", "number", "positive", "share", "closed share", "count", "several", "scale", "seed",
    "budget", "named number",
)  # fmt: skip
"""Kinds of values. A number is finite and not negative, a share lies between 0 and 1; a count is a whole number from 1,
"several" one from 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Declaration of an option: name, help, kind and spelling.

    Attributes
    ----------
    name : str
        Name of the field.
    help : str
        One or two sentences.
    kind : str
        One of `KINDS`.
    choices : tuple of str
        The allowed texts; empty if any is allowed.
    is_many : bool
        True if it can be given several times.
    flag : str
        Spelling on the command line.
    metavar : str or None
        Placeholder of its value in help.
    default : object
    """

    name: str
    help: str
    kind: str
    choices: tuple[str, ...]
    is_many: bool
    flag: str
    metavar: str | None
    default: Any


def option(default: Any, text: str, kind: str = "text", **more: Any) -> Any:
    """Declare a dataclass field as an option.

    Parameters
    ----------
    default : object
        Default value of the field.
    text : str
        Its help.
    kind : str
        One of `KINDS`.
    more
        ``choices``, ``is_many``, ``metavar`` of `Option`; ``flag``, without dashes: by default the field's name, in the
        singular if it can be given several times.
    """
    return field(default=default, metadata={KEY: {"help": text, "kind": kind, **more}})


def declared(owner: Any) -> dict[str, Option]:
    """List the options of a dataclass and its bases by field name.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     runs: tuple[str, ...] = option((), "A run; repeatable.", "file", is_many=True)
    >>> declared(Reading)["runs"].flag
    '--run'
    """
    return {each.name: _option_of(each) for each in fields(owner) if KEY in each.metadata}


def _option_of(each: Any) -> Option:
    """Build the `Option` that a dataclass field ``each``, made by `option`, declares.

    The flag of an option that can be given several times is by default the field's name in the singular.
    """
    settings = {"choices": (), "is_many": False, "metavar": None, **each.metadata[KEY]}
    name = each.name.removesuffix("s") if settings["is_many"] else each.name
    default = None if each.default is MISSING else each.default
    flag = f"--{settings.pop('flag', name).replace('_', '-')}"
    return Option(**{"name": each.name, "default": default, "flag": flag, **settings})
