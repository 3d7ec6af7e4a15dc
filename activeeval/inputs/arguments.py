"""Convert and check the arguments of public functions: paths, frames, dicts and objects of other libraries."""

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
from activeeval.formats.suffixes import runs_in
from activeeval.formats.tables.read_tables import frame_sheet
from activeeval.formats.tables.segments import Segments, segments_of_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.inputs.budgets import Budget
from activeeval.inputs.known_grades import KnownGrades, graded_rows
from activeeval.inputs.systems import loaded_run
from activeeval.report.cautions import caution_lines


def _seed(value: Any, what: str) -> Any:
    """Check that `value` is a seed or a NumPy generator, and return it; `what` names it in the InputError."""
    generator(value, what)
    return value


def _positive_whole(value: Any, what: str) -> int:
    """Convert to an integer of at least 1; `what` names the value in the InputError."""
    return whole_number(value, what, 1)


def _whole(value: Any, what: str) -> int:
    """Convert to an integer of at least 0; `what` names the value in the InputError."""
    return whole_number(value, what, 0)


def _text_or_number(value: Any, what: str) -> str | float:
    """Return a text as it is, anything else as a number; `what` names the value in the InputError."""
    return value if isinstance(value, str) else number(value, what)


def _file_names(value: Any, what: str) -> list[str]:
    """Convert one path or a list of paths to a list of texts; `what` names the value in the InputError."""
    paths = list(value) if isinstance(value, (list, tuple)) else [value]
    return [str(file_name(path, what)) for path in paths]


def _half_widths(value: Any, what: str) -> float | dict[str | None, float]:
    """Convert a half-width, or a dict from segment (None: all queries) to half-width; `what` is its name in errors."""
    if not isinstance(value, Mapping):
        return number(value, what)
    named = {name: name if name is None else text(name, f"a segment of {what}") for name in value}
    return {named[name]: number(half, f"{what} of {name or 'all queries'}") for name, half in value.items()}


def _segments(value: Any, what: str) -> str | Segments:
    """Convert a dict of query to segment, or a frame, to segments; a path stays. `what` is its name in errors."""
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


def _columns(value: Any, what: str) -> dict[str, str]:
    """Convert a dict of role (such as "query") to the caller's column; `what` names the value in the InputError."""
    if isinstance(value, Mapping):
        return {text(role, f"a role of {what}"): text(name, f"{what} of {role}") for role, name in value.items()}
    raise InputError(f"{what} must be a dict, role to column, got {brief(value)}", field=what.strip("`"))


def _names_of_grades(value: Any, what: str) -> dict[int, str]:
    """Convert a dict of grade to name; `what` names the value in the InputError."""
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
    **dict.fromkeys(("max_grade", "pool_depth", "n", "judges_per_item", "lease_s", "resamples"), _positive_whole),
    **dict.fromkeys(("repetitions", "items", "top", "partitions"), _positive_whole),
    "segments": _segments,
    "half_width": _half_widths,
    "grade_names": _names_of_grades,
    **dict.fromkeys(("leave_out_self",), flag),
    "collapse": text,
    "columns": _columns,
    **dict.fromkeys(("force", "later", "tie", "expected", "ahead", "condensed"), flag),
    **dict.fromkeys(("cost", "traffic", "path", "sheet", "url", "documents", "guidelines", "out"), file_name),
    **dict.fromkeys(("keep_foreign", "machine_is_truth", "by_clock", "replace", "adjudicate", "strict_order"), flag),
    **dict.fromkeys(("pilot", "last"), file_name),
    **dict.fromkeys(("pilots", "sheets"), _file_names),
}
"""Converters by argument name, the same for all public functions; each raises InputError for a wrong value."""
P = ParamSpec("P")
R = TypeVar("R")


def checked(verb: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: convert and check each argument by its name (`_KINDS`); None means its default.

    Raises
    ------
    InputError
        If an argument has the wrong type, e.g. a text for a number; the one-line message names the argument.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def with_kinds(*args: P.args, **kwargs: P.kwargs) -> R:
        """Convert and check the arguments, then call the function."""
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: _of_kind(key, item) for key, item in value.items() if item is not None}
            else:
                is_given = value is not None or parameter.default is inspect.Parameter.empty
                bound.arguments[name] = _of_kind(name, value) if is_given else parameter.default
        return verb(*bound.args, **bound.kwargs)

    return with_kinds


def _of_kind(name: str, value: Any) -> Any:
    """Convert and check the argument called `name`; arguments of unknown names pass unchanged."""
    return _KINDS[name](value, f"`{name}`") if name in _KINDS else value


def in_python(parameter: str) -> str:
    """Format a parameter's name for messages of the Python interface: in backquotes.

    Examples
    --------
    >>> in_python("max_grade")
    '`max_grade`'
    """
    return f"`{parameter}`"


def is_path(source: Any) -> bool:
    """Check whether a source is a file name."""
    return isinstance(source, (str, os.PathLike))


def measures_of(measure: Any) -> tuple[list[Any], bool]:
    """List the measures of an argument; also return True if the argument was a list of several.

    A measure is a text, an object of this library, or an object whose ``str`` is such a text, as those of ir_measures.
    InputError is raised if the list is empty.

    Examples
    --------
    >>> measures_of("DCG@10"), measures_of(["DCG@10", "P@5"])
    ((['DCG@10'], False), (['DCG@10', 'P@5'], True))
    """
    is_several = isinstance(measure, (list, tuple, set, frozenset))
    measures = list(measure) if is_several else [measure]
    if not measures:
        raise InputError("expected a measure, as 'DCG@10', got an empty list", field="measure")
    return [
        value if isinstance(value, str) or hasattr(value, "bound_to") else str(value) for value in measures
    ], is_several


def measure_of(measure: Any) -> Any:
    """Return the single measure of an argument, see `measures_of`; raise InputError if there are several."""
    measures, _ = measures_of(measure)
    if len(measures) > 1:
        raise InputError(f"expected one measure, got {len(measures)}", field="measure")
    return measures[0]


def budget_of(budget: Any, share: float | None = None) -> Budget | None:
    """Convert a number of judgments, a percentage as text, or a share from 0 to 1 to a Budget; None without either.

    InputError is raised if both are passed, or one is not valid.

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
    """Load runs given as objects, keep runs given as paths, and find the systems' names.

    Parameters
    ----------
    runs : sequence, or mapping of str to run
        Each a path, folder, pattern, dict of dicts, data frame or `Run`. The keys of a mapping are the names.

    Returns
    -------
    list, tuple of str
        The runs, and their names; () if they are to follow from the files.

    Raises
    ------
    InputError
        If there is no run, or one cannot be read.
    """
    listed_runs = listed(runs)
    sources = [source for run in listed_runs for source in (runs_in(os.fspath(run)) if is_path(run) else [run])]
    if not sources:
        raise InputError("expected a run, got none", field="runs")
    is_named = isinstance(runs, Mapping) and listed_runs[0] is not runs  # a dict of runs, not a run as a dict
    system_names = tuple(names or ()) or (tuple(map(str, runs)) if is_named else ())
    stand_ins = system_names if len(system_names) == len(sources) else [f"run {k + 1}" for k in range(len(sources))]
    loaded = [
        os.fspath(run) if is_path(run) else loaded_run(run, stand_in)
        for run, stand_in in zip(sources, stand_ins, strict=True)
    ]
    return loaded, system_names


def listed(runs: Any) -> list[Any]:
    """List runs; a dict of dicts is one run if its inner values are numbers, else a dict of runs by name."""
    if isinstance(runs, (list, tuple)):
        return list(runs)
    if not isinstance(runs, Mapping):
        return [runs]
    first = next(iter(runs.values()), None)
    is_run = isinstance(first, Mapping) and not any(isinstance(value, Mapping) for value in first.values())
    return [runs] if is_run else list(runs.values())


def sources_of(value: Any) -> list[Any]:
    """List one source or several; a path, a dict, a frame or judgments is one source, None is none."""
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def graders_of(value: Any) -> list[Any]:
    """List graders (sources of a model's grades): one source or several, or a dict of names to sources."""
    if not isinstance(value, Mapping) or (value and listed(value)[0] is value):  # a dict of dicts is one source
        return [_grader(source, f"grader {number}") for number, source in enumerate(sources_of(value), 1)]
    named = {str(name): _grader(source, str(name)) for name, source in value.items()}
    return [
        replace(Grades.parse(source) if isinstance(source, str) else Grades.read(source), name=name)
        for name, source in named.items()
    ]


def _grader(source: Any, name: str) -> Any:
    """Convert a dict of dicts to judgments; other sources of a grader pass unchanged."""
    return columns_of(source, name) if isinstance(source, Mapping) else source


def judgments_in(source: Any, what: str = "the judgments frame") -> Any:
    """Convert judgments to a form that `activeeval.formats.judgments.from_files.labels_of` accepts.

    Paths, dicts of dicts and judgments pass; data frames may have any form that a judgments table has. InputError is
    raised for any other type; `what` names a frame in messages.
    """
    if source is None or is_path(source) or isinstance(source, (Judgments, Qrels, Mapping)):
        return os.fspath(source) if isinstance(source, os.PathLike) else source
    try:
        return of_table(frame_sheet(source, what))
    except TypeError:
        kind = type(source).__name__
        raise InputError(f"judgments must come as a path, a dict of dicts or a data frame, got {kind}") from None


def columns_of(source: Any, what: str) -> str | Judgments:
    """Convert judgments (dict of dicts, frame, judgments) to columns; a path stays. `what` is their name in errors."""
    judgments = judgments_in(source, what)
    if isinstance(judgments, (str, Judgments)):
        return judgments
    from activeeval.formats.loading import load_qrels

    labels = load_qrels(judgments)
    columns = {"query_id": labels.query_ids.tolist(), "doc_id": labels.doc_ids.tolist(), "grade": labels.grades}
    return of_table(Sheet(what, columns))


def by_judge(sources: Any) -> dict[str, str | Judgments]:
    """Map judges' names to their judgments; unnamed sources are called by their file or "judge 1", "judge 2", ….

    Parameters
    ----------
    sources : path, dict of dicts, data frame or Judgments, a list of them, or a dict of judges' names to them
    """
    source_list = listed(sources)
    is_named = isinstance(sources, Mapping) and source_list[0] is not sources  # a dict of dicts is one source
    names = list(map(str, sources)) if is_named else [f"judge {number}" for number in range(1, len(source_list) + 1)]
    named = (
        (os.fspath(source) if is_path(source) and not is_named else name, source)
        for name, source in zip(names, source_list, strict=True)
    )
    return {name: columns_of(source, name) for name, source in named}


def known_of(source: Any, number: int) -> str | KnownGrades:
    """Convert a source of known grades to a file name or `KnownGrades`; `number` names sources in memory."""
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
    """Emit the cautions of named estimates as Python warnings, equal ones once, at the line that calls the library."""
    for line in caution_lines(named, in_python):
        warnings.warn(line, CautionWarning, stacklevel=_calls_within() + 1)


def _calls_within() -> int:
    """Count the stack frames of this package below the first caller outside it."""
    frame, n_calls = sys._getframe(1), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__.partition(".")[0]:
        frame, n_calls = frame.f_back, n_calls + 1  # type: ignore[assignment]
    return n_calls


def adaptive_depth_of(adaptive_depth: str | int | None) -> str | None:
    """Check the adaptive depth, when labels re-plan the sample: "each", 3, 1 or "off"; None stays None.

    Raises InputError for any other.
    """
    return None if adaptive_depth is None else check_looks(str(adaptive_depth))
