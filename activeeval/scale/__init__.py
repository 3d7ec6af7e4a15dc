"""Designs for pools too large to hold: the pool comes in chunks, of which only five numbers a query stay.

`chunks` takes of each chunk what a design needs of it, `designs` makes the design of that, draws queries and puts
those that were drawn on record.
"""

from activeeval.scale.chunks import Chunk
from activeeval.scale.designs import ChunkedDesign, chunked_design

__all__ = ["Chunk", "ChunkedDesign", "chunked_design"]
