"""Verb `agreement`: measure how far judges agree on grades and on which of two documents is better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.campaigns.report.agreement_messages import alike_sentence, severity_sentence, undefined_sentence
from activeeval.core.judgments import Agreements
from activeeval.formats.judgments.from_files import read_all
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import by_judge, checked, listed
from activeeval.report.answer_sentences import short_name
from activeeval.report.numbers import counted, number
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.scoring.agreement_rows import coefficient_rows

_WIDE = ("of", "what", "confidence", "why_undefined")
"""Columns left out of tables, which are at most 100 characters wide."""
_BRIEF = {"raw_agreement": "raw", "base_rate": "base"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JudgesAgree(PrintableResult):
    """Agreement of judges; `agreement` returns it.

    Attributes
    ----------
    agreements : activeeval.core.judgments.Agreements
        Agreement on grades and on preferences, with the tables of preferences.
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    agreements: Agreements
    frame_kind: str = ""

    @property
    def sentences(self) -> list[str]:
        """Sentences on agreement, on what the coefficients do not show, and on which judge is stricter."""
        return list(_sentences(self.agreements, self.rows()))

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each coefficient, for a width of 100 characters."""
        return list(map(_brief, self.rows()))

    @property
    def footnotes(self) -> list[str]:
        """Reasons why a kind of judgments has no coefficient."""
        return [f"{problem}." for problem in self.agreements.problems]

    def rows(self) -> list[dict[str, Cell]]:
        """List one row for each coefficient, as in the command's JSON and CSV output."""
        return coefficient_rows(self.agreements)


@checked
def agreement(judged: Any, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0) -> JudgesAgree:
    """Measure the agreement of judges: Krippendorff's alpha, Gwet's AC1 and AC2, Cohen's kappa, preferences.

    Parameters
    ----------
    judged : path, dict of dicts, data frame or Judgments, a list of them, or a dict of judges' names to them
        Judged sheets, judgments, logs of campaigns, preferences or top-k truths. The column ``judge`` names the
        judge, else the name of the source does.
    confidence : float
        Confidence of the intervals.
    resamples : int
        Number of bootstrap resamples of the queries, for the intervals.
    seed : int
        Seed of the resamples.

    Raises
    ------
    InputError
        If no two judges can be compared.

    Examples
    --------
    >>> ann = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(4)} for q in range(10)}
    >>> bob = {query: docs | {"d0": max(docs["d0"] - 1, 0)} for query, docs in ann.items()}
    >>> found = agreement({"ann": ann, "bob": bob})
    >>> row = next(row for row in found.rows() if row["what"] == "Krippendorff's alpha, ordinal")
    >>> row["n"], 0.5 < row["value"] < 1
    (40, True)
    """
    agreements = read_all(by_judge(judged)).agreement(confidence, resamples, seed)
    return JudgesAgree(agreements=agreements, frame_kind=kind_of_frame(*listed(judged)))


def _sentences(agreements: Agreements, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield sentences on agreement, on what the coefficients do not show, and on which judge is stricter.

    ``rows`` are those of the coefficients: of which judgments, what, value, low, high and n.
    """
    grades = agreements.grades
    if grades is None:
        yield _sentence(rows)
        return
    alpha, common = grades.alphas["ordinal"], grades.common_grade
    yield undefined_sentence(alpha, grades.n_items, common) or _sentence(rows)
    ac1 = grades.acs["none"].value
    alike = alike_sentence(grades.n_alike, grades.n_items, common, alpha.base_rate or 0.0)
    yield alike if ac1 is None else f"{alike} Gwet's AC1, which a common grade does not lower, is {number(ac1, 2)}."
    for pair in grades.pairs:
        if sentence := severity_sentence(pair.judges, pair.difference, grades.confidence):
            yield sentence


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the main sentence: Krippendorff's ordinal alpha of grades, else the share of equal preferences.

    ``rows`` are those of the coefficients: of which judgments, what, value, low, high and n.
    """
    ordinal = [row for row in rows if row["of"] == "grades" and row["what"].endswith("ordinal")]
    row = (ordinal or rows)[0]
    ends = "" if row.get("low") is None else f" ({number(row['low'], 2)} to {number(row['high'], 2)})"
    if not ordinal:
        return f"Judges agree on {number(row['value'], 2)}{ends} of {counted(row['n'], 'pair')} of documents."
    scale = "1 is full agreement, 0 what chance would give"
    return f"Judges agree to {number(row['value'], 2)}{ends} by {row['what']}, on {counted(row['n'], 'item')}; {scale}."


def _brief(row: Mapping[str, Any]) -> dict[str, Cell]:
    """Format a row for a width of 100 characters; shares are rounded down, so that 100 % means all."""
    of = row["of"].replace("preferences implied by", "order of")
    cells: dict[str, Cell] = {"what": row["what"] if of == "grades" else f"{of}, {row['what']}"}
    for name, cell in row.items():
        if name in _BRIEF:
            cells[_BRIEF[name]] = f"{math.floor(100 * cell + 1e-9)}%" if isinstance(cell, float) else None
        elif name not in _WIDE:
            cells[name] = short_name(cell) if isinstance(cell, str) else cell
    return cells
