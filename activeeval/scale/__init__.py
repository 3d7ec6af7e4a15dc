"""Designs for pools too large to hold: a pool comes in partitions, of which a sample's own queries stay.

`sources` name the partitions, `partitions` those that are parquet files, `engines` say who goes over them. `surveys`
predict each once, leave its `tables` in a `scratch` place and take sums over the whole pool; `gathering` finds by the
tables what lies below the level that a budget reaches, `fetching` reads the rows of its queries; `designs` make of all
of it a design, and a campaign, like any other. `outlook` says beforehand what it should come to.
"""

from activeeval.core.lazily import attached, homes_of

# a worker sets up its environment before anything is there that reads it
__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
