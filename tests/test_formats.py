"""Predictions as people have them: every container, every producer's format, and what is refused with a hint."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, ROOT, Run, WriteJsonl, gold
from xldocbench import EvaluationError
from xldocbench.compare import main as compare_main
from xldocbench.evaluate import Intake, Prediction, ReadOptions, is_success, main
from xldocbench.formats import FORMATS, at, read

FORMATS_DIR = EXAMPLES / "formats"
SAMPLES = sorted(path.name for path in FORMATS_DIR.iterdir() if path.is_file())
ANSWERS = {"q0": "alpha beta, is it", "q1": "25.3", "q2": "unanswerable"}
GOLD = [gold("q0", "alpha beta, is it"), gold("q1", "25.3", "Float"), gold("q2", "", "None")]


def predictions(path: Path | str, **options: Any) -> dict[str, Prediction]:
    """Read a file; return id → prediction."""
    return {p.question_id: p for p in read(str(path), ReadOptions(**options), Intake())}


def texts(path: Path | str, **options: Any) -> dict[str, str | None]:
    return {question_id: prediction.text for question_id, prediction in predictions(path, **options).items()}


def error_of(path: Path | str, **options: Any) -> str:
    """Return the message of the error that scoring a file gives."""
    with pytest.raises(EvaluationError) as raised:
        predictions(path, **options)
    return str(raised.value)


def score(tmp_path: Path, write_jsonl: WriteJsonl, *arguments: str) -> dict[str, Any]:
    """Score with the command line and return the report."""
    report = tmp_path / "report.json"
    assert main(["--gold-files", write_jsonl("gold.jsonl", GOLD), *arguments, "--output", str(report)]) == 0
    result: dict[str, Any] = json.loads(report.read_bytes())
    return result


# ---- every producer


@pytest.mark.parametrize("name", [name for name in SAMPLES if "_failed" not in name])
def test_a_sample_scores_as_the_plain_file_with_the_same_answers(
    name: str, tmp_path: Path, write_jsonl: WriteJsonl
) -> None:
    plain = write_jsonl("plain.jsonl", [{"id": question, "prediction": text} for question, text in ANSWERS.items()])
    expected = score(tmp_path, write_jsonl, "--predictions", plain)
    found = score(tmp_path, write_jsonl, "--predictions", str(FORMATS_DIR / name))
    for report in (expected, found):
        del report["provenance"]
        for row in report["per_question"]:
            assert is_success(row.pop("status"))
    assert found == expected


@pytest.mark.parametrize("name", [name for name in SAMPLES if "_failed" in name])
def test_the_failed_twin_of_a_sample_fails_in_q1_alone(name: str, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    report = score(tmp_path, write_jsonl, "--predictions", str(FORMATS_DIR / name))
    assert [(row["question_id"], row["rule"]) for row in report["per_question"]] == [
        ("q0", "contained"),
        ("q1", "failed"),
        ("q2", "refusal-phrase"),
    ]
    assert report["failed_prediction_count"] == 1


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("openai_chat_failed.jsonl", "failed: status code 400: context_length_exceeded"),
        ("openai_chat_refused_failed.jsonl", "failed: no text (refused)"),
        ("openai_chat_tool_call_failed.jsonl", "failed: no text (tool_calls)"),
        ("openai_responses_incomplete_failed.jsonl", "failed: no text (max_output_tokens)"),
        ("vllm_wrapped_error_failed.jsonl", "failed: BadRequestError"),
        ("vllm_text_error_failed.jsonl", "failed: maximum context length is 4096"),
        ("together_failed.jsonl", "failed: rate_limit"),
        ("anthropic_failed.jsonl", "failed: errored: invalid_request_error"),
        ("anthropic_unknown_failed.jsonl", "failed: postponed"),
        ("gemini_blocked_failed.jsonl", "failed: blocked: SAFETY"),
        ("bedrock_messages_failed.jsonl", "failed: bad request"),
        ("inspect_failed.eval", "failed: timeout"),
        ("csv_failed.csv", "timeout"),
    ],
)
def test_the_status_says_how_it_failed(name: str, status: str) -> None:
    assert predictions(FORMATS_DIR / name)["q1"].status == status


def test_every_format_has_a_sample() -> None:
    found = set()
    for path in FORMATS_DIR.rglob("*"):
        if path.is_file():
            intake = Intake()
            options = ReadOptions(id_field="request.labels.custom_id" if "vertex" in path.name else "")
            assert list(read(str(path), options, intake))
            found.add(intake.format)
    assert found == {row.name for row in FORMATS}


def test_the_format_is_named_on_stderr_and_in_the_report(
    tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FORMATS_DIR / "anthropic.jsonl")
    report = score(tmp_path, write_jsonl, "--predictions", path)
    assert report["provenance"]["predictions"]["format"] == "anthropic"
    names = ("containers.py", "formats.py", "final_answer.py", "pattern.py")
    reader = hashlib.sha256(b"".join((ROOT / "xldocbench" / name).read_bytes() for name in names)).hexdigest()
    assert report["provenance"]["predictions"]["reader_sha256"] == reader
    assert report["provenance"]["signature"].endswith(f"|field:auto|read:anthropic-{reader[:8]}")
    assert capsys.readouterr().err == f"NOTE: {path} is read as anthropic\n"
    plain = write_jsonl("plain.jsonl", [{"id": "q0", "prediction": "x"}])
    assert score(tmp_path, write_jsonl, "--predictions", plain)["provenance"]["predictions"]["format"] == "plain"
    assert capsys.readouterr().err == ""


# A producer's record, what becomes of it, and why.
RECORDS: list[tuple[dict[str, Any], str | None, str, str]] = [
    (
        {"custom_id": "q", "response": {"body": {"choices": [{"message": {"content": "x"}}]}}},
        "x",
        "success",
        "no status code, no error",
    ),
    (
        {"custom_id": "q", "response": {"choices": [{"message": {"content": " "}, "finish_reason": "stop"}]}},
        None,
        "failed: no text (stop)",
        "a blank text is none",
    ),
    ({"custom_id": "q", "response": {"status_code": 200, "body": {"choices": []}}}, None, "failed: no choice", ""),
    ({"custom_id": "q", "response": {"choices": ["x"]}}, None, "failed: no choice", "a choice that is none"),
    ({"custom_id": "q", "response": {"choices": [{"text": "x"}]}}, None, "failed: no message", "not a chat"),
    ({"custom_id": "q", "response": {"body": None}}, None, "failed: no body", ""),
    (
        {"custom_id": "q", "response": {"choices": [{"message": {"content": "x"}}]}, "error": {"message": "late"}},
        None,
        "failed: late",
        "an error beside a response",
    ),
    (
        {"custom_id": "q", "response": {"status_code": 200, "body": {"status": "incomplete", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "cut"}, {"type": "refusal", "text": "no"}]},
            {"type": "message", "content": [{"type": "output_text", "text": " off"}]},
        ]}}},
        "cut off",
        "success",
        "a text cut by a limit is still the text",
    ),
    ({"custom_id": "q", "result": {"type": "succeeded", "message": None}}, None, "failed: no message", ""),
    ({"custom_id": "q", "result": {}}, None, "failed: None", "no type"),
    (
        {"custom_id": "q", "result": {"type": "succeeded", "message": {"content": [
            {"type": "text", "text": "a"}, {"type": "thinking", "text": "b"}, {"type": "text", "text": "d"},
        ]}}},
        "ad",
        "success",
        "text blocks alone",
    ),
    (
        {"key": "q", "response": {"candidates": [{"content": {"parts": [{"text": "a"}, {"text": "b"}, {"x": 1}]}}]}},
        "ab",
        "success",
        "parts are joined",
    ),
    ({"key": "q", "response": {"candidates": []}}, None, "failed: no candidate", ""),
    ({"recordId": "q", "modelOutput": None, "error": None}, None, "failed: no output", "null in the place of output"),
    ({"recordId": "q", "modelOutput": {"generation": None}}, None, "failed: no text (None)", ""),
    ({"doc": {"id": 7}, "filtered_resps": []}, None, "failed: no text (filtered_resps is empty)", ""),
    ({"doc": {"id": 7}, "filtered_resps": ["a", "b"]}, "a", "success", "the first of several"),
    (
        {"id": 3, "epoch": 1, "input": "", "output": {"choices": [{"message": {"content": "x"}}], "completion": ""}},
        "x",
        "success",
        "an empty completion is none",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "text", "status", "why"), RECORDS)
def test_odd_records_have_a_defined_result(
    record: dict[str, Any], text: str | None, status: str, why: str, write_jsonl: WriteJsonl
) -> None:
    (prediction,) = predictions(write_jsonl("p.jsonl", [record])).values()
    assert (prediction.text, prediction.status) == (text, status), why


def test_an_id_that_is_a_number_joins_with_the_same_digits(write_jsonl: WriteJsonl) -> None:
    assert list(texts(write_jsonl("p.jsonl", [{"doc": {"id": 7}, "filtered_resps": ["x"]}]))) == ["7"]


def test_failures_in_a_second_file_are_scored_with_the_first(tmp_path: Path, run: Run, write_jsonl: WriteJsonl) -> None:
    lines = (FORMATS_DIR / "openai_chat_failed.jsonl").read_bytes().splitlines(keepends=True)
    arguments = ("--gold-files", write_jsonl("gold.jsonl", GOLD), "--predictions", "-")
    result = run("-m", "xldocbench.evaluate", *arguments, stdin=lines[2] + lines[0] + lines[1])
    assert result.returncode == 0
    assert b"Accuracy: 66.67%" in result.stdout
    assert result.stderr == b"NOTE: stdin is read as openai-batch\n"


# ---- what the user must choose


@pytest.mark.parametrize("name", ["lm_eval_two_filters.jsonl", "inspect_two_epochs.eval", "inspect_two_epochs.json"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_several_filters_or_epochs_are_chosen_by_a_flag(
    name: str, jobs: str, tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FORMATS_DIR / "choose" / name)
    flag, right, wrong = ("--filter", "strict-match", "flexible-extract") if "lm" in name else ("--epoch", "1", "2")
    arguments = ["--gold-files", write_jsonl("gold.jsonl", GOLD), "--predictions", path, "--jobs", jobs]
    assert main(arguments) == 1
    names = ", ".join(sorted((right, wrong), key=len))
    word = flag.removeprefix("--")
    assert f"several {word}s ({names}); choose the one that counts with {flag}" in capsys.readouterr().err
    report = score(tmp_path, write_jsonl, "--predictions", path, flag, right, "--jobs", jobs)
    assert report["overall"]["accuracy"] == 1.0
    assert report["prediction_count"] == 3
    assert report["provenance"]["signature"].endswith(f"|{word}:{right}")
    assert score(tmp_path, write_jsonl, "--predictions", path, flag, wrong)["overall"]["accuracy"] == 0.0
    capsys.readouterr()
    assert main([*arguments, flag, "other"]) == 1
    assert f"no prediction of {flag} other; there are {names}" in capsys.readouterr().err


def test_a_filter_for_a_file_without_any_is_an_error(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = write_jsonl("p.jsonl", [{"id": "q0", "prediction": "x"}])
    assert main(["--gold-files", write_jsonl("gold.jsonl", GOLD), "--predictions", plain, "--filter", "x"]) == 1
    assert "no prediction of --filter x; its format has no filters" in capsys.readouterr().err


def test_vertex_lines_need_the_place_of_the_id(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    path = FORMATS_DIR / "choose" / "vertex_labels.jsonl"
    assert error_of(path) == (
        f"{path}, line 1: no question id (Vertex AI batch); name its place with --id-field, such as"
        " request.labels.custom_id"
    )
    report = score(tmp_path, write_jsonl, "--predictions", str(path), "--id-field", "request.labels.custom_id")
    assert report["overall"]["accuracy"] == 1.0
    assert report["provenance"]["signature"].endswith("|id_field:request.labels.custom_id")


@pytest.mark.parametrize(
    ("choice", "kept", "missing"), [("first", ["one", "x"], ["--on-duplicate"]), ("last", ["two", "x"], [])]
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_of_an_id_given_twice_the_first_or_last_counts(
    choice: str, kept: list[str], missing: list[str], jobs: str, tmp_path: Path, write_jsonl: WriteJsonl
) -> None:
    records = [("q0", "one"), ("q1", "x"), ("q0", "two"), ("extra", "a"), ("extra", "b")]
    path = write_jsonl("p.jsonl", [{"id": question, "prediction": text} for question, text in records])
    arguments = ("--predictions", path, "--on-duplicate", choice, "--jobs", jobs)
    report = score(tmp_path, write_jsonl, *arguments)
    assert [row["prediction"] for row in report["per_question"]] == [*kept, None]
    counts = ("prediction_count", "missing_prediction_count", "extra_prediction_count")
    assert [report[count] for count in counts] == [3, 1, 1]
    assert report["provenance"]["settings"]["duplicates"] == choice


# ---- any field


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", 1),
        ("b.c", 2),
        ("b.d.0", 3),
        ("b.d.-1.e", 4),
        ("x.y", 5),
        ("b.x.y", 6),
    ],
)
def test_a_path_leads_to_a_value(path: str, found: int) -> None:
    assert at({"a": 1, "b": {"c": 2, "d": [3, {"e": 4}], "x.y": 6}, "x.y": 5}, path) == found


@pytest.mark.parametrize("path", ["", "c", "a.b", "b.d.2", "b.d.x", "b.d.0.e", "b.d.-3", "b..c"])
def test_a_path_that_leads_nowhere_gives_nothing(path: str) -> None:
    assert not isinstance(at({"a": 1, "b": {"c": 2, "d": [3, {"e": 4}]}}, path), (int, str, dict, list))


def test_fields_may_be_paths(write_jsonl: WriteJsonl) -> None:
    records = [{"run": {"qid": 5}, "out": {"choices": [{"text": "x"}]}, "status": "ok"}, {"run": {"qid": 6}}]
    path = write_jsonl("p.jsonl", records)
    found = predictions(path, id_field="run.qid", prediction_field="out.choices.0.text")
    assert [(p.question_id, p.text, p.status) for p in found.values()] == [("5", "x", "ok"), ("6", None, "success")]
    assert (
        error_of(path, id_field="run.id")
        == f"{path}, line 1: no question id at run.id; name another place with --id-field"
    )


def test_a_path_into_a_producers_record_keeps_its_failures(write_jsonl: WriteJsonl) -> None:
    path = FORMATS_DIR / "vllm_failed.jsonl"
    found = predictions(path, prediction_field="response.body.choices.0.message.reasoning_content")
    assert found["q0"].text == "There are 3 tables, maybe 4; option B says 17."
    assert found["q1"].status == "failed: BadRequestError"
    record = {"recordId": "q", "modelOutput": {"outputs": [{"text": "x"}]}}
    bedrock = write_jsonl("p.jsonl", [record])
    assert error_of(bedrock).endswith("(outputs); name the text with --prediction-field modelOutput.…")
    assert texts(bedrock, prediction_field="modelOutput.outputs.0.text") == {"q": "x"}


@pytest.mark.parametrize(
    ("record", "hint"),
    [
        ({"custom_id": "q", "prediction": "x"}, "or name its place with --id-field, such as custom_id"),
        ({"meta": {"qid": "q"}, "prediction": "x"}, "or name its place with --id-field, such as meta.qid"),
        (
            {"doc_id": 3, "doc": {"qid": "q"}, "filtered_resps": ["x"]},
            "name its place with --id-field, such as doc.qid",
        ),
        ({"doc_id": 3, "doc": {"page": 1}, "filtered_resps": ["x"]}, "(lmms-eval); name its place with --id-field"),
        ({"prediction": "x"}, "or name its place with --id-field"),
    ],
)
def test_a_record_without_an_id_names_the_flag(record: dict[str, Any], hint: str, write_jsonl: WriteJsonl) -> None:
    assert error_of(write_jsonl("p.jsonl", [record])).endswith(hint)


def test_log_likelihoods_are_no_answers(write_jsonl: WriteJsonl) -> None:
    record = {"doc": {"id": "q"}, "filter": "none", "filtered_resps": [[-1.5, False], [-2.0, True]]}
    assert error_of(write_jsonl("p.jsonl", [record])).endswith(
        "holds log-likelihoods and no text; run the task as generate_until"
    )


def test_two_formats_in_one_file_are_an_error(tmp_path: Path) -> None:
    first, second = (FORMATS_DIR / name for name in ("openai_chat.jsonl", "anthropic.jsonl"))
    plain = b'{"id": "q9", "prediction": "x"}\n'
    for contents, message in (
        (
            (first.read_bytes(), second.read_bytes()),
            "line 4: a record of the format anthropic among those of openai-batch",
        ),
        ((plain, first.read_bytes()), "line 2: a record of the format openai-batch among those of plain"),
        ((first.read_bytes(), plain), "line 4: a record of the format plain among those of openai-batch"),
    ):
        path = tmp_path / "p.jsonl"
        path.write_bytes(b"".join(contents))
        assert message in error_of(path)


# ---- every container

LINES = b'{"id": "a", "prediction": "x"}\n{"id": "b", "prediction": "y"}\n'
LIST = b'\n [{"id": "a", "prediction": "x"}, {"id": "b", "prediction": "y"}]'
MAPPING = b'{\n"a": "x",\n"b": "y"\n}'
TABLE = b"id,prediction\r\na,x\r\nb,y\r\n"
TABS = b"id\tprediction\na\tx\nb\ty\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", LINES),
        ("p.ndjson", LINES),
        ("p.json", LIST),
        ("p.json", MAPPING),
        ("P.CSV", TABLE),
        ("p.csv", TABLE.replace(b",", b";")),
        ("p.csv", b"\n\n" + TABLE),
        ("p.csv", b"\xef\xbb\xbf" + TABLE),
        ("p.csv", TABLE + b",,\r\n\r\n"),
        ("p.tsv", TABS),
        ("p.tab", TABS),
        ("p.jsonl", LIST),
        ("p.jsonl", MAPPING),
        ("p.json", LINES),
        ("p.txt", LINES),
        ("p.txt", LIST),
        ("p.txt", MAPPING),
        ("p.txt", TABLE),
        ("p", TABS),
    ],
)
def test_a_container_is_known_by_name_or_content(name: str, content: bytes, tmp_path: Path) -> None:
    for file_name, written in ((name, content), (f"{name}.gz", gzip.compress(content)), (name, gzip.compress(content))):
        path = tmp_path / file_name
        path.write_bytes(written)
        assert texts(path) == {"a": "x", "b": "y"}


@pytest.mark.parametrize("container", ["jsonl", "json", "csv", "tsv"])
def test_the_container_may_be_named(container: str, tmp_path: Path) -> None:
    path = tmp_path / "p.wrong.eval"
    path.write_bytes({"jsonl": LINES, "json": LIST, "csv": TABLE, "tsv": TABS}[container])
    assert texts(path, container=container) == {"a": "x", "b": "y"}


@pytest.mark.parametrize("content", [LINES, LIST, MAPPING, TABLE, TABS, gzip.compress(LINES)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_stdin_is_read_whatever_it_holds(content: bytes, jobs: str, run: Run, write_jsonl: WriteJsonl) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold("a", "x"), gold("b", "y")])
    arguments = ("--gold-files", gold_path, "--predictions", "-", "--jobs", jobs, "--output", "-")
    result = run("-m", "xldocbench.evaluate", *arguments, stdin=content)
    report = json.loads(result.stdout)
    assert report["overall"]["accuracy"] == 1.0
    assert report["provenance"]["predictions"]["file"] == "stdin"


def test_the_container_is_named_by_a_flag(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"id,prediction\nq0,alpha beta is it\n")
    report = score(tmp_path, write_jsonl, "--predictions", str(path), "--predictions-format", "csv")
    assert report["per_question"][0]["accuracy"] == 1.0


def test_cells_of_a_table_may_hold_anything(tmp_path: Path) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerows([["id", "note", "prediction"], ["a", 'a "note"', "two\nlines, 3"], ["b", "", "x" * 200_000]])
    path = tmp_path / "p.csv"
    path.write_text(buffer.getvalue(), encoding="utf-8", newline="")
    assert texts(path) == {"a": "two\nlines, 3", "b": "x" * 200_000}
    assert csv.field_size_limit() < 200_000


def test_an_empty_cell_of_a_table_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b"id,prediction,status\na,x,\nb,,\nc,z,failed\nd\n")
    assert [(p.text, p.status) for p in predictions(path).values()] == [
        ("x", "success"),
        ("", "success"),
        ("z", "failed"),
        (None, "success"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", b"id,prediction\na,x,y\n", "{path}, line 2: 3 cells under 2 headings; quote cells that hold"),
        ("p.csv", b'id,prediction\na,"x\nb,y\n', "{path}, line 3: not a row of CSV ("),
        ("p.csv", b'id,prediction\na,"x"y\n', "{path}, line 2: not a row of CSV ("),
        ("p.csv", b"id,prediction,prediction\na,x,y\n", "{path}, line 2: two columns are headed 'prediction', and"),
        ("p.csv", b"id,prediction\na,\xff\n", "{path}: byte 0xff is not UTF-8; save the table as CSV in UTF-8"),
        ("p.csv", "id,prediction\n".encode("utf-16"), "{path}: the table is in UTF-16; save it as CSV in UTF-8"),
        ("p.csv", b"name,prediction\na,x\n", "{path}, line 2: no question id (spreadsheets, VLMEvalKit); name its"),
        ("p.xlsx", b"PK\x03\x04", "{path}: a workbook is not read; save the sheet as CSV (UTF-8)"),
        ("p.xls", b"\xd0\xcf\x11\xe0", "{path}: a workbook is not read; save the sheet as CSV (UTF-8)"),
        ("p.csv", b"PK\x03\x04..xl/workbook.xml", "{path}: a workbook is not read; save the sheet as CSV (UTF-8)"),
        ("p.jsonl.gz", gzip.compress(LINES)[:-12], "{path}: not a whole gzip file ("),
        ("p.jsonl.gz", gzip.compress(LINES)[:20] + b"?" * 40, "{path}: not a whole gzip file ("),
        ("p.eval", b"PK\x03\x04 nonsense", "{path}: not a whole archive ("),
        ("p.json", b'{"version": 2, "eval": {}}', "{path}: an Inspect log without samples; write it with its samples"),
        ("p.json", b'{"eval": {}, "samples": [3]}', "{path}, sample 1: not a JSON object"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_what_to_do(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert error_of(path).startswith(message.format(path=path))


def _archive(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def _sample(question_id: str, text: str) -> bytes:
    return json.dumps({"id": question_id, "epoch": 1, "input": "", "output": {"completion": text}}).encode()


def test_the_samples_of_a_log_need_not_be_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    samples = [{"id": "a", "output": {"completion": "x"}}, {"id": "b", "input": "?"}]
    path.write_text(json.dumps({"eval": {}, "samples": samples}), encoding="utf-8")
    assert [(p.text, p.status) for p in predictions(path).values()] == [("x", "success"), (None, "failed: no choice")]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_name_that_stands_twice_in_an_archive_the_last_holds(tmp_path: Path) -> None:
    members = [("samples/q_epoch_1.json", _sample("q", "x")), ("samples/q_epoch_1.json", _sample("q", "y"))]
    others = [("samples/a/b_epoch_1.json", _sample("a/b", "z")), ("header.json", b"{}"), ("summaries.json", b"[]")]
    assert texts(_archive(tmp_path / "p.eval", [*members, *others])) == {"q": "y", "a/b": "z"}


def test_a_run_that_did_not_end_is_scored_with_a_warning(tmp_path: Path) -> None:
    intake = Intake()
    path = FORMATS_DIR / "inspect_crashed.eval"
    assert len(list(read(str(path), ReadOptions(), intake))) == 3
    assert intake.warnings == [f"{path}: the run did not end (no header.json); the samples that are there are scored"]


def test_a_compression_that_python_lacks_names_the_way_out(tmp_path: Path) -> None:
    path = _archive(tmp_path / "p.eval", [("samples/q_epoch_1.json", _sample("q", "x")), ("header.json", b"{}")])
    content = path.read_bytes()
    # The method stands in the header of the member and in the directory: 93 is Zstandard.
    assert content.count(b"\x14\x00\x00\x00\x08\x00") == 4
    path.write_bytes(content.replace(b"\x14\x00\x00\x00\x08\x00", b"\x14\x00\x00\x00\x5d\x00"))
    assert error_of(path) == (
        f"{path}, samples/q_epoch_1.json: a compression that Python cannot read; convert the log with"
        " `inspect log convert --to json` and pass the result"
    )


def test_what_a_compressed_file_may_unpack_to_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xldocbench.containers.UNPACKED_LIMIT", 1 << 20)
    monkeypatch.setattr("xldocbench.containers.MEMBER_LIMIT", 1 << 19)
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (2 << 20)))
    assert error_of(path) == f"{path}: unpacks to more than 1 MiB; unpack it yourself and pass the file"
    sample = _sample("q", "x" * (1 << 20))
    archive = _archive(tmp_path / "p.eval", [("samples/q_epoch_1.json", sample), ("header.json", b"{}")])
    assert "unpacks to more than" in error_of(archive)


def test_a_folder_gives_every_kind_of_file(
    tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, content in (("a.jsonl.gz", gzip.compress(LINES)), ("b.csv", TABLE), ("c.tsv", TABS), ("notes.txt", b"")):
        (folder / name).write_bytes(content)
    gold_path = write_jsonl("gold.jsonl", [gold("a", "x"), gold("b", "y")])
    assert main(["--gold-files", gold_path, "--predictions", str(folder)]) == 0
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines()[2:5]] == ["a", "b", "c"]
    assert f"NOTE: b: {folder / 'b.csv'} is read as table\n" in output.err


def test_a_comparison_reads_the_same_files(
    tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(FORMATS_DIR / name) for name in ("gemini.jsonl", "inspect_failed.eval")]
    assert compare_main([*files, "--gold-files", write_jsonl("gold.jsonl", GOLD)]) == 0
    assert "won 0, lost 1, both right 2, both wrong 0" in capsys.readouterr().out
