"""Designs for pools too large to hold: the pool comes in chunks, of which a sample's own queries stay.

`chunks` are gone through twice: `surveys` take sums over the whole pool, `gathering` what lies below the level that
a budget reaches; `designs` make of both a design, and a campaign, like any other.
"""

from activeeval.scale.chunks import Chunk
from activeeval.scale.designs import ChunkedDesign, chunked_design

__all__ = ["Chunk", "ChunkedDesign", "chunked_design"]
