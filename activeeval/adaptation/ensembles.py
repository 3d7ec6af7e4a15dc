"""Conversion of fitted gradient-boosted trees of scikit-learn and LightGBM to plain arrays.

LightGBM is not imported: its models are recognised by their module name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from activeeval.adaptation.trees import LEAF, Tree, Trees
from activeeval.core.errors import InputError
from activeeval.core.types import Floats

# objectives of LightGBM whose prediction is the plain sum of the leaves
_PLAIN = {"regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", ""}

# LightGBM dumps an infinite threshold as this value
_INFINITE = 1e300


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """A sum of trees: the trees, the value of each leaf, shape (n_leaves,), and the constant added to their sum.

    Leaf values include the learning rate (shrinkage).
    """

    trees: Trees
    weights: Floats
    intercept: float


def read_ensemble(model: Any) -> Ensemble:
    """Convert fitted boosted regression trees (scikit-learn or LightGBM) to trees, leaf values and an intercept.

    Raises
    ------
    InputError
        If it is not such a model, or its prediction is not the sum of its leaves.
    NotFittedError
        If it is not fitted.
    """
    if isinstance(model, GradientBoostingRegressor):
        return _of_scikit_learn(model)
    if isinstance(model, HistGradientBoostingRegressor):
        return _of_histograms(model)
    if any(kind.__module__.startswith("lightgbm") for kind in type(model).__mro__):
        return _of_lightgbm(model)
    raise InputError(
        f"the base model must be gradient-boosted regression trees of scikit-learn or LightGBM, got {_named(model)}"
    )


def _named(model: Any) -> str:
    """Name a model by its package and class for a message."""
    return f"{type(model).__module__.partition('.')[0]}'s {type(model).__name__}"


# scikit-learn


def _of_scikit_learn(model: GradientBoostingRegressor) -> Ensemble:
    """Convert a GradientBoostingRegressor; raise InputError if it starts from a model other than a constant."""
    check_is_fitted(model)
    constant = 0.0
    if not isinstance(model.init_, str):
        if not hasattr(model.init_, "constant_"):
            raise InputError(f"the base model starts from {_named(model.init_)}, expected a constant or init='zero'")
        constant = float(np.asarray(model.init_.constant_).item())
    trees_read = [stage.tree_ for stage in model.estimators_[:, 0]]
    trees = Trees.joined(
        map(_scikit_learn_tree, trees_read), n_features=model.n_features_in_, single=True, takes_missing=False
    )
    values = np.concatenate([tree.value[tree.children_left == LEAF, 0, 0] for tree in trees_read])
    return Ensemble(trees, model.learning_rate * values, constant)


def _scikit_learn_tree(tree: Any) -> Tree:
    """Convert one scikit-learn tree; these have no missing values."""
    never = np.zeros(tree.node_count, dtype=np.bool_)
    features = np.where(tree.children_left == LEAF, LEAF, tree.feature)
    return Tree(features, tree.threshold.copy(), tree.children_left.copy(), tree.children_right.copy(), never, never)


def _of_histograms(model: HistGradientBoostingRegressor) -> Ensemble:
    """Convert a HistGradientBoostingRegressor; raise InputError on a log link or on categorical splits."""
    check_is_fitted(model)
    if model.loss in ("poisson", "gamma"):
        raise InputError(f"the base model's loss is {model.loss!r}: its prediction is no sum of leaves")
    # scikit-learn stores these trees only in a private attribute
    held = [trees[0].nodes for trees in model._predictors]
    # also if no tree splits on them: the model moves categorical columns to the front, so column numbers differ from X
    if model.is_categorical_ is not None and model.is_categorical_.any():
        raise InputError("the base model splits on categories, expected comparisons of numbers")
    trees = Trees.joined(map(_histogram_tree, held), n_features=model.n_features_in_, single=False, takes_missing=True)
    values = np.concatenate([nodes["value"][nodes["is_leaf"] == 1] for nodes in held])
    return Ensemble(trees, values, float(np.asarray(model._baseline_prediction).item()))


def _histogram_tree(nodes: Any) -> Tree:
    """Convert the node table of one tree of a HistGradientBoostingRegressor."""
    is_leaf = nodes["is_leaf"] == 1
    features, left, right = (
        np.where(is_leaf, LEAF, nodes[name].astype(np.int64)) for name in ("feature_idx", "left", "right")
    )
    never = np.zeros(nodes.size, dtype=np.bool_)
    return Tree(features, nodes["num_threshold"].copy(), left, right, nodes["missing_go_to_left"] == 1, never)


# LightGBM


def _of_lightgbm(model: Any) -> Ensemble:
    """Convert a LightGBM model or booster; raise InputError if its prediction is not a plain sum of leaves."""
    if hasattr(model, "_estimator_type") or hasattr(model, "__sklearn_tags__"):
        check_is_fitted(model)
        model = model.booster_
    if not hasattr(model, "dump_model"):
        raise InputError(f"the base model must be a LightGBM model, got {_named(model)}")
    dump = model.dump_model()
    if dump["num_tree_per_iteration"] != 1 or dump.get("objective", "") not in _PLAIN:
        raise InputError(
            f"the base model's objective is {dump.get('objective', 'of several classes')!r}: its prediction is no sum"
            " of leaves"
        )
    pairs = [_lightgbm_tree(tree["tree_structure"]) for tree in dump["tree_info"]]
    if not pairs:
        raise InputError("the base model holds no tree")
    n_features = dump["max_feature_idx"] + 1
    trees = Trees.joined((tree for tree, _ in pairs), n_features=n_features, single=False, takes_missing=True)
    weights = np.concatenate([values for _, values in pairs])
    return Ensemble(trees, weights / (len(pairs) if dump["average_output"] else 1), 0.0)


def _lightgbm_tree(root: dict[str, Any]) -> tuple[Tree, Floats]:
    """Convert a dumped tree (its `root` node) to arrays and leaf values.

    Breadth first, so that parents precede children.

    InputError is raised on categorical splits and on linear models in leaves.
    """
    queue = [root]
    rows: list[tuple[Any, ...]] = []
    values = []
    for node in queue:
        if "split_feature" in node:
            rows.append(_lightgbm_split(node, len(queue)))  # its children are appended next
            queue += [node["left_child"], node["right_child"]]
        elif "leaf_features" in node or "leaf_coeff" in node:
            raise InputError("the base model's leaves hold linear models, expected numbers")
        else:
            rows.append((LEAF, 0.0, LEAF, LEAF, False, False))
            values.append(node["leaf_value"])
    kinds = (np.int64, np.float64, np.int64, np.int64, np.bool_, np.bool_)
    columns = zip(zip(*rows, strict=True), kinds, strict=True)
    return Tree(*(np.array(column, dtype=kind) for column, kind in columns)), np.array(values, dtype=np.float64)


def _lightgbm_split(node: dict[str, Any], first_child: int) -> tuple[Any, ...]:
    """Convert one split to the fields of a `Tree`.

    These are the feature, the threshold, the numbers of the left and the right child, whether missing values go left,
    and whether zero counts as missing. `first_child` is the number of the left child, the right one follows. InputError
    is raised on a categorical split.
    """
    if node["decision_type"] != "<=":
        raise InputError("the base model splits on categories, expected comparisons of numbers")
    threshold, missing = float(node["threshold"]), node["missing_type"]
    if abs(threshold) >= _INFINITE:
        threshold = math.copysign(math.inf, threshold)
    # with missing_type "None", LightGBM compares NaN as 0
    missing_left = threshold >= 0 if missing == "None" else node["default_left"]
    return node["split_feature"], threshold, first_child, first_child + 1, missing_left, missing == "Zero"


def boosted_trees(
    n_trees: int = 300, n_leaves: int = 20, learning_rate: float = 0.1, seed: int = 0
) -> GradientBoostingRegressor:
    """Build unfitted boosted regression trees, the default base to adapt.

    `n_leaves` is the largest number of leaves of a tree, of any depth; `learning_rate` shrinks the leaf values, and
    `seed` decides between equally good splits.
    """
    return GradientBoostingRegressor(
        n_estimators=n_trees, max_leaf_nodes=n_leaves, max_depth=None, learning_rate=learning_rate, random_state=seed
    )
