"""What the judging page does under load and under faults: ``python -m benchmarks.page``.

A generated campaign behind ``activeeval serve``, on SQLite with 20 judges or on PostgreSQL with 50 (a server of its own
is started where Debian's package is installed). *Kills*: SIGKILL of the server again and again while eight
programs judge; what it has acknowledged must be there, once. *Pages*: the same while pages in a real Chromium judge,
which are to go on by themselves (wants playwright and Chromium). *Door*: the page before anybody has signed in, beside
400 slow connections and beside headers of 100 MB; see `benchmarks.page_door`. *Estimates*: whole campaigns judged
through HTTP by judges who skip, beside the library called directly with the same seed, and how often the interval holds
the truth; see `benchmarks.page_campaigns`. *Answers*: seconds from an answer to the next item, each judge two seconds
after his page, and in a closed loop, without any pause; asked by one process on the same machine. *Start*: from the
command to the first page. *Overview*: the lead's page once the log has 10,000 events. What measures time comes last.
Stores benchmarks/results/page.json.
"""

from __future__ import annotations

import os
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.cookiejar import CookieJar
from itertools import count

import numpy as np

from activeeval.campaigns.store import open_store
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.report import figure
from benchmarks.machine import median_seconds, seconds
from benchmarks.page_browsers import killed_beside_pages
from benchmarks.page_campaigns import through_http
from benchmarks.page_clients import judged_by
from benchmarks.page_door import crowded
from benchmarks.page_kills import killed
from benchmarks.page_served import judge_all, made, served

P95_MS, OVERVIEW_MS, START_S, PAGE_KB = 100.0, 300.0, 2.0, 60.0
N_JUDGES = {"SQLite": 20, "PostgreSQL": 50}
PAUSE_S = 2.0


@contextmanager
def databases(name: str) -> Iterator[Callable[[], str]]:
    """Yield what returns the URL of an empty database; PostgreSQL's server is started and removed."""
    if name == "PostgreSQL":
        from tests.databases import started_server  # wants pytest, which a benchmark of SQLite alone does not

        server = started_server()
        try:
            yield server.new_database
        finally:
            server.remove()
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        n = count()
        yield lambda: f"sqlite:///{folder}/{next(n)}.activeeval"


def answers(name: str, url: str, lasting_s: float, pause_s: float) -> list[Row]:
    """Measure the time of answers with the next item, and count errors."""
    n = N_JUDGES[name]
    made(url, int(n * lasting_s * (0.6 if pause_s else 12)) + 200)
    with served(url, [f"judge{k}" for k in range(n)]) as server:
        browsers = judged_by([judge["url"] for judge in server.judges], lasting_s, pause_s)
    taken = 1000 * np.array([s for browser in browsers for s in browser.seconds])
    problems = [problem for browser in browsers for problem in browser.problems]
    how = f"{n} on {name}, " + (f"{pause_s:g} s after the page" if pause_s else "closed loop")
    rates = {"a_second": round(taken.size / lasting_s, 1), "answers": int(taken.size)}
    rows = [figure(f"answer, {how}: p{p}", np.percentile(taken, p), "ms", **rates) for p in (50, 99)]
    bound = {"at_most": P95_MS} if pause_s else {}
    rows.insert(1, figure(f"answer, {how}: p95", np.percentile(taken, 95), "ms", **bound, **rates))
    rows.append(figure(f"answer, {how}: errors", len(problems), "", at_most=0, problems=problems[:5]))
    largest = max(size for browser in browsers for size in browser.sizes)
    rows.append(figure(f"page, {how}: largest", largest / 1000, "kB", at_most=PAGE_KB))
    return rows


def come_in(browser: urllib.request.OpenerDirector, link: str) -> bytes:
    """Open a link that was printed, and use its button; return the first page."""
    browser.open(link).close()
    button = urllib.request.Request(link, b"", {"Origin": link.partition("/come-in/")[0]})
    with browser.open(button) as page:
        return bytes(page.read())


def start_and_overview(url: str, n_events: int) -> list[Row]:
    """Measure the time to a server's first page, and that of the lead's page of a long log."""
    truth = made(url, int(0.36 * n_events))
    with open_store(url) as db:
        judge_all(db, truth, n_events)
        last = db.last_seq("page")
    with served(url, ["ann"]) as server:
        lead = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        judge = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        first_page = seconds(lambda: come_in(judge, server.judges[0]["url"]))
        cold = seconds(lambda: come_in(lead, server.lead))
        page = server.lead.partition("/come-in/")[0] + "/lead"
        warm = median_seconds(lambda: lead.open(page).read(), 9)
    rows = [figure("start to first page", server.seconds + first_page, "s", at_most=START_S, events=last)]
    rows.append(figure(f"overview at {last:,} events, again", 1000 * warm, "ms", at_most=OVERVIEW_MS))
    return [*rows, figure(f"overview at {last:,} events, the first time", 1000 * cold, "ms")]


def section(options: Options, measure: Callable[[Callable[[], str], Options], list[Row]]) -> Row:
    """Measure a section on empty databases, with the load of the machine."""
    with databases(options.database) as new:
        return {"figures": measure(new, options), "load": round(os.getloadavg()[0], 2)}


def both_paces(new: Callable[[], str], options: Options) -> list[Row]:
    """Measure answers of judges who pause, and without any pause."""
    return [row for pause in (PAUSE_S, 0.0) for row in answers(options.database, new(), options.seconds, pause)]


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        name: (title, partial(section, measure=measure))
        for name, title, measure in (
            ("kills", "Kills", lambda new, o: killed(new(), o.kills, o.acknowledged)),
            (
                "pages",
                "Kills beside pages in a browser",
                lambda new, o: killed_beside_pages(new(), o.page_kills, o.saved),
            ),
            ("door", "Before anybody has signed in", lambda new, _: crowded(new())),
            ("estimates", "Estimates through HTTP", lambda _, o: through_http(o.campaigns, o.through_http)),
            ("answers", "Answers", both_paces),
            ("start", "Start and overview", lambda new, o: start_and_overview(new(), o.events)),
        )
    },
    packages=("fastapi", "uvicorn", "sqlalchemy", "psycopg"),
    database={"choices": tuple(N_JUDGES), "default": "SQLite"},
    seconds=40.0,
    kills=50,
    acknowledged=5000,
    events=10_000,
    page_kills=12,
    saved=300,
    campaigns=2000,
    through_http=600,
)


if __name__ == "__main__":
    EXPERIMENT.main()
