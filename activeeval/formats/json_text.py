"""JSON as files hold it: no key twice, no number that is too long to be one."""

from __future__ import annotations

import json
from typing import Any

from activeeval.formats.tables.cells import LEAST_NORMAL, is_not_zero

_MOST_DIGITS = 400


def parse_json(text: str) -> Any:
    """Return the value that a JSON text stands for.

    Raises
    ------
    ValueError
        Where it is no JSON, an object has a key twice, a whole number is too long, or it is nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    held: dict[str, object] = {}
    for key, value in pairs:
        if key in held:
            raise ValueError(f"the key {key!r:.60} is there twice")
        held[key] = value
    return held


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits, {digits[:20]}…")
    return int(digits)


class TinyFloat(float):
    """A number that is closer to 0 than floats tell apart, and is not 0, with what the file says."""

    text: str


def _fraction(text: str) -> float:
    value = float(text)
    if abs(value) >= LEAST_NORMAL or not is_not_zero(text):
        return value
    tiny = TinyFloat(value)
    tiny.text = text
    return tiny


# json.loads makes one for each text, which takes longer than a short line
_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_int=_whole, parse_float=_fraction)
