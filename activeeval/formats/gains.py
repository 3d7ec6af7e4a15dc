"""Read and write files of learned gains and discounts: one JSON object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import FormatError, InputError
from activeeval.formats.files import MOST_PARSED, open_text
from activeeval.formats.json_text import parse_json
from activeeval.formats.suffixes import PathLike
from activeeval.formats.writing import write_atomically

_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class GainsFile:
    """Learned gains and discounts read from a file, with all its other fields.

    Attributes
    ----------
    gains : tuple of float
        By grade, from 0.
    discounts : tuple of float
        By rank, from 1; ranks beyond the last have discount 0.
    fields : dict
        The whole JSON object.
    by_rank : list of list of float
        A row for each rank with a gain for each grade, if the measure has gains by rank; otherwise empty.
    """

    gains: tuple[float, ...]
    discounts: tuple[float, ...]
    fields: Mapping[str, Any]
    by_rank: list[list[float]]


def read_gains(path: PathLike) -> GainsFile:
    """Read gains and discounts from a JSON file; other fields are optional.

    Raises
    ------
    FormatError
        Names the file, and the line or the field that is wrong.
    """
    name = os.fspath(path)
    try:
        fields = parse_json(open_text(path, MOST_PARSED))
    except json.JSONDecodeError as problem:
        raise FormatError(name, problem.lineno, f"is not JSON: {problem.msg}; expected gains and discounts") from None
    except InputError:
        raise
    except ValueError as problem:
        raise FormatError(name, None, f"is not JSON: {problem}; expected gains and discounts") from None
    if not isinstance(fields, dict):
        raise FormatError(name, None, "is not a JSON object, expected one with the fields gains and discounts")
    gains, discounts = _numbers(name, fields, "gains", 2), _numbers(name, fields, "discounts", 1)
    weights = fields.get("weights")
    if weights is not None and (
        not isinstance(weights, list)
        or [len(row) if isinstance(row, list) else 0 for row in weights] != [len(gains)] * len(discounts)
    ):
        shape = f"{len(discounts)} rows by rank of {len(gains)} numbers by grade"
        raise FormatError(name, None, f"the field weights does not match gains and discounts, expected {shape}")
    by_rank = _by_rank(name, fields)
    share, cautions = fields.get("rank_one_share"), fields.get("cautions", [])
    if share is not None and not _is_number(share):
        raise FormatError(name, None, f"the field rank_one_share is {share!r:.60}, expected a number")
    if not isinstance(cautions, list) or not all(isinstance(text, str) for text in cautions):
        raise FormatError(name, None, f"the field cautions is {cautions!r:.60}, expected a list of texts")
    for field in ("intervals", "stability"):
        if (ends := fields.get(field)) is not None:
            _check_ends(name, field, ends, {"gains": len(gains), "discounts": len(discounts)})
    return GainsFile(gains, discounts, fields, by_rank)


def write_gains(path: PathLike, fields: Mapping[str, Any]) -> None:
    """Write the fields as a JSON object, one field a line; the file is replaced only when it is complete."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in fields.items())
    with write_atomically(path) as handle:
        handle.write(f"{{\n{lines}\n}}\n")


def _numbers(name: str, fields: Mapping[str, Any], field: str, least: int) -> tuple[float, ...]:
    """Read a field as a tuple of at least `least` finite numbers; raise FormatError otherwise."""
    values = fields.get(field)
    if not isinstance(values, list) or len(values) < least:
        wanted = f"a list of {least} numbers or more" if least > 1 else "a list of numbers"
        raise FormatError(name, None, f"the field {field} is {values!r:.60}, expected {wanted}")
    if field == "gains" and len(values) > LARGEST_GRADE + 1:
        raise FormatError(name, None, f"gains of {len(values)} grades, expected at most {LARGEST_GRADE + 1}")
    for place, value in enumerate(values):
        if not _is_number(value):
            raise FormatError(name, None, f"{field}[{place}] is {value!r:.60}, expected a finite number, at most 1e15")
    return tuple(map(float, values))


def _by_rank(name: str, fields: Mapping[str, Any]) -> list[list[float]]:
    """Read gains by rank and grade from ``weights`` if the field ``by_rank`` is true; otherwise return []."""
    if (flag := fields.get("by_rank", False)) not in (True, False):
        raise FormatError(name, None, f"the field by_rank is {flag!r:.60}, expected true or false")
    if not flag:
        return []
    for rank, row in enumerate(weights := fields.get("weights") or [[None]]):
        for grade, value in enumerate(row):
            if not _is_number(value):
                wanted = "expected a finite number, at most 1e15"
                raise FormatError(name, None, f"weights[{rank}][{grade}] is {value!r:.60}, {wanted}")
    return [list(map(float, row)) for row in weights]


def _is_number(value: Any) -> bool:
    """Check whether a value is a number, not a bool, of absolute value at most 1e15."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and bool(-_LARGEST <= value <= _LARGEST)


def _check_ends(name: str, field_of_bands: str, bands: Any, lengths: Mapping[str, int]) -> None:
    """Raise FormatError unless bands have a confidence, and a lower and an upper bound for each gain and discount.

    ``name`` is the file, ``field_of_bands`` the field that holds ``bands``, and ``lengths`` the number of gains and of
    discounts, by name.
    """
    is_whole = isinstance(bands, dict) and _is_number(bands.get("confidence"))
    for field, length in lengths.items():
        ends = bands.get(field) if is_whole else None
        is_whole = (
            isinstance(ends, list)
            and len(ends) == 2
            and all(isinstance(end, list) and len(end) == length and all(map(_is_number, end)) for end in ends)
        )
        if not is_whole:
            raise FormatError(
                name,
                None,
                f"the field {field_of_bands} does not fit, expected a confidence and two ends of each of {field}",
            )
