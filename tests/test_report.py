"""Evaluation and report (rules 1.3 and 7)."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, gold
from xldocbench import Score, Totals, load_predictions
from xldocbench.evaluate import ROW_COLUMNS, RULES, evaluate, main, report_as_json, rows_as_csv, summary_of


def test_the_sample_regression_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    files = ["--gold-files", str(EXAMPLES / "gold_sample.jsonl")]
    files += ["--predictions", str(EXAMPLES / "predictions_imperfect.jsonl")]
    assert main([*files, "--output", str(tmp_path / "report.json")]) == 0
    assert (tmp_path / "report.json").read_bytes() == (EXAMPLES / "expected_report.json").read_bytes()


# One row for each rule code: format, rule of the gold, gold, prediction record, expected code.
EVERY_RULE: list[tuple[str, str, str, dict[str, Any] | None, str]] = [
    ("Str", "", "green deal", {"prediction": "the Green Deal of 2019"}, "contained"),
    ("Str", "", "green deal", {"prediction": "green dael"}, "similarity"),
    ("Str", "", "green deal", {"prediction": "red tape"}, "dissimilar"),
    ("Int", "", "100", {"prediction": 103}, "within-tolerance"),
    ("Int", "", "100", {"prediction": "110"}, "outside-tolerance"),
    ("Int", "", "100", {"prediction": "a hundred"}, "no-number"),
    ("Choice", "", "B", {"prediction": "(b)"}, "same-option"),
    ("Choice", "", "B", {"prediction": "C"}, "other-option"),
    ("Choice", "", "B", {"prediction": "neither"}, "no-option"),
    ("Bool", "", "yes", {"prediction": "true"}, "same-verdict"),
    ("Bool", "", "yes", {"prediction": "of course not"}, "other-verdict"),
    ("Bool", "", "yes", {"prediction": "perhaps"}, "no-verdict"),
    ("None", "", "", {"prediction": "It cannot be determined."}, "refusal-phrase"),
    ("None", "", "", {"prediction": "12"}, "no-refusal-phrase"),
    ("Str", "", "green deal", None, "missing"),
    ("Str", "", "green deal", {"prediction": "green deal", "status": "timeout"}, "failed"),
    ("Str", "", "green deal", {"prediction": " \n"}, "empty"),
    ("Str", "", "green deal", {"prediction": None}, "empty"),
]


def evaluate_every_rule(**options: bool) -> dict[str, Any]:
    records = [gold(f"q{n}", value, fmt, rule) for n, (fmt, rule, value, _, _) in enumerate(EVERY_RULE)]
    given = {f"q{n}": prediction for n, (_, _, _, prediction, _) in enumerate(EVERY_RULE) if prediction is not None}
    predictions = {question_id: prediction["prediction"] for question_id, prediction in given.items()}
    statuses = {question_id: prediction.get("status", "success") for question_id, prediction in given.items()}
    return evaluate(records, predictions, statuses, **options)


def test_every_rule_code_is_reached_and_accuracy_is_what_it_says() -> None:
    rows = evaluate_every_rule()["per_question"]
    assert [row["rule"] for row in rows] == [expected for *_, expected in EVERY_RULE]
    assert {row["rule"] for row in rows} == set(RULES)
    assert all(row["accuracy"] == RULES[row["rule"]].accuracy for row in rows)


def test_without_an_answer_all_three_metrics_are_0_and_the_question_stays_in_the_denominator() -> None:
    report = evaluate_every_rule()
    for row in report["per_question"][14:]:
        assert (row["accuracy"], row["token_f1"], row["anls"]) == (0.0, 0.0, 0.0)
    assert [row["status"] for row in report["per_question"][14:]] == ["missing", "timeout", "success", "success"]
    assert [row["prediction"] for row in report["per_question"][14:]] == [None, "green deal", " \n", None]
    assert report["overall"]["count"] == report["evaluated_count"] == report["gold_count"] == len(EVERY_RULE)
    assert report["overall"]["accuracy"] == round(6 / 18, 6)
    assert (report["failed_prediction_count"], report["empty_prediction_count"]) == (1, 2)


def test_ignore_missing_leaves_out_absent_questions_and_only_those() -> None:
    report = evaluate_every_rule(ignore_missing=True)
    assert report["missing_prediction_count"] == 1
    assert report["evaluated_count"] == report["overall"]["count"] == len(EVERY_RULE) - 1
    assert [row["rule"] for row in report["per_question"]][14:] == ["failed", "empty", "empty"]


@pytest.mark.parametrize("status", ["success", "ok", "completed", "OK", "Completed"])
def test_successful_statuses(status: str) -> None:
    assert evaluate([gold("q", "x")], {"q": "x"}, {"q": status})["overall"]["accuracy"] == 1.0


@pytest.mark.parametrize("status", ["failed", "error", "context_overflow", "", "done"])
def test_any_other_status_is_a_failure(status: str) -> None:
    assert evaluate([gold("q", "x")], {"q": "x"}, {"q": status})["per_question"][0]["rule"] == "failed"


def test_a_status_that_is_absent_or_null_means_success(tmp_path: Any) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "a", "prediction": "x"}\n{"id": "b", "prediction": "x", "status": null}', encoding="utf-8")
    assert load_predictions(path)[1] == {"a": "success", "b": "success"}
    assert evaluate([gold("q", "x")], {"q": "x"}, {})["per_question"][0]["status"] == "success"


def test_keys_in_order() -> None:
    report = evaluate([gold("q", "x")], {"q": "x"}, {})
    assert list(report) == [
        "gold_count",
        "prediction_count",
        "evaluated_count",
        "missing_prediction_count",
        "extra_prediction_count",
        "overall",
        "breakdowns",
        "per_question",
        "failed_prediction_count",
        "empty_prediction_count",
        "warnings",
    ]
    assert list(report["overall"]) == ["count", "accuracy", "token_f1", "anls"]
    assert list(report["breakdowns"]) == [
        "split",
        "domain",
        "reasoning_type",
        "answer_format",
        "difficulty",
        "doc_type",
        "evidence_source",
    ]
    published = "question_id prediction gold_answer answer_format status accuracy token_f1 anls split domain"
    assert list(report["per_question"][0]) == list(ROW_COLUMNS)
    assert list(ROW_COLUMNS) == [*published.split(), "reasoning_type", "kind", "rule", "difficulty", "evidence_sources"]


def test_labels() -> None:
    metadata = {"domain": "law", "difficulty": "", "doc_type": None, "evidence_sources": ["Text", "Table", "Text", ""]}
    records = [
        gold("a", "x", task_type="cross_doc", metadata=metadata),
        gold("b", "x", task_type="single_doc", metadata={"domain": "art", "evidence_sources": []}),
        gold("c", "x", metadata={"evidence_sources": "Text", "reasoning_type": 7}),
        gold("d", "x", metadata=None),
    ]
    breakdowns = evaluate(records, {"a": "x"}, {})["breakdowns"]
    counts = {name: [(label, group["count"]) for label, group in of.items()] for name, of in breakdowns.items()}
    assert counts == {
        "split": [("cross_doc", 1), ("single_doc", 1), ("unknown", 2)],
        "domain": [("art", 1), ("law", 1), ("unknown", 2)],
        "reasoning_type": [("7", 1), ("unknown", 3)],
        "answer_format": [("Str", 4)],
        "difficulty": [("unknown", 4)],
        "doc_type": [("unknown", 4)],
        "evidence_source": [("Table", 1), ("Text", 2), ("unknown", 2)],
    }
    assert breakdowns["evidence_source"]["Text"] == {"count": 2, "accuracy": 0.5, "token_f1": 0.5, "anls": 0.5}


def test_a_bare_answer_is_text() -> None:
    rows = evaluate([{"id": "a", "answer": "x"}, {"id": "b", "answer": 25}], {"a": "x", "b": "25.3"}, {})[
        "per_question"
    ]
    assert [(row["gold_answer"], row["answer_format"], row["rule"]) for row in rows] == [
        ("x", "Str", "contained"),
        ("25", "Str", "contained"),
    ]


def test_nothing_evaluated_is_0() -> None:
    report = evaluate([gold("a", "x")], {"z": "x"}, {}, ignore_missing=True)
    assert report["overall"] == {"count": 0, "accuracy": 0.0, "token_f1": 0.0, "anls": 0.0}
    assert (report["extra_prediction_count"], report["missing_prediction_count"]) == (1, 1)


def test_means_are_rounded_once_at_the_end() -> None:
    # The mean of 2/3, 2/3 and 0 is 0.444444; that of the rows, which are rounded each, would be 0.444445.
    report = evaluate([gold(q, "a1 b1") for q in "xyz"], {"x": "a1", "y": "a1", "z": "q"}, {})
    assert [row["token_f1"] for row in report["per_question"]] == [0.666667, 0.666667, 0.0]
    assert report["overall"]["token_f1"] == 0.444444


def test_unknown_formats_are_warned_of_once_each() -> None:
    records = [gold("a", "x", "List"), gold("b", "x", "List"), gold("c", "5", "Decimal", "numeric_tolerance")]
    assert evaluate(records, {}, {})["warnings"] == [
        "unknown answer format 'Decimal' (1 of 3 questions): judged as number",
        "unknown answer format 'List' (2 of 3 questions): judged as text",
    ]


def test_a_standin_question_is_warned_of() -> None:
    assert evaluate([gold("standin_single_000001", "x")], {}, {})["warnings"] == [
        "the gold is the synthetic stand-in: these scores say nothing about XL-DocBench"
    ]


def test_lone_surrogates_are_escaped() -> None:
    report = evaluate([gold("q", "x")], {"q": "x \ud800"}, {})
    content = report_as_json(report)
    assert b'"prediction": "x \\ud800"' in content
    assert json.loads(content) == report
    assert b"x \\ud800" in rows_as_csv(report["per_question"])


@pytest.mark.parametrize("text", ['a "quote"', "a, comma", "a lone\rreturn", "a\nline", "two\u2028lines", "=1+1", "x"])
def test_csv_holds_the_rows(text: str) -> None:
    records = [gold("q", "x", metadata={"evidence_sources": ["Text", "Table"]}), gold("r", "x")]
    report = evaluate(records, {"q": text}, {})
    rows = list(csv.DictReader(io.StringIO(rows_as_csv(report["per_question"]).decode(), newline="")))
    assert [list(row) for row in rows] == [list(ROW_COLUMNS)] * 2
    assert (rows[0]["prediction"], rows[0]["evidence_sources"], rows[0]["anls"]) == (
        text,
        "Text|Table",
        str(report["per_question"][0]["anls"]),
    )
    assert (rows[1]["prediction"], rows[1]["status"], rows[1]["evidence_sources"]) == ("", "missing", "unknown")


def test_summary() -> None:
    report = evaluate([gold(str(n), "x") for n in range(3)], {"0": "x", "9": "y"}, {})
    assert summary_of(report) == (
        "XL-DocBench evaluation\n"
        "Gold questions:      3\n"
        "Predictions:         2\n"
        "Evaluated:           3\n"
        "Missing predictions: 2\n"
        "Extra predictions:   1\n"
        "Accuracy: 33.33%\n"
        "Token F1: 33.33%\n"
        "ANLS:     33.33%"
    )


def _scores() -> list[Score]:
    draws = random.Random(7)
    return [Score(float(draws.random() < 0.5), draws.random(), draws.random() * 1e-9, "contained") for _ in range(200)]


def _totals(scores: list[Score]) -> Totals:
    totals = Totals()
    for score in scores:
        totals.add(score)
    return totals


def test_totals_add_up_exactly_in_any_order_and_grouping() -> None:
    scores = _scores()
    whole = _totals(scores)
    expected = tuple(float(sum(Fraction(score[index]) for score in scores) / 200) for index in range(3))
    assert whole.means() == expected
    for size in (1, 3, 50, 199):
        parts = [_totals(scores[start : start + size]) for start in range(0, 200, size)]
        random.Random(size).shuffle(parts)
        assert sum(parts, Totals()) == whole
    assert list(itertools.accumulate(map(_totals, ([s] for s in reversed(scores)))))[-1] == whole


def test_no_totals_are_0() -> None:
    assert Totals().means() == (0.0, 0.0, 0.0)
    assert Totals().as_report() == {"count": 0, "accuracy": 0.0, "token_f1": 0.0, "anls": 0.0}
