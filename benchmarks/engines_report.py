"""What `benchmarks.engines` measured, and what follows on paper for pools that no machine here holds."""

from __future__ import annotations

from benchmarks.engines_pools import N_ITEMS
from benchmarks.frame.report import Row, figures_table, table

SIZES = ((10**6, 20), (10**7, 20), (10**8, 20), (10**9, 20), (10**9, 100))
ROWS = 10**6
"""Of a partition, on paper: what a task takes of a file of `activeeval pool write`."""
AT_ONCE = 2_000_000
"""Ids that one worker looks at, `activeeval.scale.duplicate_ids`."""
REQUEST_S = 0.02
"""Of an object store, assumed."""


def markdown(engines: Row, small: Row | None, large: Row | None, depth: Row | None) -> str:
    """Return the tables of the section."""
    parts = [_setting(engines), *figures_table(engines["figures"]), ""]
    others = [result for result in (small, large, depth) if result is not None]
    if others:
        parts += ["By size and method, two processes:", "", *_sizes([*others, engines]), ""]
    if small is not None and large is not None:
        growth = _row(large)["driver_peak_mb"] - _row(small)["driver_peak_mb"]
        span = f"{small['n_queries']:,} to {large['n_queries']:,} queries"
        parts += [f"From {span} the driver's peak grows by {growth:.0f} MB (to reach: 100).", ""]
    if small is not None and large is not None and depth is not None:
        parts += [*_on_paper(engines, small, large, depth)]
    return "\n".join(parts).strip()


def _setting(result: Row) -> str:
    return (
        f"{result['n_queries']:,} queries × {result['items_per_query']} items in partitions of "
        f"{result['partition_queries']:,} queries, method {result['method']}, a budget of {result['budget']:,.0f} mean "
        f"items; load of the machine {result['load']:g}, so that times by the clock say little."
        f"{' ' + result['note'] if 'note' in result else ''}\n"
    )


def _row(result: Row) -> Row:
    rows = {row["engine"]: row for row in result["rows"]}
    return dict(rows["processes:2"])


def _sizes(results: list[Row]) -> list[str]:
    head = "queries | method | processor s | µs/item | clock s | driver's peak MB | bytes back / sample | tables B/item"
    lines = []
    for result in sorted(results, key=lambda each: (each["method"] != "items", each["n_queries"])):
        row, n = _row(result), result["n_queries"]
        per_item = 1e6 * row["processor_s"] / (n * N_ITEMS)
        times = [f"{row['processor_s']:,.0f}", f"{per_item:.2f}", f"{row['clock_s']:,.0f}"]
        sizes = [f"{row['returned_bytes'] / row['sample_bytes']:.1f}", f"{row['units_bytes'] / (n * N_ITEMS):.1f}"]
        lines.append([f"{n:,}", result["method"], *times, f"{row['driver_peak_mb']:.0f}", *sizes])
    return table(head.split(" | "), lines)


def _on_paper(engines: Row, small: Row, large: Row, depth: Row) -> list[str]:
    """Return the table of what larger pools come to."""
    of_small, of_large = _row(small), _row(large)
    n_small, n_large = (-(-each["n_queries"] // each["partition_queries"]) for each in (small, large))
    more = n_large - n_small
    back = (of_large["returned_bytes"] - of_small["returned_bytes"]) / more
    grows = max(0.0, of_large["driver_peak_mb"] - of_small["driver_peak_mb"]) / more
    items, deep = (1e6 * _row(each)["processor_s"] / (each["n_queries"] * N_ITEMS) for each in (large, depth))
    unique = of_large["passes"]["unique"]["processor_s"] / large["n_queries"] * AT_ONCE / n_large
    tables, digests = (
        of_large[f"{kind}_bytes"] / large["n_queries"] / per for kind, per in (("units", N_ITEMS), ("digests", 1))
    )
    lead = (
        f"On paper, from these constants: {items:.2f} (items) and {deep:.1f} (depth) µs an item, {back / 1e3:.1f} kB "
        f"back and {1e3 * grows:.0f} kB of the driver for each further partition, {tables:.1f} bytes of table an item "
        f"and {digests:.0f} of digest a query, {1e3 * unique:.2f} ms to look at one partition's ids for one share; "
        f"partitions of {ROWS:,} rows."
    )
    head = "queries × items | partitions | core-hours, items | core-hours, depth | core-hours, unique ids | "
    head += "driver MB | bytes back, MB | tables, GB"
    lines = []
    for n_queries, n_items in SIZES:
        rows = n_queries * n_items
        n = -(-rows // ROWS)
        looked = -(-n_queries // AT_ONCE) * n
        back_mb = (of_small["returned_bytes"] + back * max(0, n - n_small)) / 1e6
        hours = [f"{rows * items / 3.6e9:,.1f}", f"{rows * deep / 3.6e9:,.0f}", f"{looked * unique / 3600:,.2f}"]
        driver, stored = of_small["driver_peak_mb"] + grows * n, (rows * tables + n_queries * digests) / 1e9
        sizes = [f"{driver:,.0f}", f"{back_mb:,.0f}", f"{stored:,.0f}"]
        lines.append([f"{n_queries:,} × {n_items}", f"{n:,}", *hours, *sizes])
    n = -(-SIZES[-1][0] * SIZES[-1][1] // ROWS)
    reads = -(-SIZES[-1][0] // AT_ONCE) * n
    return [
        lead,
        "",
        *table(head.split(" | "), lines),
        "",
        f"What breaks first: the look for ids that stand twice. Each of its tasks reads what every partition has left, "
        f"so its reads grow with the square of the pool: {reads:,} at the last line, {reads * REQUEST_S / 3600:,.0f} "
        f"worker-hours of waiting for an object store that answers in {1e3 * REQUEST_S:.0f} ms (assumed). "
        f"`--trust-ids` leaves it out. Next comes the driver, which opens each file to see its row groups, one after "
        f"the other, before the first pass and the last: {2 * n * REQUEST_S / 3600:.1f} hours. Depth is on paper as "
        f"if it took as long for an item of a list of 100 as of one of {N_ITEMS}. Bytes that come back grow with the "
        f"number of partitions, each of which sends sums and what is planned of it, and pass 20 times those of a "
        f"sample of 1,000 items at about {int(20 * of_large['sample_bytes'] / back):,} partitions.",
    ]
