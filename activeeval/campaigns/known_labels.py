"""Resulting grades of a campaign's items, after applying its policy to several judges' grades."""

from __future__ import annotations

import numpy as np

from activeeval.campaigns.state import CampaignState, Pair
from activeeval.core.campaign import Campaign
from activeeval.core.errors import InputError


def grades_of(state: CampaignState) -> dict[Pair, int]:
    """Collect the grade that counts for each judged item, by query and document; −1 if it could not be judged.

    If several judges graded an item, the campaign's policy combines their grades. Later rounds (samples) win.
    """
    out: dict[Pair, int] = {}
    for sample in state.rounds:
        grades = round_grades(sample.campaign)  # by index of the item in the pool
        for unit in sample.campaign.units:
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                # a later round may have included it again without getting a grade
                if item in grades and (grades[item] >= 0 or (unit.query_id, doc) not in out):
                    out[unit.query_id, doc] = grades[item]
    return out


def round_grades(campaign: Campaign) -> dict[int, int]:
    """Collect the grade that counts for each judged item of one round (sample), by its index in the pool.

    It is −1 if the item could not be judged, or if several differing grades count together.
    """
    grades = campaign.grades
    return {item: int(grades[item]) for item in campaign.settled}


def labels_of(state: CampaignState) -> dict[Pair, int]:
    """Collect the grade of each item, by query and document, that a campaign has judged or knew before it was drawn.

    Raises
    ------
    InputError
        If the campaign has ranks in place of grades, or items whose differing grades count as their mean gain.
    """
    name = state.campaign.name
    state.campaign.judging.check_known(name)
    if any(sample.campaign.labels.is_soft for sample in state.rounds):
        raise InputError(
            f"campaign {name}: items with differing grades count as their mean gain, which is no single known grade"
        )
    design = state.rounds[0].campaign.design
    queries = design.pool.query_texts[design.pool.item_queries]
    known = {(queries[z], design.pool.item_texts[z]): int(design.known[z]) for z in np.flatnonzero(design.known >= 0)}
    return known | {pair: grade for pair, grade in grades_of(state).items() if grade >= 0}
