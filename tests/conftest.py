from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "code" / "examples"

WriteJsonl = Callable[..., str]
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def signature(gold_fingerprint: str, count: int, missing: str = "zero", field: str = "auto") -> str:
    """Return the signature of a report by the evaluator as it stands."""
    evaluator = hashlib.sha256((ROOT / "xldocbench" / "evaluate.py").read_bytes()).hexdigest()
    return f"xldocbench|v:1.0.0|eval:{evaluator[:8]}|gold:{gold_fingerprint}|n:{count}|missing:{missing}|field:{field}"


SAMPLE_SIGNATURE = signature("895bdb95", 5)


@pytest.fixture
def write_jsonl(tmp_path: Path) -> WriteJsonl:
    """Write records as JSONL under the temporary folder and return the path."""

    def write(name: str, records: Sequence[Mapping[str, Any]]) -> str:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run Python with the given arguments in an empty folder, as a user's shell would."""

    def run_python(
        *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XLDOCBENCH"))}
        folder = tmp_path / "cwd"
        folder.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=cwd or folder,
            env={**inherited, "PYTHONPATH": str(ROOT), **environment},
            input=stdin,
            capture_output=True,
            check=False,
        )

    return run_python


def gold(question_id: str, value: object, answer_format: str = "Str", rule: str = "", **more: object) -> dict[str, Any]:
    """Return a gold record with the given answer."""
    answer = {"format": answer_format, "value": value, "verification_rule": rule}
    return {"question_id": question_id, "answer": answer, **more}
