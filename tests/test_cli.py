"""The command line (rule 8): exit code, stdout and stderr together, and what is left on disk."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, ROOT, SAMPLE_SIGNATURE, Run, WriteJsonl, gold
from xldocbench import load_gold_records, load_predictions
from xldocbench.evaluate import evaluate, main

GOLD = str(EXAMPLES / "gold_sample.jsonl")
PERFECT = str(EXAMPLES / "predictions_sample.jsonl")
IMPERFECT = str(EXAMPLES / "predictions_imperfect.jsonl")
SAMPLE = ("--gold-files", GOLD, "--predictions", PERFECT)
PERFECT_SUMMARY = f"""\
XL-DocBench evaluation
Gold questions:      5
Predictions:         5
Evaluated:           5
Missing predictions: 0
Extra predictions:   0
Accuracy: 100.00%
Token F1: 100.00%
ANLS:     100.00%
{SAMPLE_SIGNATURE}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "xldocbench.evaluate"),
        ("-W", "error", "-m", "xldocbench.evaluate"),
        ("-O", "-m", "xldocbench.evaluate"),
        (str(ROOT / "code" / "evaluate.py"),),
        ("-I", str(ROOT / "code" / "evaluate.py")),
        ("-I", "-W", "error", "-OO", str(ROOT / "code" / "evaluate.py")),
    ],
    ids=" ".join,
)
def test_every_way_to_call_it_scores_the_sample(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, *SAMPLE)
    assert (result.returncode, result.stdout.decode(), result.stderr.decode()) == (0, PERFECT_SUMMARY, "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16", "utf-8"])
def test_the_summary_prints_on_any_terminal(run: Run, write_jsonl: WriteJsonl, encoding: str) -> None:
    predictions = write_jsonl("p.jsonl", [{"id": "q", "prediction": "x"}, {"id": "東京 \ud800", "prediction": "x"}])
    arguments = ("--gold-files", write_jsonl("gold.jsonl", [gold("q", "x")]), "--predictions", predictions)
    result = run("-m", "xldocbench.evaluate", *arguments, PYTHONIOENCODING=encoding, LC_ALL="C", PYTHONUTF8="0")
    assert result.returncode == 0
    assert "Accuracy: 100.00%" in result.stdout.decode(encoding)
    assert result.stderr.decode(encoding).startswith("WARNING: 1 of 2 predictions are for no question of the gold")


def test_report_and_csv_are_written_and_their_folders_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, table = tmp_path / "new" / "deep" / "report.json", tmp_path / "other" / "rows.csv"
    arguments = ["--gold-files", GOLD, "--predictions", IMPERFECT]
    assert main([*arguments, "--output", str(report), "--per-question-csv", str(table)]) == 0
    assert report.read_bytes() == (EXAMPLES / "expected_report.json").read_bytes()
    assert table.read_bytes().count(b"\n") == 6
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["report.json", "rows.csv"]
    assert "Accuracy: 20.00%" in capsys.readouterr().out


def test_no_per_question_json_leaves_the_rows_out_of_the_report_alone(tmp_path: Path) -> None:
    report, table = tmp_path / "report.json", tmp_path / "rows.csv"
    arguments = [*SAMPLE, "--output", str(report), "--per-question-csv", str(table), "--no-per-question-json"]
    assert main(arguments) == 0
    assert "per_question" not in json.loads(report.read_bytes())
    assert table.read_bytes().count(b"\n") == 6


@pytest.mark.parametrize("option", ["--output", "--per-question-csv"])
def test_a_dash_writes_to_stdout_and_the_summary_to_stderr(run: Run, option: str) -> None:
    result = run("-m", "xldocbench.evaluate", *SAMPLE, option, "-", PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr.decode()) == (0, PERFECT_SUMMARY)
    if option == "--output":
        assert json.loads(result.stdout)["overall"]["accuracy"] == 1.0
    else:
        assert result.stdout.startswith(b"question_id,prediction,")


def test_a_stdout_without_bytes_takes_the_report_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main([*SAMPLE, "--output", "-"]) == 0
    assert json.loads(stream.getvalue())["evaluated_count"] == 5


def test_ignore_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--gold-files", GOLD, "--predictions", IMPERFECT, "--ignore-missing"]) == 0
    assert "Evaluated:           4\nMissing predictions: 1\n" in capsys.readouterr().out


def test_prediction_field(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold("q", "x")])
    predictions = write_jsonl("p.jsonl", [{"id": "q", "prediction": "x", "final": "y"}])
    assert main(["--gold-files", gold_path, "--predictions", predictions, "--prediction-field", "final"]) == 0
    assert "Accuracy: 0.00%" in capsys.readouterr().out


def test_the_same_input_gives_the_same_bytes_under_any_hash_seed(run: Run, tmp_path: Path) -> None:
    contents = set()
    for seed in ("0", "1", "4711"):
        path = tmp_path / f"{seed}.json"
        arguments = ("--gold-files", GOLD, "--predictions", IMPERFECT, "--output", str(path))
        assert run("-m", "xldocbench.evaluate", *arguments, PYTHONHASHSEED=seed).returncode == 0
        contents.add(path.read_bytes())
    assert contents == {(EXAMPLES / "expected_report.json").read_bytes()}


# ---- the data directory


def _data_dir(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, question_id in (("qa_single_doc.jsonl", "s"), ("qa_cross_doc.jsonl", "c")):
        (folder / name).write_text(json.dumps(gold(question_id, "x")) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def for_the_small_data(write_jsonl: WriteJsonl) -> tuple[str, ...]:
    path = write_jsonl("small.jsonl", [{"id": "c", "prediction": "x"}, {"id": "s", "prediction": "x"}])
    return ("--predictions", path)


def test_data_dir_then_environment_then_checkout(run: Run, tmp_path: Path, for_the_small_data: tuple[str, ...]) -> None:
    given = str(_data_dir(tmp_path / "given"))
    evaluator = ("-m", "xldocbench.evaluate")
    by_flag = run(*evaluator, *for_the_small_data, "--data-dir", given, XLDOCBENCH_DATA_DIR="/absent")
    assert by_flag.stdout.startswith(b"XL-DocBench evaluation\nGold questions:      2\n")
    by_variable = run(*evaluator, *for_the_small_data, XLDOCBENCH_DATA_DIR=given)
    assert by_variable.stdout == by_flag.stdout
    by_checkout = run(*evaluator, *for_the_small_data)
    assert by_checkout.returncode == 1
    assert by_checkout.stderr.decode().rstrip("\n") == (
        f"ERROR: no prediction in {for_the_small_data[1]} is for a question of the gold: the predictions have 'c', 's';"
        " the gold has"
        " 'standin_single_000001', 'standin_single_000002', 'standin_single_000003', …; the gold is the synthetic"
        " stand-in: fetch the real data with `python -m xldocbench.release fetch` and pass --release strict"
    )


def test_outside_a_checkout_the_current_folder_is_tried(
    run: Run, tmp_path: Path, for_the_small_data: tuple[str, ...]
) -> None:
    installed = tmp_path / "site-packages"
    shutil.copytree(ROOT / "xldocbench", installed / "xldocbench", ignore=shutil.ignore_patterns("__pycache__"))
    arguments = ("-m", "xldocbench.evaluate", *for_the_small_data)
    nowhere = run(*arguments, PYTHONPATH=str(installed))
    assert (nowhere.returncode, nowhere.stderr.decode().rstrip("\n")) == (
        1,
        "ERROR: no gold found: pass --data-dir with the folder that holds qa_single_doc.jsonl and qa_cross_doc.jsonl,"
        " or --gold-files, or set XLDOCBENCH_DATA_DIR",
    )
    _data_dir(tmp_path / "project" / "data")
    here = run(*arguments, PYTHONPATH=str(installed), cwd=tmp_path / "project")
    assert (here.returncode, here.stderr) == (0, b"")


@pytest.mark.parametrize("source", ["--data-dir", "XLDOCBENCH_DATA_DIR"])
def test_a_data_dir_without_gold_is_an_error_and_no_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    folder = _data_dir(tmp_path / "data")
    (folder / "qa_cross_doc.jsonl").unlink()
    arguments = ["--predictions", PERFECT]
    if source == "--data-dir":
        arguments += [source, str(folder)]
    else:
        monkeypatch.setenv(source, str(folder))
    assert main(arguments) == 1
    assert capsys.readouterr().err == (
        f"ERROR: {source} {folder}: no qa_cross_doc.jsonl there;"
        " pass the folder that holds both, or name the gold with --gold-files\n"
    )


# ---- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predictions", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["--predictions", "."], ".: no .jsonl, .json, .csv, .tsv or .eval file in this folder"),
        (["--predictions", PERFECT, "--gold-files", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["--predictions", PERFECT, "--gold-files", GOLD, "--output", "."], ".: Is a directory"),
        (
            ["--predictions", PERFECT, "--gold-files", GOLD, "--output", "-", "--per-question-csv", "-"],
            "--output and --per-question-csv are both -; choose another name for one",
        ),
        (
            ["--predictions", PERFECT, "--gold-files", GOLD, "--output", "a", "--per-question-csv", "./a"],
            "--output and --per-question-csv are both a; choose another name for one",
        ),
        (["--predictions", "two\nlines"], "two\\nlines: No such file or directory"),
        (["--predictions", ""], "'': No such file or directory"),
        ([*SAMPLE, "--output", "n" * 300], f"{'n' * 300}: File name too long"),
    ],
)
def test_errors_are_one_line_and_exit_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert capsys.readouterr() == ("", f"ERROR: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_file_leaves_the_previous_report_whole(
    tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    report.write_text("previous", encoding="utf-8")
    predictions = write_jsonl("p.jsonl", [{"prediction": "x"}])
    assert main(["--gold-files", GOLD, "--predictions", predictions, "--output", str(report)]) == 1
    assert capsys.readouterr().err.startswith(f"ERROR: {predictions}, line 1: no question id;")
    assert report.read_text(encoding="utf-8") == "previous"


@pytest.mark.parametrize("arguments", [[], ["--predictions"], [*SAMPLE, "--no-such-option"]])
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    assert "usage: python -m xldocbench.evaluate" in capsys.readouterr().err


def test_unknown_ids_are_counted_and_named_and_the_score_is_printed(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold("q", "x")])
    predictions = write_jsonl("p.jsonl", [{"id": question_id, "prediction": "x"} for question_id in "qabcde"])
    assert main(["--gold-files", gold_path, "--predictions", predictions]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "WARNING: 5 of 6 predictions are for no question of the gold and are not scored ('a', 'b', 'c', …)\n"
    )
    assert "Extra predictions:   5\nAccuracy: 100.00%" in captured.out


def test_ids_that_all_miss_the_gold_are_an_error(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold(question_id, "x") for question_id in ("q1", "q2", "q3", "q4")])
    predictions = write_jsonl("p.jsonl", [{"id": question_id, "prediction": "x"} for question_id in "abcd"])
    assert main(["--gold-files", gold_path, "--predictions", predictions]) == 1
    assert capsys.readouterr() == (
        "",
        f"ERROR: no prediction in {predictions} is for a question of the gold: the predictions have 'a', 'b', 'c', …;"
        " the gold has 'q1', 'q2', 'q3', …\n",
    )


def test_the_standin_says_that_it_is_one(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    predictions = write_jsonl("p.jsonl", [{"id": "standin_single_000001", "prediction": "x"}])
    assert main(["--predictions", predictions, "--data-dir", str(ROOT / "data")]) == 0
    warning = "WARNING: the gold is the synthetic stand-in: these scores say nothing about XL-DocBench\n"
    assert capsys.readouterr().err == warning


# ---- outputs on disk


@pytest.mark.parametrize("option", ["--output", "--per-question-csv"])
@pytest.mark.parametrize("way", ["same", "dots", "symlink", "hard link"])
@pytest.mark.parametrize("which", ["predictions", "gold"])
def test_an_output_that_is_an_input_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, way: str, which: str
) -> None:
    inputs = {"predictions": tmp_path / "p.jsonl", "gold": tmp_path / "gold.jsonl"}
    inputs["predictions"].write_bytes(Path(PERFECT).read_bytes())
    inputs["gold"].write_bytes(Path(GOLD).read_bytes())
    before = inputs[which].read_bytes()
    output = inputs[which]
    if way == "dots":
        (tmp_path / "folder").mkdir()
        output = tmp_path / "folder" / ".." / output.name
    elif way == "symlink":
        output = tmp_path / "link"
        output.symlink_to(inputs[which])
    elif way == "hard link":
        output = tmp_path / "hard"
        os.link(inputs[which], output)
    arguments = ["--gold-files", str(inputs["gold"]), "--predictions", str(inputs["predictions"])]
    assert main([*arguments, option, str(output)]) == 1
    expected = f"ERROR: the output {output} is the input {inputs[which]}; choose another name\n"
    assert capsys.readouterr() == ("", expected)
    assert inputs[which].read_bytes() == before


def test_a_link_is_followed_and_a_mode_kept(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text("previous", encoding="utf-8")
    target.chmod(0o640)
    (tmp_path / "link.json").symlink_to(target)
    assert main([*SAMPLE, "--output", str(tmp_path / "link.json")]) == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(target.read_bytes())["gold_count"] == 5
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_not_replaced(run: Run) -> None:
    result = run("-m", "xldocbench.evaluate", *SAMPLE, "--output", os.devnull)
    assert (result.returncode, result.stderr) == (0, b"")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_all_previous_files_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    report, table = tmp_path / "report.json", tmp_path / "rows.csv"
    for path in (report, table):
        path.write_text("previous", encoding="utf-8")
    opened = []

    def failing_open(path: str, *arguments: Any, **options: Any) -> Any:
        if path.endswith(".tmp"):
            opened.append(path)
            if len(opened) == 2:
                raise fault
        return io.open(path, *arguments, **options)  # noqa: UP020

    monkeypatch.setattr("xldocbench.evaluate.open", failing_open, raising=False)
    expected = 130 if isinstance(fault, KeyboardInterrupt) else 1
    assert main([*SAMPLE, "--output", str(report), "--per-question-csv", str(table)]) == expected
    assert [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())] == ["previous", "previous"]


def test_an_interrupt_while_reading_exits_130_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("xldocbench.formats.read", interrupted)
    assert main([*SAMPLE]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "arguments", [SAMPLE, (*SAMPLE, "--output", "-"), ("--help",)], ids=["summary", "report", "help"]
)
def test_a_closed_pipe_ends_quietly(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "xldocbench.evaluate", *arguments],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    # argparse swallows the fault of its own help in some versions.
    assert process.returncode == 141 or "--help" in arguments
    assert b"Error" not in process.stderr
    assert b"Exception" not in process.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "xldocbench.evaluate", *SAMPLE],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (process.returncode, process.stderr) == (1, b"ERROR: stdout: No space left on device\n")


# ---- help and progress


def test_help_is_a_page_to_act_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    for part in (
        "example:\n  python -m xldocbench.evaluate --predictions preds.jsonl --output report.json",
        "over the SETS of normalised tokens (not SQuAD's multiset)",
        "similarity of the RAW texts",
        "0 scored   1 an error, named in one line on stderr, or a fault that --check\n  found   2 wrong usage",
        "3 a score is under --fail-under",
        "XLDOCBENCH_DATA_DIR",
    ):
        assert part in text
    options = text.partition("\nexample:")[0].split("\n  --")[1:]
    assert len(options) == 25
    unexplained = [part.split()[0] for part in options if "default" not in part and "required" not in part]
    assert unexplained == ["version"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import xldocbench

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"xldocbench {xldocbench.__version__}\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "seconds_per_look", "shown"),
    [
        (_Terminal(), 0.5, True),
        (_Terminal(), 0.001, False),
        (io.StringIO(), 0.5, False),
    ],
    ids=["slow on a terminal", "fast on a terminal", "slow in a file"],
)
def test_progress_shows_after_a_second_and_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, terminal: io.StringIO, seconds_per_look: float, shown: bool
) -> None:
    looks = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: next(looks) * seconds_per_look)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main([*SAMPLE]) == 0
    assert terminal.getvalue().startswith("\rscored 2 of 5") is shown
    assert terminal.getvalue().endswith("\r\x1b[K") is shown


def test_progress_counts_systems_where_there_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, looks = _Terminal(), iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: next(looks) * 2)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["--gold-files", GOLD, "--predictions", PERFECT, IMPERFECT]) == 0
    assert terminal.getvalue().startswith("\rscored 1 of 2\rscored 2 of 2\r\x1b[K")


# ---- the package


def test_the_package_exports_what_it_lists() -> None:
    import xldocbench

    assert all(getattr(xldocbench, name) is not None for name in xldocbench.__all__)
    assert set(xldocbench.__all__) <= set(dir(xldocbench))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = xldocbench.nonsense


def test_importing_the_package_loads_nothing_of_the_evaluator(run: Run) -> None:
    check = "import sys, xldocbench; sys.exit('xldocbench.evaluate' in sys.modules)"
    assert run("-c", check).returncode == 0


def test_the_evaluator_imports_nothing_of_ours(run: Run) -> None:
    check = "import sys, xldocbench.evaluate; print(sorted(m for m in sys.modules if m.startswith('xldocbench')))"
    assert run("-c", check).stdout.decode().strip() == "['xldocbench', 'xldocbench.evaluate']"


def test_the_function_gives_the_report_of_the_command_but_for_its_provenance(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert main(["--gold-files", GOLD, "--predictions", IMPERFECT, "--output", str(path)]) == 0
    report = json.loads(path.read_bytes())
    assert list(report)[-1] == "provenance"
    del report["provenance"]
    assert evaluate(load_gold_records(GOLD), *load_predictions(IMPERFECT)) == report
