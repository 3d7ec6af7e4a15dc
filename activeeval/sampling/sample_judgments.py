"""Take judgments into a sample, from sheets or from memory, and estimate at the end of each block.

A block is a part of a sample, after which it can be read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from activeeval.core.campaign.labels import Progress
from activeeval.core.campaign.reading import read
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.policies import Agreement
from activeeval.core.measures import Target
from activeeval.formats.comparisons import truths_of
from activeeval.formats.judgments.machines import check_of_people
from activeeval.formats.judgments.table_forms import is_truths, of_table
from activeeval.formats.sample_sheet import take
from activeeval.formats.tables.draws import draws_of
from activeeval.formats.tables.read_tables import frame_sheet
from activeeval.inputs.arguments import columns_of
from activeeval.report.result_pictures import EarlyReading
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.ranked_sheets import Judged, Ranks, check_one_truth, read_all_judged, sheet_in

_OF_A_SHEET = {"sample", "block"}


def judged_by(
    sample: DrawnSample, sources: Sequence[Any], policy: str = "refuse"
) -> tuple[DrawnSample, Progress, Agreement]:
    """Take judgments into a sample; also return progress and agreement of judges.

    Progress is the numbers of items that are judged, waiting and unjudgeable; agreement that of items judged by several
    judges, and of those on which they agree.

    Parameters
    ----------
    sources : sequence
        Each a path, a data frame or judgments: a sheet of the sample, ranks of each query's top k, or judgments without
        a sample id. In the latter the sample's items are looked up; items without a grade wait.
    policy : {"refuse", "majority", "median", "mean-gain"}
        Rule for items with different grades by several judges.

    Raises
    ------
    InputError
        If a sheet is of another sample, has a foreign item or lacks one, or judgments grade none of the items.
    """
    sample_id = sample.packed()[0]
    judged: dict[str, Judged] = {}
    for number, source in enumerate(sources, 1):
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else f"judged {number}"
        judged[name] = _judged(source, name, sample)
    check_one_truth(judged, policy)
    draws = {name: sheet_in(sheet, name, sample.campaign, sample_id) for name, sheet in judged.items()}
    campaign = take(sample.campaign, draws, (sample_id, *sample.earlier), policy)
    labelled = replace(sample, campaign=campaign).judged_from(draws)
    return labelled, campaign.progress, campaign.agreement


def moments_of(sample: DrawnSample, target: Target, scope: str, confidence: float) -> list[EarlyReading]:
    """Estimate a target at the end of each complete block (part of a sample, after which it can be read).

    Blocks that allow no estimate yet are left out. ``scope`` is "pool" or "population".
    """
    campaign = sample.campaign
    selections = [campaign.block_selection(block) for block in range(campaign.n_complete_blocks)]
    moments: list[EarlyReading] = []
    for selection in {stage.level: stage for stage in selections}.values():  # blocks with one end count once
        try:
            estimate = read(campaign.design, selection, campaign.labels, target=target, scope=scope)
        except StateError:
            continue
        low, high = estimate.interval(confidence)
        moments.append(EarlyReading(n_items=estimate.n_items, value=estimate.value, low=low, high=high))
    return moments


def _judged(source: Any, name: str, sample: DrawnSample) -> Judged:
    """Convert a source of `judged_by` to a sheet, ranks or judgments; ``name`` is that of the source in messages."""
    if isinstance(source, (str, os.PathLike)):
        return read_all_judged([name], sample.campaign.design.max_grade)[name]
    if isinstance(source, (dict, Judgments)) and not isinstance(columns := columns_of(source, name), str):
        return columns
    try:
        sheet = frame_sheet(source, name).plainly_named()
    except TypeError:
        kind = type(source).__name__
        raise InputError(f"judgments must come as a path, a data frame or judgments, got {kind}") from None
    is_ranked, is_sheet = is_truths(set(sheet.columns)), set(sheet.columns) >= _OF_A_SHEET
    if is_ranked or is_sheet:
        check_of_people(sheet)
    if is_ranked:
        return Ranks(truths_of(sheet))
    if is_sheet:
        return draws_of(sheet, name)
    return of_table(sheet)
