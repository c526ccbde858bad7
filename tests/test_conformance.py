"""Every worked case of the specification, with exactly the stated metrics at 6 decimals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xldocbench import accuracy_score, anls_score, score, token_f1_score

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "conformance" / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 1373


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['format']}-{case['gold'][:20]!a}")
def test_case(case: dict[str, Any]) -> None:
    result = score(case["prediction"], case["gold"], case["format"], case["rule"])
    assert (round(result.accuracy, 6), round(result.token_f1, 6), round(result.anls, 6)) == (
        case["accuracy"],
        case["token_f1"],
        case["anls"],
    )


NOT_BLANK = [case for case in CASES if case["prediction"].strip()]


@pytest.mark.parametrize("case", NOT_BLANK[::7], ids=lambda case: f"{case['format']}-{case['gold'][:20]!a}")
def test_the_single_metrics_agree_with_score(case: dict[str, Any]) -> None:
    # The functions named as in the published script are ways into the same rules.
    prediction, gold = case["prediction"], case["gold"]
    answer_type = case["rule"] if case["rule"] in ("choice_exact_match", "percentage_exact") else case["format"]
    assert round(accuracy_score(prediction, gold, answer_type), 6) == case["accuracy"]
    assert round(token_f1_score(prediction, gold), 6) == case["token_f1"]
    assert round(anls_score(prediction, gold), 6) == case["anls"]
