"""activeeval: measure search quality with a fraction of the judgments."""

__version__ = "0.1.0"
