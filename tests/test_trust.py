"""Error bars, the gate and the fingerprint of a score."""

from __future__ import annotations

import hashlib
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from reference_systems import predictions_of

from tests.conftest import EXAMPLES, ROOT, SAMPLE_SIGNATURE, Run, WriteJsonl, gold, signature
from xldocbench import Score, load_gold_records
from xldocbench.evaluate import GOLD_FILES, Verdict, index_questions, judge_predictions, main, predictions_of_lines
from xldocbench.uncertainty import clusters_of, confidence_of, error_bar, student_t_quantile

GOLD = str(EXAMPLES / "gold_sample.jsonl")
PERFECT = str(EXAMPLES / "predictions_sample.jsonl")
IMPERFECT = str(EXAMPLES / "predictions_imperfect.jsonl")


# ---- clusters


def _documents(*ids: str) -> dict[str, Any]:
    return {"documents": [{"document_id": document_id} for document_id in ids]}


def test_clusters() -> None:
    records = [
        gold("a", "x", document={"document_id": "d1"}),
        gold("b", "x", document={"document_id": "d1"}),
        gold("c", "x", document={"document_id": "d4"}),
        gold("d", "x", **_documents("d3", "d2")),
        gold("e", "x", **_documents("d4", "d3")),
        gold("f", "x", document={"document_id": "d9"}),
        gold("g", "x"),
        gold("h", "x", document={"document_id": None}),
        gold("i", "x", documents=[]),
    ]
    expected = {
        "a": "d1",
        "b": "d1",
        "c": "d2",
        "d": "d2",
        "e": "d2",
        "f": "d9",
        "g": "question g",
        "h": "question h",
        "i": "question i",
    }
    assert clusters_of(records) == expected
    assert clusters_of(records[::-1]) == expected


def test_clusters_through_a_chain_of_a_thousand_documents() -> None:
    order = list(range(1000))
    random.Random(4).shuffle(order)
    records = [gold(f"q{n}", "x", **_documents(f"d{n:04d}", f"d{n + 1:04d}")) for n in order]
    assert set(clusters_of(records).values()) == {"d0000"}


# ---- Student's t


@pytest.mark.parametrize(
    ("probability", "degrees", "tabled"),
    [
        (0.975, 1, 12.7062047364),
        (0.975, 2, 4.30265272991),
        (0.975, 3, 3.18244630528),
        (0.975, 5, 2.57058183661),
        (0.975, 10, 2.22813885196),
        (0.975, 30, 2.04227245630),
        (0.975, 100, 1.98397151845),
        (0.975, 1000, 1.96233908082),
        (0.95, 7, 1.89457860506),
        (0.995, 20, 2.84533970978),
    ],
)
def test_quantiles_of_students_t(probability: float, degrees: int, tabled: float) -> None:
    assert student_t_quantile(probability, degrees) == pytest.approx(tabled, rel=1e-9)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.999])
def test_quantiles_that_have_a_closed_form(probability: float) -> None:
    assert student_t_quantile(probability, 1) == pytest.approx(math.tan(math.pi * (probability - 0.5)), rel=1e-9)
    share = 4 * probability * (1 - probability)
    assert student_t_quantile(probability, 2) == pytest.approx(2 * (probability - 0.5) * math.sqrt(2 / share), rel=1e-9)


# ---- error bars


def _se_by_pairs(values: list[float], clusters: list[str]) -> float:
    """The same standard error by another route: the double sum over all pairs within a cluster."""
    count, groups = len(values), len(set(clusters))
    mean = sum(values) / count
    total = sum(
        (values[i] - mean) * (values[j] - mean)
        for i in range(count)
        for j in range(count)
        if clusters[i] == clusters[j]
    )
    return math.sqrt(groups / (groups - 1) * total) / count


def test_a_bar_by_hand() -> None:
    # Mean 0.5; cluster sums of deviations 1, -0.5, -0.5; SE² = 3/2 · 1.5 / 16.
    bar = error_bar([1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "c"])
    assert (bar.mean, bar.clusters) == (0.5, 3)
    assert bar.se == pytest.approx(math.sqrt(1.5 * 1.5 / 16), rel=1e-12)
    assert bar.high == pytest.approx(0.5 + 4.30265272991 * 0.375, rel=1e-9)
    assert bar.low == pytest.approx(0.5 - 4.30265272991 * 0.375, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_bars_equal_another_route_and_know_no_order(seed: int) -> None:
    draws = random.Random(seed)
    values = [draws.random() for _ in range(80)]
    clusters = [f"c{draws.randrange(12)}" for _ in values]
    bar = error_bar(values, clusters)
    assert bar.se == pytest.approx(_se_by_pairs(values, clusters), abs=1e-12)
    order = list(range(80))
    draws.shuffle(order)
    assert error_bar([values[i] for i in order], [clusters[i] for i in order]) == bar


def test_with_each_value_its_own_cluster_it_is_the_usual_standard_error() -> None:
    values = [0.0, 1.0, 1.0, 0.25, 0.5]
    usual = math.sqrt(sum((value - 0.55) ** 2 for value in values) / 4 / 5)
    assert error_bar(values, list("abcde")).se == pytest.approx(usual, abs=1e-12)


@pytest.mark.parametrize(("values", "mean", "clusters"), [([], 0.0, 0), ([0.5, 1.0], 0.75, 1)])
def test_fewer_than_two_clusters_state_no_error(values: list[float], mean: float, clusters: int) -> None:
    assert error_bar(values, ["a"] * len(values)) == (mean, None, None, None, clusters)


def _standin_verdicts() -> tuple[list[Verdict], dict[str, str]]:
    records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    questions = index_questions(records)
    lines = [json.dumps(record).encode() for record in predictions_of("character_noise_20_percent", records)]
    judged = judge_predictions(questions, predictions_of_lines("p", lines, ""))
    scores: dict[str, Score] = {p.question_id: score for p, score in judged if score is not None}
    verdicts = [Verdict(question, None, "success", scores[name]) for name, question in questions.items()]
    return verdicts, clusters_of(records)


def test_bars_on_the_standin_equal_another_route() -> None:
    verdicts, clusters = _standin_verdicts()
    block = confidence_of(verdicts, clusters)
    labels = [clusters[verdict.question.question_id] for verdict in verdicts]
    assert block["clusters"] == len(set(labels))
    assert block["overall"]["anls"]["se"] == pytest.approx(
        _se_by_pairs([verdict.score.anls for verdict in verdicts], labels), abs=1e-9
    )
    chosen = [i for i, verdict in enumerate(verdicts) if verdict.question.domain == "narrative_literature"]
    of_domain = block["breakdowns"]["domain"]["narrative_literature"]
    assert of_domain["clusters"] == len({labels[i] for i in chosen})
    assert of_domain["accuracy"]["se"] == pytest.approx(
        _se_by_pairs([verdicts[i].score.accuracy for i in chosen], [labels[i] for i in chosen]), abs=1e-9
    )
    assert confidence_of(verdicts[::-1], clusters) == block


# ---- the command line


def test_confidence_is_added_to_report_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_bars, without = tmp_path / "with.json", tmp_path / "without.json"
    arguments = ["--gold-files", GOLD, "--predictions", IMPERFECT, "--output"]
    assert main([*arguments, str(with_bars), "--confidence"]) == 0
    assert "Accuracy: 20.00% ± 55.53%\n" in capsys.readouterr().out
    assert main([*arguments, str(without)]) == 0
    assert "±" not in capsys.readouterr().out
    report = json.loads(with_bars.read_bytes())
    assert list(report)[-2:] == ["confidence", "provenance"]
    block = report.pop("confidence")
    assert report == json.loads(without.read_bytes())
    assert list(block) == ["method", "level", "clusters", "overall", "breakdowns"]
    assert (block["level"], block["clusters"]) == (0.95, 5)
    accuracy = block["overall"]["accuracy"]
    assert (accuracy["low"], accuracy["high"]) == (0.0, pytest.approx(0.2 + 0.5553, abs=1e-4))
    # One cluster alone: not stated.
    assert block["breakdowns"]["split"]["cross_doc"] == {
        "clusters": 1,
        **{metric: {"se": None, "low": None, "high": None} for metric in ("accuracy", "token_f1", "anls")},
    }


def test_confidence_is_of_the_questions_evaluated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    arguments = ["--gold-files", GOLD, "--predictions", IMPERFECT, "--ignore-missing", "--confidence"]
    assert main([*arguments, "--output", str(path)]) == 0
    assert json.loads(path.read_bytes())["confidence"]["clusters"] == 4


def test_one_cluster_states_no_error(write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]) -> None:
    gold_path = write_jsonl("gold.jsonl", [gold("q", "x")])
    predictions = write_jsonl("p.jsonl", [{"id": "q", "prediction": "x"}])
    assert main(["--gold-files", gold_path, "--predictions", predictions, "--confidence"]) == 0
    assert "Accuracy: 100.00% ± not stated\n" in capsys.readouterr().out


@pytest.mark.parametrize(("encoding", "sign"), [("ascii", b"+/-"), ("cp1252", b"\xb1"), ("utf-8", b"\xc2\xb1")])
def test_the_sign_prints_on_any_terminal(run: Run, encoding: str, sign: bytes) -> None:
    arguments = ("--gold-files", GOLD, "--predictions", IMPERFECT, "--confidence")
    result = run("-m", "xldocbench.evaluate", *arguments, PYTHONIOENCODING=encoding)
    assert b"Accuracy: 20.00% " + sign + b" 55.53%" in result.stdout


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_confidence_is_the_same_for_any_number_of_processes(tmp_path: Path, jobs: str) -> None:
    arguments = ["--gold-files", GOLD, "--predictions", IMPERFECT, "--confidence", "--jobs"]
    assert main([*arguments, "1", "--output", str(tmp_path / "one.json")]) == 0
    assert main([*arguments, jobs, "--output", str(tmp_path / "other.json")]) == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()
    several = ["--gold-files", GOLD, "--predictions", IMPERFECT, PERFECT, "--confidence", "--jobs", jobs]
    assert main([*several, "--output", str(tmp_path / "several")]) == 0
    report = (tmp_path / "several" / "predictions_imperfect.json").read_bytes()
    assert report == (tmp_path / "one.json").read_bytes()


def test_several_systems_show_bars_under_their_heads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--gold-files", GOLD, "--predictions", IMPERFECT, PERFECT, "--confidence"]) == 0
    head, row = capsys.readouterr().out.splitlines()[1:3]
    assert row.index("20.00% ±") + len("20.00%") == head.index("Accuracy") + len("Accuracy")
    assert row.index("14.74% ±") + len("14.74%") == head.index("Token F1") + len("Token F1")
    assert row.index("12.25% ±") + len("12.25%") == head.index("ANLS") + len("ANLS")


@pytest.mark.parametrize(
    ("limits", "code", "line"),
    [
        ("accuracy=0.2", 0, ""),
        ("accuracy=0.2,token_f1=0.1, anls = 0", 0, ""),
        ("accuracy=0.200001", 3, "FAILED: {name}: accuracy 0.2 is under 0.200001\n"),
        (
            "accuracy=0.1,token_f1=0.2,anls=1",
            3,
            "FAILED: {name}: token_f1 0.147368 is under 0.2; {name}: anls 0.1225 is under 1.0\n",
        ),
    ],
)
def test_fail_under(tmp_path: Path, capsys: pytest.CaptureFixture[str], limits: str, code: int, line: str) -> None:
    path = tmp_path / "report.json"
    arguments = ["--gold-files", GOLD, "--predictions", IMPERFECT, "--output", str(path)]
    assert main([*arguments, "--fail-under", limits]) == code
    warning, _, rest = capsys.readouterr().err.partition("\n")
    assert warning.startswith("WARNING: 1 of 5 predictions")
    assert rest == line.format(name=IMPERFECT)
    assert path.exists()


def test_fail_under_looks_at_every_system(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--gold-files", GOLD, "--predictions", PERFECT, IMPERFECT, "--fail-under", "accuracy=0.5"]
    assert main(arguments) == 3
    assert "FAILED: predictions_imperfect: accuracy 0.2 is under 0.5\n" in capsys.readouterr().err


@pytest.mark.parametrize("limits", ["accuracy", "accuracy=", "accuracy=x", "accuracy=35", "f1=0.3", "anls=nan", ""])
def test_a_limit_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str], limits: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["--gold-files", GOLD, "--predictions", PERFECT, f"--fail-under={limits}"])
    assert exit_info.value.code == 2
    assert "is not METRIC=X with a metric of accuracy, token_f1, anls and X in 0..1" in capsys.readouterr().err


# ---- the fingerprint


def _provenance(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    path = tmp_path / "report.json"
    assert main([*arguments, "--output", str(path)]) == 0
    provenance = json.loads(path.read_bytes())["provenance"]
    assert isinstance(provenance, dict)
    return provenance


def _sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_provenance_names_everything_that_made_the_score(tmp_path: Path) -> None:
    assert _provenance(tmp_path, "--gold-files", GOLD, "--predictions", PERFECT) == {
        "evaluator": {
            "name": "xldocbench",
            "version": "1.0.0",
            "sha256": _sha256(ROOT / "xldocbench" / "evaluate.py"),
        },
        "gold": {"files": ["gold_sample.jsonl"], "sha256": _sha256(GOLD)},
        "predictions": {"file": "predictions_sample.jsonl", "format": "plain", "sha256": _sha256(PERFECT)},
        "settings": {"missing": "zero", "prediction_field": "auto"},
        "signature": SAMPLE_SIGNATURE,
    }


def test_the_signature_follows_settings_and_count(tmp_path: Path) -> None:
    arguments = ("--gold-files", GOLD, "--predictions", IMPERFECT)
    more = ("--ignore-missing", "--prediction-field", "prediction")
    assert _provenance(tmp_path, *arguments, *more)["signature"] == signature("895bdb95", 4, "ignored", "prediction")


def test_the_gold_of_several_files_has_one_fingerprint_in_any_order(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    first, second = write_jsonl("a.jsonl", [gold("q", "x")]), write_jsonl("b.jsonl", [gold("r", "x")])
    predictions = write_jsonl("p.jsonl", [{"id": "q", "prediction": "x"}])
    both = Path(first).read_bytes() + Path(second).read_bytes()
    for files in ((first, second), (second, first)):
        found = _provenance(tmp_path, "--gold-files", *files, "--predictions", predictions)["gold"]
        assert found == {"files": ["a.jsonl", "b.jsonl"], "sha256": hashlib.sha256(both).hexdigest()}


def test_the_release_is_named_where_its_manifest_stands_beside(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    predictions = write_jsonl("p.jsonl", [{"id": "standin_single_000001", "prediction": "x"}])
    found = _provenance(tmp_path, "--data-dir", str(ROOT / "data"), "--predictions", predictions)["gold"]
    assert (found["release_version"], found["synthetic"]) == ("xldocbench_standin_1345_v1", True)
    gold_path = write_jsonl("gold.jsonl", [gold("standin_single_000001", "x")])
    for content in (b"{", b"[]", b"\xff", b'{"other": 1}'):
        (tmp_path / "manifest.json").write_bytes(content)
        found = _provenance(tmp_path, "--gold-files", gold_path, "--predictions", predictions)["gold"]
        assert list(found) == ["files", "sha256"]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", b'\xef\xbb\xbf{"id": "q", "prediction": "x"}\r\n\r\n'),
        ("p.json", b' {"q": "x"}\n'),
    ],
)
def test_the_fingerprint_of_predictions_is_that_of_the_file(
    tmp_path: Path, write_jsonl: WriteJsonl, name: str, content: bytes, jobs: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    gold_path = write_jsonl("gold.jsonl", [gold("q", "x")])
    found = _provenance(tmp_path, "--gold-files", gold_path, "--predictions", str(path), "--jobs", jobs)
    assert found["predictions"]["sha256"] == hashlib.sha256(content).hexdigest()
