"""How sure is a score? Error bars for means over questions that rise and fall together.

Questions about one document are no independent evidence: what makes one hard makes its neighbours hard.
The unit of evidence is therefore the *cluster*: the document, or the series of documents that
cross-document questions tie together. Everything here is a pure function; scores are fractions in 0..1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import getitem
from statistics import NormalDist
from typing import Any, NamedTuple

from xldocbench.evaluate import BREAKDOWNS, METRICS, Verdict

LEVEL = 0.95
EXACT_FLIPS = 2**16
DRAWS = 10_000
SEED = 20_000
METHOD = "cluster-robust standard error, Student's t with clusters - 1 degrees of freedom"


# ---- clusters


def document_ids(record: Mapping[str, Any]) -> list[str]:
    """Return the ids of the documents that a gold record names, in order."""
    several = record.get("documents")
    references = several if isinstance(several, list) else [record.get("document")]
    ids = (reference.get("document_id") for reference in references if isinstance(reference, dict))
    return [str(document_id) for document_id in ids if document_id not in (None, "")]


def clusters_of(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the cluster of each question: question id → label.

    The cluster is the question's document; documents that a cross-document question names together are one
    cluster, and so on through all such questions (connected components). A cluster is labelled by the
    first of its document ids in alphabetical order. A question that names no document is its own cluster.
    """
    parent: dict[str, str] = {}

    def root_of(document_id: str) -> str:
        root = document_id
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[document_id] != root:
            parent[document_id], document_id = root, parent[document_id]
        return root

    named: dict[str, list[str]] = {}
    for record in records:
        ids = named[str(record["question_id"])] = document_ids(record)
        for document_id in ids:
            first, second = sorted((root_of(ids[0]), root_of(document_id)))
            parent[second] = first
    return {question_id: root_of(ids[0]) if ids else f"question {question_id}" for question_id, ids in named.items()}


# ---- Student's t


def _regularised_incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), by the continued fraction of its tail (modified Lentz)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _regularised_incomplete_beta(b, a, 1.0 - x)
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 10_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * fraction / a


def student_t_upper_tail(t: float, degrees: int) -> float:
    """Return the probability that Student's t exceeds ``t`` ≥ 0 with so many degrees of freedom."""
    return 0.5 * _regularised_incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))


def student_t_quantile(probability: float, degrees: int) -> float:
    """Return t such that Student's t stays below it with ``probability`` (0.5 < p < 1), degrees ≥ 1.

    Found by bisection of the tail probability; agrees with tabled values to 9 significant digits.
    """
    tail = 1.0 - probability
    low, high = 0.0, max(2.0, NormalDist().inv_cdf(probability))
    while student_t_upper_tail(high, degrees) > tail:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if student_t_upper_tail(middle, degrees) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


# ---- error bars


class ErrorBar(NamedTuple):
    """A mean with its cluster-robust standard error and 95% interval; None where fewer than two clusters tell."""

    mean: float
    se: float | None
    low: float | None
    high: float | None
    clusters: int


def error_bar(values: Sequence[float], clusters: Sequence[str]) -> ErrorBar:
    """Return mean, standard error and 95% interval of values that belong to the given clusters.

    SE² = G/(G−1) · Σ_g (Σ_{i in g} (x_i − mean))² / n², for G clusters and n values; the interval is
    mean ± t · SE with Student's t for G − 1 degrees of freedom, not clipped. Sums are rounded once, so that
    no order of the values changes a bit.
    """
    count = len(values)
    mean = math.fsum(values) / count if count else 0.0
    groups: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    if len(groups) < 2:
        return ErrorBar(mean, None, None, None, len(groups))
    factor = len(groups) / (len(groups) - 1)
    squares = math.fsum(math.fsum([*group, *[-mean] * len(group)]) ** 2 for group in groups.values())
    se = math.sqrt(factor * squares) / count
    reach = _critical_value(len(groups) - 1) * se
    return ErrorBar(mean, se, mean - reach, mean + reach, len(groups))


@lru_cache(maxsize=1024)
def _critical_value(degrees: int) -> float:
    return student_t_quantile(0.5 + LEVEL / 2.0, degrees)


def clipped(value: float | None) -> float | None:
    """Return an end of an interval within 0..1; None stays None."""
    return None if value is None else min(1.0, max(0.0, value))


def _bars(verdicts: Sequence[Verdict], clusters: Mapping[str, str]) -> dict[str, Any]:
    """Return the number of clusters, and of each metric the error bar clipped to 0..1."""
    labels = [clusters[verdict.question.question_id] for verdict in verdicts]
    result: dict[str, Any] = {"clusters": len(set(labels))}
    for metric in METRICS:
        bar = error_bar([getattr(verdict.score, metric) for verdict in verdicts], labels)
        result[metric] = {"se": bar.se, "low": clipped(bar.low), "high": clipped(bar.high)}
    return result


def half_width(confidence: Mapping[str, Any], metric: str) -> float | None:
    """Return half the overall interval of a metric in a ``confidence`` block, before clipping; None if not stated."""
    se = confidence["overall"][metric]["se"]
    return None if se is None else _critical_value(confidence["clusters"] - 1) * se


def confidence_of(verdicts: Sequence[Verdict], clusters: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``confidence`` block of a report on these verdicts. ``clusters``: question id → label.

    Overall and for each label of each breakdown: standard error and 95% interval of the three metrics,
    unrounded; null where fewer than two clusters tell.
    """
    overall = _bars(verdicts, clusters)
    breakdowns: dict[str, dict[str, Any]] = {}
    for name, labels_of in BREAKDOWNS.items():
        groups: dict[str, list[Verdict]] = {}
        for verdict in verdicts:
            for label in labels_of(verdict.question):
                groups.setdefault(label, []).append(verdict)
        breakdowns[name] = {label: _bars(group, clusters) for label, group in sorted(groups.items())}
    return {
        "method": METHOD,
        "level": LEVEL,
        "clusters": overall.pop("clusters"),
        "overall": overall,
        "breakdowns": breakdowns,
    }


# ---- tests of a paired difference


def _in_whole_parts(values: Iterable[float]) -> list[int]:
    """Return the values as whole multiples of one common fraction, so that sums and ties are exact."""
    ratios = [value.as_integer_ratio() for value in values]
    common = max((denominator for _, denominator in ratios), default=1)
    return [numerator * (common // denominator) for numerator, denominator in ratios]


def sign_flip_p_value(differences: Sequence[float], clusters: Sequence[str]) -> float:
    """Return the two-sided p-value of a cluster sign-flip permutation test of mean difference 0.

    If the two systems are alike, each cluster's sum of differences is as likely as its negative. Clusters
    whose sum is 0 flip into themselves and are left out. With up to 2^16 flips all are enumerated, and
    p = hits / flips; else 10,000 are drawn, with a fixed seed, and p = (1 + hits) / (1 + draws). A flip
    whose sum is as far from 0 as the observed one counts as a hit; sums are exact.
    """
    parts = _in_whole_parts(differences)
    sums: dict[str, int] = {}
    for part, cluster in zip(parts, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0) + part
    moving = [total for _, total in sorted(sums.items()) if total]
    observed = abs(sum(moving))
    if 2 ** len(moving) <= EXACT_FLIPS:
        reached = [0]
        for total in moving:
            reached = [value + sign for value in reached for sign in (total, -total)]
        return sum(abs(value) >= observed for value in reached) / len(reached)
    # A flip is a row of random bytes; each byte stands for eight clusters, whose 256 sums are made once.
    tables = []
    for start in range(0, len(moving), 8):
        table = [0]
        for total in moving[start : start + 8]:
            table = [*(value + total for value in table), *(value - total for value in table)]
        tables.append(table * (256 // len(table)))
    draw = random.Random(SEED).randbytes
    hits = sum(abs(sum(map(getitem, tables, draw(len(tables))))) >= observed for _ in range(DRAWS))
    return (1 + hits) / (1 + DRAWS)


def mcnemar_p_value(won: int, lost: int) -> float:
    """Return the exact two-sided p-value of McNemar's test, for questions that only one system has right.

    It takes questions for independent, which those of one document are not: read it beside the cluster test.
    """
    discordant = won + lost
    tail = sum(math.comb(discordant, k) for k in range(min(won, lost) + 1))
    return min(1.0, float(2 * tail / 2**discordant))


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number, by Holm's step-down method."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
