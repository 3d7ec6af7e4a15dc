"""Parse JSON strictly: without duplicate keys and overlong integers."""

from __future__ import annotations

import json
from typing import Any

from activeeval.formats.tables.cells import LEAST_NORMAL, is_not_zero

_MOST_DIGITS = 400


def parse_json(text: str) -> Any:
    """Parse a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON, an object has a key twice, an integer has more than 400 digits, or it is nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object from its pairs; raise ValueError for a duplicate key."""
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key {key!r:.60} is there twice")
        fields[key] = value
    return fields


def _whole(digits: str) -> int:
    """Parse an integer of at most 400 digits."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits, {digits[:20]}…")
    return int(digits)


class TinyFloat(float):
    """A float whose text is not 0 but below the smallest normal float, with that text."""

    text: str


def _fraction(text: str) -> float:
    """Parse a float; keep the text of one below the smallest normal float."""
    value = float(text)
    if abs(value) >= LEAST_NORMAL or not is_not_zero(text):
        return value
    tiny = TinyFloat(value)
    tiny.text = text
    return tiny


# shared: json.loads would construct a decoder for each text, which takes longer than parsing a short line
_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_int=_whole, parse_float=_fraction)
