"""Random numbers derived from a key and an id, independent of other draws and their order.

The UTF-8 text of an id is hashed once, byte by byte (FNV-1a, 64 bits), with its length before it and a
finaliser after it; each kind of id has its own start value, and an item's hash starts from its query's. The
finaliser of splitmix64 (Steele, Lea and Flood 2014) mixes in a key: a bijection whose every output
bit depends on every input bit. The upper 53 bits give a number in (0, 1).
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@_jit
def mixed(x):
    """Mix the bits of a uint64 so that each output bit depends on all input bits: splitmix64's finaliser."""
    x = x + _GOLDEN
    x = (x ^ (x >> _S30)) * _FIRST
    x = (x ^ (x >> _S27)) * _SECOND
    return x ^ (x >> _S31)


@_jit
def number(key, word):
    """Compute the uniform number in (0, 1) that belongs to a hash ``word`` under a ``key``, both uint64."""
    return (np.float64(np.int64(mixed(key ^ word) >> _S11)) + 0.5) * _UNIT


@_jit
def _text_hash(start, data, first, last):
    """Hash the UTF-8 bytes ``data[first:last]`` to a uint64, by FNV-1a with a start value."""
    h = mixed(start ^ np.uint64(last - first)) ^ _BASIS
    for i in range(first, last):
        h = (h ^ np.uint64(data[i])) * _PRIME
    return mixed(h)


@_jit
def text_hashes(start, data, texts, out):
    """Fill ``out`` (n,) uint64 with the hash of every text; text ``j`` is ``data[texts[j]:texts[j + 1]]``.

    ``start`` (uint64) is the start value of the hash, different for each kind of id.
    """
    for j in range(out.size):
        out[j] = _text_hash(start, data, texts[j], texts[j + 1])


@_jit
def item_hashes(start, offsets, query_hashes, data, texts, out):
    """Fill ``out`` (n_items,) uint64 with the hash of every item's id, which starts from the hash of its query.

    Query q has the items ``offsets[q]`` to ``offsets[q + 1] - 1``; the id of item z is ``data[texts[z]:texts[z + 1]]``,
    UTF-8. ``start`` (uint64) is the start value of this kind of id.
    """
    for q in range(offsets.size - 1):
        query_start = mixed(start ^ query_hashes[q])
        for z in range(offsets[q], offsets[q + 1]):
            out[z] = _text_hash(query_start, data, texts[z], texts[z + 1])


@_jit
def uniforms(key, words, n_streams, out):
    """Fill ``out`` (n_streams, n) with a number in (0, 1) for every hash of ``words`` (n,) under a ``key``.

    Each row is an independent stream.
    """
    for s in range(n_streams):
        stream_key = mixed(key ^ np.uint64(s))
        for j in range(words.size):
            out[s, j] = number(stream_key, words[j])
