"""How fast is the scorer? Workloads x implementations, each ratio from one run on one machine.

    python code/benchmark.py [--workload NAME ...] [--json FILE]

Implementations: ours; a plain scorer, written here straight from the rules with a two-row table of cells;
ours with rapidfuzz's Levenshtein in its place, if rapidfuzz is installed. The plain scorer is an oracle
too: the run fails where any result differs. All data is made here from the synthetic stand-in.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_systems import ROOT, SYSTEMS, predictions_of

import xldocbench.evaluate as evaluator

try:
    Levenshtein: Any = import_module("rapidfuzz.distance").Levenshtein
except ImportError:
    Levenshtein = None

Pair = tuple[str, str, str, str]  # prediction, gold, answer format, verification rule
Run = Callable[[], Any]

EXAMPLES = ROOT / "code" / "examples"
SAMPLE = (
    f"--gold-files={EXAMPLES / 'gold_sample.jsonl'}",
    f"--predictions={EXAMPLES / 'predictions_sample.jsonl'}",
)
# A run that takes longer than this is not repeated.
LONG_RUN_SECONDS = 20.0


# Runs the command and ends stderr with its peak memory in kB. Linux alone tells it of one program: what
# getrusage says begins with the memory of the process that started it.
PEAK_PROGRAM = """
import sys
from xldocbench.evaluate import main
main(sys.argv[1:])
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


# ---- the plain scorer


def plain_normalize(text: str) -> str:
    text = text.strip().lower()
    for phrase in ("the answer is", "answer:", "answer is"):
        if text.startswith(phrase):
            text = text[len(phrase) :].strip()
    text = re.sub(r"[^\w\s.\-%]", "", text)
    text = re.sub(r"\b(a|an|the)\b", " ", text)
    return re.sub(r"\s+", " ", text).strip()


def plain_distance(a: str, b: str) -> int:
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        current = [i]
        for j, y in enumerate(b, start=1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def plain_similarity(a: str, b: str) -> float:
    a, b = a.strip().lower(), b.strip().lower()
    longest = max(len(a), len(b))
    return 1.0 - plain_distance(a, b) / longest if longest else 1.0


def plain_accuracy(prediction: str, gold: str, answer_format: str, rule: str) -> float:
    kind = evaluator.answer_kind(answer_format, rule)
    normalised = plain_normalize(prediction)
    if kind == "unanswerable":
        phrases = "not answerable|unanswerable|cannot be determined|cannot be answered|not enough information"
        return float(any(phrase in normalised for phrase in phrases.split("|")))
    if kind == "number":
        # Reading numbers and options is not what is compared here: all implementations share it.
        p, g = evaluator.extract_number(prediction), evaluator.extract_number(gold)
        if g is not None:
            return float(p is not None and (abs(p) < 1e-6 if g == 0 else abs(p - g) / abs(g) <= 0.05))
    if kind in ("choice", "boolean"):
        return evaluator.accuracy_score(prediction, gold, rule if kind == "choice" else answer_format)
    normalised_gold = plain_normalize(gold)
    if normalised_gold and normalised_gold in normalised:
        return 1.0
    return float(plain_similarity(normalised, normalised_gold) >= 0.8)


def plain_token_f1(prediction: str, gold: str) -> float:
    p, g = set(plain_normalize(prediction).split()), set(plain_normalize(gold).split())
    if not g:
        return 0.0 if p else 1.0
    common = len(p & g)
    if not common:
        return 0.0
    precision, recall = common / len(p), common / len(g)
    return 2 * precision * recall / (precision + recall)


def plain_score(prediction: str, gold: str, answer_format: str, rule: str) -> tuple[float, float, float]:
    if not prediction.strip():
        return 0.0, 0.0, 0.0
    similarity = plain_similarity(prediction, gold)
    return (
        plain_accuracy(prediction, gold, answer_format, rule),
        plain_token_f1(prediction, gold),
        similarity if similarity >= 0.5 else 0.0,
    )


# ---- implementations


def _rapid_distance_up_to(a: str, b: str, limit: int) -> int:
    return int(Levenshtein.distance(a, b, score_cutoff=limit))


@contextlib.contextmanager
def rapidfuzz_inside() -> Iterator[None]:
    """Put rapidfuzz's distance in the place of ours."""
    ours = evaluator._distance_up_to
    evaluator._distance_up_to = _rapid_distance_up_to
    try:
        yield
    finally:
        evaluator._distance_up_to = ours


def score_all(pairs: Sequence[Pair]) -> list[tuple[float, float, float]]:
    score = evaluator.score
    return [score(*pair)[:3] for pair in pairs]


def plain_score_all(pairs: Sequence[Pair]) -> list[tuple[float, float, float]]:
    return [plain_score(*pair) for pair in pairs]


# ---- workloads


def _gold_records() -> list[dict[str, Any]]:
    return evaluator.load_gold_records(ROOT / "data" / name for name in evaluator.GOLD_FILES)


def _pairs_of(system: str, records: Sequence[dict[str, Any]]) -> list[Pair]:
    answers = {record["question_id"]: record["answer"] for record in records}
    pairs = []
    for prediction in predictions_of(system, records):
        answer = answers[prediction["question_id"]]
        text = prediction["prediction"] or ""
        pairs.append((text, answer["value"], answer["format"], answer["verification_rule"]))
    return pairs


IMPERFECT_SYSTEMS = [name for name in SYSTEMS if name not in ("perfect", "perfect_after_long_reasoning")]


def short_answers() -> list[Pair]:
    """All questions of the stand-in, as each of its imperfect systems with short answers answers them."""
    records = _gold_records()
    return [pair for system in IMPERFECT_SYSTEMS for pair in _pairs_of(system, records)]


def _text_golds(words: int | None = None) -> list[str]:
    golds = [
        record["answer"]["value"]
        for record in _gold_records()
        if record["answer"]["verification_rule"] == "casefold_exact_match"
    ]
    return [gold for gold in golds if words is None or len(gold.split()) == words]


def long_reasoning() -> list[Pair]:
    """1,345 outputs of 2,000 characters, golds of five words: 40% end in the gold, 60% in another answer."""
    draws = random.Random("long reasoning")
    golds = _text_golds(words=5)
    reasoning = [prediction for prediction, *_ in _pairs_of("perfect_after_long_reasoning", _gold_records())]
    pairs = []
    for index in range(1345):
        gold = golds[index % len(golds)]
        answer = gold if draws.random() < 0.4 else golds[(index + 1 + int(draws.random() * 50)) % len(golds)]
        ending = f" Therefore: {answer}"
        pairs.append((reasoning[index][: 2000 - len(ending)] + ending, gold, "Str", "casefold_exact_match"))
    return pairs


def near_misses() -> list[Pair]:
    """1,345 entities with a fifth of their letters changed, the first and the last among them."""
    draws = random.Random("near misses")
    golds = [gold for gold in _text_golds() if 12 <= len(gold) <= 60 and gold.replace(" ", "").isalpha()]
    pairs = []
    for index in range(1345):
        gold = golds[index % len(golds)].lower()
        letters = list(gold)
        places = {0, len(gold) - 1}
        while len(places) < max(2, len(gold) // 5):
            places.add(int(draws.random() * len(gold)))
        for place in places:
            letters[place] = "abcdefghijklmnopqrstuvwxyz"[int(draws.random() * 26)]
        pairs.append(("".join(letters), gold, "Str", "casefold_exact_match"))
    return pairs


def _long_pair() -> tuple[str, str]:
    draws = random.Random("one long pair")
    words = [word for gold in _text_golds() for word in gold.lower().split()]
    text = ""
    while len(text) < 20_000:
        text += words[int(draws.random() * len(words))] + " "
    letters = [chr(97 + int(draws.random() * 26)) if draws.random() < 0.2 else letter for letter in text[:20_000]]
    return "x" + "".join(letters)[1:-1] + "y", text[:20_000]


class Workload(NamedTuple):
    """What is timed: the number of questions, and how each implementation runs them."""

    name: str
    questions: int
    runs: dict[str, Run]


def _scoring(name: str, pairs: list[Pair]) -> Workload:
    runs: dict[str, Run] = {"ours": lambda: score_all(pairs), "plain": lambda: plain_score_all(pairs)}
    if Levenshtein is not None:

        def rapid() -> list[tuple[float, float, float]]:
            with rapidfuzz_inside():
                return score_all(pairs)

        runs["rapidfuzz inside"] = rapid
    return Workload(name, len(pairs), runs)


def _long_distance() -> Workload:
    a, b = _long_pair()
    runs: dict[str, Run] = {
        "ours": lambda: evaluator.levenshtein_distance(a, b),
        "plain": lambda: plain_distance(a, b),
    }
    if Levenshtein is not None:
        runs["rapidfuzz inside"] = lambda: Levenshtein.distance(a, b)
    return Workload("pair of 20,000 characters", 1, runs)


def _command(*arguments: str) -> Run:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run() -> None:
        subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)

    return run


def _cold_start(name: str, *arguments: str) -> Workload:
    runs = {"ours": _command("-m", "xldocbench.evaluate", *arguments), "bare interpreter": _command("-c", "pass")}
    return Workload(name, 1, runs)


def _evaluation(*arguments: str) -> Run:
    def run() -> None:
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            assert evaluator.main(["--data-dir", str(ROOT / "data"), *arguments]) == 0

    return run


def _write_predictions(system: str, records: Sequence[dict[str, Any]], folder: Path) -> str:
    path = folder / f"{system}.jsonl"
    lines = (json.dumps(record) + "\n" for record in predictions_of(system, records))
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def _page(system: str, folder: Path) -> Workload:
    """Score one system and write its page, and the same without the page."""
    folder = folder / "page"
    folder.mkdir(exist_ok=True)
    records = _gold_records()
    path = _write_predictions(system, records, folder)
    page = str(folder / "page.html")
    runs = {
        "ours": _evaluation("--predictions", path, "--html", page),
        "without the page": _evaluation("--predictions", path),
    }
    return Workload(f"page of {system.replace('_', ' ')}", len(records), runs)


def _end_to_end(folder: Path) -> Workload:
    """Score the imperfect systems as the command does: read files, score, write reports."""
    records = _gold_records()
    for system in IMPERFECT_SYSTEMS:
        _write_predictions(system, records, folder)
    run = _evaluation("--predictions", str(folder), "--output", str(folder / "out"))
    runs: dict[str, Run] = {"ours": run}
    if Levenshtein is not None:

        def rapid() -> None:
            with rapidfuzz_inside():
                run()

        runs["rapidfuzz inside"] = rapid
    return Workload("end to end, 11 systems", len(IMPERFECT_SYSTEMS) * len(records), runs)


def workloads(folder: Path) -> dict[str, Callable[[], Workload]]:
    return {
        "short": lambda: _scoring("short answers", short_answers()),
        "long": lambda: _scoring("reasoning of 2,000 characters", long_reasoning()),
        "near": lambda: _scoring("near-miss entities", near_misses()),
        "pair": _long_distance,
        "end-to-end": lambda: _end_to_end(folder),
        "page": lambda: _page("character_noise_20_percent", folder),
        "long-page": lambda: _page("perfect_after_long_reasoning", folder),
        "help": lambda: _cold_start("cold start, --help", "--help"),
        "sample": lambda: _cold_start("cold start, five questions", *SAMPLE),
    }


# ---- measuring


def measure(workload: Workload, repetitions: int) -> dict[str, Any]:
    """Time all implementations in turn, and again; compare their results. Seconds are medians."""
    seconds: dict[str, list[float]] = {name: [] for name in workload.runs}
    results: dict[str, Any] = {}
    for _ in range(repetitions):
        for name, run in workload.runs.items():
            if seconds[name] and seconds[name][0] > LONG_RUN_SECONDS:
                continue
            started = time.perf_counter()
            result = run()
            seconds[name].append(time.perf_counter() - started)
            if results.setdefault(name, result) != result or results["ours"] != result:
                raise SystemExit(f"{workload.name}: {name} gives another result than ours")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {
        "workload": workload.name,
        "questions": workload.questions,
        "seconds": medians,
        "ratio_to_ours": {name: median / medians["ours"] for name, median in medians.items()},
    }


def check_distances(count: int) -> None:
    """Compare ``count`` random pairs (lengths 0 to 300, several alphabets, near misses) with the plain distance."""
    draws = random.Random("distances")
    alphabets = ("ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz ", "aé中😀")
    for index in range(count):
        alphabet = alphabets[index % len(alphabets)]
        # Most texts are short, so that the plain distance can keep up; the longest have 300 characters.
        first, second = ("".join(draws.choices(alphabet, k=int(301 * draws.random() ** 8))) for _ in range(2))
        if index % 3 == 0:
            letters = list(first)
            for _ in range(draws.randrange(6)):
                place = draws.randrange(len(letters) + 1)
                letters[place : place + draws.randrange(2)] = draws.choice(["", *alphabet])
            second = "".join(letters)
        expected = plain_distance(first, second)
        longest = max(len(first), len(second))
        bounded = [(limit, evaluator._distance_up_to(first, second, limit)) for limit in (longest // 5, longest // 2)]
        if evaluator.levenshtein_distance(first, second) != expected or any(
            found != expected if expected <= limit else found <= limit for limit, found in bounded
        ):
            raise SystemExit(f"the distance of {first!r} and {second!r} is not {expected}")


def calls_per_second() -> dict[str, float]:
    """Return how often ``score`` can be called in a second on text answers: the best of twenty passes each."""
    golds = _text_golds()
    draws = random.Random("calls")
    others = sorted(golds, key=lambda _: draws.random())
    records = [r for r in _gold_records() if r["answer"]["verification_rule"] == "casefold_exact_match"]
    kinds = {
        "the gold itself": [(gold, gold) for gold in golds],
        "the gold in a phrase": [(f"It is the {gold}.", gold) for gold in golds],
        "another answer": list(zip(others, golds, strict=True)),
        "a near miss": [pair[:2] for pair in near_misses()],
        "all imperfect systems": [pair[:2] for system in IMPERFECT_SYSTEMS for pair in _pairs_of(system, records)],
    }
    rates = {}
    for name, pairs in kinds.items():
        best = float("inf")
        for _ in range(20):
            started = time.perf_counter()
            for prediction, gold in pairs:
                evaluator.score(prediction, gold)
            best = min(best, time.perf_counter() - started)
        rates[name] = len(pairs) / best
    return rates


def growth() -> dict[str, float]:
    """Return microseconds for each question at 1, 10 and 100 times the stand-in's questions."""
    records = _gold_records()
    predictions = {record["question_id"]: record for record in predictions_of("character_noise_5_percent", records)}
    result = {}
    for factor in (1, 10, 100):
        many = [
            {**record, "question_id": f"{copy}-{record['question_id']}"} for copy in range(factor) for record in records
        ]
        texts = {r["question_id"]: predictions[r["question_id"].partition("-")[2]]["prediction"] for r in many}
        started = time.perf_counter()
        evaluator.evaluate(many, texts, {})
        result[f"{factor}x"] = (time.perf_counter() - started) / len(many) * 1e6
    return result


def peak_megabytes(gigabytes: float, folder: Path) -> float:
    """Return the peak memory of the command over a predictions file of that size, without rows."""
    path = folder / "large.jsonl"
    answer = "A long answer that goes on. " * int(gigabytes * 1e9 / 1345 / 28)
    with path.open("w", encoding="utf-8") as file:
        for record in _gold_records():
            file.write(json.dumps({"question_id": record["question_id"], "prediction": answer}) + "\n")
    arguments = ["--predictions", str(path), "--no-per-question-json", "--output", os.devnull]
    result = subprocess.run(
        [sys.executable, "-c", PEAK_PROGRAM, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    path.unlink()
    return int(result.stderr.split()[-1]) / 1024


def machine() -> str:
    model = platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    return f"{os.cpu_count()} cores of {model}, {platform.python_implementation()} {platform.python_version()}"


def table(results: Sequence[dict[str, Any]]) -> str:
    lines = ["| workload | questions | ours | plain | rapidfuzz inside |", "|---|---|---|---|---|"]
    for result in results:
        seconds, ratios = result["seconds"], result["ratio_to_ours"]
        cells = [result["workload"], f"{result['questions']:,}", f"{seconds['ours']:.3f} s"]
        for name in ("plain", "rapidfuzz inside"):
            cells.append(f"{seconds[name]:.3f} s ({ratios[name]:.3g}x)" if name in seconds else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    with tempfile.TemporaryDirectory() as name:
        makers = workloads(Path(name))
        parser.add_argument("--workload", nargs="+", choices=makers, default=list(makers), help="default: all")
        parser.add_argument("--repetitions", type=int, default=3, help="of each implementation (default: 3)")
        parser.add_argument("--distances", type=int, default=200_000, help="random pairs compared (default: 200000)")
        parser.add_argument("--gigabytes", type=float, default=0.0, help="size of a file to measure memory on")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
        arguments = parser.parse_args(argv)
        if Levenshtein is None:
            print("rapidfuzz is not installed: its column is left out", file=sys.stderr)
        started = time.perf_counter()
        check_distances(arguments.distances)
        print(f"{arguments.distances:,} random pairs: every distance as the plain one's", file=sys.stderr)
        results = []
        for key in arguments.workload:
            print(f"measuring {key} ({time.perf_counter() - started:.0f} s)", file=sys.stderr)
            results.append(measure(makers[key](), arguments.repetitions))
        figures: dict[str, Any] = {
            "machine": machine(),
            "workloads": results,
            "calls_per_second": calls_per_second(),
            "microseconds_per_question": growth(),
        }
        if arguments.gigabytes:
            figures["peak_megabytes"] = peak_megabytes(arguments.gigabytes, Path(name))
    print(f"{figures['machine']}\n\n{table(results)}\n")
    for result in results:
        for part in ("bare interpreter", "without the page"):
            if part in result["seconds"]:
                print(f"{result['workload']}: {result['ratio_to_ours'][part]:.2f} of it {part}")
    for name, rate in figures["calls_per_second"].items():
        print(f"score() on {name}: {rate:,.0f} calls a second")
    for name, microseconds in figures["microseconds_per_question"].items():
        print(f"{name} the stand-in: {microseconds:.0f} microseconds a question")
    if arguments.gigabytes:
        print(f"{arguments.gigabytes:g} GB of predictions: peak memory {figures['peak_megabytes']:.0f} MB")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
