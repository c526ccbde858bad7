"""Loading of gold and predictions (rule 1): every shape that is read, every fault that is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import WriteJsonl, gold
from xldocbench import EvaluationError, load_gold_records, load_predictions

Q = '{"question_id": "q1", "answer": "x"}'
P = '{"question_id": "q1", "prediction": "x"}'


def write(path: Path, content: bytes | str) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("record", "expected", "why"),
    [
        ({"question_id": "a", "global_qa_id": "b", "id": "c"}, "a", "the first alias"),
        ({"question_id": "", "global_qa_id": "b"}, "b", "an empty one is passed over"),
        ({"question_id": None, "global_id": "g"}, "g", "so is null"),
        ({"id": 17}, "17", "a number is its digits"),
        ({"id": 0}, "0", "the integer 0 is an id"),
    ],
)
def test_question_id_aliases(tmp_path: Path, record: dict[str, Any], expected: str, why: str) -> None:
    gold_path = write(tmp_path / "gold.jsonl", json.dumps({**record, "answer": "x"}))
    predictions_path = write(tmp_path / "predictions.jsonl", json.dumps({**record, "prediction": "x"}))
    assert [record["question_id"] for record in load_gold_records(gold_path)] == [expected], why
    assert list(load_predictions(predictions_path)[0]) == [expected], why


@pytest.mark.parametrize(
    ("record", "text", "why"),
    [
        ({"prediction": "p", "model_answer": "m", "output": "o"}, "p", "the first field present"),
        ({"output": "o", "response": "r", "answer": "a", "model_answer": "m"}, "m", "in the order of the list"),
        ({"output": "o", "response": "r", "answer": "a"}, "a", "in the order of the list"),
        ({"output": "o", "response": "r"}, "r", "in the order of the list"),
        ({"output": "o"}, "o", "in the order of the list"),
        ({"prediction": None, "answer": "a"}, None, "present, though null"),
        ({"prediction": 0, "answer": "a"}, "0", "present, though 0"),
        ({"prediction": "", "answer": "a"}, "", "present, though empty"),
        ({"answer": {"value": 5, "format": "Int"}}, "5", "an answer that is an object gives its value"),
        ({"answer": {"format": "Int"}}, None, "or nothing"),
        ({"prediction": {"value": 5}}, '{"value": 5}', "only `answer` does"),
        ({"prediction": 2.0}, "2.0", "a number is str(value)"),
        ({"prediction": True}, "True", "a boolean is str(value)"),
        ({"prediction": ["é", {"b": 1, "a": None}]}, '["é", {"a": null, "b": 1}]', "keys sorted, not escaped"),
    ],
)
def test_prediction_fields(tmp_path: Path, record: dict[str, Any], text: str | None, why: str) -> None:
    path = write(tmp_path / "p.jsonl", json.dumps({"id": "q1", **record}))
    assert load_predictions(path)[0] == {"q1": text}, why


def test_prediction_field_overrides_the_list(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", '{"id": "a", "prediction": "p", "final": "f"}\n{"id": "b", "prediction": "p"}')
    assert load_predictions(path, "final")[0] == {"a": "f", "b": None}
    assert load_predictions(path, prediction_field="")[0] == {"a": "p", "b": "p"}


@pytest.mark.parametrize(
    ("content", "predictions", "statuses", "why"),
    [
        ([{"id": "a", "prediction": "x"}, {"id": "b", "answer": 1}], {"a": "x", "b": "1"}, {}, "a list of objects"),
        ({"a": "x", "b": 0, "c": None, "d": [1]}, {"a": "x", "b": "0", "c": None, "d": "[1]"}, {}, "id to scalar"),
        ({"a": {"prediction": "x", "status": "failed"}}, {"a": "x"}, {"a": "failed"}, "id to object"),
        ({"a": {"id": "z", "prediction": "x"}}, {"a": "x"}, {}, "the key is the id"),
        ({"items": {"a": {"response": "x"}}, "run": 3}, {"a": "x"}, {}, "items"),
        ({"items": {"items": "x"}}, {"items": "x"}, {}, "only the outermost"),
    ],
)
def test_json_containers(
    tmp_path: Path, content: Any, predictions: dict[str, Any], statuses: dict[str, str], why: str
) -> None:
    for name in ("p.json", "P.JSON"):
        path = write(tmp_path / name, json.dumps(content, indent=1))
        assert load_predictions(path) == (predictions, {**dict.fromkeys(predictions, "success"), **statuses}), why


@pytest.mark.parametrize(
    ("content", "texts", "why"),
    [
        (b'\xef\xbb\xbf{"id": "a", "prediction": "x"}\r\n{"id": "b", "prediction": "y"}', ["x", "y"], "BOM, CRLF"),
        (b'\n \n{"id": "a", "prediction": "x"}\n\n', ["x"], "blank lines are skipped"),
        ('{"id": "a", "prediction": "x\u2028y\u0085z"}\n'.encode(), ["x\u2028y\u0085z"], "these end no line"),
        (b'{"id": "a", "prediction": "\\ud800 x"}', ["\ud800 x"], "a lone surrogate"),
        (b'{"id": "a", "prediction": NaN}', ["nan"], "str(value), and no number"),
        (b'{"id": "a", "prediction": -Infinity}', ["-inf"], "str(value), and no number"),
        (b'{"id": "a", "prediction": 1e999}', ["inf"], "str(value), and no number"),
        (b'{"id": "a", "prediction": %s}' % (b"9" * 5000), ["9" * 5000], "an integer that Python refuses to read"),
    ],
)
def test_odd_bytes_have_a_defined_result(tmp_path: Path, content: bytes, texts: list[str], why: str) -> None:
    assert list(load_predictions(write(tmp_path / "p.jsonl", content))[0].values()) == texts, why
    if content.count(b"prediction") == 1:
        as_list = b"[" + content.strip() + b"]"
        assert list(load_predictions(write(tmp_path / "p.json", as_list))[0].values()) == texts, why


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
        ("\n\n", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
        (P + "\n[1]", "{path}, line 2: not a JSON object; write one JSON object on each line"),
        (
            P + "\n{oops}",
            "{path}, line 2: not valid JSON (Expecting property name enclosed in double quotes, column 2);"
            " write one JSON object on each line",
        ),
        (
            '{"prediction": "x"}',
            "{path}, line 1: no question id; give one of the fields question_id, global_qa_id, global_id, id",
        ),
        (
            '{"id": true, "prediction": "x"}',
            "{path}, line 1: no question id; give one of the fields question_id, global_qa_id, global_id, id",
        ),
        (P + "\n\n" + P, "{path}, line 3: the question id 'q1' stands in {path}, line 1 already; keep one"),
        (
            '{"id": "q1", "prediction": "a", "prediction": "b"}',
            "{path}, line 1: the key 'prediction' stands twice in the object; keep one",
        ),
        (P.encode() + b"\n\xff", "{path}, line 2: byte 0xff is not UTF-8; save the file in UTF-8"),
        (P.encode("utf-16"), "{path}, line 1: byte 0xff is not UTF-8; save the file in UTF-8"),
        (
            f'{{"id": "q1", "prediction": {DEEP}}}',
            "{path}, line 1: JSON nested too deeply to be read; write one JSON object on each line",
        ),
        (
            '{"id": "q1", "pred": "x"}\n{"id": "q2", "status": "failed"}',
            "{path}, line 1: no record of the file has the prediction in prediction, model_answer, answer, response,"
            " output; name the field that holds it with --prediction-field",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_faults_of_jsonl_predictions(tmp_path: Path, content: bytes | str, message: str) -> None:
    path = write(tmp_path / "p.jsonl", content)
    with pytest.raises(EvaluationError) as raised:
        load_predictions(path)
    assert str(raised.value) == message.format(path=path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
        ("[]", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
        ("{}", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
        ("[1]", "{path}, item 1: not a JSON object; each item of the list must be one"),
        ("3", "{path}: neither a list of objects nor a mapping from id to prediction"),
        (
            f"[{P}, {P}]",
            "{path}, item 2: the question id 'q1' stands in {path}, item 1 already; keep one",
        ),
        (
            '{\n"q1": "a",\n"q2": "b",\n"q1": "c"}',
            "{path}, line 4: the question id 'q1' stands in line 2 already; keep one",
        ),
        (
            f"{P}\n{P}",
            "{path}: not valid JSON (Extra data, line 2, column 1); name a file of one object a line `.jsonl`",
        ),
        (DEEP, "{path}: JSON nested too deeply to be read; name a file of one object a line `.jsonl`"),
        (b"[\xff]", "{path}: byte 0xff is not UTF-8; save the file in UTF-8"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_faults_of_json_predictions(tmp_path: Path, content: bytes | str, message: str) -> None:
    path = write(tmp_path / "p.json", content)
    with pytest.raises(EvaluationError) as raised:
        load_predictions(path)
    assert str(raised.value) == message.format(path=path)


def test_a_file_of_failures_needs_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", '{"id": "q1", "status": "failed"}\n{"id": "q2", "status": "timeout"}')
    assert load_predictions(path) == ({"q1": None, "q2": None}, {"q1": "failed", "q2": "timeout"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", "no question in the gold ({path}); pass files with one question a line"),
        (Q + "\n" + Q, "{path}, line 2: the question id 'q1' stands in {path}, line 1 already; keep one"),
        ("nonsense", "{path}, line 1: not valid JSON (Expecting value, column 1); write one JSON object on each line"),
        (
            '{"answer": "x"}',
            "{path}, line 1: no question id; give one of the fields question_id, global_qa_id, global_id, id",
        ),
        ('{"id": "q1"}', "{path}, line 1: question 'q1' has no gold answer; give it an `answer`"),
        (
            '{"id": "q1", "answer": {"format": "Int", "value": null}}',
            "{path}, line 1: question 'q1' has no gold answer; give it an `answer`",
        ),
    ],
)
def test_faults_of_gold(tmp_path: Path, content: str, message: str) -> None:
    path = write(tmp_path / "gold.jsonl", content)
    with pytest.raises(EvaluationError) as raised:
        load_gold_records(path)
    assert str(raised.value) == message.format(path=path)


def test_an_unanswerable_question_needs_no_value(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", '{"id": "q1", "answer": {"format": "None", "value": null}}')
    assert len(load_gold_records(path)) == 1


def test_gold_of_several_files_keeps_its_order_and_ids_are_unique_across_them(write_jsonl: WriteJsonl) -> None:
    first, second = write_jsonl("a.jsonl", [gold("b", "x"), gold("a", "y")]), write_jsonl("b.jsonl", [gold("c", "z")])
    assert [record["question_id"] for record in load_gold_records([second, first])] == ["c", "b", "a"]
    with pytest.raises(EvaluationError, match=r"b\.jsonl, line 1: the question id 'c' stands in .*b\.jsonl, line 1"):
        load_gold_records([second, second])


def test_a_folder_or_an_absent_file_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        load_predictions(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_gold_records(tmp_path / "absent.jsonl")
