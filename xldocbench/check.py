"""Would this file be scored rightly? What a look at a predictions file shows before it is scored.

Nothing is scored and nothing is written. A *fault* would make the score wrong and names what mends it; a *note* is
worth knowing. Findings are values: the command line prints them.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from xldocbench.containers import Record, open_file, records_in
from xldocbench.evaluate import (
    PREDICTION_FIELDS,
    EvaluationError,
    FileCheck,
    Intake,
    Prediction,
    Question,
    ReadOptions,
    id_text,
    is_success,
    shown_name,
)
from xldocbench.formats import Format, at, format_among, paths_in, predict

FAULT, NOTE = "FAULT", "NOTE"

LIKE_AN_ANSWER = (
    *("pred", "predicted", "predicted_answer", "final_answer", "model_output", "model_response", "completion"),
    *("generated_text", "generation", "output_text", "text", "content", "reply", "result"),
)
"""Fields that look like the answer and are read only where --prediction-field names them."""

_NAMED = 3
_COMPARED_IDS = 200
_SHARE_OF_FAULT = 0.1


class Finding(NamedTuple):
    """What was found: a fault or a note, in a sentence."""

    level: str
    text: str


class Examination(NamedTuple):
    """What a look at a file showed: a line for each count, and the findings."""

    counts: list[str]
    findings: list[Finding]


def _some(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:_NAMED])) + (", …" if len(ids) > _NAMED else "")


def _folded(question_id: str) -> str:
    """Return an id without what differs by accident: case, white space, zeros before a number, separators."""
    plain = re.sub(r"\d+", lambda match: match.group().lstrip("0") or "0", question_id.strip().casefold())
    return re.sub(r"[\W_]+", "-", plain).strip("-")


class _Look:
    """Gathers what there is to say of one file."""

    def __init__(self, questions: Mapping[str, Question], wordings: Mapping[str, str], options: ReadOptions) -> None:
        self.questions = questions
        self.wordings = wordings
        self.options = options
        self.predictions: dict[str, Prediction] = {}
        self.count = 0
        self.statuses: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.read_fields: Counter[str] = Counter()
        self.duplicates: list[tuple[str, str, str]] = []
        self.id_places: Counter[str] = Counter()
        self.unreadable: list[str] = []
        self.without_id = 0

    def see(self, record: Record, row: Format) -> Prediction | None:
        """Take note of a record; return its prediction, or None where it has none."""
        self.count += 1
        self._see_fields(record, row)
        if self.count <= _COMPARED_IDS:
            for path in paths_in(record.value):
                if id_text(at(record.value, path)) in self.questions:
                    self.id_places[path] += 1
        try:
            prediction = predict(record, row, self.options)
        except EvaluationError as error:
            self.unreadable.append(str(error))
            return None
        self.statuses[prediction.status] += 1
        first = self.predictions.get(prediction.question_id)
        if first is None:
            self.predictions[prediction.question_id] = prediction
        elif first.choice == prediction.choice:
            self.duplicates.append((prediction.question_id, first.where, prediction.where))
        return prediction

    def _see_fields(self, record: Record, row: Format) -> None:
        value = record.value
        if row.answer is not None:
            return
        if not isinstance(value, Mapping):
            self.types[type(value).__name__] += 1
            return
        wanted = (self.options.prediction_field,) if self.options.prediction_field else PREDICTION_FIELDS
        read = next((name for name in wanted if name in value), None)
        if read is not None:
            self.read_fields[read] += 1
            found = value[read]
            # Of an answer in the gold's own shape the value counts.
            found = found.get("value") if read == "answer" and isinstance(found, dict) else found
            self.types[type(found).__name__] += 1
        for name in LIKE_AN_ANSWER:
            if name in value and name != read and value[name] not in (None, "") and not isinstance(value[name], bool):
                self.unread[name] += 1

    # ---- findings

    def findings(self) -> Iterable[Finding]:
        """Yield the findings, the faults of ids first."""
        yield from self._of_records()
        yield from self._of_ids()
        yield from self._of_fields()
        yield from self._of_texts()

    def _of_records(self) -> Iterable[Finding]:
        if self.unreadable:
            more = f" ({len(self.unreadable)} such records)" if len(self.unreadable) > 1 else ""
            yield Finding(FAULT, f"{self.unreadable[0]}{more}")
        if self.duplicates:
            question_id, first, second = self.duplicates[0]
            level = FAULT if self.options.on_duplicate == "error" else NOTE
            yield Finding(
                level,
                f"{len(self.duplicates)} predictions are for an id that was there before, such as {question_id!r}"
                f" ({first}; {second}); choose with --on-duplicate first or last",
            )
        if self.statuses and not any(map(is_success, self.statuses)):
            yield Finding(FAULT, "no prediction has a status of success: every question would score 0")

    def _of_ids(self) -> Iterable[Finding]:
        unknown = [question_id for question_id in self.predictions if question_id not in self.questions]
        if not unknown and not self.unreadable:
            return
        found = sum(question_id in self.questions for question_id in self.predictions)
        place = max(self.id_places, key=lambda path: self.id_places[path], default=None)
        if place is not None and self.id_places[place] > min(found, _COMPARED_IDS):
            yield Finding(FAULT, f"the ids of the gold stand at {place}; read them with --id-field {place}")
            return
        missing = [question_id for question_id in self.questions if question_id not in self.predictions]
        folded = {_folded(question_id): question_id for question_id in missing}
        alike: list[tuple[str, str]] = []
        strange: list[str] = []
        for question_id in unknown[:_COMPARED_IDS]:
            known = folded.get(_folded(question_id)) or self._with_prefix(question_id, folded)
            if known:
                alike.append((question_id, known))
            else:
                strange.append(question_id)
        if alike:
            pairs = ", ".join(f"{ours!r} for {known!r}" for ours, known in alike[:_NAMED])
            more = "at least " if len(unknown) > _COMPARED_IDS else ""
            yield Finding(
                FAULT,
                f"{more}{len(alike)} ids differ from those of the gold only by case, padding, separators or a prefix"
                f" ({pairs}); write them as the gold does",
            )
        if strange:
            nearest = difflib.get_close_matches(strange[0], self.questions, n=1)
            hint = f"; nearest to {strange[0]!r} is {nearest[0]!r}" if nearest else ""
            level = FAULT if len(unknown) == len(self.predictions) else NOTE
            yield Finding(
                level,
                f"{len(unknown)} predictions are for no question of the gold ({_some(strange)}){hint}",
            )

    @staticmethod
    def _with_prefix(question_id: str, folded: Mapping[str, str]) -> str | None:
        ours = _folded(question_id)
        for theirs, known in folded.items():
            longer, shorter = (ours, theirs) if len(ours) > len(theirs) else (theirs, ours)
            if shorter and longer.endswith(f"-{shorter}"):
                return known
        return None

    def _of_fields(self) -> Iterable[Finding]:
        if not self.unread:
            return
        name, times = self.unread.most_common(1)[0]
        read = sum(self.read_fields.values())
        flag = f"--prediction-field {name}"
        if not read:
            yield Finding(FAULT, f"{times} records have {name!r} and no field that is read; name it with {flag}")
        elif set(self.read_fields) == {"answer"} and not self.options.prediction_field:
            yield Finding(
                FAULT, f"'answer' is read and {name!r} is not: if 'answer' is the gold answer, score with {flag}"
            )
        else:
            yield Finding(NOTE, f"{times} records have {name!r}, which is not read; {flag} would read it")

    def _of_texts(self) -> Iterable[Finding]:
        asked = {q: p for q, p in self.predictions.items() if q in self.questions and is_success(p.status)}
        texts = {q: p.text for q, p in asked.items() if p.text is not None and p.text.strip()}
        empty = len(asked) - len(texts)
        if empty:
            level = FAULT if not texts else NOTE
            yield Finding(level, f"{empty} of {len(asked)} successful predictions are null or blank, and score 0")
        if self.types["dict"]:
            yield Finding(
                FAULT,
                f"{self.types['dict']} predictions are JSON objects, which count as their JSON text; name the text in"
                " them with --prediction-field, such as NAME.text",
            )
        if len(self.types) > 1:
            kinds = ", ".join(f"{times} {name}" for name, times in sorted(self.types.items()))
            yield Finding(NOTE, f"predictions are of several JSON types ({kinds}); each is scored as its text")
        echoes = [q for q, text in texts.items() if q in self.wordings and _same(text, self.wordings[q])]
        formats = [q for q, text in texts.items() if _same(text, self.questions[q].answer_format)]
        for ids, what in ((echoes, "the question itself"), (formats, "the name of the answer's format")):
            if ids:
                level = FAULT if len(ids) >= _SHARE_OF_FAULT * len(texts) else NOTE
                yield Finding(level, f"{len(ids)} predictions are {what} ({_some(ids)}); is the right field read?")
        if len(texts) > 1 and all(text == self.questions[q].gold.text for q, text in texts.items()):
            yield Finding(NOTE, "every prediction is the gold answer itself; is the right field read?")


def _same(text: str, other: str) -> bool:
    return " ".join(text.split()).casefold() == " ".join(other.split()).casefold()


def examine(
    name: str, questions: Mapping[str, Question], wordings: Mapping[str, str], options: ReadOptions
) -> Examination:
    """Look at a predictions file. ``wordings``: question id → wording of the question, where the gold states it.

    Raises OSError for a file that cannot be read; whatever else is wrong with it is a finding.
    """
    intake = Intake()
    look = _Look(questions, wordings, options)
    check = FileCheck(shown_name(name), options._replace(on_duplicate="last"))
    findings: list[Finding] = []
    container = "unknown container"
    try:
        opened = open_file(name, intake, options.container)
        container = opened.container
        with opened.file:
            row: Format | None = None
            for record in records_in(name, opened, intake):
                try:
                    row = format_among(record, row)
                except EvaluationError as error:
                    look.unreadable.append(str(error))
                    continue
                intake.format = row.name
                prediction = look.see(record, row)
                if prediction is not None:
                    check.counts(prediction)
        if not look.unreadable:
            check.finish()
    except EvaluationError as error:
        findings.append(Finding(FAULT, str(error)))
    findings = [*look.findings(), *findings]
    findings += (Finding(NOTE, text) for text in intake.warnings)
    statuses = ", ".join(f"{times} {status}" for status, times in look.statuses.most_common())
    known = sum(question_id in questions for question_id in look.predictions)
    missing = [question_id for question_id in questions if question_id not in look.predictions]
    counts = [
        f"XL-DocBench check of {shown_name(name)}",
        f"Format:              {intake.format} ({container})",
        f"Gold questions:      {len(questions)}",
        f"Predictions:         {look.count}{f' ({statuses})' if statuses else ''}",
        f"For a question:      {known}",
        f"Missing predictions: {len(missing)}{f' ({_some(missing)})' if missing else ''}",
        f"Extra predictions:   {len(look.predictions) - known}",
    ]
    return Examination(counts, findings)


def as_text(examination: Examination) -> str:
    """Return an examination for people: the counts, the findings, and in the last line what follows from them."""
    faults = sum(finding.level == FAULT for finding in examination.findings)
    verdict = "the file is ready to be scored"
    if faults:
        verdict = f"{faults} fault{'' if faults == 1 else 's'}: as it is, the file would not be scored rightly"
    return "\n".join([*examination.counts, *(f"{level}: {text}" for level, text in examination.findings), verdict])


def wordings_of(gold_records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the wording of each question that states one: question id → ``question``."""
    return {
        record["question_id"]: record["question"] for record in gold_records if isinstance(record.get("question"), str)
    }
