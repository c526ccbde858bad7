"""The smoke test of a release: it passes on the stand-in, and names the fault of a broken release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Run
from xldocbench.quickstart import main


def _reference(document_id: str, *pages: object, url: str | None = None) -> dict[str, Any]:
    reference = {"document_id": document_id, "url": url or f"https://x.example/{document_id}"}
    return {**reference, "evidence_pages": list(pages), "evidence_items": [{"page": page} for page in pages]}


def _question(question_id: str, *references: dict[str, Any], **metadata: object) -> dict[str, Any]:
    cross = len(references) > 1
    return {
        "question_id": question_id,
        "task_type": "cross_doc" if cross else "single_doc",
        "answer": {"format": "Str", "value": "x", "verification_rule": "casefold_exact_match"},
        "metadata": {"domain": "law", "evidence_sources": ["Text"], **metadata},
        **({"documents": list(references)} if cross else {"document": references[0]}),
    }


class ReleaseFolder:
    """A release of two documents and three questions, written with whatever a test changed in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifest: dict[str, Any] = {}
        self.documents: list[dict[str, Any]] = [
            {"document_id": name, "url": f"https://x.example/{name}", "page_count": 10} for name in ("d1", "d2")
        ]
        self.single: list[dict[str, Any]] = [
            _question("s1", _reference("d1", 1, 10)),
            _question("s2", _reference("d2"), is_unanswerable=True),
        ]
        self.cross: list[dict[str, Any]] = [_question("c1", _reference("d1", 2), _reference("d2", 3))]
        self.scores: list[dict[str, Any]] = [
            {"system": system, "question_id": q, "accuracy": accuracy, "token_f1": 0.5, "anls": 0.25}
            for system in ("one", "two")
            for q, accuracy in (("s1", 1.0), ("s2", 0.0), ("c1", 0.0))
        ]
        self.summary: Any = {
            "systems": [
                {"system": system, "accuracy": 0.333333, "token_f1": 0.5, "anls": 0.25} for system in ("one", "two")
            ]
        }

    def write(self) -> None:
        def jsonl(name: str, rows: list[dict[str, Any]]) -> None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

        jsonl("data/documents.jsonl", self.documents)
        jsonl("data/qa_single_doc.jsonl", self.single)
        jsonl("data/qa_cross_doc.jsonl", self.cross)
        jsonl("results/scores.jsonl", self.scores)
        (self.root / "results" / "summary.json").write_text(json.dumps(self.summary), encoding="utf-8")
        (self.root / "manifest.json").write_text(json.dumps(self.manifest), encoding="utf-8")


@pytest.fixture
def release(tmp_path: Path) -> ReleaseFolder:
    return ReleaseFolder(tmp_path)


def check(release: ReleaseFolder, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    release.write()
    status = main(["--release-root", str(release.root)])
    return status, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("command", [("-m", "xldocbench.quickstart"), (str(ROOT / "code" / "quickstart.py"),)])
def test_the_release_of_this_checkout_passes(run: Run, command: tuple[str, ...]) -> None:
    result = run("-W", "error", *command)
    lines = result.stdout.decode().splitlines()
    assert (result.returncode, result.stderr, lines[-1]) == (0, b"", "smoke test: PASS")
    assert [line for line in lines[:-1] if not line.startswith("ok ")] == []
    assert len(lines) == 21


def test_what_the_manifest_does_not_state_is_no_failure(
    release: ReleaseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    release.manifest = {"release_version": "other", "something": [1]}
    status, lines = check(release, capsys)
    assert (status, lines[-1]) == (0, "smoke test: PASS")
    assert [line.split(":")[0] for line in lines if line.startswith("not stated")] == [
        "not stated document count",
        "not stated question count",
        "not stated questions by split",
        "not stated questions by answer_format",
        "not stated questions by verification_rule",
        "not stated questions by domain",
        "not stated questions by difficulty",
        "not stated questions by reasoning_type",
        "not stated questions by evidence_source",
        "not stated scored systems",
        "not stated release files",
        "not stated evaluator fingerprint",
    ]


FAULTS: list[tuple[Callable[[ReleaseFolder], object], str]] = [
    (
        lambda r: r.manifest.update(document_count=3),
        "document count: manifest.json states 3, found 2",
    ),
    (lambda r: r.manifest.update(qa_count=4), "question count: manifest.json states 4, found 3"),
    (
        lambda r: r.manifest.update(counts={"split": {"cross_doc": 2}}),
        "questions by split: manifest.json states {'cross_doc': 2}, found {'cross_doc': 1, 'single_doc': 2}",
    ),
    (
        lambda r: r.documents.append({**r.documents[0]}),
        "document ids: {root}/data/documents.jsonl, line 3: 'd1' stands in {root}/data/documents.jsonl, line 1 already",
    ),
    (
        lambda r: r.single.append(r.single[0]),
        "reading: {root}/data/qa_single_doc.jsonl, line 3: the question id 's1' stands in"
        " {root}/data/qa_single_doc.jsonl, line 1 already; keep one",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d9", 1)),
        "document references: qa_single_doc.jsonl, s1: document 'd9' is not in documents.jsonl",
    ),
    (
        lambda r: r.single[1].pop("document"),
        "document references: qa_single_doc.jsonl, s2: names no document",
    ),
    (
        lambda r: r.cross[0]["documents"][1].update(url="https://y.example"),
        "document references: qa_cross_doc.jsonl, c1: URL 'https://y.example' is not that of document 'd2'",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d1", 0)),
        "evidence pages: qa_single_doc.jsonl, s1: evidence page 0 is no whole number from 1",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d1", 2.0)),
        "evidence pages: qa_single_doc.jsonl, s1: evidence page 2.0 is no whole number from 1",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d1", True)),
        "evidence pages: qa_single_doc.jsonl, s1: evidence page True is no whole number from 1",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d1", 11)),
        "evidence pages: qa_single_doc.jsonl, s1: evidence page 11 is past the last of 10 pages",
    ),
    (
        lambda r: r.single[0]["document"].update(evidence_pages="1-2"),
        "evidence pages: qa_single_doc.jsonl, s1: evidence_pages is no list but '1-2'",
    ),
    (
        lambda r: r.single[0].update(document=_reference("d1")),
        "evidence: qa_single_doc.jsonl, s1: answerable, yet it has no evidence",
    ),
    (
        lambda r: r.single[1].update(document=_reference("d2", 4)),
        "evidence: qa_single_doc.jsonl, s2: unanswerable, yet it has evidence",
    ),
    (
        lambda r: r.scores.append({**r.scores[0], "question_id": "s9"}),
        "scores: {root}/results/scores.jsonl, line 7: question 's9' is not in the data",
    ),
    (
        lambda r: r.scores.append(r.scores[0]),
        "scores: {root}/results/scores.jsonl, line 7: one scores 's1' a second time",
    ),
    (
        lambda r: r.scores[1].update(anls=1.5),
        "scores: {root}/results/scores.jsonl, line 2: one, 's2': a value outside 0..1;"
        " scores.jsonl: one lacks 1 of 3 questions, such as 's2'",
    ),
    (lambda r: r.scores.pop(), "scores: scores.jsonl: two lacks 1 of 3 questions, such as 'c1'"),
    (lambda r: r.manifest.update(scored_system_count=3), "scored systems: manifest.json states 3, found 2"),
    (
        lambda r: r.summary["systems"][0].update(accuracy=0.34),
        "score summary: summary.json: one: accuracy 0.34, mean of the scores 0.333333",
    ),
    (lambda r: r.summary["systems"].pop(), "score summary: summary.json: no system two"),
    (
        lambda r: r.summary["systems"].append({**r.summary["systems"][0], "system": "three"}),
        "score summary: summary.json: three has no scores",
    ),
    (
        lambda r: r.manifest.update(release_files={"documents": {"path": "data/documents.jsonl", "sha256": "0" * 64}}),
        "release files: data/documents.jsonl: its SHA-256 is not the one in manifest.json",
    ),
    (lambda r: r.manifest.update(release_files=["data/absent.jsonl"]), "release files: data/absent.jsonl: not there"),
    (
        lambda r: r.manifest.update(release_files={"outside": "../../../etc/hosts"}),
        "release files: ../../../etc/hosts: not there",
    ),
]


@pytest.mark.parametrize(("break_it", "line"), FAULTS, ids=[line[:60] for _, line in FAULTS])
def test_a_fault_is_named_and_fails(
    release: ReleaseFolder,
    capsys: pytest.CaptureFixture[str],
    break_it: Callable[[ReleaseFolder], object],
    line: str,
) -> None:
    break_it(release)
    status, lines = check(release, capsys)
    assert (status, lines[-1]) == (1, "smoke test: FAIL")
    assert [line for line in lines[:-1] if line.startswith("FAIL")] == [
        f"FAIL       {line.format(root=release.root) if '{root}' in line else line}"
    ]


def test_another_evaluator_fails(release: ReleaseFolder, capsys: pytest.CaptureFixture[str]) -> None:
    (release.root / "code").mkdir()
    (release.root / "code" / "evaluate.py").write_bytes(b"other")
    release.manifest["score_evaluator_sha256"] = hashlib.sha256(b"other").hexdigest()
    assert check(release, capsys)[0] == 0
    release.manifest["score_evaluator_sha256"] = "0" * 64
    status, lines = check(release, capsys)
    assert status == 1
    assert "FAIL       evaluator fingerprint: code/evaluate.py: its SHA-256 is not the one in manifest.json" in lines


def test_many_faults_are_counted(release: ReleaseFolder, capsys: pytest.CaptureFixture[str]) -> None:
    release.single += [_question(f"t{n}", _reference("d9", 1)) for n in range(5)]
    release.scores = []
    _, lines = check(release, capsys)
    (line,) = [line for line in lines if "document references" in line]
    assert line.endswith("qa_single_doc.jsonl, t2: document 'd9' is not in documents.jsonl (and 2 more)")


@pytest.mark.parametrize(
    "stated",
    [
        {"documents": {"path": "data/documents.jsonl", "sha256": "{digest}"}},
        {"data/documents.jsonl": {"sha256": "{digest}"}},
        {"data/documents.jsonl": "{digest}"},
        [{"file": "data/documents.jsonl", "sha256": "{digest}"}],
    ],
)
def test_files_are_read_in_whichever_shape_the_manifest_states_them(
    release: ReleaseFolder, capsys: pytest.CaptureFixture[str], stated: Any
) -> None:
    release.write()
    digest = hashlib.sha256((release.root / "data" / "documents.jsonl").read_bytes()).hexdigest()
    release.manifest["release_files"] = json.loads(json.dumps(stated).replace("{digest}", digest))
    _, lines = check(release, capsys)
    assert "ok         release files: 1 there, 1 with the stated SHA-256" in lines


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", None, "No such file or directory; pass the release with --release-root"),
        ("manifest.json", b"[]", "not a JSON object"),
        ("manifest.json", b"{", "not valid JSON ("),
        ("data/documents.jsonl", b"{\n", "line 1: not valid JSON ("),
        ("data/qa_cross_doc.jsonl", None, "No such file or directory; pass the release with --release-root"),
        ("results/scores.jsonl", b"\xff\n", "line 1: byte 0xff is not UTF-8; save the file in UTF-8"),
        ("results/summary.json", b"{", "not valid JSON ("),
    ],
)
def test_a_file_that_cannot_be_read_fails_without_a_traceback(
    release: ReleaseFolder, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, message: str
) -> None:
    release.write()
    if content is None:
        (release.root / name).unlink()
    else:
        (release.root / name).write_bytes(content)
    assert main(["--release-root", str(release.root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (failed,) = [line for line in lines if line.startswith("FAIL")]
    assert Path(name).name in failed
    assert message in failed
    assert lines[-1] == "smoke test: FAIL"


def test_results_of_another_shape_are_not_stated(release: ReleaseFolder, capsys: pytest.CaptureFixture[str]) -> None:
    release.scores, release.summary = [{"model": "m", "id": "s1", "acc": 1}], []
    status, lines = check(release, capsys)
    assert status == 0
    assert [line.split(",")[0] for line in lines if "scores" in line] == [
        f"not stated scores: {release.root}/results/scores.jsonl"
    ]
    (release.root / "results" / "scores.jsonl").unlink()
    assert main(["--release-root", str(release.root)]) == 0
    assert "not stated scores: results/scores.jsonl is not there" in capsys.readouterr().out
