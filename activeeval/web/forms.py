"""Parse forms by hand, with limits on the number and length of fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from activeeval.campaigns.desk_views import Clocks, Reply
from activeeval.campaigns.store import JudgeAnswer
from activeeval.web.error_responses import RefusedError

_MOST_FIELDS = 30
MOST_OF_A_NOTE = 4000
"""Most characters of a note."""
MUCH = 2
"""Strength of a preference "much better"; other preferences have no strength."""
_INPUTS = ("key", "mouse")


async def _fields(request: Request) -> Mapping[str, str]:
    """Parse a form body to a dict of fields; raise RefusedError (415 or 400) if it is not a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RefusedError(415, "This address accepts only a form.")
    try:
        text = (await request.body()).decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise RefusedError(400, "This form cannot be read.") from None
    return dict(pairs)


Fields = Annotated[Mapping[str, str], Depends(_fields)]


def text_of(fields: Mapping[str, str], name: str, most: int = MOST_OF_A_NOTE) -> str:
    """Read a text field without blanks at its ends; raise RefusedError if it has more than ``most`` characters.

    A missing field is "".
    """
    text = fields.get(name, "").strip()
    if len(text) > most:
        raise RefusedError(
            422, f"{name.capitalize()}: {len(text):,} characters are too many, expected at most {most:,}."
        )
    return text


def reply_in(fields: Mapping[str, str], guidelines: str) -> Reply:
    """Parse a judge's form about an item.

    Raises RefusedError if the form has no valid answer.

    Parameters
    ----------
    guidelines : str
        Version of the current guidelines, used if the form does not name the version that was displayed.
    """
    return Reply(
        judgment=_judgment(fields),
        note=text_of(fields, "note"),
        guidelines=fields.get("guidelines", guidelines)[:64],  # a digest, which is shorter
        input=fields["input"] if fields.get("input") in _INPUTS else "",
        clocks=_clocks(fields),
    )


def _judgment(fields: Mapping[str, str]) -> JudgeAnswer:
    """Parse the answer in a judge's form: a preference, a grade, a deferral, or the reason why there is no grade.

    Raises RefusedError (422) if there is none.
    """
    if (compared := _comparison(fields)) is not None:
        return JudgeAnswer(kind="preferred", body=compared)
    if fields.get("grade", ""):
        grade = _whole(fields["grade"])
        if grade is None:
            raise RefusedError(422, "A grade is a whole number.")
        return JudgeAnswer(kind="judged", grade=grade)
    if "later" in fields:
        return JudgeAnswer(kind="deferred")
    if "cannot" in fields:
        reason = text_of(fields, "reason")
        if not reason:
            raise RefusedError(422, "Please say why it cannot be judged.")
        return JudgeAnswer(kind="cannot", reason=reason)
    raise RefusedError(422, "Please choose a grade, or say why there can be none.")


def _comparison(fields: Mapping[str, str]) -> dict[str, str | int | None] | None:
    """Parse the answer to a comparison of two documents, as the body of the stored event; None if the form has none."""
    if "much" in fields:
        return {"what": "compared", "preferred": fields["much"], "strength": MUCH}
    if "tie" in fields or "preferred" in fields:
        return {"what": "compared", "preferred": None if "tie" in fields else fields["preferred"]}
    return {"what": "discarded", "document": fields["discard"]} if "discard" in fields else None


def _clocks(fields: Mapping[str, str]) -> Clocks | None:
    """Parse the times of a page in milliseconds; None if they are missing or invalid."""
    times = [_whole(fields.get(f"{name}_ms", "")) for name in ("active", "idle", "hidden")]
    active, idle, hidden = times
    if active is None or idle is None or hidden is None:
        return None
    return Clocks(active=active, idle=idle, hidden=hidden)


def _whole(text: str) -> int | None:
    """Parse a non-negative integer of fewer than 15 digits; None if it is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else None
