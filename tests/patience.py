"""How long tests wait: for an event, and so long that no verdict depends on how fast the machine is."""

import time

PATIENCE_S = 600
"""A guard against hanging, in seconds: more than a busy machine needs for any step of a test."""


def until(is_so, every_s=0.02):
    """Wait until a function returns something true, and return that; fail where it never does."""
    end = time.monotonic() + PATIENCE_S
    while not (answer := is_so()):
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(every_s)
    return answer
