"""One page to look at: the scores with error bars, charts, and every question with its explanation.

The page is a single file that needs nothing else: styles and script are in it, and its Content-Security-Policy
allows these two by their hashes and nothing more. Whatever comes from a file is shown as text: escaped, with
control characters and marks of writing direction replaced by their code points. Pure functions of reports.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import quote

from xldocbench.audit import FLAGS, audit_of
from xldocbench.evaluate import BREAKDOWNS, METRICS, Verdict
from xldocbench.explain import explain
from xldocbench.uncertainty import clipped, confidence_of, error_bar, half_width

NAMES = {"accuracy": "Accuracy", "token_f1": "Token F1", "anls": "ANLS"}

# ---- text that comes from files

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def _code_point(match: re.Match[str]) -> str:
    return f"U+{ord(match.group()):04X}"


def _plain(text: str) -> str:
    """Return text for a title or an attribute."""
    return html.escape(_HIDDEN.sub(lambda match: f"[{_code_point(match)}]", text))


def _shown(text: str) -> str:
    """Return text as HTML that shows it, and does nothing else."""
    escaped = html.escape(text, quote=False)
    return _HIDDEN.sub(lambda match: f'<span class="code-point">{_code_point(match)}</span>', escaped)


def _cut(text: str, limit: int) -> str:
    """Return a text whose middle is left out where it is longer than the limit."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]} […{len(text) - limit:,} characters left out…] {text[len(text) - tail :]}"


_LONGEST_LIMIT = 1 << 20


def _limit_for(texts: Sequence[str], budget: int) -> int:
    """Return the length to which texts are cut so that, written as HTML, they take no more than ``budget`` bytes."""
    sizes = [(len(text), len(_shown(text).encode("utf-8", "replace"))) for text in texts if text]
    if sum(size for _, size in sizes) <= budget:
        return _LONGEST_LIMIT
    low, high = 80, _LONGEST_LIMIT
    while low < high:
        middle = (low + high + 1) // 2
        if sum(size * min(length, middle) // length for length, size in sizes) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


# Beyond so many pairs of characters only the common beginning and end are looked for.
_COMPARED = 20_000


def _unmarked(gold: str, prediction: str) -> list[tuple[int, int, int]]:
    """Return the stretches that two texts have in common: start in the gold, start in the prediction, length."""
    # Lower-casing may change the length of a text: then it is compared as it stands.
    a, b = (text.lower() if len(text.lower()) == len(text) else text for text in (gold, prediction))
    if a and (place := b.find(a)) >= 0:
        return [(0, place, len(a))]
    if len(a) * len(b) <= _COMPARED:
        blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        return [(block.a, block.b, block.size) for block in blocks]
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    end = next((i for i in range(shorter - start) if a[-1 - i] != b[-1 - i]), shorter - start)
    return [(0, 0, start), (len(a) - end, len(b) - end, end)]


def _with_marks(text: str, common: Iterable[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, length in [*common, (len(text), 0)]:
        if start > position:
            parts.append(f"<mark>{_shown(text[position:start])}</mark>")
        parts.append(_shown(text[start : start + length]))
        position = start + length
    return "".join(parts)


def _marked(gold: str, prediction: str) -> tuple[str, str]:
    """Return both texts as HTML, with the characters marked in which they differ."""
    common = _unmarked(gold, prediction)
    return (
        _with_marks(gold, [(start, length) for start, _, length in common]),
        _with_marks(prediction, [(start, length) for _, start, length in common]),
    )


# ---- charts


class Bar(NamedTuple):
    """One bar of a chart: its label, value and interval in 0..1 (None where not stated), and how many questions."""

    label: str
    value: float
    low: float | None
    high: float | None
    questions: int


_WIDTH, _LABELS, _ROW = 360, 132, 22
_MOST_BARS = 40
_LONGEST_LABEL = 18


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _bar_chart(title: str, heading: str, bars: Sequence[Bar]) -> str:
    """Return a figure: horizontal bars with intervals, and the same figures in a table beside them."""
    drawn = sorted(bars, key=lambda bar: -bar.questions)[:_MOST_BARS] if len(bars) > _MOST_BARS else bars
    drawn = [bar for bar in bars if bar in drawn]
    space = _WIDTH - _LABELS - 52
    shapes, rows = [], []
    for index, (label, value, low, high, count) in enumerate(drawn):
        middle = index * _ROW + _ROW // 2 + 2
        short = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
        shapes.append(
            f'<text x="{_LABELS - 6}" y="{middle + 4}" text-anchor="end">{_shown_in_svg(short)}</text>'
            f'<rect class="bar" x="{_LABELS}" y="{middle - 6}" width="{max(value * space, 0.5):.1f}" height="12"/>'
        )
        if low is not None and high is not None:
            start, end = _LABELS + low * space, _LABELS + high * space
            shapes.append(
                f'<path class="whisker" d="M{start:.1f} {middle}H{end:.1f}M{start:.1f} {middle - 4}v8'
                f'M{end:.1f} {middle - 4}v8"/>'
            )
        shapes.append(f'<text x="{_WIDTH}" y="{middle + 4}" text-anchor="end">{_percent(value)}</text>')
        interval = "–" if low is None else f"{_percent(low)} to {_percent(high)}"
        rows.append(
            f'<tr><th scope="row">{_shown(label)}</th><td class="number">{count}</td>'
            f'<td class="number">{_percent(value)}</td><td class="number">{interval}</td></tr>'
        )
    left_out = len(bars) - len(drawn)
    note = f'<p class="note">The {left_out} smallest are left out; the JSON report has all.</p>' if left_out else ""
    height = len(drawn) * _ROW + 6
    return (
        f'<figure class="chart"><figcaption>{_shown(title)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{_plain(title)}: figures in the table beside">'
        f'<path class="axis" d="M{_LABELS} 0v{height}"/>{"".join(shapes)}</svg>'
        '<div class="scroll"><table class="plain"><thead><tr>'
        f'<th scope="col">{_shown(heading)}</th><th scope="col" class="number">n</th>'
        '<th scope="col" class="number">accuracy</th><th scope="col" class="number">95% interval</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{note}</div></figure>"
    )


def _shown_in_svg(text: str) -> str:
    return html.escape(_HIDDEN.sub("·", text))


_BINS = 10


def _histogram(title: str, values: Sequence[float]) -> str:
    """Return a figure: how many questions have a score in each tenth of 0..1, and the same in a table."""
    counts = [0] * _BINS
    for value in values:
        counts[min(int(value * _BINS), _BINS - 1)] += 1
    labels = [f"{i / _BINS:.1f} to {(i + 1) / _BINS:.1f}" for i in range(_BINS)]
    width, height, most = _WIDTH / _BINS, 130, max(counts) or 1
    shapes = []
    for index, count in enumerate(counts):
        tall = 96 * count / most
        x = index * width
        shapes.append(
            f'<rect class="bar" x="{x + 3:.1f}" y="{112 - tall:.1f}" width="{width - 6:.1f}" height="{tall:.1f}"/>'
            f'<text x="{x + width / 2:.1f}" y="{108 - tall:.1f}" text-anchor="middle">{count}</text>'
            f'<text x="{x + width / 2:.1f}" y="126" text-anchor="middle">{index / _BINS:.1f}</text>'
        )
    rows = "".join(
        f'<tr><th scope="row">{label}</th><td class="number">{count}</td></tr>'
        for label, count in zip(labels, counts, strict=True)
    )
    return (
        f'<figure class="chart"><figcaption>{title}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}: figures in the table beside">'
        f'<path class="axis" d="M0 112.5H{_WIDTH}"/>{"".join(shapes)}</svg>'
        '<div class="scroll"><table class="plain"><thead><tr><th scope="col">score</th>'
        f'<th scope="col" class="number">questions</th></tr></thead><tbody>{rows}</tbody></table></div></figure>'
    )


_LENGTHS = (4, 8, 16, 32, 64, 128)


def _bars_by_gold_length(verdicts: Sequence[Verdict], clusters: Mapping[str, str]) -> list[Bar]:
    groups: dict[int, list[Verdict]] = {}
    for verdict in verdicts:
        length = len(verdict.question.gold.text)
        groups.setdefault(sum(length > edge for edge in _LENGTHS), []).append(verdict)
    bars = []
    for index, group in sorted(groups.items()):
        least = _LENGTHS[index - 1] + 1 if index else 0
        label = f"{least} to {_LENGTHS[index]}" if index < len(_LENGTHS) else f"{least} or more"
        labels = [clusters[verdict.question.question_id] for verdict in group]
        mean, _, low, high, _ = error_bar([verdict.score.accuracy for verdict in group], labels)
        bars.append(Bar(label, mean, clipped(low), clipped(high), len(group)))
    return bars


def _bars_of(report: Mapping[str, Any], confidence: Mapping[str, Any], breakdown: str) -> list[Bar]:
    bars = []
    for label, figures in report["breakdowns"][breakdown].items():
        bar = confidence["breakdowns"][breakdown][label]["accuracy"]
        bars.append(Bar(label, figures["accuracy"], bar["low"], bar["high"], figures["count"]))
    return bars


# ---- the page


@functools.cache
def _asset(name: str) -> str:
    return resources.files("xldocbench").joinpath(name).read_text(encoding="utf-8")


def _hash_of(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _page(title: str, own: str, body: Iterable[str], script: str = "") -> bytes:
    """Return the file: ``own`` begins the ids that are the page's own."""
    style = _asset("page.css")
    scripts = _hash_of(script) if script else "'none'"
    policy = (
        f"default-src 'none'; style-src {_hash_of(style)}; script-src {scripts}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n',
        # Without an icon of its own a served page would ask its server for one.
        '<link rel="icon" href="data:,">\n',
        f"<title>{_plain(title)}</title>\n<style>{style}</style>\n</head>\n",
        f'<body data-own="{_plain(own)}">\n',
        *body,
        f"<script>{script}</script>\n" if script else "",
        "</body>\n</html>\n",
    ]
    return "".join(parts).encode("utf-8", "replace")


def _prefix_for(question_ids: Iterable[str]) -> str:
    """Return how the page's own ids begin, so that no question's id does."""
    prefix = "page-"
    ids = list(question_ids)
    while any(question_id.startswith(prefix) for question_id in ids):
        prefix += "-"
    return prefix


def _warnings(texts: Iterable[str]) -> str:
    return "".join(f'<p class="warning" role="note">{_shown(text)}</p>\n' for text in texts)


def _scores(report: Mapping[str, Any], confidence: Mapping[str, Any]) -> str:
    cards = []
    for metric in METRICS:
        half, bar = half_width(confidence, metric), confidence["overall"][metric]
        interval = (
            ""
            if half is None
            else f"± {100 * half:.2f}; 95% interval {_percent(bar['low'])} to {_percent(bar['high'])}"
        )
        cards.append(
            f'<div><dt>{NAMES[metric]}</dt><dd class="figure">{report["overall"][metric]:.2%}</dd>'
            f"<dd>{interval or 'no interval: fewer than two clusters'}</dd></div>"
        )
    return f'<dl class="scores">{"".join(cards)}</dl>\n'


_COUNTS = {
    "gold_count": "gold questions",
    "prediction_count": "predictions",
    "evaluated_count": "evaluated",
    "missing_prediction_count": "missing",
    "failed_prediction_count": "failed",
    "empty_prediction_count": "empty",
    "extra_prediction_count": "extra",
}


def _flags_table(audit: Mapping[str, Any]) -> str:
    disputed = audit["disputed"]
    rows = "".join(
        f'<tr><th scope="row"><a href="#?flag={code}">{code}</a></th><td class="number">{found["count"]}</td>'
        f"<td>{found['direction']}</td><td>{html.escape(FLAGS[code].meaning)}</td></tr>"
        for code, found in audit["flags"].items()
        if found["count"]
    )
    lines = (
        f"<p>{disputed['too_strict']} verdicts may be too strict and {disputed['too_generous']} too generous: if all of"
        f" these were wrong, accuracy would be {disputed['lowest']:.2%}, if all of those were right,"
        f" {disputed['highest']:.2%}. The score itself is not changed.</p>\n"
    )
    if not rows:
        return lines
    return (
        f'{lines}<div class="scroll"><table class="plain"><caption>Flags raised</caption>'
        '<thead><tr><th scope="col">flag</th><th scope="col" class="number">questions</th>'
        '<th scope="col">may be</th><th scope="col">because</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>\n"
    )


def _select(name: str, own: str, values: Iterable[str]) -> str:
    options = "".join(f'<option value="{_plain(value)}">{_plain(value)}</option>' for value in values)
    return (
        f'<label>{name} <select name="{name}" id="{own}{name}"><option value="">all</option>{options}</select></label>'
    )


class _Row(NamedTuple):
    verdict: Verdict
    flags: list[str]

    def columns(self) -> dict[str, Any]:
        """Return what the script filters and sorts by."""
        question, score = self.verdict.question, self.verdict.score
        return {
            "id": question.question_id,
            "verdict": _verdict_word(self.verdict),
            "f1": round(score.token_f1, 6),
            "anls": round(score.anls, 6),
            "kind": question.gold.kind,
            "rule": score.rule,
            "domain": question.domain,
            "flag": self.flags,
        }


def _verdict_word(verdict: Verdict) -> str:
    return "right" if verdict.score.accuracy == 1.0 else "wrong"


def _questions_row(row: _Row, limit: int) -> str:
    verdict = row.verdict
    question, score, word = verdict.question, verdict.score, _verdict_word(verdict)
    gold, prediction = _marked(_cut(question.gold.text, limit), _cut(verdict.prediction or "", limit))
    steps = [f"<dt>{label}<dd dir=auto>{_shown(_cut(text, limit))}" for label, text in explain(verdict)[3:]]
    steps += (f"<dt>{code}<dd>{html.escape(FLAGS[code].meaning)}" for code in row.flags)
    if verdict.prediction is None:
        prediction = f"<i>{score.rule}</i>"
    link = quote(question.question_id, errors="replace")
    return (
        f'<tbody id="{_plain(question.question_id)}"><tr>'
        f'<th scope=row><a href="#{link}">{_shown(question.question_id)}</a>'
        f'<td><b class="is-{word}">{word}</b><td class="number wide">{score.token_f1:.2f}'
        f'<td class="number wide">{score.anls:.2f}<td class=wide>{question.gold.kind}<td>{score.rule}'
        f"<td class=wide>{_shown(question.domain)}<td class=wide>{', '.join(row.flags)}"
        f"<tr><td colspan=8><details><summary><bdi>{_shown(_preview(question.gold.text))}</bdi>"
        f" ← <bdi>{_shown(_preview(verdict.prediction or score.rule))}</bdi></summary>"
        f"<dl><dt>gold<dd dir=auto>{gold}<dt>prediction<dd dir=auto>{prediction}{''.join(steps)}</dl></details>"
        "</tbody>\n"
    )


_PREVIEW = 60


def _preview(text: str) -> str:
    line = " ".join(text[: 4 * _PREVIEW].split())
    return line if len(line) <= _PREVIEW and len(text) <= 4 * _PREVIEW else f"{line[:_PREVIEW]}…"


_COLUMNS = (
    ("question", "id", "c-id"),
    ("verdict", "verdict", "c-verdict"),
    ("F1", "f1", "c-score wide number"),
    ("ANLS", "anls", "c-score wide number"),
    ("kind", "kind", "c-kind wide"),
    ("rule", "rule", "c-rule"),
    ("domain", "domain", "c-domain wide"),
    ("flags", "flag", "wide"),
)
# What is shown of the texts of a page, in bytes: with all else a page of 1,345 questions stays under 3 MB.
_TEXT_BUDGET = 700_000
_MOST_ROWS = 10_000


def _questions(rows: Sequence[_Row], own: str) -> str:
    texts = [text for row in rows for text in (row.verdict.question.gold.text, row.verdict.prediction or "")]
    # Each text stands there twice: as it is, and normalised.
    limit = _limit_for(texts, _TEXT_BUDGET // 2)
    head = "".join(
        f'<th scope="col" class="{css}" data-sort="{key}" aria-sort="none">{label}</th>' for label, key, css in _COLUMNS
    )
    found = [row.columns() for row in rows]
    columns = {key: [row[key] for row in found] for _, key, _ in _COLUMNS}
    choices = {name: sorted(set(columns[name])) for name in ("kind", "rule", "domain", "verdict")}
    choices["flag"] = sorted({code for codes in columns["flag"] for code in codes})
    selects = "".join(_select(name, own, values) for name, values in choices.items())
    data = json.dumps(columns, separators=(",", ":")).replace("<", "\\u003c")
    note = (
        f'<p class="note">Texts of more than {limit:,} characters are cut in their middle; the JSON has all.</p>\n'
        if any(len(text) > limit for text in texts)
        else ""
    )
    return (
        f'<form id="{own}filters" hidden><label>search <input type="search" name="search" id="{own}search"></label>'
        f'{selects}<button type="reset">show all</button></form>\n'
        f'<p id="{own}shown" role="status">{len(rows)} questions</p>\n{note}'
        f'<table class="questions" id="{own}table"><caption>Open a row to see how its scores came about.</caption>'
        f"<thead><tr>{head}</tr></thead>\n{''.join(_questions_row(row, limit) for row in rows)}</table>\n"
        f'<script type="application/json" id="{own}data">{data}</script>\n'
    )


def page_of_report(
    system: str, report: Mapping[str, Any], verdicts: Sequence[Verdict], clusters: Mapping[str, str]
) -> bytes:
    """Return the page of one system as UTF-8 HTML.

    ``report`` is that of :func:`xldocbench.evaluate.build_report` on these verdicts, with its provenance;
    the verdicts must carry the texts of the predictions. ``clusters``: question id → label. The same input
    gives the same bytes. Of more than 10,000 questions the first 10,000 are listed.
    """
    confidence = report.get("confidence") or confidence_of(verdicts, clusters)
    audit = report.get("audit") or audit_of(verdicts)
    flags: dict[str, list[str]] = {}
    for code, found in audit["flags"].items():
        for question_id in found["questions"]:
            flags.setdefault(question_id, []).append(code)
    rows = [_Row(v, flags.get(v.question.question_id, [])) for v in verdicts[:_MOST_ROWS]]
    ids = [verdict.question.question_id for verdict in verdicts]
    own = _prefix_for(ids)
    counts = "".join(
        f'<tr><th scope="row">{label}</th><td class="number">{report[key]}</td></tr>' for key, label in _COUNTS.items()
    )
    left_out = len(verdicts) - len(rows)
    body = (
        f'<a class="skip" href="#{own}questions">Skip to the questions</a>\n',
        f"<main>\n<h1>{_shown(system)} on XL-DocBench</h1>\n",
        _warnings(report["warnings"]),
        _scores(report, confidence),
        f"<p><code>{_shown(report['provenance']['signature'])}</code></p>\n",
        f'<h2>Counts</h2>\n<table class="plain"><tbody>{counts}</tbody></table>\n',
        f"<h2>Verdicts in dispute</h2>\n{_flags_table(audit)}",
        '<h2>Accuracy by part</h2>\n<p class="note">Bars are accuracies, whiskers 95% intervals by'
        f" {confidence['method']}, over {confidence['clusters']} clusters.</p>\n",
        *(
            _bar_chart(
                f"Accuracy by {name.replace('_', ' ')}", name.replace("_", " "), _bars_of(report, confidence, name)
            )
            for name in BREAKDOWNS
        ),
        _bar_chart(
            "Accuracy by length of the gold in characters", "characters", _bars_by_gold_length(verdicts, clusters)
        ),
        "<h2>Distribution of scores</h2>\n",
        _histogram("Token F1", [verdict.score.token_f1 for verdict in verdicts]),
        _histogram("ANLS", [verdict.score.anls for verdict in verdicts]),
        f'<h2 id="{own}questions">Questions</h2>\n',
        f"<p>The first {len(rows):,} of {len(verdicts):,}; the JSON report has all.</p>\n" if left_out else "",
        _questions(rows, own),
        "</main>\n",
    )
    return _page(f"{system} on XL-DocBench", own, body, _asset("page.js"))


# ---- the page of a comparison


class Change(NamedTuple):
    """A question that one system has right and the other wrong, with both predictions and rules."""

    question_id: str
    gold: str
    baseline: str | None
    baseline_rule: str
    system: str | None
    system_rule: str


class Section(NamedTuple):
    """One pair as it is shown: its heading, figures, the cells of its table, and its counts in words."""

    heading: str
    pair: Mapping[str, Any]
    cells: Sequence[Sequence[str]]
    counts: str


def _forest(pair: Mapping[str, Any]) -> str:
    """Return a drawing of the three differences with their intervals around 0."""
    reach = max(
        [0.01]
        + [abs(figures[end] or 0.0) for figures in pair["metrics"].values() for end in ("difference", "low", "high")]
    )
    middle = (_LABELS + _WIDTH) / 2
    scale = (_WIDTH - _LABELS - 10) / 2 / reach
    shapes = []
    for index, (metric, figures) in enumerate(pair["metrics"].items()):
        y = index * _ROW + _ROW // 2 + 2
        shapes.append(f'<text x="{_LABELS - 6}" y="{y + 4}" text-anchor="end">{NAMES[metric]}</text>')
        if figures["low"] is not None:
            start, end = (middle + scale * figures[key] for key in ("low", "high"))
            shapes.append(
                f'<path class="whisker" d="M{start:.1f} {y}H{end:.1f}M{start:.1f} {y - 4}v8M{end:.1f} {y - 4}v8"/>'
            )
        shapes.append(f'<circle class="bar" cx="{middle + scale * figures["difference"]:.1f}" cy="{y}" r="5"/>')
    height = 3 * _ROW + 24
    shapes.append(f'<path class="axis" d="M{middle:.1f} 0v{height - 20}"/>')
    for value, place, anchor in ((-reach, _LABELS, "start"), (0.0, middle, "middle"), (reach, _WIDTH, "end")):
        shapes.append(f'<text x="{place}" y="{height - 6}" text-anchor="{anchor}">{100 * value:+.1f}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Differences in percentage points with 95%'
        f' intervals: figures in the table beside">{"".join(shapes)}</svg>'
    )


def _changes_table(caption: str, changes: Sequence[Change], names: Sequence[str], limit: int) -> str:
    if not changes:
        return f"<p>{_shown(caption)}: none.</p>\n"
    rows = []
    for change in changes:
        cells = []
        for prediction, rule in ((change.baseline, change.baseline_rule), (change.system, change.system_rule)):
            text = _shown(_cut(prediction, limit)) if prediction is not None else "<i>none</i>"
            cells.append(f"<td><bdi>{text}</bdi><br><small>{_shown(rule)}</small>")
        rows.append(
            f"<tr><th scope=row>{_shown(change.question_id)}<td><bdi>{_shown(_cut(change.gold, limit))}</bdi>"
            + "".join(cells)
            + "\n"
        )
    heads = "".join(f'<th scope="col">{_shown(name)}</th>' for name in ("question", "gold", *names))
    return (
        f"<details><summary>{_shown(caption)}: {len(changes)}</summary>"
        f'<table class="questions plain"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</details>\n"
    )


def page_of_comparison(
    comparison: Mapping[str, Any],
    head: Sequence[str],
    sections: Sequence[Section],
    changes: Sequence[tuple[Sequence[Change], Sequence[Change]]],
    warnings: Sequence[str],
) -> bytes:
    """Return the page of a comparison as UTF-8 HTML.

    ``sections``: everything compared, the tables' cells under ``head``. ``changes``: of each of the first pairs,
    those overall, the questions that its system won and lost.
    """
    texts = [
        text or ""
        for both in changes
        for part in both
        for change in part
        for text in (change.gold, change.baseline, change.system)
    ]
    limit = _limit_for(texts, _TEXT_BUDGET)
    heads = f'<th scope="col">{head[0]}</th>' + "".join(
        f'<th scope="col" class="number">{name}</th>' for name in head[1:]
    )
    body = ["<main>\n<h1>XL-DocBench comparison</h1>\n", _warnings(warnings)]
    systems = "".join(
        f'<tr><th scope="row">{_shown(row["name"])}</th><td class="number">{row["questions"]}</td>'
        + "".join(f'<td class="number">{row[metric]:.2%}</td>' for metric in METRICS)
        + "</tr>"
        for row in comparison["systems"]
    )
    names = "".join(f'<th scope="col" class="number">{NAMES[metric]}</th>' for metric in METRICS)
    body.append(
        '<div class="scroll"><table class="plain"><thead><tr><th scope="col">system</th>'
        f'<th scope="col" class="number">questions</th>{names}</tr></thead><tbody>{systems}</tbody></table></div>\n'
        f"<p><code>{_shown(comparison['signature'])}</code></p>\n"
        '<p class="note">Scores, differences and 95% intervals are in percent, cluster-robust over'
        f" {comparison['clusters']} clusters; difference = system − baseline; p is that of a cluster sign-flip"
        " permutation test, adjusted for the number of pairs by Holm's method.</p>\n"
    )
    for index, (heading, pair, rows, counts) in enumerate(sections):
        cells = "".join(
            f'<tr><th scope="row">{row[0]}</th>'
            + "".join(f'<td class="number">{cell}</td>' for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        body.append(
            f'<h2>{_shown(heading)}</h2>\n<div class="chart pair">{_forest(pair)}'
            '<div class="scroll"><table class="plain">'
            f"<thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div></div>\n"
            f"<p>{counts}</p>\n"
        )
        if index < len(changes):
            for word, part in zip(("Won", "Lost"), changes[index], strict=True):
                body.append(_changes_table(word, part, (pair["baseline"], pair["system"]), limit))
    if any(len(text) > limit for text in texts):
        body.append(f'<p class="note">Long texts are cut to {limit:,} characters in their middle.</p>\n')
    return _page("XL-DocBench comparison", "page-", [*body, "</main>\n"])
