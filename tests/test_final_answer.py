"""--final-answer: where an output states its answer, and what scoring it changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.conftest import Run, WriteJsonl, gold
from xldocbench import EvaluationError
from xldocbench.evaluate import main
from xldocbench.final_answer import final_answer
from xldocbench.pattern import PatternProcess


@pytest.mark.parametrize(
    ("output", "answer", "why"),
    [
        ("25", "25", "nothing around it"),
        ("<think>17?</think>25", "25", "after reasoning"),
        ("<think>a</think> b <think>c</think>\n\n25 ", "25", "after the last reasoning"),
        ("<reasoning>17</reasoning>25", "25", "another tag"),
        ("<THINK>17</THINK >25", "25", "any case"),
        ("17</think>25", "25", "an opening tag that the prompt held"),
        ("<|channel|>analysis<|message|>17<|end|><|channel|>final<|message|>25", "25", "channels"),
        ("<think>17, so far", "", "reasoning that never ended states no answer"),
        ('{"answer": 25}', "25", "a JSON object"),
        ('<think>x</think>\n{"reason": "17", "final_answer": "25"}', "25", "a JSON object after reasoning"),
        ('```json\n{"answer": "25"}\n```', "25", "in a code fence"),
        ('Here it is:\n```\n{"answer": "25"}\n```\nDone.', "25", "in a code fence between words"),
        ('{"answer": null}', "", "null is no answer"),
        ('{"answer": [1, "b"]}', '[1, "b"]', "a list as JSON"),
        ('{"other": 1}', '{"other": 1}', "a JSON object without an answer"),
        ('{"answer": 25', '{"answer": 25', "no whole JSON"),
        (r"So \boxed{17}, no: \boxed{25}.", "25", "the last box"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", "braces in a box"),
        (r"\boxed{\text{Paris}}", "Paris", "text in a box"),
        (r"\boxed{25} and \boxed{17", "25", "a box that never closes"),
        (r"\boxed{a \} b}", r"a \} b", "an escaped brace"),
        ("Page 17.\nFinal answer: 25", "25", "a marker"),
        ("Answer: 17\nAnswer: 25", "25", "the last marker"),
        ("**Final answer:** 25", "25", "a bold marker"),
        ("**Final answer: 25**", "25", "marker and answer in bold"),
        ("### Answer: 25", "25", "a heading"),
        ("The answer is 25", "25", "in words"),
        ("Thus the final answer is: 25", "25", "within a line"),
        ("第17页。\n最终答案：25", "25", "Chinese"),
        ("答案：25", "25", "Chinese, short"),
        ("My answer: it depends", "My answer: it depends", "`answer:` within a line is no marker"),
        ("**25**", "25", "bold"),
        ("`25`", "25", "code"),
        ("```\n25\n```", "25", "a fence"),
        ('"25"', "25", "quotes"),
        ("“25”", "25", "curly quotes"),
        ('"a" or "b"', '"a" or "b"', "quotes within"),
        ("***", "***", "nothing but emphasis"),
        ("", "", "nothing"),
        ("\ud800", "\ud800", "a lone surrogate"),
    ],
)
def test_the_final_answer_is_taken_out(output: str, answer: str, why: str) -> None:
    assert final_answer(output) == answer, why


@pytest.mark.parametrize(
    "output",
    ["<think>" * 50_000, "\\boxed{" * 50_000, "Answer: " * 50_000, "```\n" * 50_000, '{"a":' * 50_000, "**" * 50_000],
    ids=["tags", "boxes", "markers", "fences", "objects", "emphasis"],
)
def test_the_cost_is_linear_in_the_length(output: str) -> None:
    # A quadratic pass over 200,000 characters would run for minutes.
    assert len(final_answer(output)) <= len(output)


OUTPUTS = [
    {"id": "a", "prediction": "<think>17</think>25"},
    {"id": "b", "prediction": "Result = [Paris]"},
    {"id": "c", "prediction": None},
]
PATTERN = rb"\[(.*?)\]"
GOLD = [gold("a", "25", "Int"), gold("b", "Paris"), gold("c", "x")]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("flags", "found", "mark", "warning"),
    [
        ([], ["<think>17</think>25", "Result = [Paris]", None], "", ""),
        (["--final-answer"], ["25", "Result = [Paris]", None], "|final_answer:on", ""),
        (
            ["--final-answer-pattern", PATTERN.decode()],
            ["<think>17</think>25", "Paris", None],
            f"|final_answer:pattern-{hashlib.sha256(PATTERN).hexdigest()[:8]}",
            "WARNING: --final-answer-pattern finds nothing in 1 predictions: they count as they are\n",
        ),
    ],
)
def test_the_flags_change_what_is_scored_and_the_signature(
    flags: list[str],
    found: list[str | None],
    mark: str,
    warning: str,
    jobs: str,
    tmp_path: Path,
    write_jsonl: WriteJsonl,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "report.json"
    files = ["--gold-files", write_jsonl("gold.jsonl", GOLD), "--predictions", write_jsonl("p.jsonl", OUTPUTS)]
    assert main([*files, *flags, "--jobs", jobs, "--output", str(path)]) == 0
    report = json.loads(path.read_bytes())
    assert [row["prediction"] for row in report["per_question"]] == found
    assert report["provenance"]["signature"].endswith(mark or "|field:auto")
    assert ("|read:plain-" in report["provenance"]["signature"]) is bool(mark)
    assert capsys.readouterr().err == warning


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"x(\d+)", "x1 x2", "1"),
        (r"\d+", "x12", "12"),
        (r"(a)|b", "b", None),
        (r"z", "x", None),
        (r"(?s)x(.*)", "x\n\ud800é", "\n\ud800é"),
    ],
)
def test_a_pattern_gives_its_first_group_or_all_of_the_match(pattern: str, text: str, found: str | None) -> None:
    with PatternProcess(pattern) as process:
        assert process.find(text, "here") == found
        assert process.find(text, "here") == found


def test_a_pattern_that_takes_too_long_is_stopped() -> None:
    with (
        PatternProcess(r"(a+)+b", patience=0.2) as process,
        pytest.raises(EvaluationError, match=r"p\.jsonl, line 3: --final-answer-pattern takes more than 0.2 s"),
    ):
        process.find("a" * 60, "p.jsonl, line 3")


def test_of_the_two_flags_one_is_given(run: Run, write_jsonl: WriteJsonl) -> None:
    arguments = ("--predictions", write_jsonl("p.jsonl", OUTPUTS), "--final-answer", "--final-answer-pattern", "x")
    assert run("-m", "xldocbench.evaluate", *arguments).returncode == 2


def test_a_pattern_that_is_none_is_wrong_usage(run: Run, write_jsonl: WriteJsonl) -> None:
    arguments = ("--predictions", write_jsonl("p.jsonl", OUTPUTS), "--final-answer-pattern", "(")
    result = run("-m", "xldocbench.evaluate", *arguments)
    assert result.returncode == 2
    assert b"'(' is no regular expression: missing )" in result.stderr
