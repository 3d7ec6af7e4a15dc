"""Ranker files: arrays of numbers and text, which cannot hold code.

A hyper-linear ranker consists of trees and weights, so that its file needs no pickle. The file holds its format, its
version and a digest of its content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from activeeval.adaptation.hyper_linear import Adaptation, HyperLinearRanker, Method, Scaling
from activeeval.adaptation.trees import Trees
from activeeval.core.errors import FormatError
from activeeval.formats.arrays import read_arrays, write_arrays
from activeeval.formats.writing import AtomicFiles

FORMAT = "activeeval hyper-linear ranker"
VERSION = 1
"""Version of the file format; unchanged until the first release."""
EXPECTED = "a hyper-linear ranker that write_ranker wrote"
Arrays = Mapping[str, NDArray[Any]]
PathLike = str | os.PathLike[str]

_VALUES: dict[str, type[Any]] = {
    **dict.fromkeys(("format", "digest", "method", "scaling"), np.str_),
    **dict.fromkeys(("version", "n_features", "n_pairs", "n_epochs"), np.int64),
    **dict.fromkeys(("single", "takes_missing", "converged"), np.bool_),
    **dict.fromkeys(("intercept", "regularization", "objective", "gap"), np.float64),
}
"""Arrays of one entry, with their types."""
_COLUMNS: dict[str, type[Any]] = {
    **dict.fromkeys(("roots", "features", "left", "right", "query_hashes"), np.int64),
    **dict.fromkeys(("thresholds", "base_coef", "coef"), np.float64),
    **dict.fromkeys(("missing_left", "zero_is_missing"), np.bool_),
}
_TREES = tuple(Trees.__dataclass_fields__)
_ADAPTED = ("method", "regularization", "scaling", "n_pairs", "objective", "gap", "n_epochs", "converged")
# values of these fields for a ranker that is not adapted
_NOT_ADAPTED = ("", 0.0, "", 0, np.nan, np.nan, 0, True)


def write_ranker(path: PathLike, ranker: HyperLinearRanker, files: AtomicFiles | None = None) -> None:
    """Write a ranker file atomically, alone or, if `files` is set, together with other files."""
    adaptation = ranker.adaptation_
    values = [getattr(adaptation, name) for name in _ADAPTED] if adaptation else _NOT_ADAPTED
    arrays = {name: getattr(ranker.trees, name) for name in _TREES}
    arrays |= {"base_coef": ranker.base_coef_, "coef": ranker.coef_, "intercept": ranker.intercept_}
    arrays |= {"query_hashes": ranker.query_hashes_}
    arrays |= dict(zip(_ADAPTED, values, strict=True)) | {"format": FORMAT, "version": VERSION}
    kinds = _VALUES | _COLUMNS
    typed = {name: np.atleast_1d(np.asarray(array, dtype=kinds[name])) for name, array in arrays.items()}
    sealed = typed | {"digest": np.array([_digest(typed)])}
    if files is not None:
        write_arrays(path, sealed, files)
        return
    with AtomicFiles() as own_files:
        write_arrays(path, sealed, own_files)


def read_ranker(path: PathLike) -> HyperLinearRanker:
    """Read a ranker file; its predictions are bitwise those of the written ranker.

    Raises
    ------
    FormatError
        If the file is missing, damaged, of another version or another format.
    """
    arrays = read_arrays(path, (*_VALUES, *_COLUMNS), EXPECTED)
    problem = _foreign(arrays) or _changed(arrays)
    if not problem:
        values = {name: arrays[name].item() for name in _VALUES}
        fields = values | {name: arrays[name] for name in _COLUMNS}
        trees = Trees(**{name: fields[name] for name in _TREES})
        adapted = {name: values[name] for name in _ADAPTED}
        problem = trees.problem() or _misfit(trees, arrays) or _unknown_method(adapted)
    if problem:
        raise FormatError(os.fspath(path), None, f"{problem}, expected {EXPECTED}")
    return HyperLinearRanker(
        trees=trees,
        base_coef_=fields["base_coef"],
        coef_=fields["coef"],
        intercept_=fields["intercept"],
        adaptation_=Adaptation(**adapted) if adapted["method"] else None,
        query_hashes_=fields["query_hashes"],
    )


def _digest(arrays: Arrays) -> str:
    """Compute a SHA-256 digest of the names, types, shapes and bytes of arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        total.update(np.ascontiguousarray(arrays[name]).tobytes())
    return total.hexdigest()


def _foreign(arrays: Arrays) -> str | None:
    """Describe the first array of wrong type, shape, format or version; None if there is none."""
    for name, kind in (_VALUES | _COLUMNS).items():
        array = arrays[name]
        if not np.issubdtype(array.dtype, kind) or array.ndim != 1 or (name in _VALUES and array.size != 1):
            return f"{name} is {array.dtype} of shape {array.shape}"
    if arrays["format"][0] != FORMAT:
        return "it is of another format"
    version = arrays["version"][0]
    return None if version == VERSION else f"it is version {version} of the format, not {VERSION}"


def _changed(arrays: Arrays) -> str | None:
    """Describe a digest that does not fit the content; None if it fits."""
    content = {name: array for name, array in arrays.items() if name != "digest"}
    return None if arrays["digest"].tolist() == [_digest(content)] else "it was changed after it was written"


def _misfit(trees: Trees, arrays: Arrays) -> str | None:
    """Describe weights that do not fit the trees, or are not finite; None if they are valid."""
    if not arrays["coef"].size == arrays["base_coef"].size == trees.n_leaves:
        return "its weights are not as many as its leaves"
    numbers = (arrays["coef"], arrays["base_coef"], arrays["intercept"])
    return None if all(np.isfinite(array).all() for array in numbers) else "its weights are not finite"


def _unknown_method(adapted: Mapping[str, Any]) -> str | None:
    """Describe an unknown method or scaling of the adaptation; None if both are known."""
    known = ("", *get_args(Method)), ("", *get_args(Scaling))
    return None if adapted["method"] in known[0] and adapted["scaling"] in known[1] else "its method is unknown"
