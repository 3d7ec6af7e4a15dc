"""Follow every link inside a built site: pages, anchors, pictures, styles and scripts; nothing off it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "iframe": "src"}
LOADED = {"link", "img", "script", "source", "iframe"}
"""What a browser asks for by itself."""
FETCHED_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "shortcut"}


@dataclass(slots=True)
class Page(HTMLParser):
    """What a page leads to, what it loads from elsewhere, and which anchors it has."""

    links: list[str] = field(default_factory=list)
    loaded_elsewhere: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one tag; called by the parser."""
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        target = named.get(LINKS.get(tag, ""))
        if not target:
            return
        self.links.append(target)
        is_fetched = tag != "link" or set(named.get("rel", "").split()) & FETCHED_RELATIONS
        if tag in LOADED and is_fetched and (urlsplit(target).netloc or urlsplit(target).scheme in ("http", "https")):
            self.loaded_elsewhere.append(target)


@dataclass(frozen=True, slots=True)
class Crawled:
    """What a site's links come to.

    Attributes
    ----------
    n_pages, n_links : int
        Links are those that lead within the site.
    broken : list of str
        ``page: link``, of pages, files or anchors that are not there.
    elsewhere : list of str
        ``page: address`` of what a page loads from another place.
    """

    n_pages: int
    n_links: int
    broken: list[str]
    elsewhere: list[str]


def crawl(site: Path, allowed: tuple[str, ...] = ()) -> Crawled:
    """Read all pages below a folder and look up every link; names that end like ``allowed`` need not be there."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = page = Page()
        page.feed(path.read_text("utf-8"))
    broken, elsewhere, n_links = [], [], 0
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        elsewhere += [f"{name}: {link}" for link in page.loaded_elsewhere]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.endswith(allowed or ("\0",)):
                continue
            n_links += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            lacks_anchor = bool(anchor) and target in pages and anchor not in pages[target].anchors
            if not target.exists() or lacks_anchor:
                broken.append(f"{name}: {link}")
    return Crawled(len(pages), n_links, broken, elsewhere)
