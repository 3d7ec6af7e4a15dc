"""What judges are given and what they say: items to grade, or comparisons of two documents."""

from __future__ import annotations

from activeeval.errors import InputError
from activeeval.store import Acknowledged, Claimed, Said, Store


def is_compared(store: Store, name: str) -> bool:
    """Return whether a campaign's judges compare documents, rather than grade them."""
    return store.campaign(name).config.get("top_k") is not None


def claim(store: Store, name: str, judge: str) -> Claimed | None:
    """Give a judge the next item, or two documents of a query to compare; None where there is nothing for him."""
    if not is_compared(store, name):
        return store.claim(name, judge)
    # whoever claims an item to grade does not wait for what comparisons need
    from activeeval.tasks.campaigns.comparing import claim_comparison

    question = claim_comparison(store, name, judge)
    return None if question is None else question.claimed


def submit(store: Store, name: str, token: str, judgment: Said, key: str | None = None) -> Acknowledged:
    """Store what a judge says of an item, or of two documents; see `Store.submit`.

    Raises
    ------
    InputError
        Where nobody can say that of what was given out under the token.
    """
    return store.submit(name, token, _checked(store, name, token, judgment), key)


def submit_and_claim(
    store: Store, name: str, token: str, judgment: Said, key: str | None = None
) -> tuple[Acknowledged, Claimed | None]:
    """Do `submit` and `claim` of the same judge, of items in one transaction."""
    if not is_compared(store, name):
        return store.submit_and_claim(name, token, _checked(store, name, token, judgment), key)
    done = submit(store, name, token, judgment, key)
    return done, claim(store, name, done.event.judge)


def _checked(store: Store, name: str, token: str, judgment: Said) -> Said:
    """Return what is said as the store takes it; of a comparison with the documents that it is of."""
    if judgment.kind == "judged" and is_compared(store, name):
        raise InputError(f"campaign {name}: its documents are compared, not graded")
    if judgment.kind != "preferred":
        return judgment
    from activeeval.tasks.campaigns.comparing import settling

    return settling(store, name, token, judgment)
