"""The fast ways give what the slow ones do; and starting loads no more than it uses. No clock is read here."""

from __future__ import annotations

import json
from pathlib import Path

import benchmark
import pytest
from reference_systems import predictions_of

from tests.conftest import EXAMPLES, ROOT, Run
from xldocbench import anls_score, normalize_answer, score

SAMPLE = (
    f"--gold-files={EXAMPLES / 'gold_sample.jsonl'}",
    f"--predictions={EXAMPLES / 'predictions_sample.jsonl'}",
)


def test_distances_and_their_bounds_equal_the_plain_table() -> None:
    benchmark.check_distances(1500)


@pytest.mark.parametrize(
    ("workload", "step"),
    [(benchmark.short_answers, 23), (benchmark.near_misses, 17), (benchmark.long_reasoning, 450)],
)
def test_scores_equal_those_of_the_plain_scorer(workload: object, step: int) -> None:
    pairs = workload()[::step]  # type: ignore[operator]
    assert benchmark.score_all(pairs) == benchmark.plain_score_all(pairs)


def test_conformance_cases_of_text_equal_the_plain_scorer() -> None:
    lines = (ROOT / "tests" / "conformance" / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    pairs = [(c["prediction"], c["gold"], c["format"], c["rule"]) for c in cases if len(c["prediction"]) < 90][::3]
    assert benchmark.score_all(pairs) == benchmark.plain_score_all(pairs)


@pytest.mark.parametrize(
    "text",
    [
        "the",
        "a the an",
        "the the the",
        "athe thea the_a",
        "a-b.the%an",
        "an.a-the",
        "bathe an-an annex",
        "ünthe theü théa",
        "x a",
        "the\u2003a\tan\n",
        "«the» «a»",
        "the answer is the answer is a",
    ],
)
def test_articles_go_as_one_pattern_would_take_them(text: str) -> None:
    assert normalize_answer(text) == benchmark.plain_normalize(text)


@pytest.mark.parametrize(
    ("prediction", "gold", "why"),
    [
        ("xx" + "ab" * 60 + "yy", "zz" + "ba" * 60 + "ww", "long, settled by neither bound"),
        ("q" * 150, "ab" * 75, "long, without a common character"),
        ("abc" * 50, "cba" * 50, "long, the same characters in another order"),
        ("é" + "ab中" * 50 + "é", "x" + "ab国" * 50 + "y", "long, outside Latin-1"),
        ("pqrstuvwxyzabc", "abcdefghijklmn", "short, few in the same order"),
        ("a" * 99 + "b" + "c" * 30, "x" + "a" * 99 + "c" * 30, "around a hundred characters"),
    ],
)
def test_bounds_decide_as_the_distance_would(prediction: str, gold: str, why: str) -> None:
    similarity = benchmark.plain_similarity(prediction, gold)
    for threshold in (0.0, 0.2, 0.5, similarity, 0.8, 1.0):
        expected = similarity if similarity >= threshold else 0.0
        assert anls_score(prediction, gold, threshold) == expected, why


@pytest.mark.parametrize("length", [1, 2, 3, 7, 12, 33, 100])
def test_a_similarity_of_exactly_the_threshold_counts(length: int) -> None:
    # One edit of five characters is 0.8 and one of two 0.5, whatever the length; one edit more is too many.
    same, other = "abcd" * length, "x" * length
    assert score(same + other, same + "y" * length).rule == "similarity"
    assert score(same + other + "x", same + "y" * length + "y").rule == "dissimilar"
    assert anls_score(other, other + "y" * length) == 0.5
    assert anls_score(other, other + "y" * length + "y") == 0.0


RARELY_USED = "csv concurrent.futures multiprocessing statistics shutil tempfile dataclasses inspect pathlib".split()


@pytest.mark.parametrize("arguments", [("--help",), SAMPLE], ids=["help", "five questions"])
def test_starting_imports_only_what_it_uses(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("-S", "-X", "importtime", "-m", "xldocbench.evaluate", *arguments)
    loaded = {line.rpartition("|")[2].strip() for line in result.stderr.decode().splitlines() if "|" in line}
    assert result.returncode == 0
    assert "argparse" in loaded
    assert not loaded & set(RARELY_USED)


def test_spark_gives_the_totals_of_the_command_line(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    predictions = tmp_path / "every_fifth_missing.jsonl"
    gold_records = benchmark._gold_records()
    lines = (json.dumps(r) + "\n" for r in predictions_of("every_fifth_missing", gold_records))
    predictions.write_text("".join(lines), encoding="utf-8")
    result = run(str(EXAMPLES / "score_with_spark.py"), "--predictions", str(predictions))
    assert result.stdout.decode().splitlines() == ["count: 1345", "accuracy: 0.8", "token_f1: 0.8", "anls: 0.8"]


def test_without_pyspark_the_example_says_so(run: Run) -> None:
    program = (
        "import runpy, sys; sys.modules['pyspark'] = sys.modules['pyspark.sql'] = None;"
        f" sys.argv = ['x', '--predictions', 'absent']; runpy.run_path({str(EXAMPLES / 'score_with_spark.py')!r},"
        " run_name='__main__')"
    )
    result = run("-c", program)
    assert (result.returncode, result.stderr) == (
        1,
        b"ERROR: PySpark is not installed; pip install pyspark (it needs Java)\n",
    )


def test_partitions_add_up_to_the_same_totals_in_any_number() -> None:
    from score_with_spark import partition_totals

    from xldocbench import Totals
    from xldocbench.evaluate import index_questions

    gold_records = benchmark._gold_records()
    questions = index_questions(gold_records)
    lines = [json.dumps(r) for r in predictions_of("character_noise_20_percent", gold_records)]
    whole = next(partition_totals(questions, lines))[0]
    for parts in (2, 7):
        totals = Totals()
        for index in range(parts):
            totals += next(partition_totals(questions, lines[index::parts]))[0]
        assert totals == whole
    summary = json.loads((ROOT / "results" / "summary.json").read_bytes())
    (row,) = [row for row in summary["systems"] if row["system"] == "character_noise_20_percent"]
    assert whole.as_report()["token_f1"] == row["token_f1"]
