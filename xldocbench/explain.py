"""Why did a question get its scores? The figures behind a verdict, in plain words and in the order of the rules.

An explanation is worked out from gold and prediction alone, with the functions that score; its last step
states the three scores that follow from the steps before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from xldocbench.evaluate import (
    ANLS_THRESHOLD,
    RELATIVE_TOLERANCE,
    RULES,
    SIMILARITY_THRESHOLD,
    ZERO_TOLERANCE,
    Gold,
    Text,
    Verdict,
    find_numeral,
    kind_with_reason,
    levenshtein_distance,
    numbers_agree,
    prepared_text,
    read_option,
    read_verdict,
    refusal_phrase_in,
)


class Step(NamedTuple):
    """One step of an explanation: what it is about, and what was found."""

    label: str
    text: str


class _Finding(NamedTuple):
    steps: list[Step]
    accuracy: float


_OPTION_STEPS = {
    1: "the whole text is the letter",
    2: "the last letter right after “answer”",
    3: "the first letter right after “option”",
    4: "the first capital letter that stands alone",
    5: "the label at the start",
}
_VERDICT_STEPS = {
    2: "the last yes or no right after “answer”",
    3: "the first yes or no, with a negation before it counted",
    4: "a negation without yes or no",
}
# Where this many cells would be compared, a difference in length alone may settle it.
_LARGE = 10**8


def _right(accuracy: float) -> str:
    return "right" if accuracy else "wrong"


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _decimals(value: float) -> str:
    return f"{round(value, 6):.6f}".rstrip("0").rstrip(".")


def _against(value: float, limit: float) -> str:
    """Return "value ≥ limit", with all digits of the value where six would hide on which side it lies."""
    shown = _decimals(value)
    if (float(shown) < limit) != (value < limit):
        shown = repr(value)
    return f"{shown} {'≥' if value >= limit else '<'} {limit}"


def _similarity(a: str, b: str, threshold: float) -> tuple[float, str]:
    """Return the similarity of two texts, 0.0 where it is below the threshold, and the arithmetic in words."""
    longest = max(len(a), len(b))
    if not longest:
        return 1.0, f"both texts are empty, similarity 1 ≥ {threshold}"
    difference = abs(len(a) - len(b))
    if len(a) * len(b) > _LARGE and 1.0 - difference / longest < threshold:
        return 0.0, f"at least {difference} edits over {longest} characters, similarity below {threshold}"
    edits = levenshtein_distance(a, b)
    similarity = 1.0 - edits / longest
    compared = _against(similarity, threshold)
    counted = f"{edits} edit{'' if edits == 1 else 's'} over {longest} character{'' if longest == 1 else 's'}"
    words = f"{counted}, 1 − {edits}/{longest} = {compared}"
    return (similarity if similarity >= threshold else 0.0), words


def _by_text(prediction: Text, gold: Gold) -> _Finding:
    if not gold.normalised:
        step = Step("contained", "the normalised gold is empty, and an empty text is not looked for")
    else:
        place = prediction.normalised.find(gold.normalised)
        if place >= 0:
            where = f"the normalised gold stands in the normalised prediction, from character {place + 1}: right"
            return _Finding([Step("contained", where)], 1.0)
        step = Step("contained", "the normalised gold does not stand in the normalised prediction")
    similarity, words = _similarity(prediction.normalised, gold.normalised, SIMILARITY_THRESHOLD)
    accuracy = float(similarity >= SIMILARITY_THRESHOLD)
    return _Finding([step, Step("similarity", f"{words}: {_right(accuracy)}")], accuracy)


def _without(what: str, prediction: Text, gold: Gold) -> _Finding:
    steps, accuracy = _by_text(prediction, gold)
    return _Finding([Step(what, f"the gold has no {what}, so it is judged as text"), *steps], accuracy)


def _relative_error(error: float) -> str:
    percent = f"{100 * error:.3g}%"
    # A rounded error must not seem to lie on the other side of the limit.
    if (float(percent[:-1]) <= 100 * RELATIVE_TOLERANCE) != (error <= RELATIVE_TOLERANCE):
        percent = f"{100 * error!r}%"
    return f"relative error {percent} {'≤' if error <= RELATIVE_TOLERANCE else '>'} 5%"


def _by_number(prediction: Text, gold: Gold) -> _Finding:
    in_gold = find_numeral(gold.text)
    if in_gold is None or in_gold.value is None:
        return _without("number", prediction, gold)
    found = find_numeral(prediction.text)
    if found is None:
        return _Finding([Step("number", f"gold {_number(in_gold.value)}, prediction none: wrong")], 0.0)
    read = f"“{gold.text[in_gold.start : in_gold.end]}” in the gold"
    read += f", “{prediction.text[found.start : found.end]}” first in the prediction"
    steps = [Step("numerals read", read)]
    if found.value is None:
        steps.append(Step("number", f"gold {_number(in_gold.value)}, prediction too large for a number: wrong"))
        return _Finding(steps, 0.0)
    accuracy = float(numbers_agree(found.value, in_gold.value))
    if in_gold.value:
        error = _relative_error(abs(found.value - in_gold.value) / abs(in_gold.value))
    else:
        sign = "<" if abs(found.value) < ZERO_TOLERANCE else "≥"
        error = f"distance from 0 {_number(abs(found.value))} {sign} {ZERO_TOLERANCE:.6f}"
    compared = f"gold {_number(in_gold.value)}, prediction {_number(found.value)}, {error}: {_right(accuracy)}"
    return _Finding([*steps, Step("number", compared)], accuracy)


def _by_verdict(prediction: Text, gold: Gold) -> _Finding:
    if gold.verdict is None:
        return _without("yes or no", prediction, gold)

    def words(value: bool, step: int) -> str:
        return f"{'yes' if value else 'no'} ({_VERDICT_STEPS[step]})"

    found = read_verdict(prediction.text, prediction.normalised)
    accuracy = float(found is not None and found.value is gold.verdict.value)
    read = "neither" if found is None else words(found.value, found.step)
    if found is None and refusal_phrase_in(prediction.normalised):
        read = f"neither (it says “{refusal_phrase_in(prediction.normalised)}”)"
    compared = f"gold {words(gold.verdict.value, gold.verdict.step)}, prediction {read}: {_right(accuracy)}"
    return _Finding([Step("yes or no", compared)], accuracy)


def _by_option(prediction: Text, gold: Gold) -> _Finding:
    if gold.option is None:
        return _without("option letter", prediction, gold)
    found = read_option(prediction.text)
    accuracy = float(found is not None and found.value == gold.option.value)
    in_gold = f"{gold.option.value} ({_OPTION_STEPS[gold.option.step]})"
    read = "none" if found is None else f"{found.value} ({_OPTION_STEPS[found.step]})"
    return _Finding([Step("option letter", f"gold {in_gold}, prediction {read}: {_right(accuracy)}")], accuracy)


def _by_refusal(prediction: Text, gold: Gold) -> _Finding:
    phrase = refusal_phrase_in(prediction.normalised)
    if phrase is None:
        step = Step("refusal", "the normalised prediction holds none of the five phrases: wrong")
        return _Finding([step], 0.0)
    return _Finding([Step("refusal", f"the normalised prediction says “{phrase}”: right")], 1.0)


_BY_KIND: dict[str, Callable[[Text, Gold], _Finding]] = {
    "text": _by_text,
    "number": _by_number,
    "boolean": _by_verdict,
    "choice": _by_option,
    "unanswerable": _by_refusal,
}
_NAMED_TOKENS = 20


def _token_f1(prediction: Text, gold: Gold) -> tuple[float, str]:
    predicted, wanted = set(prediction.tokens), gold.token_set
    counts = f"{len(predicted)} different tokens predicted, {len(wanted)} in the gold"
    if not wanted:
        value = 0.0 if predicted else 1.0
        return value, f"{counts}: {_decimals(value)}"
    common = [token for token in dict.fromkeys(gold.tokens) if token in predicted]
    if not common:
        return 0.0, f"{counts}, none in common: 0"
    precision, recall = len(common) / len(predicted), len(common) / len(wanted)
    value = 2 * precision * recall / (precision + recall)
    named = " ".join(common[:_NAMED_TOKENS]) + (" …" if len(common) > _NAMED_TOKENS else "")
    arithmetic = (
        f"precision {len(common)}/{len(predicted)}, recall {len(common)}/{len(wanted)},"
        f" 2 × {len(common)} / ({len(predicted)} + {len(wanted)}) = {_decimals(value)}"
    )
    return value, f"{counts}, {len(common)} in common ({named}): {arithmetic}"


def _scores(accuracy: float, token_f1: float, anls: float) -> Step:
    return Step("scores", f"accuracy {accuracy:.0f}, token F1 {_decimals(token_f1)}, ANLS {_decimals(anls)}")


def explain(verdict: Verdict) -> list[Step]:
    """Return the steps that lead to a verdict; the last one states its three scores, rounded to 6 decimals.

    The verdict must carry the text of the prediction.
    """
    question, gold = verdict.question, verdict.question.gold
    kind, because = kind_with_reason(question.answer_format, question.verification_rule)
    steps = [
        Step("question", question.question_id),
        Step("gold", gold.text),
        Step("prediction", "none" if verdict.prediction is None else verdict.prediction),
    ]
    if verdict.score.rule in ("missing", "failed", "empty"):
        status = f" (status: {verdict.status})" if verdict.score.rule == "failed" else ""
        steps.append(Step("no answer", f"{RULES[verdict.score.rule].meaning}{status}: wrong, whatever the gold"))
        return [*steps, _scores(0.0, 0.0, 0.0)]
    prediction = prepared_text(verdict.prediction or "")
    accuracy_steps, accuracy = _BY_KIND[kind](prediction, gold)
    token_f1, f1_words = _token_f1(prediction, gold)
    anls, anls_words = _similarity(prediction.lowered, gold.lowered, ANLS_THRESHOLD)
    anls_words += f": {_decimals(anls)}"
    return [
        *steps,
        Step("normalised gold", gold.normalised),
        Step("normalised prediction", prediction.normalised),
        Step("kind", f"{kind}, because {because}"),
        *accuracy_steps,
        Step("token F1", f1_words),
        Step("ANLS", f"raw texts, lower-cased: {anls_words}"),
        _scores(accuracy, token_f1, anls),
    ]


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


# What would move the cursor, turn the writing direction or hide something is shown by its code.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def as_text(steps: Iterable[Step]) -> str:
    """Return an explanation for a terminal: a line for each step, further lines of a text indented."""
    return "\n".join(
        f"{label}: {_UNPRINTABLE.sub(_escaped, text)}".rstrip().replace("\n", "\n    ") for label, text in steps
    )
