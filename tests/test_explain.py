"""Explanations: the figures behind each verdict, and that they lead to the score that was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run, WriteJsonl, gold
from xldocbench import load_gold_records
from xldocbench.evaluate import GOLD_FILES, Prediction, collect, index_questions, judge_predictions, main
from xldocbench.explain import as_text, explain

LAST = re.compile(r"accuracy ([01]), token F1 ([\d.]+), ANLS ([\d.]+)")


def explanation(
    prediction: str | None, answer: object, answer_format: str = "Str", rule: str = "", status: str = "success"
) -> str:
    """Return the explanation of one verdict as text."""
    questions = index_questions([gold("q", answer, answer_format, rule)])
    verdicts = collect(questions, judge_predictions(questions, [Prediction("q", prediction, status)])).verdicts
    return as_text(explain(verdicts[0]))


def test_a_number_is_explained_in_full() -> None:
    assert explanation("about 25.3 people", "25", "Int", "numeric_tolerance") == (
        "question: q\n"
        "gold: 25\n"
        "prediction: about 25.3 people\n"
        "normalised gold: 25\n"
        "normalised prediction: about 25.3 people\n"
        "kind: number, because the answer format is Int\n"
        "numerals read: “25” in the gold, “25.3” first in the prediction\n"
        "number: gold 25, prediction 25.3, relative error 1.2% ≤ 5%: right\n"
        "token F1: 3 different tokens predicted, 1 in the gold, none in common: 0\n"
        "ANLS: raw texts, lower-cased: 15 edits over 17 characters, 1 − 15/17 = 0.117647 < 0.5: 0\n"
        "scores: accuracy 1, token F1 0, ANLS 0"
    )


def test_the_worked_example_of_the_readme_is_explained() -> None:
    text = explanation(
        "Air pollution is widely called the biggest single risk to human health worldwide",
        "the biggest single risk to human health worldwide",
    )
    assert "precision 7/12, recall 7/7, 2 × 7 / (12 + 7) = 0.736842\n" in text
    assert "31 edits over 80 characters, 1 − 31/80 = 0.6125 ≥ 0.5: 0.6125\n" in text
    assert text.endswith("\nscores: accuracy 1, token F1 0.736842, ANLS 0.6125")


# prediction, gold, format, verification rule, a line of the explanation
LINES: Sequence[tuple[str, str, str, str, str]] = [
    ("x", "25", "Int", "", "number: gold 25, prediction none: wrong"),
    ("1e400", "25", "Int", "", "number: gold 25, prediction too large for a number: wrong"),
    ("1.05", "1.0", "Float", "", "number: gold 1, prediction 1.05, relative error 5.000000000000004% > 5%: wrong"),
    ("105", "100", "Int", "", "number: gold 100, prediction 105, relative error 5% ≤ 5%: right"),
    ("-2", "$ -3", "Int", "", "numerals read: “-3” in the gold, “-2” first in the prediction"),
    ("0.5", "0", "Int", "", "number: gold 0, prediction 0.5, distance from 0 0.5 ≥ 0.000001: wrong"),
    ("0", "0", "Int", "", "number: gold 0, prediction 0, distance from 0 0 < 0.000001: right"),
    ("x", "many", "Int", "", "number: the gold has no number, so it is judged as text"),
    ("on the mat", "mat", "Str", "", "contained: the normalised gold stands in the normalised prediction, from"),
    ("dog", "mat", "Str", "", "contained: the normalised gold does not stand in the normalised prediction"),
    ("dog", "!!!", "Str", "", "contained: the normalised gold is empty, and an empty text is not looked for"),
    ("abcdefghxx", "abcdefghij", "Str", "", "similarity: 2 edits over 10 characters, 1 − 2/10 = 0.8 ≥ 0.8: right"),
    ("abcdefgxxx", "abcdefghij", "Str", "", "similarity: 3 edits over 10 characters, 1 − 3/10 = 0.7 < 0.8: wrong"),
    ("!", "?", "Str", "", "similarity: both texts are empty, similarity 1 ≥ 0.8: right"),
    ("B", "(b)", "Choice", "", "option letter: gold B (the whole text is the letter), prediction B (the whole"),
    ("option C", "B", "Choice", "", "prediction C (the first letter right after “option”): wrong"),
    (
        "so the answer is B",
        "B",
        "Str",
        "choice_exact_match",
        "prediction B (the last letter right after “answer”): right",
    ),
    ("see C", "B", "Choice", "", "prediction C (the first capital letter that stands alone): wrong"),
    ("b) dogs", "B", "Choice", "", "prediction B (the label at the start): right"),
    ("dogs", "B", "Choice", "", "option letter: gold B (the whole text is the letter), prediction none: wrong"),
    ("dogs", "cats", "Choice", "", "option letter: the gold has no option letter, so it is judged as text"),
    (
        "It is not true",
        "No",
        "Bool",
        "",
        "prediction no (the first yes or no, with a negation before it counted): right",
    ),
    ("answer: yes", "No", "Bool", "", "prediction yes (the last yes or no right after “answer”): wrong"),
    ("Of course not", "No", "Bool", "", "prediction no (a negation without yes or no): right"),
    ("unanswerable", "No", "Bool", "", "prediction neither (it says “unanswerable”): wrong"),
    ("maybe", "No", "Bool", "", "prediction neither: wrong"),
    ("maybe", "maybe", "Bool", "", "yes or no: the gold has no yes or no, so it is judged as text"),
    ("unanswerable", "", "None", "", "refusal: the normalised prediction says “unanswerable”: right"),
    ("no idea", "", "None", "", "refusal: the normalised prediction holds none of the five phrases: wrong"),
    ("x", "x", "Choice", "percentage_exact", "kind: number, because the verification rule is percentage_exact"),
    ("x", "x", "List", "", "kind: text, because the answer format List is not known"),
    ("x", "x", "Money", "numeric_tolerance", "kind: number, because the answer format Money is not known, and the"),
    ("!", "?", "Str", "", "token F1: 0 different tokens predicted, 0 in the gold: 1"),
    ("x", "?", "Str", "", "token F1: 1 different tokens predicted, 0 in the gold: 0"),
]


@pytest.mark.parametrize(("prediction", "answer", "answer_format", "rule", "line"), LINES)
def test_a_step_says_what_was_found(prediction: str, answer: str, answer_format: str, rule: str, line: str) -> None:
    assert line in explanation(prediction, answer, answer_format, rule)


@pytest.mark.parametrize(
    ("prediction", "status", "line"),
    [
        (None, "success", "no answer: the prediction is null or blank: wrong, whatever the gold"),
        (" ", "success", "no answer: the prediction is null or blank: wrong, whatever the gold"),
        ("25", "timeout", "no answer: the status of the prediction is a failure (status: timeout): wrong, whatever"),
    ],
)
def test_no_answer_is_explained(prediction: str | None, status: str, line: str) -> None:
    text = explanation(prediction, "25", "Int", status=status)
    assert line in text
    assert text.endswith("\nscores: accuracy 0, token F1 0, ANLS 0")


def test_a_difference_in_length_settles_what_would_cost_too_much_to_count() -> None:
    text = explanation("x" * 1_000_000, "y" * 200)
    assert "at least 999800 edits over 1000000 characters, similarity below 0.8: wrong" in text


def test_what_would_steer_a_terminal_is_shown_by_its_code() -> None:
    text = explanation("a\x1b[31m\r\u202eb\nc\x00", "x")
    assert "prediction: a\\x1b[31m\\r\\u202eb\n    c\\x00\n" in text


def test_every_verdict_of_the_thirteen_systems_has_an_explanation_that_leads_to_its_score() -> None:
    from reference_systems import SYSTEMS, verdicts_of

    records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    questions = index_questions(records)
    count = 0
    for system in SYSTEMS:
        for verdict in verdicts_of(system, records, questions):
            last = explain(verdict)[-1]
            match = LAST.fullmatch(last.text)
            assert last.label == "scores"
            assert match, last
            score = verdict.score
            assert tuple(map(float, match.groups())) == (score.accuracy, round(score.token_f1, 6), round(score.anls, 6))
            count += 1
    assert count == 17_485


# ---- command line


@pytest.fixture
def arguments(write_jsonl: WriteJsonl) -> list[str]:
    gold_path = write_jsonl("gold.jsonl", [gold("first_1", "25", "Int"), gold("first_2", "x")])
    records = [{"id": "first_1", "prediction": "26"}]
    return ["--gold-files", gold_path, "--predictions", write_jsonl("p.jsonl", records)]


def test_explanations_follow_the_summary_in_the_order_asked(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--explain", "first_2", "first_1"]) == 0
    summary, first, second = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert summary.startswith("XL-DocBench evaluation\n")
    assert "no answer: the predictions hold no such question" in first
    assert "number: gold 25, prediction 26, relative error 4% ≤ 5%: right" in second


def test_with_an_audit_the_flags_stand_before_the_scores(
    arguments: list[str], write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    predictions = write_jsonl("p.jsonl", [{"id": "first_1", "prediction": "2500"}])
    assert main([*arguments[:-1], predictions, "--explain", "first_1", "--audit"]) == 0
    assert capsys.readouterr().out.endswith(
        "\nscale-factor: right but for a factor of 10, 100, 1,000, a million or a billion"
        "\nscores: accuracy 0, token F1 0, ANLS 0.5\n"
    )


def test_of_several_systems_each_is_named(
    arguments: list[str], write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_jsonl("other.jsonl", [{"id": "first_1", "prediction": "7"}])
    for jobs in ("1", "2"):
        assert main([*arguments, other, "--explain", "first_1", "--jobs", jobs]) == 0
        _, first, second = capsys.readouterr().out.split("\n\n")
        assert first.startswith("system: p\nquestion: first_1\n")
        assert second.startswith("system: other\nquestion: first_1\n")


def test_explanations_leave_stdout_to_a_report(arguments: list[str], run: Run) -> None:
    result = run("-m", "xldocbench.evaluate", *arguments, "--output", "-", "--explain", "first_1")
    assert result.returncode == 0
    assert result.stdout.startswith(b"{")
    assert b"question: first_1" in result.stderr


def test_explanations_are_printed_where_the_terminal_lacks_their_signs(arguments: list[str], run: Run) -> None:
    result = run("-m", "xldocbench.evaluate", *arguments, "--explain", "first_1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert b"relative error 4% \\u2264 5%: right" in result.stdout


def test_an_unknown_id_is_an_error_with_the_nearest_known(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main([*arguments, "--explain", "first_11", "--output", str(report)]) == 1
    error = "ERROR: --explain first_11: no question of the gold has this id; did you mean first_1?\n"
    assert capsys.readouterr().err == error
    assert not report.exists()
    assert main([*arguments, "--explain", "zzz"]) == 1
    assert capsys.readouterr().err == "ERROR: --explain zzz: no question of the gold has this id\n"
