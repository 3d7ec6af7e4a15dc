"""Inclusion probabilities of the items of a campaign's sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign.campaign import Campaign


def item_probabilities(campaign: Campaign, level: float | None = None) -> NDArray[np.float64]:
    """Compute the probability that each item of the pool is in the sample, shape (n_items,); 1 for known grades.

    With adaptive depth, it uses the sampling rates that labels have determined so far; it is 0 for other items.

    Parameters
    ----------
    level : float, optional
        Sampling level T of the sample: an item of rate r is taken with probability min(1, T r). By default that of the
        whole sample (with adaptive depth, as known so far).
    """
    design = campaign.design
    probabilities = np.zeros(design.pool.n_items)
    selection = campaign.whole_selection
    up_to = selection.level if level is None else level
    probabilities[design.order.items] = design.scheme.item_probs(design.order, selection, up_to)
    probabilities[design.known >= 0] = 1.0
    return probabilities
