"""A further round of a campaign from what its store has: the same pool, questions and model, all that is judged known.

`activeeval campaign redraw` also lets the model learn from what is judged; for that it needs the files of the runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.campaigns.draw import kept_texts
from activeeval.campaigns.making import check_judged, redraw
from activeeval.campaigns.state import Pair, check_next_round, labels_of, state_of
from activeeval.campaigns.store import Store
from activeeval.core.campaign import Campaign
from activeeval.core.design import Design
from activeeval.core.design.methods import find_method
from activeeval.core.errors import InputError
from activeeval.inputs.budgets import Budget
from activeeval.sampling.draw import fresh_seed, with_texts
from activeeval.sampling.samples import Sample


def drawn_again(store: Store, name: str, budget: Budget, seed: int | None = None) -> int:
    """Draw and store a further round of a campaign; return the number of the last event.

    Parameters
    ----------
    budget : Budget
        In mean items; no share.
    seed : int, optional
        By default one of the system's.

    Raises
    ------
    StateError
        Where the round before is not judged to its end.
    InputError
        Where what is judged are no grades, or the budget is a share.
    BudgetError
        Where the budget does not pay for what must be possible.
    """
    if budget.is_share:
        raise InputError("a further round takes a number of judgments, as 100", field="budget")
    check_judged(store, name)
    state = state_of(store, name)
    before, number = state.sample, fresh_seed() if seed is None else seed
    design = _design_again(before.campaign.design, labels_of(state), budget.amount)
    sample = Sample(
        campaign=Campaign(design, rng=number, by_instalments=True, surely=True),
        questions=before.questions,
        systems=before.systems,
        depth=before.depth,
        seed=number,
        model=before.model,
        text_files=kept_texts(store.campaign(name).config),
        truth_of_machines=before.truth_of_machines,
    )
    sample, texts = with_texts(sample, name, None, None, lambda note: None)
    check_next_round(state, sample)
    return redraw(store, name, sample, texts)


def _design_again(design: Design, labels: dict[Pair, int], budget: float) -> Design:
    """Return a design for the questions of another one, with all labels known."""
    method, beliefs = find_method(design.name), design.beliefs
    model = {} if beliefs is None else beliefs.made_of
    chosen = method.looking(design.looks) if method.has_depths else method
    known = _known(design, labels)
    return chosen.design(list(design.targets), **model, max_grade=design.max_grade, budget=budget, judged=known)


def _known(design: Design, labels: dict[Pair, int]) -> NDArray[np.int64]:
    """Return the labels as grades of a pool's items, −1 where there is none."""
    pool = design.pool
    pairs = zip(pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist(), strict=True)
    return np.array([labels.get(pair, -1) for pair in pairs], dtype=np.int64)
