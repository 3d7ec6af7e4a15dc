"""Kernels that read text: bytes to numbers, spans, keys."""
