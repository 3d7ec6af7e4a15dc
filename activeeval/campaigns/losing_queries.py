"""Find the queries with the largest losses in a comparison of two runs, with both lists up to the measure's depth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.lead_texts import documents_of
from activeeval.campaigns.state import CampaignState, Pair
from activeeval.campaigns.store import ItemTexts, UnitRow
from activeeval.core.campaign import Campaign
from activeeval.core.campaign.reading import judged_queries
from activeeval.core.measures import Target
from activeeval.core.pool import Rankings
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.lost_queries import LISTED, MOST_SHOWN, ListedItem, Losses
from activeeval.sampling.query_values import values_of_sample

_LONGEST_TITLE = 80


def losses_of(state: CampaignState, answers: Sequence[SampleAnswer], units: Sequence[UnitRow]) -> list[Losses]:
    """List the queries with the largest losses for each difference of two runs that is worse or undecided.

    Empty for estimates over several rounds (samples), because a query's weight is that of one sample.

    Parameters
    ----------
    state : CampaignState
        The campaign as of an event.
    answers : sequence of SampleAnswer
        Its estimates, with their verdicts.
    units : sequence of UnitRow
        Its stored items, with their texts.
    """
    listed = [k for k, answer in enumerate(answers) if answer.finding.verdict in LISTED]
    if len(state.read) > 1 or not listed:
        return []
    queries, titles = {unit.query_id: unit.query_text for unit in units}, _titles(units)
    lists = [_losses(state.read[0].campaign, k, answers[k].target, queries, titles) for k in listed]
    return [losses for losses in lists if losses.queries]


def _losses(
    campaign: Campaign, question: int, target: Target, texts: Mapping[str, str], titles: Mapping[Pair, str]
) -> Losses:
    """List the queries with the largest losses for one difference, with the result lists of both runs.

    Parameters
    ----------
    campaign : Campaign
        The judged sample.
    question : int
        Index of the difference among the campaign's questions.
    target : Target
        Its measure and two rankings.
    texts : mapping of str to str
        Query texts by id.
    titles : mapping of (query, document) to str
        Titles of documents.
    """
    values = values_of_sample(campaign, target)  # of both rankings on each judged query; `losing` has the worst losses
    labels = judged_queries(campaign.design, campaign.selection, campaign.labels, target).labels
    index_of = {query: q for q, query in enumerate(target.pool.query_texts.tolist())}
    queries = []
    for query in values.losing:
        lists = [
            _counted(ranking, index_of[query.query_id], target.depth) for ranking in (target.ranking, target.other)
        ]
        # `lists` has the new and the old list: each item is looked up in the other one
        new, old = (
            [_item(target, item, int(labels.grades[item]), titles, item not in other) for item in ids[:MOST_SHOWN]]
            for ids, other in (lists, lists[::-1])
        )
        queries.append(replace(query, text=texts.get(query.query_id, ""), items=new, versus_items=old))
    return Losses(
        question=question,
        title=values.title(target.name),
        depth=min(target.depth, MOST_SHOWN),
        # in top-k judging a document's grade is k + 1 − its rank in the order by comparisons, 0 below
        label="κ-grade" if target.measure.is_judged_whole else "grade",
        queries=queries,
    )


def _counted(ranking: Rankings, query: int, depth: int) -> list[int]:
    """List the items (indices in the pool) of a query's ranking that the measure uses.

    Parameters
    ----------
    query : int
        Index of the query.
    depth : int
        Number of ranks that the measure uses.
    """
    begin, end = ranking.offsets[query : query + 2].tolist()
    items: list[int] = ranking.items[begin : min(end, begin + depth)].tolist()
    return items


def _item(target: Target, item: int, grade: int, titles: Mapping[Pair, str], is_only_here: bool) -> ListedItem:
    """Build the entry of an item in a list, with its title and its grade (−1 if it is not judged).

    ``item`` is its index in the target's pool. ``is_only_here`` is True if the measure does not count it in the other
    list.
    """
    (pair,) = target.pool.pairs_of([item])
    judged = grade if grade >= 0 else None
    return ListedItem(doc_id=pair[1], title=titles.get(pair, ""), grade=judged, is_only_here=is_only_here)


def _titles(units: Iterable[UnitRow]) -> dict[Pair, str]:
    """Map each (query, document) to its title as judges read it, else to the beginning of its text unless that is HTML.

    Titles are cut to `_LONGEST_TITLE` characters.
    """
    titles = {}
    for unit in units:
        for place in unit.places:
            for doc, text in documents_of(place.doc_id, place.text):
                view = ItemView.of(unit.query_id, doc, ItemTexts(query_text=unit.query_text, text=text))
                title = " ".join((view.title or ("" if view.is_html else view.text)).split())
                is_long = len(title) > _LONGEST_TITLE
                titles[unit.query_id, doc] = f"{title[: _LONGEST_TITLE - 1]}…" if is_long else title
    return titles
