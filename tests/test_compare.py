"""Paired comparisons: figures by another route, formats, what is refused, and the gate."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from reference_systems import predictions_of

from tests.conftest import EXAMPLES, ROOT, Run, WriteJsonl, gold, signature
from xldocbench import load_gold_records
from xldocbench.compare import main
from xldocbench.evaluate import GOLD_FILES
from xldocbench.evaluate import main as evaluate_main
from xldocbench.uncertainty import holm_adjusted, mcnemar_p_value, sign_flip_p_value

METRICS = ("accuracy", "token_f1", "anls")


# ---- tests of a paired difference


def _enumerated(differences: list[float], clusters: list[str]) -> float:
    """The permutation test by brute force over all clusters, those of sum 0 among them."""
    names = sorted(set(clusters))
    sums = [sum(d for d, c in zip(differences, clusters, strict=True) if c == name) for name in names]
    flips = list(itertools.product((1, -1), repeat=len(names)))
    observed = abs(sum(sums))
    return sum(abs(sum(s * f for s, f in zip(sums, flip, strict=True))) >= observed - 1e-12 for flip in flips) / len(
        flips
    )


@pytest.mark.parametrize("seed", range(6))
def test_sign_flips_equal_brute_force(seed: int) -> None:
    draws = random.Random(seed)
    clusters = [f"c{draws.randrange(9)}" for _ in range(30)]
    for values in ((-1.0, 0.0, 0.0, 1.0), (0.25, -0.5, 0.75)):
        differences = [draws.choice(values) for _ in clusters]
        expected = _enumerated(differences, clusters)
        assert sign_flip_p_value(differences, clusters) == pytest.approx(expected, abs=1e-12)
        assert sign_flip_p_value([-d for d in differences], clusters) == sign_flip_p_value(differences, clusters)


@pytest.mark.parametrize(
    ("differences", "clusters", "p"),
    [
        ([], [], 1.0),
        ([0.0, 0.0], ["a", "b"], 1.0),
        ([1.0, -1.0], ["a", "a"], 1.0),
        ([1.0, 1.0], ["a", "b"], 0.5),
        ([1.0] * 16, [str(n) for n in range(16)], 2 / 2**16),
        ([1.0] * 17, [str(n) for n in range(17)], 1 / 10_001),
    ],
)
def test_sign_flips_of_known_probability(differences: list[float], clusters: list[str], p: float) -> None:
    assert sign_flip_p_value(differences, clusters) == pytest.approx(p, abs=1e-12 if len(clusters) < 17 else 1e-3)


def test_drawn_flips_are_near_the_enumerated_ones_and_the_same_each_time() -> None:
    draws = random.Random(3)
    differences = [draws.gauss(0.2, 1.0) for _ in range(60)]
    clusters = [f"c{n:02d}" for n in range(60)]
    p = sign_flip_p_value(differences, clusters)
    assert p == sign_flip_p_value(differences[::-1], clusters[::-1])
    # By the normal approximation of the sum of independent signs.
    z = abs(sum(differences)) / math.sqrt(sum(d * d for d in differences))
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)


@pytest.mark.parametrize(
    ("won", "lost", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 32), (0, 5, 2 / 32), (7, 2, 2 * 46 / 512), (4, 4, 1.0)]
)
def test_mcnemar(won: int, lost: int, p: float) -> None:
    assert mcnemar_p_value(won, lost) == pytest.approx(p, abs=1e-15)


def test_holm() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.5, 0.9]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


# ---- the command


@pytest.fixture
def systems(write_jsonl: WriteJsonl) -> list[str]:
    """Gold of six questions on three documents, and two systems: one right more often than the other."""
    records = [gold(f"q{n}", f"answer {n}", document={"document_id": f"d{n // 2}"}) for n in range(6)]
    write_jsonl("gold.jsonl", records)
    good = [{"id": f"q{n}", "prediction": f"answer {n}" if n != 4 else "wrong"} for n in range(6)]
    poor = [{"id": f"q{n}", "prediction": f"answer {n}" if n in (1, 4) else "wrong"} for n in range(6)]
    return [write_jsonl("poor.jsonl", poor), write_jsonl("good.jsonl", good)]


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def gold_of(systems: list[str]) -> tuple[str, str]:
    return "--gold-files", str(Path(systems[0]).parent / "gold.jsonl")


def test_figures_by_hand(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    result = compared(capsys, *systems, *gold_of(systems))
    assert list(result) == ["systems", "clusters", "pairs", "breakdowns", "signature"]
    assert [list(row) for row in result["systems"]] == [["name", "questions", *METRICS]] * 2
    assert [row["name"] for row in result["systems"]] == ["poor", "good"]
    assert result["clusters"] == 3
    (pair,) = result["pairs"]
    assert list(pair) == ["baseline", "system", "questions", "metrics", "counts", "p_mcnemar"]
    assert pair["counts"] == {"won": 4, "lost": 1, "both_right": 1, "both_wrong": 0}
    assert pair["p_mcnemar"] == pytest.approx(2 * 6 / 32)
    accuracy = pair["metrics"]["accuracy"]
    keys = ["baseline", "system", "difference", "se", "low", "high", "p_permutation", "p_holm"]
    assert list(accuracy) == keys
    # Differences 1, 0 | 1, 1 | -1, 1: cluster sums 1, 2, 0; mean 1/2; deviations 0, 1, -1.
    assert (accuracy["baseline"], accuracy["system"], accuracy["difference"]) == (2 / 6, 5 / 6, 0.5)
    assert accuracy["se"] == pytest.approx(math.sqrt(3 / 2 * 2 / 36), abs=1e-12)
    assert accuracy["high"] - accuracy["low"] == pytest.approx(2 * 4.30265272991 * accuracy["se"], rel=1e-9)
    # Flips of 1 and 2: sums 3, 1, -1, -3; two of four as far out as 3.
    assert accuracy["p_permutation"] == accuracy["p_holm"] == 0.5


def test_a_system_against_itself_differs_in_nothing(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (pair,) = compared(capsys, systems[0], systems[0], *gold_of(systems))["pairs"]
    for figures in pair["metrics"].values():
        assert (figures["difference"], figures["se"], figures["p_permutation"], figures["p_holm"]) == (
            0.0,
            0.0,
            1.0,
            1.0,
        )
    assert pair["p_mcnemar"] == 1.0


def test_swapping_negates_differences_and_keeps_p(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (forth,) = compared(capsys, *systems, *gold_of(systems))["pairs"]
    (back,) = compared(capsys, *systems[::-1], *gold_of(systems))["pairs"]
    for metric in METRICS:
        one, other = forth["metrics"][metric], back["metrics"][metric]
        assert (one["difference"], one["low"], one["high"]) == (-other["difference"], -other["high"], -other["low"])
        assert (one["se"], one["p_permutation"]) == (other["se"], other["p_permutation"])
    assert forth["counts"]["won"] == back["counts"]["lost"]


def test_the_order_of_the_questions_changes_nothing(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = compared(capsys, *systems, *gold_of(systems))
    for path in map(Path, systems):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[::-1]))
    assert compared(capsys, *systems, *gold_of(systems)) == before


def test_reports_and_predictions_compare_alike(
    systems: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = str(tmp_path / "report.json")
    assert evaluate_main(["--predictions", systems[1], *gold_of(systems), "--output", report]) == 0
    capsys.readouterr()
    names = ("--names", "a", "b")
    by_report = compared(capsys, systems[0], report, *gold_of(systems), *names)
    by_predictions = compared(capsys, *systems, *gold_of(systems), *names)
    for metric in METRICS:
        one, other = (result["pairs"][0]["metrics"][metric] for result in (by_report, by_predictions))
        # The rows of a report are rounded to 6 decimals.
        assert one["difference"] == pytest.approx(other["difference"], abs=1e-6)


def test_all_pairs_are_adjusted_for_their_number(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    result = compared(capsys, *systems, systems[0], *gold_of(systems), "--all-pairs", "--names", "a", "b", "c")
    assert [(pair["baseline"], pair["system"]) for pair in result["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    p_values = [pair["metrics"]["accuracy"]["p_permutation"] for pair in result["pairs"]]
    assert [pair["metrics"]["accuracy"]["p_holm"] for pair in result["pairs"]] == holm_adjusted(p_values)
    assert len(compared(capsys, *systems, systems[0], *gold_of(systems), "--names", "a", "b", "c")["pairs"]) == 2


def test_breakdowns_hold_the_same_figures(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    records = [gold(f"q{n}", "x", metadata={"domain": "law" if n < 2 else "art"}) for n in range(5)]
    gold_path = write_jsonl("gold.jsonl", records)
    one = write_jsonl("one.jsonl", [{"id": f"q{n}", "prediction": "x"} for n in range(5)])
    two = write_jsonl("two.jsonl", [{"id": f"q{n}", "prediction": "x" if n else "y"} for n in range(5)])
    breakdowns = compared(capsys, one, two, "--gold-files", gold_path, "--by", "domain")["breakdowns"]
    assert list(breakdowns) == ["domain"]
    found = {
        label: (pairs[0]["questions"], pairs[0]["counts"]["lost"]) for label, pairs in breakdowns["domain"].items()
    }
    assert found == {"art": (3, 0), "law": (2, 1)}


TEXT = """\
XL-DocBench comparison: 2 systems, 3 clusters

good against poor: 6 questions
metric     baseline   system  difference      low     high        p  p (Holm)  verdict
accuracy      33.33    83.33       50.00   -74.21   174.21   0.5000    0.5000  not significant
"""


def test_text(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*systems, *gold_of(systems)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(TEXT)
    assert "won 4, lost 1, both right 1, both wrong 0; McNemar p 0.3750\n" in text
    assert text.endswith("|n:6|missing:zero|flips:10000|seed:20000\n")
    assert max(map(len, text.splitlines())) <= 100


def test_differences_are_marked_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    paths = []
    for system in ("character_noise_20_percent", "perfect", "shuffled_words"):
        path = tmp_path / f"{system}.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in predictions_of(system, records)), encoding="utf-8")
        paths.append(str(path))
    assert main([*paths, "--data-dir", str(ROOT / "data")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("accuracy")] == ["better", "significant"]
    assert [line.split()[-1] for line in lines if line.startswith("anls")] == ["better", "worse"]


def test_other_formats(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    names = ("--names", "a_1", "b|2")
    assert main([*systems, *gold_of(systems), *names, "--format", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert markdown.startswith("**b\\|2 against a_1: 6 questions**\n\n| metric | baseline | system |")
    assert "| accuracy | 33.33 | 83.33 | 50.00 | -74.21 | 174.21 | 0.5000 | 0.5000 | not significant |" in markdown
    assert main([*systems, *gold_of(systems), *names, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["part"], row["baseline_name"], row["metric"]) for row in rows] == [
        ("overall", "a_1", metric) for metric in METRICS
    ]
    assert float(rows[0]["difference"]) == 0.5
    assert main([*systems, *gold_of(systems), *names, "--format", "latex"]) == 0
    latex = capsys.readouterr().out.splitlines()
    assert latex[0] == r"\begin{tabular}{llrrrrrrl}"
    assert latex[4].startswith(r"b|2 against a\_1 & accuracy & 33.33 & 83.33 & 50.00 & -74.21 & 174.21 & 0.5000 & not")
    assert all(line.count(" & ") == 8 for line in latex if " & " in line)


def test_changes_are_listed(systems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*systems, *gold_of(systems), "--list-changes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5:] == [
        *(f"won q{n}: 'wrong' (dissimilar) -> 'answer {n}' (contained)" for n in (0, 2, 3, 5)),
        "lost q4: 'answer 4' (contained) -> 'wrong' (dissimilar)",
    ]


@pytest.mark.parametrize("options", [("--with-published", "strict"), ("--leaderboard", str(ROOT / "results"))])
def test_published_figures_are_quoted_and_marked(
    systems: list[str], capsys: pytest.CaptureFixture[str], options: tuple[str, str]
) -> None:
    assert main([*systems, *gold_of(systems), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5:] == [
        "published figures (strict), quoted: not scored here, not tested; percent",
        "  GPT-5.4 (OCR): accuracy 38.36, token_f1 39.7, anls 34.17",
        "  SimpleDoc + GPT-5.4 (Agent): accuracy 36.21, token_f1 33.62, anls 24.3",
        "  Kimi-K2.5 (OCR): accuracy 36.06, token_f1 38.24, anls 32.64",
        "  GPT-5.4 (Img): accuracy 26.77, token_f1 unknown, anls unknown",
    ]


# ---- what is refused


def _edited_report(systems: list[str], tmp_path: Path, edit: Any) -> str:
    path = tmp_path / "edited.json"
    assert evaluate_main(["--predictions", systems[0], *gold_of(systems), "--output", str(path)]) == 0
    report = json.loads(path.read_bytes())
    edit(report)
    path.write_text(json.dumps(report), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda r: r["provenance"]["gold"].update(sha256="0" * 64), "was scored on other gold (SHA-256 00000000…)"),
        (lambda r: r["provenance"]["evaluator"].update(sha256="0" * 64), "differ in the evaluator ("),
        (
            lambda r: r["provenance"]["settings"].update(missing="ignored"),
            "differ in the setting of missing questions (zero, ignored)",
        ),
        (lambda r: r["per_question"].pop(), "differ in 1 questions, such as 'q5'; --allow-different-questions"),
        (lambda r: r.pop("per_question"), "has no per_question rows; write it without --no-per-question-json"),
        (lambda r: r.pop("provenance"), "not a report of this evaluator; score the predictions again"),
        (lambda r: r["per_question"][0].pop("rule"), "not a report of this evaluator; score the predictions again"),
    ],
)
def test_scores_that_were_not_made_alike_are_refused(
    systems: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Any, message: str
) -> None:
    report = _edited_report(systems, tmp_path, edit)
    capsys.readouterr()
    assert main([systems[1], report, *gold_of(systems)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("ERROR: ")
    assert message in err


def test_different_questions_are_compared_in_common_when_allowed(
    systems: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _edited_report(systems, tmp_path, lambda r: r["per_question"].pop())
    capsys.readouterr()
    arguments = [systems[1], report, *gold_of(systems), "--allow-different-questions", "--format", "json"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["pairs"][0]["questions"] == 5
    assert err == "WARNING: 1 questions that only one of good and edited has are left out\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{poor}"], "name at least two systems: the baseline, and what is compared with it"),
        (["{poor}", "{good}", "--names", "a"], "--names gives 1 names for 2 systems; give one each"),
        (
            ["{poor}", "{good}", "--list-changes", "--format", "json"],
            "published figures and changes do not go with --format json",
        ),
        (
            ["{poor}", "{good}", "--leaderboard", "absent"],
            f"{Path('absent') / 'published_leaderboard.json'}: No such file or directory",
        ),
        (["{poor}", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["{poor}", "{other}"], "no prediction in {other} is for a question of the gold; pass the gold it is for"),
        (["{poor}", "{twice}"], "{twice}, line 2: the question id 'q0' stands in {twice}, line 1 already; keep one"),
    ],
)
def test_errors(
    systems: list[str],
    write_jsonl: WriteJsonl,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    names = {
        "poor": systems[0],
        "good": systems[1],
        "other": write_jsonl("other.jsonl", [{"id": "z", "prediction": "x"}]),
        "twice": write_jsonl("twice.jsonl", [{"id": "q0", "prediction": "x"}] * 2),
    }
    assert main([*(argument.format(**names) for argument in arguments), *gold_of(systems)]) == 1
    assert capsys.readouterr() == ("", f"ERROR: {message.format(**names)}\n")


# ---- the gate


@pytest.mark.parametrize(
    ("order", "options", "code"),
    [
        ((1, 0), ["--fail-if-worse", "accuracy=0.4"], 3),
        ((1, 0), ["--fail-if-worse", "accuracy=0.5"], 0),
        ((0, 1), ["--fail-if-worse", "accuracy=0,token_f1=0,anls=0"], 0),
        # So few documents: the interval holds 0.
        ((1, 0), ["--fail-if-worse", "accuracy=0.4", "--significant-only"], 0),
        ((1, 0), [], 0),
    ],
)
def test_the_gate(
    systems: list[str], capsys: pytest.CaptureFixture[str], order: tuple[int, int], options: list[str], code: int
) -> None:
    assert main([systems[order[0]], systems[order[1]], *gold_of(systems), *options]) == code
    err = capsys.readouterr().err
    assert err == ("FAILED: poor: accuracy is 0.500000 under good\n" if code else "")


def test_the_gate_takes_a_significant_drop(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold(f"q{n}", "x") for n in range(30)])
    before = write_jsonl("before.jsonl", [{"id": f"q{n}", "prediction": "x"} for n in range(30)])
    after = write_jsonl("after.jsonl", [{"id": f"q{n}", "prediction": "x" if n % 3 else "y"} for n in range(30)])
    options = ["--fail-if-worse", "accuracy=0.01", "--significant-only"]
    assert main([before, after, "--gold-files", gold_path, *options]) == 3
    assert capsys.readouterr().err == "FAILED: after: accuracy is 0.333333 under before\n"


def test_it_runs_as_a_module_on_reports(run: Run, tmp_path: Path) -> None:
    sample = str(EXAMPLES / "gold_sample.jsonl")
    for name in ("sample", "imperfect"):
        predictions = str(EXAMPLES / f"predictions_{name}.jsonl")
        arguments = ("--gold-files", sample, "--predictions", predictions, "--output", str(tmp_path / f"{name}.json"))
        assert run("-m", "xldocbench.evaluate", *arguments).returncode == 0
    files = (str(tmp_path / "sample.json"), str(tmp_path / "imperfect.json"))
    result = run("-W", "error", "-m", "xldocbench.compare", *files, "--gold-files", sample)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode().splitlines()[-1].startswith(signature("895bdb95", 5).rpartition("|")[0])
