"""Read samples from files and from bytes."""

from __future__ import annotations

import json
from typing import Any

from activeeval.core.campaign import Campaign
from activeeval.formats.sample_file import (
    FILES,
    JUDGES,
    MACHINES,
    TEXTS,
    Arrays,
    id_of,
    read_campaign,
    unpacked_campaign,
)
from activeeval.inputs.texts import TextFile
from activeeval.sampling.drawn_sample import DrawnSample


def read_sample(path: str) -> tuple[DrawnSample, str]:
    """Read a sample written by `DrawnSample.write`, without judgments; also return its id.

    Raises
    ------
    InputError
        If the file is changed, damaged or no sample.
    """
    return _sample_of(*read_campaign(path))


def unpacked_sample(content: bytes, name: str, base: bytes | None = None) -> tuple[DrawnSample, str]:
    """Read a sample from the bytes of `DrawnSample.packed`, without judgments; also return its id.

    Raise InputError if they are changed, damaged or no sample.

    Parameters
    ----------
    content : bytes
    name : str
        Name of the sample in messages.
    base : bytes, optional
        Bytes of the sample that it was packed relative to.
    """
    return _sample_of(*unpacked_campaign(content, name, base))


def _sample_of(campaign: Campaign, arrays: Arrays) -> tuple[DrawnSample, str]:
    """Build a sample from its campaign (design and units) and the named arrays of its file; also return its id."""
    kinds = tuple("run" if target.versus is None else "difference" for target in campaign.design.targets)
    questions = tuple(arrays["questions"].tolist()) if "questions" in arrays else kinds
    # the number of units on earlier sheets, then the ids of the samples that this one was topped up from
    n_before, *earlier = arrays["earlier"].tolist() if "earlier" in arrays else ["0"]
    numbers: dict[str, Any] = {name: int(arrays[name][0]) for name in ("depth", "seed") if name in arrays}
    text_rows = arrays[TEXTS].reshape(-1, 3).tolist() if TEXTS in arrays else []
    sample = DrawnSample(
        campaign=campaign,
        text_files={what: TextFile(path=path, digest=digest) for what, path, digest in text_rows},
        questions=questions,
        systems=tuple(arrays["systems"].tolist()) if "systems" in arrays else (),
        earlier=tuple(earlier),
        n_before=int(n_before),
        model=str(arrays["model"][0]) if "model" in arrays else "",
        truth_of_machines=tuple((source, int(n)) for source, n in arrays.get(MACHINES, ())),
        judges=tuple(arrays[JUDGES].tolist()) if JUDGES in arrays else (),
        files=json.loads(str(arrays[FILES][0])) if FILES in arrays else None,
        **numbers,
    )
    return sample, id_of(arrays)
