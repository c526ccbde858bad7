"""Make data/: a synthetic stand-in for the XL-DocBench release, of the same size and shape.

Nothing in it comes from the real benchmark: documents, questions and answers are put together from the
word lists below by a seeded generator. Run twice, it writes the same bytes, on any Python version.

    python code/make_standin.py            write the three files into data/
    python code/make_standin.py --check    compare with what is there; exit 1 on a difference
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
SEED = "xldocbench_standin_1345_v1"
HOST = "standin.example"

DOCUMENT_COUNT, SINGLE_COUNT, CROSS_COUNT = 292, 1191, 154
RULE_COUNTS = {  # (format, verification rule): questions
    ("Str", "casefold_exact_match"): 822,
    ("Str", "choice_exact_match"): 16,
    ("Int", "numeric_tolerance"): 209,
    ("Float", "numeric_tolerance"): 67,
    ("Float", "percentage_exact"): 43,
    ("None", "exact_match"): 188,
}
PERCENT_SIGN_COUNT = 33
DOMAINS = {
    "legal_regulation": 311,
    "finance_business": 333,
    "technical_engineering": 274,
    "medical_clinical": 294,
    "scientific_academic": 218,
    "narrative_literature": 89,
}
REASONING_TYPES = {
    "comparison": 235,
    "reference_chain": 234,
    "coverage": 182,
    "ranking": 176,
    "reconciliation": 115,
    "set_difference": 118,
    "compliance": 61,
    "temporal": 58,
    "counterfactual": 58,
    "aggregation": 47,
    "consistency": 21,
}
DIFFICULTIES = {"medium": 35, "hard": 45, "very_hard": 20}
EVIDENCE_SOURCES = {"Text": 50, "Table": 30, "Chart": 12, "Figure": 8}
PDF_TYPES = {"born_digital": 80, "scanned": 12, "mixed": 8}
SERIES_SIZES = {2: 30, 3: 30, 4: 20, 5: 12, 6: 8}
DOC_TYPES = {
    "legal_regulation": ("regulation", "directive", "court_ruling", "standard"),
    "finance_business": ("annual_report", "prospectus", "budget", "market_study"),
    "technical_engineering": ("manual", "specification", "test_report", "design_guide"),
    "medical_clinical": ("guideline", "trial_report", "formulary", "assessment"),
    "scientific_academic": ("thesis", "proceedings", "survey", "monograph"),
    "narrative_literature": ("novel", "memoir", "chronicle", "travelogue"),
}
TOPICS = {
    "legal_regulation": "licensing zoning procurement tenancy arbitration fisheries customs privacy".split(),
    "finance_business": "liquidity retail leasing insurance shipping pensions treasury bonds".split(),
    "technical_engineering": "turbines bridges pumps boilers signalling valves bearings conveyors".split(),
    "medical_clinical": "dialysis asthma vaccination fractures anaesthesia nutrition triage hearing".split(),
    "scientific_academic": "glaciers pollen spectra enzymes orbits sediments lattices tides".split(),
    "narrative_literature": "harbours orchards winters railways lighthouses valleys letters voyages".split(),
}
ADJECTIVES = (
    "northern annual revised coastal combined upper interim regional mutual amber silent portable vertical"
    " marginal seasonal municipal external granular parallel dormant"
).split()
NOUNS = (
    "reserve committee schedule threshold corridor ledger reactor ward archive sample harbour clause index"
    " pipeline cohort tariff beacon catchment inventory chapter"
).split()
NAMES = (
    "Ilse Marlowe Tarquin Oduya Brannock Veldhuis Castellan Imre Solveig Okafor Lindqvist Rasmussen Adebayo"
    " Thornbury Kestrel Haverford"
).split()
UNITS = ("kW", "mm", "mg/L", "W/(m·K)", "kg/m³", "°C", "dB(A)", "mmol/L", "N·m", "µg")
FOREIGN = (
    "年度报告第三章",
    "最低流动性要求",
    "北部水库管理委员会",
    "第十二条第二款",
    "東京湾の潮位",
    "vermindering van het waterverbruik",
    "Ausschuss für Wärmeversorgung",
    "Règlement intérieur du comité",
    "índice de precios al consumo",
    "Straße der Lotsen 14",
    "комитет по водным ресурсам",
    "Überprüfung der Grenzwerte",
    "plan d'évacuation côtière",
    "protección de aguas subterráneas",
    "λ-σχέδιο συντήρησης",
    "هيئة الموانئ",
    "ordonnance n° 27-b",
    "zarząd portu północnego",
)

T = TypeVar("T")


class Draws:
    """Draws from a seeded generator. Only ``random()`` is used: its numbers are the same in every Python version."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def weighted(self, weights: dict[T, int]) -> T:
        left = self.below(sum(weights.values()))
        for item, weight in weights.items():
            left -= weight
            if left < 0:
                return item
        raise AssertionError("weights are positive")

    def some(self, items: Sequence[T], count: int) -> list[T]:
        return self.shuffled(items)[:count]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        result = list(items)
        for index in range(len(result) - 1, 0, -1):
            other = self.below(index + 1)
            result[index], result[other] = result[other], result[index]
        return result


def apportion(weights: dict[str, int], total: int) -> list[str]:
    """Return ``total`` labels, each as often as its weight asks; largest remainders take what is left over."""
    whole = sum(weights.values())
    shares = {label: weight * total // whole for label, weight in weights.items()}
    left_over = total - sum(shares.values())
    by_remainder = sorted(weights, key=lambda label: -(weights[label] * total % whole))
    for label in by_remainder[:left_over]:
        shares[label] += 1
    return [label for label, share in shares.items() for _ in range(share)]


def make_documents(draws: Draws) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Return all documents, and the series of two to six that belong together."""
    documents: list[dict[str, Any]] = []
    series: list[list[dict[str, Any]]] = []
    domains = apportion(DOMAINS, DOCUMENT_COUNT)
    while len(documents) < DOCUMENT_COUNT:
        domain = domains[len(documents)]
        of_domain = domains[len(documents) :].count(domain)
        size = min(draws.weighted(SERIES_SIZES), of_domain)
        topic, doc_type = draws.pick(TOPICS[domain]), draws.pick(DOC_TYPES[domain])
        first_year = draws.between(1990, 2018)
        name = f"{draws.pick(ADJECTIVES)} {topic} {doc_type.replace('_', ' ')}"
        members = []
        for volume in range(1, size + 1):
            document_id = f"standin_doc_{len(documents) + 1:06d}"
            pages = draws.between(150, 600) if draws.below(4) else draws.between(600, 2400)
            members.append(
                {
                    "document_id": document_id,
                    "url": f"https://{HOST}/{domain}/{document_id}.pdf",
                    "title": f"Synthetic stand-in: {name}, volume {volume}",
                    "domain": domain,
                    "page_count": pages,
                    "file_size_bytes": pages * draws.between(9_000, 60_000),
                    "source_host": HOST,
                    "doc_type": doc_type,
                    "pdf_type": draws.weighted(PDF_TYPES),
                    "public_metadata": {
                        "synthetic": True,
                        "series": f"standin_series_{len(series) + 1:03d}",
                        "year": first_year + volume,
                        "language": "en",
                    },
                }
            )
            documents.append(members[-1])
        series.append(members)
    return documents, series


def _entity(draws: Draws, words: int) -> str:
    if words == 1:
        return draws.pick((draws.pick(NAMES), draws.pick(NOUNS), f"{draws.pick(NOUNS)[:2].upper()}-{draws.below(900)}"))
    if words == 2 and draws.below(2):
        return f"{draws.pick(NAMES)} {draws.pick(NAMES)}"
    phrases = [f"{draws.pick(ADJECTIVES)} {draws.pick(NOUNS)}"]
    for left in range(words - 2, 0, -3):
        link = draws.pick(("of", "and", "for", "under", "within"))
        phrases.append(
            draws.pick(NOUNS)
            if left == 1
            else f"{link} {draws.pick(NOUNS)}"
            if left == 2
            else f"{link} {draws.pick(ADJECTIVES)} {draws.pick(NOUNS)}"
        )
    text = " ".join(phrases)
    return text if draws.below(3) else text.capitalize()


def _formula(draws: Draws) -> str:
    unit, small, large = draws.pick(UNITS), draws.between(1, 99), draws.between(100, 9999)
    return draws.pick(
        (
            f"{small}.{draws.below(10)} {unit}",
            f"Q = {small} × A^(1/{draws.between(2, 5)})",
            f"{small}–{small + draws.between(2, 40)} {unit}",
            f"Section {draws.between(1, 12)}.{draws.between(1, 9)}({draws.pick('abcdef')})",
            f"≤ {large} {unit}, ±{draws.between(1, 9)} %",
            f"Eq. ({draws.between(1, 9)}.{draws.between(1, 30)})",
            f"{draws.pick(NAMES)} & {draws.pick(NAMES)} (19{draws.between(60, 99)})",
            f"$\\alpha_{{{draws.between(1, 9)}}} = {small}/{large}$",
            f"{draws.pick(ADJECTIVES)}-{draws.pick(NOUNS)} ratio: {small}:{draws.between(1, 9)}",
        )
    )


def _enumeration(draws: Draws) -> str:
    nouns = draws.some(NOUNS, draws.between(2, 5))
    return f"{', '.join(nouns[:-1])} and {nouns[-1]}"


def _text_gold(draws: Draws) -> str:
    kind = draws.weighted({"entity": 60, "formula": 18, "enumeration": 12, "foreign": 10})
    if kind == "formula":
        return _formula(draws)
    if kind == "enumeration":
        return _enumeration(draws)
    if kind == "foreign":
        return draws.pick(FOREIGN)
    return _entity(draws, draws.weighted({1: 14, 2: 26, 3: 18, 4: 12, 5: 10, 6: 6, 8: 5, 10: 4, 12: 3, 15: 2}))


def _int_gold(draws: Draws) -> str:
    value = draws.between(0, 60) if draws.below(3) else draws.between(100, 4_000_000)
    style = draws.weighted({"plain": 70, "grouped": 20, "negative": 7, "spaced": 3})
    if style == "grouped":
        return f"{value:,}"
    if style == "spaced":
        return f"{value:,}".replace(",", " ")
    return f"-{value + 1}" if style == "negative" else str(value)


def _float_gold(draws: Draws) -> str:
    value = draws.between(1, 99_999) / draws.pick((10, 100, 1000))
    style = draws.weighted({"plain": 70, "negative": 12, "grouped": 12, "small": 6})
    if style == "negative":
        return f"-{value}"
    if style == "grouped":
        return f"{value * 100:,.2f}"
    return f"{value / 10_000:.6f}" if style == "small" else str(value)


def _percentage_golds(draws: Draws) -> list[str]:
    values = [f"{draws.between(1, 999) / 10}" for _ in range(RULE_COUNTS["Float", "percentage_exact"])]
    values[3] = f"-{values[3]}"
    golds = [f"{value}%" for value in values[:PERCENT_SIGN_COUNT]] + values[PERCENT_SIGN_COUNT:]
    golds[-1] = golds[-1].replace(".", ",")
    return golds


def make_golds(draws: Draws) -> list[tuple[str, str, str]]:
    """Return (format, verification rule, gold) of all questions, in a drawn order."""
    percentages = _percentage_golds(draws)
    golds: list[tuple[str, str, str]] = []
    for (answer_format, rule), count in RULE_COUNTS.items():
        for index in range(count):
            if rule == "casefold_exact_match":
                value = _text_gold(draws)
            elif rule == "choice_exact_match":
                value = "ABCD"[index % 4]
            elif rule == "percentage_exact":
                value = percentages[index]
            elif answer_format == "None":
                value = "Not answerable"
            else:
                value = _int_gold(draws) if answer_format == "Int" else _float_gold(draws)
            golds.append((answer_format, rule, value))
    return draws.shuffled(golds)


def _evidence(draws: Draws, document: dict[str, Any], sources: Sequence[str], gold: str) -> dict[str, Any]:
    pages = sorted(draws.between(1, document["page_count"]) for _ in range(max(len(sources), draws.between(1, 3))))
    pages = list(dict.fromkeys(pages))
    return {
        "document_id": document["document_id"],
        "url": document["url"],
        "evidence_pages": pages,
        "evidence_items": [
            {
                "page": page,
                "source": sources[index % len(sources)],
                "quote": f"Made-up passage on the {draws.pick(ADJECTIVES)} {draws.pick(NOUNS)}: {gold}",
            }
            for index, page in enumerate(pages)
        ],
    }


def make_questions(
    draws: Draws, documents: list[dict[str, Any]], series: list[list[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yield the single-document questions, then those across the documents of a series."""
    golds = make_golds(draws)
    reasoning = iter(draws.shuffled(apportion(REASONING_TYPES, len(golds) - RULE_COUNTS["None", "exact_match"])))
    of_domain = {domain: [d for d in documents if d["domain"] == domain] for domain in DOMAINS}
    several = {domain: [s for s in series if s[0]["domain"] == domain and len(s) > 1] for domain in DOMAINS}
    domains = draws.shuffled(apportion(DOMAINS, len(golds)))
    for index, (answer_format, rule, gold) in enumerate(golds):
        cross = index >= SINGLE_COUNT
        domain = domains[index]
        if cross:
            members = draws.pick(several[domain])
            chosen = draws.some(members, draws.pick((len(members), draws.between(2, len(members)))))
        else:
            chosen = [draws.pick(of_domain[domain])]
        unanswerable = answer_format == "None"
        first = draws.weighted(EVIDENCE_SOURCES)
        sources = [first]
        if draws.below(5) == 0:
            sources.append(draws.pick([source for source in EVIDENCE_SOURCES if source != first]))
        places = [
            {
                "document_id": document["document_id"],
                "url": document["url"],
                "evidence_pages": [],
                "evidence_items": [],
            }
            if unanswerable
            else _evidence(draws, document, sources, gold)
            for document in chosen
        ]
        number = index + 1 - (SINGLE_COUNT if cross else 0)
        split = "cross_doc" if cross else "single_doc"
        yield {
            "question_id": f"standin_{split.removesuffix('_doc')}_{number:06d}",
            "task_type": split,
            "question": f"[Synthetic stand-in] What do the {draws.pick(ADJECTIVES)} {draws.pick(NOUNS)} pages state?",
            "answer": {"format": answer_format, "value": gold, "verification_rule": rule},
            "metadata": {
                "domain": domain,
                "reasoning_type": "unanswerable" if unanswerable else next(reasoning),
                "difficulty": draws.weighted(DIFFICULTIES),
                "doc_type": chosen[0]["doc_type"],
                "evidence_sources": [] if unanswerable else sources,
                "is_unanswerable": unanswerable,
            },
            **({"documents": places} if cross else {"document": places[0]}),
        }


def make_standin() -> dict[str, bytes]:
    """Return the three files of the stand-in: name → bytes."""
    draws = Draws(SEED)
    documents, series = make_documents(draws)
    questions = list(make_questions(draws, documents, series))

    def jsonl(rows: list[dict[str, Any]]) -> bytes:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()

    return {
        "documents.jsonl": jsonl(documents),
        "qa_single_doc.jsonl": jsonl(questions[:SINGLE_COUNT]),
        "qa_cross_doc.jsonl": jsonl(questions[SINGLE_COUNT:]),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the synthetic stand-in release.")
    parser.add_argument("--output-dir", type=Path, default=ROOT / "data", help="default: data/ of the checkout")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 where a file differs")
    arguments = parser.parse_args(argv)
    status = 0
    for name, content in make_standin().items():
        path = arguments.output_dir / name
        if arguments.check:
            if not path.is_file() or path.read_bytes() != content:
                print(f"{path} differs from what make_standin.py makes", file=sys.stderr)
                status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    print(f"stand-in {'differs' if status else 'as made' if arguments.check else 'written'}: {arguments.output_dir}")
    return status


if __name__ == "__main__":
    sys.exit(main())
