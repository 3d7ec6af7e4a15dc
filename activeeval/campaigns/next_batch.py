"""Campaigns whose depths follow labels: the next instalment, drawn when a judge finds nothing left to judge.

What is drawn follows from the labels of that moment. Two processes may come to it at once: the store takes one version
of a number, and whoever comes second finds that one. A process that ends before it has drawn leaves nothing undone:
whoever claims next draws.
"""

from __future__ import annotations

import os

from activeeval.campaigns.draw import kept_texts
from activeeval.campaigns.making import grow
from activeeval.campaigns.state import CampaignState, state_of
from activeeval.campaigns.store import Store
from activeeval.campaigns.versions import INSTALMENT
from activeeval.core.errors import InputError, StateError
from activeeval.inputs.texts import SheetTexts, texts_of
from activeeval.sampling.samples import Sample


def draw_next(store: Store, name: str) -> bool:
    """Draw the next instalment of a campaign where labels lead to one; return whether there is anything new to judge.

    Where nothing follows and nothing waits the sample has ended, and the rates that the last labels made are kept.
    """
    state = state_of(store, name)
    sample = next_of(state)
    if sample is None:
        return False
    try:
        grow(store, name, sample, INSTALMENT, _texts(state, sample), version=state.version + 1)
    except StateError:
        if store.samples(name)[-1].version == state.version:
            raise
        return True  # somebody else was quicker
    return bool(sample.pairs)


def next_of(state: CampaignState) -> Sample | None:
    """Return the sample with what comes next; None where that is nothing, or follows from what waits."""
    sample = state.as_drawn
    if sample.campaign.paths is None:
        return None
    campaign, is_new = sample.campaign.following()
    has_ended = not is_new and not sample.campaign.is_open and not state.state.ended
    return sample.grown(campaign, state.sample_id) if is_new or has_ended else None


def _texts(state: CampaignState, sample: Sample) -> SheetTexts:
    """Return what the judges of what is new read: of the tables that the campaign was made with."""
    files = kept_texts(state.campaign.config)
    for what, file in files.items():
        if not os.path.isfile(file.path):
            problem = f"the texts of the {what} are no longer in {file.path}, and more are needed: put the file back"
            raise InputError(f"campaign {state.campaign.name}: {problem}")
    paths = {what: file.path for what, file in files.items()}
    return texts_of(sample.pairs, "", **paths)[0]
