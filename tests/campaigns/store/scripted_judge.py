"""A judge in a process of his own: he writes a line for each answer that was acknowledged, after the commit.

``python scripted_judge.py URL JUDGE [N]`` judges until nothing is left, or N items. An answer that the store
refuses is given again with the same key, three times in all.
"""

import json
import sys

from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.errors import ActiveEvalError


def say(**what):
    print(json.dumps(what), flush=True)


def tried(ask):
    for _ in range(3):
        try:
            return ask()
        except ActiveEvalError as error:
            say(error=str(error))
    sys.exit(3)


def main(url, judge, n="1000000000"):
    with tried(lambda: open_store(url)) as store:
        got = tried(lambda: store.claim("night", judge))
        for i in range(int(n)):
            if got is None:
                break
            key = f"{judge} {got.token}"
            said = JudgeAnswer(kind="judged", grade=i % 5)
            answer, following = tried(lambda got=got, said=said, key=key: answered(store, got.token, said, key))
            event = answer.event
            say(seq=event.seq, doc_id=event.doc_id, grade=event.grade, key=key, kind=event.kind)
            got = following


def answered(store, token, said, key):
    return store.submit_and_claim("night", token, said, key)


if __name__ == "__main__":
    main(*sys.argv[1:])
