"""Inclusion probabilities of the items of a campaign's sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign.campaign import Campaign


def item_probabilities(campaign: Campaign, level: float | None = None) -> NDArray[np.float64]:
    """Compute the probability that each item of the pool is in the sample, shape (n_items,); 1 for known grades.

    With adaptive depth, it uses the rates known so far, and is 0 for places whose rates are not known.

    Parameters
    ----------
    level : float, optional
        The threshold; by default that of the whole sample (with adaptive depth, as known so far).
    """
    design = campaign.design
    probabilities = np.zeros(design.pool.n_items)
    selection = campaign.whole_selection
    up_to = selection.level if level is None else level
    probabilities[design.order.items] = design.scheme.item_probs(design.order, selection, up_to)
    probabilities[design.known >= 0] = 1.0
    return probabilities
