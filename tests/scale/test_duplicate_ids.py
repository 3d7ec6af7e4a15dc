"""Whether ids are unique: every repeat is found, however the ids are shared out."""

import numpy as np
import pytest

from activeeval import InputError
from activeeval.core.pool.texts import Texts
from activeeval.scale import duplicate_ids
from activeeval.scale.engines.local import LocalEngine
from activeeval.scale.scratch import TemporaryFolder


def looked_at(parts):
    keeper = TemporaryFolder()
    for k, ids in enumerate(parts):
        keeper.folder.write(f"queries-{k}", duplicate_ids.digests(Texts.from_list(ids)))
    names = tuple(f"part {k}" for k in range(len(parts)))
    n = sum(map(len, parts))
    duplicate_ids.check_unique(LocalEngine(), keeper.folder, names, n, lambda part, query: repr(parts[part][query]))


@pytest.mark.parametrize("at_once", [10**6, 20, 1])
def test_a_repeat_is_found_wherever_it_stands(at_once, monkeypatch):
    monkeypatch.setattr(duplicate_ids, "_MOST_AT_ONCE", at_once)
    random = np.random.default_rng(at_once)
    ids = [f"q{k}" for k in random.permutation(90)]
    parts = [ids[:30], ids[30:40], ids[40:]]
    looked_at(parts)
    for _ in range(5 if at_once == 1 else 20):
        a, b = random.choice(3, 2, replace=False).tolist()
        again = str(random.choice(parts[a]))
        broken = [list(part) for part in parts]
        broken[b][int(random.integers(len(broken[b])))] = again
        first, second = sorted((a, b))
        text = rf"^query '{again}' stands in two partitions, part {first} and part {second}$"
        with pytest.raises(InputError, match=text):
            looked_at(broken)


def test_of_several_repeats_the_earliest_is_named(monkeypatch):
    monkeypatch.setattr(duplicate_ids, "_MOST_AT_ONCE", 1)
    parts = [["a", "b", "c"], ["d", "c"], ["e", "a", "b"]]
    with pytest.raises(InputError, match=r"^query 'c' stands in two partitions, part 0 and part 1$"):
        looked_at(parts)


def test_long_and_empty_texts_are_ids_as_others_are():
    looked_at([["", "x" * 4000], ["x" * 3999, "ü"], ["y"]])
    with pytest.raises(InputError, match="two partitions"):
        looked_at([["", "x" * 4000], ["x" * 4000]])
