"""Label all queries of a sheet by one judge's comparisons, stored as a campaign in a file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from activeeval.campaigns.store import (
    CampaignRow,
    PlaceRow,
    SampleRow,
    Store,
    UnitRow,
    checked_name,
    file_url,
    open_store,
)
from activeeval.campaigns.top_k_judging import Comparing, ComparisonOutcome
from activeeval.core.errors import InputError
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.judging import ByComparisons, DocumentToJudge, Judging
from activeeval.formats.comparisons import write_comparisons, write_truth
from activeeval.formats.judgments.from_files import read
from activeeval.formats.tables.draws import TEXTS, draws_of
from activeeval.formats.tables.read_tables import read_sheet

_SQLITE = b"SQLite format 3\0"
Documents = dict[str, list[DocumentToJudge]]


@contextmanager
def labelling(sheet: str, k: int, path: str) -> Iterator[Comparing]:
    """Open the log of a sheet's comparisons, created if it does not exist, for a ``with`` block.

    The log is a store with one campaign. The campaign and its judge are named after the file as it was called when it
    was created. Yield the judge's session.

    Parameters
    ----------
    sheet : str
        Sheet of a sample, with the documents of each query.
    k : int
        Number of top documents to find for each query.
    path : str
        File of the log.

    Raises
    ------
    InputError
        If the sheet cannot be read, or the file is not a log of its documents for the top k.
    """
    _check_log(path)
    documents, texts = _read(sheet)
    judging = ByComparisons(k)
    units = [
        UnitRow(
            number=number,
            block=1,
            query_id=query,
            level=None,
            cost=1.0,
            places=tuple(PlaceRow(**item._asdict()) for item in judging.shown(query, items)),
            query_text=texts[query],
        )
        for number, (query, items) in enumerate(documents.items(), start=1)
    ]
    with open_store(file_url(path), create=True) as store:
        names = store.campaigns()  # one, or none if the log is new
        if not names:
            names = [checked_name(judge_name(os.path.splitext(os.path.basename(path))[0]))]
            # the queries of a sheet are not drawn here: there is no sample to store
            sample = SampleRow(version=1, digest="", payload=b"", reason="a sheet")
            store.create(CampaignRow(name=names[0], config=judging.config), sample, units)
        elif not _is_of(store, names, units, judging):
            raise InputError(
                f"{path}: is not the log of the documents of {sheet} for the top {k}: check both names and `k`"
            )
        yield Comparing(store, names[0], names[0])


def check_apart(log: str, *others: str | None) -> None:
    """Raise InputError if two of the paths are the same file."""
    files = [os.path.realpath(path) for path in (log, *others) if path]
    if len(set(files)) < len(files):
        raise InputError(f"{log}: sheet, log and outputs must be different files, got one name twice")


def write_labels(compared: ComparisonOutcome, out: str, preferences: str | None) -> None:
    """Write the resulting order of each completed query to ``out``, and the comparisons to ``preferences``.

    ``preferences`` is a path, or None to write none. ``compared`` are the judge's results so far.
    """
    write_truth(compared.truths, out)
    if preferences:
        write_comparisons(compared.comparisons, preferences)


def says_no_more(path: str, compared: ComparisonOutcome) -> bool:
    """Check that overwriting a file loses nothing: the labelling ``compared`` has all truths or comparisons of it.

    A truth is the ranking of a query's best documents. A file holds either truths or comparisons, as `write_labels`
    writes them; False for a file that cannot be read or holds anything else, for which `comparisons` raises InputError.
    """
    try:
        judgments = read(path)
        if judgments.holds("truth"):
            return all(compared.truths.get(query) == truth for query, truth in judgments.truths().items())
        return set(judgments.comparisons()) <= set(compared.comparisons)
    except InputError:
        return False


def _check_log(path: str) -> None:
    """Raise InputError if a file exists that is not a store."""
    if not os.path.exists(path):
        return
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read(len(_SQLITE)) in (b"", _SQLITE):
                    return
    except OSError as problem:
        raise InputError(f"{path}: cannot read: {problem.strerror}") from None
    raise InputError(f"{path}: is not a log of comparisons, expected a new file or one made by `activeeval label`")


def _is_of(store: Store, names: list[str], units: list[UnitRow], judging: Judging) -> bool:
    """Check that a store has one campaign, in which exactly the documents of these queries are compared.

    Parameters
    ----------
    names : list of str
        Campaigns of the store.
    units : list of UnitRow
        The queries with their documents.
    judging : Judging
        Comparisons for the top k.
    """
    if len(names) > 1 or store.campaign(names[0]).judging != judging:
        return False
    new, old = ({unit.query_id: unit.places[0].members for unit in rows} for rows in (units, store.units(names[0])))
    return new == old


def _read(path: str) -> tuple[Documents, Mapping[str, str]]:
    """Read a sample's sheet: return the documents of each query, in order, and the text of each query ("" if unknown).

    Raises InputError if a query has a document twice.
    """
    sheet = read_sheet(path).plainly_named()
    draws = draws_of(sheet, path)
    columns = {name: sheet.words(name) for name in TEXTS if name in sheet.columns}
    documents: Documents = {}
    texts: dict[str, str] = {}
    for row, (query, doc) in enumerate(zip(draws.query_id.tolist(), draws.doc_id.tolist(), strict=True)):
        if any(item.doc_id == doc for item in documents.setdefault(query, [])):
            raise InputError(f"{draws.place(path, row)}: document {doc!r} of query {query!r} is there twice")
        words = {name: cells[row] for name, cells in columns.items() if cells[row]}
        texts[query] = words.pop("query", "") or texts.get(query, "")
        documents[query].append(DocumentToJudge(doc, 1.0, words))  # a probability of 1: nothing is drawn here
    return documents, texts
