"""The tables of the experiments on adaptation."""

from __future__ import annotations

from typing import Any

from benchmarks.adaptation.running import LAMBDAS

Result = dict[str, Any]


def markdown(result: Result) -> str:
    """Return the tables of a result: the models, B over λ, how the algorithms agree, the claims."""
    lines = [
        f"{result['seconds'] / 60:.0f} minutes in all. Five folds of queries; ± standard error over them. μ is NDCG5 of"
        " held-out judged queries, ν the share of held-out user pairs in order, π the same of judges' pairs. Of tuned"
        " models and ranking SVMs λ, algorithm and C are, for each fold, those best by B on the other four. *Skewed*:"
        " the ranking SVMs see exp(x), as skewed as counts are, where trees see no difference.",
        "",
        "![models](results/figures/adaptation-models.svg)",
        "",
        "![B over λ](results/figures/adaptation-lambda.svg)",
        "",
    ]
    for name, case in result["cases"].items():
        sizes = ", ".join(f"{number:,} {what}" for what, number in case["sizes"].items())
        trees, leaves, rate = case["shape"]
        lines += [f"### {name}", "", f"{sizes}. Base: {trees} trees of {leaves} leaves, learning rate {rate:g}.", ""]
        lines += _row(["model", "B", "μ", "ν", "π"], is_head=True)
        for model, figures in case["models"].items():
            lines += _row([model, *(_figure(figures[key]) for key in ("b", "mu", "nu", "pi"))])
        lines += ["", *_curves(case), ""]
        if "agreement" in case:
            lines += [*_agreement(case["agreement"]), ""]
    lines += ["### The paper's claims", "", *_row(["data", "claim", "found", "holds"], is_head=True)]
    for row in result["claims"]:
        lines += _row([row["data"], row["claim"], row["found"], row["holds"]])
    return "\n".join(lines)


def _curves(case: Result) -> list[str]:
    lines = ["B over λ:", "", *_row(["scale", "algorithm", *(f"{one:g}" for one in LAMBDAS)], is_head=True)]
    for scale in ("printed", "common"):
        for how, curve in case[scale].items():
            lines += _row([scale, how, *("refused" if one is None else f"{one['b'][0]:.3f}" for one in curve)])
    gaps = [one["gap"][0] for one in case["printed"]["SVML"]]
    lines += _row(["printed", "SVML: share of the objective not solved for", *(f"{gap:.1%}" for gap in gaps)])
    return lines


def _agreement(rows: list[dict[str, float]]) -> list[str]:
    keys = list(rows[0])
    head = [key if key == "lambda" else f"{key} epochs" if key.startswith("SGD") else key for key in keys]
    lines = [
        "On the common scale, one fold: distance of SGD's weights from the closed form's over the length of its move;"
        " mean change of a score over the scores' deviation:",
        "",
        *_row(head, is_head=True),
    ]
    return [*lines, *(line for row in rows for line in _row([f"{row[key]:.2g}" for key in keys]))]


def _figure(pair: list[float]) -> str:
    return f"{pair[0]:.4f} ± {pair[1]:.4f}"


def _row(cells: list[str], *, is_head: bool = False) -> list[str]:
    line = "| " + " | ".join(cells) + " |"
    return [line, "| " + " | ".join(["---"] * len(cells)) + " |"] if is_head else [line]
