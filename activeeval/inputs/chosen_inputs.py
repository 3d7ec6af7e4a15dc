"""Turn a caller's choices into inputs: read files, set training rows aside, add costs, traffic and known grades."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.grade_models import run_features
from activeeval.core.measures.ranking_checks import checked_nodes
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.keyed import Costs
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats, Ints
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_probabilities, load_run, read_costs
from activeeval.formats.text.letor import LetorData, read_letor
from activeeval.formats.text.scores import read_scores_of
from activeeval.formats.text.traffic import read_traffic
from activeeval.inputs.choices import Choices
from activeeval.inputs.grader_values import with_graders
from activeeval.inputs.judging_choice import judging_costs
from activeeval.inputs.known_grades import known_grades_of
from activeeval.inputs.loading import Inputs, TrainingRows, from_tables
from activeeval.inputs.systems import checked_names, system_names
from activeeval.inputs.traffic import of_log


def trained_inputs(choices: Choices, graders: Sequence[Grades], rng: np.random.Generator) -> tuple[Inputs, int | None]:
    """Load pool and rankings in the order of their ids, with training rows of other queries set aside.

    Parameters
    ----------
    graders : sequence of Grades
        Graders whose values become columns for grade models.
    rng : Generator
        Chooses the training queries, if they are a share of all.

    Returns
    -------
    Inputs, int or None
        The inputs, and the rank at which lists were cut, None if they were not.
    """
    loaded, judged = _load(choices)
    cut = loaded if choices.depth is None else loaded.cut_at(choices.depth)
    depth = None if cut is loaded else choices.depth
    inputs = with_graders(_with_model_inputs(choices, cut), graders).in_id_order()
    if depth is not None:
        note = Note("pool depth", {"depth": depth, "n_left_out": loaded.pool.n_items - cut.pool.n_items})
        inputs = replace(inputs, notes=(*inputs.notes, note))
    if choices.train_share is not None:
        inputs = inputs.held_out(choices.train_share, rng)
    elif judged is not None:
        whole = inputs.pool.n_queries
        of_others = with_graders(_with_model_inputs(choices, judged, with_costs=False), graders, with_notes=False)
        inputs = inputs.trained_on(of_others.in_id_order())
        # of the notes on training labels, keep those that belong beside every result
        lasting = (note for note in judged.notes if isinstance(note, Caution) or note.code == "machines left out")
        inputs = replace(inputs, notes=(*inputs.notes, *lasting))
        if n_trained := whole - inputs.pool.n_queries:
            inputs = replace(inputs, notes=(Note("queries that train", {"n": n_trained, "of": whole}), *inputs.notes))
    return inputs, depth


def weighed_inputs(choices: Choices, inputs: Inputs, rng: np.random.Generator) -> Inputs:
    """Add judging costs, query frequencies and, if chosen, the ranking after a simulated index update.

    `rng` chooses the items that the update removes.
    """
    inputs = inputs.with_costs(judging_costs(choices.judging, inputs.pool), choices.overhead)
    if choices.traffic is not None:
        inputs = inputs.with_traffic(read_traffic(choices.traffic).align(inputs.pool))
    elif choices.queries is not None:
        inputs = of_log(inputs, choices.queries, share=1.0 - (choices.train_share or 0.0))  # others train the model
    return inputs if choices.index_update is None else inputs.updated_index(choices.index_update, rng)


def known_of(choices: Choices, inputs: Inputs) -> tuple[Ints | None, tuple[Note | Caution, ...]]:
    """Read the grades known before sampling, shape (n_items,), −1 if unknown; None if no source is chosen.

    Also return notes. InputError is raised if a source cannot be read or contradicts another or the pool's labels.
    """
    if not choices.judged:
        return None, ()
    policy, is_truth = choices.judged_policy, choices.machine_is_truth
    known, notes = known_grades_of(choices.judged, inputs.pool, policy, choices.max_grade, machine_is_truth=is_truth)
    _check_agreement(inputs, known)
    return known, notes


def all_known(inputs: Inputs, known: Ints | None, taught: Mapping[tuple[str, str], int]) -> Ints:
    """Merge known grades with grades that only train the model (`taught`, by query and document), shape (n_items,).

    An item with neither gets −1; a known grade takes precedence.
    """
    pool = inputs.pool
    grades = np.full(pool.n_items, -1, dtype=np.int64) if known is None else known.copy()
    pairs = pool.pairs_of(np.arange(pool.n_items)) if taught else []
    training = np.array([taught.get(pair, -1) for pair in pairs], dtype=np.int64) if taught else grades
    return np.where(grades >= 0, grades, training)


def _check_agreement(inputs: Inputs, known: Ints) -> None:
    """Raise InputError if a known grade differs from the pool's label."""
    differs = np.flatnonzero((known >= 0) & (inputs.grades >= 0) & (known != inputs.grades))
    if differs.size:
        z = int(differs[0])
        label = f"known as {known[z]} and labelled {inputs.grades[z]}"
        raise InputError(f"{inputs.pool.place(z)} is {label} ({differs.size} such items): expected one grade")


def _load(choices: Choices) -> tuple[Inputs, Inputs | None]:
    """Load the inputs to evaluate and, if judgments of other queries train the model, those to train on (else None)."""
    if choices.letor:
        return from_letor(choices.letor, choices.systems, choices.train_letor, choices.names), None
    evaluated = len(choices.systems)
    runs = [load_run(name) for name in (*(path for (path,) in choices.systems), *choices.pool_runs)]

    def put_together(qrels: Any) -> Inputs:
        """Combine judgments, if any, and the runs into inputs; the first ``evaluated`` runs are the systems."""
        judgments = None if qrels is None else labels_of(qrels, machine_is_truth=choices.machine_is_truth)
        how: dict[str, Any] = {"ties": choices.ties, "unjudged": choices.unjudged, "names": choices.names}
        return from_tables(judgments, runs, evaluated=evaluated, **how)

    train = choices.train_judgments
    return put_together(choices.qrels), None if train is None else put_together(train)


def _with_model_inputs(choices: Choices, inputs: Inputs, *, with_costs: bool = True) -> Inputs:
    """Add item costs, unless `with_costs` is False, and the columns that grade models use besides the features.

    InputError is raised if costs or columns cannot be read or do not fit the pool.
    """
    kind = choices.cost if with_costs else "uniform"
    if isinstance(kind, str) and kind != "uniform" and not kind.startswith("log-length"):
        kind = read_costs(kind)
    costs = _item_costs(kind, inputs)
    try:
        inputs = inputs.with_costs(costs, overhead=0.0)
    except InputError as problem:
        raise InputError(f"{kind if isinstance(kind, str) else kind.source}: {problem}", field=problem.field) from None
    for name in choices.models:
        inputs = given_columns(inputs, name, choices.tables)
    return inputs


def _item_costs(kind: str | Costs, inputs: Inputs) -> Floats | None:
    """Compute item costs, shape (n_items,), by kind; None (all equal) for ``uniform``.

    The kind ``log-length:FEATURE`` gives log(e + feature), a file its costs. InputError is raised for any other.
    """
    if isinstance(kind, Costs):
        return kind.align(inputs.pool)
    if kind == "uniform":
        return None
    name, _, column = kind.partition(":")
    n_features = inputs.features.shape[1]
    if name != "log-length" or not column.isdecimal() or not 1 <= int(column) <= n_features:
        raise InputError(
            f"the cost {kind!r} is not uniform, log-length:FEATURE with FEATURE from 1 to {n_features}, or a file"
        )
    lengths = inputs.features[:, int(column) - 1]
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if bad.size:
        raise InputError(f"feature {column} is no length at {inputs.pool.place(int(bad[0]))}: {lengths[bad[0]]}")
    return np.asarray(np.log(math.e + lengths))


def from_letor(
    paths: Sequence[str], rankers: Sequence[Sequence[str]], train: Sequence[str] = (), names: Sequence[str] = ()
) -> Inputs:
    """Read a pool from LETOR files and its rankings from score files aligned with them.

    Parameters
    ----------
    paths, train : sequence of str
        LETOR files of the pool, and of queries that train the model.
    rankers : sequence of sequence of str
        The score files of each ranker: one for each LETOR file, or one for all.
    names : sequence of str
        Names of the rankers; by default those of their files.

    Raises
    ------
    InputError
        If a file cannot be read or does not fit the others, or a training query is in the pool.
    """
    data = read_letor(paths)
    pool = data.pool()
    scores_of_rankers = np.array([read_scores_of(scores, data) for scores in rankers])
    rankings = tuple(Rankings.from_scores(pool, scores) for scores in scores_of_rankers)
    training = _letor_training(train, data) if train else None
    names = checked_names(names, len(rankers)) or system_names([""] * len(rankers), [scores[0] for scores in rankers])
    return Inputs(pool, rankings, data.grades, _features(data), training, names, scores=scores_of_rankers.T)


def _features(data: LetorData) -> Floats:
    """Return the features of LETOR data; raise InputError if there are none."""
    if data.features is None:
        raise InputError(f"{', '.join(data.paths)}: no features were read")
    return data.features


def _letor_training(paths: Sequence[str], pool_data: LetorData) -> TrainingRows:
    """Read training rows from LETOR files, with features padded to the pool's number.

    InputError is raised if a query is in the pool too, or there are more features than in the pool.
    """
    data = read_letor(paths)
    shared = set(data.query_ids.tolist()) & set(pool_data.query_ids.tolist())
    if shared:
        raise InputError(
            f"{', '.join(data.paths)}: query {min(shared)!r} is in the pool too; train on queries outside it"
        )
    width, features = _features(pool_data).shape[1], _features(data)
    if features.shape[1] > width:
        raise InputError(f"{', '.join(data.paths)}: {features.shape[1]} features, the pool has {width}")
    features = np.pad(features, ((0, 0), (0, width - features.shape[1])))
    queries = np.repeat(np.arange(len(data.query_ids)), np.diff(data.query_offsets))
    return TrainingRows(features, data.grades, queries)


def given_columns(inputs: Inputs, name: str, tables: Mapping[str, Any] | None = None) -> Inputs:
    """Add the columns that a grade model uses besides the features; models on features add none.

    Parameters
    ----------
    name : str
        ``scores``: the rankings' scores of each item; ``probs=FILE``: its grade probabilities.
    tables : mapping of str to object, optional
        Objects that replace files, see `activeeval.inputs.choices.Choices`.

    Raises
    ------
    ChoiceError
        If probabilities are combined with files to train on, whose items have no probabilities.
    """
    kind, _, path = name.partition("=")
    if kind not in ("scores", "probs"):
        return inputs
    if inputs.training is not None and kind == "probs":
        problem = f"`model` {name} is recalibrated with a share of the queries, as 40%, not with files to train on"
        raise ChoiceError(problem, field="train")
    if kind == "scores":
        values = run_features(inputs.pool, inputs.scores_held.T)
    else:
        values = _probabilities((tables or {}).get(path, path), inputs.pool)
    return inputs.with_columns(name, values)


def _probabilities(source: Any, pool: QueryPool) -> Floats:
    """Load grade probabilities of the pool's items, shape (n_items, n_grades), from a file, a frame or a function."""
    if not callable(source):
        return load_probabilities(source).align(pool)
    # the check adds an axis for the nodes of a query factor: there is a single one without a factor
    nodes, _ = checked_nodes(pool, source(pool), node_weights=None)
    return np.asarray(nodes[0])
