from activeeval.scale.chunks import Chunk as Chunk
from activeeval.scale.designs import ChunkedDesign as ChunkedDesign, chunked_design as chunked_design
from activeeval.scale.partitions import PartitionedPool as PartitionedPool
