"""Whose output is it? One row for each producer of predictions files: how a record is known, and where its answer is.

Reasoning is never the answer, a failed item is a failed prediction whose status says how, and what cannot be read
for sure is an error. A new producer is a row of ``FORMATS`` and a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xldocbench.containers import Opened, Record, open_file, records_in
from xldocbench.evaluate import (
    ID_FIELDS,
    PREDICTION_FIELDS,
    EvaluationError,
    Intake,
    Prediction,
    ReadOptions,
    id_text,
    prediction_of,
    text_of,
)
from xldocbench.final_answer import final_answer

# ---- dotted paths

_ABSENT = object()


def at(value: Any, path: str) -> Any:
    """Return what stands at a dotted path, such as ``choices.0.message.content``; ``_ABSENT`` where nothing does.

    A key that holds the points itself comes before the steps.
    """
    if isinstance(value, dict) and path in value:
        return value[path]
    step, _, rest = path.partition(".")
    if isinstance(value, dict):
        found = value.get(step, _ABSENT)
    elif isinstance(value, list) and step.removeprefix("-").isdecimal() and -len(value) <= int(step) < len(value):
        found = value[int(step)]
    else:
        return _ABSENT
    return found if found is _ABSENT or not rest else at(found, rest)


def paths_in(value: Any, prefix: str = "") -> list[str]:
    """Return the paths to the scalars of an object, for a hint."""
    if not isinstance(value, dict):
        return [prefix] if id_text(value) is not None else []
    return [path for key, item in value.items() for path in paths_in(item, f"{prefix}.{key}" if prefix else str(key))]


# ---- answers


class Answer(NamedTuple):
    """What an item of a producer's output says: its text, or how it failed; ``lacks_text`` where it ended without."""

    text: str | None
    failure: str = ""
    lacks_text: bool = False


def _failed(detail: object) -> Answer:
    return Answer(None, f"failed: {' '.join(str(detail).split())[:120]}")


def _error_words(error: object) -> str:
    """Return the words of an error: its code or type, however deep it is wrapped."""
    while isinstance(error, dict):
        inner = error.get("error")
        if isinstance(inner, (dict, str)) and inner:
            error = inner
            continue
        named = [error[key] for key in ("code", "type", "message", "errorMessage", "errorCode") if error.get(key)]
        # A word says more than a number.
        return str(next((word for word in named if isinstance(word, str)), (named or ["error"])[0]))
    return str(error)


def _joined(parts: object, kind: str | None) -> str | None:
    """Return the texts of a list of parts, joined; ``kind`` is the type that a part must have (None: no other)."""
    if not isinstance(parts, list):
        return None
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type", kind) in (kind, "text")
    ]
    return "".join(texts) if texts else None


def _text_or(failure: object, text: str | None) -> Answer:
    """Return a text as the answer; a blank one, or none, is a failure."""
    if text is not None and text.strip():
        return Answer(text)
    return _failed(f"no text ({failure})")._replace(lacks_text=True)


def _chat_text(content: object) -> str | None:
    return content if isinstance(content, str) else _joined(content, "text")


def _of_choices(body: Mapping[str, Any]) -> Answer:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return _failed("no choice")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return _failed("no message")
    reason = "refused" if message.get("refusal") else choices[0].get("finish_reason") or choices[0].get("stop_reason")
    return _text_or(reason or "no reason given", _chat_text(message.get("content")))


def _of_output_items(body: Mapping[str, Any]) -> Answer:
    messages = [item for item in body["output"] if isinstance(item, dict) and item.get("type") == "message"]
    texts = [_joined(message.get("content"), "output_text") for message in messages]
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return _text_or(reason or body.get("status") or "no message", "".join(filter(None, texts)) or None)


def _batch_answer(record: Mapping[str, Any]) -> Answer:
    error, response = record.get("error"), record.get("response")
    if error is not None:
        return _failed(_error_words(error))
    if not isinstance(response, dict):
        return _failed("no response")
    status_code, body = response.get("status_code"), response.get("body", response)
    if status_code is not None and str(status_code) != "200":
        inner = body.get("error") if isinstance(body, dict) else None
        return _failed(f"status code {status_code}" + (f": {_error_words(inner)}" if inner else ""))
    if not isinstance(body, dict):
        return _failed("no body")
    return _of_output_items(body) if isinstance(body.get("output"), list) else _of_choices(body)


def _anthropic_answer(record: Mapping[str, Any]) -> Answer:
    result = record["result"]
    if result.get("type") != "succeeded":
        error = result.get("error")
        return _failed(f"{result.get('type')}: {_error_words(error)}" if error else result.get("type"))
    message = result.get("message")
    if not isinstance(message, dict):
        return _failed("no message")
    return _text_or(message.get("stop_reason"), _joined(message.get("content"), "text"))


def _gemini_answer(record: Mapping[str, Any]) -> Answer:
    if record.get("error") is not None:
        return _failed(_error_words(record["error"]))
    if record.get("status") not in (None, ""):
        return _failed(_error_words(record["status"]))
    response = record.get("response")
    candidates = response.get("candidates") if isinstance(response, dict) else None
    if not isinstance(candidates, list) or not candidates or not isinstance(candidates[0], dict):
        blocked = at(response, "promptFeedback.blockReason")
        return _failed("no candidate" if blocked is _ABSENT else f"blocked: {blocked}")
    content = candidates[0].get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    if isinstance(parts, list):
        parts = [part for part in parts if isinstance(part, dict) and part.get("thought") is not True]
    return _text_or(candidates[0].get("finishReason"), _joined(parts, None))


def _bedrock_answer(record: Mapping[str, Any]) -> Answer:
    if record.get("error") is not None:
        return _failed(_error_words(record["error"]))
    output = record.get("modelOutput")
    if not isinstance(output, dict):
        return _failed("no output")
    reason = output.get("stop_reason") or output.get("stopReason")
    for path, kind in (("content", "text"), ("output.message.content", None)):
        if isinstance(parts := at(output, path), list):
            return _text_or(reason, _joined(parts, kind))
    for path in ("results.0.outputText", "generation"):
        if (text := at(output, path)) is not _ABSENT:
            return _text_or(reason, text if isinstance(text, str) else None)
    raise EvaluationError(
        f"a modelOutput of a shape that is not known ({', '.join(map(str, output))});"
        " name the text with --prediction-field modelOutput.…"
    )


def _harness_answer(record: Mapping[str, Any]) -> Answer:
    found: Any = record["filtered_resps"]
    for _ in range(2):
        if isinstance(found, list) and found:
            found = found[0]
    if isinstance(found, (int, float)) or (isinstance(found, list) and found):
        raise EvaluationError("filtered_resps holds log-likelihoods and no text; run the task as generate_until")
    return _text_or("filtered_resps is empty", found if isinstance(found, str) else None)


def _inspect_answer(record: Mapping[str, Any]) -> Answer:
    if record.get("error") is not None:
        return _failed(_error_words(record["error"]))
    output = record.get("output")
    if not isinstance(output, dict) or not output.get("choices", True):
        return _failed("no choice")
    completion = output.get("completion")
    if isinstance(completion, str) and completion.strip():
        return Answer(completion)
    return _of_choices(output)


# ---- the table


class Format(NamedTuple):
    """A producer's format: its name and the producers, how a record is known, where its id and its answer are.

    ``ids`` are paths, of which the first that is not empty counts; without any the user must name one.
    ``choice`` is the field, and the option, of what a file may hold several of for one question.
    """

    name: str
    producers: str
    fits: Callable[[Record], bool]
    ids: Sequence[str] = ()
    answer: Callable[[Mapping[str, Any]], Answer] | None = None
    choice: str = ""


def _has(record: Record, *keys: str) -> bool:
    return isinstance(record.value, dict) and all(key in record.value for key in keys)


def _holds(record: Record, key: str, *types: type) -> bool:
    return _has(record, key) and isinstance(record.value[key], types)


def _is_plain(record: Record) -> bool:
    return record.key is not None or any(_has(record, field) for field in ID_FIELDS[:-1])


def _says_error(record: Record) -> bool:
    return _has(record, "error") and record.value["error"] is not None


def _is_batch(record: Record) -> bool:
    return _has(record, "custom_id") and (_holds(record, "response", dict) or _says_error(record))


def _is_sample(record: Record) -> bool:
    return record.origin == "inspect" or (_has(record, "id", "input", "epoch") and _holds(record, "output", dict))


def _is_vertex(record: Record) -> bool:
    return _holds(record, "request", dict) and (_holds(record, "response", dict) or _has(record, "status"))


_IDS_IN_DOC = tuple(f"doc.{field}" for field in ID_FIELDS)
FORMATS = (
    Format("table", "spreadsheets, VLMEvalKit", lambda r: r.origin == "table", (*ID_FIELDS, "index")),
    Format("inspect", "Inspect AI", _is_sample, ("id",), _inspect_answer, "epoch"),
    Format("plain", "the benchmark's own shapes", _is_plain, ID_FIELDS),
    Format("openai-batch", "OpenAI Batch and its kin", _is_batch, ("custom_id",), _batch_answer),
    Format(
        "anthropic",
        "Anthropic Message Batches",
        lambda r: _has(r, "custom_id") and _holds(r, "result", dict),
        ("custom_id",),
        _anthropic_answer,
    ),
    Format(
        "gemini",
        "Gemini API batch",
        lambda r: _has(r, "key") and (_holds(r, "response", dict) or _says_error(r)),
        ("key",),
        _gemini_answer,
    ),
    Format("vertex", "Vertex AI batch", _is_vertex, (), _gemini_answer),
    Format(
        "bedrock",
        "Amazon Bedrock batch inference",
        lambda r: _has(r, "recordId") and (_has(r, "modelOutput") or _says_error(r)),
        ("recordId",),
        _bedrock_answer,
    ),
    Format(
        "lm-eval",
        "lm-evaluation-harness",
        lambda r: _holds(r, "doc", dict) and _has(r, "filtered_resps", "filter"),
        _IDS_IN_DOC,
        _harness_answer,
        "filter",
    ),
    Format(
        "lmms-eval",
        "lmms-eval",
        lambda r: _holds(r, "doc", dict) and _has(r, "filtered_resps"),
        _IDS_IN_DOC,
        _harness_answer,
    ),
)
"""Every format that is recognised, in the order in which a record is compared with them."""

BY_NAME = {row.name: row for row in FORMATS}
PLAIN = BY_NAME["plain"]


def format_of(record: Record) -> Format:
    """Return the format of a record, by its shape; the plain one where no other fits."""
    return next((row for row in FORMATS if row.fits(record)), PLAIN)


# ---- reading


def _id_of(record: Record, row: Format, id_field: str) -> str:
    if record.key is not None and not id_field:
        return record.key
    for path in (id_field,) if id_field else row.ids:
        if (text := id_text(at(record.value, path))) is not None:
            return text
    if id_field:
        raise EvaluationError(f"{record.where}: no question id at {id_field}; name another place with --id-field")
    if row is PLAIN:
        advice = f"no question id; give one of the fields {', '.join(ID_FIELDS)}, or name its place with --id-field"
    else:
        advice = f"no question id ({row.producers}); name its place with --id-field"
    places = _likely_ids(record.value)
    raise EvaluationError(f"{record.where}: {advice}{f', such as {places[0]}' if places else ''}")


def _likely_ids(value: Any) -> list[str]:
    """Return the paths of an object at which an id is likely to stand: labels of the sender, then other ids."""
    # A harness's doc_id is only a running number.
    paths = [path for path in paths_in(value) if path.partition(".")[0] not in (*PREDICTION_FIELDS, "doc_id")]
    labels = [path for path in paths if ".labels." in path]
    last_steps = {path: path.rpartition(".")[2].lower() for path in paths}
    return labels + [path for path in paths if last_steps[path] in ("key", "index") or last_steps[path].endswith("id")]


def predict(record: Record, row: Format, options: ReadOptions) -> Prediction:
    """Return what a record of the given format predicts. Raises EvaluationError for what is no prediction."""
    question_id = _id_of(record, row, options.id_field)
    if row.answer is None:
        value = record.value
        if record.origin == "table" and not str(value.get("status") or "").strip():
            # In a table an empty cell says nothing.
            value = {key: cell for key, cell in value.items() if key != "status"}
        field = options.prediction_field
        if "." in field and isinstance(value, dict) and field not in value:
            found = at(value, field)
            value = {"status": value.get("status"), **({} if found is _ABSENT else {field: found})}
        return prediction_of(question_id, value, field, record.where)
    choice = (row.choice, str(record.value[row.choice])) if row.choice in record.value else None
    try:
        answer = row.answer(record.value)
    except EvaluationError as error:
        if not options.prediction_field:
            raise EvaluationError(f"{record.where}: {error}") from None
        answer = Answer(None)
    if options.prediction_field:
        found = at(record.value, options.prediction_field)
        # Where the producer's own place is blank, the text may stand at the one that was named.
        is_failure = bool(answer.failure) and not answer.lacks_text
        if found is _ABSENT or is_failure:
            return Prediction(question_id, None, answer.failure or "success", is_failure, record.where, choice)
        return Prediction(question_id, text_of(found), where=record.where, choice=choice)
    return Prediction(question_id, answer.text, answer.failure or "success", True, record.where, choice)


# A record with one of these keys may be of a format of its own among plain ones.
_MARKS = frozenset(("custom_id", "recordId", "key", "request", "doc", "epoch"))


def format_among(record: Record, row: Format | None) -> Format:
    """Return the format of a record among those of the format ``row``, or the first where that is None.

    All records of a file are of one format: another one is an EvaluationError.
    """
    if row is None:
        return format_of(record)
    if row is PLAIN and _MARKS.isdisjoint(record.value if isinstance(record.value, dict) else ()):
        return row
    found = format_of(record)
    if found is not row:
        raise EvaluationError(
            f"{record.where}: a record of the format {found.name} among those of {row.name};"
            " put the two into files of their own"
        )
    return row


def predictions_of(
    records: Iterable[Record], options: ReadOptions, intake: Intake, first: Format | None = None
) -> Iterator[Prediction]:
    """Yield the predictions of records in order; ``first`` is the format where it is known already."""
    row = first
    for record in records:
        row = format_among(record, row)
        intake.format = row.name
        prediction = predict(record, row, options)
        if options.final_answer and prediction.text is not None:
            prediction = prediction._replace(text=final_answer(prediction.text))
        yield prediction


def _by_pattern(predictions: Iterable[Prediction], pattern: str, intake: Intake) -> Iterator[Prediction]:
    """Replace the text of each prediction by what the pattern finds in it; count those in which it finds nothing."""
    from xldocbench.pattern import PatternProcess

    without = 0
    with PatternProcess(pattern) as process:
        for prediction in predictions:
            if prediction.text is None:
                yield prediction
                continue
            found = process.find(prediction.text, prediction.where)
            without += found is None
            yield prediction if found is None else prediction._replace(text=found)
    if without:
        intake.warnings.append(f"--final-answer-pattern finds nothing in {without} predictions: they count as they are")


def read_opened(name: str, opened: Opened, options: ReadOptions, intake: Intake) -> Iterator[Prediction]:
    """Yield the predictions of an opened file, as :func:`read` does."""
    with opened.file:
        predictions = predictions_of(records_in(name, opened, intake), options, intake)
        if options.final_answer_pattern:
            predictions = _by_pattern(predictions, options.final_answer_pattern, intake)
        yield from predictions


def read(name: str, options: ReadOptions, intake: Intake) -> Iterator[Prediction]:
    """Yield the predictions of a file (``-`` is stdin) in order, whatever its container and format.

    The intake notes the bytes, the format and warnings. What only the whole file shows (an id given twice, several
    filters) is left to :class:`xldocbench.evaluate.FileCheck`. Raises EvaluationError, naming file, place and flag,
    for what cannot be read for sure; OSError for a file that cannot be read.
    """
    yield from read_opened(name, open_file(name, intake, options.container), options, intake)
