"""Campaigns behind a server of their own, and a real Chromium before them."""

import socket
import threading
import time
from pathlib import Path

import uvicorn
from patience import PATIENCE_S
from web.conftest import Plain, Site
from web.elsewhere_site import AtSite
from web.test_comparing_page import Compares

from activeeval.campaigns.store import open_store
from activeeval.web.people import invited
from activeeval.web.settings import ServerSettings

PAYLOADS = (
    *Path(__file__).with_name("payloads.txt").read_text("utf-8").splitlines(),
    *(
        f"<{tag} src=http://evil.example/{event} data=http://evil.example/ {event}=alert(1) autofocus open tabindex=0>"
        for tag in ("img", "svg", "video", "body", "input", "iframe", "object", "embed", "details", "math")
        for event in ("onload", "onerror", "onfocus", "ontoggle", "onpointerenter")
    ),
)
HTML = "<!doctype html><html><body><h3>Framed</h3><script>parent.document.title='x'</script>" + "".join(PAYLOADS)


class Running:
    """What is behind a server of its own, at a port of this machine; ``app`` and ``served`` are of whoever it is."""

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        return ServerSettings(host="127.0.0.1", port=self.listener.getsockname()[1])

    def run(self):
        config = uvicorn.Config(self.app, log_level="error", proxy_headers=False)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()

    def opened(self, browser, role="judge", name="ann", **options):
        """Return a page of somebody, with its requests, its dialogs, and what it complains of."""
        context = browser.new_context(**options)
        context.set_default_timeout(1000 * PATIENCE_S)
        page = context.new_page()
        page.requests, page.dialogs, page.complaints = [], [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request))
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(invited(self.served, role, name))
        page.get_by_role("button", name="Come in").click()
        page.wait_for_url(lambda url: "/come-in/" not in url)
        return page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.server.should_exit = True
        self.thread.join(10)
        self.served.desk.reading.wait()


class Live(Site, Running):
    """A site behind a server."""

    def __init__(self, **options):
        super().__init__(door=self.listen(), **options)
        self.case.clock.now = time.time_ns() // 1000
        self.run()


class LiveElsewhere(AtSite, Running):
    """A site behind a server, whose people sign in at another one."""

    def __init__(self, elsewhere):
        super().__init__(elsewhere, door=self.listen())
        self.run()


class LivePairs(Compares, Running):
    """Comparisons behind a server."""

    def __init__(self):
        super().__init__(door=self.listen())
        self.run()


class LiveScale(Plain, Running):
    """A campaign of thirty grades, or of what a test wants, behind a server."""

    def __init__(self, url="sqlite://", units=None, max_grade=29):
        super().__init__(open_store(url, create=True, wait_s=0.2), units, door=self.listen(), max_grade=max_grade)
        self.run()


def shown(page):
    return page.locator("[data-doc-id]").get_attribute("data-doc-id")


def token_of(page):
    return page.locator("#answer [name=token]").get_attribute("value")


def next_item(page, token):
    """Wait until a page shows another item than that of a token: ids of documents are those of other queries too."""
    page.wait_for_selector(f'#answer [name=token]:not([value="{token}"])', state="attached")


def press(page, key):
    """Press a key that answers, and wait for the next item."""
    token = token_of(page)
    page.keyboard.press(key)
    next_item(page, token)
