"""Replicated simulation: what a method's estimates would have been, thousands of times over.

On a pool whose labels are known, Algorithm 1 is run for every repetition, method and budget, with
the kernels that a campaign uses; repetition r with its seed equals the campaign with that seed.
"""

from activeeval.simulation.contrasts import AtOnce, simulate_contrasts
from activeeval.simulation.replications import Replications, repetition_seeds, replicate
from activeeval.simulation.savings import Compared, Saving, saving_of
from activeeval.simulation.summaries import Summary, simulate

__all__ = [
    "AtOnce",
    "Compared",
    "Replications",
    "Saving",
    "Summary",
    "repetition_seeds",
    "replicate",
    "saving_of",
    "simulate",
    "simulate_contrasts",
]
