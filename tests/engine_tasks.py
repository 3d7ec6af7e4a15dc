"""What workers run in tests of engines: other processes import it."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activeeval.core.errors import InputError


def echo(key):
    return str(key).encode()


def slow(key):
    time.sleep(0.5)
    return str(key).encode()


def refusing(key):
    if key == 3:
        raise InputError("chunks[3]: item_costs must be positive, got -1.0", field="item_costs")
    return echo(key)


def dividing(key):
    return echo(1 // (key - 2))


def opening(key):
    return Path(f"/nowhere/{key}").read_bytes()


def killing(key):
    os.kill(os.getpid(), signal.SIGKILL)


def environment(key):
    return str(os.environ.get(key)).encode()


def skipping(key):
    """Run compiled code."""
    import numpy as np

    from activeeval.core.kernels.text import number_texts

    return echo(int(number_texts.skip_blanks(np.frombuffer(b"  a b", dtype=np.uint8), 0)))


@dataclass(frozen=True)
class KillingOnce:
    """Kills its worker at one key, the first time."""

    place: str

    def __call__(self, key):
        if key == 3 and not Path(self.place).exists():
            Path(self.place).touch()
            killing(key)
        return echo(key)


def chunk(k):
    """Return the k-th chunk of a pool."""
    import numpy as np

    from activeeval import Chunk, QueryPool, Rankings

    random = np.random.default_rng(k)
    offsets = np.concatenate(([0], np.cumsum(random.integers(1, 7, 10))))
    pool = QueryPool([f"q{k}-{i}" for i in range(10)], offsets, query_costs=random.uniform(0, 2, 10))
    lists = [Rankings.from_scores(pool, random.normal(size=pool.n_items)) for _ in range(2)]
    return Chunk(lists[0], random.dirichlet(np.full(4, 0.7), size=pool.n_items), lists[1])


def killed_once(flag):
    """Kill this process unless one of its like was killed before."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class KillingSource:
    """A pool whose second partition kills its worker in the first pass, and where rows are read, once each."""

    pool: Any
    flags: str
    is_streamed = False

    def keys(self):
        return self.pool.keys()

    def name(self, number, key):
        return self.pool.name(number, key)

    def query_name(self, partition, query):
        return self.pool.query_name(partition, query)

    def state(self, key):
        return self.pool.state(key)

    def read(self, key):
        if key.path.endswith("1.parquet"):
            killed_once(f"{self.flags}/survey")
        return self.pool.read(key)

    def read_some(self, key, queries):
        killed_once(f"{self.flags}/rows")
        return self.pool.read_some(key, queries)


@dataclass(frozen=True)
class KillingScratch:
    """A place for tables that kills who reads the second of them, once."""

    folder: Any
    flags: str

    def write(self, name, content):
        self.folder.write(name, content)

    def read(self, name, *places):
        if name == "units-1":
            killed_once(f"{self.flags}/levels")
        return self.folder.read(name, *places)
