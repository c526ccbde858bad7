"""Thirteen reference systems: each a deterministic change of the gold, named for what it does.

They show how the three metrics react to known faults. No model answered anything.

    python code/reference_systems.py --output-dir DIR     write one predictions file for each
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from xldocbench.evaluate import (  # noqa: E402
    GOLD_FILES,
    Question,
    Verdict,
    answer_kind,
    collect,
    extract_number,
    judge_predictions,
    load_gold_records,
)
from xldocbench.evaluate import Prediction as Given  # noqa: E402

Prediction = dict[str, Any] | None
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_REASONING = (
    "I start with page {page}, where the table lists {count} rows, and compare them with the figure beside it. ",
    "The note below it refers to the schedule in section {page}, so I follow that reference next. ",
    "Two passages look alike, but only one of them names the same year and the same {count} items. ",
    "The summary on page {page} repeats the value in other words, which supports this reading. ",
)


def _text(record: dict[str, Any]) -> str:
    return str(record["answer"]["value"])


def _is_number(record: dict[str, Any]) -> bool:
    answer = record["answer"]
    return answer_kind(answer["format"], answer["verification_rule"]) == "number"


def _draws(record: dict[str, Any], purpose: str) -> Callable[[], float]:
    # Only `random()` of a generator seeded by text gives the same numbers in every Python version.
    return random.Random(f"{purpose} {record['question_id']}").random


def perfect(record: dict[str, Any], index: int) -> Prediction:
    return {"prediction": _text(record)}


def perfect_in_a_sentence(record: dict[str, Any], index: int) -> Prediction:
    return {"prediction": f"According to the documents, {_text(record)} is what the passage states."}


def perfect_after_long_reasoning(record: dict[str, Any], index: int) -> Prediction:
    draw = _draws(record, "reasoning")
    text = ""
    while len(text) < 1900:
        sentence = _REASONING[int(draw() * len(_REASONING))]
        text += sentence.format(page=1 + int(draw() * 900), count=2 + int(draw() * 90))
    return {"prediction": f"{text}\n\nTherefore: {_text(record)}"}


def _noisy(record: dict[str, Any], share: float) -> Prediction:
    draw = _draws(record, "noise")
    result = []
    for character in _text(record):
        result.append(character)
        if draw() < share:
            letter = _LETTERS[int(draw() * 26)]
            result[-1] = ("", letter, character + letter)[int(draw() * 3)]
    return {"prediction": "".join(result)}


def character_noise_5_percent(record: dict[str, Any], index: int) -> Prediction:
    return _noisy(record, 0.05)


def character_noise_20_percent(record: dict[str, Any], index: int) -> Prediction:
    return _noisy(record, 0.20)


def numbers_rounded_to_one_digit(record: dict[str, Any], index: int) -> Prediction:
    number = extract_number(_text(record)) if _is_number(record) else None
    return perfect(record, index) if number is None else {"prediction": f"{float(f'{number:.0e}'):.10g}"}


def decimal_commas(record: dict[str, Any], index: int) -> Prediction:
    number = extract_number(_text(record)) if _is_number(record) else None
    if number is None:
        return perfect(record, index)
    whole, point, decimals = f"{number:.12g}".partition(".")
    grouped = re.sub(r"(?<=\d)(?=(?:\d{3})+\Z)", ".", whole)
    return {"prediction": f"{grouped}{',' if point else ''}{decimals}"}


def shuffled_words(record: dict[str, Any], index: int) -> Prediction:
    draw = _draws(record, "words")
    return {"prediction": " ".join(word for _, word in sorted((draw(), word) for word in _text(record).split()))}


def always_refuses(record: dict[str, Any], index: int) -> Prediction:
    return {"prediction": "This cannot be determined from the documents."}


def never_refuses(record: dict[str, Any], index: int) -> Prediction:
    if answer_kind(record["answer"]["format"]) != "unanswerable":
        return perfect(record, index)
    return {"prediction": "the annual ledger of the northern committee"}


def every_fifth_missing(record: dict[str, Any], index: int) -> Prediction:
    return None if index % 5 == 4 else perfect(record, index)


def every_fifth_failed(record: dict[str, Any], index: int) -> Prediction:
    return {"prediction": None, "status": "failed"} if index % 5 == 4 else perfect(record, index)


def first_half(record: dict[str, Any], index: int) -> Prediction:
    text = _text(record)
    return {"prediction": text[: (len(text) + 1) // 2]}


SYSTEMS: dict[str, Callable[[dict[str, Any], int], Prediction]] = {
    system.__name__: system
    for system in (
        perfect,
        perfect_in_a_sentence,
        perfect_after_long_reasoning,
        character_noise_5_percent,
        character_noise_20_percent,
        numbers_rounded_to_one_digit,
        decimal_commas,
        shuffled_words,
        always_refuses,
        never_refuses,
        every_fifth_missing,
        every_fifth_failed,
        first_half,
    )
}


def predictions_of(system: str, gold_records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the prediction records of one system, those it leaves out left out."""
    records = []
    for index, record in enumerate(gold_records):
        prediction = SYSTEMS[system](record, index)
        if prediction is not None:
            records.append({"question_id": record["question_id"], **prediction})
    return records


def verdicts_of(
    system: str, gold_records: Sequence[dict[str, Any]], questions: Mapping[str, Question]
) -> list[Verdict]:
    """Judge one system; ``questions`` are the gold records made ready."""
    given = (
        Given(record["question_id"], record["prediction"], record.get("status", "success"))
        for record in predictions_of(system, gold_records)
    )
    return collect(questions, judge_predictions(questions, given)).verdicts


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the predictions of the thirteen reference systems.")
    parser.add_argument("--data-dir", type=Path, default=ROOT / "data", help="default: data/ of the checkout")
    parser.add_argument("--output-dir", type=Path, required=True)
    arguments = parser.parse_args(argv)
    gold_records = load_gold_records(arguments.data_dir / name for name in GOLD_FILES)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    for system in SYSTEMS:
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in predictions_of(system, gold_records)]
        (arguments.output_dir / f"{system}.jsonl").write_bytes("".join(lines).encode())
    print(f"{len(SYSTEMS)} predictions files written: {arguments.output_dir}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
