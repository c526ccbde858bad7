"""Which verdicts would a careful person dispute? Flags for verdicts that rest on a known weakness of the rules.

    python -m xldocbench.audit --predictions preds.jsonl

The official score is never changed. A flag names the weakness; a flagged verdict that was scored 0 may be too
strict, one that was scored 1 too generous. Everything but the command line is a pure function of verdicts.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from xldocbench.evaluate import (
    NEGATORS,
    RELATIVE_TOLERANCE,
    SIMILARITY_THRESHOLD,
    Task,
    Verdict,
    add_gold_options,
    add_reading_options,
    find_numeral,
    finish_file,
    gold_files_of,
    index_questions,
    judge_file,
    load_gold_files,
    normalize_answer,
    normalized_levenshtein_similarity,
    numbers_agree,
    options_in,
    prepared_text,
    print_to,
    read_option,
    reading_of,
    refusal_phrase_in,
    report_as_json,
    run_command,
    score_as,
    tell_about,
)
from xldocbench.final_answer import after_marker, after_reasoning


class Flag(NamedTuple):
    """What a flag says, and the direction in which the verdicts that carry it could be wrong."""

    direction: str
    meaning: str


BOTH, TOO_STRICT, TOO_GENEROUS, NONE = "both", "too strict", "too generous", "none"

FLAGS = {
    "decimal-comma": Flag(BOTH, "a numeral can be read two ways (1,234 or 1.234), and the other changes the verdict"),
    "other-number-agrees": Flag(TOO_STRICT, "a number other than the first agrees with the gold"),
    "unit-mismatch": Flag(BOTH, "percent signs or magnitude words differ: of numerals and quantities only one agrees"),
    "scale-factor": Flag(TOO_STRICT, "right but for a factor of 10, 100, 1,000, a million or a billion"),
    "sign-lost": Flag(TOO_STRICT, "right but for the sign"),
    "tolerance-edge": Flag(BOTH, "the relative error is 5% but for rounding"),
    "several-options": Flag(BOTH, "several option letters, or a negation before the one that was read"),
    "inside-longer-token": Flag(TOO_GENEROUS, "right only because the gold lies inside a longer word or number"),
    "negated": Flag(TOO_GENEROUS, "the gold is contained, with a negation within the three words before it"),
    "near-threshold": Flag(BOTH, "decided by a similarity within 0.05 of 0.8"),
    "other-order": Flag(TOO_STRICT, "all tokens of the gold are there, in another order"),
    "spelling-form": Flag(TOO_STRICT, "right but for accents, width of characters, case, hyphens or spaces"),
    "unlisted-refusal": Flag(TOO_STRICT, "unanswerable, and refused in other words than the five phrases"),
    "refusal-and-answer": Flag(TOO_GENEROUS, "unanswerable, and the text refuses but also asserts an answer"),
    "refusal-on-answerable": Flag(NONE, "an answerable question was refused"),
    "answer-in-reasoning": Flag(
        BOTH, "what decided stands in the reasoning; the final answer alone is judged otherwise"
    ),
    "empty-after-normalising": Flag(BOTH, "gold or prediction is empty once normalised"),
}
"""Every flag, in the order of a report. The codes are stable."""

_BY_TEXT = frozenset(("contained", "similarity", "dissimilar"))
_NO_ANSWER = frozenset(("missing", "failed", "empty"))

# ---- numerals and their units

_PERCENT = r"%|％|﹪|per\s?cent(?:age)?\b|percentage\s+points?\b|pct\b|prozent\b|pour\s?cent\b|por\s?ciento\b"
_MAGNITUDES = {
    1e3: r"thousands?\b|thsd\b|tausend\b|mille\b|(?-i:k\b|K\b)|mil\b(?!\s+mill)|千|тысяч\w*",
    1e4: "万|萬|만",
    1e5: r"lakhs?\b",
    1e6: r"millions?\b|millionen\b|millones\b|millón\b|milh(?:ões|ão)\b|milion[ie]\b|mn\b|mln\b"
    r"|mio\b|(?-i:M\b|MM\b)|百万|миллион\w*|млн",
    1e7: r"crores?\b",
    1e8: "亿|億|억",
    1e9: r"billions?\b|bn\b|milliarden?\b|milliards?\b|miliard[ie]\b|mrd\b|mil\s+millones\b"
    r"|(?-i:B\b)|十亿|миллиард\w*|млрд",
    1e12: r"trillions?\b|tn\b|billionen\b|万亿|兆|조",
}
# The longer words first: 万亿 is no 万.
_UNIT = re.compile(
    r"[ \t\u00a0\u202f]?[-‐‑]?(?:(?P<percent>"
    + _PERCENT
    + ")|"
    + "|".join(f"(?P<m{value:.0f}>{words})" for value, words in sorted(_MAGNITUDES.items(), reverse=True))
    + ")",
    re.IGNORECASE,
)
_UNIT_PERCENT = re.compile(rf"\s?(?:{_PERCENT})", re.IGNORECASE)
_PERCENT_BEFORE = re.compile(r"(?:百分之|퍼센트)\s?\Z")
_LIST_NUMBER = re.compile(r"(?:\A|\n)[ \t>*#(\[]{0,9}(\d{1,3})[.):\]](?=\s)")
_ORDINAL_OR_NAME = re.compile(
    r"(?:st|nd|rd|th)\b|[-‐](?!(?:percent|per\s?cent|thousand|million|billion|trillion))[^\W\d_]", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_TIMES = re.compile(r"(?:[x×*]|\bby)\s?\Z")
_AMBIGUOUS = re.compile(r"[+\-\u2212\ufe63\uff0d]?\s?(?P<whole>\d+)(?P<mark>[.,])(?P<rest>\d{3})")
_FACTORS = (10.0, 100.0, 1e3, 1e6, 1e9)


class Number(NamedTuple):
    """A numeral in a text that is a number: its value, and where it starts and ends."""

    value: float
    start: int
    end: int


def numbers_in(text: str) -> Iterator[Number]:
    """Yield the numbers of a text in order."""
    position = 0
    while (found := find_numeral(text, position)) is not None:
        if found.value is not None:
            yield Number(found.value, found.start, found.end)
        position = found.end


class Unit(NamedTuple):
    """What stands with a numeral: whether it is a percentage, and its magnitude word as a factor."""

    percent: bool
    magnitude: float

    @property
    def factor(self) -> float:
        """What the numeral is multiplied by to give the quantity."""
        return self.magnitude / 100 if self.percent else self.magnitude


def unit_of(text: str, numeral: Number) -> Unit:
    """Return the unit that stands right after a numeral (or 百分之 right before it)."""
    match = _UNIT.match(text, numeral.end)
    percent = _PERCENT_BEFORE.search(text, max(0, numeral.start - 5), numeral.start) is not None
    if match is None:
        return Unit(percent, 1.0)
    if match.lastgroup == "percent":
        return Unit(True, 1.0)
    magnitude = float((match.lastgroup or "m1")[1:])
    return Unit(percent or _UNIT_PERCENT.match(text, match.end()) is not None, magnitude)


class _Numbers:
    """The numbers of a prediction, as they are compared with the one of its gold."""

    def __init__(self, prediction: str, gold: str) -> None:
        self.text = prediction
        self.gold_text = gold
        self.gold = next(numbers_in(gold))
        self.all = list(numbers_in(prediction))
        read = find_numeral(prediction)
        # Where the numeral that was read overflows, none of these is the one that counted.
        self.first = self.all[0] if self.all and read and self.all[0].start == read.start else None
        decimals = re.search(r"\.(\d+)", gold[self.gold.start : self.gold.end])
        self._decimals = len(decimals.group(1)) if decimals else 0

    def agrees(self, value: float) -> bool:
        """Say whether a value agrees with the gold: within 5%, or equal once rounded to the gold's decimals."""
        if numbers_agree(value, self.gold.value):
            return True
        return self._decimals > 0 and self.gold.value != 0.0 and round(value, self._decimals) == self.gold.value

    @cached_property
    def _list_numbers(self) -> frozenset[int]:
        return frozenset(match.start(1) for match in _LIST_NUMBER.finditer(self.text))

    def is_label(self, numeral: Number) -> bool:
        """Say whether a number names rather than counts: a year, a list number, `10-K`, `FY2018`, `2nd`, `× 100`."""
        before = self.text[numeral.start - 1 : numeral.start] if numeral.start else ""
        before_hyphen = self.text[numeral.start - 2 : numeral.start - 1] if numeral.start > 1 else ""
        return (
            _YEAR.fullmatch(self.text, numeral.start, numeral.end) is not None
            or numeral.start in self._list_numbers
            or before.isalpha()
            or (before == "-" and before_hyphen.isalpha())
            or _ORDINAL_OR_NAME.match(self.text, numeral.end) is not None
            or (
                numeral.value == 100.0
                and _TIMES.search(self.text, max(0, numeral.start - 4), numeral.start) is not None
            )
        )

    @cached_property
    def candidates(self) -> list[Number]:
        """The number that was read, and the one that concludes the text: the last that is no label."""
        concluding = next((n for n in reversed(self.all) if not self.is_label(n)), None)
        return [n for n in dict.fromkeys((self.first, concluding)) if n is not None]


class _Case:
    """A verdict with what several checks look at, each worked out once."""

    def __init__(self, verdict: Verdict) -> None:
        self.gold = verdict.question.gold
        self.rule = verdict.score.rule
        self.right = verdict.score.accuracy == 1.0
        self.text = verdict.prediction or ""
        self.prediction = prepared_text(self.text)

    @cached_property
    def numbers(self) -> _Numbers | None:
        return None if self.gold.number is None else _Numbers(self.text, self.gold.text)

    @cached_property
    def refuses(self) -> bool:
        return refusal_phrase_in(self.prediction.normalised) is not None or refuses_in_other_words(self.text)


def _other_reading(text: str, numeral: Number) -> tuple[float, str] | None:
    """Return the other value of a numeral like `1,234` or `1.234`, and its mark; None where there is but one."""
    match = _AMBIGUOUS.fullmatch(text, numeral.start, numeral.end)
    if match is None or float(match["whole"]) == 0.0:
        return None
    # Thousands stand after one to three digits; a comma after more is read as grouping all the same.
    if match["mark"] == "." and len(match["whole"]) > 3:
        return None
    sign = -1.0 if numeral.value < 0.0 else 1.0
    grouped, decimal = float(match["whole"] + match["rest"]), float(f"{match['whole']}.{match['rest']}")
    return sign * (decimal if match["mark"] == "," else grouped), match["mark"]


def _decimal_comma(case: _Case) -> bool:
    numbers = case.numbers
    if numbers is None or numbers.first is None:
        return False
    gold, first = numbers.gold, numbers.first
    of_gold, of_first = _other_reading(numbers.gold_text, gold), _other_reading(case.text, first)
    # Whoever wrote both in one way meant both in one way.
    alike = of_gold is not None and of_first is not None and of_gold[1] == of_first[1]
    readings: list[tuple[float, float]] = []
    if of_gold and of_first:
        readings.append((of_first[0], of_gold[0]))
    if of_gold and not alike:
        readings.append((first.value, of_gold[0]))
    if of_first and not alike:
        readings.append((of_first[0], numbers.gold.value))
    return any(numbers_agree(value, gold_value) is not case.right for value, gold_value in readings)


def _other_number_agrees(case: _Case) -> bool:
    numbers = case.numbers
    if case.right or numbers is None:
        return False
    others = numbers.all if numbers.first is None else numbers.all[1:]
    return any(n.value == numbers.gold.value if numbers.is_label(n) else numbers.agrees(n.value) for n in others)


def _unit_mismatch(case: _Case) -> bool:
    numbers = case.numbers
    if numbers is None:
        return False
    of_gold = unit_of(numbers.gold_text, numbers.gold)
    for numeral in numbers.candidates[:1] if case.right else numbers.candidates:
        unit = unit_of(case.text, numeral)
        if case.right:
            # The golds are written with and without `%`: that alone is no mismatch.
            if unit.magnitude != of_gold.magnitude:
                return not numbers.agrees(numeral.value * unit.factor / of_gold.factor)
        elif unit != of_gold and numbers.agrees(numeral.value * unit.factor / of_gold.factor):
            return True
    return False


def _scale_factor(case: _Case) -> bool:
    numbers = case.numbers
    if case.right or numbers is None or numbers.gold.value == 0.0:
        return False
    return any(
        numbers_agree(scaled, numbers.gold.value)
        for numeral in numbers.candidates
        for factor in _FACTORS
        for scaled in (numeral.value / factor, numeral.value * factor)
    )


def _sign_lost(case: _Case) -> bool:
    numbers = case.numbers
    if case.right or numbers is None or numbers.gold.value == 0.0:
        return False
    return any(numbers_agree(-n.value, numbers.gold.value) for n in numbers.candidates)


_EDGE = 1e-9


def _tolerance_edge(case: _Case) -> bool:
    numbers = case.numbers
    if numbers is None or numbers.first is None or numbers.gold.value == 0.0:
        return False
    error = abs(numbers.first.value - numbers.gold.value) / abs(numbers.gold.value)
    return abs(error - RELATIVE_TOLERANCE) <= _EDGE


# ---- options

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OPTION_NEGATIONS = NEGATORS | {"no", "nor", "neither", "except", "excluding", "rather"}
_NEGATED_WORDS = 3


def _negated_before(text: str, place: int, negations: frozenset[str]) -> bool:
    """Say whether one of the three words before a place, in the same clause, is a negation."""
    clause = re.split(r"[.;:!?,\n。；：！？，]|\bbut\b|\bonly\b", text[max(0, place - 80) : place].lower())[-1]
    words = [word.replace("'", "").replace("’", "") for word in _WORD.findall(clause)]
    return not negations.isdisjoint(words[-_NEGATED_WORDS:])


def _several_options(case: _Case) -> bool:
    if case.gold.option is None:
        return False
    read = read_option(case.text)
    if read is None:
        return False
    if _negated_before(case.text, read.start, _OPTION_NEGATIONS):
        return True
    letters = {found.value for found in options_in(case.text)}
    # A letter that was read wrongly is in dispute only where the right one is named as well.
    return len(letters) > 1 and case.gold.option.value in letters


# ---- text

_CONTINUOUS_SCRIPT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


def _joined(a: str, b: str) -> bool:
    """Say whether two characters side by side belong to one word, in a script that parts words."""
    return bool(a.isalnum() and b.isalnum() and not _CONTINUOUS_SCRIPT.match(a) and not _CONTINUOUS_SCRIPT.match(b))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Say whether a stretch of text is no part of a longer word or number."""
    for inner, outer, beyond in (
        (text[start], text[start - 1 : start], text[max(0, start - 2) : max(0, start - 1)]),
        (text[end - 1], text[end : end + 1], text[end + 1 : end + 2]),
    ):
        if outer and _joined(inner, outer):
            return False
        # The point of `5.2` and the comma of `5,000` go on with the number.
        if inner.isdigit() and outer and outer in ".,'’" and beyond.isdigit():
            return False
    return True


def _places(part: str, text: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _alone_somewhere(part: str, text: str) -> bool:
    return bool(part) and any(_stands_alone(text, place, place + len(part)) for place in _places(part, text))


def _inside_longer_token(case: _Case) -> bool:
    if case.rule != "contained":
        return False
    gold, prediction = case.gold, case.prediction
    # Normalising joins `wind/solar`: what stands alone in the raw text is no part of a longer word.
    if _alone_somewhere(gold.normalised, prediction.normalised) or _alone_somewhere(gold.lowered, prediction.lowered):
        return False
    return normalized_levenshtein_similarity(prediction.normalised, gold.normalised) < SIMILARITY_THRESHOLD


_TEXT_NEGATIONS = _OPTION_NEGATIONS | {"without", "unlike", "non"}


def _negated(case: _Case) -> bool:
    if case.rule != "contained":
        return False
    gold, prediction = case.gold.normalised, case.prediction.normalised
    if _alone_somewhere(case.gold.lowered, case.prediction.lowered):
        gold, prediction = case.gold.lowered, case.prediction.lowered
    places = [place for place in _places(gold, prediction) if _stands_alone(prediction, place, place + len(gold))]
    return bool(places) and all(_negated_before(prediction, place, _TEXT_NEGATIONS) for place in places)


_NEAR = 0.05


def _near_threshold(case: _Case) -> bool:
    if case.rule not in ("similarity", "dissimilar"):
        return False
    a, b = case.prediction.normalised, case.gold.normalised
    # Lengths alone often settle it.
    if min(len(a), len(b)) < (SIMILARITY_THRESHOLD - _NEAR) * max(len(a), len(b)) - 1:
        return False
    similarity = normalized_levenshtein_similarity(a, b)
    return abs(similarity - SIMILARITY_THRESHOLD) <= _NEAR + 1e-12


def _other_order(case: _Case) -> bool:
    if case.rule != "dissimilar":
        return False
    wanted = [token.strip(".-") for token in case.gold.tokens if token.strip(".-")]
    found = [token.strip(".-") for token in case.prediction.tokens]
    if len(wanted) < 2 or any(found.count(token) < wanted.count(token) for token in set(wanted)):
        return False
    rest = iter(found)
    return not all(token in rest for token in wanted)


_DASHES_AND_SPACES = re.compile(r"[\s\u00ad\-_\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+")


def _folded(text: str, joint: str) -> str:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return _DASHES_AND_SPACES.sub(joint, normalize_answer(unicodedata.normalize("NFC", plain))).strip(". ")


def _spelling_form(case: _Case) -> bool:
    if case.right or (case.gold.kind == "number" and case.gold.number is not None):
        return False
    if case.gold.kind == "choice" and case.gold.option is not None:
        option = read_option(unicodedata.normalize("NFKC", case.text))
        return option is not None and option.value == case.gold.option.value
    if case.gold.kind == "unanswerable":
        return refusal_phrase_in(_folded(case.text, " ")) is not None
    for joint in (" ", ""):
        gold, prediction = _folded(case.gold.text, joint), _folded(case.text, joint)
        if gold and (gold == prediction or (joint and _alone_somewhere(gold, prediction))):
            return True
    return False


def _empty_after_normalising(case: _Case) -> bool:
    return case.rule in _BY_TEXT and not (case.gold.normalised and case.prediction.normalised)


# ---- refusals

_REFUSALS = re.compile(
    "|".join(
        (
            # English
            r"\b(?:can(?:no|')t|can not|could(?: not|n't)|unable to|not able to|(?:not|im)possible to|no way to)"
            r" (?:\w+ ){0,3}?(?:determin|answer|find|provid|calculat|identif|locat|tell|say|infer|verif|conclud|comput"
            r"|ascertain|establish|access|deriv|be (?:found|known|calculated|answered|derived|inferred|identified))",
            r"\b(?:not|isn't|aren't|wasn't|weren't) (?:\w+ ){0,3}?(?:mentioned|specified|stated|provided|given"
            r"|available|disclosed|included|found|reported|listed|present|addressed|discussed|described|known|contained|shown"
            r"|indicated|applicable|sufficient|determinable)\b",
            r"\b(?:do(?:es)?|did)(?: not|n't) (?:\w+ ){0,2}?(?:contain|include|mention|provide|specify|state|disclose"
            r"|say|give|outline|address|report|list|discuss|know"
            r"|have (?:[\w-]+ ){0,3}?(?:access|information|data|details))\b",
            r"\b(?:no|insufficient|not enough|lack of|lacks?|without) (?:\w+ ){0,3}?(?:information|data|evidence"
            r"|mention|answer|details?|context|indication|reference|record|basis)\b",
            r"\bi(?:'m| am) (?:not (?:sure|certain|able)|unsure|uncertain)\b",
            r"\A\W*(?:unknown|n/?a|none|undetermined|indeterminate|not applicable|no answer|unclear)\W*\Z",
            r"\b(?:undeterminable|indeterminable|i'm sorry|i apologi[sz]e)\b",
            # Chinese, Japanese, Korean
            "无法|無法|未提及|未提供|未说明|未說明|未找到|未披露|未给出|没有(?:提及|提到|提供|足够|相关|说明|找到|答案|信息)"
            "|不能(?:回答|确定)|信息不足|不知道|不可回答|不得而知",
            "分かりません|わかりません|不明|回答できません|判断できません|記載(?:が(?:ない|ありません)|されていません|なし)"
            "|情報が(?:ない|ありません)",
            "알 수 없|확인할 수 없|답변할 수 없|판단할 수 없|정보가 (?:없|부족)|언급되(?:지 않|어 있지)",
            # German, French, Spanish, Portuguese, Italian, Russian
            r"\bnicht (?:\w+ )?(?:beantwort|bestimm|ermittel|angegeben|erwähnt|genannt|enthalten|möglich|verfügbar"
            r"|bekannt|hervor|vorhanden)|\bkeine (?:\w+ )?(?:angaben?|informationen?|antwort|daten)\b|\bunbekannt\b",
            r"\b(?:il est )?impossible d|\bne (?:peut|peuvent|permet|permettent|mentionne|précise|contient) pas"
            r"|\b(?:pas|non) (?:\w+ )?(?:mentionnée?|précisée?|indiquée?|disponible|déterminée?)\b"
            r"|\b(?:aucune|pas d') ?(?:information|réponse|mention|donnée)|\bje ne sais pas\b|\binconnue?\b",
            r"\bno (?:se |es |está |hay |puede |figura )+(?:\w+ )?(?:menciona|especifica|indica|proporciona|puede"
            r"|posible|información|datos|respuesta|disponible|determinar|encuentra)"
            r"|\bdesconocid[oa]\b|\bno (?:lo )?sé\b",
            r"\bnão (?:\w+ ){0,2}?(?:possível|informação|informações|mencionad[oa]|especificad[oa]|consta|disponível"
            r"|determinar|responder|sei|informad[oa])\b|\bsem (?:informaç(?:ão|ões)|resposta)\b",
            r"\bnon (?:\w+ ){0,2}?(?:possibile|specificat[oa]|indicat[oa]|menzionat[oa]|disponibile|determinabile|so)\b"
            r"|\bnessuna (?:informazione|risposta)\b",
            r"\bневозможно\b|\bне (?:указан|упом|приведен|содержит|сообща|знаю)\w*|\bнет (?:информации|данных|ответа)"
            r"|\bнеизвестн",
        )
    ),
    re.IGNORECASE,
)


# A refusal opens or closes an answer; in the middle of a long one such words speak of some detail.
_OPENING, _CLOSING = 300, 200


def refuses_in_other_words(text: str) -> bool:
    """Say whether a text refuses to answer, in one of the ways listed here.

    They are looked for in its first 300 and last 200 characters. The list holds English, Chinese, Japanese,
    Korean, German, French, Spanish, Portuguese, Italian and Russian.
    """
    text = text.strip().lower().replace("’", "'")
    parts = [text] if len(text) <= _OPENING + _CLOSING else [text[:_OPENING], text[-_CLOSING:]]
    return any(_REFUSALS.search(part) for part in parts)


def _unlisted_refusal(case: _Case) -> bool:
    return case.rule == "no-refusal-phrase" and case.refuses


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[\n;。！？；]+")
_TURN = re.compile(
    r"\b(?:however|but|nevertheless|nonetheless|although|though|that said|still|yet|if i had to guess|my best guess)\b"
    r"|但是?|不过|然而|しかし|하지만|\baber\b|\bmais\b|\bpero\b|\bmas\b|\bно\b",
    re.IGNORECASE,
)
_ASSERTS = re.compile(
    r"\b(?:answer|value|figure|number|total|it) (?:is|was|would be|could be|might be|must be|seems to be|is likely)\b"
    r"|\b(?:is|was|are|were) (?:probably|likely|about|around|approximately|roughly|estimated)\b"
    r"|\b(?:best (?:guess|estimate)|most likely|probably|approximately|i (?:would )?(?:guess|estimate))\b"
    r"|大概|大约|可能是|答案是|应该是",
    re.IGNORECASE,
)


def _refusal_and_answer(case: _Case) -> bool:
    if case.rule != "refusal-phrase":
        return False
    final = after_marker(case.text)
    if final and not _is_refusal(final):
        return True
    for sentence in _SENTENCE_END.split(case.text):
        asserted = _TURN.split(sentence)[-1]
        if (_ASSERTS.search(asserted) or _is_bare_figure(asserted)) and not _is_refusal(asserted):
            return True
    return False


_BARE_WORDS = 4
_POINTER = re.compile(r"\b(?:see|page|pages|p|section|chapter|table|figure|note|refer)\b", re.IGNORECASE)


def _is_bare_figure(sentence: str) -> bool:
    """Say whether a sentence is little more than a number, as in `25. But this cannot be determined.`"""
    words = sentence.split()
    return len(words) <= _BARE_WORDS and any(map(str.isdecimal, sentence)) and not _POINTER.search(sentence)


def _is_refusal(text: str) -> bool:
    return refusal_phrase_in(normalize_answer(text)) is not None or refuses_in_other_words(text)


def _refusal_on_answerable(case: _Case) -> bool:
    return case.gold.kind != "unanswerable" and not case.right and case.refuses


# ---- reasoning


def _answer_in_reasoning(case: _Case) -> bool:
    final = after_reasoning(case.text)
    final = after_marker(final) or final
    if final == case.text:
        return False
    return (score_as(final, case.gold).accuracy == 1.0) is not case.right


_CHECKS: dict[str, Callable[[_Case], bool]] = {
    "decimal-comma": _decimal_comma,
    "other-number-agrees": _other_number_agrees,
    "unit-mismatch": _unit_mismatch,
    "scale-factor": _scale_factor,
    "sign-lost": _sign_lost,
    "tolerance-edge": _tolerance_edge,
    "several-options": _several_options,
    "inside-longer-token": _inside_longer_token,
    "negated": _negated,
    "near-threshold": _near_threshold,
    "other-order": _other_order,
    "spelling-form": _spelling_form,
    "unlisted-refusal": _unlisted_refusal,
    "refusal-and-answer": _refusal_and_answer,
    "refusal-on-answerable": _refusal_on_answerable,
    "answer-in-reasoning": _answer_in_reasoning,
    "empty-after-normalising": _empty_after_normalising,
}


def flags_of(verdict: Verdict) -> tuple[str, ...]:
    """Return the codes of the flags that a verdict carries, in the order of ``FLAGS``.

    The verdict must carry the text of the prediction. A question without an answer carries none, nor does
    a right prediction that is the gold itself.
    """
    if verdict.score.rule in _NO_ANSWER:
        return ()
    case = _Case(verdict)
    if case.right and case.prediction.lowered == case.gold.lowered:
        return ()
    return tuple(code for code, check in _CHECKS.items() if check(case))


# ---- the block of a report


def audit_of(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the ``audit`` block of a report on these verdicts, which must carry the texts of the predictions.

    ``disputed`` counts the verdicts scored 0 that carry a flag which can say too strict, and those scored 1 that
    carry one which can say too generous; ``lowest`` is the accuracy (a fraction, 6 decimals) if all of these
    were wrong, ``highest`` if all of those were right. ``flags``: code → direction, count and question ids.
    """
    flagged: dict[str, list[str]] = {code: [] for code in FLAGS}
    right = strict = generous = 0
    for verdict in verdicts:
        codes = flags_of(verdict)
        for code in codes:
            flagged[code].append(verdict.question.question_id)
        right += verdict.score.accuracy == 1.0
        if disputed := dispute_of(verdict, codes):
            strict += disputed == TOO_STRICT
            generous += disputed == TOO_GENEROUS
    count = len(verdicts)

    def share(part: int) -> float:
        return round(part / count, 6) if count else 0.0

    return {
        "accuracy": share(right),
        "disputed": {
            "too_strict": strict,
            "too_generous": generous,
            "lowest": share(right - generous),
            "highest": share(right + strict),
        },
        "flags": {
            code: {"direction": flag.direction, "count": len(flagged[code]), "questions": flagged[code]}
            for code, flag in FLAGS.items()
        },
    }


def dispute_of(verdict: Verdict, codes: Iterable[str]) -> str | None:
    """Return in which direction a verdict with these flags is disputed: "too strict", "too generous", or None."""
    direction = TOO_GENEROUS if verdict.score.accuracy == 1.0 else TOO_STRICT
    return direction if any(FLAGS[code].direction in (BOTH, direction) for code in codes) else None


_EXAMPLES = 3


def as_text(audit: Mapping[str, Any]) -> str:
    """Return an ``audit`` block for people: accuracy and its range, and a line for each flag that was raised."""
    disputed = audit["disputed"]
    lines = [
        "XL-DocBench audit",
        f"Accuracy:     {audit['accuracy']:.2%}",
        f"Too strict?   {disputed['too_strict']}",
        f"Too generous? {disputed['too_generous']}",
        f"Range:        {disputed['lowest']:.2%} to {disputed['highest']:.2%}",
    ]
    for code, found in audit["flags"].items():
        if found["count"]:
            more = ", …" if found["count"] > _EXAMPLES else ""
            lines += [
                "",
                f"{code}: {found['count']} ({'counted only' if found['direction'] == NONE else found['direction']})",
                f"  {FLAGS[code].meaning}",
                f"  {', '.join(found['questions'][:_EXAMPLES])}{more}",
            ]
    return "\n".join(lines)


# ---- command line


def _run(arguments: argparse.Namespace) -> int:
    gold = load_gold_files(gold_files_of(arguments))
    questions = index_questions(gold.records)
    task = Task(reading_of(arguments), arguments.ignore_missing, audit=True, gold=gold.provenance)
    outcome = finish_file(
        questions,
        arguments.predictions,
        task,
        functools.partial(judge_file, questions, arguments.predictions, task),
    )
    tell_about(outcome)
    audit = outcome.report["audit"]
    if arguments.format == "json":
        print_to(report_as_json(audit).decode().rstrip("\n"), sys.stdout)
    else:
        print_to(f"{as_text(audit)}\n{outcome.report['provenance']['signature']}", sys.stdout)
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m xldocbench.audit",
        description="Say which verdicts rest on a known weakness of the rules. The score is not changed.",
        epilog="exit codes: 0 audited   1 an error   2 wrong usage",
    )
    add = parser.add_argument
    add("--predictions", required=True, metavar="FILE", help="predictions, as for xldocbench.evaluate (required)")
    add_gold_options(parser)
    add_reading_options(parser)
    add("--format", default="text", choices=("text", "json"), help="json: the audit block (default: text)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1, 130 or 141."""
    return run_command(_build_parser(), _run, argv)


if __name__ == "__main__":
    sys.exit(main())
