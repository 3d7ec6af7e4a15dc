"""What docs/page.md takes for granted: texts that can be read, guidelines, and two people who judge over HTTP.

``python page.py files`` writes the runs of ``week.py`` with queries and documents that say something, guidelines and
the names of grades. ``python page.py judge`` serves the campaign kitchen and lets Ann and Bob judge until nothing is
left; one item in seven Bob sees differently. ``python page.py pictures FOLDER`` takes the pictures of the page, with
Chromium and playwright.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import week

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

THINGS = (
    *("copper pan", "sourdough starter", "pressure cooker", "cast iron skillet", "coffee grinder", "bread knife"),
    *("stand mixer", "olive oil", "induction hob", "water kettle", "salad spinner", "pasta machine", "wooden spoon"),
    *("fermentation jar", "pizza stone", "chef’s knife", "rice cooker", "spice mill", "baking tin", "milk frother"),
)
ASKED = ("how to clean a {}", "{} that lasts", "what size of {}", "{} repair", "{} or not", "cheap {}", "{} smell")
SENTENCES = (
    "We tried it for three months in a small kitchen, every day but Sundays.",
    "Most of what is written about it repeats the leaflet that comes in the box.",
    "Warm water and patience do more than any powder that is sold for it.",
    "The second year shows whether the handle was glued or riveted.",
    "A reader asks whether it can stay outside in winter; it can, if it is dry.",
    "Prices have gone up by a third since spring, and the cheap one is heavier.",
    "Keep the receipt: two of the five that we bought went back within a week.",
)
GUIDE = """\
# How to grade

Ask: *would this page have helped the person who typed the query?*

| grade | when |
|---|---|
| 4 Perfect | the page they were looking for |
| 3 Excellent | answers it in full |
| 2 Good | answers a part of it |
| 1 Fair | about the same thing, no answer |
| 0 Bad | about something else |

If two grades seem right, take the **lower** one.
"""
NAMES = '[grades]\n0 = "Bad"\n1 = "Fair"\n2 = "Good"\n3 = "Excellent"\n4 = "Perfect"\n'
N_COLOURS = 64
"""Of a picture: enough for letters of every grey, at a third of the size."""
ACTIVEEVAL = (sys.executable, "-m", "activeeval", "--quiet")
NAMED = ("--grades", "grades.toml", "--guidelines", "guide.md")
PANS = (
    *("campaign", "create", "pans", "--run", "new.run", "--versus-run", "old.run", "--max-grade", "4", "--seed", "5"),
    *("--measure", "kNDCG(k=5)@10", "--budget", "10%"),
    *("--queries", "queries.csv", "--documents", "documents.jsonl"),
)
BROWSER = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def write_files() -> None:
    """Write the runs, and texts that can be read."""
    week.write_files()
    week.write_qrels()
    queries, documents, grades, _ = week.collection()
    with open("queries.csv", "w", newline="") as out:
        rows = [(query, asked_with(query)) for query in dict.fromkeys(queries)]
        csv.writer(out).writerows([("id", "text"), *rows])
    with open("documents.jsonl", "w") as out:
        for query, document, grade in zip(queries, documents, grades.tolist(), strict=True):
            out.write(json.dumps(page_of(query, document, grade), ensure_ascii=False) + "\n")
    Path("guide.md").write_text(GUIDE)
    Path("grades.toml").write_text(NAMES)


def asked_with(query: str) -> str:
    """Return what somebody typed."""
    return ASKED[number(query) % len(ASKED)].format(thing_of(query))


def thing_of(query: str) -> str:
    """Return what a query is about."""
    return THINGS[number(query) // len(ASKED) % len(THINGS)]


def page_of(query: str, document: str, grade: int) -> dict[str, str]:
    """Return a document that is about the thing of its query where its grade says so."""
    thing = thing_of(query) if grade else THINGS[number(document) % len(THINGS)]
    of_title = ("{}: what to know", "My {}", "The {} handbook", "All about the {}", "{}, tested")
    n = 3 + number(document + "n") % 5
    told = [SENTENCES[number(f"{document} {k}") % len(SENTENCES)] for k in range(n)]
    about = f"This page is about the {thing}. "
    title = of_title[number(document) % len(of_title)].format(thing)
    link = f"https://kitchen.example/{thing.replace(' ', '-')}/{document.lower()}"
    return {"id": document, "title": title[0].upper() + title[1:], "text": about + " ".join(told), "url": link}


def number(text: str) -> int:
    """Return a number that belongs to a text."""
    return zlib.crc32(text.encode())


@contextmanager
def served(name: str = "kitchen", *options: str) -> Iterator[list[dict[str, str]]]:
    """Serve a campaign; yield what is printed of the lead, Ann and Bob."""
    words = ("serve", name, "--port", "0", "-o", "jsonl", "--judge", "ann", "--judge", "bob", *options)
    process = subprocess.Popen((*ACTIVEEVAL, *words), stdout=subprocess.PIPE, text=True)
    try:
        yield [json.loads(process.stdout.readline()) for _ in range(3)]
    finally:
        process.terminate()
        process.wait()


def judge(limit: int | None = None) -> None:
    """Let Ann and Bob take turns over HTTP until nothing is left, or so often."""
    lines = map(str.split, Path("qrels.txt").read_text().splitlines())
    truth = {(query, document): int(grade) for query, _, document, grade in lines}
    with served("kitchen", *NAMED) as (_, *people):
        open_for, n = list(people), 0
        while open_for and n != limit:
            person = open_for[n % len(open_for)]
            item = ask(person, "claim", {})
            if not item:
                open_for.remove(person)
                continue
            grade = graded(person["judge"], truth[item["query_id"], item["doc_id"]], item)
            ask(
                person,
                "submit",
                {"token": item["token"], "grade": grade, "active_ms": 6000 + number(item["doc_id"]) % 9000},
            )
            n += 1


def graded(who: str, grade: int, item: dict[str, str]) -> int:
    """Return what somebody says of an item."""
    differs = who == "bob" and number(item["doc_id"]) % 7 == 0
    return abs(grade - 1) if differs else grade


def ask(person: dict[str, str], verb: str, body: dict[str, object]) -> dict[str, str]:
    """Return what the server answers a judge's program."""
    url = person["url"].partition("/come-in/")[0] + f"/api/campaigns/kitchen/{verb}"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {person['token']}"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def take_pictures(folder: str) -> None:
    """Take the pictures of docs/page.md: of the campaign as it is, and nobody else at it."""
    from playwright.sync_api import sync_playwright

    subprocess.run((*ACTIVEEVAL, *PANS), check=True)
    with served("kitchen", *NAMED) as (lead, ann, _), served("pans") as (_, pans, _), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=list(BROWSER))
        take_judge_s(browser, ann["url"], folder)
        take_lead_s(browser, lead["url"], folder)
        take_pair(browser, pans["url"], folder)
        browser.close()


def take_judge_s(browser: Browser, link: str, folder: str) -> None:
    """Take an item to judge, an answer to be changed, and the item on a phone."""
    page = browser.new_context(viewport={"width": 1200, "height": 760}).new_page()
    come_in(page, link)
    for key in "213":
        page.wait_for_timeout(1500)
        press(page, key)
    page.wait_for_timeout(800)
    page.reload()
    save(page, f"{folder}/page-judge.png")
    page.keyboard.press("u")
    page.wait_for_url("**/answers/*")
    save(page, f"{folder}/page-back.png")
    state = page.context.storage_state()
    phone = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark", "storage_state": state}
    small = browser.new_context(**phone).new_page()
    small.goto(re.sub("/judge.*", "/judge", page.url))
    save(small, f"{folder}/page-phone.png", above=".recent")


def take_lead_s(browser: Browser, link: str, folder: str) -> None:
    """Take the overview, where judges differ, and who may come in."""
    page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
    come_in(page, link)
    page.wait_for_timeout(500)
    save(page, f"{folder}/page-lead.png")
    page.get_by_role("link", name="Disagreements").click()
    save(page, f"{folder}/page-disagreements.png", above=".disagreements > li:nth-child(5)")
    page.get_by_role("link", name="People").click()
    save(page, f"{folder}/page-people.png")


def take_pair(browser: Browser, link: str, folder: str) -> None:
    """Take two documents side by side."""
    page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
    come_in(page, link)
    for key in ("ArrowLeft", "ArrowRight"):
        press(page, key)
    save(page, f"{folder}/page-pair.png")


def come_in(page: Page, link: str) -> None:
    """Open a link that was sent, and use its button."""
    page.goto(link)
    page.get_by_role("button", name="Come in").click()
    page.wait_for_url(lambda url: "/come-in/" not in url)


def press(page: Page, key: str) -> None:
    """Answer, and wait for the next item."""
    before = page.locator("#answer [name=token]").get_attribute("value")
    page.keyboard.press(key)
    page.wait_for_selector(f'#answer [name=token]:not([value="{before}"])', state="attached")


def save(page: Page, file: str, above: str = "") -> None:
    """Save the picture of a whole page, or of what is above one of its elements."""
    from PIL import Image

    page.screenshot(path=file, full_page=True)
    height = page.locator(above).bounding_box()["y"] if above else page.evaluate("document.body.scrollHeight")
    with Image.open(file) as image:
        shown = image.convert("RGB").crop((0, 0, image.width, int(height)))
    shown.quantize(N_COLOURS).save(file, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("files", "judge", "pictures"))
    parser.add_argument("value", nargs="?")
    asked = parser.parse_args()
    if asked.what == "files":
        write_files()
    elif asked.what == "judge":
        judge(None if asked.value is None else int(asked.value))
    else:
        take_pictures(asked.value or ".")


if __name__ == "__main__":
    main()
