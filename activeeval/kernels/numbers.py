"""Random numbers that belong to an id: the same for a key, whatever else is drawn and in which order.

An id's text is hashed once, byte by byte of its UTF-8 form (FNV-1a, 64 bits), its length before it and a
finaliser behind it, each kind of id from a start of its own; an item's hash starts from its query's. A key is
mixed in by the finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection whose every output
bit depends on every input bit, and the upper 53 bits make a number in (0, 1).
"""

from __future__ import annotations

import numpy as np

from activeeval.kernels.compiling import jit as _jit

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@_jit
def mixed(x):
    """Return the finaliser of splitmix64 of a 64-bit word."""
    x = x + _GOLDEN
    x = (x ^ (x >> _S30)) * _FIRST
    x = (x ^ (x >> _S27)) * _SECOND
    return x ^ (x >> _S31)


@_jit
def number(key, word):
    """Return a number in (0, 1) for a hash under a key."""
    return (np.float64(np.int64(mixed(key ^ word) >> _S11)) + 0.5) * _UNIT


@_jit
def _absorbed(h, byte):
    return (h ^ np.uint64(byte)) * _PRIME


@_jit
def _text_hash(start, codes):
    """Return the hash of the code points of a text, zeros behind them, from a start."""
    n_bytes = 0
    n = 0
    while n < codes.size and codes[n] != 0:
        c = codes[n]
        n_bytes += 1 if c < 0x80 else 2 if c < 0x800 else 3 if c < 0x10000 else 4
        n += 1
    h = mixed(start ^ np.uint64(n_bytes)) ^ _BASIS
    for k in range(n):
        c = np.int64(codes[k])
        if c < 0x80:
            h = _absorbed(h, c)
        elif c < 0x800:
            h = _absorbed(_absorbed(h, 0xC0 | (c >> 6)), 0x80 | (c & 0x3F))
        elif c < 0x10000:
            h = _absorbed(_absorbed(h, 0xE0 | (c >> 12)), 0x80 | ((c >> 6) & 0x3F))
            h = _absorbed(h, 0x80 | (c & 0x3F))
        else:
            h = _absorbed(_absorbed(h, 0xF0 | (c >> 18)), 0x80 | ((c >> 12) & 0x3F))
            h = _absorbed(_absorbed(h, 0x80 | ((c >> 6) & 0x3F)), 0x80 | (c & 0x3F))
    return mixed(h)


@_jit
def text_hashes(start, codes, out):
    """Fill ``out`` (n,) uint64 with the hash of every text, rows of ``codes`` (n, width)."""
    for j in range(codes.shape[0]):
        out[j] = _text_hash(start, codes[j])


@_jit
def item_hashes(start, offsets, query_hashes, codes, out):
    """Fill ``out`` (n_items,) uint64 with the hash of every item, that of its query its start."""
    for q in range(offsets.size - 1):
        own = mixed(start ^ query_hashes[q])
        for z in range(offsets[q], offsets[q + 1]):
            out[z] = _text_hash(own, codes[z])


@_jit
def uniforms(key, words, n_streams, out):
    """Fill ``out`` (n_streams, n) with a number in (0, 1) for every hash, another stream in every row."""
    for s in range(n_streams):
        own = mixed(key ^ np.uint64(s))
        for j in range(words.size):
            out[s, j] = number(own, words[j])
