"""The tables of the experiments on adaptation."""

from __future__ import annotations

from benchmarks.adaptation.running import FINE, LAMBDAS
from benchmarks.frame import claims
from benchmarks.frame.report import Row, plus_minus, table

_RULE = (
    "*Holds* or *excluded* where the whole 95 % interval of Student's t lies on one side of the bound: 0, or ± .01"
    " where B, μ or ν is to stay as it is (there the 90 % interval within it: two one-sided tests). Else *not"
    " shown*. ± is the standard error of a paired difference: over worlds, that are independent; over folds 1.5"
    " times that of independent ones, as each two of them learn from three folds in common (Nadeau and Bengio 2003)."
    " The intervals are not adjusted for their number, some hundred and fifty. The paper shows pictures of these, no"
    " figures: its size is a side."
)


def markdown(result: Row) -> str:
    """Return the tables of a result: the premise, the claims, then the models, B over λ, how the algorithms agree."""
    lines = [
        f"{result['seconds'] / 60:.0f} minutes on {result['n_jobs']} cores. Generated cases are ten worlds each,"
        " real ones five folds of queries. μ is NDCG5 of held-out judged queries, ν the share of held-out user pairs"
        " in order, π the same of judges' pairs.",
        "",
        "ν, and so B, rests on a sample: the pairs whose click rates differ significantly, of shown documents,"
        " where the preferred one did not stand above. As the users are simulated, τ tells the same of all pairs of"
        " shown documents, by the taste that the users were given.",
        "",
        "The base's shape (by μ), and of tuned models and ranking SVMs λ, algorithm and C (by B) are, for each fold or"
        " world, those best on the others.",
        "",
        *_premise(result["cases"]),
        "### The paper's claims",
        "",
        _RULE,
        "",
        *claims.table(result["claims"]),
        "",
        "![models](results/figures/adaptation-models.svg)",
        "",
        "![B over λ](results/figures/adaptation-lambda.svg)",
        "",
    ]
    for name, case in result["cases"].items():
        sizes = ", ".join(f"{number:,} {what}" for what, number in case["sizes"].items())
        lines += [f"### {name}", "", f"{sizes}.", ""]
        body = []
        for model, figures in case["models"].items():
            values = (plus_minus(*figures[key], ".4f") for key in ("b", "mu", "nu", "pi", "tau"))
            body.append([model, *values, case["choices"][model]])
        lines += table(["model", "B", "μ", "ν", "π", "τ", "chosen, for so many folds"], body)
        lines += ["", *_curves(case), ""]
        if "agreement" in case:
            lines += [*_agreement(case["agreement"]), ""]
    return "\n".join([*lines, *_large(result["large"])])


def _premise(cases: Row) -> list[str]:
    """Write by how much trees are the better model of the grades, which decides whether tuned trees are ahead."""
    lines = [
        "### When tuned trees are ahead of a ranking SVM of both",
        "",
        "Boosted trees against a linear RSVM, both of judged queries alone, and the best tuned trees against RSVM_mix."
        " Where the truth is linear, the linear model is the true one, and no tuning of trees comes to it.",
        "",
    ]
    body = ([name, *(plus_minus(*gap, "+.4f") for gap in case["premise"].values())] for name, case in cases.items())
    lines += table(["case", "trees − RSVM_judge, μ", "best tuned − RSVM_mix, B"], body)
    return [*lines, ""]


def _curves(case: Row) -> list[str]:
    lines = []
    for scale, lambdas in (("printed", LAMBDAS), ("common", FINE)):
        curves = case[scale].items()
        body = [[how, *("refused" if one is None else f"{one['b'][0]:.3f}" for one in curve)] for how, curve in curves]
        gaps = (f"{max(one['gap'][0], 0.0):.1%}" for one in case[scale]["SVML"])
        body.append(["SVML: share of the objective not solved for", *gaps])
        head = ["algorithm", *(f"{one:g}" for one in lambdas)]
        lines += [f"B over λ, {scale} scale:", "", *table(head, body), ""]
    return lines[:-1]


def _large(rows: list[Row]) -> list[str]:
    """Write what the size that was asked for takes."""
    names = {"method": "method", "pairs": "pairs", "leaves": "leaves in all", "lambda": "λ", "epochs": "epochs"}
    names |= {"converged": "converged", "seconds": "seconds", "peak_gb": "peak, GB"}
    lead = "One call each, in a process of its own; the peak is that of the whole process."
    return ["### What it takes", "", lead, "", *table([*names.values()], ([row[key] for key in names] for row in rows))]


def _agreement(rows: list[dict[str, float]]) -> list[str]:
    head = [f"{key} epochs" if key.startswith("SGD") else key for key in rows[0]]
    lead = (
        "On the common scale, one fold: distance of SGD's weights from the closed form's over the length of its move;"
        " mean change of a score over the scores' deviation:"
    )
    return [lead, "", *table(head, ([f"{value:.2g}" for value in row.values()] for row in rows))]
