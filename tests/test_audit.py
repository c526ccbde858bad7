"""The audit: which verdicts are flagged as resting on a known weakness of the rules, and which near ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Run, WriteJsonl, gold
from xldocbench.audit import FLAGS, audit_of, dispute_of, flags_of, main
from xldocbench.evaluate import (
    GOLD_FILES,
    Prediction,
    Verdict,
    collect,
    index_questions,
    judge_predictions,
    load_gold_records,
)
from xldocbench.evaluate import main as evaluate_main

STRICT, GENEROUS = "too strict", "too generous"


def verdict(prediction: str | None, answer: object, answer_format: str = "Str", status: str = "success") -> Verdict:
    """Judge one prediction."""
    questions = index_questions([gold("q", answer, answer_format, "")])
    (judged,) = collect(questions, judge_predictions(questions, [Prediction("q", prediction, status)])).verdicts
    return judged


# code, prediction, gold, format, the dispute that the flag makes of it (None: counted only)
RAISED = [
    ("decimal-comma", "1.234", "1,234", "Int", STRICT),
    ("decimal-comma", "12,345", "12.345", "Float", STRICT),
    ("decimal-comma", "1.200", "1,234", "Int", STRICT),
    ("decimal-comma", "1,234", "1234", "Int", GENEROUS),
    ("decimal-comma", "1234,567", "1234.567", "Float", STRICT),
    ("decimal-comma", "-1.234", "-1234", "Int", STRICT),
    ("other-number-agrees", "In 2023 there were 25", "25", "Int", STRICT),
    ("other-number-agrees", "Of 3 plants, 2 closed in 2019", "2019", "Int", STRICT),
    ("other-number-agrees", "ROA = 546 / 35,663 = -0.0153", "-0.02", "Float", STRICT),
    ("other-number-agrees", "1e400 or rather 25", "25", "Int", STRICT),
    ("unit-mismatch", "25 thousand", "25 million", "Int", GENEROUS),
    ("unit-mismatch", "25", "25 million", "Int", GENEROUS),
    ("unit-mismatch", "5.4%", "0.054", "Float", STRICT),
    ("unit-mismatch", "0.054", "5.4 percent", "Percentage", STRICT),
    ("unit-mismatch", "1,500,000", "1.5 million", "Float", STRICT),
    ("unit-mismatch", "1.5 bn", "1500 million", "Float", STRICT),
    ("unit-mismatch", "$2B", "2000 million", "Int", STRICT),
    ("unit-mismatch", "3万", "30000", "Int", STRICT),
    ("unit-mismatch", "1.2亿", "1.2万", "Float", GENEROUS),
    ("unit-mismatch", "百分之5", "0.05", "Float", STRICT),
    ("unit-mismatch", "The ROA is 546 / 35,663, so 1.42%", "0.01", "Float", STRICT),
    ("scale-factor", "2500", "25", "Int", STRICT),
    ("scale-factor", "0.25", "25", "Int", STRICT),
    ("scale-factor", "$302,578,000", "303", "Float", STRICT),
    ("scale-factor", "In 2018 it stood at $5.818 billion", "5818", "Float", STRICT),
    ("sign-lost", "3.7", "-3.7", "Float", STRICT),
    ("sign-lost", "(3.7)", "-3.7", "Float", STRICT),
    ("sign-lost", "A fall of -4", "4", "Int", STRICT),
    ("tolerance-edge", "1.05", "1.0", "Float", STRICT),
    ("tolerance-edge", "105", "100", "Int", GENEROUS),
    ("several-options", "B and C", "B", "Choice", GENEROUS),
    ("several-options", "B and C", "C", "Choice", STRICT),
    ("several-options", "It is not B", "B", "Choice", GENEROUS),
    ("several-options", "Not B", "A", "Choice", STRICT),
    ("inside-longer-token", "canal", "N/A", "Str", GENEROUS),
    ("inside-longer-token", "page 15", "5", "Str", GENEROUS),
    ("inside-longer-token", "a rate of 5.2 percent", "5", "Str", GENEROUS),
    ("inside-longer-token", "the catalogue", "cat", "Str", GENEROUS),
    ("negated", "It is not Paris", "Paris", "Str", GENEROUS),
    ("negated", "There is no evidence for Paris", "Paris", "Str", GENEROUS),
    ("negated", "everything except the northern plant", "northern plant", "Str", GENEROUS),
    ("negated", "It isn’t really Paris", "Paris", "Str", GENEROUS),
    ("near-threshold", "abcdefghxx", "abcdefghij", "Str", GENEROUS),
    ("near-threshold", "abcdefghijklmxxxx", "abcdefghijklmnopq", "Str", STRICT),
    ("other-order", "Smith John", "John Smith", "Str", STRICT),
    ("other-order", "reserve and pipeline, with the beacon", "beacon, pipeline and reserve", "Str", STRICT),
    ("spelling-form", "Ｔｏｋｙｏ Ｔｏｗｅｒ", "Tokyo Tower", "Str", STRICT),
    ("spelling-form", "naïve à l'été", "naive a l'ete", "Str", STRICT),
    ("spelling-form", "well - be - ing", "wellbeing", "Str", STRICT),
    ("spelling-form", "a-b-c-d", "a b c d", "Str", STRICT),
    ("spelling-form", "Die Straße x", "STRASSE X", "Str", STRICT),
    ("spelling-form", "Ｂ", "B", "Choice", STRICT),
    ("spelling-form", "not-answerable", "", "None", STRICT),
    ("unlisted-refusal", "The report does not mention this.", "", "None", STRICT),
    ("unlisted-refusal", "I could not find the figure.", "", "None", STRICT),
    ("unlisted-refusal", "N/A", "", "None", STRICT),
    ("unlisted-refusal", "I'm not sure.", "", "None", STRICT),
    ("unlisted-refusal", "There is no indication of it.", "", "None", STRICT),
    ("unlisted-refusal", "文中未提及", "", "None", STRICT),
    ("unlisted-refusal", "Das wird im Dokument nicht erwähnt.", "", "None", STRICT),
    ("unlisted-refusal", "Aucune information n'est donnée.", "", "None", STRICT),
    ("unlisted-refusal", "No se menciona en el documento.", "", "None", STRICT),
    ("unlisted-refusal", "Não é possível responder.", "", "None", STRICT),
    ("unlisted-refusal", "Non è possibile dirlo.", "", "None", STRICT),
    ("unlisted-refusal", "文書には記載がありません。", "", "None", STRICT),
    ("unlisted-refusal", "문서에서 알 수 없습니다.", "", "None", STRICT),
    ("unlisted-refusal", "В документе не указано.", "", "None", STRICT),
    ("refusal-and-answer", "It cannot be determined, but it is probably 25.", "", "None", GENEROUS),
    ("refusal-and-answer", "Not answerable. However, the answer is Paris.", "", "None", GENEROUS),
    ("refusal-and-answer", "This is unanswerable.\nFinal answer: 25", "", "None", GENEROUS),
    ("refusal-and-answer", "25 plants. The rest cannot be determined.", "", "None", GENEROUS),
    ("refusal-on-answerable", "This cannot be determined.", "25", "Int", None),
    ("refusal-on-answerable", "The filing does not provide the figure.", "Paris", "Str", None),
    ("answer-in-reasoning", "<think>25</think> 30", "25", "Int", GENEROUS),
    ("answer-in-reasoning", "<think>On page 3</think> 25", "25", "Int", STRICT),
    ("answer-in-reasoning", "<think>Paris or Rome?</think>Rome", "Paris", "Str", GENEROUS),
    ("answer-in-reasoning", "<think>Paris, I am sure of it", "Paris", "Str", GENEROUS),
    ("answer-in-reasoning", "First 25, then more.\n**Final answer:** 30", "25", "Int", GENEROUS),
    ("answer-in-reasoning", "Page 3 says so. Final answer: 25", "25", "Int", STRICT),
    ("answer-in-reasoning", "第3页。最终答案：25", "25", "Int", STRICT),
    ("empty-after-normalising", "!!!", "yes?", "Str", STRICT),
    ("empty-after-normalising", "anything", "???", "Str", STRICT),
    ("empty-after-normalising", "!!", "?!", "Str", GENEROUS),
]

# code, prediction, gold, format, why not
NOT_RAISED = [
    ("decimal-comma", "1,234", "1,234", "Int", "both are written alike"),
    ("decimal-comma", "about 1,240 units", "1,234", "Int", "whoever uses the comma alike means it alike"),
    ("decimal-comma", "12,34", "1234", "Int", "two digits are no group: there is one reading"),
    ("decimal-comma", "0,125", "125", "Int", "nothing but zeros stands before thousands"),
    ("decimal-comma", "1.234.567", "1.2", "Float", "two points can only group"),
    ("decimal-comma", "1234.567", "1234567", "Int", "a point after four digits groups nothing"),
    ("decimal-comma", "5,000", "7", "Int", "wrong in either reading"),
    ("other-number-agrees", "25", "25", "Int", "the first agrees"),
    ("other-number-agrees", "In 2023 there were 30", "25", "Int", "no number agrees"),
    ("other-number-agrees", "12 wins up to 2021", "2020", "Int", "a year agrees only where it is the same"),
    ("other-number-agrees", "7 notes in Form 10-K", "10.3", "Float", "a name agrees only where it is the same"),
    ("other-number-agrees", "0.7 × 100", "101", "Int", "a factor of 100 in a formula is no answer"),
    ("other-number-agrees", "25 of 30", "25", "Int", "scored 1"),
    ("unit-mismatch", "5.4%", "5.4", "Float", "the same numeral with and without %"),
    ("unit-mismatch", "25 million", "25 mn", "Int", "two spellings of one magnitude"),
    ("unit-mismatch", "0.054", "0.054", "Float", "no unit on either side"),
    ("unit-mismatch", "25 metres", "25", "Int", "no magnitude word"),
    ("unit-mismatch", "7%", "0.054", "Float", "wrong also once converted"),
    ("scale-factor", "50", "25", "Int", "a factor of 2"),
    ("scale-factor", "25", "25", "Int", "scored 1"),
    ("scale-factor", "0", "0.5", "Float", "0 has no scale"),
    ("scale-factor", "7 of 250 in all, 30", "25", "Int", "neither the first nor the last number"),
    ("sign-lost", "3.7", "3.7", "Float", "scored 1"),
    ("sign-lost", "4.2", "-3.7", "Float", "wrong also with the sign"),
    ("tolerance-edge", "1.04999", "1.0", "Float", "clearly inside"),
    ("tolerance-edge", "1.0501", "1.0", "Float", "clearly outside"),
    ("several-options", "B", "B", "Choice", "one letter"),
    ("several-options", "B and C", "D", "Choice", "wrong whichever letter is read"),
    ("several-options", "A plant like this is B", "B", "Choice", "an article is no option"),
    ("inside-longer-token", "exactly 5 of them", "5", "Str", "stands alone"),
    ("inside-longer-token", "wind/solar", "solar", "Str", "stands alone in the raw text"),
    ("inside-longer-token", "在北京市", "北京", "Str", "a script without spaces between words"),
    ("inside-longer-token", "the colours", "colour", "Str", "right by similarity as well"),
    ("inside-longer-token", "5% in all", "5", "Str", "a unit is no part of a number"),
    ("negated", "It is not Rome but Paris", "Paris", "Str", "the negation is of something else"),
    ("negated", "It is not Rome. Paris", "Paris", "Str", "another sentence"),
    ("negated", "It is not only Paris", "Paris", "Str", "not only"),
    ("negated", "Not in the north, as one could think, Paris", "Paris", "Str", "another clause"),
    ("negated", "Not Paris? Yes, Paris", "Paris", "Str", "said once without negation"),
    ("negated", "not applicable", "not applicable", "Str", "the negation is the gold's own"),
    ("near-threshold", "northern ledger", "northern ledger", "Str", "contained"),
    ("near-threshold", "entirely different", "northern ledger", "Str", "far below"),
    ("near-threshold", "northern ledgers of the towm", "northern ledgers of the town", "Str", "far above"),
    ("other-order", "John F. Smith", "John Smith", "Str", "the same order, with a word between"),
    ("other-order", "Smith James", "John Smith", "Str", "a token is missing"),
    ("other-order", "Paris", "Rome", "Str", "one token has no order"),
    ("spelling-form", "Tokyo", "Kyoto", "Str", "another word"),
    ("spelling-form", "-5", "5", "Int", "the hyphen of a number is its sign"),
    ("spelling-form", "Ｃ", "B", "Choice", "another letter"),
    ("unlisted-refusal", "The northern ledger", "", "None", "an answer"),
    ("unlisted-refusal", "It cannot be determined", "", "None", "a listed phrase: scored 1"),
    ("unlisted-refusal", "The plant was not closed", "", "None", "a negation is no refusal"),
    ("refusal-and-answer", "It cannot be determined from the documents.", "", "None", "refuses and no more"),
    ("refusal-and-answer", "Not answerable: the text is about ships, but gives no dates.", "", "None", "no answer"),
    ("refusal-and-answer", "It cannot be determined. See page 25.", "", "None", "a pointer, no answer"),
    ("refusal-and-answer", "Final answer: not answerable", "", "None", "the final answer is the refusal"),
    ("refusal-on-answerable", "Paris", "Rome", "Str", "an answer, if a wrong one"),
    ("refusal-on-answerable", "It cannot be determined", "", "None", "an unanswerable question"),
    ("answer-in-reasoning", "<think>Page 25</think> 25", "25", "Int", "the final answer alone is right too"),
    ("answer-in-reasoning", "<think>25 first</think> 40", "30", "Int", "wrong either way"),
    ("answer-in-reasoning", "The answer is 25", "25", "Int", "no tags, no marker"),
    ("empty-after-normalising", "?!", "?!", "Str", "the gold itself"),
    ("empty-after-normalising", "A, as stated", "A", "Choice", "letters are read in the raw text"),
]


@pytest.mark.parametrize(("code", "prediction", "answer", "answer_format", "dispute"), RAISED)
def test_raised(code: str, prediction: str, answer: str, answer_format: str, dispute: str | None) -> None:
    judged = verdict(prediction, answer, answer_format)
    assert code in flags_of(judged)
    assert dispute_of(judged, [code]) == dispute


@pytest.mark.parametrize(("code", "prediction", "answer", "answer_format", "why"), NOT_RAISED)
def test_not_raised(code: str, prediction: str, answer: str, answer_format: str, why: str) -> None:
    assert code not in flags_of(verdict(prediction, answer, answer_format)), why


def test_every_flag_is_raised_and_near_missed() -> None:
    assert {row[0] for row in RAISED} == {row[0] for row in NOT_RAISED} == set(FLAGS)


@pytest.mark.parametrize("status", ["success", "failed"])
@pytest.mark.parametrize("prediction", [None, "  "])
def test_no_answer_no_flag(prediction: str | None, status: str) -> None:
    assert flags_of(verdict(prediction, "25", "Int", status)) == ()


def test_a_right_answer_that_is_the_gold_itself_carries_no_flag() -> None:
    for value, answer_format in [
        ("1,234", "Int"),
        ("5% of 1.234 million", "Float"),
        ("B or C", "Choice"),
        ("?", "Str"),
    ]:
        assert flags_of(verdict(f" {value.upper()} ", value, answer_format)) == ()


def test_the_block_counts_disputed_verdicts_and_states_the_range() -> None:
    answers = [("a", "1,234", "Int"), ("b", "Paris", "Str"), ("c", "Rome", "Str"), ("d", "7", "Int")]
    questions = index_questions([gold(q, value, answer_format, "") for q, value, answer_format in answers])
    predictions = [
        Prediction("a", "1.234"),  # too strict, by two flags
        Prediction("b", "not Paris"),  # too generous
        Prediction("c", "Rome"),
        Prediction("d", "not stated"),  # refused: counted, not disputed
    ]
    audit = audit_of(collect(questions, judge_predictions(questions, predictions)).verdicts)
    assert list(audit) == ["accuracy", "disputed", "flags"]
    assert audit["accuracy"] == 0.5
    assert audit["disputed"] == {"too_strict": 1, "too_generous": 1, "lowest": 0.25, "highest": 0.75}
    assert list(audit["flags"]) == list(FLAGS)
    assert audit["flags"]["decimal-comma"] == {"direction": "both", "count": 1, "questions": ["a"]}
    assert audit["flags"]["scale-factor"] == {"direction": "too strict", "count": 1, "questions": ["a"]}
    assert audit["flags"]["refusal-on-answerable"] == {"direction": "none", "count": 1, "questions": ["d"]}
    assert audit["flags"]["negated"]["questions"] == ["b"]
    assert audit["flags"]["tolerance-edge"] == {"direction": "both", "count": 0, "questions": []}


def test_the_block_of_nothing() -> None:
    assert audit_of([])["disputed"] == {"too_strict": 0, "too_generous": 0, "lowest": 0.0, "highest": 0.0}


@pytest.fixture(scope="module")
def audits() -> dict[str, dict[str, Any]]:
    """Audit the thirteen reference systems: system → block."""
    from reference_systems import SYSTEMS, verdicts_of

    records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    questions = index_questions(records)
    return {system: audit_of(verdicts_of(system, records, questions)) for system in SYSTEMS}


@pytest.mark.parametrize(
    "system", ["perfect", "perfect_in_a_sentence", "never_refuses", "every_fifth_missing", "every_fifth_failed"]
)
def test_where_the_rules_judge_rightly_nothing_is_disputed(system: str, audits: dict[str, dict[str, Any]]) -> None:
    assert {code: found["count"] for code, found in audits[system]["flags"].items() if found["count"]} == {}


@pytest.mark.parametrize(
    ("system", "code", "found", "wrong"),
    [
        ("decimal_commas", "decimal-comma", 46, 46),
        ("perfect_after_long_reasoning", "other-number-agrees", 317, 317),
        ("shuffled_words", "other-order", 596, 687),
        ("always_refuses", "refusal-on-answerable", 1157, 1157),
    ],
)
def test_a_fault_raises_its_flag(
    system: str, code: str, found: int, wrong: int, audits: dict[str, dict[str, Any]]
) -> None:
    audit = audits[system]
    assert audit["flags"][code]["count"] == found
    assert round((1 - audit["accuracy"]) * 1345) == wrong


# ---- command line


@pytest.fixture
def files(write_jsonl: WriteJsonl) -> list[str]:
    """Return the arguments of a run with one too strict and one counted verdict."""
    gold_path = write_jsonl("gold.jsonl", [gold("a", "1,234", "Int"), gold("b", "x"), gold("c", "Rome")])
    records = [{"id": "a", "prediction": "1.234"}, {"id": "b", "prediction": "x"}, {"id": "c", "prediction": "unknown"}]
    return ["--gold-files", gold_path, "--predictions", write_jsonl("p.jsonl", records)]


def test_the_command_prints_the_flags_that_were_raised(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files) == 0
    output = capsys.readouterr().out
    assert output.startswith(
        "XL-DocBench audit\n"
        "Accuracy:     33.33%\n"
        "Too strict?   1\n"
        "Too generous? 0\n"
        "Range:        33.33% to 66.67%\n"
        "\n"
        "decimal-comma: 1 (both)\n"
        "  a numeral can be read two ways (1,234 or 1.234), and the other changes the verdict\n"
        "  a\n"
        "\n"
        "scale-factor: 1 (too strict)\n"
        "  right but for a factor of 10, 100, 1,000, a million or a billion\n"
        "  a\n"
        "\n"
        "refusal-on-answerable: 1 (counted only)\n"
        "  an answerable question was refused\n"
        "  c\n"
        "xldocbench|v:1.0.0|eval:"
    )
    assert main([*files, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["disputed"]["too_strict"] == 1


def test_audit_adds_a_block_and_a_line_and_changes_no_score(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, audited = tmp_path / "plain.json", tmp_path / "audited.json"
    assert evaluate_main([*files, "--output", str(plain)]) == 0
    assert evaluate_main([*files, "--output", str(audited), "--audit", "--no-per-question-json"]) == 0
    assert "Disputed: 1 too strict, 0 too generous (accuracy 33.33% to 66.67%)\nxldocbench|" in capsys.readouterr().out
    before, after = json.loads(plain.read_bytes()), json.loads(audited.read_bytes())
    del before["per_question"]
    assert after.pop("audit")["flags"]["decimal-comma"]["questions"] == ["a"]
    assert after == before


def test_missing_questions_that_are_left_out_are_left_out_of_the_audit(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold("a", "x"), gold("b", "x")])
    predictions = write_jsonl("p.jsonl", [{"id": "a", "prediction": "x"}])
    arguments = ["--gold-files", gold_path, "--predictions", predictions, "--format", "json"]
    for more, accuracy in (([], 0.5), (["--ignore-missing"], 1.0)):
        assert main([*arguments, *more]) == 0
        assert json.loads(capsys.readouterr().out)["accuracy"] == accuracy


def test_the_audit_is_the_same_in_several_processes(files: list[str], tmp_path: Path) -> None:
    blocks = []
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.json"
        assert evaluate_main([*files, "--audit", "--jobs", jobs, "--output", str(path)]) == 0
        blocks.append(path.read_bytes())
    assert blocks[0] == blocks[1]


def test_an_error_is_one_line(run: Run) -> None:
    result = run("-m", "xldocbench.audit", "--predictions", "nowhere.jsonl")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr == b"ERROR: nowhere.jsonl: No such file or directory\n"


@pytest.mark.parametrize(
    "text",
    ["1/" * 40_000, "1,234 " * 20_000, "not " * 20_000, "A " * 20_000, "<think>" * 20_000, "answer: " * 20_000],
    ids=["slashes", "groups", "negations", "options", "tags", "markers"],
)
@pytest.mark.parametrize("answer_format", ["Int", "Str", "None", "Choice"])
def test_a_long_text_is_audited_in_linear_time(text: str, answer_format: str) -> None:
    # A quadratic pass over 100,000 characters would run for minutes: that is how this test fails.
    flags_of(verdict(text, {"Int": "7", "Choice": "B"}.get(answer_format, "not"), answer_format))
