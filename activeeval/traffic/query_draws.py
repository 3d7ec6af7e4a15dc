"""Draws of queries from a search log with permanent random numbers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from activeeval.core.checks import LARGEST_SEED, one_of, whole_number
from activeeval.core.design.priority import allocated, priority_sample
from activeeval.core.errors import ChoiceError, FormatError, InputError
from activeeval.core.pool import text_numbers
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note, Told
from activeeval.core.types import Floats, Ints
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.drawn_queries import DrawnQueries, read_drawn_queries
from activeeval.formats.tables.query_log import QUERY, LoggedQueries, load_query_log, normal_form
from activeeval.formats.tables.read_tables import read_sheet

STRATA = ("thirds", "segments", "none")
NAMES = ("head", "torso", "tail")
DEVIATION = ("deviation", "std", "std_dev", "sd")
"""Accepted names of a pilot's column of standard deviations."""
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_BETWEEN = "\x1f"
"""Separator of a segment and a normal form, neither of which contains it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StratumDraw:
    """Summary of the draw in one stratum.

    Attributes
    ----------
    name : str
    n_queries, n_drawn, n_certain : int
        Distinct queries of the log in the stratum, drawn queries, and those with inclusion probability 1.
    traffic : float
        Share of the log's events, from 0 to 1.
    """

    name: str
    n_queries: int
    n_drawn: int
    n_certain: int
    traffic: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueriesDraw:
    """Queries drawn from a log, with the summary by stratum and the arguments of the draw.

    Attributes
    ----------
    drawn : DrawnQueries
    strata : tuple of StratumDraw
    seed, n_wanted : int
        Arguments of the draw.
    last : str
        File of an earlier draw, empty without one.
    n_kept, n_last : int
        Number of queries of the earlier draw that were drawn again, and of all its queries.
    """

    drawn: DrawnQueries
    strata: tuple[StratumDraw, ...]
    seed: int
    n_wanted: int
    last: str = ""
    n_kept: int = 0
    n_last: int = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """Messages on the log, the strata and the queries kept."""
        log, n = self.drawn.log, len(self.drawn.query_ids)
        facts: dict[str, Told] = {"n": n, "log": log.name, "digest": log.digest, "n_events": log.n_events}
        facts |= {"n_queries": log.n_queries, "seed": self.seed, "n_certain": self.drawn.n_certain}
        notes = [Note("queries drawn", facts)]
        if n < self.n_wanted:
            notes.append(Note("fewer queries", {"n": n, "n_wanted": self.n_wanted}))
        if len(self.strata) > 1:
            notes += [Note("queries of a stratum", asdict(stratum)) for stratum in self.strata]
        if self.last:
            notes.append(Note("queries kept", {"n_kept": self.n_kept, "n_last": self.n_last, "source": self.last}))
        return tuple(notes)


def draw_queries(
    log: Any,
    n: int,
    *,
    seed: int = 0,
    strata: str | None = None,
    pilot: PathLike | None = None,
    last: PathLike | None = None,
) -> QueriesDraw:
    """Draw ``n`` queries from a log, with probability proportional to their frequency.

    Parameters
    ----------
    log : path, data frame, or mapping of str to number
        A table of query and count, or of one event per row, with or without a column segment; counts by query; or a
        file of another type, in which each line is an event.
    n : int
        Capped at the number of queries.
    seed : int
        With the same seed each query has the same random number in every log.
    strata : {"thirds", "segments", "none"}, optional
        Head, torso and tail, each a third of the traffic; the log's segments; or one stratum. By default segments if
        the log has them, else thirds.
    pilot : path, optional
        A table of query and deviation, the standard deviation of values among similar queries: ``n`` is then allocated
        to strata by Neyman's rule, else in proportion to traffic.
    last : path, optional
        Queries of the last draw.

    Raises
    ------
    InputError
        If a file cannot be read or an argument is invalid, and if the pilot lacks a stratum or has no positive
        deviation.
    """
    whole_number(n, "n", 1)
    whole_number(seed, "seed", 0, LARGEST_SEED)
    last_draw = None if last is None else read_drawn_queries(last)
    logged = load_query_log(log)
    names, codes = _strata_of(logged, strata)
    traffic, sizes = np.bincount(codes, logged.counts), np.bincount(codes)
    spread = np.ones(len(names)) if pilot is None else _pilot_spread(pilot, logged, codes, names)
    n_each = allocated(n, traffic * spread, sizes)
    drawn = _drawn(logged, codes, names, n_each, seed)
    shares = (traffic / traffic.sum()).tolist()
    certain = Counter(name for name, prob in zip(drawn.strata, drawn.probs.tolist(), strict=True) if prob == 1)
    of_strata = tuple(map(_stratum, names, sizes.tolist(), n_each.tolist(), [certain[name] for name in names], shares))
    result = QueriesDraw(drawn=drawn, strata=of_strata, seed=seed, n_wanted=n)
    if last_draw is None:
        return result
    return replace(result, last=last_draw.source, n_kept=drawn.n_kept(last_draw), n_last=len(last_draw.query_ids))


def _drawn(logged: LoggedQueries, codes: Ints, names: Sequence[str], n_each: Ints, seed: int) -> DrawnQueries:
    """Draw the queries of all strata, sorted by stratum and falling frequency.

    `codes`, shape (n_queries,), has the stratum number of each query of the log, `n_each`, shape (n_strata,), the
    number to draw in each stratum; `names` are those of the strata. A query's random number follows from `seed`. Places
    are positions in the log.
    """
    counts, units = logged.counts, _units(logged)
    numbers = text_numbers(seed, Texts.from_list(units))
    # for each stratum: places, inclusion probabilities and weights of the drawn queries
    parts = [_drawn_in(np.flatnonzero(codes == h), counts, numbers, int(n)) for h, n in enumerate(n_each)]
    places, probs, weights = (np.concatenate([part[k] for part in parts]) for k in range(3))
    order = np.lexsort((places, -counts[places], codes[places]))
    places = places[order]
    return DrawnQueries(
        query_ids=[_id(units[place]) for place in places],
        texts=[logged.spellings[place] for place in places],
        strata=[names[h] for h in codes[places]],
        counts=counts[places],
        weights=weights[order],
        probs=probs[order],
        stratum_counts=np.bincount(codes, counts)[codes[places]],
        log=logged.log,
    )


def _stratum(name: str, n_queries: int, n_drawn: int, n_certain: int, traffic: float) -> StratumDraw:
    """Build the summary of one stratum from positional values."""
    return StratumDraw(name=name, n_queries=n_queries, n_drawn=n_drawn, n_certain=n_certain, traffic=traffic)


def _drawn_in(places: Ints, counts: Floats, numbers: Floats, n: int) -> tuple[Ints, Floats, Floats]:
    """Draw n queries of a stratum.

    Return their places in the log, inclusion probabilities and weights, shape (n,) each. `places` are the stratum's
    queries; `counts` and `numbers`, by query of the log, are frequencies and permanent random numbers.
    """
    if n == 0:
        return places[:0], counts[:0], counts[:0]
    sample = priority_sample(counts[places], numbers[places], n)
    return places[sample.places], sample.probs, sample.weights


def _units(logged: LoggedQueries) -> list[str]:
    """List the texts that determine random numbers and ids: normal forms, prefixed with segments if there are any."""
    if logged.segments is None:
        return logged.forms
    return [f"{segment}{_BETWEEN}{form}" for segment, form in zip(logged.segments, logged.forms, strict=True)]


def _id(unit: str) -> str:
    """Hash a text of `_units` to a query id of letters alone, which spreadsheets do not convert to a number."""
    digest = hashlib.blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8)
    return f"q{digest.hexdigest().translate(_LETTERS)}"


def _strata_of(logged: LoggedQueries, strata: str | None) -> tuple[list[str], Ints]:
    """Assign each query of the log to a stratum.

    Return the names of the non-empty strata, and the stratum number of each query, shape (n_queries,). ChoiceError is
    raised if `strata` is unknown, or segments are chosen and the log has none.
    """
    chosen = strata or ("thirds" if logged.segments is None else "segments")
    one_of(chosen, STRATA, "`strata`", error=ChoiceError)
    if chosen == "none":
        return ["all"], np.zeros(logged.counts.size, dtype=np.int64)
    if chosen == "segments":
        if logged.segments is None:
            raise ChoiceError(f"`strata` segments: {logged.log.name} has no column segment", field="strata")
        names = sorted(set(logged.segments))
        places = {name: h for h, name in enumerate(names)}
        return names, np.array([places[name] for name in logged.segments], dtype=np.int64)
    thirds = _thirds(logged.counts)
    nonempty = np.unique(thirds)
    return [NAMES[h] for h in nonempty], np.searchsorted(nonempty, thirds)


def _thirds(counts: Floats) -> Ints:
    """Classify queries as head, torso or tail (0, 1, 2) by the traffic of strictly more frequent queries, in thirds.

    `counts`, shape (n_queries,), are frequencies. Equally frequent queries share a stratum. The result has shape
    (n_queries,).
    """
    # groups of equally frequent queries, the most frequent first
    negative_counts, group_of_query, n_alike = np.unique(-counts, return_inverse=True, return_counts=True)
    traffic = -negative_counts * n_alike
    before = np.cumsum(traffic) - traffic
    return np.asarray(np.minimum(3 * before // traffic.sum(), 2), dtype=np.int64)[group_of_query]


def _pilot_spread(path: PathLike, logged: LoggedQueries, codes: Ints, names: Sequence[str]) -> Floats:
    """Compute the standard deviation within each stratum from a pilot, shape (n_strata,).

    It is the root mean square of the pilot's deviations, weighted by the queries' frequencies. `codes`, shape
    (n_queries,), has the stratum number of each query of the log, `names` the strata.

    Raises
    ------
    InputError
        If the file is invalid, holds no query of a stratum, or every deviation is 0.
    """
    sheet = read_sheet(path).plainly_named()
    column = sheet.column("deviation", DEVIATION)
    texts, deviations = sheet.words(sheet.column("query", QUERY)), sheet.floats(column)
    if (bad := np.flatnonzero(deviations < 0)).size:
        sheet.fail(int(bad[0]), column, f"holds {deviations[bad[0]]:g}, expected a standard deviation")
    of_form: dict[str, float] = {}
    for row, (text, deviation) in enumerate(zip(texts, deviations.tolist(), strict=True)):
        if (form := normal_form(text)) in of_form:
            sheet.fail(row, "query", f"{text!r} is there twice, expected it once")
        of_form[form] = deviation
    known = np.array([place for place, form in enumerate(logged.forms) if form in of_form], dtype=np.int64)
    weights = logged.counts[known]
    squares = weights * np.array([of_form[logged.forms[place]] ** 2 for place in known])
    totals, sums = (np.bincount(codes[known], values, minlength=len(names)) for values in (weights, squares))
    if (lacking := np.flatnonzero(totals == 0)).size:
        raise FormatError(
            sheet.source, None, f"it holds no query of stratum {names[lacking[0]]}, expected some of each"
        )
    if not sums.any():
        raise InputError(f"{sheet.source}: every deviation is 0: there is nothing to allocate by")
    return np.asarray(np.sqrt(sums / totals))
