"""What callers hand over: paths, frames, dicts and objects of other libraries, as tasks take them."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from activeeval.core.checks import brief, file_name, flag, generator, number, text, texts, whole_number
from activeeval.core.design.histories import check_looks
from activeeval.core.errors import CautionWarning, InputError
from activeeval.core.judgments import Judgments
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Caution
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.judgments.table_forms import of_table
from activeeval.formats.tables.segments import Segments, segments_of_sheet
from activeeval.formats.tables.sheets import Sheet, frame_sheet
from activeeval.inputs.budgets import Budget
from activeeval.inputs.known_grades import KnownGrades, graded_rows
from activeeval.inputs.systems import loaded_run
from activeeval.report.cautions import caution_lines


def _seed(value: Any, what: str) -> Any:
    generator(value, what)
    return value


def _positive_whole(value: Any, what: str) -> int:
    return whole_number(value, what, 1)


def _whole(value: Any, what: str) -> int:
    return whole_number(value, what, 0)


def _text_or_number(value: Any, what: str) -> str | float:
    return value if isinstance(value, str) else number(value, what)


def _file_names(value: Any, what: str) -> list[str]:
    held = list(value) if isinstance(value, (list, tuple)) else [value]
    return [str(file_name(each, what)) for each in held]


def _half_widths(value: Any, what: str) -> float | dict[str | None, float]:
    if not isinstance(value, Mapping):
        return number(value, what)
    named = {name: name if name is None else text(name, f"a segment of {what}") for name in value}
    return {named[name]: number(half, f"{what} of {name or 'all queries'}") for name, half in value.items()}


def _segments(value: Any, what: str) -> str | Segments:
    if is_path(value):
        return os.fsdecode(value)
    if isinstance(value, Segments):
        return value
    if isinstance(value, Mapping):
        queries, names = (Texts.from_list(list(map(str, side))) for side in (value, value.values()))
        return Segments(queries, names, what.strip("`"))
    try:
        sheet = frame_sheet(value, what)
    except TypeError:
        problem = f"{what} must be a file, a data frame or a dict, query to segment, got {brief(value)}"
        raise InputError(problem, field=what.strip("`")) from None
    return segments_of_sheet(sheet, what.strip("`"))


def _names_of_grades(value: Any, what: str) -> dict[int, str]:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a dict, grade to name, got {brief(value)}", field=what.strip("`"))
    return {
        whole_number(grade, f"a grade of {what}", 0): text(name, f"{what} of {grade}") for grade, name in value.items()
    }


_KINDS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("names", "questions", "methods", "model", "judges"), texts),
    **dict.fromkeys(("method", "judging", "policy", "judged_policy", "interval", "grader_trust", "name"), text),
    **dict.fromkeys(("weights", "contrasts", "ties", "scope", "unjudged", "no_relevant", "test", "correction"), text),
    **dict.fromkeys(("strata", "prompt", "kind", "date", "begin", "end", "reference", "head"), text),
    **dict.fromkeys(("seed", "as_of", "active_ms", "grade", "overlap", "limit", "seq"), _whole),
    **dict.fromkeys(("cannot", "preferred", "discard", "key", "judge", "reason"), text),
    **dict.fromkeys(("pool_parquet", "engine"), text),
    "adaptive_depth": _text_or_number,
    "rng": _seed,
    **dict.fromkeys(("share", "difference", "power", "confidence", "overhead", "defensive_share"), number),
    **dict.fromkeys(("index_update", "margin", "false_alarms", "budget_on_suspicion"), number),
    **dict.fromkeys(("ask_price", "ask_skill"), number),
    **dict.fromkeys(
        (
            "max_grade",
            "pool_depth",
            "n",
            "judges_per_item",
            "lease_s",
            "resamples",
            "repetitions",
            "items",
            "top",
            "partitions",
        ),
        _positive_whole,
    ),
    "segments": _segments,
    "half_width": _half_widths,
    "grade_names": _names_of_grades,
    **dict.fromkeys(("force", "later", "tie", "expected", "ahead"), flag),
    **dict.fromkeys(("cost", "traffic", "path", "sheet", "url", "documents", "guidelines", "out"), file_name),
    **dict.fromkeys(("keep_foreign", "machine_is_truth", "by_clock", "replace", "adjudicate", "strict_order"), flag),
    **dict.fromkeys(("pilot", "last"), file_name),
    **dict.fromkeys(("pilots", "sheets"), _file_names),
}
"""What an argument is wherever it has this name: each returns the value as Python has it, or raises InputError."""
P = ParamSpec("P")
R = TypeVar("R")


def checked(verb: Callable[P, R]) -> Callable[P, R]:
    """Check the kind of every argument of a function before it runs; None stands for the argument's default.

    Raises
    ------
    InputError
        Where a number is a text, a text a number, and so on: in one line, with the name of the argument.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def with_kinds(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: _of_kind(key, each) for key, each in value.items() if each is not None}
            else:
                is_said = value is not None or parameter.default is inspect.Parameter.empty
                bound.arguments[name] = _of_kind(name, value) if is_said else parameter.default
        return verb(*bound.args, **bound.kwargs)

    return with_kinds


def _of_kind(name: str, value: Any) -> Any:
    return _KINDS[name](value, f"`{name}`") if name in _KINDS else value


def in_python(parameter: str) -> str:
    """Return how a text names a parameter of the library: as the verbs do.

    Examples
    --------
    >>> in_python("max_grade")
    '`max_grade`'
    """
    return f"`{parameter}`"


def is_path(source: Any) -> bool:
    """Return whether a source is the name of a file."""
    return isinstance(source, (str, os.PathLike))


def measures_of(measure: Any) -> tuple[list[Any], bool]:
    """Return the measures that are asked for, and whether they came as several.

    A measure is text, an object of this library, or of another whose text says what it is, as those of ir_measures.

    Examples
    --------
    >>> measures_of("DCG@10"), measures_of(["DCG@10", "P@5"])
    ((['DCG@10'], False), (['DCG@10', 'P@5'], True))
    """
    is_several = isinstance(measure, (list, tuple, set, frozenset))
    held = list(measure) if is_several else [measure]
    if not held:
        raise InputError("expected a measure, as 'DCG@10', got an empty list", field="measure")
    return [each if isinstance(each, str) or hasattr(each, "bound_to") else str(each) for each in held], is_several


def measure_of(measure: Any) -> Any:
    """Return the one measure that is asked for, as of `measures_of`."""
    measures, _ = measures_of(measure)
    if len(measures) > 1:
        raise InputError(f"one measure is looked at here, got {len(measures)}", field="measure")
    return measures[0]


def budget_of(budget: Any, share: float | None = None) -> Budget | None:
    """Return a budget that is said as a number of judgments, a percentage or a share; None where it is not.

    Examples
    --------
    >>> print(budget_of("10%"), budget_of(200), budget_of(None, share=0.05))
    10% 200 5%
    """
    if isinstance(budget, str):
        if share is not None:
            raise InputError(f"give a budget or a share, got budget={budget!r} and share={share!r}")
        return Budget.parse(budget)
    return Budget.of_either(budget, share)


def runs_of(runs: Any, names: Any = ()) -> tuple[list[Any], tuple[str, ...]]:
    """Return runs, files by their names and others loaded, and what they are called; no names where files tell.

    Parameters
    ----------
    runs : sequence, or mapping of str to run
        Each a path, a dict of dicts, a data frame or a `Run`. The keys of a mapping are their names.
    """
    held = listed(runs)
    if not held:
        raise InputError("expected a run, got none", field="runs")
    is_named = isinstance(runs, Mapping) and held[0] is not runs
    called = tuple(names or ()) or (tuple(map(str, runs)) if is_named else ())
    stand_ins = called if len(called) == len(held) else [f"run {k + 1}" for k in range(len(held))]
    loaded = [
        os.fspath(run) if is_path(run) else loaded_run(run, stand_in)
        for run, stand_in in zip(held, stand_ins, strict=True)
    ]
    return loaded, called


def listed(runs: Any) -> list[Any]:
    """Return runs as a list; a dict of dicts is a single run where its documents have numbers, else names runs."""
    if isinstance(runs, (list, tuple)):
        return list(runs)
    if not isinstance(runs, Mapping):
        return [runs]
    first = next(iter(runs.values()), None)
    is_run = isinstance(first, Mapping) and not any(isinstance(value, Mapping) for value in first.values())
    return [runs] if is_run else list(runs.values())


def sources_of(value: Any) -> list[Any]:
    """Return one source or several as a list: a path, a dict, a frame or judgments is one."""
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def graders_of(value: Any) -> list[Any]:
    """List graders: one source or several, or a dict of names to sources."""
    if not isinstance(value, Mapping) or (value and listed(value)[0] is value):
        return [_grader(source, f"grader {number}") for number, source in enumerate(sources_of(value), 1)]
    named = {str(name): _grader(source, str(name)) for name, source in value.items()}
    return [
        replace(Grades.parse(source) if isinstance(source, str) else Grades.read(source), name=name)
        for name, source in named.items()
    ]


def _grader(source: Any, name: str) -> Any:
    """Return a grader as `activeeval.formats.graders` reads one: of a dict of dicts as judgments."""
    return columns_of(source, name) if isinstance(source, Mapping) else source


def judgments_in(source: Any, what: str = "the judgments frame") -> Any:
    """Return judgments as `activeeval.formats.judgments.from_files.labels_of` takes them; a data frame may be of any
    form a table has."""
    if source is None or is_path(source) or isinstance(source, (Judgments, Qrels, Mapping)):
        return os.fspath(source) if isinstance(source, os.PathLike) else source
    try:
        return of_table(frame_sheet(source, what))
    except TypeError:
        kind = type(source).__name__
        raise InputError(f"judgments must come as a path, a dict of dicts or a data frame, got {kind}") from None


def columns_of(source: Any, what: str) -> str | Judgments:
    """Return judgments as columns, or the name of their file: a path, a dict of dicts, a data frame or judgments."""
    held = judgments_in(source, what)
    if isinstance(held, (str, Judgments)):
        return held
    from activeeval.formats.loading import load_qrels

    labels = load_qrels(held)
    columns = {"query_id": labels.query_ids.tolist(), "doc_id": labels.doc_ids.tolist(), "grade": labels.grades}
    return of_table(Sheet(what, columns))


def by_judge(sources: Any) -> dict[str, str | Judgments]:
    """Return judgments of several judges by what stands for the name of one who has none: a name, a file, a number.

    Parameters
    ----------
    sources : path, dict of dicts, data frame or Judgments, a list of them, or a dict of judges' names to them
    """
    held = listed(sources)
    is_named = isinstance(sources, Mapping) and held[0] is not sources
    names = list(map(str, sources)) if is_named else [f"judge {number}" for number in range(1, len(held) + 1)]
    named = (
        (os.fspath(each) if is_path(each) and not is_named else name, each)
        for name, each in zip(names, held, strict=True)
    )
    return {name: columns_of(each, name) for name, each in named}


def known_of(source: Any, number: int) -> str | KnownGrades:
    """Return what is known already: the name of a file, or the grades that are held in memory."""
    if is_path(source):
        return str(os.fspath(source))
    name = f"judged {number}"
    judgments = judgments_in(source, name)
    if isinstance(judgments, Judgments):
        return KnownGrades(name, list(graded_rows(judgments)), judgments.notes())
    from activeeval.formats.loading import load_qrels

    labels = load_qrels(judgments)
    columns = (labels.query_ids.tolist(), labels.doc_ids.tolist(), labels.grades.tolist())
    return KnownGrades(name, [(query, doc, grade, "") for query, doc, grade in zip(*columns, strict=True)])


def warn_of(named: Sequence[tuple[str, Sequence[Caution]]]) -> None:
    """Emit each caution of the results once, at the line that calls the library."""
    for line in caution_lines(named, in_python):
        warnings.warn(line, CautionWarning, stacklevel=_calls_within() + 1)


def _calls_within() -> int:
    """Return how many calls of this package lie between a caller and the first that is not of it."""
    frame, n_calls = sys._getframe(1), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__.partition(".")[0]:
        frame, n_calls = frame.f_back, n_calls + 1  # type: ignore[assignment]
    return n_calls


def adaptive_depth_of(adaptive_depth: str | int | None) -> str | None:
    """Return when labels are looked at, once it is known to be a way there is; None where nobody says it."""
    return None if adaptive_depth is None else check_looks(str(adaptive_depth))
