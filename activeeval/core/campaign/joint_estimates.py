"""Joint estimates from several rounds of judging.

The grades of earlier rounds are known in the next one, which draws new random numbers (`activeeval.core.pool.key_of`),
so its estimate R̂_t is unbiased given everything before. For weights w_t that depend on no label of round t or later,

    R̂ = Σ_t w_t R̂_t,        Σ_t w_t = 1,        E R̂ = R,        Var R̂ = Σ_t w_t² E[Var R̂_t | before],

because Cov(R̂_s, R̂_t) = E[R̂_s (E[R̂_t | before] − R)] = 0 for s < t. Weights from a round's own labels, such as 1 /
V̂_t, favour rounds that happened to see little variance: two rounds of 20 queries then gave .956 for a true value of 1.
The weights used here are *planned* with the first round's design, before anything is judged: with V(Λ) the variance
that it expects of a sample of the budget Λ,

    w_1 + … + w_t = V(Λ_1 + … + Λ_T) / V(Λ_1 + … + Λ_t),

the increase of the information 1 / V of one sample of all budgets by each round. The budgets have to be fixed
beforehand too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.campaign.campaign import Campaign
from activeeval.core.design import Design
from activeeval.core.errors import InputError, StateError
from activeeval.core.estimation import joint_degrees, supported
from activeeval.core.measures import Target
from activeeval.core.pool import QueryPool, pool_hashes
from activeeval.core.results import Estimate, Unjudgeable
from activeeval.core.types import Floats


def read_together(
    campaigns: Sequence[Campaign], targets: Sequence[Target | None], scope: str = "pool", *, is_campaign: bool = False
) -> Estimate:
    """Estimate a target from several rounds (samples drawn one after the other, each knowing earlier labels) together.

    Parameters
    ----------
    campaigns : sequence of Campaign
        In the order in which they were judged, each judged to its end.
    targets : sequence of Target or None
        The target in each round; by default the first one that the round was made for.
    scope : {"pool", "population"}
        The queries that the estimate is for: those of the pool, or all that these are a sample of.
    is_campaign : bool
        If True, each round was drawn with all grades of its time: a missing grade arrived later, for an item that
        could not be judged before. If False, a missing grade is an error of the caller.

    Raises
    ------
    InputError
        If they are not rounds of one pool and target, each with its own random numbers.
    StateError
        If a round is not judged to its end.
    """
    check_rounds(campaigns, targets, knows_all=is_campaign)
    for k, campaign in enumerate(campaigns):
        check_closed(campaign, k + 1)
    weights = round_weights(campaigns, targets[0])
    of_pool = [campaign.estimate(target) for campaign, target in zip(campaigns, targets, strict=True)]
    estimate = combined(of_pool, weights)
    judged = {query for c in campaigns for query in (unit.query_id for unit in c.units)}
    estimate = replace(estimate, n_queries=len(judged), log=of_pool[0].log)
    if scope == "pool":
        return estimate
    # the population adds the variance that the choice of the pool causes, averaged over rounds
    wide = [campaign.estimate(target, scope=scope) for campaign, target in zip(campaigns, targets, strict=True)]
    parts = zip(weights, wide, of_pool, strict=True)
    differences = (w * _squares_difference(scoped.std_error, pool.std_error) for w, scoped, pool in parts if w > 0)
    added = max(sum(differences), 0.0)
    variance = estimate.std_error**2
    freedom = joint_degrees(variance, estimate.degrees_of_freedom, added, _degrees_of_choice(of_pool[-1], wide[-1]))
    error = math.sqrt(variance + added)
    return replace(estimate, scope=scope, std_error=error, degrees_of_freedom=freedom, inner=estimate.basis)


def _degrees_of_choice(of_pool: Estimate, wide: Estimate) -> float:
    """Compute the degrees of freedom of the variance that the pool's queries, as a sample of all queries, add.

    ``of_pool`` and ``wide`` are estimates of the same sample, for the pool and for the population. Satterthwaite's
    formula (`joint_degrees`), which combines the degrees of freedom of the two parts, is solved for the added part.
    """
    pool, added = of_pool.std_error**2, _squares_difference(wide.std_error, of_pool.std_error)
    if not added > 0 or not math.isfinite(added):
        return wide.degrees_of_freedom
    inverse = (pool + added) ** 2 / wide.degrees_of_freedom
    left = inverse - (pool**2 / of_pool.degrees_of_freedom if pool > 0 else 0.0)
    return added**2 / left if left > 0 else wide.degrees_of_freedom


def round_weights(campaigns: Sequence[Campaign], target: Target | None = None) -> Floats:
    """Compute the weights of rounds in the joint estimate, shape (n_rounds,), planned from their budgets.

    If the item costs of rounds differ, so does the unit of their budgets (the mean item). A later budget is then
    converted: as a share of the cost of everything that was not judged yet, which is applied to the first round's
    costs. So a budget given as a share makes weights that depend on neither measured times nor labels.
    """
    first = campaigns[0].design
    budgets = [campaign.design.budget or 0.0 for campaign in campaigns]
    pools = [campaign.design.pool for campaign in campaigns]
    if all(_has_same_costs(pool, pools[0]) for pool in pools):
        return planned_weights(first, budgets, target)
    left = max(campaigns[0].drawn_design.cost - budgets[0], 0.0)
    spent = budgets[:1]
    for campaign, budget in zip(campaigns[1:], budgets[1:], strict=True):
        cost = campaign.drawn_design.cost
        spent.append(left * min(budget / cost, 1.0) if cost > 0 else 0.0)
        left -= spent[-1]
    return planned_weights(first, spent, target)


def _has_same_costs(pool: QueryPool, other: QueryPool) -> bool:
    """True if the costs of two pools are equal up to a common factor."""
    ratio = pool.item_costs.mean() / other.item_costs.mean()
    return np.allclose(pool.item_costs, ratio * other.item_costs) and np.allclose(
        pool.query_costs, ratio * other.query_costs
    )


def planned_weights(design: Design, budgets: Sequence[float], target: Target | None = None) -> Floats:
    """Compute the weights of rounds from their budgets, planned with the first round's design.

    With V(Λ) the variance planned for one sample of the budget Λ, the first t weights sum to V(total) / V(budgets 1 to
    t): each weight is the share of the information 1/V that the round adds.

    Parameters
    ----------
    design : Design
        Of the first round.
    budgets : sequence of float
        Of each round, in mean items (the mean item of the pool costs 1).
    target : Target, optional
        By default the first one that the design was made for.

    Returns
    -------
    ndarray, shape (n_rounds,)
        At least 0, with the sum 1.

    Raises
    ------
    InputError
        If the design draws with replacement, or does not cover the target.
    """
    if not design.scheme.is_planned:
        raise InputError(f"rounds go by levels: {design.name!r} draws with replacement")
    order = design.planned_order
    matters = design.reading(target).target.matters[order.items]
    # variance planned after each round, then the share of the final information 1 / V that it amounts to
    left = [order.planned_variance(order.level_for(spent), matters) for spent in np.cumsum(budgets).tolist()]
    reached = [left[-1] / variance if variance > 0 else 1.0 for variance in left]
    return np.diff(reached, prepend=0.0)


def combined(estimates: Sequence[Estimate], weights: ArrayLike) -> Estimate:
    """Combine estimates of rounds with given weights into one estimate.

    The value is Σ w_t R̂_t, with R̂_t the estimates, and the variance is V̂ = Σ w_t² V̂_t, with Satterthwaite's degrees
    of freedom, 1/df = Σ (w_t² V̂_t)² / df_t / V̂². The variance planned before judging, Σ w_t² V_plan,t, replaces V̂ in
    part if a sample shows too little spread (`supported`). A round whose queries show no spread contributes its
    reported variance.

    Parameters
    ----------
    estimates : sequence of Estimate
        Of one target, for the pool, each uncorrelated with those before.
    weights : array of float, shape (n_rounds,)
        Independent of the labels of these rounds; the sum is 1.

    Raises
    ------
    InputError
        If the weights are not one number from 0 on for each estimate, with the sum 1.

    Examples
    --------
    >>> e = Estimate(value=1.0, std_error=0.2, degrees_of_freedom=9, n_open=10, n_draws=10, n_queries=10, n_items=40,
    ...              cost=40.0, method="items")
    >>> both = combined([e, e], [0.5, 0.5])
    >>> both.value, round(both.std_error, 4), round(both.degrees_of_freedom, 6), both.n_items
    (1.0, 0.1414, 18.0, 80)
    """
    shares = np.asarray(weights, dtype=np.float64)
    if shares.shape != (len(estimates),) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise InputError(f"weights of {len(estimates)} rounds must be from 0 on with the sum 1, got {shares.tolist()}")
    parts = [(float(w), estimate) for w, estimate in zip(shares, estimates, strict=True) if w > 0]
    variances = [(w * _observed_error(estimate)) ** 2 for w, estimate in parts]
    total, planned = (
        math.fsum(variances),
        math.fsum((w * (estimate.planned_error or 0.0)) ** 2 for w, estimate in parts),
    )
    freedom = math.inf
    if 0 < total < math.inf:
        pairs = zip(variances, parts, strict=True)
        lost = sum((v / total) ** 2 / estimate.degrees_of_freedom for v, (_, estimate) in pairs if v > 0)
        freedom = 1 / lost if lost > 0 else math.inf
    last = estimates[-1]
    shows_spread = any(
        estimate.observed_error is None or math.isfinite(estimate.observed_error) for _, estimate in parts
    )
    return Estimate(
        value=math.fsum(w * estimate.value for w, estimate in parts),
        std_error=math.sqrt(float(supported(np.array(total), np.array(freedom), np.array(planned)))),
        observed_error=math.sqrt(total) if shows_spread else math.inf,
        planned_error=math.sqrt(planned) if all(estimate.planned_error is not None for _, estimate in parts) else None,
        degrees_of_freedom=freedom,
        n_open=sum(estimate.n_open for estimate in estimates),
        n_draws=sum(estimate.n_draws for estimate in estimates),
        n_queries=sum(estimate.n_queries for estimate in estimates),
        n_items=sum(estimate.n_items for estimate in estimates),
        cost=math.fsum(estimate.cost for estimate in estimates),
        method=last.method,
        limits=last.limits,
        cannot=_cannot(parts),
        notes=tuple(dict.fromkeys(note for estimate in estimates for note in estimate.notes)),
        concerns=tuple(dict.fromkeys(concern for estimate in estimates for concern in estimate.concerns)),
    )


def _observed_error(estimate: Estimate) -> float:
    """Return the observed standard error; the reported one if it is unknown or infinite (the sample has no spread)."""
    observed = estimate.observed_error
    return estimate.std_error if observed is None or math.isinf(observed) else observed


def check_closed(campaign: Campaign, number: int) -> None:
    """Raise StateError unless a round is judged to its end; ``number`` names it in the message, from 1.

    An incomplete round would bias everything that follows.
    """
    n_waiting, n_more = len(campaign.waiting), len(campaign.planned) - len(campaign.units)
    if n_waiting or n_more:
        reason = f"{n_waiting} units wait and {n_more} were not requested"
        raise StateError(f"round {number} is not judged to its end: {reason}")
    if campaign.goes_on:
        raise StateError(f"round {number} is not judged to its end: its labels determine a next batch")


def check_rounds(campaigns: Sequence[Campaign], targets: Sequence[Target | None], *, knows_all: bool = False) -> None:
    """Raise InputError unless campaigns are rounds of one pool and target, in order, with different random numbers.

    If ``knows_all`` is False, also raise InputError if a round was drawn without a grade of the round before; True
    means that each round had all grades of its time, and such a grade arrived later. A target None is the first one
    that the round was made for.
    """
    first = campaigns[0].design
    of_rounds = [c.design.target if t is None else t for c, t in zip(campaigns, targets, strict=True)]
    hashes = pool_hashes(first.pool)
    for k, campaign in enumerate(campaigns[1:], 2):
        design, before = campaign.design, campaigns[k - 2]
        is_same = all(map(np.array_equal, pool_hashes(design.pool), hashes))
        if not is_same or not np.allclose(design.pool.query_probs, first.pool.query_probs, rtol=1e-9):
            raise InputError(f"all rounds must be of one pool: that of round {k} differs from that of round 1")
        if not _is_same_question(of_rounds[k - 1], of_rounds[0]):
            name = of_rounds[k - 1].name
            raise InputError(f"all rounds must have one target: {name} of round {k} has another measure or ranking")
        if any(campaign.key == other.key for other in campaigns[: k - 1]):
            raise InputError(f"round {k} was drawn with the numbers of an earlier round: draw it with another seed")
        lost = np.flatnonzero((before.grades >= 0) & (design.known < 0))
        if lost.size and not knows_all:
            place = design.pool.place(int(lost[0]))
            raise InputError(
                f"round {k} was drawn without the grades of round {k - 1} ({place} and {lost.size - 1} more): "
                "name the rounds in order, and draw each with the grades of all earlier ones as `judged`",
                field="judged",
            )


def _is_same_question(target: Target, other: Target) -> bool:
    """True if two targets of pools with the same ids have the same measure and lists."""
    lists = ((target.ranking, other.ranking), (target.versus, other.versus))
    is_same = all(
        (a is None) == (b is None)
        and (a is None or b is None or (np.array_equal(a.items, b.items) and np.array_equal(a.offsets, b.offsets)))
        for a, b in lists
    )
    return is_same and str(target.measure) == str(other.measure)


def _squares_difference(of_scope: float, of_pool: float) -> float:
    """Compute the variance that the pool's queries, as a sample of all queries, add: of_scope² − of_pool².

    ``of_scope`` and ``of_pool`` are the standard errors for a scope and for the pool. The result is 0 if the latter is
    infinite (unknown).
    """
    return of_scope**2 - of_pool**2 if math.isfinite(of_pool) else 0.0


def _cannot(parts: Sequence[tuple[float, Estimate]]) -> Unjudgeable | None:
    """Combine the rounds' bounds for items that cannot be judged; None if there are no such items.

    The bounds of a round are its smallest and largest estimate over all grades of these items. ``parts`` are pairs of
    the weight and the estimate of each round.
    """
    missing = [estimate.cannot for _, estimate in parts if estimate.cannot is not None]
    if not missing:
        return None
    low, high = (
        math.fsum(
            w * (estimate.value if estimate.cannot is None else getattr(estimate.cannot, end)) for w, estimate in parts
        )
        for end in ("low", "high")
    )
    n_items = sum(estimate.n_items for estimate in missing)
    return Unjudgeable(n_items=n_items, low=low, high=high, treated=missing[0].treated)
