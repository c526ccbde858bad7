"""How good are the flags of the audit? Two measurements.

    python code/measure_audit.py                                    on the reference systems
    python code/measure_audit.py --labelled GOLD PREDICTIONS        against the labels that people gave

The first counts, on the reference systems that were built for a fault, how many of the verdicts that the
fault made wrong carry its flag, and on the others how many verdicts are disputed though the rules judged rightly.
The second reads gold whose ``metadata.human_label`` says what people thought of the answer (``Correct Answer``,
``Incorrect Answer``, ``Refusal``), and prints for numeric answers that the rules scored 0 how many are
flagged as too strict.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from reference_systems import verdicts_of  # noqa: E402

from xldocbench.audit import TOO_STRICT, audit_of, dispute_of, flags_of  # noqa: E402
from xldocbench.evaluate import (  # noqa: E402
    GOLD_FILES,
    Intake,
    ReadOptions,
    Verdict,
    collect,
    index_questions,
    judge_predictions,
    load_gold_records,
)
from xldocbench.formats import read  # noqa: E402

FAULTS = {
    "decimal_commas": "decimal-comma",
    "perfect_after_long_reasoning": "other-number-agrees",
    "shuffled_words": "other-order",
    "always_refuses": "refusal-on-answerable",
}
JUDGED_RIGHTLY = ("perfect", "perfect_in_a_sentence", "never_refuses", "every_fifth_missing", "every_fifth_failed")
NUMERIC_FORMATS = ("Int", "Float", "Percentage")


def reference_table() -> list[str]:
    """Return lines of a Markdown table on the reference systems."""
    records = load_gold_records(ROOT / "data" / name for name in GOLD_FILES)
    questions = index_questions(records)
    lines = ["| system | scored 0 | flag | raised | of these on a verdict scored 0 |", "|---|---|---|---|---|"]
    for system in (*FAULTS, *JUDGED_RIGHTLY):
        verdicts = verdicts_of(system, records, questions)
        wrong = {v.question.question_id for v in verdicts if v.score.accuracy == 0.0}
        flags = audit_of(verdicts)["flags"]
        code = FAULTS.get(system)
        raised = flags[code]["questions"] if code else [q for found in flags.values() for q in found["questions"]]
        name = f"`{code}`" if code else "any"
        on_wrong = len(wrong.intersection(raised))
        lines.append(f"| {system.replace('_', ' ')} | {len(wrong)} | {name} | {len(raised)} | {on_wrong} |")
    return lines


def labelled_lines(gold_path: str, predictions_path: str) -> list[str]:
    """Return what the audit says of numeric answers that the rules scored 0, beside what people said."""
    records = load_gold_records(gold_path)
    labels = {record["question_id"]: record["metadata"]["human_label"] for record in records}
    questions = index_questions(records)
    verdicts = collect(
        questions, judge_predictions(questions, read(predictions_path, ReadOptions(), Intake()))
    ).verdicts
    groups: dict[bool, list[Verdict]] = {True: [], False: []}
    for verdict in verdicts:
        if verdict.score.accuracy == 0.0 and verdict.question.answer_format in NUMERIC_FORMATS:
            groups[labels[verdict.question.question_id] == "Correct Answer"].append(verdict)
    lines = []
    for correct, words in ((True, "correct"), (False, "incorrect or a refusal")):
        group = groups[correct]
        flagged = sum(dispute_of(verdict, flags_of(verdict)) == TOO_STRICT for verdict in group)
        lines.append(f"called {words}, scored 0: {len(group)}; flagged: {flagged} ({flagged / len(group):.1%})")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the flags of the audit.")
    parser.add_argument("--labelled", nargs=2, metavar=("GOLD", "PREDICTIONS"), help="answers with human labels")
    arguments = parser.parse_args(argv)
    print("\n".join(labelled_lines(*arguments.labelled) if arguments.labelled else reference_table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
