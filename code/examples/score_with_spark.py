"""Score predictions that live in Spark: the same scorer and the same totals as the command line.

Each partition is scored where it is and summed up into ``Totals``; those add up exactly, in any order and
grouping, so that the means are the same to the last bit however the data is spread.

    python code/examples/score_with_spark.py --predictions preds.jsonl

Needs PySpark (`pip install pyspark`) and Java. Gold is small and is sent to every executor.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from xldocbench.evaluate import (  # noqa: E402
    GOLD_FILES,
    Question,
    Score,
    Totals,
    index_questions,
    judge_predictions,
    load_gold_records,
    predictions_of_lines,
)

if TYPE_CHECKING:
    from pyspark import RDD


def partition_totals(questions: dict[str, Question], lines: Iterable[str]) -> Iterator[tuple[Totals, set[str]]]:
    """Score the lines of one partition; yield their totals and the questions that they answer."""
    totals, answered = Totals(), set()
    predictions = predictions_of_lines("partition", (line.encode("utf-8") for line in lines), "")
    for prediction, score in judge_predictions(questions, predictions):
        if score is not None:
            totals.add(score)
            answered.add(prediction.question_id)
    yield totals, answered


def score_rdd(lines: RDD[str], questions: dict[str, Question]) -> Totals:
    """Score an RDD of JSONL lines; questions without a prediction count as 0, as on the command line."""
    parts = lines.mapPartitions(lambda partition: partition_totals(questions, partition)).collect()
    answered: set[str] = set()
    totals = Totals()
    for part, ids in parts:
        if not answered.isdisjoint(ids):
            raise ValueError(f"the question id {min(answered & ids)!r} stands in two partitions")
        totals += part
        answered |= ids
    for _ in questions.keys() - answered:
        totals.add(Score(0.0, 0.0, 0.0, "missing"))
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(description="Score predictions with Spark.")
    parser.add_argument("--predictions", required=True, help="JSONL, anything that Spark's textFile reads")
    parser.add_argument("--data-dir", type=Path, default=ROOT / "data", help="default: the stand-in of this checkout")
    parser.add_argument("--partitions", type=int, default=4, help="default: 4")
    arguments = parser.parse_args()
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print("ERROR: PySpark is not installed; pip install pyspark (it needs Java)", file=sys.stderr)
        return 1
    questions = index_questions(load_gold_records(arguments.data_dir / name for name in GOLD_FILES))
    spark = SparkSession.builder.master("local[2]").appName("xldocbench").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        # The executors need the package too: it travels with the job.
        archive = shutil.make_archive(f"{folder}/xldocbench", "zip", ROOT, "xldocbench")
        spark.sparkContext.addPyFile(archive)
        lines = spark.sparkContext.textFile(arguments.predictions, arguments.partitions)
        report = score_rdd(lines, questions).as_report()
        spark.stop()
    for name, value in report.items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
