"""Log results to MLflow: values and interval bounds as metrics, the sample and the full rows as artifacts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from activeeval.core.errors import InputError

NUMBERS = ("value", "low", "high", "std_error", "p_value")
"""Fields of a row that are logged as metrics."""
_FOLDER = "activeeval"
_UNKNOWN = re.compile(r"[^\w\-. :/]+")


class HasRows(Protocol):
    """A result, or a list of results."""

    def rows(self) -> list[dict[str, Any]]:
        """Convert the result to rows: fields by name."""
        ...


def log(
    estimate: HasRows | Sequence[Mapping[str, Any]],
    *,
    artifacts: Sequence[str] = (),
    prefix: str = "",
    step: int | None = None,
) -> str:
    """Log the rows of a result to MLflow, and return the id of the run.

    The active run is used; without one, a new run is started. A metric is named by its measure, its system or
    difference, and its number, as ``DCG_10/new.run minus old.run/low``.

    Parameters
    ----------
    estimate : result of `activeeval.estimate`, `compare`, `evaluate` or `score`, or rows of one
    artifacts : sequence of path
        Files to attach: the sample, its sheets.
    prefix : str
        Prefix of each metric's name.
    step : int, optional
        MLflow's step, for example the number of the nightly run.

    Raises
    ------
    InputError
        If MLflow is not installed, an artifact is not a file, or no row has a value.

    Examples
    --------
    >>> try:
    ...     log([{"measure": "DCG@10", "system": "new.run", "value": None}], step=3)
    ... except InputError as error:
    ...     print(error)
    nothing to log: no row has a value
    """
    rows = [dict(row) for row in (estimate.rows() if hasattr(estimate, "rows") else estimate)]
    metrics = {f"{prefix}{name}": value for row in rows for name, value in _metrics(row)}
    if not metrics:
        raise InputError("nothing to log: no row has a value")
    missing = [path for path in artifacts if not Path(path).is_file()]
    if missing:
        raise InputError(f"{missing[0]}: no such file")
    if find_spec("mlflow") is None:
        raise InputError("mlflow is not installed: pip install 'activeeval-ir[mlflow]'")
    mlflow = import_module("mlflow")
    active = mlflow.active_run()
    run: AbstractContextManager[Any] = mlflow.start_run() if active is None else nullcontext(active)
    with run as current:
        mlflow.log_metrics(metrics, step=step)
        mlflow.log_text("".join(f"{json.dumps(row, default=str)}\n" for row in rows), f"{_FOLDER}/estimates.jsonl")
        for path in artifacts:
            mlflow.log_artifact(str(path), _FOLDER)
    return str(current.info.run_id)


def _metrics(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each finite metric of a row; rows of single queries have none."""
    if row.get("query_id", "all") != "all":
        return
    of = row.get("direction") or row.get("system") or row.get("run") or row.get("question") or ""
    parts = [row.get("measure", ""), str(of).replace("−", "minus"), row.get("segment") or ""]
    name = "/".join(_UNKNOWN.sub("_", str(part)).replace("/", "_") for part in parts if part)
    for number in NUMBERS:
        value = row.get(number)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield f"{name}/{number}", float(value)
