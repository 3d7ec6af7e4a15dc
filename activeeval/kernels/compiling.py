"""How everything in this room is compiled: once, kept on disk, without exceptions, free of the interpreter's lock."""

from __future__ import annotations

import numba

# an entry for callers in C, which nobody is, would take a tenth of the time that compiling takes
jit = numba.njit(cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
