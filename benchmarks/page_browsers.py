"""Pages in a real Chromium that judge while the server of `benchmarks.page` is killed, and go on by themselves.

Each page is loaded once. A key answers; where the server is gone the page keeps the answer and sends it again until it
learns that it is stored, and shows the next item.
"""

from __future__ import annotations

import importlib.util
import shutil
import threading
from dataclasses import dataclass, field
from typing import Any

from activeeval.campaigns.store import open_store
from benchmarks.frame.report import figure
from benchmarks.page_kills import free_port, kept_figures, kill_servers
from benchmarks.page_served import NAME, Server, made

N_PAGES = 4
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_LOOK = """() => {
  const item = document.querySelector("[data-doc-id]"), token = document.querySelector("#answer [name=token]");
  const trouble = document.querySelector("#trouble");
  return {
    pair: item && [item.dataset.queryId, item.dataset.docId], token: token ? token.value : "",
    isTroubled: Boolean(trouble && !trouble.hidden), isSame: window.isSame === true,
  };
}"""


@dataclass(slots=True)
class Page:
    """A page that a judge has open.

    Attributes
    ----------
    saved : list
        Query, document and grade of each answer after which the next item was shown.
    n_kept : int
        Answers that it kept for a while.
    """

    tab: Any
    saved: list[tuple[str, str, int]] = field(default_factory=list)
    n_kept: int = 0
    was_reloaded: bool = False
    is_done: bool = False
    _token: str = ""
    _pressed: tuple[str, str, int] | None = None
    _is_kept: bool = False

    def look(self) -> None:
        """See whether the answer is saved, and give the next one."""
        seen = self.tab.evaluate(_LOOK)
        self.was_reloaded |= not seen["isSame"]
        self._is_kept |= seen["isTroubled"]
        if seen["token"] == self._token:
            return
        if self._pressed is not None:
            self.saved.append(self._pressed)
            self.n_kept += self._is_kept
        self._token, self._pressed, self._is_kept = seen["token"], None, False
        self.is_done = not seen["token"]
        if not self.is_done:
            query, doc = seen["pair"]
            self._pressed = (query, doc, len(self.saved) % 3)
            self.tab.keyboard.press(str(len(self.saved) % 3))


class Pages(threading.Thread):
    """A browser with a page for each judge, in a thread of its own."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.pages: list[Page] = []
        self._urls: list[str] = []
        self._have_come_in, self._must_end = threading.Event(), threading.Event()

    def begin(self, server: Server) -> None:
        """Have all pages come in."""
        self._urls = [judge["url"] for judge in server.judges]
        self.start()
        self._have_come_in.wait(60)

    def is_at_it(self) -> bool:
        """Whether anybody judges still."""
        return self.is_alive()

    @property
    def n_acknowledged(self) -> int:
        """How many answers pages have shown as saved."""
        return sum(len(page.saved) for page in self.pages)

    def end(self) -> None:
        """Stop, and close the browser."""
        self._must_end.set()
        self.join()

    def run(self) -> None:
        """Judge until it must end, or nothing is left."""
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(_OPTIONS))
            for url in self._urls:
                tab = browser.new_context().new_page()
                tab.goto(url)
                tab.get_by_role("button", name="Come in").click()
                tab.wait_for_url(lambda there: "/come-in/" not in there)
                tab.evaluate("() => { window.isSame = true; }")
                self.pages.append(Page(tab))
            self._have_come_in.set()
            while not self._must_end.is_set() and not all(page.is_done for page in self.pages):
                for page in self.pages:
                    page.look()
                self.pages[0].tab.wait_for_timeout(20)
            browser.close()


def killed_beside_pages(url: str, kills: int, least: int) -> list[dict[str, Any]]:
    """Kill the server beside pages; check the answers that they have shown as saved, and reloads."""
    if importlib.util.find_spec("playwright") is None or shutil.which("chromium") is None:
        return [{"what": "kills", "missing": "playwright or chromium is not installed"}]
    made(url, 3 * least + 100)
    pages = Pages()
    done = kill_servers(url, free_port(), [f"judge{k}" for k in range(N_PAGES)], pages, kills, least)
    pages.end()
    with open_store(url) as db:
        stored = {(event.query_id, event.doc_id): event.grade for event in db.events(NAME) if event.kind == "judged"}
    saved = [answer for page in pages.pages for answer in page.saved]
    lost = sum(stored.get((query, doc)) != grade for query, doc, grade in saved)
    return [
        *kept_figures(url, done, len(saved), lost, least),
        figure("answers kept by a page while its server was gone", sum(page.n_kept for page in pages.pages), ""),
        figure("pages that were loaded again", sum(page.was_reloaded for page in pages.pages), "", at_most=0),
    ]
