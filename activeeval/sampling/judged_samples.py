"""Read samples from files with the judgments on their sheets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from activeeval.core.campaign.labels import Progress
from activeeval.core.errors import InputError
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.policies import Agreement
from activeeval.formats.sample_sheet import take
from activeeval.formats.tables.draws import Draws
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.ranked_sheets import check_one_truth, read_all_judged, sheet_in
from activeeval.sampling.read_samples import read_sample


def judged(
    path: str, sheets: Sequence[str], policy: str = "refuse", *, machine_is_truth: bool = False
) -> tuple[DrawnSample, Progress, Agreement]:
    """Read a sample and take in the judgments of its sheets; also return progress and agreement of judges.

    Progress is the numbers of items that are judged, waiting and unjudgeable; agreement that of items judged by several
    judges, and of those on which they agree.

    Parameters
    ----------
    policy : {"refuse", "majority", "median", "mean-gain"}
        Rule for items with different grades by several judges.
    machine_is_truth : bool
        Accept grades of graders (LLMs or other models) on sheets as labels; every estimate of the sample reports it.

    Raises
    ------
    InputError
        If a file is wrong, no sheet is there, or a sheet is of another sample or a grader's without
        ``machine_is_truth``.
    """
    sample, sample_id = read_sample(path)
    if not sample.campaign.planned:  # its sheet has only a header
        return sample, sample.campaign.progress, sample.campaign.agreement
    if not sheets:
        n_items = sum(len(unit.items) for unit in sample.campaign.planned)
        raise InputError(
            f"{path}: {counted(n_items, 'item')} {agreeing(n_items, 'is', 'are')} to be judged: give "
            "the judged sheet beside it"
        )
    judgments = read_all_judged(sheets, sample.campaign.design.max_grade, machine_is_truth=machine_is_truth)
    check_one_truth(judgments, policy)
    draws = {sheet: sheet_in(read, sheet, sample.campaign, sample_id) for sheet, read in judgments.items()}
    campaign = take(sample.campaign, draws, (sample_id, *sample.earlier), policy)
    labelled = replace(sample, campaign=campaign).judged_from(draws)
    return labelled, campaign.progress, campaign.agreement


def judged_pilots(
    paths: Sequence[str], sheets: Sequence[str], *, machine_is_truth: bool = False
) -> dict[str, DrawnSample]:
    """Read several pilots (judged samples that correct a plan) with their sheets; the median counts if judges differ.

    Parameters
    ----------
    machine_is_truth : bool
        Accept grades of graders (LLMs or other models) on sheets as labels.

    Returns
    -------
    dict of str to DrawnSample
        By path.

    Raises
    ------
    InputError
        If a sheet belongs to none of them, or a sample has no sheet.
    """
    judgments = read_all_judged(sheets, machine_is_truth=machine_is_truth)
    check_one_truth(judgments, policy="refuse")
    drawn = {path: read_sample(path) for path in paths}
    draws: dict[str, Draws] = {}
    for name, read in judgments.items():
        if len(drawn) == 1:
            ((alone, alone_id),) = drawn.values()
            draws[name] = sheet_in(read, name, alone.campaign, alone_id)
        elif isinstance(read, Draws):
            draws[name] = read
        else:
            what = "judgments name" if isinstance(read, Judgments) else "ranks name"
            raise InputError(f"{name}: {what} no sample, expected one of `pilots` with them", field="pilots")
    ids = {path: (sample_id, *sample.earlier) for path, (sample, sample_id) in drawn.items()}
    for name, sheet in draws.items():
        if not any(sheet.sample in sample_ids for sample_ids in ids.values()):
            raise InputError(f"{name}: the sheet is of sample {sheet.sample!r}, expected one of {', '.join(paths)}")
    pilots = {}
    for path, (sample, _) in drawn.items():
        own_sheets = {name: sheet for name, sheet in draws.items() if sheet.sample in ids[path]}
        if not own_sheets:
            raise InputError(f"{path}: the pilot has no sheet, expected its judgments (`sheets`)", field="sheets")
        campaign = take(sample.campaign, own_sheets, ids[path], policy="median")
        pilots[path] = replace(sample, campaign=campaign).judged_from(own_sheets)
    return pilots
