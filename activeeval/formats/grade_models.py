"""Save grade models to disk and load them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib

from activeeval.core.errors import FormatError, InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.formats.writing import write_atomically

FORMAT = "activeeval grade model"
VERSION = 1
LIBRARIES = ("activeeval-ir", "joblib", "numpy", "scipy", "scikit-learn")


def save_model(model: GradeModel, path: str | Path) -> None:
    """Write a grade model to a joblib file that names its format, libraries and class.

    The file is replaced only when it is complete.

    Raises
    ------
    InputError
        If `model` is not a grade model.
    """
    if not isinstance(model, GradeModel):
        raise InputError(f"expected a grade model, got {type(model).__name__}")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {name: _version(name) for name in LIBRARIES},
        "class": type(model).__name__,
        "model": model,
    }
    with write_atomically(path, binary=True) as handle:
        joblib.dump(content, handle, compress=3)


def load_model(path: str | Path, *, trusted: bool = False) -> GradeModel:
    """Read a grade model written by `save_model`.

    Parameters
    ----------
    path : path
    trusted : bool
        Whether the caller trusts the writer of the file; if False, the file is not read.

    Warnings
    --------
    The file is a pickle: loading it runs any code that its writer put there. Load only files that
    you trust. A model may not load under another version of scikit-learn, which then warns.

    Raises
    ------
    FormatError
        If the file does not exist, is not a grade model, or is not trusted.
    """
    if not Path(path).is_file():
        raise FormatError(path, None, "no such file, expected a grade model")
    if not trusted:
        raise FormatError(path, None, "loading a grade model can run code of its writer, expected trusted=True")
    try:
        content = joblib.load(path)
    except Exception as problem:  # a foreign file can break the unpickler in any way
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise FormatError(path, None, f"not a grade model that save_model wrote ({reason})") from problem
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(path, None, f"not a grade model that save_model wrote, it holds a {type(content).__name__}")
    if content.get("version") != VERSION:
        raise FormatError(path, None, f"version {content.get('version')} of the format, expected {VERSION}")
    model = content.get("model")
    if not isinstance(model, GradeModel):
        raise FormatError(path, None, f"holds a {type(model).__name__}, expected a grade model")
    return model


def _version(library: str) -> str:
    """Look up the installed version of a library, "unknown" if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"
