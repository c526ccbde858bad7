"""--check: what a look at a file says before it is scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, WriteJsonl, gold
from xldocbench.evaluate import main

GOLD = [
    gold("single_000001", "25", "Int", question="How many are there?"),
    gold("single_000002", "Paris", question="Where is it?"),
    gold("cross_000010", "", "None", question="What is not said?"),
]
FINE = [
    {"id": "single_000001", "prediction": "26"},
    {"id": "single_000002", "prediction": "Rome"},
    {"id": "cross_000010", "prediction": "unanswerable"},
]


def check(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str], records: list[dict[str, Any]] | str, *flags: str
) -> tuple[int, str]:
    path = records if isinstance(records, str) else write_jsonl("p.jsonl", records)
    code = main(["--gold-files", write_jsonl("gold.jsonl", GOLD), "--predictions", path, "--check", *flags])
    output = capsys.readouterr()
    assert output.err == ""
    return code, output.out


def test_a_file_that_is_right_is_ready(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, text = check(write_jsonl, capsys, FINE, "--output", str(tmp_path / "report.json"))
    assert (code, text) == (
        0,
        f"XL-DocBench check of {tmp_path / 'p.jsonl'}\n"
        "Format:              plain (jsonl)\n"
        "Gold questions:      3\n"
        "Predictions:         3 (3 success)\n"
        "For a question:      3\n"
        "Missing predictions: 0\n"
        "Extra predictions:   0\n"
        "the file is ready to be scored\n",
    )
    assert not (tmp_path / "report.json").exists()


def changed(index: int, **fields: object) -> list[dict[str, Any]]:
    """Return the right records with one of them changed."""
    return [{**record, **fields} if i == index else record for i, record in enumerate(FINE)]


def renamed(old: str, new: str, **more: object) -> list[dict[str, Any]]:
    """Return the right records with a field renamed in all of them."""
    return [{new if key == old else key: value for key, value in {**record, **more}.items()} for record in FINE]


FAULTS = [
    (changed(0, id="SINGLE_000001"), "1 ids differ from those of the gold only by case, padding, separators or a"),
    (changed(0, id="single_1"), "('single_1' for 'single_000001'); write them as the gold does"),
    (changed(0, id=" single-000001"), "(' single-000001' for 'single_000001')"),
    (changed(0, id="run7/single_000001"), "('run7/single_000001' for 'single_000001')"),
    (renamed("id", "custom"), "no question id; give one of the fields question_id, global_qa_id, global_id, id"),
    (renamed("id", "custom"), "the ids of the gold stand at custom; read them with --id-field custom"),
    (
        [{"id": str(i), "meta": {"ref": r["id"]}, "prediction": "x"} for i, r in enumerate(FINE)],
        "the ids of the gold stand at meta.ref; read them with --id-field meta.ref",
    ),
    (renamed("prediction", "pred"), "3 records have 'pred' and no field that is read; name it with"),
    (renamed("prediction", "completion"), "name it with --prediction-field completion"),
    (
        [{"id": record["id"], "answer": "gold", "pred": record["prediction"]} for record in FINE],
        "'answer' is read and 'pred' is not: if 'answer' is the gold answer, score with --prediction-field pred",
    ),
    ([*FINE, FINE[0]], "1 predictions are for an id that was there before, such as 'single_000001'"),
    ([*FINE, FINE[0]], "choose with --on-duplicate first or last"),
    (renamed("prediction", "prediction", status="timeout"), "no prediction has a status of success: every question"),
    ([{**record, "prediction": ""} for record in FINE], "3 of 3 successful predictions are null or blank, and score 0"),
    (changed(0, prediction="how many  are there?"), "1 predictions are the question itself ('single_000001')"),
    (changed(0, prediction="Int"), "1 predictions are the name of the answer's format ('single_000001')"),
    ([{"id": f"x{i}", "prediction": "x"} for i in range(3)], "3 predictions are for no question of the gold ('x0', "),
    (changed(0, prediction={"text": "26"}), "1 predictions are JSON objects, which count as their JSON text; name the"),
    ([], "no prediction in "),
]  # fmt: skip
NOTES = [
    (changed(0, prediction=None), "1 of 3 successful predictions are null or blank, and score 0"),
    (changed(0, prediction=26), "predictions are of several JSON types (1 int, 2 str); each is scored as its text"),
    ([*FINE, {"id": "single_000003", "prediction": "x"}], "nearest to 'single_000003' is 'single_00000"),
    (renamed("id", "id", text="x"), "3 records have 'text', which is not read; --prediction-field text would read it"),
    (
        [{"id": r["question_id"], "prediction": r["answer"]["value"] or "x"} for r in GOLD[:2]],
        "every prediction is the gold answer itself; is the right field read?",
    ),
]


@pytest.mark.parametrize(("records", "text"), FAULTS)
def test_a_fault_is_named_with_what_mends_it(
    records: list[dict[str, Any]], text: str, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = check(write_jsonl, capsys, records)
    assert code == 1
    assert any(line.startswith("FAULT: ") and text in line for line in output.splitlines()), output
    assert output.endswith("as it is, the file would not be scored rightly\n")


@pytest.mark.parametrize(("records", "text"), NOTES)
def test_a_note_is_no_fault(
    records: list[dict[str, Any]], text: str, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = check(write_jsonl, capsys, records)
    assert code == 0
    assert any(line.startswith("NOTE: ") and text in line for line in output.splitlines()), output


@pytest.mark.parametrize(
    ("records", "flags"),
    [
        (renamed("id", "custom"), ["--id-field", "custom"]),
        (renamed("prediction", "pred"), ["--prediction-field", "pred"]),
        ([*FINE, FINE[0]], ["--on-duplicate", "last"]),
    ],
)
def test_the_flag_that_is_named_mends_it(
    records: list[dict[str, Any]], flags: list[str], write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(write_jsonl, capsys, records, *flags)[0] == 0


def test_counts_say_how_predictions_failed(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    records = [*changed(0, status="timeout"), {"id": "elsewhere", "prediction": "x"}][:3:2]
    output = check(write_jsonl, capsys, records)[1]
    assert "Predictions:         2 (1 timeout, 1 success)\n" in output
    assert "Missing predictions: 1 ('single_000002')\n" in output


def test_a_file_that_cannot_be_read_to_its_end_is_a_fault(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in FINE) + "{oops\n", encoding="utf-8")
    code, output = check(write_jsonl, capsys, str(path))
    assert code == 1
    assert "Predictions:         3 (3 success)\n" in output
    assert f"FAULT: {path}, line 4: not valid JSON" in output


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("choose/lm_eval_two_filters.jsonl", "several filters (strict-match, flexible-extract); choose"),
        ("choose/inspect_two_epochs.eval", "several epochs (1, 2); choose the one that counts with --epoch"),
        ("choose/vertex_labels.jsonl", "(Vertex AI batch); name its place with --id-field, such as request.labels."),
    ],
)
def test_what_must_be_chosen_is_a_fault(
    name: str, line: str, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = check(write_jsonl, capsys, str(EXAMPLES / "formats" / name))
    assert code == 1
    assert line in output


def test_several_files_are_each_examined(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_jsonl("a.jsonl", FINE), write_jsonl("b.jsonl", [])
    gold_path = write_jsonl("gold.jsonl", GOLD)
    assert main(["--gold-files", gold_path, "--predictions", first, second, "--check"]) == 1
    output = capsys.readouterr().out
    assert output.count("XL-DocBench check of ") == 2
    assert "the file is ready to be scored\nXL-DocBench check of" in output
