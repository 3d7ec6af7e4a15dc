"""Designs for pools too large to hold: a pool comes in partitions, of which a sample's own queries stay.

`sources` name the partitions, `partitions` those that are parquet files, `engines` say who goes over them. `surveys`
predict each once, leave its `tables` in a `scratch` place and take sums over the whole pool; `gathering` finds by the
tables what lies below the level that a budget reaches, `fetching` reads the rows of its queries; `designs` make of all
of it a design, and a campaign, like any other. `outlook` says beforehand what it should come to.
"""

from typing import TYPE_CHECKING

from activeeval.core.lazily import attached

# a worker sets up its environment before anything is there that reads it
_HOMES = {
    "activeeval.scale.chunks": ("Chunk",),
    "activeeval.scale.designs": ("ChunkedDesign", "chunked_design"),
    "activeeval.scale.partitions": ("PartitionedPool",),
}

__all__ = ["Chunk", "ChunkedDesign", "PartitionedPool", "chunked_design"]

if TYPE_CHECKING:
    from activeeval.scale.chunks import Chunk
    from activeeval.scale.designs import ChunkedDesign, chunked_design
    from activeeval.scale.partitions import PartitionedPool

__getattr__, __dir__ = attached(__name__, _HOMES)
