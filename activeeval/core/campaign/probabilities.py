"""With which probability each item of the pool came into a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign.campaign import Campaign


def item_probabilities(campaign: Campaign, level: float | None = None) -> NDArray[np.float64]:
    """Return the probability with which each item of the pool is in the sample, shape (n_items,); 1 where it is known.

    Where depths follow labels it is that at the rates that are known, and 0 of what is not.

    Parameters
    ----------
    level : float, optional
        The threshold; by default that of the whole sample, where depths follow labels as far as it is known.
    """
    design = campaign.design
    probabilities = np.zeros(design.pool.n_items)
    selection = campaign.whole_selection
    up_to = selection.level if level is None else level
    probabilities[design.order.items] = design.scheme.item_probs(design.order, selection, up_to)
    probabilities[design.known >= 0] = 1.0
    return probabilities
