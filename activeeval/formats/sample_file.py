"""Write and read a sample file: everything that defines its units and estimates, except the grades.

The file stores the inputs of designs and predictions, rounded as they were used, and the order itself, so that every
reader gets identical units. A digest of all arrays detects changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign.campaign import Campaign
from activeeval.core.design import Design, GradeProbs, Order
from activeeval.core.design.carried_samples import GRADES, CarriedScheme
from activeeval.core.design.histories import History
from activeeval.core.design.methods import find_method
from activeeval.core.design.orders import shared
from activeeval.core.design.query_paths import QueryPaths
from activeeval.core.errors import ActiveEvalError, InputError
from activeeval.core.grade_models.query_factor import QueryFactor
from activeeval.core.grade_models.refit import ValueRefit
from activeeval.core.measures import SampledMeasure, Target, called, check_sampled, parse_measure
from activeeval.core.pool import QueryDraw, QueryPool, Rankings, pool_hashes
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats
from activeeval.formats.arrays import read_arrays, unpacked
from activeeval.formats.selected_queries import gathered_arrays, with_gathered

Arrays = Mapping[str, NDArray[Any]]

FORMAT = "activeeval sample 2"
"""Name and version of the format; later versions read it."""
FIELDS = ("format", "digest", "words", "shown", "key", "budget", "blocks", "scale", "targets")
TEXTS = "texts"
JUDGES = "judges"
"""Judges' texts: left out of the digest, as they may move without a change of the sample."""
FILES = "files"
"""Request for a sample of a pool in files, as JSON."""
MACHINES = "truth_of_machines"
"""Files of grades, with the number of graders' grades accepted as people's when the sample was drawn."""
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_IDS = ("query_ids", "item_ids")
_POOL = ("query_ids", "query_offsets", "item_ids", "item_costs", "query_costs", "query_probs")
_ORDER = {
    **{name: name for name in ("offsets", "items", "query_probs", "overheads")},
    "query_roots": "query_rates",
    "roots": "place_rates",
}
"""Fields of an order, by their names in files."""


def to_arrays(campaign: Campaign, beside: Arrays | None = None) -> dict[str, NDArray[Any]]:
    """Convert the sample of a campaign to arrays of numbers and text, without its grades.

    Parameters
    ----------
    beside : mapping of str to ndarray, optional
        Further arrays to store under names of their own; the digest includes them.
    """
    design = campaign.drawn_design
    scale = -1 if design.scale is None else design.scale
    for target in design.targets:
        if not target.is_measured_by(_measure(str(target.measure), scale)):
            raise InputError(f"{target.name} cannot be written: its discounts are a function, which no text holds")
    lists = lists_of(design)
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array([FORMAT]),
        "words": np.array([design.name, *(str(target.measure) for target in design.targets)]),  # method, measures
        "shown": np.array([target.name for target in design.targets]),  # measures as they are displayed
        "targets": np.array([_places(target, lists) for target in design.targets], dtype=np.int64),
        "key": np.array([campaign.key], dtype=np.uint64),
        # the budget, 1 if it is met on average (else 0), and the budget before any top-up
        "budget": np.array([design.budget, design.expected, design.planned], dtype=np.float64),
        "blocks": np.array(design.blocks),
        "scale": np.array([scale]),
        "known": design.known.astype(np.int32),
    }
    arrays |= {f"pool.{name}": getattr(design.pool, name) for name in _POOL if name not in _IDS}
    arrays |= _id_arrays(design.pool) | ({} if design.pool.draw is None else design.pool.draw.arrays())
    arrays |= {f"order.{key}": getattr(design.order, name) for key, name in _ORDER.items()} | _cost_arrays(design.order)
    arrays |= {"order.joined": design.order.joined} if design.order.joined.any() else {}
    for k, ranking in enumerate(lists):
        arrays |= {f"ranking{k}.offsets": ranking.offsets, f"ranking{k}.items": ranking.items}
    if any(target.within is not None for target in design.targets):
        everything = np.ones(design.pool.n_queries, dtype=np.bool_)
        arrays["within"] = np.array([everything if t.within is None else t.within for t in design.targets])
    if design.beliefs is not None:
        arrays |= _model_arrays(design.beliefs)
    arrays |= design.scheme.arrays() | gathered_arrays(design)
    if design.history is not None and campaign.paths is not None:
        arrays |= design.history.arrays() | campaign.paths.arrays() | {"looks": np.array([design.looks])}
        arrays |= {"surely": np.array([campaign.surely])}
        arrays |= {"order.slopes": design.order.slopes, "order.floors": design.order.floors}  # type: ignore[dict-item]
    arrays |= beside or {}
    return arrays | {"digest": np.array([digest_of(arrays)])}


def digest_of(arrays: Arrays) -> str:
    """Compute the digest of all arrays except the digest itself and the texts: the sample's id, 32 letters from a to p.

    Hexadecimal digits could read as 12345e10, a number to a spreadsheet.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(set(arrays) - {"digest", TEXTS, JUDGES}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest().translate(_LETTERS)


def id_of(arrays: Arrays) -> str:
    """Read the id of a sample from its arrays: the digest stored when it was written."""
    return _word(arrays, "digest")


def from_arrays(arrays: Arrays) -> Campaign:
    """Restore the campaign, without judgments, from the arrays of `to_arrays`.

    Raises
    ------
    InputError
        If the format is another version, or an array is missing or changed.
    """
    lacking = [name for name in FIELDS if name not in arrays]
    if lacking:
        raise InputError(f"the sample is damaged: it lacks {', '.join(lacking)}")
    written = _word(arrays, "format")
    if written != FORMAT:
        raise InputError(f"the sample has the format {written!r}, this release reads {FORMAT!r}")
    if id_of(arrays) != digest_of(arrays):
        raise InputError("the sample was changed or damaged since it was written: its digest does not match")
    try:
        paths = QueryPaths.of_arrays(arrays) if "looks" in arrays else None
        return Campaign(
            _design(arrays),
            key=int(arrays["key"][0]),
            paths=paths,
            by_batches=paths is not None,
            surely="surely" in arrays and bool(arrays["surely"][0]),
        )
    except KeyError as problem:
        raise InputError(f"the sample is damaged: it lacks {problem.args[0]}") from None
    except ActiveEvalError:
        raise
    except (ValueError, IndexError, TypeError, OverflowError) as problem:
        raise InputError(f"the sample is damaged: {problem}") from None


def read_campaign(path: str) -> tuple[Campaign, Arrays]:
    """Read the campaign of a sample file, without judgments, and all arrays of the file.

    Raises
    ------
    InputError
        As `from_arrays`, naming the file.
    """
    return _named(path, read_arrays(path, FIELDS))


def unpacked_campaign(content: bytes, name: str, base: bytes | None = None) -> tuple[Campaign, Arrays]:
    """Restore the campaign and the arrays of a sample from bytes.

    Parameters
    ----------
    name : str
        Name of the sample in messages.
    base : bytes, optional
        A whole sample, if `content` holds only the arrays that differ from it.
    """
    if base is None:
        return _named(name, unpacked(content, name, FIELDS))
    return _named(name, {**unpacked(base, name, FIELDS), **unpacked(content, name, ("digest",))})


def beyond(arrays: Arrays, base: Arrays) -> Arrays:
    """Select the arrays of a sample that differ from those of another sample."""

    def is_same(array: NDArray[Any], base_array: NDArray[Any]) -> bool:
        """Check whether two arrays have the same type, shape and bytes."""
        same_form = (array.dtype, array.shape) == (base_array.dtype, base_array.shape)
        return same_form and array.tobytes() == base_array.tobytes()

    return {name: array for name, array in arrays.items() if name not in base or not is_same(array, base[name])}


def _named(name: str, arrays: Arrays) -> tuple[Campaign, Arrays]:
    """Restore a campaign; errors name the file."""
    try:
        return from_arrays(arrays), arrays
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from None


def _word(arrays: Arrays, name: str) -> str:
    """Read the single text of an array, "" if it has any other number of texts."""
    words = arrays[name].ravel()
    return str(words[0]) if words.size == 1 else ""


def _design(arrays: Arrays) -> Design:
    """Restore the design of a sample from the arrays of `to_arrays`.

    Hashes of ids determine its random numbers; looks, history, slopes and floors are of adaptive depth.
    """
    columns: dict[str, Any] = {name: arrays[f"pool.{name}"] for name in _POOL if name not in _IDS}
    ids = {name: _ids(arrays, name) for name in _IDS}
    pool = QueryPool(**columns, **ids, draw=QueryDraw.of_arrays(arrays))
    name, *measures = (str(word) for word in arrays["words"])
    method = find_method(name).looking(_word(arrays, "looks") if "looks" in arrays else "off")
    method = method.continuing if GRADES in arrays else method  # grades among the arrays: it reuses earlier labels
    scale = int(arrays["scale"][0])
    which = range(int(arrays["targets"].max()) + 1)
    lists = [Rankings(pool, arrays[f"ranking{k}.offsets"], arrays[f"ranking{k}.items"]) for k in which]
    targets = _targets(arrays, measures, scale, lists)
    known = arrays["known"].astype(np.int64)
    beliefs = _beliefs(arrays, pool, known)
    beliefs = None if beliefs is None else method.stage.model(beliefs)
    query_hashes, item_hashes = pool_hashes(pool)
    rates: dict[str, Any] = {name: arrays[f"order.{key}"] for key, name in _ORDER.items()}
    order = Order(
        pool=pool,
        is_nested=method.stage.is_nested,
        query_hashes=query_hashes,
        hashes=shared(item_hashes[arrays["order.items"]], arrays.get("order.joined")),
        costs=_costs(arrays, pool),
        slopes=arrays.get("order.slopes"),
        floors=arrays.get("order.floors"),
        **rates,
    )
    _check_order(order)
    order.query_probs.setflags(write=False)  # read-only as a pool's arrays: kernels are compiled once for both
    budget, expected, planned = arrays["budget"].tolist()
    design = Design(
        name=name,
        scheme=(CarriedScheme if GRADES in arrays else method.scheme).of_arrays(arrays, pool.n_queries),
        stage=method.stage,
        order=order,
        readings=tuple(method.stage.reading(target, order, beliefs, known) for target in targets),
        beliefs=beliefs,
        known=known,
        is_fitted=method.is_fitted,
        scale=scale if scale >= 0 else None,
        history=History.of_arrays(arrays) if "looks" in arrays else None,
    )
    whole = with_gathered(design, arrays).with_budget(budget, arrays["blocks"].tolist()[:-1], expected=bool(expected))
    return replace(whole, planned=planned, blocks=tuple(arrays["blocks"].tolist()))


def _id_arrays(pool: QueryPool) -> dict[str, NDArray[Any]]:
    """Convert ids to arrays of text, or to bytes and offsets if one id is far longer than most."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, texts in zip(_IDS, (pool.query_texts, pool.item_texts), strict=True):
        whole = texts.array()
        arrays[f"pool.{name}"] = texts.data if whole.dtype.kind == "O" else whole
        if whole.dtype.kind == "O":  # an array of text would be far larger than its texts
            arrays[f"pool.{name}.offsets"] = texts.offsets
    return arrays


def _ids(arrays: Arrays, name: str) -> NDArray[Any] | list[str]:
    """Read ids; those stored as bytes become a list, so that the pool validates them whatever the offsets are."""
    texts, offsets = arrays[f"pool.{name}"], arrays.get(f"pool.{name}.offsets")
    return texts if offsets is None else Texts(texts, offsets).tolist()


def _targets(arrays: Arrays, measures: list[str], scale: int, lists: list[Rankings]) -> list[Target]:
    """Restore the targets, each with its segment of queries or all of them.

    ``measures`` are the texts of their measures, ``scale`` the largest grade (negative: open), ``lists`` the rankings
    that the stored indices number.
    """
    places = arrays["targets"].tolist()
    segments = list(arrays["within"]) if "within" in arrays else [np.ones(1, dtype=np.bool_)] * len(places)
    named = [called(_measure(text, scale), name) for text, name in zip(measures, arrays["shown"].tolist(), strict=True)]
    return [
        Target(measure, lists[of_ranking], lists[other] if other >= 0 else None, None if part.all() else part)
        for measure, (of_ranking, other), part in zip(named, places, segments, strict=True)
    ]


def _check_order(order: Order) -> None:
    """Raise InputError if an order of judging does not fit its pool, as kernels do not check its arrays."""
    offsets, items, n = order.offsets, order.items, order.pool.n_queries
    is_shaped = (
        offsets.shape == (n + 1,)
        and (offsets[0], offsets[-1]) == (0, items.size)
        and bool((np.diff(offsets) >= 0).all())
        and all(rates.shape == (n,) for rates in (order.query_probs, order.overheads, order.query_rates))
        and order.place_rates.shape == order.costs.shape == items.shape
    )
    if not is_shaped or (order.pool.item_queries[items] != order.place_queries).any():
        raise InputError("the sample is damaged: its order does not fit its pool")
    finite = np.concatenate((order.query_probs, order.costs, order.overheads, order.place_rates))
    if not np.isfinite(finite).all() or finite.min() < 0 or not order.query_rates.min() >= 0:
        raise InputError("the sample is damaged: its rates and costs are not all numbers from 0 on")


def lists_of(design: Design) -> list[Rankings]:
    """Collect the distinct rankings of all targets, in the order of the targets."""
    lists: list[Rankings] = []
    for target in design.targets:
        for ranking in (target.ranking, target.versus):
            if ranking is not None and not any(ranking is listed for listed in lists):
                lists.append(ranking)
    return lists


def _places(target: Target, lists: list[Rankings]) -> tuple[int, int]:
    """Return the indices of a target's two rankings; −1 if it has no second one."""
    of_ranking = next(k for k, ranking in enumerate(lists) if ranking is target.ranking)
    of_versus = next((k for k, ranking in enumerate(lists) if ranking is target.versus), -1)
    return of_ranking, of_versus


def _measure(text: str, scale: int) -> SampledMeasure:
    """Parse a measure, bound to a grade scale unless `scale` is negative."""
    measure = check_sampled(parse_measure(text))
    return measure if scale < 0 else measure.bound_to(scale)


def _cost_arrays(order: Order) -> dict[str, NDArray[Any]]:
    """Store the mean item cost, the unit of the costs of an order's places (items in judging order).

    If the order is of a larger pool, whose mean differs, the costs are stored themselves.
    """
    unit = order.pool.item_costs.sum() / order.pool.n_items
    if np.array_equal(order.costs, order.pool.item_costs[order.items] / unit):
        return {"unit": np.array([unit])}
    return {"order.costs": order.costs}


def _costs(arrays: Arrays, pool: QueryPool) -> Floats:
    """Restore the cost of each place (item in judging order), in units of the mean item cost."""
    if "unit" not in arrays:
        return arrays["order.costs"]
    with np.errstate(divide="ignore"):  # _check_order refuses values that are not finite
        return np.asarray(pool.item_costs[arrays["order.items"]] / arrays["unit"][0])


def _model_arrays(beliefs: GradeProbs) -> dict[str, NDArray[Any]]:
    """Store grade probabilities and, apart, the parameters of the query factor (a random effect of each query).

    A factor without parameters is stored as the weights of its quadrature nodes.
    """
    arrays: dict[str, NDArray[Any]] = {"grade_probs": beliefs.grade_probs}
    if beliefs.refit is not None:
        arrays["refit"] = np.array([True])
    if len(beliefs.extra_probs):
        arrays["further_probs"] = beliefs.extra_probs
    if isinstance(beliefs.factor, QueryFactor):
        return arrays | {"factor": np.array([beliefs.factor.sigma, beliefs.factor.slope, beliefs.factor.shift])}
    return arrays | {"node_weights": beliefs.node_weights}


def _beliefs(arrays: Arrays, pool: QueryPool, known: NDArray[np.int64]) -> GradeProbs | None:
    """Restore the grade probabilities that `_model_arrays` stored, None if there are none; ``known`` (n_items,)."""
    if "grade_probs" not in arrays:
        return None
    extra = list(arrays.get("further_probs", ()))  # of further models, by which estimates are adjusted
    refit = ValueRefit.of if "refit" in arrays else None  # the predictions are refitted to labels, as for graders
    if "factor" in arrays:
        factor = QueryFactor(*arrays["factor"].tolist())
        return GradeProbs.of(pool, arrays["grade_probs"], factor=factor, known=known, extra_probs=extra, refit=refit)
    weights = arrays["node_weights"] if arrays["grade_probs"].ndim == 3 else None
    return GradeProbs.of(pool, arrays["grade_probs"], weights, known=known, extra_probs=extra, refit=refit)
