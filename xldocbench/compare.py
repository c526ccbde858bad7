"""Is one system better than another? Paired comparisons that know which questions share a document.

    python -m xldocbench.compare BASELINE SYSTEM [SYSTEM ...]

Each argument is a predictions file, scored here, or a report with ``per_question`` rows. For each pair and
metric: the paired difference with its cluster-robust 95% interval, and the p-value of a cluster sign-flip
permutation test, adjusted by Holm's method over the pairs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from xldocbench.evaluate import (
    BREAKDOWNS,
    EXIT_GATE,
    METRICS,
    STANDIN_WARNING,
    EvaluationError,
    GoldFiles,
    Intake,
    Question,
    ReadOptions,
    Score,
    __version__,
    add_gold_options,
    add_reading_options,
    check_outputs,
    checked,
    collect,
    gold_files_of,
    index_questions,
    is_standin,
    judge_predictions,
    load_gold_files,
    metric_limits,
    own_sha256,
    print_to,
    reading_of,
    run_command,
    tell,
    write_files,
)
from xldocbench.formats import read
from xldocbench.uncertainty import (
    DRAWS,
    SEED,
    clusters_of,
    error_bar,
    holm_adjusted,
    mcnemar_p_value,
    sign_flip_p_value,
)

SIGNIFICANT = 0.05


class Answer(NamedTuple):
    """What a system answered to a question, and how it was scored."""

    prediction: str | None
    score: Score


class System(NamedTuple):
    """A system's answers by question id, and what its scores were made with."""

    name: str
    path: str
    answers: dict[str, Answer]
    gold_sha256: str
    evaluator_sha256: str
    missing: str


# ---- loading


def _report_in(path: str) -> dict[str, Any] | None:
    """Return the report that a file holds; None where it holds something else."""
    if not path.lower().endswith(".json"):
        return None
    with open(path, "rb") as file:
        content = file.read()
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and "overall" in data and "breakdowns" in data else None


def _system_of_report(name: str, path: str, report: Mapping[str, Any]) -> System:
    rows, provenance = report.get("per_question"), report.get("provenance")
    if not isinstance(rows, list):
        raise EvaluationError(f"{path}: the report has no per_question rows; write it without --no-per-question-json")
    try:
        answers = {
            row["question_id"]: Answer(
                row["prediction"], Score(row["accuracy"], row["token_f1"], row["anls"], row["rule"])
            )
            for row in rows
        }
        return System(
            name,
            path,
            answers,
            provenance["gold"]["sha256"],  # type: ignore[index]
            provenance["evaluator"]["sha256"],  # type: ignore[index]
            provenance["settings"]["missing"],  # type: ignore[index]
        )
    except (KeyError, TypeError):
        raise EvaluationError(f"{path}: not a report of this evaluator; score the predictions again") from None


def load_system(
    name: str, path: str, questions: Mapping[str, Question], gold: GoldFiles, options: ReadOptions, ignore_missing: bool
) -> System:
    """Read a report, or score a predictions file. Raises EvaluationError or OSError for what cannot be read."""
    report = _report_in(path)
    if report is not None:
        return _system_of_report(name, path, report)
    judged = judge_predictions(questions, read(path, options, Intake()))
    scored = collect(questions, checked(judged, path, options, questions))
    if scored.extra_count == scored.prediction_count:
        raise EvaluationError(f"no prediction in {path} is for a question of the gold; pass the gold it is for")
    answers = {
        verdict.question.question_id: Answer(verdict.prediction, verdict.score)
        for verdict in scored.verdicts
        if not (ignore_missing and verdict.score.rule == "missing")
    }
    missing = "ignored" if ignore_missing else "zero"
    return System(name, path, answers, gold.provenance["sha256"], own_sha256(), missing)


def check_comparable(systems: Sequence[System], gold: GoldFiles, allow_different_questions: bool) -> None:
    """Raise EvaluationError, saying what differs, where scores were not made alike."""
    first = systems[0]
    for system in systems:
        if system.gold_sha256 != gold.provenance["sha256"]:
            raise EvaluationError(
                f"{system.path} was scored on other gold (SHA-256 {system.gold_sha256[:8]}…) than the one at hand"
                f" ({gold.provenance['sha256'][:8]}…); pass it with --gold-files or --data-dir"
            )
        for what, ours, theirs in (
            ("evaluator", first.evaluator_sha256[:8], system.evaluator_sha256[:8]),
            ("setting of missing questions", first.missing, system.missing),
        ):
            if ours != theirs:
                raise EvaluationError(
                    f"{first.path} and {system.path} differ in the {what} ({ours}, {theirs}); score both alike"
                )
        different = first.answers.keys() ^ system.answers.keys()
        if different and not allow_different_questions:
            raise EvaluationError(
                f"{first.path} and {system.path} differ in {len(different)} questions, such as {min(different)!r};"
                " --allow-different-questions compares those in common"
            )


# ---- comparing


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def compare_pair(baseline: System, system: System, ids: Sequence[str], clusters: Mapping[str, str]) -> dict[str, Any]:
    """Compare two systems on the given questions; difference = system − baseline, numbers unrounded."""
    labels = [clusters[question_id] for question_id in ids]
    metrics: dict[str, dict[str, float | None]] = {}
    for metric in METRICS:
        ours = [getattr(system.answers[question_id].score, metric) for question_id in ids]
        theirs = [getattr(baseline.answers[question_id].score, metric) for question_id in ids]
        differences = [a - b for a, b in zip(ours, theirs, strict=True)]
        bar = error_bar(differences, labels)
        metrics[metric] = {
            "baseline": _mean(theirs),
            "system": _mean(ours),
            "difference": bar.mean,
            "se": bar.se,
            "low": bar.low,
            "high": bar.high,
            "p_permutation": sign_flip_p_value(differences, labels),
        }
    right = [(baseline.answers[q].score.accuracy == 1.0, system.answers[q].score.accuracy == 1.0) for q in ids]
    won, lost = right.count((False, True)), right.count((True, False))
    return {
        "baseline": baseline.name,
        "system": system.name,
        "questions": len(ids),
        "metrics": metrics,
        "counts": {
            "won": won,
            "lost": lost,
            "both_right": right.count((True, True)),
            "both_wrong": right.count((False, False)),
        },
        "p_mcnemar": mcnemar_p_value(won, lost),
    }


def _compare_pairs(
    pairs: Sequence[tuple[System, System]], chosen: Callable[[str], bool], clusters: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Compare each pair on the chosen questions that it has in common, and adjust the p-values for their number."""
    compared = []
    for baseline, system in pairs:
        ids = sorted(q for q in baseline.answers.keys() & system.answers.keys() if chosen(q))
        compared.append(compare_pair(baseline, system, ids, clusters))
    for metric in METRICS:
        adjusted = holm_adjusted([pair["metrics"][metric]["p_permutation"] for pair in compared])
        for pair, p_value in zip(compared, adjusted, strict=True):
            pair["metrics"][metric]["p_holm"] = p_value
    return compared


def compare(
    systems: Sequence[System],
    questions: Mapping[str, Question],
    clusters: Mapping[str, str],
    all_pairs: bool = False,
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """Compare the first system with each other one, or every pair, overall and by the named breakdowns."""
    pairs = [pair for pair in combinations(systems, 2) if all_pairs or pair[0] is systems[0]]
    breakdowns: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in by:
        labels = {q: BREAKDOWNS[name](question) for q, question in questions.items()}
        breakdowns[name] = {
            label: _compare_pairs(pairs, lambda q, label=label, labels=labels: label in labels[q], clusters)  # type: ignore[misc]
            for label in sorted({label for several in labels.values() for label in several})
        }
    asked = set().union(*(system.answers for system in systems))
    rows = []
    for system in systems:
        means = {metric: _mean([getattr(a.score, metric) for a in system.answers.values()]) for metric in METRICS}
        rows.append({"name": system.name, "questions": len(system.answers), **means})
    first = systems[0]
    signature = (
        f"xldocbench|v:{__version__}|eval:{first.evaluator_sha256[:8]}|gold:{first.gold_sha256[:8]}"
        f"|n:{len(asked)}|missing:{first.missing}|flips:{DRAWS}|seed:{SEED}"
    )
    return {
        "systems": rows,
        "clusters": len({clusters[question_id] for question_id in asked}),
        "pairs": _compare_pairs(pairs, lambda question_id: True, clusters),
        "breakdowns": breakdowns,
        "signature": signature,
    }


def verdict_of(figures: Mapping[str, float]) -> str:
    """Say in words whether a difference is significant once adjusted for the number of pairs."""
    if figures["p_holm"] >= SIGNIFICANT:
        return "not significant"
    return "better" if figures["difference"] > 0 else "worse"


# ---- renderings


def _p_value(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


HEAD = ("metric", "baseline", "system", "difference", "low", "high", "p", "p (Holm)", "verdict")


def _cells(pair: Mapping[str, Any]) -> list[list[str]]:
    """Return a row of text for each metric of a pair; scores in percent."""
    rows = []
    for metric in METRICS:
        figures = pair["metrics"][metric]
        scores = [_percent(figures[key]) for key in ("baseline", "system", "difference", "low", "high")]
        p_values = [_p_value(figures[key]) for key in ("p_permutation", "p_holm")]
        rows.append([metric, *scores, *p_values, verdict_of(figures)])
    return rows


def _sections(comparison: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return heading and pair of everything compared, overall first."""
    sections = [("", pair) for pair in comparison["pairs"]]
    for name, labels in comparison["breakdowns"].items():
        sections += [(f"{name} {label}", pair) for label, pairs in labels.items() for pair in pairs]
    return sections


def _counts(pair: Mapping[str, Any]) -> str:
    counts = pair["counts"]
    return (
        f"won {counts['won']}, lost {counts['lost']}, both right {counts['both_right']},"
        f" both wrong {counts['both_wrong']}"
    )


def _counts_line(pair: Mapping[str, Any]) -> str:
    return f"{_counts(pair)}; McNemar p {_p_value(pair['p_mcnemar'])}"


def _heading(heading: str, pair: Mapping[str, Any]) -> str:
    part = f" [{heading}]" if heading else ""
    return f"{pair['system']} against {pair['baseline']}{part}: {pair['questions']} questions"


def as_text(comparison: Mapping[str, Any]) -> str:
    """Return tables for a terminal of 100 columns."""
    lines = [f"XL-DocBench comparison: {len(comparison['systems'])} systems, {comparison['clusters']} clusters"]
    widths = (9, 8, 7, 10, 7, 7, 7, 8)
    for heading, pair in _sections(comparison):
        lines += ["", _heading(heading, pair)]
        for row in [list(HEAD), *_cells(pair)]:
            cells = [f"{row[0]:<{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:-1], widths[1:], strict=True))]
            lines.append("  ".join([*cells, row[-1]]))
        lines.append(_counts_line(pair))
    return "\n".join([*lines, "", comparison["signature"]])


def as_markdown(comparison: Mapping[str, Any]) -> str:
    """Return a Markdown table for each pair."""
    lines = []
    for heading, pair in _sections(comparison):
        escaped = _heading(heading, pair).replace("|", "\\|")
        lines += [f"**{escaped}**", "", f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
        lines += [f"| {' | '.join(row)} |" for row in _cells(pair)]
        lines += ["", _counts_line(pair), ""]
    return "\n".join([*lines, f"`{comparison['signature']}`"])


def as_csv(comparison: Mapping[str, Any]) -> str:
    """Return one CSV row for each pair, metric and breakdown label; fractions, unrounded."""
    keys = ("baseline", "system", "difference", "se", "low", "high", "p_permutation", "p_holm")
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(["part", "baseline_name", "system_name", "questions", "metric", *keys])
    for heading, pair in _sections(comparison):
        for metric, figures in pair["metrics"].items():
            part = heading or "overall"
            row = [part, pair["baseline"], pair["system"], pair["questions"], metric]
            writer.writerow([*row, *(figures[key] for key in keys)])
    return buffer.getvalue().rstrip("\r\n")


_LATEX = str.maketrans({character: f"\\{character}" for character in "&%$#_{}"} | {"\\": r"\textbackslash{}"})


def as_latex(comparison: Mapping[str, Any]) -> str:
    """Return one LaTeX tabular; scores in percent."""
    lines = [
        r"\begin{tabular}{llrrrrrrl}",
        r"\hline",
        " & ".join(("pair", *HEAD[:-3], HEAD[-2], HEAD[-1])) + r" \\",
        r"\hline",
    ]
    for heading, pair in _sections(comparison):
        for row in _cells(pair):
            cells = [_heading(heading, pair).rpartition(":")[0], *row[:-3], row[-2], row[-1]]
            lines.append(" & ".join(cell.translate(_LATEX) for cell in cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", f"% {comparison['signature']}"])


def as_json(comparison: Mapping[str, Any]) -> str:
    """Return the comparison as JSON, numbers unrounded."""
    return json.dumps(comparison, indent=2, ensure_ascii=False)


FORMATS = {"text": as_text, "markdown": as_markdown, "csv": as_csv, "json": as_json, "latex": as_latex}


def changed(baseline: System, system: System) -> tuple[list[str], list[str]]:
    """Return the ids of the questions that the system won, and of those that it lost."""
    common = sorted(baseline.answers.keys() & system.answers.keys())
    won, lost = (
        [q for q in common if better.answers[q].score.accuracy > worse.answers[q].score.accuracy]
        for better, worse in ((system, baseline), (baseline, system))
    )
    return won, lost


def changes(baseline: System, system: System) -> str:
    """Return the questions won and lost, each with both predictions and the rules that decided."""
    lines = []
    for word, ids in zip(("won", "lost"), changed(baseline, system), strict=True):
        for q in ids:
            before, after = (
                f"{answer.prediction!r} ({answer.score.rule})" for answer in (baseline.answers[q], system.answers[q])
            )
            lines.append(f"{word} {q}: {before} -> {after}")
    return "\n".join(lines)


def as_html(
    comparison: Mapping[str, Any], systems: Sequence[System], questions: Mapping[str, Question], warnings: Sequence[str]
) -> bytes:
    """Return a page with all that was compared, and the questions won and lost side by side."""
    from xldocbench.html_report import Change, Section, page_of_comparison

    by_name = {system.name: system for system in systems}
    both = []
    for pair in comparison["pairs"]:
        baseline, system = by_name[pair["baseline"]], by_name[pair["system"]]
        both.append(
            tuple(
                [
                    Change(
                        q,
                        questions[q].gold.text,
                        baseline.answers[q].prediction,
                        baseline.answers[q].score.rule,
                        system.answers[q].prediction,
                        system.answers[q].score.rule,
                    )
                    for q in ids
                ]
                for ids in changed(baseline, system)
            )
        )
    sections = [
        Section(_heading(heading, pair), pair, _cells(pair), _counts(pair)) for heading, pair in _sections(comparison)
    ]
    return page_of_comparison(comparison, HEAD, sections, both, warnings)  # type: ignore[arg-type]


# ---- command line


def gate(comparison: Mapping[str, Any], margins: Mapping[str, float], significant_only: bool) -> list[str]:
    """Return what has become worse by more than its margin, a sentence each."""
    failed = []
    for pair in comparison["pairs"]:
        for metric, margin in margins.items():
            figures = pair["metrics"][metric]
            sure = figures["high"] is not None and figures["high"] < 0.0
            if -figures["difference"] > margin and (sure or not significant_only):
                failed.append(f"{pair['system']}: {metric} is {-figures['difference']:.6f} under {pair['baseline']}")
    return failed


def _names(paths: Sequence[str], given: Sequence[str] | None) -> list[str]:
    if given is not None and len(given) != len(paths):
        raise EvaluationError(f"--names gives {len(given)} names for {len(paths)} systems; give one each")
    if given is not None and len(set(given)) < len(given):
        raise EvaluationError("--names gives one name twice; give each system its own")
    names = list(given) if given is not None else [os.path.basename(path).partition(".")[0] for path in paths]
    # Two files of one name are told apart by their paths.
    return [path if names.count(name) > 1 and given is None else name for name, path in zip(names, paths, strict=True)]


def published(which: str, results: Path) -> list[str]:
    """Return the published figures as lines to stand below a comparison, marked as quoted."""
    path = results / "published_leaderboard.json"
    try:
        rows = json.loads(path.read_bytes())[{"strict": "strict_1345", "paper": "paper_1519"}[which]]
    except (ValueError, KeyError, TypeError):
        raise EvaluationError(f"{path}: not the published figures") from None
    lines = [f"published figures ({which}), quoted: not scored here, not tested; percent"]
    for row in rows:
        figures = (f"{metric} {'unknown' if row[metric] is None else row[metric]}" for metric in METRICS)
        lines.append(f"  {row['system']} ({row['input']}): {', '.join(figures)}")
    return lines


def _run(arguments: argparse.Namespace) -> int:
    if len(arguments.systems) < 2:
        raise EvaluationError("name at least two systems: the baseline, and what is compared with it")
    quotes = arguments.with_published is not None or arguments.leaderboard is not None
    if (quotes or arguments.list_changes) and arguments.format not in ("text", "markdown"):
        raise EvaluationError(f"published figures and changes do not go with --format {arguments.format}")
    results = arguments.leaderboard or Path(__file__).resolve().parent.parent / "results"
    quoted = published(arguments.with_published or "strict", results) if quotes else []
    gold_files = gold_files_of(arguments)
    if arguments.html is not None:
        check_outputs([arguments.html], [*arguments.systems, *gold_files])
    gold = load_gold_files(gold_files)
    questions, clusters = index_questions(gold.records), clusters_of(gold.records)
    systems = [
        load_system(name, path, questions, gold, reading_of(arguments), arguments.ignore_missing)
        for name, path in zip(_names(arguments.systems, arguments.names), arguments.systems, strict=True)
    ]
    check_comparable(systems, gold, arguments.allow_different_questions)
    comparison = compare(systems, questions, clusters, arguments.all_pairs, arguments.by)
    warnings = []
    if any(map(is_standin, questions)):
        warnings.append(STANDIN_WARNING)
    for system in systems[1:]:
        left_out = len(systems[0].answers.keys() ^ system.answers.keys())
        if left_out:
            warnings.append(
                f"{left_out} questions that only one of {systems[0].name} and {system.name} has are left out"
            )
    for warning in warnings:
        tell(f"WARNING: {warning}")
    if arguments.html is not None:
        write_files({arguments.html: as_html(comparison, systems, questions, warnings)})
    print_to(FORMATS[arguments.format](comparison), sys.stdout)
    if arguments.list_changes:
        for system in systems[1:]:
            print_to(f"\n{system.name} against {systems[0].name}\n{changes(systems[0], system)}", sys.stdout)
    if quoted:
        print_to("\n" + "\n".join(quoted), sys.stdout)
    failed = gate(comparison, arguments.fail_if_worse, arguments.significant_only)
    if failed:
        tell(f"FAILED: {'; '.join(failed)}")
        return EXIT_GATE
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m xldocbench.compare",
        description="Compare systems question by question: differences, intervals, tests.",
        epilog="exit codes: 0 compared   1 an error   2 wrong usage   3 worse than --fail-if-worse allows",
    )
    add = parser.add_argument
    add("systems", nargs="+", metavar="FILE", help="predictions, or reports with rows; the first is the baseline")
    add("--names", nargs="+", metavar="NAME", help="names of the systems (default: the files' names)")
    add_gold_options(parser)
    add_reading_options(parser)
    add("--all-pairs", action="store_true", help="compare every pair (default: each with the baseline)")
    add("--by", nargs="+", default=[], choices=BREAKDOWNS, metavar="NAME", help=f"also by {', '.join(BREAKDOWNS)}")
    add("--format", default="text", choices=FORMATS, help="default: text")
    add("--html", metavar="FILE", help="write a page here: intervals, and the questions won and lost (default: none)")
    add("--list-changes", action="store_true", help="list the questions won and lost (default: no)")
    add("--allow-different-questions", action="store_true", help="compare the questions in common (default: an error)")
    add("--fail-if-worse", type=metric_limits, default={}, metavar="METRIC=X,...", help="exit with 3 on a larger drop")
    add("--significant-only", action="store_true", help="…and only where the interval excludes 0 (default: no)")
    add("--with-published", choices=("strict", "paper"), help="quote the published figures below (default: no)")
    add("--leaderboard", type=Path, metavar="DIR", help="quote those of this results folder (default: the checkout's)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1, 3, 130 or 141."""
    return run_command(_build_parser(), _run, argv)


if __name__ == "__main__":
    sys.exit(main())
