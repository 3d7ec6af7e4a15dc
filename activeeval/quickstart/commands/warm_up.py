"""``activeeval warm-up``: compile all numba functions ahead of their first use."""

from __future__ import annotations

from activeeval.cli.help import command
from activeeval.cli.output import say
from activeeval.cli.waiting import progress


@command("warm-up")
def warm_up() -> None:
    """Compile everything now, so that no later call waits for it: for images and for the first morning.

    Compiled code is kept beside the package, or in the folder of NUMBA_CACHE_DIR.

    \b
    activeeval warm-up
    """
    from activeeval.core.design.methods import METHODS
    from activeeval.core.kernels.first_use import WATCHERS
    from activeeval.quickstart.warm_up import warm_up as compile_all

    WATCHERS.clear()  # no messages about compilation, as this command announces it
    with progress(len(METHODS), "compiling") as advance:
        compile_all(advance)
    say("everything is compiled")
