"""A judge's browser receives nothing of runs, ranks, levels, weights or of what others say, in any byte."""

import re

from web.conftest import Site, answer


def test_no_byte_of_a_judges_pages_names_what_a_judge_must_not_know():
    site = Site(method="depth", judges_per_item=2, policy="median")
    bob, received = site.at("bob"), []
    page = bob.get("/judge")
    for _ in range(16):
        page = answer(bob, page, 2, note="bob remarks this")
    ann = site.at("ann")
    page = ann.get("/judge")
    while "data-doc-id" in page.text and len(received) < 24:
        received.append(page.text)
        page = answer(ann, page, 1)
        site.desk.reading.wait()
    received += [page.text, ann.get("/judge/answers").text]
    answers = re.findall(r"/judge/answers/(\d+)", received[-1])
    received += [ann.get(f"/judge/answers/{seq}").text for seq in answers[:5]]
    text, tokens = re.subn(r'name="token" value="[^"]*"', "", "\n".join(received))  # random letters may be any word
    assert tokens
    assert "bob" not in text
    systems = {answer.system for answer in site.case.sample.made_for} | {"versus"}
    levels = {f"{unit.level:.6g}"[:6] for unit in site.store.units("week") if unit.level is not None}
    for word in systems | levels | {"rank", "score", "level", "weight", "probability", "block_", "unit"}:
        assert word.lower() not in text.lower(), word
    assert "± " in text
