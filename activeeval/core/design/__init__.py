"""Sampling designs: which items to judge, in which order and at which rate, and how to estimate any target from them.

`beliefs` hold the grade model. `stages` and `item_stage` define what is judged of a query (a prefix of a list, or items
alone or paired by `paired_items`) and turn model and targets into `order_places` (items in judging order), then
`orders` (places with sampling rates computed by `rates`) and `readings` (targets on an order); `inputs` do the same for
any part of a pool. `schemes` define how an order is traversed: by `levels` or with `replacement`. `selections` hold the
places taken, `designs` combine everything. `label_values` compute the variance that an item's label removes for
measures divided by an ideal, `limits` how close a design is to the optimum under its model and costs, `bounds` the
least cost that meets several variance bounds.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
