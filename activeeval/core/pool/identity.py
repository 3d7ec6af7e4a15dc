"""Random numbers that depend only on a key and on ids, not on the order of rows, files or workers."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.pool.queries import QueryPool
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints, Words

Seed = np.random.Generator | np.random.SeedSequence | int | None

# arbitrary constants that separate the hashes of queries, items, known grades and texts: digits of e, π, √2 and √3
_QUERIES, _ITEMS, _GRADES = (np.uint64(w) for w in (0xB7E151628AED2A6B, 0x243F6A8885A308D3, 0x6A09E667F3BCC909))
_TEXTS = np.uint64(0xBB67AE8584CAA73B)


def pool_hashes(pool: QueryPool) -> tuple[Words, Words]:
    """Hash the ids of every query, shape (n_queries,), and of every item together with its query, shape (n_items,)."""
    from activeeval.core.kernels import numbers

    of_queries, of_items = np.empty(pool.n_queries, np.uint64), np.empty(pool.n_items, np.uint64)
    queries, items = pool.query_texts, pool.item_texts
    numbers.text_hashes(_QUERIES, queries.data, queries.offsets, of_queries)
    numbers.item_hashes(_ITEMS, pool.query_offsets, of_queries, items.data, items.offsets, of_items)
    return of_queries, of_items


def key_of(rng: Seed, known: np.uint64 | int = 0) -> np.uint64:
    """Derive the 64-bit key of a sample from a seed and known grades; with the ids it determines all random numbers.

    The digest ``known`` changes the key, so that the new random numbers differ from those that selected the known
    items.

    Parameters
    ----------
    rng : Generator, SeedSequence, int or None
        None uses the operating system's randomness.
    known : uint64
        `known_digest` of the known grades; 0 if no grade is known.

    Raises
    ------
    InputError
        If ``rng`` is none of these.
    """
    if isinstance(rng, np.random.Generator):
        word = rng.integers(2**64, dtype=np.uint64)
    else:
        try:
            seeds = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
        except (TypeError, ValueError):
            raise InputError(
                f"a seed is a number from 0 on, a Generator, a SeedSequence or None, got {rng!r}"
            ) from None
        word = seeds.generate_state(1, np.uint64)[0]
    return np.uint64(word) ^ np.uint64(known)


def checked_key(key: int) -> np.uint64:
    """Convert the stored key of an earlier sample to uint64; raise InputError unless it is a 64-bit whole number."""
    if not isinstance(key, Integral) or isinstance(key, bool) or not 0 <= key < 2**64:
        raise InputError(f"a key is a whole number of 64 bits, got {key!r}")
    return np.uint64(key)


def hashed_uniforms(seed: int, hashes: Words, n: int) -> Floats:
    """Generate `n` uniform numbers in (0, 1) for every hash, shape (n, n_hashes).

    They depend on the seed and each hash alone, not on the order of the hashes; the n rows are independent streams.
    """
    from activeeval.core.kernels import numbers

    out = np.empty((n, hashes.size))
    numbers.uniforms(np.uint64(seed), hashes, n, out)
    return out


def text_numbers(seed: Seed, texts: Texts) -> Floats:
    """Generate a uniform number in (0, 1) for each text, shape (n,), which depends on the seed and the text alone.

    Raises InputError for an invalid seed.
    """
    from activeeval.core.kernels import numbers

    hashes = np.empty(texts.size, np.uint64)
    numbers.text_hashes(_TEXTS, texts.data, texts.offsets, hashes)
    numbers_of: Floats = hashed_uniforms(int(key_of(seed)), hashes, 1)[0]
    return numbers_of


def known_digest(hashes: Words, grades: Ints) -> np.uint64:
    """Compute a digest of the known grades; 0 if no grade is known.

    ``hashes`` (n_items,) are those of the items' ids, ``grades`` (n_items,) are −1 if unknown. The order of items has
    no effect.
    """
    known = np.flatnonzero(grades >= 0)
    mixed = hashed_uniforms(int(_GRADES), hashes[known] + grades[known].astype(np.uint64), 1)
    # a sum does not depend on the order of the rows
    return np.uint64(np.sum((mixed[0] * 2.0**53).astype(np.uint64), dtype=np.uint64))
