"""Read and write score files: one number a line, line i for row i of a LETOR file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from activeeval.core.errors import FormatError, InputError
from activeeval.core.types import Floats
from activeeval.formats.suffixes import PathLike
from activeeval.formats.text.columns import read_columns
from activeeval.formats.text.letor import LetorData
from activeeval.formats.writing import write_atomically


def read_scores(
    paths: PathLike | Sequence[PathLike],
    n_expected: int | Sequence[int] | None = None,
    of: str | Sequence[str] | None = None,
) -> Floats:
    """Read scores, one finite number a line, from one file or several concatenated ones.

    Parameters
    ----------
    paths : path or sequence of paths
        Plain or gzip; blank lines and lines that start with ``#`` are left out.
    n_expected : int or sequence of int, optional
        Required number of scores of each file.
    of : str or sequence of str, optional
        Name of the file that each file's scores belong to, for the message.

    Raises
    ------
    FormatError
        ``path:line`` of a line that is not a finite number; ``ranker.txt: 120 scores for 121 lines of
        S1.txt`` if the count is wrong.
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not names:
        raise InputError("read_scores was given no file")
    counts = [n_expected] if isinstance(n_expected, int) else n_expected
    wholes = [of] if isinstance(of, str) else of
    for name, entries in (("n_expected", counts), ("of", wholes)):
        if entries is not None and len(entries) != len(names):
            raise InputError(f"{name} must hold one entry for each of the {len(names)} score files, got {len(entries)}")
    parts = []
    for i, path in enumerate(names):
        scores = read_columns(path, "n", "one score a line").floats(0)
        if counts is not None and scores.size != counts[i]:
            lines = f"{counts[i]} lines of {wholes[i]}" if wholes is not None else f"{counts[i]} lines"
            raise FormatError(os.fspath(path), None, f"{scores.size} scores for {lines}")
        parts.append(scores)
    return np.concatenate(parts)


def write_scores(scores: Floats, path: PathLike) -> None:
    """Write scores, one a line, each with the fewest digits that reproduce it exactly."""
    with write_atomically(path) as handle:
        handle.writelines(f"{score!r}\n" for score in np.asarray(scores, dtype=np.float64).tolist())


def read_scores_of(paths: PathLike | Sequence[PathLike], letor: LetorData) -> Floats:
    """Read the scores of a LETOR data set's rows: one file for each of its files, or one for all.

    Returns
    -------
    ndarray, shape (n_items,)
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if len(names) == 1:
        return read_scores(names, [letor.n_items], [" + ".join(letor.paths)])
    if len(names) != len(letor.paths):
        raise InputError(
            f"{len(names)} score files for {len(letor.paths)} LETOR files, expected one each, or one for all"
        )
    return read_scores(names, np.diff(letor.file_offsets).tolist(), letor.paths)
