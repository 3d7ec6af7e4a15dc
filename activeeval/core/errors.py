"""Errors, each with the numbers or the place that a caller needs to act on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONGEST = 1000
"""Most characters of a file's problem in a message."""
_MOST_PLACES = 20


def shown(text: str) -> str:
    """Quote a text for a message, shortened to 60 characters."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def visible(text: str) -> str:
    r"""Escape characters that would move the cursor or change the writing direction on a terminal or page.

    These are the control characters of C0 except the tab, of C1, DEL, and the bidirectional controls.

    Examples
    --------
    >>> print(visible("d7\x1b[2J\u202e"))
    d7\x1b[2J\u202e
    """
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class ActiveEvalError(Exception):
    """Base class of all errors that activeeval raises on purpose; the text is one line.

    Parameters
    ----------
    problem : str
        Description of the problem. It names parameters by their library names, in backticks or at its beginning; the
        command line replaces them by its options.
    field : str, optional
        The parameter to change.

    Attributes
    ----------
    field : str or None
    is_passing : bool
        True if a database is temporarily unavailable, so that the same call may succeed later.

    Examples
    --------
    >>> InputError("max_grade must be positive, got 0", field="max_grade").field
    'max_grade'
    """

    def __init__(self, problem: str = "", *, field: str | None = None) -> None:
        """Describe the ``problem`` in one line; ``field`` is the parameter to change, if it is known."""
        super().__init__(problem)
        self.field = field
        self.is_passing = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its attributes, which Python's default leaves out; other processes raise errors too."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ActiveEvalError], args: tuple[Any, ...], state: dict[str, Any]) -> ActiveEvalError:
    """Rebuild a pickled error without calling its constructor: from its class, ``args`` and attributes (``state``)."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(ActiveEvalError, ValueError):
    """An argument or a table is wrong; the text names the place and the expected value.

    Examples
    --------
    >>> from activeeval import score
    >>> try:
    ...     score({"q1": {"a": 1}}, {"new": {"q1": {"a": 2.0}}}, "P@1", baseline="nwe")
    ... except InputError as error:
    ...     print(error.field, "-", error)
    baseline - baseline 'nwe' is none of the runs; did you mean new? known: new
    """


class ChoiceError(InputError):
    """Options contradict each other, or one is missing; usually raised before any input is read."""


class FormatError(InputError):
    r"""A file is wrong at a line: ``path:line: what is wrong, the text, what was expected``.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    line : int or None
        1-based line number; None for the file as a whole.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from activeeval import score
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qrels = pathlib.Path(folder, "qrels.txt")
    ...     _ = qrels.write_text("q1 0 a 1\nq1 0 b good\n")
    ...     try:
    ...         score(qrels, {"q1": {"a": 2.0, "b": 1.0}}, "P@1")
    ...     except FormatError as error:
    ...         print(error.line, str(error).removeprefix(f"{qrels}:2:"))
    2  'good' is not a finite number, expected: query iteration document grade
    """

    def __init__(self, path: str | Path, line: int | None, problem: str, *, field: str | None = None) -> None:
        """Put the place, ``path:line``, before the text ``problem``.

        ``line`` counts from 1; None: the whole file is wrong. ``field`` is the parameter to change, if any.
        """
        self.path = str(path)
        self.line = line
        place = self.path if line is None else f"{self.path}:{line}"
        # shorten: a problem may quote a header as long as a line of the file
        super().__init__(f"{place}: {problem if len(problem) <= _LONGEST else problem[:_LONGEST] + '…'}", field=field)


class CellsError(FormatError):
    """Several places of files are wrong: the text names up to twenty and the number of the others.

    Attributes
    ----------
    all : tuple of FormatError
        The error at each place.
    lines : tuple of str
        The error's text in parts: one for each place named, the number of the others, the advice.
    """

    def __init__(self, problems: Sequence[FormatError], advice: str = "", *, field: str | None = None) -> None:
        """Join the texts of one or more errors, in order; ``advice`` (what to do) ends them.

        ``field`` is the parameter to change, if any.
        """
        self.path, self.line, self.all = problems[0].path, problems[0].line, tuple(problems)
        n_more = len(problems) - _MOST_PLACES
        named = [str(problem) for problem in problems[:_MOST_PLACES]]
        more = [f"and {n_more} more"] if n_more > 0 else []
        self.lines = (*named, *more, *([advice] if advice else []))
        ActiveEvalError.__init__(self, "; ".join(self.lines), field=field)


def raise_all(problems: Sequence[FormatError], advice: str = "", *, field: str | None = None) -> None:
    """Raise several errors as one, with ``advice`` (what to do) appended; do nothing if there are none.

    One error is raised itself, several as `CellsError`. ``field`` is the parameter that the advice names.
    """
    if len(problems) == 1 and advice:
        problems[0].args = (f"{problems[0]}; {advice}",)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise CellsError(problems, advice, field=field)


AT_ONCE = "the most expensive unit ({} at most)"


class BudgetError(ActiveEvalError, ValueError):
    """The budget is below the least valid budget of a design.

    Attributes
    ----------
    budget, needed : float
        The given and the least valid budget, in the unit of the item costs.
    what : str
        Description of the expense that exceeds the budget, with a placeholder ``{}`` for the least valid budget.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> try:
    ...     METHODS["random"].design(target, budget=1)
    ... except BudgetError as error:
    ...     print(error.budget, error.needed)
    1 2.0
    """

    def __init__(
        self, problem: str, *, budget: float, needed: float, what: str = AT_ONCE, field: str = "budget"
    ) -> None:
        """Describe the ``problem`` with the given ``budget`` and the least valid one (``needed``), in item costs.

        ``what`` describes the expense that exceeds the budget, with ``{}`` in place of ``needed``; ``field`` is the
        parameter to change.
        """
        self.budget = budget
        self.needed = needed
        self.what = what
        super().__init__(problem, field=field)


class StateError(ActiveEvalError, RuntimeError):
    """A step is not possible in the current state, such as an estimate while judgments are missing.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> campaign = Campaign(METHODS["random"].design(target, budget=4), rng=0)
    >>> try:
    ...     campaign.estimate()
    ... except StateError as error:
    ...     print(error)
    the first block is not complete, so no estimate is possible yet: of its 1 units 1 were not requested
    """


class UndrawnError(StateError):
    """Nothing can be estimated until the next batch is drawn, which the labels so far determine (adaptive depth)."""


class SolverError(ActiveEvalError, RuntimeError):
    """A solver failed; there is no fallback result.

    Attributes
    ----------
    status : str
        Status message of the solver.

    Examples
    --------
    >>> try:
    ...     raise SolverError("no gains were learned: the solver gave up", status="iteration limit")
    ... except SolverError as error:
    ...     print(error, "-", error.status)
    no gains were learned: the solver gave up - iteration limit
    """

    def __init__(self, problem: str, *, status: str) -> None:
        """Describe the ``problem``; ``status`` is the solver's own message."""
        self.status = status
        super().__init__(problem)


class EngineError(ActiveEvalError, RuntimeError):
    """Workers are unreachable, lost, or run a different version; no result was partly written."""


class CautionWarning(UserWarning):
    """A result has a warning or a severe warning; the text is its sentence.

    Filter it by category, as with ``warnings.simplefilter("error", CautionWarning)``.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", CautionWarning)
    ...     warnings.warn("severe warning: judge more", CautionWarning)
    >>> print(caught[0].message)
    severe warning: judge more
    """


def did_you_mean(word: str, known: Iterable[str], written: Callable[[str], str] = str, *, likeness: float = 0.6) -> str:
    """Suggest the closest known word as ``"did you mean …? "``; "" if none is close.

    Parameters
    ----------
    word : str
        The unknown word.
    known : iterable of str
        Words to suggest. Of those that differ only in case the first is used.
    written : callable
        Formats the suggested word.
    likeness : float
        Least similarity of both words by difflib, between 0 and 1.

    Examples
    --------
    >>> did_you_mean("ndgc", ["nDCG", "DCG", "ERR"]), did_you_mean("foo", ["nDCG"])
    ('did you mean nDCG? ', '')
    """
    from difflib import get_close_matches  # imported here: needed only after an error

    by_case = {candidate.lower(): candidate for candidate in reversed(list(known))}
    near = get_close_matches(word.lower(), by_case, n=1, cutoff=likeness)
    return f"did you mean {written(by_case[near[0]])}? " if near else ""


def unseen_difference(ids: Iterable[str], others: Iterable[str]) -> str:
    """Find two different ids, one of each list, that look the same; return a message's end that says so, or "".

    They differ in their Unicode form, or in invisible blanks.

    Examples
    --------
    >>> print(unseen_difference(["caf\u00e9"], ["tea", "cafe\u0301"]))
    ; 'caf\\xe9' and 'cafe\\u0301' look the same but differ: use the same Unicode form and the same blanks
    """
    by_form = {_as_seen(other_id): other_id for other_id in others}
    for known_id in ids:
        other_id = by_form.get(_as_seen(known_id), known_id)
        if other_id != known_id:
            differ = "look the same but differ: use the same Unicode form and the same blanks"
            return f"; {known_id!a:.200} and {other_id!a:.200} {differ}"
    return ""


def fail_unshared(problem: str, ids: Sequence[str], others: Sequence[str], unknown: Sequence[str]) -> NoReturn:
    """Raise InputError because no id of one file is in another, with a likely cause at the end of the message.

    The causes: ids that look the same but differ, or the text of a query (several words) in place of its id.

    Parameters
    ----------
    problem : str
        Start of the message.
    ids, others : sequence of str
        The ids of both files.
    unknown : sequence of str
        Those ids of queries that are in one file only; the first is checked for being a text.

    Examples
    --------
    >>> fail_unshared("nothing is shared", ["red shoes"], ["q1"], unknown=["red shoes"])
    Traceback (most recent call last):
    activeeval.core.errors.InputError: nothing is shared; `queries` of score, compare, plan, sample gives ids of texts
    """
    if unseen := unseen_difference(ids, others):
        raise InputError(problem + unseen)
    if any(" " in name for name in unknown[:1]):
        raise InputError(f"{problem}; `queries` of score, compare, plan, sample gives ids of texts", field="queries")
    raise InputError(problem)


def _as_seen(text: str) -> str:
    """Normalize a text to its visible form: NFC, no zero-width characters, uniform and trimmed blanks."""
    import unicodedata  # imported here: needed only after an error

    kinds = ((letter, unicodedata.category(letter)) for letter in unicodedata.normalize("NFC", text))
    return " ".join("".join(" " if kind == "Zs" else letter for letter, kind in kinds if kind != "Cf").split())
