"""Whom to judge, how much of it, in which order; and what that tells of any question.

`beliefs` hold the grade model, `stages` say what is judged of a query and turn model and targets into `orders` (places
with the rates at which they come, by `rates`) and `readings` (targets on an order), `inputs` do so for any part of a
pool; `schemes` say how an order is gone through, by `levels` or with `replacement`, `selections` are what has been
taken, `designs` put it together; `label_values` say what an item tells where values are divided by an ideal, `limits`
how near a design comes to the best that its model and costs allow, `bounds` what the least cost of several bounds is.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
