"""``python -m activeeval``."""

from activeeval.cli import main

main()
