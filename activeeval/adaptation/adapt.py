"""Workflow of ``activeeval adapt``: a base ranker, preferences from pairs or click logs, and the adapted ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.adaptation import ClickReport, item_pairs, preferences_from_clicks
from activeeval.adaptation.choice import REGULARIZATIONS, RegularizationChoice, choose_regularization
from activeeval.adaptation.ensembles import boosted_trees
from activeeval.adaptation.hyper_linear import HyperLinearRanker
from activeeval.adaptation.ranker_files import read_ranker
from activeeval.core.errors import InputError
from activeeval.core.judgments.comparisons import Comparison
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats
from activeeval.formats.judgments.from_files import read
from activeeval.formats.judgments.table_forms import of_table
from activeeval.formats.suffixes import TABLES, bare_suffix
from activeeval.formats.tables.clicks import ClickLog, clicks_of, pooled_clicks, refuse_weights
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.text.letor import LetorData, feature_counts, read_letor, row_place
from activeeval.report.rendering import Cell

_OF_CLICKS = {"impressions", "clicks", "position"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """Preferences from tables of pairs and from click logs.

    Attributes
    ----------
    comparisons : tuple of Comparison
    places : tuple of str
        File and line of each comparison, for messages.
    source : str
        Names of the files, for messages.
    clicks : ClickReport or None
        Numbers of kept and excluded rows and pairs of the click logs; None without logs.
    logs : str
        Names of the click log files.
    """

    comparisons: tuple[Comparison, ...]
    places: tuple[str, ...]
    source: str
    clicks: ClickReport | None = None
    logs: str = ""


def read_preferences(paths: Sequence[str], level: float = 0.05) -> Preferences:
    """Read comparisons of documents and click logs from files.

    Comparisons may have any form that `activeeval.formats.judgments.from_files.read` accepts. All logs are pooled: the
    impressions and clicks of a query, document and position are summed before rates are compared.

    Parameters
    ----------
    paths : sequence of str
        A table with ``impressions``, ``clicks`` or ``position``, but no ``preferred``, is a click log.
    level : float
        Significance level of the test that turns clicks into preferences.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    comparisons: list[Comparison] = []
    places: list[str] = []
    logs: list[ClickLog] = []
    for path in paths:
        if bare_suffix(path) in TABLES:
            sheet = read_sheet(path).plainly_named()
            if _is_log(sheet):
                logs.append(clicks_of(sheet))
                continue
            refuse_weights(sheet)
            judgments = of_table(sheet)
        else:
            judgments = read(path)
        if judgments.is_of_grades:
            judgments.refuse("comparisons (query, preferred, other)")
        for place, comparison in judgments.placed_comparisons():
            comparisons.append(comparison)
            places.append(place)
    preferences = Preferences(comparisons=tuple(comparisons), places=tuple(places), source=", ".join(paths))
    return _with_clicks(preferences, pooled_clicks(logs), level) if logs else preferences


def _with_clicks(preferences: Preferences, log: ClickLog, level: float) -> Preferences:
    """Append the preferences that clicks of a log show; `level` is the significance level of the test."""
    from_clicks = preferences_from_clicks(log, level)
    return replace(
        preferences,
        comparisons=(*preferences.comparisons, *from_clicks.comparisons()),
        places=(*preferences.places, *(f"{log.source}: the clicks",) * from_clicks.n_pairs),
        clicks=from_clicks.report,
        logs=log.source,
    )


def _is_log(sheet: Sheet) -> bool:
    """Check by its columns whether a table is a click log."""
    return "preferred" not in sheet.columns and not _OF_CLICKS.isdisjoint(sheet.columns)


def adapted(
    letor: Sequence[str],
    preferences: Preferences,
    *,
    pairs_letor: Sequence[str] = (),
    base: str | None = None,
    trees: Mapping[str, Any] | None = None,
    lambdas: Sequence[float] = REGULARIZATIONS,
    advice: str = "",
    **options: Any,
) -> RegularizationChoice:
    """Adapt a ranker to preferences with the λ that best balances judges and users.

    Parameters
    ----------
    letor : sequence of str
        Files of judged items.
    preferences : Preferences
        Preferences of users between documents of these files.
    pairs_letor : sequence of str
        Files of further items that comparisons may name. A query in these files is taken from them alone.
    base : str, optional
        File of a ranker; by default boosted trees fitted to the judged items.
    trees : mapping, optional
        Arguments of `boosted_trees`, for the default base: n_trees, n_leaves, learning_rate and seed.
    lambdas : sequence of float
        Candidates for λ, the weight of staying close to the base.
    advice : str
        Appended to the error message if no file contains a compared item.
    **options
        Of `choose_regularization`: alpha, n_folds, measure, method, scaling, n_epochs and rng.

    Raises
    ------
    InputError
        With the file and line of the first invalid value.
    """
    if all(comparison.is_tie for comparison in preferences.comparisons):
        raise InputError(f"{preferences.source}: no document is preferred to another, so there is nothing to adapt to")
    _check_alike([*letor, *pairs_letor])
    judged = read_letor(list(letor))
    compared = [read_letor(list(pairs_letor))] if pairs_letor else []
    files = ", ".join((*letor, *pairs_letor))
    pool, rows_of_parts = _joined([*compared, judged], files)
    comparisons, places = preferences.comparisons, preferences.places
    pairs = item_pairs(pool, comparisons, preferences.source, places=places, documents=files, advice=advice)
    ranker = boosted_trees(**(trees or {})) if base is None else read_ranker(base)
    for data in (judged, *compared):
        _check_features(data, ranker, base)
    more: dict[str, Any] = {}
    if compared:
        more = {"pairs_X": np.concatenate([_features(data)[rows] for data, rows in rows_of_parts])}
        more |= {"pairs_query_ids": np.concatenate([_queries(data)[rows] for data, rows in rows_of_parts])}
    return choose_regularization(
        ranker, _features(judged), judged.grades, _queries(judged), pairs, lambdas=lambdas, **more, **options
    )


def choice_rows(choice: RegularizationChoice, *, is_exact: bool) -> list[dict[str, Cell]]:
    """Build a table row for the base, which has no λ, and for each λ: figures, standard errors, and which λ is chosen.

    With ``is_exact=False`` λ is formatted as short text.
    """
    rows = []
    for row in (choice.base, *choice.table):
        # to decimal places, small ones would all be 0
        strength = row.regularization if is_exact else f"{row.regularization:g}"
        is_base, figures = row is choice.base, {"ndcg@5": row.measure, "precision": row.precision, "b": row.b}
        cells: dict[str, Cell] = {"regularization": None if is_base else strength}
        for name, figure in figures.items():
            cells |= {name: figure.value, f"{name}_se": figure.se}
        rows.append(cells | {"is_chosen": not is_base and row.regularization == choice.regularization})
    return rows


def scored(path: str, letor: str, *, of_base: bool = False) -> Floats:
    """Compute the scores of the rows of a LETOR file with a ranker file, shape (n_rows,).

    Parameters
    ----------
    path, letor : str
        Files of the ranker and of the rows.
    of_base : bool
        True: score with the ranker before its adaptation.

    Raises
    ------
    InputError
        If a file cannot be read, or the features differ.
    """
    ranker = read_ranker(path)
    data = read_letor(letor)
    _check_features(data, ranker, path)
    return np.asarray((ranker.base if of_base else ranker).predict(_features(data)))


def _joined(parts: Sequence[LetorData], files: str) -> tuple[QueryPool, list[tuple[LetorData, NDArray[np.bool_]]]]:
    """Join the queries of several inputs into one pool; a query that several inputs have comes from the first of them.

    Return the pool, and each input with the mask of its rows that are in the pool. `files` names the inputs in
    messages. InputError is raised if only some inputs name their documents.
    """
    if len(parts) == 1:
        return parts[0].pool(), [(parts[0], np.ones(parts[0].n_items, dtype=np.bool_))]
    if len({data.item_ids is None for data in parts}) > 1:
        raise InputError(f"{files}: some name their documents (#docid) and some do not, expected all or none")
    names: list[str] = []
    sizes: list[int] = []
    ids: list[str] = []
    parts_with_rows = []
    for data in parts:
        is_new = np.array([name not in set(names) for name in data.query_ids.tolist()])
        widths = np.diff(data.query_offsets)
        rows = np.repeat(is_new, widths)
        names += [name for name, new in zip(data.query_ids.tolist(), is_new, strict=True) if new]
        sizes += widths[is_new].tolist()
        if data.item_ids is not None:
            ids += [name for name, new in zip(data.item_ids.tolist(), rows.tolist(), strict=True) if new]
        parts_with_rows.append((data, rows))
    return QueryPool(names, np.concatenate(([0], np.cumsum(sizes))), ids or None), parts_with_rows


def _check_alike(paths: Sequence[str]) -> None:
    """Raise InputError if files differ in their number of features: missing columns would be read as 0."""
    if len(paths) > 1:
        counts = feature_counts(paths)
        for path, count in zip(paths, counts, strict=True):
            if count != counts[0]:
                raise InputError(f"{path} has {count} features, {paths[0]} {counts[0]}: expected as many in every file")


def _check_features(data: LetorData, ranker: Any, path: str | None) -> None:
    """Raise InputError, with file and line, at the first feature value that the base ranker cannot handle.

    `path` is the base ranker's file, None for the default base.
    """
    features, files = _features(data), ", ".join(data.paths)
    trees = ranker.trees if isinstance(ranker, HyperLinearRanker) else None
    if trees is not None and features.shape[1] != trees.n_features:
        raise InputError(f"{files} has {features.shape[1]} features, {path} learned from {trees.n_features}")
    owner = "the default base" if trees is None else path
    bad = np.zeros(features.shape, dtype=np.bool_)
    if trees is None or not trees.takes_missing:
        bad |= np.isnan(features)
    if trees is None or trees.single:
        bad |= np.abs(features) > np.finfo(np.float32).max
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = features[row, column]
        is_wrong = "is NULL" if np.isnan(value) else f"is {value:g}, too large for single precision"
        raise InputError(f"{row_place(data, int(row))}: feature {column + 1} {is_wrong}, which {owner} cannot handle")


def _features(data: LetorData) -> Floats:
    """Return the feature matrix, shape (n_rows, n_features); raise InputError if the files have none."""
    features = data.features
    if features is None:
        raise InputError(f"{', '.join(data.paths)}: no features")
    return features


def _queries(data: LetorData) -> NDArray[Any]:
    """Return the query id of every row, shape (n_rows,)."""
    return np.repeat(np.array(data.query_ids.tolist()), np.diff(data.query_offsets))
