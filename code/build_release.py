"""Rebuild results/, manifest.json, the expected report of the sample and the README's signatures.

python code/build_release.py            write them
python code/build_release.py --check    compare with what is there; exit 1 on any drift
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_systems import ROOT, SYSTEMS, predictions_of

from xldocbench.evaluate import GOLD_FILES, evaluate, load_gold_records, read_jsonl
from xldocbench.evaluate import main as main_of_evaluator

NOTE = (
    "Synthetic stand-in data: thirteen reference systems made from the gold by code/reference_systems.py."
    " No model was run, and nothing here is a score on XL-DocBench."
)
DATA_FILES = {
    "documents": "data/documents.jsonl",
    "qa_single_doc": "data/qa_single_doc.jsonl",
    "qa_cross_doc": "data/qa_cross_doc.jsonl",
}
RESULT_FILES = {"per_question_scores": "results/scores.jsonl", "score_summary": "results/summary.json"}
QUOTED_FILES = {"published_leaderboard": "results/published_leaderboard.json"}
EVALUATOR = "xldocbench/evaluate.py"
EXPECTED_REPORT = "code/examples/expected_report.json"
README = "README.md"
SCORE_KEYS = ("question_id", "status", "accuracy", "token_f1", "anls")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def make_results(gold_records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    """Score every reference system; return the two result files: path → bytes."""
    lines, systems = [], []
    for system in SYSTEMS:
        records = predictions_of(system, gold_records)
        report = evaluate(
            gold_records,
            {record["question_id"]: record["prediction"] for record in records},
            {record["question_id"]: record["status"] for record in records if "status" in record},
        )
        for row in report["per_question"]:
            lines.append(json.dumps({"system": system, **{key: row[key] for key in SCORE_KEYS}}) + "\n")
        overall = report["overall"]
        systems.append(
            {
                "system": system,
                "question_count": overall["count"],
                "prediction_count": report["prediction_count"],
                "missing_prediction_count": report["missing_prediction_count"],
                "failed_prediction_count": report["failed_prediction_count"],
                "accuracy": overall["accuracy"],
                "token_f1": overall["token_f1"],
                "anls": overall["anls"],
            }
        )
    return {
        RESULT_FILES["per_question_scores"]: "".join(lines).encode(),
        RESULT_FILES["score_summary"]: _json({"note": NOTE, "synthetic": True, "systems": systems}),
    }


def _counts(labels: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(labels).items()))


def make_manifest(gold_records: Sequence[dict[str, Any]], contents: dict[str, bytes]) -> bytes:
    """Describe the release: counts, files with their SHA-256, and the evaluator that scored it."""
    files = {**DATA_FILES, **RESULT_FILES, **QUOTED_FILES}
    metadata = [record["metadata"] for record in gold_records]
    answers = [record["answer"] for record in gold_records]
    return _json(
        {
            "release_version": "xldocbench_standin_1345_v1",
            "synthetic": True,
            "note": "A synthetic stand-in of the size and shape of XL-DocBench; not the benchmark.",
            "document_count": sum(1 for _ in read_jsonl(ROOT / DATA_FILES["documents"])),
            "qa_count": len(gold_records),
            "counts": {
                "split": _counts(record["task_type"] for record in gold_records),
                "answer_format": _counts(answer["format"] for answer in answers),
                "verification_rule": _counts(answer["verification_rule"] for answer in answers),
                "domain": _counts(labels["domain"] for labels in metadata),
                "difficulty": _counts(labels["difficulty"] for labels in metadata),
                "reasoning_type": _counts(labels["reasoning_type"] for labels in metadata),
                "evidence_source": _counts(
                    source for labels in metadata for source in labels["evidence_sources"] or ["unknown"]
                ),
            },
            "release_files": {name: {"path": path, "sha256": _sha256(contents[path])} for name, path in files.items()},
            "score_evaluator_sha256": _sha256((ROOT / EVALUATOR).read_bytes()),
            "scored_system_count": len(SYSTEMS),
        }
    )


def make_release() -> dict[str, bytes]:
    """Return the files that this script owns: path → bytes."""
    gold_records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    made = make_results(gold_records)
    kept = {path: (ROOT / path).read_bytes() for path in (*DATA_FILES.values(), *QUOTED_FILES.values())}
    manifest = make_manifest(gold_records, {**kept, **made})
    return {**made, "manifest.json": manifest, EXPECTED_REPORT: make_expected_report(), README: make_readme()}


def make_expected_report() -> bytes:
    """Score the imperfect sample as the command line does."""
    examples = ROOT / "code" / "examples"
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        output = Path(folder) / "report.json"
        files = ["--gold-files", str(examples / "gold_sample.jsonl")]
        files += ["--predictions", str(examples / "predictions_imperfect.jsonl")]
        main_of_evaluator([*files, "--output", str(output)])
        return output.read_bytes()


def make_readme() -> bytes:
    """Bring the evaluator's fingerprint in the signatures that the README shows up to date."""
    fingerprint = _sha256((ROOT / EVALUATOR).read_bytes())[:8]
    return re.sub(rb"(?<=\|eval:)\w{8}(?=\|gold:)", fingerprint.encode(), (ROOT / README).read_bytes())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Rebuild results/ and manifest.json.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 where a file differs")
    arguments = parser.parse_args(argv)
    status = 0
    for path, content in make_release().items():
        target = ROOT / path
        if not arguments.check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        elif not target.is_file() or target.read_bytes() != content:
            print(f"{path} is out of date; run: python code/build_release.py", file=sys.stderr)
            status = 1
    print(f"release {'out of date' if status else 'as built' if arguments.check else 'written'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
