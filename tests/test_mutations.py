"""Two thousand damaged files: each gives the score of what is undamaged, or one line that says what is wrong."""

from __future__ import annotations

import gzip
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.conftest import EXAMPLES, WriteJsonl, gold
from xldocbench.evaluate import main

GOLD = [gold("q0", "alpha beta, is it"), gold("q1", "25.3", "Float"), gold("q2", "", "None")]
IDS = frozenset(("q0", "q1", "q2"))
SAMPLES = sorted(path for path in (EXAMPLES / "formats").iterdir() if path.is_file())
MUTATIONS = 44
DEEP = "[" * 50_000 + "]" * 50_000
SWAPS: list[Any] = [None, True, 0, -1.5, "", "text", [], {}, [None], {"a": 1}, "9" * 400, "x" * 100_000, 10**400]


class Damaged:
    """A file after a mutation, and the ids whose records it may have touched."""

    def __init__(self, content: bytes, touched: frozenset[str]) -> None:
        self.content = content
        self.touched = touched


def _ids_in(lines: list[bytes]) -> frozenset[str]:
    return frozenset(question for question in IDS for line in lines if question.encode() in line)


def _flip(draw: random.Random, content: bytes) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << draw.randrange(8))]) + content[place + 1 :]


def _swap_type(draw: random.Random, value: Any) -> Any:
    """Replace one value within a JSON value by one of another type."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(sorted(value))
        return {**value, key: _swap_type(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        index = draw.randrange(len(value))
        return [*value[:index], _swap_type(draw, value[index]), *value[index + 1 :]]
    return draw.choice(SWAPS)


def _damage_lines(draw: random.Random, content: bytes) -> Damaged:
    """Damage one line of a file of one record a line, or the order of its lines."""
    lines = content.splitlines(keepends=True)
    index = draw.randrange(len(lines))
    line = lines[index]
    touched = _ids_in([line])
    kind = draw.choice(("flip", "cut", "swap", "twice", "shuffled", "deep", "noise"))
    if kind == "flip":
        # A flipped line end joins or parts lines.
        return Damaged(b"".join([*lines[:index], _flip(draw, line), *lines[index + 1 :]]), _ids_in(lines[index:]))
    if kind == "cut":
        return Damaged(b"".join(lines[:index]) + line[: draw.randrange(len(line))], _ids_in(lines[index:]))
    if kind == "twice":
        return Damaged(b"".join([*lines[: index + 1], line, *lines[index + 1 :]]), frozenset())
    if kind == "shuffled":
        return Damaged(b"".join(draw.sample(lines, len(lines))), frozenset())
    record = json.loads(line)
    if kind == "swap":
        record = _swap_type(draw, record)
    written = json.dumps(record).encode() + b"\n"
    if kind == "deep":
        written = written.replace(b'": ', b'": ' + DEEP.encode() + b', "": ', 1)
    if kind == "noise":
        written = bytes(draw.randrange(256) for _ in range(40)) + b"\n"
    # Who replaces the id in a record may hit on another question's.
    return Damaged(b"".join([*lines[:index], written, *lines[index + 1 :]]), touched | _ids_in([written]))


def _damage_whole(draw: random.Random, content: bytes) -> Damaged:
    """Damage a file in which one byte may bear on every record."""
    kind = draw.choice(("flip", "flip", "cut", "twice", "swap", "noise"))
    if kind == "cut":
        return Damaged(content[: draw.randrange(len(content))], IDS)
    if kind == "twice":
        return Damaged(content + content, IDS)
    if kind == "swap" and content.startswith(b"{"):
        return Damaged(json.dumps(_swap_type(draw, json.loads(content))).encode(), IDS)
    if kind == "noise":
        place = draw.randrange(len(content))
        return Damaged(content[:place] + draw.randbytes(30) + content[place:], IDS)
    return Damaged(_flip(draw, content), IDS)


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """Fail, where the platform can, instead of waiting for ever."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError("a damaged file took more than 5 s")

    if hasattr(signal, "SIGALRM"):
        previous = signal.signal(signal.SIGALRM, give_up)
        yield
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    else:
        yield


def rows_of(report: Path) -> dict[str, Any]:
    return {row["question_id"]: row for row in json.loads(report.read_bytes())["per_question"]}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_damaged_file_is_scored_as_far_as_it_is_whole_or_refused_in_one_line(
    sample: Path, tmp_path: Path, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    content, report = sample.read_bytes(), tmp_path / "report.json"
    arguments = ["--gold-files", write_jsonl("gold.jsonl", GOLD), "--output", str(report), "--predictions"]
    assert main([*arguments, str(sample)]) == 0
    whole = rows_of(report)
    for seed in range(MUTATIONS):
        draw = random.Random(f"{sample.name} {seed}")
        damage = _damage_lines if sample.suffix == ".jsonl" else _damage_whole
        damaged = damage(draw, content)
        packed = draw.random() < 0.15
        path = tmp_path / f"{seed}{sample.suffix}"
        path.write_bytes(gzip.compress(damaged.content) if packed else damaged.content)
        report.write_bytes(b"previous")
        capsys.readouterr()
        if hasattr(signal, "SIGALRM"):
            signal.alarm(5)
        code = main([*arguments, str(path)])
        output = capsys.readouterr()
        if code:
            assert (code, output.out, output.err.count("\n")) == (1, "", 1), (seed, output)
            assert output.err.startswith("ERROR: "), (seed, output)
            assert report.read_bytes() == b"previous", seed
        else:
            found = rows_of(report)
            untouched = IDS - damaged.touched
            assert {q: found[q] for q in untouched} == {q: whole[q] for q in untouched}, (seed, damaged.touched)
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


def test_there_are_two_thousand_of_them() -> None:
    assert len(SAMPLES) * MUTATIONS >= 2000
