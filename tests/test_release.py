"""The stand-in release, its results and manifest: what ships is what the scripts make, and what it should be."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, ROOT, Run
from xldocbench import extract_number, load_gold_records


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / name).read_text(encoding="utf-8").split("\n") if line]


DOCUMENTS = read("data/documents.jsonl")
SINGLE, CROSS = read("data/qa_single_doc.jsonl"), read("data/qa_cross_doc.jsonl")
QUESTIONS = SINGLE + CROSS
MANIFEST = json.loads((ROOT / "manifest.json").read_bytes())


@pytest.mark.parametrize("script", ["make_standin.py", "build_release.py"])
def test_what_ships_is_what_the_scripts_make(run: Run, script: str) -> None:
    result = run(str(ROOT / "code" / script), "--check", PYTHONHASHSEED="3")
    assert (result.returncode, result.stderr) == (0, b"")


def test_a_changed_file_is_seen(run: Run, tmp_path: Path) -> None:
    script = str(ROOT / "code" / "make_standin.py")
    assert run(script, "--output-dir", str(tmp_path / "data")).returncode == 0
    assert run(script, "--check", "--output-dir", str(tmp_path / "data")).returncode == 0
    path = tmp_path / "data" / "documents.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    result = run(script, "--check", "--output-dir", str(tmp_path / "data"))
    assert (result.returncode, result.stderr.decode()) == (1, f"{path} differs from what make_standin.py makes\n")


def test_sizes() -> None:
    assert (len(DOCUMENTS), len(SINGLE), len(CROSS)) == (292, 1191, 154)
    assert Counter((q["answer"]["format"], q["answer"]["verification_rule"]) for q in QUESTIONS) == {
        ("Str", "casefold_exact_match"): 822,
        ("Str", "choice_exact_match"): 16,
        ("Int", "numeric_tolerance"): 209,
        ("Float", "numeric_tolerance"): 67,
        ("Float", "percentage_exact"): 43,
        ("None", "exact_match"): 188,
    }


@pytest.mark.parametrize(
    ("label", "weights"),
    [
        (
            "domain",
            "legal_regulation 311 finance_business 333 technical_engineering 274 medical_clinical 294"
            " scientific_academic 218 narrative_literature 89",
        ),
        (
            "reasoning_type",
            "comparison 235 reference_chain 234 coverage 182 ranking 176 reconciliation 115 unanswerable 214"
            " set_difference 118 compliance 61 temporal 58 counterfactual 58 aggregation 47 consistency 21",
        ),
    ],
)
def test_labels_are_about_in_proportion(label: str, weights: str) -> None:
    words = weights.split()
    expected = {name: int(weight) * 1345 / 1519 for name, weight in zip(words[::2], words[1::2], strict=True)}
    found = Counter(question["metadata"][label] for question in QUESTIONS)
    assert found.keys() == expected.keys()
    assert all(abs(found[name] - share) < 3 for name, share in expected.items())


def test_other_labels() -> None:
    assert {question["metadata"]["difficulty"] for question in QUESTIONS} == {"medium", "hard", "very_hard"}
    sources = [tuple(question["metadata"]["evidence_sources"]) for question in QUESTIONS]
    assert {source for several in sources for source in several} == {"Text", "Table", "Chart", "Figure"}
    assert sum(len(several) > 1 for several in sources) > 100


def test_ids_and_titles_say_what_they_are() -> None:
    assert [question["question_id"] for question in SINGLE] == [f"standin_single_{n:06d}" for n in range(1, 1192)]
    assert [question["question_id"] for question in CROSS] == [f"standin_cross_{n:06d}" for n in range(1, 155)]
    assert [document["document_id"] for document in DOCUMENTS] == [f"standin_doc_{n:06d}" for n in range(1, 293)]
    assert all("stand-in" in document["title"] for document in DOCUMENTS)
    assert all(question["question"].startswith("[Synthetic stand-in]") for question in QUESTIONS)


def test_every_field_of_the_schema_is_filled() -> None:
    for document in DOCUMENTS:
        assert (
            list(document)
            == (
                "document_id url title domain page_count file_size_bytes source_host doc_type pdf_type public_metadata"
            ).split()
        )
        assert all(document.values())
    for question in QUESTIONS:
        assert {"question_id", "task_type", "question", "answer", "metadata"} < question.keys()
        assert set(question["answer"]) == {"format", "value", "verification_rule"}
        assert (
            list(question["metadata"])
            == ("domain reasoning_type difficulty doc_type evidence_sources is_unanswerable").split()
        )


def test_cross_document_questions_stay_in_one_series() -> None:
    series = {document["document_id"]: document["public_metadata"]["series"] for document in DOCUMENTS}
    sizes = set()
    for question in CROSS:
        ids = [reference["document_id"] for reference in question["documents"]]
        assert len(set(ids)) == len(ids)
        assert len({series[document_id] for document_id in ids}) == 1
        sizes.add(len(ids))
    assert sizes == {2, 3, 4, 5, 6}


def test_unanswerable_questions_have_no_evidence_and_the_others_have_quotes() -> None:
    for question in QUESTIONS:
        references = question.get("documents") or [question["document"]]
        unanswerable = question["answer"]["format"] == "None"
        assert question["metadata"]["is_unanswerable"] is unanswerable
        assert (question["metadata"]["reasoning_type"] == "unanswerable") is unanswerable
        for reference in references:
            assert bool(reference["evidence_pages"]) is not unanswerable
            assert [item["page"] for item in reference["evidence_items"]] == reference["evidence_pages"]
            assert all(item["quote"] and item["source"] for item in reference["evidence_items"])


def _golds(answer_format: str, rule: str) -> list[str]:
    answers = [question["answer"] for question in QUESTIONS]
    return [a["value"] for a in answers if (a["format"], a["verification_rule"]) == (answer_format, rule)]


def test_golds_have_the_variety_of_real_ones() -> None:
    texts = _golds("Str", "casefold_exact_match")
    assert {len(text.split()) for text in texts} >= {1, 2, 3, 4, 5, 6, 8, 10, 12, 15}
    assert sum(not text.isascii() for text in texts) > 50
    assert sum(re.search(r"[(=≤/:$]", text) is not None for text in texts) > 50
    percentages = _golds("Float", "percentage_exact")
    assert (sum("%" in text for text in percentages), sum("," in text for text in percentages)) == (33, 1)
    integers, floats = _golds("Int", "numeric_tolerance"), _golds("Float", "numeric_tolerance")
    for numbers in (integers, floats):
        assert any(text.startswith("-") for text in numbers)
        assert any("," in text for text in numbers)
    assert all(extract_number(text) is not None for text in integers + floats + percentages)
    assert set(_golds("Str", "choice_exact_match")) == set("ABCD")


def test_scores_and_summary() -> None:
    scores = read("results/scores.jsonl")
    assert len(scores) == 17_485
    assert all(list(row) == "system question_id status accuracy token_f1 anls".split() for row in scores)
    summary = json.loads((ROOT / "results" / "summary.json").read_bytes())
    assert summary["synthetic"] is True
    assert len(summary["systems"]) == 13
    assert summary["systems"][0] == {
        "system": "perfect",
        "question_count": 1345,
        "prediction_count": 1345,
        "missing_prediction_count": 0,
        "failed_prediction_count": 0,
        "accuracy": 1.0,
        "token_f1": 1.0,
        "anls": 1.0,
    }


def test_reference_systems_show_the_fault_they_are_named_for() -> None:
    summary = json.loads((ROOT / "results" / "summary.json").read_bytes())
    accuracy = {row["system"]: row["accuracy"] for row in summary["systems"]}
    assert accuracy["perfect_in_a_sentence"] == 1.0
    assert accuracy["always_refuses"] == round(188 / 1345, 6)
    assert accuracy["never_refuses"] == round(1157 / 1345, 6)
    assert accuracy["every_fifth_missing"] == accuracy["every_fifth_failed"] == 0.8
    assert 1.0 > accuracy["character_noise_5_percent"] > accuracy["character_noise_20_percent"] > 0.0
    for system in ("numbers_rounded_to_one_digit", "decimal_commas", "shuffled_words", "first_half"):
        assert accuracy[system] < 1.0


def test_the_published_figures_are_quoted_with_their_note() -> None:
    quoted = json.loads((ROOT / "results" / "published_leaderboard.json").read_bytes())
    assert quoted["note"].startswith("Figures published by the benchmark's authors; none was reproduced here.")
    assert (len(quoted["strict_1345"]), len(quoted["paper_1519"])) == (4, 27)
    ours = {row["system"] for row in json.loads((ROOT / "results" / "summary.json").read_bytes())["systems"]}
    assert not ours & {row["system"] for row in quoted["strict_1345"] + quoted["paper_1519"]}


def test_manifest() -> None:
    assert MANIFEST["release_version"] == "xldocbench_standin_1345_v1"
    assert (MANIFEST["synthetic"], MANIFEST["document_count"], MANIFEST["qa_count"]) == (True, 292, 1345)
    assert MANIFEST["scored_system_count"] == 13
    assert (
        list(MANIFEST["counts"])
        == ("split answer_format verification_rule domain difficulty reasoning_type evidence_source").split()
    )
    assert {"per_question_scores", "score_summary", "documents"} < MANIFEST["release_files"].keys()


def test_the_sample_is_five_placeholder_questions() -> None:
    records = load_gold_records(EXAMPLES / "gold_sample.jsonl")
    assert [(record["question_id"], record["answer"]["value"]) for record in records] == [
        ("adubench_single_000001", "the biggest single risk to human health worldwide"),
        ("adubench_single_000002", "25"),
        ("adubench_single_000083", "B"),
        ("adubench_single_000193", "Not answerable"),
        ("adubench_cross_000001", "macroprudential measures"),
    ]
    assert all(record["question"].startswith("[Placeholder wording") for record in records)


def test_the_minimal_loader(run: Run) -> None:
    result = run(str(EXAMPLES / "load_data.py"), PYTHONIOENCODING="ascii")
    lines = result.stdout.decode().splitlines()
    assert lines[:3] == ["documents: 292", "single_doc: 1191", "cross_doc: 154"]
    assert lines[3].startswith('first question: {"question_id": "standin_single_000001"')
    elsewhere = run(str(EXAMPLES / "load_data.py"), "--release-root", str(ROOT))
    assert elsewhere.stdout == result.stdout


def test_the_predictions_of_the_reference_systems_can_be_written(run: Run, tmp_path: Path) -> None:
    assert run(str(ROOT / "code" / "reference_systems.py"), "--output-dir", str(tmp_path)).returncode == 0
    assert len(list(tmp_path.glob("*.jsonl"))) == 13
    path = str(tmp_path / "decimal_commas.jsonl")
    scored = run("-m", "xldocbench.evaluate", "--predictions", path)
    summary = json.loads((ROOT / "results" / "summary.json").read_bytes())
    (accuracy,) = [row["accuracy"] for row in summary["systems"] if row["system"] == "decimal_commas"]
    assert f"Accuracy: {accuracy:.2%}" in scored.stdout.decode()
