"""The pictures of levels.md: in which order six lists are judged, by three methods. `python docs/pictures.py`.

The numbers are the package's own: a campaign asks for its units by level, and each cell shows when it was asked for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target

HERE = Path(__file__).resolve().parent
N_QUERIES, N_RANKS, N_GRADES, BUDGET, BLOCKS, SEED = 6, 5, 4, 12, 4, 14
METHOD_TITLES = {
    "whole": "whole: queries, all of a list",
    "depth": "depth: lists, down to some rank",
    "items": "items: documents, where it matters",
}
COLOURS = ("#882255", "#aa4499", "#cc88aa", "#e6c3d3")
"""Of the blocks, the first one darkest; Tol's muted scheme."""


def lists() -> tuple[Target, np.ndarray]:
    """Return six lists of five documents and what a model believes of their grades: the first queries are uncertain."""
    names = [f"q{q + 1}" for q in range(N_QUERIES)]
    offsets = np.arange(0, N_QUERIES * N_RANKS + 1, N_RANKS)
    pool = QueryPool(names, offsets, [f"d{k + 1}" for k in range(N_QUERIES * N_RANKS)])
    scores = np.tile(np.arange(N_RANKS, 0, -1.0), N_QUERIES)
    doubt = np.repeat(np.linspace(1.0, 0.15, N_QUERIES), N_RANKS)[:, None]
    sure = np.eye(N_GRADES)[np.tile([3, 2, 1, 1, 0], N_QUERIES)]
    return Target(DCG(), Rankings.from_scores(pool, scores)), doubt / N_GRADES + (1 - doubt) * sure


def order_of(method: str) -> np.ndarray:
    """Return when each document is judged, from 1, as an array of queries × ranks."""
    target, probs = lists()
    design = METHODS[method].design(target, probs)
    campaign = Campaign(design, budget=design.cost, rng=SEED).in_strict_order()
    when, n = np.zeros(N_QUERIES * N_RANKS, dtype=int), 0
    while (unit := campaign.ask()) is not None:
        places = [int(name[1:]) - 1 for name in unit.item_ids]
        n += len(places)
        when[places] = n
        campaign.tell(unit, [1] * len(places))
    return when.reshape(N_QUERIES, N_RANKS)


def block_of(when: int) -> int | None:
    """Return the block that a document is in, from 0; None beyond the budget."""
    return None if when > BUDGET else (when - 1) * BLOCKS // BUDGET


def draw(path: Path) -> None:
    """Write the picture of the three methods."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    axes = figure.subplots(1, len(METHOD_TITLES))
    for axis, (method, title) in zip(axes, METHOD_TITLES.items(), strict=True):
        for (query, rank), when in np.ndenumerate(order_of(method)):
            block = block_of(int(when))
            face, ink = ("white", "#777777") if block is None else (COLOURS[block], "white" if block < 2 else "black")
            axis.add_patch(_square(rank, query, face))
            axis.text(rank + 0.5, query + 0.5, str(when), color=ink, ha="center", va="center", fontsize=10)
        axis.set(xlim=(0, N_RANKS), ylim=(N_QUERIES, 0), title=title, xlabel="rank", aspect="equal")
        axis.set_xticks(np.arange(N_RANKS) + 0.5, [str(rank + 1) for rank in range(N_RANKS)])
        axis.set_yticks(np.arange(N_QUERIES) + 0.5, [f"q{query + 1}" for query in range(N_QUERIES)])
        axis.title.set_fontsize(10)
    figure.savefig(path, dpi=130)


def _square(x: int, y: int, face: str) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, facecolor=face, edgecolor="#999999")


if __name__ == "__main__":
    draw(HERE / "levels.png")
