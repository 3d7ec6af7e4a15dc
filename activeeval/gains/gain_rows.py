"""Table rows of learned gains and discounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from activeeval.gains.learned_gains import LearnedGains
from activeeval.report.message_lookup import text_of
from activeeval.report.rendering import Cell, Row


def gains_record(learned: LearnedGains) -> Mapping[str, object]:
    """Convert learned gains to the fields of a gains file, as JSON can store them.

    Pair counts become fields of their own, cautions become sentences, absent intervals are left out.
    """
    record: dict[str, object] = {}
    for name, value in asdict(learned).items():
        record |= value if name == "pairs" else {name: value}
    record["cautions"] = [text_of(caution) for caution in learned.cautions]
    bands = {"intervals": learned.intervals, "stability": learned.stability}
    return {name: value for name, value in record.items() if bands.get(name, value) is not None or name not in bands}


class GainsBand(NamedTuple):
    """The interval or stability band of a gains file: ends by name, names of their columns, and a description."""

    ends: Row
    columns: tuple[str, str]
    meaning: str


def gains_band(fields: Row) -> GainsBand | None:
    """Extract the confidence intervals of a gains file; without them its stability band, without either None.

    A stability band has quantiles over resamples and is no confidence interval. Intervals without a method come from
    files of an older version, and are such quantiles too.
    """
    intervals = fields.get("intervals") or {}
    if intervals.get("method") == "likelihood ratio":
        return GainsBand(intervals, ("low", "high"), f"{intervals['confidence']:.0%} confidence interval")
    if band := fields.get("stability") or intervals:
        meaning = f"stability band, {band['confidence']:.0%} of the resamples: not a confidence interval"
        return GainsBand(band, ("resampled_low", "resampled_high"), meaning)
    return None


def gains_rows(fields: Row) -> tuple[list[dict[str, Cell]], list[dict[str, Cell]]]:
    """Build a row for each grade and a row for each rank of a gains file, beside common reference gains and discounts.

    Shares are relative to the best grade's gain and to the first rank's discount. low and high are the ends of
    confidence intervals; the columns of a stability band have names of their own.
    """
    band = gains_band(fields)
    gains, discounts = np.array(fields["gains"], dtype=float), np.array(fields["discounts"], dtype=float)
    grades, ranks = np.arange(gains.size), np.arange(1, discounts.size + 1)
    shares = gains / gains[-1] if gains[-1] else np.full(gains.size, np.nan)
    by_grade: dict[str, Any] = {"grade": grades, "gain": gains, "share": shares}
    by_rank: dict[str, Any] = {"rank": ranks, "discount": discounts}
    for columns, name in ((by_grade, "gains"), (by_rank, "discounts")):
        if band is not None:
            columns |= zip(band.columns, map(np.array, band.ends[name]), strict=True)
    by_grade |= {"2^y - 1": (2.0**grades - 1) / (2.0 ** grades[-1] - 1), "y": grades / grades[-1]}
    by_rank["1/log2(1 + rank)"] = 1 / np.log2(1 + ranks)
    return _rows(by_grade), _rows(by_rank)


def _rows(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Cell]]:
    """Convert columns to a list of rows."""
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]
