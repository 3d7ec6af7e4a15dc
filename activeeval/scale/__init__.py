"""Designs for pools that exceed memory: the pool is read in partitions, and only the sampled queries are kept.

`sources` list the partitions, `partitions` read those in parquet files, `engines` run tasks over them. `surveys` read
each partition once, write its unit table (`tables`) to a `scratch` folder, and sum over the whole pool.
`select_queries` finds the units below the threshold level of a budget from the tables, `fetch_rows` reads the rows of
their queries, and `designs` builds a design and a campaign from all of it. `outlook` predicts the precision.
"""

from activeeval.core.lazily import attached, homes_of

# lazy imports: a worker must set up its environment before numpy or numba read it
__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
