"""Designs for pools too large to hold: the pool comes in chunks, of which a sample's own queries stay.

`chunks` are gone through twice: `surveys` take sums over the whole pool, `gathering` what lies below the level that
a budget reaches; `designs` make of both a design, and a campaign, like any other. `engines` say who goes over them.
"""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

# a worker sets up its environment before anything is there that reads it
_HOMES = {
    "activeeval.scale.chunks": ("Chunk",),
    "activeeval.scale.designs": ("ChunkedDesign", "chunked_design"),
}

__all__ = ["Chunk", "ChunkedDesign", "chunked_design"]

if TYPE_CHECKING:
    from activeeval.scale.chunks import Chunk
    from activeeval.scale.designs import ChunkedDesign, chunked_design

__getattr__, __dir__ = attached(__name__, _HOMES)
