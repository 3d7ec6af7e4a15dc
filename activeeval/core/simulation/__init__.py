"""Replicated simulation: distribution of a method's estimates over thousands of repeated samples.

On a pool whose labels are known, Algorithm 1 is run for every repetition, method and budget, with
the kernels that a campaign uses; repetition r with its seed equals the campaign with that seed.
"""

from activeeval.core.simulation.contrasts import SimultaneousResults, simulate_contrasts
from activeeval.core.simulation.replications import Replications, replicate
from activeeval.core.simulation.savings import Saving, saving_of
from activeeval.core.simulation.summaries import Summary, simulate

__all__ = [
    "Replications",
    "Saving",
    "SimultaneousResults",
    "Summary",
    "replicate",
    "saving_of",
    "simulate",
    "simulate_contrasts",
]
