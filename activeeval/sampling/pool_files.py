"""Verb `write_pool`: write runs and grade probabilities to a pool in parquet files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from activeeval.core.design.methods import default_method
from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.results import Caution, Note
from activeeval.core.types import Ints
from activeeval.inputs.arguments import checked
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.report.numbers import counted
from activeeval.report.printable import PrintableResult
from activeeval.sampling.arguments import PoolOptions, asked_of, choices_of
from activeeval.scale.partition_files import holds_any, remove, with_empty, within, write

_GROUP_ITEMS = 2**17
"""Number of items in a row group; small, so that a sample's queries are read from few groups."""
_IS_THERE = "is there already: choose another name, or `force`"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WrittenPool(PrintableResult):
    """Result of writing a pool to files.

    Attributes
    ----------
    out : str
        Its folder, or the address of one.
    runs : tuple of str
        Names of its runs.
    n_partitions, n_queries, n_items : int
        Numbers of files, queries and items.
    model : str
        Name of the grade model.
    notes : tuple of Note or Caution
    """

    out: str
    runs: tuple[str, ...]
    n_partitions: int
    n_queries: int
    n_items: int
    model: str
    notes: tuple[Note | Caution, ...]

    @property
    def sentences(self) -> list[str]:
        """One sentence on the files written."""
        files = f"{self.n_partitions} partition{'s' * (self.n_partitions > 1)}"
        what = f"{counted(self.n_queries, 'query')}, {counted(self.n_items, 'item')}, model {self.model}"
        return [f"wrote {self.out}: {what}, in {files}; its runs: {', '.join(self.runs)}"]

    def rows(self) -> list[dict[str, Any]]:
        """Convert to the one row of the command's JSON and CSV output."""
        return [{field.name: getattr(self, field.name) for field in fields(self) if field.name != "notes"}]


@checked
def write_pool(
    runs: Any,
    out: Any,
    *,
    partitions: int = 8,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    force: bool = False,
    **options: Unpack[PoolOptions],
) -> WrittenPool:
    """Write the pool of some runs to parquet files, with each item's grade probabilities.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
    max_grade : int
        Largest grade of the scale.
    judged : path, frame, dict or Judgments, or a list of them
        Known grades.
    names : sequence of str
        Names of the runs; by default those of their files.
    options
        `PoolOptions`: train, grade_probs, model, pool_depth, overhead, cost, traffic, ….
    out : path
        A folder that does not exist or is empty, or its address (as s3://…).
    partitions : int
        Number of files.
    force : bool
        Replace an existing folder.

    Raises
    ------
    ChoiceError, InputError
        If an argument is wrong or not supported by such a pool, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(6)} for q in range(10)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pool({"new": run}, f"{folder}/pool", partitions=2, max_grade=3).rows()[0]["n_items"]
    60
    """
    choices = choices_of(runs, names, judged, max_grade, 0, asked_of(options, PoolOptions)[1])
    return write_partitions(choices, os.fspath(out), partitions, force=force)


def write_partitions(
    choices: Choices,
    out: str,
    n_partitions: int,
    *,
    force: bool = False,
    progress: Callable[[str], object] = lambda step: None,
) -> WrittenPool:
    """Write the pool of some choices to parquet files, with each item's grade probabilities.

    Parameters
    ----------
    choices : Choices
        Runs and options from which the pool is prepared.
    out : str
        A folder that does not exist or is empty.
    n_partitions : int
        Number of files, of roughly equal numbers of items.
    force : bool
        Replace an existing folder.

    Raises
    ------
    ChoiceError
        If choices contradict each other, or are not supported by such a pool.
    InputError
        If a file or a number is wrong, or the folder cannot be written.
    """
    if choices.graders:
        raise ChoiceError("a pool in files holds probabilities, no `graders`: give them as `model`", field="graders")
    if choices.queries is not None:
        problem = "a pool in files does not know of `queries` that were drawn from a log: give `traffic`"
        raise ChoiceError(problem, field="queries")
    case = prepare(choices, use_labels=False, progress=progress)
    runs = _run_names(choices, case)
    pool = case.inputs.pool
    n = max(1, min(n_partitions, pool.n_queries))
    progress(f"writing {counted(n, 'partition')}")
    with _Folder(out, force) as folder:
        for k, (first, last) in enumerate(_parts(pool.query_offsets, n)):
            header = _header(case) | {"n_queries": pool.n_queries}
            write(_in(folder, f"part-{k:05d}.parquet"), _groups(case, runs, first, last), header)
    return WrittenPool(
        out=out,
        runs=runs,
        n_partitions=n,
        n_queries=pool.n_queries,
        n_items=pool.n_items,
        model=case.model,
        notes=case.notes,
    )


def _run_names(choices: Choices, case: PreparedCase) -> tuple[str, ...]:
    """Name the runs in a pool's columns: as the user named them, or by their files without the last suffix.

    Raise ChoiceError if two names are equal.
    """
    files = [system[0] for system in choices.systems] if choices.runs else []
    stems = tuple(Path(file).stem if isinstance(file, str | os.PathLike) else "" for file in files)
    names = tuple(choices.names) or (stems if all(stems) and stems else case.systems)
    if len(set(names)) < len(names):
        problem = f"the runs of a pool need different names, got {', '.join(names)}: give `names`"
        raise ChoiceError(problem, field="names")
    return names


def _header(case: PreparedCase) -> dict[str, Any]:
    """Build the metadata of a pool's files: scale, depth of the lists, grade model and its query factor.

    ``whole_groups``: no query is split between row groups; ``machines``: files whose graders' grades count as labels.
    """
    factor = case.beliefs.factor
    return {
        "version": 1,
        "whole_groups": True,
        "max_grade": case.max_grade,
        "stated_grade": case.stated_grade,
        "depth": case.depth,
        "model": case.model,
        "is_uniform": case.beliefs.is_uniform,
        "factor": None if factor is None else {name: getattr(factor, name) for name in ("sigma", "slope", "shift")},
        "machines": [[str(n.numbers["source"]), n.numbers["n"]] for n in case.notes if n.code == "machine is truth"],
    }


def _parts(offsets: Ints, n: int) -> list[tuple[int, int]]:
    """Split queries into n ranges of roughly equal numbers of items, as pairs (first query, end).

    ``offsets`` (n_queries + 1,) is the start of each query's items, from 0.
    """
    wanted = np.linspace(0, offsets[-1], n + 1)
    edges = np.searchsorted(offsets, wanted)
    edges[0], edges[-1] = 0, offsets.size - 1
    for k in range(1, n):  # leave no part empty
        edges[k] = min(max(edges[k], edges[k - 1] + 1), offsets.size - 1 - (n - k))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _groups(case: PreparedCase, runs: tuple[str, ...], first: int, last: int) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of each row group of a parquet file, for the queries from ``first`` to before ``last``.

    The ranks by each run have a column ``rank:NAME``, named by ``runs``; they are empty for unranked items.
    """
    pool = case.inputs.pool
    offsets = pool.query_offsets[first : last + 1]
    n_groups = max(1, min(-(-int(offsets[-1] - offsets[0]) // _GROUP_ITEMS), last - first))
    ranks = [_ranks(ranking) for ranking in case.inputs.rankings]
    for a, b in _parts(offsets - offsets[0], n_groups):
        items = slice(int(pool.query_offsets[first + a]), int(pool.query_offsets[first + b]))
        columns = _columns(case, pool, first + a, first + b, items)
        for name, rank in zip(runs, ranks, strict=True):
            columns[f"rank:{name}"] = with_empty(rank[items], rank[items] == 0)
        yield columns


def _columns(case: PreparedCase, pool: QueryPool, first: int, last: int, items: slice) -> dict[str, Any]:
    """Build the columns of the items (positions ``items``) of the queries from ``first`` to before ``last``.

    They are ids, costs, traffic, known grades and grade probabilities: ``p0``, ``p1``, … of the model, and ``m1:p0``, …
    of further models, by which estimates are adjusted.
    """
    lengths = np.diff(pool.query_offsets[first : last + 1])

    def of_items(per_query: Any) -> Any:
        """Repeat a value of each query for its items."""
        return np.repeat(np.asarray(per_query)[first:last], lengths)

    columns: dict[str, Any] = {
        "query_id": of_items(pool.query_ids).tolist(),
        "doc_id": pool.item_texts[items].tolist(),
        "cost": pool.item_costs[items],
        "query_cost": of_items(pool.query_costs),
    }
    if np.ptp(pool.query_probs) > 0:
        columns["traffic"] = of_items(pool.query_probs)
    if case.known is not None:
        columns["grade"] = with_empty(case.known[items].astype(np.int16), case.known[items] < 0)
    of_pool = case.beliefs.for_method(default_method(), case.max_grade + 1)
    models = [of_pool["grade_probs"], *of_pool["extra_probs"]]
    for m, probs in enumerate(models):
        prefix = f"m{m}:" if m else ""
        columns |= {f"{prefix}p{k}": column.astype(np.float32) for k, column in enumerate(np.asarray(probs)[items].T)}
    return columns


def _ranks(ranking: Rankings) -> Any:
    """Compute the rank of each item of the pool, from 1, shape (n_items,); 0 for unranked items."""
    ranks = np.zeros(ranking.pool.n_items, dtype=np.int32)
    ranks[ranking.items] = ranking.ranks
    return ranks


def _in(folder: str, name: str) -> str:
    """Join a folder, or its address, and a file name."""
    return within(folder, name) if "://" in folder else os.path.join(folder, name)


class _Folder:
    """Context manager for an output folder that gets its name when complete; addresses (s3://…) are written directly.

    ``force`` replaces an existing folder.
    """

    def __init__(self, out: str, force: bool) -> None:
        """Set the output folder or address ``out``; ``force`` replaces an existing one."""
        self._out, self._force, self._temporary = out, force, ""

    def __enter__(self) -> str:
        """Create a temporary folder beside the output; return its path, or the address.

        Raise InputError if the output exists, without ``force``, or cannot be written.
        """
        if "://" in self._out:
            if holds_any(self._out):
                if not self._force:
                    raise InputError(f"{self._out}: {_IS_THERE}", field="out")
                remove(self._out)
            return self._out
        place = Path(self._out)
        if place.exists() and not place.is_dir():
            raise InputError(f"{self._out}: is a file, expected the name of a folder", field="out")
        if place.exists() and any(place.iterdir()) and not self._force:
            raise InputError(f"{self._out}: {_IS_THERE}", field="out")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._temporary = tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent)
            os.chmod(self._temporary, 0o755)
        except OSError as problem:
            raise InputError(f"{self._out}: cannot write: {problem.strerror}", field="out") from None
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Rename the temporary folder to the output, or remove it after an exception."""
        if not self._temporary:
            return
        if kind is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            return
        if os.path.isdir(self._out):
            shutil.rmtree(self._out)
        os.rename(self._temporary, self._out)
