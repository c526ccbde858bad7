"""Several systems at once, several processes, and files larger than memory should hold."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from benchmark import PEAK_PROGRAM

from tests.conftest import EXAMPLES, SAMPLE_SIGNATURE, Run, WriteJsonl, gold
from xldocbench import Score, Totals, load_gold_records
from xldocbench.evaluate import evaluate, index_questions, main, report_as_json
from xldocbench.parallel import Block

GOLD = str(EXAMPLES / "gold_sample.jsonl")
PERFECT = EXAMPLES / "predictions_sample.jsonl"
IMPERFECT = EXAMPLES / "predictions_imperfect.jsonl"

TABLE = f"""\
XL-DocBench evaluation: 2 systems, 5 gold questions
system     Predictions  Evaluated  Missing    Extra  Accuracy  Token F1     ANLS
imperfect            5          5        1        1    20.00%    14.74%   12.25%
perfect              5          5        0        0   100.00%   100.00%  100.00%
{SAMPLE_SIGNATURE}
"""
WARNING = (
    "WARNING: imperfect: 1 of 5 predictions are for no question of the gold and are not scored"
    " ('adubench_single_009999')\n"
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of two systems, beside a file that is none and one that is hidden."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "perfect.JSONL").write_bytes(PERFECT.read_bytes())
    (folder / "imperfect.jsonl").write_bytes(IMPERFECT.read_bytes())
    (folder / "notes.txt").write_bytes(b"none")
    (folder / ".hidden.jsonl").write_bytes(b"none")
    return folder


@pytest.mark.parametrize("jobs", ["1", "2", "3", "0"])
@pytest.mark.parametrize("way", ["folder", "files"])
def test_several_systems_make_a_table_and_a_report_each(
    runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], way: str, jobs: str
) -> None:
    files = [str(runs)] if way == "folder" else [str(runs / "imperfect.jsonl"), str(runs / "perfect.JSONL")]
    reports, tables = tmp_path / "reports", tmp_path / "tables"
    outputs = ["--output", str(reports), "--per-question-csv", f"{tables}/"]
    assert main(["--gold-files", GOLD, "--predictions", *files, "--jobs", jobs, *outputs]) == 0
    assert capfd.readouterr() == (TABLE, WARNING)
    assert sorted(path.name for path in reports.iterdir()) == ["imperfect.json", "perfect.json"]
    expected = (EXAMPLES / "expected_report.json").read_bytes()
    assert (reports / "imperfect.json").read_bytes() == expected.replace(
        b"predictions_imperfect.jsonl", b"imperfect.jsonl"
    )
    assert sorted(path.name for path in tables.iterdir()) == ["imperfect.csv", "perfect.csv"]
    assert (tables / "imperfect.csv").read_bytes().count(b"\n") == 6


def test_reports_and_tables_may_share_a_folder(runs: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "new")
    arguments = ["--gold-files", GOLD, "--predictions", str(runs), "--output", folder, "--per-question-csv", folder]
    assert main(arguments) == 0
    names = ["imperfect.csv", "imperfect.json", "perfect.csv", "perfect.json"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names


@pytest.mark.parametrize("jobs", ["1", "2", "5"])
@pytest.mark.parametrize("block_bytes", [1, 300, 1 << 18])
def test_the_lines_of_one_file_give_the_same_bytes_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str, block_bytes: int
) -> None:
    monkeypatch.setattr("xldocbench.parallel.BLOCK_BYTES", block_bytes)
    report, table = tmp_path / "report.json", tmp_path / "rows.csv"
    arguments = ["--gold-files", GOLD, "--predictions", str(IMPERFECT), "--jobs", jobs, "--output", str(report)]
    assert main([*arguments, "--per-question-csv", str(table)]) == 0
    assert report.read_bytes() == (EXAMPLES / "expected_report.json").read_bytes()
    assert table.read_bytes().count(b"\n") == 6


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_processes_may_start_in_any_way(run: Run, tmp_path: Path, start: str) -> None:
    program = (
        "import multiprocessing, sys\n"
        "from xldocbench.evaluate import main\n"
        "if __name__ == '__main__':\n"
        f"    multiprocessing.set_start_method('{start}')\n"
        "    sys.exit(main(sys.argv[1:]))\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    arguments = ("--gold-files", GOLD, "--predictions", str(IMPERFECT), "--jobs", "2", "--output", "-")
    result = run(str(script), *arguments)
    assert result.stdout == (EXAMPLES / "expected_report.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n\n3\n", "line 3: not a JSON object; write one JSON object on each line"),
        (
            b'{"id": "a", "prediction": "x"}\n' * 2,
            "line 2: the question id 'a' stands in {path}, line 1 already; keep one",
        ),
        (b"", "no prediction in {path}; write one JSON object a line: question_id and prediction"),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_error_is_the_same_line_in_several_processes(
    run: Run, tmp_path: Path, content: bytes, message: str, jobs: str
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)
    expected = message.format(path=path)
    where = "" if expected.startswith("no prediction") else f"{path}, "
    # As a module and not imported: an error of another process must be known to the one that runs as __main__.
    result = run("-m", "xldocbench.evaluate", "--gold-files", GOLD, "--predictions", str(path), "--jobs", jobs)
    assert (result.returncode, result.stdout, result.stderr.decode()) == (1, b"", f"ERROR: {where}{expected}\n")


def test_an_interrupt_ends_all_processes_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted_blocks(name: str, file: BinaryIO, intake: object) -> Iterator[Block]:
        yield Block(name, file.readlines(), 1, "plain")
        raise KeyboardInterrupt

    monkeypatch.setattr("xldocbench.parallel._blocks", interrupted_blocks)
    arguments = ["--gold-files", GOLD, "--predictions", str(IMPERFECT), "--jobs", "2"]
    assert main([*arguments, "--output", str(tmp_path / "report.json")]) == 130
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(
    multiprocessing.get_start_method() != "fork", reason="only a forked process takes over what the test put in place"
)
def test_a_process_that_dies_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("xldocbench.parallel.judge_task", lambda *arguments: os._exit(3))
    assert main(["--gold-files", GOLD, "--predictions", str(IMPERFECT), "--jobs", "2"]) == 1
    assert capfd.readouterr().err == "ERROR: a process of --jobs ended before its work was done; try --jobs 1\n"


def test_nothing_is_written_where_one_of_several_systems_cannot_be_read(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "zz.json").write_bytes(b"{")
    assert main(["--gold-files", GOLD, "--predictions", str(runs), "--output", str(tmp_path / "reports")]) == 1
    assert capsys.readouterr().err.startswith(f"ERROR: {runs / 'zz.json'}: not valid JSON (")
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predictions", "{runs}", "--output", "-"], "-: of several systems the output must be a folder"),
        (["--predictions", "{runs}", "--output", "{file}"], "{file}: of several systems the output must be a folder"),
        (
            ["--predictions", "{runs}", "--output", "{runs}"],
            "the output {runs} is the input {runs}; choose another name",
        ),
        (["--predictions", "{empty}"], "{empty}: no .jsonl, .json, .csv, .tsv or .eval file in this folder"),
        (
            ["--predictions", "{runs}", "{runs}/perfect.JSONL"],
            "{runs}/perfect.JSONL and {runs}/perfect.JSONL are both the system 'perfect'; rename one",
        ),
    ],
)
def test_errors_of_several_systems(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"previous")
    names = {"runs": runs, "empty": tmp_path / "empty", "file": tmp_path / "file"}
    assert main(["--gold-files", GOLD, *(argument.format(**names) for argument in arguments)]) == 1
    assert capsys.readouterr() == ("", f"ERROR: {message.format(**names)}\n")
    assert (tmp_path / "file").read_bytes() == b"previous"


def test_a_report_never_replaces_one_of_the_predictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    for path in (one, two):
        path.write_text('{"adubench_single_000002": "25"}', encoding="utf-8")
    assert main(["--gold-files", GOLD, "--predictions", str(one), str(two), "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"ERROR: the output {one} is the input {one}; choose another name\n"


@pytest.mark.parametrize("jobs", ["-1", "two", "1.5", ""])
def test_jobs_is_a_whole_number(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["--gold-files", GOLD, "--predictions", str(PERFECT), f"--jobs={jobs}"])
    assert exit_info.value.code == 2
    assert f"{jobs!r} is no whole number from 0" in capsys.readouterr().err


# ---- memory


def _peak_kilobytes(run: Run, gold_path: str, predictions_path: Path) -> int:
    arguments = ("--gold-files", gold_path, "--predictions", str(predictions_path), "--no-per-question-json")
    result = run("-c", PEAK_PROGRAM, *arguments, "--output", "/dev/null")
    return int(result.stderr.split()[-1])


def _long_answers() -> Iterator[bytes]:
    for number in range(600):
        yield json.dumps({"id": f"q{number}", "prediction": "A long answer. " * 7000}).encode() + b"\n"


def _answers_to_other_questions() -> Iterator[bytes]:
    yield b'{"id": "q0", "prediction": "x"}\n'
    for number in range(500_000):
        yield b'{"id": "other-%d", "prediction": "An answer to a question that the gold lacks."}\n' % number


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory is read from Linux's /proc")
@pytest.mark.parametrize(
    ("lines", "growth"),
    [(_long_answers, 12_000), (_answers_to_other_questions, 40_000)],
    ids=["long answers", "other questions"],
)
def test_memory_does_not_grow_with_the_predictions_file(
    run: Run, write_jsonl: WriteJsonl, tmp_path: Path, lines: object, growth: int
) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold(f"q{number}", "x") for number in range(600)])
    large, small = tmp_path / "large.jsonl", tmp_path / "small.jsonl"
    with large.open("wb") as file:
        file.writelines(lines())  # type: ignore[operator]
    small.write_bytes(b'{"id": "q0", "prediction": "x"}\n')
    assert large.stat().st_size > 40_000_000
    grown = _peak_kilobytes(run, gold_path, large) - _peak_kilobytes(run, gold_path, small)
    assert grown < growth


# ---- at scale


def test_totals_travel_between_processes() -> None:
    totals = Totals()
    totals.add(Score(1.0, 1 / 3, 0.7, "contained"))
    assert pickle.loads(pickle.dumps(totals)) == totals


def test_questions_are_made_ready_once_and_travel_between_processes() -> None:
    questions = index_questions(load_gold_records(GOLD))
    copied = pickle.loads(pickle.dumps(questions))
    assert list(copied) == list(questions)
    assert [question.gold.number for question in copied.values()] == [None, 25.0, None, None, None]


def test_json_is_written_as_the_standard_library_writes_it() -> None:
    report = evaluate(
        [gold("q", "x", metadata={"evidence_sources": ["Text"], "domain": 'a "b"\u2028\x07é'}), gold("r", "y")],
        {"q": "tab\t and é"},
        {},
    )
    for value in (report, {"a": [], "b": {}, "c": [[1, {"d": None}], True, 0.1, -0.0, 1e300, 10**30]}):
        assert report_as_json(value) == (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def test_not_a_number_never_reaches_a_report() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        report_as_json({"a": float("nan")})
