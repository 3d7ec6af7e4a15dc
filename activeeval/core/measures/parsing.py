"""Parse measure strings ``Name(k=v,…)@cutoff`` and the spellings of other tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from activeeval.core.checks import LARGEST_GRADE, brief
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.measures.counted import CountMeasure
from activeeval.core.measures.families import Additive
from activeeval.core.measures.gains_and_discounts import Exponential, log_discount
from activeeval.core.measures.named import DCG, ERR, RBP, RR, Precision, Success, gain_rule
from activeeval.core.measures.rank_gains import RankGains
from activeeval.core.measures.ranked import AP, NDCG, Judged, Recall
from activeeval.core.measures.subtopics import SubtopicMeasure
from activeeval.core.measures.target import Measure
from activeeval.core.measures.top_k import kERR, kNDCG

_FORMULATIONS = {"log2": "linear", "exp-log2": "exp"}
_COUNTED = ("Rprec", "R_cap", "F1", "Bpref", "infAP")
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "nDCG": ("dcg", "gains"),
    "DCG": ("dcg", "gains"),
    "ERR": ("max_rel",),
    "RBP": ("p", "rel", "dcg", "gains"),
    "P": ("rel",),
    "R": ("rel",),
    "Success": ("rel",),
    "RR": ("rel",),
    "AP": ("rel",),
    "Judged": (),
    "kNDCG": ("k",),
    "kERR": ("k",),
    "Additive": ("gains", "dcg", "discounts"),
    "RankGains": ("gains",),
    **dict.fromkeys((*_COUNTED, "ERR_IA"), ("rel",)),
    "alpha_nDCG": ("alpha", "rel"),
}
_SPELLINGS = {
    "ndcg": ("nDCG", {"dcg": "log2"}),
    "ndcg_cut": ("nDCG", {"dcg": "log2"}),
    "ndcg_burges": ("nDCG", {"dcg": "exp-log2"}),
    "NDCG": ("nDCG", {}),
    "dcg": ("DCG", {"dcg": "log2"}),
    "dcg_burges": ("DCG", {"dcg": "exp-log2"}),
    "err": ("ERR", {}),
    "rbp": ("RBP", {}),
    "Precision": ("P", {}),
    "precision": ("P", {}),
    "Recall": ("R", {}),
    "recall": ("R", {}),
    "success": ("Success", {}),
    "hit_rate": ("Success", {}),
    "MRR": ("RR", {}),
    "mrr": ("RR", {}),
    "recip_rank": ("RR", {}),
    "MAP": ("AP", {}),
    "map": ("AP", {}),
    "map_cut": ("AP", {}),
    "judged": ("Judged", {}),
    "knDCG": ("kNDCG", {}),
    "kndcg": ("kNDCG", {}),
    "kerr": ("kERR", {}),
    **dict.fromkeys(("RPrec", "rprec", "r_precision"), ("Rprec", {})),
    **dict.fromkeys(("BPref", "bpref"), ("Bpref", {})),
    **dict.fromkeys(("InfAP", "infap"), ("infAP", {})),
    **dict.fromkeys(("f1", "SetF", "set_F"), ("F1", {})),
    "recall_cap": ("R_cap", {}),
}
_LONGEST_CUTOFF = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameters:
    """Parameters of a measure as parsed from its text, of any type: the measures check them.

    Field names are those of the text. `_PARAMETERS` lists the parameters of each measure.
    """

    gains: Any = None
    dcg: Any = None
    discounts: Any = log_discount
    max_rel: Any = None
    p: Any = 0.8
    rel: Any = 1
    k: Any = 10
    alpha: Any = 0.5


_TEXT = re.compile(r"\s*(?P<name>[Ff]1|[A-Za-z][A-Za-z_]*)\s*(?:\((?P<inside>.*)\))?\s*(?:@\s*(?P<cutoff>\S+))?\s*")
# A point separates the cutoff only for trec_eval's own names: in rbp.95 it is a decimal point.
_TREC_CUTOFF = re.compile(r"(?P<name>[A-Za-z_]+?(?=_)|P|recall|success|ndcg_cut|map_cut)[_.](?P<cutoff>\d+)")
_KAPPA = re.compile(r"^\s*κ[-_]?")
_OF_SUBTOPICS = re.compile(r"^\s*(?:(?:α|alpha)[-_](n)|(ERR)-(?=IA))")
_RANX_RBP = re.compile(r"rbp\.(?P<digits>\d+)")


def parse_measure(text: str) -> Measure:
    """Parse the name, parameters and cutoff of a measure.

    Names and parameters are those of ir_measures: nDCG, DCG (dcg='log2' | 'exp-log2', gains={…}), ERR (max_rel), RBP
    (p, rel), P, R, Success, RR, AP (rel), Judged; and Additive (gains={…}, discounts=[…]), any sum of gains over
    ranks, RankGains (gains=[[…],[…]]), gains by rank; kNDCG and kERR (k) of a top-k truth, also written κ-NDCG and
    κ-ERR. For scores only: Rprec, Bpref, infAP, F1 (also SetF) and R_cap (rel), recall that divides by at most the
    cutoff, as in BEIR; of judgments of subtopics alpha_nDCG (alpha, rel) and ERR_IA (rel). The spellings of trec_eval
    (``ndcg_cut_10``, ``recall.10``) and ranx (``ndcg_burges@10``, ``hit_rate@5``) are accepted too. Plain nDCG has
    linear gains, plain DCG exponential gains; ``str`` of the result prints every parameter.

    The text can come from an untrusted source, so no file is opened: ``@FILE`` raises an error.
    `activeeval.inputs.file_names.asked_measure` accepts ``@FILE`` in a caller's own arguments.

    Raises
    ------
    InputError
        If the name, a parameter or the cutoff is unknown, or the text names a file.

    Examples
    --------
    >>> print(parse_measure("ERR(max_rel=4)@20"), parse_measure("ndcg_cut_10"), parse_measure("DCG@5"))
    ERR(max_rel=4)@20 nDCG(dcg='log2')@10 DCG(dcg='exp-log2')@5
    """
    if not isinstance(text, str):
        raise InputError(f"a measure is read from a text, as 'nDCG@10', got {brief(text)}", field="measure")
    if text.lstrip().startswith("@"):
        raise InputError(
            f"measure {text!r:.100} names a file, which is allowed in a caller's own argument only; "
            "expected Name(k=v,…)@cutoff, as nDCG@10"
        )
    if match := _RANX_RBP.fullmatch(text.strip()):
        return RBP(p=float(f"0.{match['digits']}"))
    name, inside, cutoff_text = _split(_OF_SUBTOPICS.sub(_with_underscore, _KAPPA.sub("k", text)))
    name, preset = _SPELLINGS.get(name, (name, {}))
    if name not in _PARAMETERS:
        meant = did_you_mean(name, [*_PARAMETERS, *_SPELLINGS], lambda word: text.strip().replace(name, word, 1)[:99])
        raise InputError(
            f"unknown measure {text!r:.100}; {meant}known: {', '.join(_PARAMETERS)}, as nDCG@10 or ERR(max_rel=4)@20"
        )
    parameters = _parameters(text, inside, _PARAMETERS[name], preset)
    try:
        return _BUILDERS[name](parameters, _cutoff(cutoff_text))
    except InputError as problem:
        raise InputError(f"measure {text!r:.100}: {problem}") from None


def _with_underscore(match: re.Match[str]) -> str:
    """Convert the start of α-nDCG (its n is ``match[1]``) or of ERR-IA in ndeval to that of the name here."""
    return "alpha_n" if match[1] else "ERR_"


def _split(text: str) -> tuple[str, str, str | None]:
    """Split a measure text into ``(name, parameter text, cutoff text)``, the last None without a cutoff.

    Raises InputError if the text has another form.
    """
    match = _TEXT.fullmatch(text)
    if match:
        return match["name"], match["inside"] or "", match["cutoff"]
    if trec := _TREC_CUTOFF.fullmatch(text.strip()):
        return trec["name"], "", trec["cutoff"]
    raise InputError(
        f"cannot read the measure {text!r:.100}; expected Name(k=v,…)@cutoff, as nDCG@10 or ERR(max_rel=4)@20"
    )


def _parameters(text: str, inside: str, known: tuple[str, ...], preset: dict[str, str]) -> _Parameters:
    """Parse the parameters of a measure text, ``inside`` its parentheses; raise InputError if one is invalid.

    ``known`` are the parameters that the measure has; `preset` holds those implied by the spelling of its name.
    """
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        parameters = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        read = f"{text!r:.100}: cannot read the parameters {inside!r:.100}"
        raise InputError(f"measure {read}; expected k=v, k=v") from None
    for key in parameters:
        if key not in known:
            choices = f"{did_you_mean(key, known)}known: {', '.join(known)}" if known else "it takes none"
            raise InputError(f"measure {text!r:.100}: unknown parameter {key!r}; {choices}")
    return _Parameters(**preset | parameters)


def _cutoff(cutoff: str | None) -> int | None:
    """Parse the cutoff text; None without a cutoff. Raises InputError unless it is a positive whole number."""
    if cutoff is None:
        return None
    if not cutoff.isdecimal() or len(cutoff) > _LONGEST_CUTOFF or int(cutoff) < 1:
        raise InputError(f"the cutoff must be a positive whole number, got {cutoff!r:.60}")
    return int(cutoff)


def _gains(parameters: _Parameters) -> Any:
    """Read gains from ``gains={grade: gain}`` or ``dcg='log2' | 'exp-log2'``; None if neither is given.

    Returns a list with the gain of each grade, or "linear" or "exp". Raises InputError if both are given or one is
    invalid.
    """
    gains, formulation = parameters.gains, parameters.dcg
    if gains is not None:
        if formulation is not None:
            raise InputError("give gains or dcg, not both")
        is_scale = isinstance(gains, dict) and all(type(grade) is int for grade in gains)
        if not is_scale or sorted(gains) != list(range(len(gains))):
            raise InputError(f"gains must map each grade from 0 to a number, got {gains!r:.100}")
        if len(gains) > LARGEST_GRADE + 1:
            raise InputError(f"gains of {len(gains)} grades, expected at most {LARGEST_GRADE + 1}")
        return [gains[y] for y in range(len(gains))]
    if formulation is not None and formulation not in list(_FORMULATIONS):
        raise InputError(f"dcg must be 'log2' or 'exp-log2', got {formulation!r:.100}")
    return None if formulation is None else _FORMULATIONS[formulation]


def _additive(parameters: _Parameters, cutoff: int | None) -> Measure:
    """Build an additive measure (a sum of discounted gains) from parsed parameters; InputError if one is invalid."""
    gains = gain_rule(_gains(parameters), Exponential())
    return Additive(gains, parameters.discounts, cutoff)


def _rbp(parameters: _Parameters, cutoff: int | None) -> Measure:
    """Build rank-biased precision from parsed parameters; raise InputError if one is invalid."""
    return RBP(parameters.p, parameters.rel, _gains(parameters), cutoff)


def _counted(name: str, parameters: _Parameters, cutoff: int | None) -> Measure:
    """Build a measure of the numbers of relevant and other items, such as ``name`` "Rprec", from parsed parameters."""
    return CountMeasure(name, parameters.rel, cutoff)


_BUILDERS: dict[str, Callable[[_Parameters, int | None], Measure]] = {
    "nDCG": lambda parameters, cutoff: NDCG(_gains(parameters) or "linear", cutoff),
    "DCG": lambda parameters, cutoff: DCG(_gains(parameters), cutoff),
    "ERR": lambda parameters, cutoff: ERR(parameters.max_rel, cutoff),
    "RBP": _rbp,
    "P": lambda parameters, cutoff: Precision(cutoff, parameters.rel),
    "Additive": _additive,
    "RankGains": lambda parameters, cutoff: RankGains(parameters.gains, cutoff),
    "R": lambda parameters, cutoff: Recall(cutoff, parameters.rel),
    "Success": lambda parameters, cutoff: Success(cutoff, parameters.rel),
    "RR": lambda parameters, cutoff: RR(parameters.rel, cutoff),
    "AP": lambda parameters, cutoff: AP(parameters.rel, cutoff),
    "Judged": lambda parameters, cutoff: Judged(cutoff),
    "kNDCG": lambda parameters, cutoff: kNDCG(parameters.k, cutoff),
    "kERR": lambda parameters, cutoff: kERR(parameters.k, cutoff),
    **{name: partial(_counted, name) for name in _COUNTED},
    "alpha_nDCG": lambda parameters, cutoff: SubtopicMeasure("alpha_nDCG", cutoff, parameters.alpha, parameters.rel),
    "ERR_IA": lambda parameters, cutoff: SubtopicMeasure("ERR_IA", cutoff, rel=parameters.rel),
}
