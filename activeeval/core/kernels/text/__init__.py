"""Reading kernels: bytes to numbers, spans, keys."""
