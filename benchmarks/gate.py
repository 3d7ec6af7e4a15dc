"""How often a gate stops a change: ``python -m benchmarks.gate``, the table of docs/gate.md.

Differences by query are real ones: two rankers on MQ2008, everything judged. A repetition draws n of them with
replacement, each with a sign by chance, so that the true difference is 0, −M or −2 M whatever was drawn: a sign is
negative with probability (1 − δ / E|d|) / 2 at a true difference δ. The margin M is a fiftieth of the better ranker's
value, rounded to one digit. Stores benchmarks/results/gate.json and writes the table into docs/gate.md.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from activeeval import parse_measure
from activeeval.core.answers import Answer, exit_code
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.types import Floats
from activeeval.inputs.chosen_inputs import from_letor
from benchmarks.frame import report
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.machine import ROOT
from benchmarks.pools import RANKERS, mq2008_files

PAGE = ROOT / "docs" / "gate.md"
MEASURES = ("nDCG@10", "P@5", "RR")
SIZES = (30, 100, 300, 1000)
LOSSES = (0, 1, 2)
REPETITIONS = 1000
"""At 1,000 a share of .05 has a standard error of .007."""
SEED = 2013
TABLE = re.compile(r"(?<=<!-- gate table -->\n).*?(?=<!-- end of gate table -->)", re.DOTALL)


def differences(name: str) -> tuple[Floats, float]:
    """Score the two rankers of MQ2008 by a measure: the size of each query's difference, and the larger mean."""
    inputs = from_letor(mq2008_files(), [mq2008_files(ranker) for ranker in RANKERS])
    assert inputs.versus is not None
    measure = parse_measure(name)
    values = [measure.score(inputs.pool, inputs.grades, run) for run in (inputs.ranking, inputs.versus)]
    return np.abs(values[0] - values[1]), float(max(value.mean() for value in values))


def margin_of(value: float) -> float:
    """Round a fiftieth of a value to one digit."""
    return float(f"{value / 50:.0e}")


def stopped(sizes: Floats, n: int, loss: float, margin: float, repetitions: int, seed: int) -> Counter[int]:
    """Count the exit codes of gates on n queries at a true loss."""
    rng, codes = np.random.default_rng([SEED, seed]), Counter[int]()
    names: dict[str, Any] = {"system": "new", "versus": "old", "measure": "", "n_queries": n, "n_items": None}
    negative = (1 + loss / sizes.mean()) / 2
    for _ in range(repetitions):
        drawn = rng.choice(sizes, n) * np.where(rng.random(n) < negative, -1.0, 1.0)
        mean = mean_interval(drawn, limits=(-1.0, 1.0))
        answer = Answer(value=mean.mean, low=mean.low, high=mean.high, margin=margin, **names)
        codes[exit_code([answer])] += 1
    return codes


def rows(repetitions: int) -> list[dict[str, Any]]:
    """Simulate every measure, number of queries and loss."""
    out = []
    for m, name in enumerate(MEASURES):
        sizes, value = differences(name)
        margin = margin_of(value)
        for n in SIZES:
            for times in LOSSES:
                codes = stopped(sizes, n, times * margin, margin, repetitions, 100 * m + 10 * SIZES.index(n) + times)
                shares = {f"exit_{code}": codes[code] / repetitions for code in (0, 10, 11)}
                out.append({"measure": name, "queries": n, "margin": margin, "loss": times * margin, **shares})
    return out


def table(result: dict[str, Any]) -> str:
    """Write the table of docs/gate.md: a row for each measure and number of queries."""
    head = "measure, margin M | queries | no change: 10 | 11 | a loss of M: 10 | 11 | a loss of 2 M: 10 | 11"
    lines, found = [], result["rows"]
    for k in range(0, len(found), len(LOSSES)):
        group = found[k : k + len(LOSSES)]
        cells = (f"{row[f'exit_{code}']:.0%}" for row in group for code in (10, 11))
        lines.append([f"{group[0]['measure']}, {group[0]['margin']:g}", f"{group[0]['queries']:,}", *cells])
    return "\n".join(["", *report.table(head.split(" | "), lines), "", ""])


def measure(options: Options) -> dict[str, Any]:
    """Simulate gates, and write the table into docs/gate.md where all repetitions were made."""
    result = {"rows": rows(options.repetitions)}
    if options.repetitions == REPETITIONS:
        PAGE.write_text(TABLE.sub(lambda _: table(result), PAGE.read_text()))
    return result


EXPERIMENT = Experiment(__spec__, __doc__, measure, report=table, repetitions=REPETITIONS)


if __name__ == "__main__":
    EXPERIMENT.main()
