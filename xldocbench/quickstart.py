"""Smoke test of a release: is the data whole, does it agree with its manifest, does the scorer score?

    python -m xldocbench.quickstart [--release-root DIR]

One line for each check; the last line is ``smoke test: PASS``, or ``smoke test: FAIL`` with exit code 1.
What a manifest does not state is reported as ``not stated`` and is no failure: releases differ in that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xldocbench.evaluate import (
    GOLD_FILES,
    METRICS,
    EvaluationError,
    answer_kind,
    evaluate,
    load_gold_records,
    load_predictions,
    read_jsonl,
    run_command,
)

OK, FAIL, NOT_STATED = "ok", "FAIL", "not stated"

# Rows and summary are each rounded to 6 decimals, so that their means may differ by two half units.
SUMMARY_TOLERANCE = 2e-6
DOCUMENTS_FILE = "documents.jsonl"
SAMPLE_GOLD, SAMPLE_PREDICTIONS = "gold_sample.jsonl", "predictions_sample.jsonl"
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class Result(NamedTuple):
    """The outcome of one check: ok, FAIL or not stated, the name of the check, and what was found."""

    outcome: str
    name: str
    detail: str


class Release(NamedTuple):
    """What a release folder holds; results are left on disk until their check reads them."""

    root: Path
    manifest: dict[str, Any]
    documents: list[tuple[str, dict[str, Any]]]
    questions: list[dict[str, Any]]


def load_release(root: Path) -> Release:
    """Read manifest, documents and questions. Raises EvaluationError or OSError for what cannot be read."""
    path = root / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(manifest, dict):
        raise EvaluationError(f"{path}: not a JSON object")
    return Release(
        root,
        manifest,
        list(read_jsonl(root / "data" / DOCUMENTS_FILE)),
        load_gold_records(root / "data" / name for name in GOLD_FILES),
    )


def _compare(name: str, found: object, stated: object) -> Result:
    if stated is None:
        return Result(NOT_STATED, name, f"found {found}")
    if found == stated:
        return Result(OK, name, str(found))
    return Result(FAIL, name, f"manifest.json states {stated}, found {found}")


def _all_good(name: str, faults: Iterable[str], good: str) -> Result:
    """Make one result of a check over many items: the first faults are named, the rest counted."""
    found = list(faults)
    if not found:
        return Result(OK, name, good)
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    return Result(FAIL, name, "; ".join(found[:3]) + more)


def _metadata(question: dict[str, Any]) -> dict[str, Any]:
    metadata = question.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    answer = question.get("answer")
    return answer if isinstance(answer, dict) else {"format": "Str", "verification_rule": ""}


def _evidence_sources(question: dict[str, Any]) -> list[str]:
    sources = _metadata(question).get("evidence_sources")
    return [str(source) for source in sources] if isinstance(sources, list) and sources else ["unknown"]


_COUNTED: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "split": lambda question: [str(question.get("task_type"))],
    "answer_format": lambda question: [str(_answer(question).get("format"))],
    "verification_rule": lambda question: [str(_answer(question).get("verification_rule"))],
    "domain": lambda question: [str(_metadata(question).get("domain"))],
    "difficulty": lambda question: [str(_metadata(question).get("difficulty"))],
    "reasoning_type": lambda question: [str(_metadata(question).get("reasoning_type"))],
    "evidence_source": _evidence_sources,
}


def check_counts(release: Release) -> Iterator[Result]:
    manifest = release.manifest
    yield _compare("document count", len(release.documents), manifest.get("document_count"))
    yield _compare("question count", len(release.questions), manifest.get("qa_count"))
    stated = manifest.get("counts")
    for name, labels_of in _COUNTED.items():
        found = Counter(label for question in release.questions for label in labels_of(question))
        of_name = stated.get(name) if isinstance(stated, dict) else None
        yield _compare(f"questions by {name}", dict(sorted(found.items())), of_name)


def check_ids(release: Release) -> Iterator[Result]:
    # Reading the questions has refused a question id that stands twice.
    yield Result(OK, "question ids", f"{len(release.questions)}, each once")
    places: dict[str, str] = {}
    faults = []
    for where, document in release.documents:
        document_id = document.get("document_id")
        if not isinstance(document_id, str) or not document_id:
            faults.append(f"{where}: no document_id")
        elif document_id in places:
            faults.append(f"{where}: {document_id!r} stands in {places[document_id]} already")
        else:
            places[document_id] = where
    yield _all_good("document ids", faults, f"{len(places)}, each once")


def _references(question: dict[str, Any]) -> list[dict[str, Any]]:
    several = question.get("documents")
    candidates = several if isinstance(several, list) else [question.get("document")]
    return [reference for reference in candidates if isinstance(reference, dict)]


def _file_of(question: dict[str, Any]) -> str:
    return GOLD_FILES[1] if question.get("task_type") == "cross_doc" else GOLD_FILES[0]


def _is_unanswerable(question: dict[str, Any]) -> bool:
    stated = _metadata(question).get("is_unanswerable")
    return stated if isinstance(stated, bool) else answer_kind(str(_answer(question).get("format"))) == "unanswerable"


def _reference_faults(question: dict[str, Any], documents: dict[str, dict[str, Any]]) -> Iterator[str]:
    references = _references(question)
    if not references:
        yield "names no document"
    for reference in references:
        document = documents.get(str(reference.get("document_id")))
        if document is None:
            yield f"document {reference.get('document_id')!r} is not in {DOCUMENTS_FILE}"
        elif "url" in reference and reference["url"] != document.get("url"):
            yield f"URL {reference['url']!r} is not that of document {reference['document_id']!r}"


def _page_faults(question: dict[str, Any], documents: dict[str, dict[str, Any]]) -> Iterator[str]:
    for reference in _references(question):
        page_count = documents.get(str(reference.get("document_id")), {}).get("page_count")
        pages = reference.get("evidence_pages", [])
        if not isinstance(pages, list):
            yield f"evidence_pages is no list but {pages!r}"
            continue
        for page in pages:
            if type(page) is not int or page < 1:
                yield f"evidence page {page!r} is no whole number from 1"
            elif type(page_count) is int and page > page_count:
                yield f"evidence page {page} is past the last of {page_count} pages"


def _evidence_faults(question: dict[str, Any], documents: dict[str, dict[str, Any]]) -> Iterator[str]:
    has_evidence = any(
        reference.get("evidence_pages") or reference.get("evidence_items") for reference in _references(question)
    )
    if _is_unanswerable(question) and has_evidence:
        yield "unanswerable, yet it has evidence"
    elif not _is_unanswerable(question) and not has_evidence:
        yield "answerable, yet it has no evidence"


def check_questions(release: Release) -> Iterator[Result]:
    documents = {str(document.get("document_id")): document for _, document in release.documents}
    count = len(release.questions)
    checks = {
        "document references": (_reference_faults, f"{count} questions, all documents known, URLs agree"),
        "evidence pages": (_page_faults, "whole numbers from 1 to the page count"),
        "evidence": (_evidence_faults, "answerable questions have some, unanswerable ones none"),
    }
    for name, (faults_of, good) in checks.items():
        faults = (
            f"{_file_of(question)}, {question['question_id']}: {fault}"
            for question in release.questions
            for fault in faults_of(question, documents)
        )
        yield _all_good(name, faults, good)


def _is_fraction(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def check_scores(release: Release) -> Iterator[Result]:
    path = release.root / "results" / "scores.jsonl"
    systems_stated = release.manifest.get("scored_system_count")
    if not path.is_file():
        yield Result(NOT_STATED if systems_stated is None else FAIL, "scores", "results/scores.jsonl is not there")
        return
    known = {question["question_id"] for question in release.questions}
    scores: dict[str, dict[str, tuple[float, ...]]] = {}
    faults = []
    for where, row in read_jsonl(path):
        if not {"system", "question_id", *METRICS} <= row.keys():
            yield Result(NOT_STATED, "scores", f"{where}: other fields than system, question_id, {', '.join(METRICS)}")
            return
        system, question_id = str(row["system"]), str(row["question_id"])
        of_system = scores.setdefault(system, {})
        if question_id not in known:
            faults.append(f"{where}: question {question_id!r} is not in the data")
        elif question_id in of_system:
            faults.append(f"{where}: {system} scores {question_id!r} a second time")
        elif not all(_is_fraction(row[metric]) for metric in METRICS):
            faults.append(f"{where}: {system}, {question_id!r}: a value outside 0..1")
        else:
            of_system[question_id] = tuple(row[metric] for metric in METRICS)
    for system, of_system in scores.items():
        unscored = known - of_system.keys()
        if unscored:
            faults.append(
                f"{path.name}: {system} lacks {len(unscored)} of {len(known)} questions, such as {min(unscored)!r}"
            )
    yield _compare("scored systems", len(scores), systems_stated)
    yield _all_good("scores", faults, f"{len(scores)} systems x {len(known)} questions, each once, all in 0..1")
    if not faults:
        yield _check_summary(release.root / "results" / "summary.json", scores)


def _check_summary(path: Path, scores: dict[str, dict[str, tuple[float, ...]]]) -> Result:
    name = "score summary"
    if not path.is_file():
        return Result(NOT_STATED, name, "results/summary.json is not there")
    try:
        summary = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return Result(FAIL, name, f"{path.name}: not valid JSON ({error})")
    rows = summary.get("systems") if isinstance(summary, dict) else None
    if not isinstance(rows, list) or not all(isinstance(r, dict) and {"system", *METRICS} <= r.keys() for r in rows):
        return Result(NOT_STATED, name, f"{path.name} has no list `systems` with {', '.join(METRICS)}")
    faults = [f"{path.name}: no system {system}" for system in scores.keys() - {row["system"] for row in rows}]
    for row in rows:
        of_system = scores.get(row["system"])
        if of_system is None:
            faults.append(f"{path.name}: {row['system']} has no scores")
            continue
        for index, metric in enumerate(METRICS):
            mean = sum(values[index] for values in of_system.values()) / len(of_system)
            if not _is_fraction(row[metric]) or abs(mean - row[metric]) > SUMMARY_TOLERANCE:
                faults.append(f"{path.name}: {row['system']}: {metric} {row[metric]}, mean of the scores {mean:.6f}")
    return _all_good(name, sorted(faults), "the means of the scores")


def _stated_files(manifest: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield path and SHA-256 (None where not stated) of each release file, in whichever shape they are given."""
    files = manifest.get("release_files")
    entries = files.items() if isinstance(files, dict) else []
    if isinstance(files, list):
        entries = [("", file) for file in files]
    for name, entry in entries:
        if isinstance(entry, dict):
            path = entry.get("path") or entry.get("file") or name
            digest = entry.get("sha256")
            yield str(path), digest if isinstance(digest, str) else None
        elif isinstance(entry, str) and _SHA256.match(entry):
            yield name, entry
        elif isinstance(entry, str):
            yield entry, None


def check_files(release: Release) -> Iterator[Result]:
    name = "release files"
    stated = list(_stated_files(release.manifest))
    if not stated:
        yield Result(NOT_STATED, name, "manifest.json lists none")
        return
    faults, hashed = [], 0
    root = release.root.resolve()
    for path, digest in stated:
        target = (root / path).resolve()
        if not target.is_relative_to(root) or not target.is_file():
            faults.append(f"{path}: not there")
        elif digest is not None:
            hashed += 1
            if hashlib.sha256(target.read_bytes()).hexdigest() != digest:
                faults.append(f"{path}: its SHA-256 is not the one in manifest.json")
    yield _all_good(name, faults, f"{len(stated)} there, {hashed} with the stated SHA-256")


def check_evaluator(release: Release) -> Iterator[Result]:
    name = "evaluator fingerprint"
    stated = release.manifest.get("score_evaluator_sha256")
    candidates = [release.root / "xldocbench" / "evaluate.py", release.root / "code" / "evaluate.py"]
    path = next((path for path in candidates if path.is_file()), None)
    if stated is None or path is None:
        yield Result(NOT_STATED, name, "manifest.json states none" if stated is None else "no evaluate.py to compare")
    elif hashlib.sha256(path.read_bytes()).hexdigest() == stated:
        yield Result(OK, name, f"{stated[:8]}…")
    else:
        yield Result(FAIL, name, f"{path.relative_to(release.root)}: its SHA-256 is not the one in manifest.json")


def check_sample(release: Release) -> Iterator[Result]:
    name = "five-question sample"
    roots = [release.root, Path(__file__).resolve().parent.parent]
    folders = [root / "code" / "examples" for root in roots]
    folder = next((f for f in folders if (f / SAMPLE_GOLD).is_file() and (f / SAMPLE_PREDICTIONS).is_file()), None)
    if folder is None:
        yield Result(NOT_STATED, name, "no sample in code/examples")
        return
    predictions, statuses = load_predictions(folder / SAMPLE_PREDICTIONS)
    overall = evaluate(load_gold_records(folder / SAMPLE_GOLD), predictions, statuses)["overall"]
    perfect = all(overall[metric] == 1.0 for metric in METRICS)
    found = ", ".join(f"{metric} {overall[metric]}" for metric in METRICS)
    yield Result(OK if perfect else FAIL, name, found if perfect else f"{folder / SAMPLE_PREDICTIONS}: {found}")


CHECKS = (
    check_counts,
    check_ids,
    check_questions,
    check_scores,
    check_files,
    check_evaluator,
    check_sample,
)


def run_checks(root: Path) -> Iterator[Result]:
    """Yield the result of each check of the release in ``root``; a file that cannot be read is a failed check."""
    try:
        release = load_release(root)
        for check in CHECKS:
            yield from check(release)
    except EvaluationError as error:
        yield Result(FAIL, "reading", str(error))
    except OSError as error:
        yield Result(FAIL, "reading", f"{error.filename}: {error.strerror}; pass the release with --release-root")


def _default_root() -> Path:
    checkout = Path(__file__).resolve().parent.parent
    return checkout if (checkout / "manifest.json").is_file() else Path(os.curdir)


def _run(arguments: argparse.Namespace) -> int:
    failed = False
    for result in run_checks(arguments.release_root or _default_root()):
        failed = failed or result.outcome == FAIL
        print(f"{result.outcome:<10} {result.name}: {result.detail}".replace("\n", "\\n"))
    print(f"smoke test: {FAIL if failed else 'PASS'}")
    return 1 if failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 where every check passes, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m xldocbench.quickstart",
        description="Smoke test of an XL-DocBench release: the data, its manifest, its scores and the scorer.",
        epilog="exit codes: 0 every check passes   1 a check fails   2 wrong usage",
    )
    parser.add_argument(
        "--release-root",
        type=Path,
        metavar="DIR",
        help="folder with manifest.json, data/ and results/ (default: this checkout, else the current folder)",
    )
    return run_command(parser, _run, argv)


if __name__ == "__main__":
    sys.exit(main())
