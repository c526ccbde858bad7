"""Score answers to XL-DocBench questions: rule-based accuracy, token F1 and ANLS.

The one evaluation module: standard library only, importing nothing else of this package.
Section numbers in the docstrings ("rule 5") are those of the README's chapter "How each answer is judged".

Two choices of the benchmark that are easy to take for something else:

* Token F1 is computed over *sets* of tokens; SQuAD's F1 counts repeated tokens, this one does not.
* ANLS compares the *raw* texts, stripped and lower-cased; the text normalisation is not applied.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import stat
import sys
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

__version__ = "1.0.0"

Item = TypeVar("Item")

# --------------------------------------------------------------------------------------------------
# Text normalisation (rule 2)
# --------------------------------------------------------------------------------------------------

_LEADING_PHRASES = ("the answer is", "answer:", "answer is")
_DROPPED_CHARACTERS = re.compile(r"[^\w\s.\-%]+")
_ASCII = bytes(range(128))
_DROPPED_ASCII = bytes(code for code in _ASCII if _DROPPED_CHARACTERS.match(chr(code)))
# Two patterns that each begin with a literal: searched about four times as fast as r"\b(?:an?|the)\b".
_ARTICLE_THE = re.compile(r"the(?<!\wthe)(?!\w)")
_ARTICLE_A = re.compile(r"a(?<!\wa)n?(?!\w)")


def _lowered(text: str) -> str:
    return text.strip().lower()


def _tokens(lowered: str) -> list[str]:
    """Return the tokens of a stripped lower-cased text; joined by spaces they are its normalised form."""
    if lowered.startswith(_LEADING_PHRASES):
        for phrase in _LEADING_PHRASES:
            if lowered.startswith(phrase):
                lowered = lowered[len(phrase) :].strip()
    # Bytes below 128 stand for themselves alone in UTF-8, and lose the unwanted ones ten times as fast as text.
    encoded = lowered.encode("utf-8", "surrogatepass").translate(None, _DROPPED_ASCII)
    # Most articles stand between spaces, where replacing is faster than matching; the patterns take the rest.
    encoded = encoded.replace(b" the ", b" ").replace(b" a ", b" ")
    kept = encoded.decode("utf-8", "surrogatepass")
    if not kept.isascii():
        beyond_ascii = encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        if _DROPPED_CHARACTERS.search(beyond_ascii):
            kept = _DROPPED_CHARACTERS.sub("", kept)
    return _ARTICLE_A.sub(" ", _ARTICLE_THE.sub(" ", kept)).split()


def normalize_answer(text: str) -> str:
    """Return ``text`` as accuracy and token F1 compare it.

    In this order: strip and lower-case; drop a leading "the answer is", "answer:" and "answer is";
    delete all but word characters (Unicode), white space, ``.``, ``-`` and ``%``; replace the whole
    words a, an, the by a space; collapse white space. Rule 2 (published).
    """
    return " ".join(_tokens(_lowered(text)))


# --------------------------------------------------------------------------------------------------
# Number extraction (rule 5)
# --------------------------------------------------------------------------------------------------

_BLANK = r"[^\S\r\n]*"
_SIGN = r"[+\-\u2212\ufe63\uff0d]"
_RAISED = r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+"
_PLAIN_EXPONENT = rf"{_BLANK}\^{_BLANK}(?:\({_BLANK}({_SIGN}?\d+){_BLANK}\)|({_SIGN}?\d+))"

_NUMERAL_START = re.compile(r"\.?\d")
_SIGN_BEFORE = re.compile(rf"(?<![\w.)\]%])({_SIGN})\s?\Z")
_WHOLE = re.compile(r"\d*")
_COMMA_GROUPS = re.compile(r"((?:,\d{3}(?!\d))+)(?:\.(\d+))?")
_POINT_GROUPS = re.compile(r"((?:\.\d{3}(?!\d))+),(\d+)|((?:\.\d{3}(?!\d)){2,})")
_SPACE_GROUPS = re.compile(r"((?:[ \u00a0\u2007\u2009\u202f]\d{3}(?!\d))+|(?:['\u2019]\d{3}(?!\d))+)(?:[.,](\d+))?")
_DECIMALS = re.compile(r"[.,](\d+)")
_E_EXPONENT = re.compile(rf"[eE]({_SIGN}?\d+)")
_POWER = re.compile(_PLAIN_EXPONENT)
_RAISED_EXPONENT = re.compile(f"({_RAISED})")
_TIMES_POWER_OF_TEN = re.compile(rf"{_BLANK}[x×*·]{_BLANK}(\d+)(?:{_PLAIN_EXPONENT}|({_RAISED}))")
_SLASH = re.compile(rf"{_BLANK}/{_BLANK}(?=\d)")
_GROUP_MARK = re.compile(r"\D+")
_TO_ASCII = str.maketrans(
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻\u2212\ufe63\uff0d",
    "0123456789+----",
)
_OVERFLOW = float("inf")


def _read_mantissa(text: str, start: int) -> tuple[str, int]:
    """Read digits with their groups and decimals; return them as ``float`` reads them, and the end."""
    whole_match = _WHOLE.match(text, start)
    assert whole_match is not None
    whole, end = whole_match.group(), whole_match.end()
    groups: tuple[str, str | None] | None = None
    # `0,120` is a decimal comma: thousands never follow nothing but zeros.
    if whole and float(whole) != 0.0:
        if match := _COMMA_GROUPS.match(text, end):
            groups = match.group(1), match.group(2)
        elif match := _POINT_GROUPS.match(text, end):
            groups = match.group(1) or match.group(3), match.group(2)
        elif match := _SPACE_GROUPS.match(text, end):
            groups = match.group(1), match.group(2)
        if match and groups:
            digits = whole + _GROUP_MARK.sub("", groups[0])
            return (f"{digits}.{groups[1]}" if groups[1] else digits), match.end()
    if match := _DECIMALS.match(text, end):
        return f"{whole}.{match.group(1)}", match.end()
    return whole, end


def _power(base: str, exponent: str) -> float:
    """Return base to the exponent; infinity where that is no finite double."""
    power = float(exponent.translate(_TO_ASCII))
    if abs(power) == _OVERFLOW:
        return _OVERFLOW
    if float(base) == 10.0:
        return float(f"1e{int(power)}")
    try:
        return float(float(base) ** power)
    except (OverflowError, ZeroDivisionError):
        return _OVERFLOW


def _scaled(mantissa: str, exponent: str) -> float:
    """Return mantissa times ten to the exponent, rounded once; infinity for an exponent out of reach."""
    exponent = exponent.translate(_TO_ASCII)
    if abs(float(exponent)) == _OVERFLOW:
        return _OVERFLOW
    return float(f"{mantissa}e{exponent}")


def _read_number(text: str, start: int) -> tuple[float, int]:
    """Read the unsigned numeral that starts at ``start``, with its exponent; return value and end."""
    mantissa, end = _read_mantissa(text, start)
    if match := _E_EXPONENT.match(text, end):
        return _scaled(mantissa, match.group(1)), match.end()
    if match := _POWER.match(text, end):
        return _power(mantissa, match.group(1) or match.group(2)), match.end()
    # The length keeps `010` and `10.0` out: only the numeral 10 itself takes a raised exponent.
    if len(mantissa) == 2 and float(mantissa) == 10.0 and (match := _RAISED_EXPONENT.match(text, end)):
        return _power(mantissa, match.group(1)), match.end()
    if (match := _TIMES_POWER_OF_TEN.match(text, end)) and len(match.group(1)) == 2 and float(match.group(1)) == 10.0:
        return _scaled(mantissa, match.group(2) or match.group(3) or match.group(4)), match.end()
    return float(mantissa), end


class Numeral(NamedTuple):
    """A numeral in a text: its value (None where it overflows a double), and where it starts and ends.

    The sign, if there is one, belongs to it.
    """

    value: float | None
    start: int
    end: int


def find_numeral(text: str, position: int = 0) -> Numeral | None:
    """Return the first numeral that starts at ``position`` or later, or None where there is none. Rule 5."""
    first = _NUMERAL_START.search(text, position)
    if first is None:
        return None
    start = first.start()
    value, end = _read_number(text, start)
    if slash := _SLASH.match(text, end):
        denominator, end_of_fraction = _read_number(text, slash.end())
        # A second slash makes it a date or a path, a zero no division: the first numeral stands alone.
        if denominator != 0.0 and not _SLASH.match(text, end_of_fraction):
            value = value / denominator if denominator != _OVERFLOW else _OVERFLOW
            end = end_of_fraction
    sign = _SIGN_BEFORE.search(text, max(0, start - 3), start)
    if sign:
        start = sign.start()
        if sign.group(1) != "+":
            value = -value
    return Numeral(None if abs(value) == _OVERFLOW or value != value else value, start, end)


def extract_number(text: str) -> float | None:
    """Return the leftmost number in ``text``, or None where there is none.

    Reads grouped thousands, decimal points and commas, powers, fractions, raised exponents and digits
    of any script; ignores units, ``%`` and magnitude words. A numeral that overflows a double is no
    number. The cost is linear in the length of the text. Rule 5.
    """
    numeral = find_numeral(text)
    return numeral.value if numeral else None


# --------------------------------------------------------------------------------------------------
# Option and yes/no reading (rule 4)
# --------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What was read in a text (an option letter, or yes as True and no as False): where, and by which step.

    ``step`` is a number of the lists of rule 4.
    """

    value: Any
    start: int
    step: int


REFUSAL_PHRASES = (
    "not answerable",
    "unanswerable",
    "cannot be determined",
    "cannot be answered",
    "not enough information",
)

_QUOTES = r"\"'“”„‘’‚«»‹›「」『』"
_GAP = rf"[\s{_QUOTES}*(（\[［]"
_GAP_WITH_COLON = rf"[\s{_QUOTES}*(（\[［:：]"
_OPTION_WORD = r"(?:(?<![A-Za-z0-9_])(?:option|choice)(?![A-Za-z0-9_])|选项)"
_ONLY_OPTION = re.compile(r"[\W_]*([A-Da-d])[\W_]*\Z")
_OPTION_AFTER_ANSWER = re.compile(
    r"(?:(?<![A-Za-z0-9_])(?:answer\s+is|answer)(?![A-Za-z0-9_])|答案[是为]?)"
    rf"{_GAP_WITH_COLON}*(?:{_OPTION_WORD}{_GAP_WITH_COLON}*)?([A-D])(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_OPTION_AFTER_OPTION = re.compile(rf"{_OPTION_WORD}{_GAP}*([A-D])(?![A-Za-z0-9_])", re.IGNORECASE)
_CAPITAL_OPTION = re.compile(r"(?<![A-Za-z0-9_])([A-D])(?![A-Za-z0-9_])")
_LOWER_LABEL = re.compile(r"[\W_]*([a-d])[.):]")
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_PUNCTUATION_TO_END = re.compile(r"[\W_]*\Z")
_WORDS_AFTER_OPTION_A = frozenset("is was and or because since as with but".split())


def _is_article(text: str, match: re.Match[str]) -> bool:
    """Say whether the letter that ``match`` found is the English article and no option."""
    if match.group(1) == "a":
        return text[match.end() : match.end() + 1] not in (".", ")", ":") and not _PUNCTUATION_TO_END.match(
            text, match.end()
        )
    if match.group(1) != "A":
        return False
    word = _NEXT_WORD.match(text, match.end())
    return word is not None and word.group(1)[0].islower() and word.group(1) not in _WORDS_AFTER_OPTION_A


def _options_by(pattern: re.Pattern[str], step: int, text: str) -> list[Reading]:
    return [
        Reading(match.group(1).upper(), match.start(1), step)
        for match in pattern.finditer(text)
        if not _is_article(text, match)
    ]


def read_option(text: str) -> Reading | None:
    """Return the option letter A to D that ``text`` chooses, or None. Rule 4, "Choice"."""
    if only := _ONLY_OPTION.match(text):
        return Reading(only.group(1).upper(), only.start(1), 1)
    if after_answer := _options_by(_OPTION_AFTER_ANSWER, 2, text):
        return after_answer[-1]
    for step, pattern in ((3, _OPTION_AFTER_OPTION), (4, _CAPITAL_OPTION)):
        if found := _options_by(pattern, step, text):
            return found[0]
    label = _LOWER_LABEL.match(text)
    return Reading(label.group(1).upper(), label.start(1), 5) if label else None


def options_in(text: str) -> list[Reading]:
    """Return every letter A to D in ``text`` that reads as an option, in order, whichever is the one chosen."""
    steps = ((2, _OPTION_AFTER_ANSWER), (3, _OPTION_AFTER_OPTION), (4, _CAPITAL_OPTION))
    by_place = {found.start: found for step, pattern in steps for found in _options_by(pattern, step, text)}
    if chosen := read_option(text):
        by_place[chosen.start] = chosen
    return [by_place[start] for start in sorted(by_place)]


_TRUE_WORDS = frozenset("yes true correct".split())
_FALSE_WORDS = frozenset("no false incorrect".split())
_VERDICT_WORDS = _TRUE_WORDS | _FALSE_WORDS
NEGATORS = frozenset(
    "not never cannot isnt arent wasnt werent doesnt dont didnt cant wont hasnt havent hadnt"
    " shouldnt wouldnt couldnt".split()
)
_WORDS_OF_DOUBT = frozenset("sure certain clear known stated given specified enough answerable possible".split())
_WORD = re.compile(r"\w+")
_VERDICT_AFTER_ANSWER = re.compile(
    rf"(?<![A-Za-z0-9_])answer(?:\s+is)?[\s:：{_QUOTES}*(（]+(yes|true|correct|no|false|incorrect)\b", re.IGNORECASE
)


def refusal_phrase_in(normalised: str) -> str | None:
    """Return the first of ``REFUSAL_PHRASES`` that a normalised text contains. Rule 4, "Unanswerable"."""
    return next((phrase for phrase in REFUSAL_PHRASES if phrase in normalised), None)


def read_verdict(text: str, normalised: str) -> Reading | None:
    """Return what ``text`` says to a yes/no question, or None. Rule 4, "Boolean".

    The place is one in ``text`` in step 2, else one in ``normalised``.
    """
    if refusal_phrase_in(normalised):
        return None
    answers = list(_VERDICT_AFTER_ANSWER.finditer(text))
    if answers:
        return Reading(answers[-1].group(1).lower() in _TRUE_WORDS, answers[-1].start(1), 2)
    matches = list(_WORD.finditer(normalised))
    words = [match.group() for match in matches]
    for position, word in enumerate(words):
        if word in _VERDICT_WORDS:
            negated = not NEGATORS.isdisjoint(words[max(0, position - 3) : position])
            return Reading((word in _TRUE_WORDS) is not negated, matches[position].start(), 3)
    for match, word, following in zip(matches, words, [*words[1:], ""], strict=False):
        if word in NEGATORS and following not in _WORDS_OF_DOUBT:
            return Reading(False, match.start(), 4)
    return None


# --------------------------------------------------------------------------------------------------
# Edit distance and similarity (rule 2)
# --------------------------------------------------------------------------------------------------


def _common_prefix_length(a: str, b: str) -> int:
    # Halving compares whole slices, so that no Python step is paid for each character.
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _without_common_ends(a: str, b: str) -> tuple[str, str]:
    """Drop the common prefix and suffix; return the longer remainder first."""
    if a[:1] == b[:1]:
        prefix = _common_prefix_length(a, b)
        a, b = a[prefix:], b[prefix:]
    if a[-1:] == b[-1:]:
        suffix = _common_prefix_length(a[::-1], b[::-1])
        a, b = a[: len(a) - suffix], b[: len(b) - suffix]
    return (a, b) if len(a) >= len(b) else (b, a)


_ZEROS = b"0" * 256
_BITS = tuple(1 << index for index in range(100))


def _positions(pattern: str, alphabet: Iterable[str]) -> dict[str, int]:
    """Return for each character of ``alphabet`` the integer whose bit i says that it stands at ``pattern[i]``."""
    positions = dict.fromkeys(alphabet, 0)
    bits: Iterable[int] = _BITS
    if len(pattern) > len(_BITS):
        try:
            digits = pattern[::-1].encode("latin-1")
        except UnicodeEncodeError:
            bits = (1 << index for index in range(len(pattern)))
        else:
            # Setting bits one by one copies a long integer each time; here it is read in one go.
            for character in positions:
                code = ord(character)
                if code < 256:
                    table = _ZEROS[:code] + b"1" + _ZEROS[code + 1 :]
                    positions[character] = int(digits.translate(table), 2)
            return positions
    for character, bit in zip(pattern, bits, strict=False):
        if character in positions:
            positions[character] |= bit
    return positions


def _bit_parallel_distance(positions: dict[str, int], pattern_length: int, text: str) -> int:
    """Return the Levenshtein distance of a pattern, given by its positions, and a text, in ``len(text)`` steps.

    Myers 1999, in Hyyrö's form of 2003, on integers as long as the pattern: Python pays for each step,
    hardly for each bit, so that the longer text is the pattern.
    """
    inside = (1 << pattern_length) - 1
    # Bit i of `rises` (`falls`): the distance grows (shrinks) by 1 from row i to row i + 1 of the column.
    # Complements are taken within the pattern: Python computes with negative integers half as fast. What the
    # carry leaves above the pattern never flows down, and the one mask keeps it from growing.
    rises, falls = inside, 0
    for matches in map(positions.__getitem__, text):
        equal = (((matches & rises) + rises) ^ rises) | matches | falls
        shifted = ((falls | (inside ^ (equal | rises))) << 1) | 1
        rises = (((equal & rises) << 1) | (inside ^ (shifted | equal))) & inside
        falls = shifted & equal
    return len(text) + rises.bit_count() - (falls & inside).bit_count()


def _common_subsequence_length(positions: dict[str, int], pattern_length: int, text: str) -> int:
    """Return the length of the longest common subsequence, in steps a quarter as long as those of the distance.

    Crochemore and others 2001, in Hyyrö's form of 2004.
    """
    inside = (1 << pattern_length) - 1
    unmatched = inside
    for positions_of_character in map(positions.__getitem__, text):
        matched = unmatched & positions_of_character
        unmatched = (unmatched + matched) | (unmatched - matched)
    return pattern_length - (unmatched & inside).bit_count()


def levenshtein_distance(a: str, b: str) -> int:
    """Return the number of insertions, deletions and substitutions that turn ``a`` into ``b``.

    Counted in code points, each edit costing 1.
    """
    if a == b:
        return 0
    longer, shorter = _without_common_ends(a, b)
    if not shorter:
        return len(longer)
    return _bit_parallel_distance(_positions(longer, shorter), len(longer), shorter)


def _common_characters(a: str, b: str) -> int:
    common = 0
    for character in set(b):
        if in_a := a.count(character):
            in_b = b.count(character)
            common += in_a if in_a < in_b else in_b
    return common


# Measured: from this length on the bound costs less than the distances that it saves.
_LONG_TEXT = 64


def _looks_unrelated(longer: str, shorter: str, limit: int) -> bool:
    """Guess, at little cost, whether a bound is likely to settle that the distance exceeds ``limit``."""
    return len(longer) > 1.75 * limit and 4 * sum(map(eq, longer, shorter)) < len(shorter)


def _distance_up_to(a: str, b: str, limit: int) -> int:
    """Return the Levenshtein distance if it is at most ``limit``, else some number above it."""
    if a == b:
        return 0
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    # One text inside the other: the rest is inserted, and no fewer edits make up the difference in length.
    if shorter in longer:
        return len(longer) - len(shorter)
    longer, shorter = _without_common_ends(longer, shorter)
    if not shorter:
        return len(longer)
    # Whatever has no partner in the shorter text costs an edit. For partners in any order counting is cheap
    # in a long text; partners in the same order tell more.
    if len(shorter) > _LONG_TEXT and len(longer) - _common_characters(longer, shorter) > limit:
        return limit + 1
    positions = _positions(longer, shorter)
    if _looks_unrelated(longer, shorter, limit):
        partners = _common_subsequence_length(positions, len(longer), shorter)
        if len(longer) - partners > limit:
            return limit + 1
    return _bit_parallel_distance(positions, len(longer), shorter)


def normalized_levenshtein_similarity(prediction: str, gold: str) -> float:
    """Return 1 − distance / length of the longer text, both stripped and lower-cased; in 0..1.

    Two empty texts have similarity 1; with one empty it is 0. Rule 2.
    """
    return _similarity_from(_lowered(prediction), _lowered(gold), 0.0)


def _similarity_from(a: str, b: str, threshold: float) -> float:
    """Return the similarity of two lower-cased texts; 0.0 where it is below ``threshold``."""
    longest = max(len(a), len(b))
    if not longest:
        return 1.0
    # One edit more than the threshold allows, so that rounding here decides nothing.
    limit = int((1.0 - threshold) * longest) + 1
    distance = _distance_up_to(a, b, limit)
    if distance > limit:
        return 0.0
    similarity = 1.0 - distance / longest
    return similarity if similarity >= threshold else 0.0


# --------------------------------------------------------------------------------------------------
# The kind of answer (rule 3)
# --------------------------------------------------------------------------------------------------

_FORMAT_NOISE = re.compile(r"[\s_-]+")
_KIND_OF_FORMAT = {
    "none": "unanswerable",
    "choice": "choice",
    "singlechoice": "choice",
    "percentage": "number",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "str": "text",
}
_KIND_OF_RULE = {"choice_exact_match": "choice", "percentage_exact": "number"}


def _format_key(answer_format: str) -> str:
    return _FORMAT_NOISE.sub("", answer_format).lower()


def is_known_format(answer_format: str) -> bool:
    """Say whether rule 3 names the format; any other is judged as text, with a warning, or by its rule."""
    return _format_key(answer_format) in _KIND_OF_FORMAT


class Kind(NamedTuple):
    """How an answer is judged, and the reason in words."""

    name: str
    because: str


def kind_with_reason(answer_format: str, verification_rule: str = "") -> Kind:
    """Return how an answer is judged, as :func:`answer_kind` does, and why."""
    rule = verification_rule.strip().lower()
    kind = _KIND_OF_FORMAT.get(_format_key(answer_format))
    by_format = f"the answer format is {answer_format}"
    by_rule = f"the verification rule is {rule}"
    if kind == "unanswerable":
        return Kind(kind, by_format)
    if rule in _KIND_OF_RULE:
        return Kind(_KIND_OF_RULE[rule], by_rule)
    if kind is None:
        unknown = f"the answer format {answer_format} is not known"
        if "numeric" in rule or "tolerance" in rule:
            return Kind("number", f"{unknown}, and {by_rule}")
        return Kind("text", unknown)
    return Kind(kind, by_format)


@functools.lru_cache(maxsize=256)
def answer_kind(answer_format: str, verification_rule: str = "") -> str:
    """Return how an answer is judged: "text", "number", "boolean", "choice" or "unanswerable".

    Formats are read without regard to case, spaces, ``_`` and ``-``. Rule 3.
    """
    return kind_with_reason(answer_format, verification_rule).name


# --------------------------------------------------------------------------------------------------
# Accuracy per kind (rule 4)
# --------------------------------------------------------------------------------------------------

SIMILARITY_THRESHOLD = 0.8
ANLS_THRESHOLD = 0.5
RELATIVE_TOLERANCE = 0.05
ZERO_TOLERANCE = 1e-6


class Rule(NamedTuple):
    """What a rule code stands for: the accuracy it gives, and why in a sentence."""

    accuracy: float
    meaning: str


RULES = {
    "contained": Rule(1.0, "the normalised gold lies inside the normalised prediction"),
    "similarity": Rule(1.0, "the normalised texts are at least 0.8 similar"),
    "dissimilar": Rule(0.0, "the gold is not inside the prediction, and the texts are less than 0.8 similar"),
    "within-tolerance": Rule(1.0, "the first number agrees with the gold within 5% (gold 0: within 0.000001)"),
    "outside-tolerance": Rule(0.0, "the first number is further from the gold than that"),
    "no-number": Rule(0.0, "the gold has a number, the prediction has none"),
    "same-option": Rule(1.0, "both choose the same option letter"),
    "other-option": Rule(0.0, "the prediction chooses another option letter"),
    "no-option": Rule(0.0, "the gold has an option letter, the prediction has none"),
    "same-verdict": Rule(1.0, "both say yes, or both say no"),
    "other-verdict": Rule(0.0, "one says yes, the other no"),
    "no-verdict": Rule(0.0, "the gold says yes or no, the prediction neither"),
    "refusal-phrase": Rule(1.0, "unanswerable, and the prediction says so in one of the five phrases"),
    "no-refusal-phrase": Rule(0.0, "unanswerable, and the prediction holds none of the five phrases"),
    "missing": Rule(0.0, "the predictions hold no such question"),
    "failed": Rule(0.0, "the status of the prediction is a failure"),
    "empty": Rule(0.0, "the prediction is null or blank"),
}
"""Every rule code that a verdict can carry. The codes are stable."""


class Text:
    """A text with the forms in which it is compared, each made once."""

    __slots__ = ("lowered", "normalised", "text", "tokens")

    def __init__(self, text: str, lowered: str) -> None:
        self.text = text
        self.lowered = lowered
        self.tokens = _tokens(lowered)
        self.normalised = " ".join(self.tokens)


def prepared_text(text: str) -> Text:
    """Return a text with the forms in which it is compared."""
    return Text(text, _lowered(text))


class Gold(Text):
    """A gold answer with all that its judging needs, worked out once for any number of predictions."""

    __slots__ = ("kind", "number", "option", "score_of_itself", "token_set", "verdict")

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text, _lowered(text))
        self.kind = kind
        # Most right answers are the gold itself. Only of text is its score known without a look at the rules.
        self.score_of_itself = Score(1.0, 1.0, 1.0, "contained") if kind == "text" and self.tokens else None
        self.token_set = frozenset(self.tokens)
        self.number = extract_number(text) if kind == "number" else None
        self.option = read_option(text) if kind == "choice" else None
        self.verdict = read_verdict(text, self.normalised) if kind == "boolean" else None


@functools.lru_cache(maxsize=8192)
def _prepare_gold(text: str, answer_format: str, verification_rule: str) -> Gold:
    return Gold(text, answer_kind(answer_format, verification_rule))


def _text_rule(prediction: Text, gold: Gold, raw_similarity: float) -> str:
    if gold.normalised and gold.normalised in prediction.normalised:
        return "contained"
    if prediction.normalised == prediction.lowered and gold.normalised == gold.lowered:
        similarity = raw_similarity
    else:
        similarity = _similarity_from(prediction.normalised, gold.normalised, SIMILARITY_THRESHOLD)
    return "similarity" if similarity >= SIMILARITY_THRESHOLD else "dissimilar"


def numbers_agree(number: float, gold: float) -> bool:
    """Say whether a number agrees with that of the gold: within 5%, and with a gold of 0 within 0.000001. Rule 4."""
    if gold == 0.0:
        return abs(number) < ZERO_TOLERANCE
    return abs(number - gold) / abs(gold) <= RELATIVE_TOLERANCE


def _number_rule(prediction: Text, gold: Gold, raw_similarity: float) -> str:
    if gold.number is None:
        return _text_rule(prediction, gold, raw_similarity)
    number = extract_number(prediction.text)
    if number is None:
        return "no-number"
    return "within-tolerance" if numbers_agree(number, gold.number) else "outside-tolerance"


def _boolean_rule(prediction: Text, gold: Gold, raw_similarity: float) -> str:
    if gold.verdict is None:
        return _text_rule(prediction, gold, raw_similarity)
    verdict = read_verdict(prediction.text, prediction.normalised)
    if verdict is None:
        return "no-verdict"
    return "same-verdict" if verdict.value is gold.verdict.value else "other-verdict"


def _choice_rule(prediction: Text, gold: Gold, raw_similarity: float) -> str:
    if gold.option is None:
        return _text_rule(prediction, gold, raw_similarity)
    option = read_option(prediction.text)
    if option is None:
        return "no-option"
    return "same-option" if option.value == gold.option.value else "other-option"


def _unanswerable_rule(prediction: Text, gold: Gold, raw_similarity: float) -> str:
    return "refusal-phrase" if refusal_phrase_in(prediction.normalised) else "no-refusal-phrase"


# Each takes the prediction, the gold, and the similarity of the raw texts (0.0 where below ANLS_THRESHOLD),
# which need not be computed again where normalising changed neither text.
_RULE_OF_KIND: dict[str, Callable[[Text, Gold, float], str]] = {
    "text": _text_rule,
    "number": _number_rule,
    "boolean": _boolean_rule,
    "choice": _choice_rule,
    "unanswerable": _unanswerable_rule,
}


def accuracy_score(prediction: str, gold: str, answer_type: str) -> float:
    """Return 1.0 if ``prediction`` is right by the rule of its kind, else 0.0. Rules 3 and 4.

    ``answer_type`` is an answer format ("Str", "Int", "None", …) or a verification rule
    ("choice_exact_match", "percentage_exact", …). That a blank prediction scores 0 whatever the gold
    is a rule of the evaluation, not of this function: see :func:`score`.
    """
    prepared = _prepare_gold(gold, answer_type, answer_type)
    text = prepared_text(prediction)
    rule = _RULE_OF_KIND[prepared.kind](text, prepared, _anls(text, prepared))
    return RULES[rule].accuracy


# --------------------------------------------------------------------------------------------------
# Token F1 and ANLS (rule 6)
# --------------------------------------------------------------------------------------------------


def _token_f1(prediction_tokens: Sequence[str], gold_tokens: frozenset[str]) -> float:
    if not gold_tokens:
        return 0.0 if prediction_tokens else 1.0
    # Most wrong answers share nothing with the gold: then the set of a long text need not be made.
    if gold_tokens.isdisjoint(prediction_tokens):
        return 0.0
    predicted = set(prediction_tokens)
    common = len(gold_tokens & predicted)
    precision = common / len(predicted)
    recall = common / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


def token_f1_score(prediction: str, gold: str) -> float:
    """Return the F1 of the two *sets* of white-space tokens of the normalised texts, in 0..1.

    Sets, not SQuAD's multisets: "one two two" against "one two" is 1. Two texts without tokens
    score 1, no common token 0. Rule 6 (published).
    """
    return _token_f1(_tokens(_lowered(prediction)), frozenset(_tokens(_lowered(gold))))


def _anls(prediction: Text, gold: Text) -> float:
    return _similarity_from(prediction.lowered, gold.lowered, ANLS_THRESHOLD)


def anls_score(prediction: str, gold: str, threshold: float = ANLS_THRESHOLD) -> float:
    """Return the similarity of the *raw* texts, stripped and lower-cased; 0 where it is below ``threshold``.

    The threshold itself counts. The texts are not normalised. Rule 6 (published).
    """
    return _similarity_from(_lowered(prediction), _lowered(gold), threshold)


class Score(NamedTuple):
    """The three metrics of one prediction, in 0..1, and the code (see ``RULES``) that decided accuracy."""

    accuracy: float
    token_f1: float
    anls: float
    rule: str


_NO_ANSWER = {rule: Score(0.0, 0.0, 0.0, rule) for rule in ("missing", "failed", "empty")}


def score_as(text: str, gold: Gold) -> Score:
    """Judge the text of a prediction against a prepared gold answer; a blank one scores 0. Rules 1.3, 4 and 6."""
    lowered = _lowered(text)
    if not lowered:
        return _NO_ANSWER["empty"]
    if gold.score_of_itself is not None and lowered == gold.lowered:
        return gold.score_of_itself
    prediction = Text(text, lowered)
    anls = _anls(prediction, gold)
    rule = _RULE_OF_KIND[gold.kind](prediction, gold, anls)
    return Score(RULES[rule].accuracy, _token_f1(prediction.tokens, gold.token_set), anls, rule)


def score(prediction: object, gold: object, answer_format: str = "Str", verification_rule: str = "") -> Score:
    """Judge one prediction against its gold answer.

    Both may be any JSON value: numbers and booleans become ``str(value)``, lists and objects JSON,
    None no answer at all. A prediction that is None or blank scores 0 on all three metrics. The work
    on the gold side is kept and reused, so that calling this in a loop is cheap. Rules 1.3, 3, 4 and 6.

    >>> score("about 25.3 people", "25", "Int")
    Score(accuracy=1.0, token_f1=0.0, anls=0.0, rule='within-tolerance')
    """
    text = text_of(prediction)
    if text is None:
        return _NO_ANSWER["empty"]
    return score_as(text, _prepare_gold(text_of(gold) or "", answer_format, verification_rule))


# --------------------------------------------------------------------------------------------------
# Loading of gold and predictions (rule 1)
# --------------------------------------------------------------------------------------------------

ID_FIELDS = ("question_id", "global_qa_id", "global_id", "id")
PREDICTION_FIELDS = ("prediction", "model_answer", "answer", "response", "output")
SUCCESS_STATUSES = frozenset(("success", "ok", "completed"))


class EvaluationError(ValueError):
    """A fault of the input that stops an evaluation; the message is one line and says what to do."""


def text_of(value: object) -> str | None:
    """Return a JSON value as the text that is scored; None for null. Rule 1.2 (published)."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        try:
            return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        except RecursionError:
            raise EvaluationError("a value is nested too deeply to be written as text") from None
    return str(value)


def decoded(raw: bytes, where: str) -> str:
    """Return bytes as text; raise EvaluationError, naming the place, where they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{where}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file in UTF-8") from None


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _integer_or_literal(literal: str) -> int | str:
    try:
        return int(literal)
    except ValueError:
        return literal


class ReadOptions(NamedTuple):
    """How a predictions file is read, as the options of the command line say it."""

    prediction_field: str = ""
    id_field: str = ""
    container: str = ""
    filter: str = ""
    epoch: str = ""
    on_duplicate: str = "error"
    final_answer: bool = False
    final_answer_pattern: str = ""

    def departures(self) -> dict[str, str]:
        """Return what of this bears on a score and is not the published way: name → value."""
        found = {
            "id_field": self.id_field,
            "filter": self.filter,
            "epoch": self.epoch,
            "duplicates": "" if self.on_duplicate == "error" else self.on_duplicate,
            "final_answer": "on" if self.final_answer else "",
        }
        if self.final_answer_pattern:
            import hashlib

            digest = hashlib.sha256(self.final_answer_pattern.encode("utf-8", "backslashreplace")).hexdigest()
            found["final_answer"] = f"pattern-{digest[:8]}"
        return {name: value for name, value in found.items() if value}


class Intake:
    """What is noted of a predictions file while it is read: its SHA-256, its format, and what to warn of."""

    def __init__(self) -> None:
        import hashlib

        self._digest = hashlib.sha256()
        self.format = "plain"
        self.warnings: list[str] = []

    def update(self, data: bytes | memoryview) -> None:
        """Take note of more bytes."""
        self._digest.update(data)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes so far."""
        return self._digest.hexdigest()


class _RepeatedKeys(dict[str, Any]):
    """A JSON object in which a key stood twice: Python's reader would keep the last one silently."""

    repeated = ""


def _object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        result = _RepeatedKeys(result)
        seen: set[str] = set()
        result.repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return result


_decode = json.JSONDecoder(object_pairs_hook=_object_of_pairs).decode
# Python refuses to read integers of thousands of digits; their text is all that is needed.
_decode_any_integer = json.JSONDecoder(object_pairs_hook=_object_of_pairs, parse_int=_integer_or_literal).decode


def parse_json(text: str, where: str, advice: str) -> Any:
    """Return the value of a JSON text; raise EvaluationError, with place and advice, where it is none."""
    try:
        try:
            return _decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return _decode_any_integer(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise EvaluationError(f"{where}: not valid JSON ({error.msg}, {place}); {advice}") from None
    except RecursionError:
        raise EvaluationError(f"{where}: JSON nested too deeply to be read; {advice}") from None


def records_of_lines(name: str, lines: Iterable[bytes], first: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects that stand on ``lines``, each with its place ("NAME, line N", counted from ``first``).

    Blank lines are skipped. Raises EvaluationError as :func:`read_jsonl` does.
    """
    advice = "write one JSON object on each line"
    for number, raw in enumerate(lines, start=first):
        line = raw.removeprefix(BYTE_ORDER_MARK).strip() if number == 1 else raw.strip()
        if not line:
            continue
        where = f"{name}, line {number}"
        record = parse_json(decoded(line, where), where, advice)
        if not isinstance(record, dict):
            raise EvaluationError(f"{where}: not a JSON object; {advice}")
        if isinstance(record, _RepeatedKeys):
            raise EvaluationError(f"{where}: the key {record.repeated!r} stands twice in the object; keep one")
        yield where, record


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSONL file, each with its place ("FILE, line N"), reading line by line.

    Only a line feed ends a line; blank lines are skipped. Raises EvaluationError, naming file and line,
    for a line that is no JSON object in UTF-8 or that holds a key twice; OSError for a file that cannot
    be read.
    """
    with open(path, "rb") as file:
        yield from records_of_lines(os.fspath(path), file)


def id_text(value: object) -> str | None:
    """Return a value as the text of a question id; None where it can be none."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
        return str(value)
    return None


def record_id(record: Mapping[str, Any], where: str) -> str:
    """Return the id of a gold record or prediction: the first of ``ID_FIELDS`` that is not empty. Rule 1.1."""
    for field in ID_FIELDS:
        text = id_text(record.get(field))
        if text is not None:
            return text
    raise EvaluationError(f"{where}: no question id; give one of the fields {', '.join(ID_FIELDS)}")


def _has_gold_answer(record: Mapping[str, Any]) -> bool:
    answer = record.get("answer")
    if isinstance(answer, dict):
        return answer.get("value") is not None or answer_kind(_label_text(answer.get("format"))) == "unanswerable"
    return answer is not None


def load_gold_records(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Read the gold questions of one or more JSONL files, in order.

    Each record is returned as it stands, with its id as text under ``question_id``. Raises
    EvaluationError, naming file and line, for a line that is no JSON object, an id that is missing or
    given twice, a question without an answer, and when there is no question at all; OSError for a
    file that cannot be read. Rule 1.1.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    records: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    names = [os.fspath(path) for path in paths]
    for name in names:
        _add_gold_records(read_jsonl(name), records, places)
    _require_questions(records, names)
    return records


def _add_gold_records(
    read: Iterable[tuple[str, dict[str, Any]]], records: list[dict[str, Any]], places: dict[str, str]
) -> None:
    for where, record in read:
        question_id = record_id(record, where)
        if question_id in places:
            raise EvaluationError(
                f"{where}: the question id {question_id!r} stands in {places[question_id]} already; keep one"
            )
        if not _has_gold_answer(record):
            raise EvaluationError(f"{where}: question {question_id!r} has no gold answer; give it an `answer`")
        places[question_id] = where
        record["question_id"] = question_id
        records.append(record)


def _require_questions(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    if not records:
        raise EvaluationError(f"no question in the gold ({', '.join(names)}); pass files with one question a line")


class GoldFiles(NamedTuple):
    """The gold questions of some files, and the files' fingerprint as a report states it."""

    records: list[dict[str, Any]]
    provenance: dict[str, Any]


def load_gold_files(names: Sequence[str]) -> GoldFiles:
    """Read gold as :func:`load_gold_records` does, and take its fingerprint in the same pass.

    The fingerprint is the SHA-256 of the files' contents, one after another in the order of their base
    names, and what a ``manifest.json`` beside the files or one folder up says of the release.
    """
    import hashlib
    import io

    records: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    contents: list[tuple[str, bytes]] = []
    for name in names:
        with open(name, "rb") as file:
            content = file.read()
        _add_gold_records(records_of_lines(name, io.BytesIO(content)), records, places)
        contents.append((os.path.basename(name), content))
    _require_questions(records, names)
    contents.sort()
    digest = hashlib.sha256()
    for _, content in contents:
        digest.update(content)
    provenance = {"files": [name for name, _ in contents], "sha256": digest.hexdigest()}
    return GoldFiles(records, {**provenance, **_stated_release(names[0])})


def _stated_release(gold_file: str) -> dict[str, Any]:
    folder = os.path.dirname(os.path.abspath(gold_file))
    for candidate in (folder, os.path.dirname(folder)):
        try:
            with open(os.path.join(candidate, "manifest.json"), "rb") as file:
                manifest = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(manifest, dict):
            return {key: manifest[key] for key in ("release_version", "synthetic") if key in manifest}
    return {}


STDIN = "-"


def shown_name(name: str) -> str:
    """Return how a predictions file is called in messages and reports."""
    return "stdin" if name == STDIN else name


class Prediction(NamedTuple):
    """One prediction as a file gives it: its text (None for null), status and place in the file.

    ``has_text_field`` is false where the record held no field for the text. ``choice`` names the filter or the
    epoch of a file that holds several predictions of a question.
    """

    question_id: str
    text: str | None
    status: str = "success"
    has_text_field: bool = True
    where: str = ""
    choice: tuple[str, str] | None = None


def prediction_of(question_id: str, value: Any, field: str, where: str) -> Prediction:
    """Turn a record, or a bare value of a mapping, into a prediction."""
    if not isinstance(value, dict):
        return Prediction(question_id, text_of(value), where=where)
    status = value.get("status")
    status_text = "success" if status is None else str(status)
    for name in (field,) if field else PREDICTION_FIELDS:
        if name in value:
            content = value[name]
            if name == "answer" and isinstance(content, dict):
                content = content.get("value")
            return Prediction(question_id, text_of(content), status_text, True, where)
    return Prediction(question_id, None, status_text, False, where)


def _line_of_key(text: str, key: str, occurrence: int) -> int:
    literal = re.escape(json.dumps(key, ensure_ascii=False))
    matches = list(re.finditer(rf"{literal}\s*:", text))
    return text.count("\n", 0, matches[min(occurrence, len(matches) - 1)].start()) + 1 if matches else 1


def records_of_json(name: str, text: str, data: Any) -> Iterator[tuple[str, str | None, Any]]:
    """Yield the records of a JSON value that was read from ``text``: place, id (None where the record has it), value.

    The value is a list of objects, a mapping from id to object or scalar, or ``{"items": {id: object}}``; else
    EvaluationError is raised.
    """
    if isinstance(data, list):
        for position, record in enumerate(data, start=1):
            where = f"{name}, item {position}"
            if not isinstance(record, dict):
                raise EvaluationError(f"{where}: not a JSON object; each item of the list must be one")
            yield where, None, record
        return
    if isinstance(data, dict) and isinstance(data.get("items"), dict):
        data = data["items"]
    if not isinstance(data, dict):
        raise EvaluationError(f"{name}: neither a list of objects nor a mapping from id to prediction")
    if isinstance(data, _RepeatedKeys):
        lines = [_line_of_key(text, data.repeated, occurrence) for occurrence in (0, 1)]
        raise EvaluationError(
            f"{name}, line {lines[1]}: the question id {data.repeated!r} stands in line {lines[0]} already; keep one"
        )
    for question_id, value in data.items():
        yield f"{name}, id {question_id!r}", question_id, value


def predictions_of_lines(name: str, lines: Iterable[bytes], field: str, first: int = 1) -> Iterator[Prediction]:
    """Yield the predictions that stand on ``lines`` of a JSONL file, numbered from ``first``."""
    for where, record in records_of_lines(name, lines, first):
        yield prediction_of(record_id(record, where), record, field, where)


JSON_ADVICE = "name a file of one object a line `.jsonl`"


def _read_plain(name: str, field: str) -> Iterator[Prediction]:
    if not name.lower().endswith(".json"):
        with open(name, "rb") as file:
            yield from predictions_of_lines(name, file, field)
        return
    with open(name, "rb") as file:
        text = decoded(file.read().removeprefix(BYTE_ORDER_MARK), name)
    if text.strip():
        for where, key, value in records_of_json(name, text, parse_json(text, name, JSON_ADVICE)):
            yield prediction_of(record_id(value, where) if key is None else key, value, field, where)


# So many ids that no question of the gold asks for are remembered: memory must not grow with the file.
_REMEMBERED_IDS = 100_000


class FileCheck:
    """Says which predictions of a file count, and raises EvaluationError for what only the whole file shows.

    Those are an id given twice (of ids that are not ``known``, among the first 100,000 ids of the file), several
    filters or epochs, a file without a prediction, and a file in which no record has a field for the text.
    """

    def __init__(self, name: str, options: ReadOptions, known: Container[str] | None = None) -> None:
        self._name = name
        self._options = options
        self._known = known
        self._places: dict[str, str] = {}
        self._choices: dict[tuple[str, str], None] = {}
        self._any_text_field = False
        self._without_text_field: str | None = None

    def counts(self, prediction: Prediction) -> bool:
        """Take note of the next prediction; say whether it counts."""
        if prediction.choice is not None:
            kind, value = prediction.choice
            self._choices[prediction.choice] = None
            if self._chosen(kind) not in ("", value):
                return False
        if prediction.has_text_field:
            self._any_text_field = True
        elif self._without_text_field is None and is_success(prediction.status):
            self._without_text_field = prediction.where
        question_id = prediction.question_id
        is_known = self._known is None or question_id in self._known
        first = self._places.get(question_id)
        if first is None:
            if is_known or len(self._places) < _REMEMBERED_IDS:
                self._places[question_id] = prediction.where
            return True
        # Of several filters or epochs all names are wanted: they are known at the end.
        if self._options.on_duplicate == "error" and len(self._choices) < 2:
            raise EvaluationError(
                f"{prediction.where}: the question id {question_id!r} stands in {first} already; keep one"
            )
        return self._options.on_duplicate == "last" and is_known

    def _chosen(self, kind: str) -> str:
        return self._options.filter if kind == "filter" else self._options.epoch

    def finish(self) -> None:
        """Say that the file has ended."""
        kinds = {kind for kind, _ in self._choices}
        for kind in ("filter", "epoch"):
            names = sorted(
                (value for found, value in self._choices if found == kind), key=lambda name: (len(name), name)
            )
            chosen = self._chosen(kind)
            if chosen and chosen not in names:
                there = f"there are {', '.join(names)}" if kind in kinds else f"its format has no {kind}s"
                raise EvaluationError(f"{self._name}: no prediction of --{kind} {chosen}; {there}")
            if not chosen and len(names) > 1:
                raise EvaluationError(
                    f"{self._name}: several {kind}s ({', '.join(names)}); choose the one that counts with --{kind}"
                )
        if not self._places:
            raise EvaluationError(
                f"no prediction in {self._name}; write one JSON object a line: question_id and prediction"
            )
        if self._without_text_field is not None and not self._any_text_field:
            wanted = self._options.prediction_field or ", ".join(PREDICTION_FIELDS)
            raise EvaluationError(
                f"{self._without_text_field}: no record of the file has the prediction in {wanted};"
                " name the field that holds it with --prediction-field"
            )


def load_predictions(
    path: str | os.PathLike[str], prediction_field: str = ""
) -> tuple[dict[str, str | None], dict[str, str]]:
    """Read a predictions file; return id → text (None for null) and id → status.

    A name that ends in ``.json`` holds a list of objects, a mapping from id to object or scalar, or
    ``{"items": {id: object}}``; any other name one object a line. ``prediction_field`` names the field
    that holds the text; else the first present of ``PREDICTION_FIELDS``. Raises EvaluationError, naming
    file and line, for what is no such record, an id that is missing or given twice, a file in which
    no record has the field, and a file without predictions; OSError for a file that cannot be read. Rule 1.2.
    """
    check = FileCheck(os.fspath(path), ReadOptions(prediction_field))
    predictions: dict[str, str | None] = {}
    statuses: dict[str, str] = {}
    for prediction in _read_plain(os.fspath(path), prediction_field):
        check.counts(prediction)
        predictions[prediction.question_id] = prediction.text
        statuses[prediction.question_id] = prediction.status
    check.finish()
    return predictions, statuses


def is_success(status: str) -> bool:
    """Say whether a status is a success ("success", "ok", "completed", in any case). Rule 1.2 (published)."""
    return status.lower() in SUCCESS_STATUSES


# --------------------------------------------------------------------------------------------------
# Evaluation (rules 1.3 and 7)
# --------------------------------------------------------------------------------------------------

UNKNOWN = "unknown"


STANDIN_WARNING = "the gold is the synthetic stand-in: these scores say nothing about XL-DocBench"


def is_standin(question_id: str) -> bool:
    """Say whether an id is one of the synthetic stand-in's."""
    return question_id.startswith("standin_")


def _label_text(value: object) -> str:
    return value.strip() if isinstance(value, str) else (text_of(value) or "").strip()


def _label(value: object) -> str:
    return _label_text(value) or UNKNOWN


class Question(NamedTuple):
    """A gold question made ready for judging: its labels, and its answer prepared once."""

    question_id: str
    gold: Gold
    answer_format: str
    verification_rule: str
    split: str
    domain: str
    reasoning_type: str
    difficulty: str
    doc_type: str
    evidence_sources: tuple[str, ...]


def question_of(record: Mapping[str, Any]) -> Question:
    """Make a gold record, as :func:`load_gold_records` returns it, ready for judging."""
    answer = record.get("answer")
    if isinstance(answer, dict):
        answer_format = _label_text(answer.get("format"))
        verification_rule = _label_text(answer.get("verification_rule"))
        answer = answer.get("value")
    else:
        answer_format, verification_rule = "Str", ""
    metadata = record.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    sources = metadata.get("evidence_sources")
    if not isinstance(sources, list):
        sources = [sources]
    # dict keeps the order and drops a source that is listed twice.
    labels = tuple(dict.fromkeys(label for label in map(_label_text, sources) if label))
    return Question(
        question_id=record_id(record, "gold"),
        gold=Gold(text_of(answer) or "", answer_kind(answer_format, verification_rule)),
        answer_format=answer_format or UNKNOWN,
        verification_rule=verification_rule,
        split=_label(record.get("task_type")),
        domain=_label(metadata.get("domain")),
        reasoning_type=_label(metadata.get("reasoning_type")),
        difficulty=_label(metadata.get("difficulty")),
        doc_type=_label(metadata.get("doc_type")),
        evidence_sources=labels or (UNKNOWN,),
    )


class Judged(NamedTuple):
    """A prediction and its score; None where no question of the gold asks for it."""

    prediction: Prediction
    score: Score | None


class Verdict(NamedTuple):
    """The judgement of one question: what was predicted, with which status, and its score."""

    question: Question
    prediction: str | None
    status: str
    score: Score


def judge_predictions(questions: Mapping[str, Question], predictions: Iterable[Prediction]) -> Iterator[Judged]:
    """Yield each prediction with its score, in order. ``questions``: id → question."""
    for prediction in predictions:
        question = questions.get(prediction.question_id)
        if question is None:
            yield Judged(prediction, None)
        elif not is_success(prediction.status):
            yield Judged(prediction, _NO_ANSWER["failed"])
        elif prediction.text is None:
            yield Judged(prediction, _NO_ANSWER["empty"])
        else:
            yield Judged(prediction, score_as(prediction.text, question.gold))


class Scored(NamedTuple):
    """All that a report is made of: a verdict for each question in gold order, and what was left over."""

    verdicts: list[Verdict]
    prediction_count: int
    extra_ids: list[str]
    extra_count: int


_NAMED_IDS = 4


def collect(questions: Mapping[str, Question], judged: Iterable[Judged]) -> Scored:
    """Bring judged predictions into gold order; a question without one is missing.

    Of the ids that no question asks for, the first few are kept.
    """
    verdicts = {
        question_id: Verdict(question, None, "missing", _NO_ANSWER["missing"])
        for question_id, question in questions.items()
    }
    count, extra_count = 0, 0
    extra_ids: list[str] = []
    for prediction, score in judged:
        count += 1
        if score is None:
            extra_count += 1
            if len(extra_ids) < _NAMED_IDS:
                extra_ids.append(prediction.question_id)
        else:
            question_id = prediction.question_id
            # Where the last of several counts, the one before it was no more than a draft.
            count -= verdicts[question_id].score.rule != "missing"
            verdicts[question_id] = Verdict(questions[question_id], prediction.text, prediction.status, score)
    return Scored(list(verdicts.values()), count, extra_ids, extra_count)


# Every double in 0..1 is a whole multiple of 2^-1074, so that sums of this many parts are exact.
_EXACT_BITS = 1074


@functools.lru_cache(maxsize=4096)
def _exact(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_EXACT_BITS + 1 - denominator.bit_length())


class Totals:
    """Sums of scores that add up exactly, so that grouping and order never change a mean by a bit."""

    __slots__ = ("_accuracy", "_anls", "_token_f1", "count")

    def __init__(self) -> None:
        self.count = 0
        self._accuracy = self._token_f1 = self._anls = 0

    def add(self, score: Score) -> None:
        """Count one score."""
        self.add_exact(_exact(score.accuracy), _exact(score.token_f1), _exact(score.anls))

    def add_exact(self, accuracy: int, token_f1: int, anls: int) -> None:
        """Count one score whose metrics are given in whole parts of 2^-1074."""
        self.count += 1
        self._accuracy += accuracy
        self._token_f1 += token_f1
        self._anls += anls

    def __add__(self, other: Totals) -> Totals:
        result = Totals()
        result.count = self.count + other.count
        result._accuracy = self._accuracy + other._accuracy
        result._token_f1 = self._token_f1 + other._token_f1
        result._anls = self._anls + other._anls
        return result

    def _state(self) -> tuple[int, int, int, int]:
        return self.count, self._accuracy, self._token_f1, self._anls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Totals) and self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]

    def means(self) -> tuple[float, float, float]:
        """Return the mean accuracy, token F1 and ANLS, each rounded once, to the nearest double; 0.0 of nothing."""
        if not self.count:
            return 0.0, 0.0, 0.0
        whole = self.count << _EXACT_BITS
        return self._accuracy / whole, self._token_f1 / whole, self._anls / whole

    def as_report(self) -> dict[str, Any]:
        """Return the four keys of a report: the count and the three means, rounded to 6 decimals."""
        accuracy, token_f1, anls = self.means()
        return {
            "count": self.count,
            "accuracy": round(accuracy, 6),
            "token_f1": round(token_f1, 6),
            "anls": round(anls, 6),
        }


def evaluate(
    gold_records: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, Any],
    statuses: Mapping[str, str],
    ignore_missing: bool = False,
) -> dict[str, Any]:
    """Score predictions against gold records and return the report as a JSON-ready dict.

    ``gold_records`` as :func:`load_gold_records` returns them, ``predictions`` (id → text or any JSON
    value, None for null) and ``statuses`` (id → status; absent means success) as :func:`load_predictions`
    does. A question that is missing, failed or blank scores 0 and stays in every denominator;
    ``ignore_missing`` leaves out those absent from ``predictions``, and only those. All means are
    fractions in 0..1, rounded to 6 decimals once, at the end. Rules 1.3 and 7.
    """
    questions = index_questions(gold_records)
    given = (
        Prediction(question_id, text_of(value), "success" if (status := statuses.get(question_id)) is None else status)
        for question_id, value in predictions.items()
    )
    return build_report(collect(questions, judge_predictions(questions, given)), ignore_missing)


def index_questions(gold_records: Iterable[Mapping[str, Any]]) -> dict[str, Question]:
    """Make gold records ready for judging, once for any number of systems: id → question, in order."""
    questions = map(question_of, gold_records)
    return {question.question_id: question for question in questions}


# --------------------------------------------------------------------------------------------------
# Report and CSV (rule 7)
# --------------------------------------------------------------------------------------------------

METRICS = ("accuracy", "token_f1", "anls")
BREAKDOWNS: dict[str, Callable[[Question], tuple[str, ...]]] = {
    "split": lambda question: (question.split,),
    "domain": lambda question: (question.domain,),
    "reasoning_type": lambda question: (question.reasoning_type,),
    "answer_format": lambda question: (question.answer_format,),
    "difficulty": lambda question: (question.difficulty,),
    "doc_type": lambda question: (question.doc_type,),
    "evidence_source": lambda question: question.evidence_sources,
}


ROW_COLUMNS = (
    "question_id",
    "prediction",
    "gold_answer",
    "answer_format",
    "status",
    "accuracy",
    "token_f1",
    "anls",
    "split",
    "domain",
    "reasoning_type",
    "kind",
    "rule",
    "difficulty",
    "evidence_sources",
)
"""The columns of a ``per_question`` row and of the CSV, in order: the published ones, then ours."""


def _row(verdict: Verdict) -> dict[str, Any]:
    question, score = verdict.question, verdict.score
    values = (
        question.question_id,
        verdict.prediction,
        question.gold.text,
        question.answer_format,
        verdict.status,
        score.accuracy,
        round(score.token_f1, 6),
        round(score.anls, 6),
        question.split,
        question.domain,
        question.reasoning_type,
        question.gold.kind,
        score.rule,
        question.difficulty,
        list(question.evidence_sources),
    )
    return dict(zip(ROW_COLUMNS, values, strict=True))


def _warnings(verdicts: Sequence[Verdict]) -> list[str]:
    warnings = []
    if any(is_standin(verdict.question.question_id) for verdict in verdicts):
        warnings.append(STANDIN_WARNING)
    unknown: dict[str, list[str]] = {}
    for verdict in verdicts:
        if not is_known_format(verdict.question.answer_format):
            unknown.setdefault(verdict.question.answer_format, []).append(verdict.question.gold.kind)
    for name, kinds in sorted(unknown.items()):
        warnings.append(
            f"unknown answer format {name!r} ({len(kinds)} of {len(verdicts)} questions):"
            f" judged as {' or '.join(sorted(set(kinds)))}"
        )
    return warnings


def build_report(scored: Scored, ignore_missing: bool = False) -> dict[str, Any]:
    """Build the report of rule 7: counts, overall means, breakdowns, and a row for each verdict.

    ``ignore_missing`` leaves questions without a prediction out of means and rows. Our own keys
    (``failed_prediction_count``, ``empty_prediction_count``, ``warnings``) follow the published ones.
    """
    overall = Totals()
    groups: dict[str, dict[str, Totals]] = {name: {} for name in BREAKDOWNS}
    rows = []
    counts = {"missing": 0, "failed": 0, "empty": 0}
    for verdict in scored.verdicts:
        score = verdict.score
        if score.rule in counts:
            counts[score.rule] += 1
            if score.rule == "missing" and ignore_missing:
                continue
        exact = _exact(score.accuracy), _exact(score.token_f1), _exact(score.anls)
        overall.add_exact(*exact)
        for name, labels_of in BREAKDOWNS.items():
            group = groups[name]
            for label in labels_of(verdict.question):
                if label not in group:
                    group[label] = Totals()
                group[label].add_exact(*exact)
        rows.append(_row(verdict))
    return {
        "gold_count": len(scored.verdicts),
        "prediction_count": scored.prediction_count,
        "evaluated_count": overall.count,
        "missing_prediction_count": counts["missing"],
        "extra_prediction_count": scored.extra_count,
        "overall": overall.as_report(),
        "breakdowns": {
            name: {label: totals.as_report() for label, totals in sorted(group.items())}
            for name, group in groups.items()
        },
        "per_question": rows,
        "failed_prediction_count": counts["failed"],
        "empty_prediction_count": counts["empty"],
        "warnings": _warnings(scored.verdicts),
    }


def _encoded(text: str) -> bytes:
    # A lone surrogate has no UTF-8: it is written as its escape, which in JSON is the same string.
    return text.encode("utf-8", "backslashreplace")


_scalar_as_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _indented_json(value: Any, line_start: str) -> str:
    """Return what ``json.dumps(value, indent=2)`` does, about three times as fast."""
    if isinstance(value, dict) and value:
        inner = line_start + "  "
        items = [f"{_scalar_as_json(key)}: {_indented_json(item, inner)}" for key, item in value.items()]
        return "{" + inner + ("," + inner).join(items) + line_start + "}"
    if isinstance(value, list) and value:
        inner = line_start + "  "
        return "[" + inner + ("," + inner).join([_indented_json(item, inner) for item in value]) + line_start + "]"
    return _scalar_as_json(value)


def report_as_json(report: Mapping[str, Any]) -> bytes:
    """Return the report as UTF-8 JSON with two-space indent; the same report gives the same bytes."""
    return _encoded(_indented_json(report, "\n") + "\n")


def rows_as_csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return ``per_question`` rows as UTF-8 CSV (RFC 4180) with a header; lists are joined with ``|``."""
    import csv
    import io

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(ROW_COLUMNS)
    for row in rows:
        values = (row[column] for column in ROW_COLUMNS)
        writer.writerow(["|".join(value) if isinstance(value, list) else value for value in values])
    return _encoded(buffer.getvalue())


_FORMULA_START = re.compile(r"[=+\-@\t\r]")
_PLAIN_NUMBER = re.compile(r"[+-]?\.?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?")


def spreadsheet_safe(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which no text is taken for a formula: ``'`` stands before ``= + - @``, a tab or a CR.

    Plain numbers stay as they are.
    """

    def safe(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(safe, value))
        if isinstance(value, str) and _FORMULA_START.match(value) and not _PLAIN_NUMBER.fullmatch(value):
            return f"'{value}"
        return value

    return {key: safe(value) for key, value in row.items()}


def table_of(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table for people: a row for each system, with its counts and the metrics as percentages."""
    gold_counts = sorted({report["gold_count"] for report in reports.values()})
    width = max(len(name) for name in (*reports, "system"))
    space = " " * max(len(_reach(report, "accuracy")) for report in reports.values())
    lines = [
        f"XL-DocBench evaluation: {len(reports)} systems, {gold_counts[0]} gold questions",
        f"{'system':<{width}}  Predictions  Evaluated  Missing    Extra"
        f"  Accuracy{space}  Token F1{space}     ANLS{space}".rstrip(),
    ]
    for name, report in reports.items():
        overall = report["overall"]
        lines.append(
            f"{name:<{width}}  {report['prediction_count']:>11}  {report['evaluated_count']:>9}"
            f"  {report['missing_prediction_count']:>7}  {report['extra_prediction_count']:>7}"
            f"  {overall['accuracy']:>8.2%}{_reach(report, 'accuracy')}"
            f"  {overall['token_f1']:>8.2%}{_reach(report, 'token_f1')}"
            f"  {overall['anls']:>7.2%}{_reach(report, 'anls')}"
        )
    return "\n".join([*lines, *_signatures(reports.values())])


def summary_of(report: Mapping[str, Any]) -> str:
    """Return the summary for people: the counts, then the three metrics as percentages."""
    overall = report["overall"]
    lines = [
        "XL-DocBench evaluation",
        f"Gold questions:      {report['gold_count']}",
        f"Predictions:         {report['prediction_count']}",
        f"Evaluated:           {report['evaluated_count']}",
        f"Missing predictions: {report['missing_prediction_count']}",
        f"Extra predictions:   {report['extra_prediction_count']}",
        f"Accuracy: {overall['accuracy']:.2%}{_reach(report, 'accuracy')}",
        f"Token F1: {overall['token_f1']:.2%}{_reach(report, 'token_f1')}",
        f"ANLS:     {overall['anls']:.2%}{_reach(report, 'anls')}",
        *_disputed(report),
        *_signatures([report]),
    ]
    return "\n".join(lines)


def _reach(report: Mapping[str, Any], metric: str) -> str:
    """Return " ± X%", half the 95% interval before it was clipped; nothing where the report has no error bars."""
    if "confidence" not in report:
        return ""
    from xldocbench.uncertainty import half_width

    reach = half_width(report["confidence"], metric)
    return " ± not stated" if reach is None else f" ± {reach:.2%}"


def _disputed(report: Mapping[str, Any]) -> list[str]:
    if "audit" not in report:
        return []
    disputed = report["audit"]["disputed"]
    return [
        f"Disputed: {disputed['too_strict']} too strict, {disputed['too_generous']} too generous"
        f" (accuracy {disputed['lowest']:.2%} to {disputed['highest']:.2%})"
    ]


def _signatures(reports: Iterable[Mapping[str, Any]]) -> list[str]:
    # Systems that were scored alike share one line.
    return list(dict.fromkeys(report["provenance"]["signature"] for report in reports if "provenance" in report))


# --------------------------------------------------------------------------------------------------
# Command line (rule 8)
# --------------------------------------------------------------------------------------------------

GOLD_FILES = ("qa_single_doc.jsonl", "qa_cross_doc.jsonl")
DATA_DIR_VARIABLE = "XLDOCBENCH_DATA_DIR"
EXIT_ERROR, EXIT_GATE, EXIT_INTERRUPTED, EXIT_CLOSED_PIPE = 1, 3, 130, 141

_EPILOG = f"""\
example:
  python -m xldocbench.evaluate --predictions preds.jsonl --output report.json

metrics:
  Accuracy  0 or 1 by the rule of the answer's format
  Token F1  over the SETS of normalised tokens (not SQuAD's multiset)
  ANLS      similarity of the RAW texts, 0 where it is below 0.5

data directory:
  --data-dir, else ${DATA_DIR_VARIABLE}, else data/ beside the package in a
  checkout, else data/ in the current folder

exit codes:
  0 scored   1 an error, named in one line on stderr, or a fault that --check
  found   2 wrong usage
  3 a score is under --fail-under   130 interrupted
  141 the reader of the output went away
"""


def _job_count(text: str) -> int:
    import argparse

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text) or os.cpu_count() or 1


def metric_limits(text: str) -> dict[str, float]:
    """Read "accuracy=0.35,token_f1=0.4"; each limit is a fraction in 0..1."""
    import argparse

    limits = {}
    for part in text.split(","):
        metric, _, number = (piece.strip() for piece in part.partition("="))
        try:
            limits[metric] = float(number)
        except ValueError:
            limits[metric] = -1.0
        if metric not in METRICS or not 0.0 <= limits[metric] <= 1.0:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not METRIC=X with a metric of {', '.join(METRICS)} and X in 0..1"
            )
    return limits


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    import argparse

    # Left to itself argparse imports shutil, and that four compression libraries, to ask for this width.
    try:
        width = int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        try:
            width = os.get_terminal_size().columns
        except OSError:
            width = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=max(width - 2, 20))


def _pattern(text: str) -> str:
    import argparse

    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def add_gold_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the gold is; at most one of them can be given."""
    add = parser.add_mutually_exclusive_group().add_argument
    add(
        "--data-dir",
        metavar="DIR",
        help=f"folder that holds {' and '.join(GOLD_FILES)} (default: the first place that has them, as the help of"
        " xldocbench.evaluate says)",
    )
    add(
        "--gold-files",
        nargs="+",
        metavar="FILE",
        help="gold JSONL files, instead of those in the data directory (default: none)",
    )
    add(
        "--release",
        metavar="NAME",
        help="the fetched copy of the real release: strict, or microsoft/XL-DocBench (default: none)",
    )


def gold_files_of(arguments: argparse.Namespace) -> list[str]:
    """Return the gold files that the options of :func:`add_gold_options` name, or the default ones."""
    if arguments.release is not None:
        from xldocbench.release import copy_of

        return _gold_files_in(os.path.join(copy_of(arguments.release), "data"))
    return arguments.gold_files or default_gold_files(arguments.data_dir)


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a predictions file is read, and what becomes of questions that it lacks."""
    add = parser.add_argument
    add(
        "--predictions-format",
        default="",
        choices=("jsonl", "json", "csv", "tsv", "eval"),
        help="container of the predictions (default: the file's name and content tell)",
    )
    add(
        "--prediction-field",
        default="",
        metavar="PATH",
        help="field that holds the prediction, or a path such as choices.0.text (default: found by the record's shape;"
        f" of plain records the first present of {', '.join(PREDICTION_FIELDS)})",
    )
    add(
        "--id-field",
        default="",
        metavar="PATH",
        help="field that holds the question id, or a path (default: found by the record's shape)",
    )
    add("--filter", default="", metavar="NAME", help="of a harness's several filters the one to score (default: none)")
    add("--epoch", default="", metavar="N", help="of several epochs of a log the one to score (default: none)")
    add(
        "--on-duplicate",
        default="error",
        choices=("error", "first", "last"),
        help="what to do with an id given twice (default: error)",
    )
    add(
        "--ignore-missing",
        action="store_true",
        help="leave out questions that the predictions file does not name (default: they score 0)",
    )
    add_either = parser.add_mutually_exclusive_group().add_argument
    add_either(
        "--final-answer",
        action="store_true",
        help="score the final answer that an output states, not all of it; departs from the published protocol, and is"
        " named in the signature (default: all of it)",
    )
    add_either(
        "--final-answer-pattern",
        default="",
        type=_pattern,
        metavar="REGEX",
        help="the same, by a regular expression of your own: its first group (default: none)",
    )


def reading_of(arguments: argparse.Namespace) -> ReadOptions:
    """Return what the options of :func:`add_reading_options` say."""
    return ReadOptions(
        arguments.prediction_field,
        arguments.id_field,
        arguments.predictions_format,
        arguments.filter,
        arguments.epoch,
        arguments.on_duplicate,
        arguments.final_answer,
        arguments.final_answer_pattern,
    )


def _build_parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m xldocbench.evaluate",
        description="Score predictions on XL-DocBench: accuracy, token F1 and ANLS.",
        epilog=_EPILOG,
        formatter_class=_help_formatter,
    )
    add = parser.add_argument
    add(
        "--predictions",
        required=True,
        nargs="+",
        metavar="FILE",
        help="JSONL, one object a line with question_id and prediction; or .json, .csv, .tsv, .eval, each also .gz, and"
        " the output of batch services and harnesses; - for stdin; several files, or a folder of them, are scored as"
        " one system each (required)",
    )
    add_gold_options(parser)
    add_reading_options(parser)
    add(
        "--output",
        metavar="FILE",
        help="write the JSON report here; - for stdout; of several systems, the folder for one report each"
        " (default: no report)",
    )
    add(
        "--per-question-csv",
        metavar="FILE",
        help="write one CSV row for each question here; - for stdout; of several systems, the folder for one"
        " file each (default: no CSV)",
    )
    add(
        "--csv-safe",
        action="store_true",
        help="put ' before the cells of the CSV that a spreadsheet would run as a formula (default: texts as they are)",
    )
    add(
        "--html",
        metavar="FILE",
        help="write a page to look at here: charts, and every question with its explanation; - for stdout; of"
        " several systems, the folder for one page each (default: no page)",
    )
    add(
        "--explain",
        nargs="+",
        default=[],
        metavar="QUESTION_ID",
        help="print how the scores of these questions came about, after the summary (default: none)",
    )
    add(
        "--audit",
        action="store_true",
        help="flag the verdicts that rest on a known weakness of the rules: an audit block in the report, a line in"
        " the summary (default: no flags)",
    )
    add(
        "--no-per-question-json",
        action="store_true",
        help="leave the per_question rows out of the JSON report (default: they are in)",
    )
    add(
        "--check",
        action="store_true",
        help="examine the predictions and score nothing: counts, ids, fields, texts; exits with 1 where the file would"
        " be scored wrongly as it is (default: score)",
    )
    add(
        "--jobs",
        type=_job_count,
        default=1,
        metavar="N",
        help="processes to spread systems, or the lines of one large file, over; 0 for all cores; the output is"
        " the same for any N (default: 1)",
    )
    add(
        "--confidence",
        action="store_true",
        help="add error bars that know which questions share a document: a confidence block in the report, and ± in"
        " the summary (default: none)",
    )
    add(
        "--fail-under",
        type=metric_limits,
        default={},
        metavar="METRIC=X,...",
        help="exit with 3 where a score is under X, a fraction, such as accuracy=0.35,token_f1=0.4 (default: never)",
    )
    add("--version", action="version", version=f"xldocbench {__version__}")
    return parser


def _gold_files_in(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in GOLD_FILES]


def default_gold_files(data_dir: str | None) -> list[str]:
    """Return the gold files of ``--data-dir``, or where that is None of the first data directory that has them."""
    chosen, source = data_dir, "--data-dir"
    if chosen is None:
        chosen, source = os.environ.get(DATA_DIR_VARIABLE) or None, DATA_DIR_VARIABLE
    if chosen is not None:
        missing = [name for name in GOLD_FILES if not os.path.isfile(os.path.join(chosen, name))]
        if missing:
            raise EvaluationError(
                f"{source} {chosen}: no {' and no '.join(missing)} there;"
                " pass the folder that holds both, or name the gold with --gold-files"
            )
        return _gold_files_in(chosen)
    beside_package = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
    for folder in (beside_package, "data"):
        if all(map(os.path.isfile, _gold_files_in(folder))):
            return _gold_files_in(folder)
    raise EvaluationError(
        f"no gold found: pass --data-dir with the folder that holds {' and '.join(GOLD_FILES)},"
        f" or --gold-files, or set {DATA_DIR_VARIABLE}"
    )


def _is_same_file(a: str, b: str) -> bool:
    if os.path.exists(a) and os.path.exists(b):
        return os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)


def check_outputs(outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Refuse outputs that would destroy an input."""
    for output in outputs:
        for path in inputs:
            if output != "-" and _is_same_file(output, path):
                raise EvaluationError(f"the output {output} is the input {path}; choose another name")


def write_files(contents: Mapping[str, bytes]) -> None:
    """Write all files or none: each first beside its target, then renamed onto it.

    Parent folders are created and a link is followed. Raises OSError, naming the path as given; the
    previous files are whole then.
    """
    staged: list[tuple[str, str, str]] = []
    path = ""
    try:
        for path, content in contents.items():
            target = os.path.realpath(path)
            if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
                # A device or pipe cannot be renamed onto; a folder fails here, as it should.
                with open(target, "wb") as file:
                    file.write(content)
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            temporary = os.path.join(os.path.dirname(target), f".xldocbench-{os.urandom(8).hex()}.tmp")
            staged.append((temporary, target, path))
            with open(temporary, "xb") as file:
                file.write(content)
            if os.path.exists(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        while staged:
            temporary, target, path = staged[0]
            os.replace(temporary, target)
            del staged[0]
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        for temporary, _, _ in staged:
            if os.path.exists(temporary):
                os.remove(temporary)


def _write_stdout(content: bytes) -> None:
    stream = sys.stdout
    if stream is None:
        return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(content.decode("utf-8"))
    else:
        stream.flush()
        buffer.write(content)


def _with_progress(scored: Iterable[Item], total: int) -> Iterator[Item]:
    """Pass scored questions or systems through; after a second, keep a count on stderr if someone is looking at it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from scored
        return
    import time

    next_time = time.monotonic() + 1.0
    shown = False
    for done, item in enumerate(scored, start=1):
        yield item
        if time.monotonic() >= next_time:
            next_time += 0.2
            shown = True
            print(f"\rscored {done} of {total}", end="", file=sys.stderr, flush=True)
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _examples(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")


def print_to(text: str, stream: TextIO | None) -> None:
    """Print to a stream that may be closed, or may lack the sign ±."""
    # With its descriptor closed a stream is None, and print would turn to stdout.
    if stream is None:
        return
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, AttributeError):
        text = text.replace("±", "+/-")
    print(text, file=stream)


def tell(line: str) -> None:
    """Write one line to stderr, whatever it holds."""
    print_to(line.replace("\r", "\\r").replace("\n", "\\n"), sys.stderr)


def _extra_ids_warning(name: str, questions: Mapping[str, Question], scored: Scored) -> str | None:
    """Return a warning of predictions that no question asks for; raise where none of them fits the gold."""
    if scored.extra_count == scored.prediction_count:
        raise EvaluationError(
            f"no prediction in {name} is for a question of the gold: the predictions have"
            f" {_examples(scored.extra_ids)}; the gold has {_examples(list(questions))}"
            + (
                "; the gold is the synthetic stand-in: fetch the real data with `python -m xldocbench.release fetch`"
                " and pass --release strict"
                if any(map(is_standin, questions))
                else ""
            )
        )
    if not scored.extra_count:
        return None
    return (
        f"{scored.extra_count} of {scored.prediction_count} predictions are for no question of the gold"
        f" and are not scored ({_examples(scored.extra_ids)})"
    )


class Task(NamedTuple):
    """What is to be done with each predictions file: how it is read, and what is made of it.

    ``gold`` is the fingerprint of the gold; ``clusters`` (question id → label) are for error bars; ``explain``
    names the questions to explain.
    """

    reading: ReadOptions = ReadOptions()
    ignore_missing: bool = False
    report: bool = False
    rows_in_report: bool = True
    table: bool = False
    spreadsheet_safe: bool = False
    confidence: bool = False
    audit: bool = False
    page: bool = False
    explain: tuple[str, ...] = ()
    gold: dict[str, Any] | None = None
    clusters: dict[str, str] | None = None

    @property
    def keeps_texts(self) -> bool:
        """Whether the texts of all predictions are needed once they are judged."""
        return self.table or self.audit or self.page or (self.report and self.rows_in_report)


class Outcome(NamedTuple):
    """What came of one predictions file: the report without its rows, the files' contents, what to tell people."""

    report: dict[str, Any]
    json: bytes | None
    csv: bytes | None
    html: bytes | None
    explanations: list[str]
    messages: list[tuple[str, str]]


def tell_about(outcome: Outcome) -> None:
    """Write to stderr what there is to know of one predictions file, a line each."""
    for level, text in (*outcome.messages, *(("WARNING", text) for text in outcome.report["warnings"])):
        tell(f"{level}: {text}")


def judge_task(questions: Mapping[str, Question], predictions: Iterable[Prediction], task: Task) -> Iterator[Judged]:
    """Yield each prediction with its score, in order, without its text where the task has no more use for it."""
    judged = judge_predictions(questions, predictions)
    if task.keeps_texts:
        return judged
    return (
        Judged(prediction if prediction.question_id in task.explain else prediction._replace(text=None), score)
        for prediction, score in judged
    )


def judge_file(questions: Mapping[str, Question], name: str, task: Task, intake: Intake) -> Iterator[Judged]:
    """Yield the judged predictions of a file, in order; ``intake`` takes note of what is read."""
    from xldocbench.formats import read

    return judge_task(questions, read(name, task.reading, intake), task)


def checked(judged: Iterable[Judged], name: str, reading: ReadOptions, known: Container[str]) -> Iterator[Judged]:
    """Pass through the judged predictions that count, and check the whole file.

    ``known`` are the ids of the gold. Raises EvaluationError as :class:`FileCheck` does.
    """
    check = FileCheck(shown_name(name), reading, known)
    for item in judged:
        if check.counts(item.prediction):
            yield item
    check.finish()


@functools.lru_cache(maxsize=1)
def own_sha256() -> str:
    """Return the SHA-256 of this file: two scores by one evaluator are by the same rules."""
    return _sha256_of_modules("evaluate.py")


@functools.lru_cache(maxsize=2)
def _sha256_of_modules(*names: str) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name in names:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


# What stands between a file that is not of the benchmark's own shapes and the texts that are scored.
_READERS = ("containers.py", "formats.py", "final_answer.py", "pattern.py")


def _provenance(report: Mapping[str, Any], name: str, intake: Intake, task: Task) -> dict[str, Any]:
    """Return what a report was made of and with, ending in the one line to quote."""
    gold = task.gold or {}
    departures = task.reading.departures()
    predictions = {"file": os.path.basename(shown_name(name)), "format": intake.format, "sha256": intake.sha256}
    reader: list[str] = []
    if intake.format != "plain" or "final_answer" in departures:
        predictions["reader_sha256"] = _sha256_of_modules(*_READERS)
        reader = [f"read:{intake.format}-{predictions['reader_sha256'][:8]}"]
    settings = {
        "missing": "ignored" if task.ignore_missing else "zero",
        "prediction_field": task.reading.prediction_field or "auto",
        **departures,
    }
    parts = (
        "xldocbench",
        f"v:{__version__}",
        f"eval:{own_sha256()[:8]}",
        f"gold:{gold.get('sha256', '')[:8]}",
        f"n:{report['evaluated_count']}",
        f"missing:{settings['missing']}",
        f"field:{settings['prediction_field']}",
        *reader,
        *(f"{setting}:{value}" for setting, value in departures.items()),
    )
    return {
        "evaluator": {"name": "xldocbench", "version": __version__, "sha256": own_sha256()},
        "gold": gold,
        "predictions": predictions,
        "settings": settings,
        "signature": "|".join(parts),
    }


def _explanations(scored: Scored, task: Task) -> list[str]:
    from xldocbench.explain import Step, as_text, explain

    verdicts = {verdict.question.question_id: verdict for verdict in scored.verdicts}
    explanations = []
    for question_id in task.explain:
        steps = explain(verdicts[question_id])
        if task.audit:
            from xldocbench.audit import FLAGS, flags_of

            # The scores stay the last word.
            steps[-1:-1] = [Step(code, FLAGS[code].meaning) for code in flags_of(verdicts[question_id])]
        explanations.append(as_text(steps))
    return explanations


def finish_file(
    questions: Mapping[str, Question], name: str, task: Task, judge: Callable[[Intake], Iterable[Judged]]
) -> Outcome:
    """Make of a predictions file what the task asks for.

    ``judge`` yields its judged predictions and lets the intake that it is given take note of what is read.
    """
    intake = Intake()
    scored = collect(questions, checked(judge(intake), name, task.reading, questions))
    extra = _extra_ids_warning(shown_name(name), questions, scored)
    messages = [] if intake.format == "plain" else [("NOTE", f"{shown_name(name)} is read as {intake.format}")]
    messages += (("WARNING", text) for text in (*intake.warnings, *filter(None, (extra,))))
    report = build_report(scored, task.ignore_missing)
    evaluated = [v for v in scored.verdicts if not (task.ignore_missing and v.score.rule == "missing")]
    if task.confidence:
        from xldocbench.uncertainty import confidence_of

        report["confidence"] = confidence_of(evaluated, task.clusters or {})
    if task.audit:
        from xldocbench.audit import audit_of

        report["audit"] = audit_of(evaluated)
    report["provenance"] = _provenance(report, name, intake, task)
    explanations = []
    if task.explain:
        explanations = _explanations(scored, task)
    page = None
    if task.page:
        from xldocbench.containers import without_ending
        from xldocbench.html_report import page_of_report

        page = page_of_report(without_ending(name), report, evaluated, task.clusters or {})
    csv = None
    if task.table:
        csv = rows_as_csv(
            map(spreadsheet_safe, report["per_question"]) if task.spreadsheet_safe else report["per_question"]
        )
    slim = {key: value for key, value in report.items() if key != "per_question"}
    content = report_as_json(report if task.rows_in_report else slim) if task.report else None
    return Outcome(slim, content, csv, page, explanations, messages)


def _predictions_files(arguments: Sequence[str]) -> dict[str, str]:
    """Return the predictions files that the arguments name: system → file. Folders give their files in order."""
    from xldocbench.containers import is_predictions_file, without_ending

    files: dict[str, str] = {}
    for argument in arguments:
        paths = [argument]
        if os.path.isdir(argument):
            paths = [os.path.join(argument, name) for name in sorted(os.listdir(argument)) if is_predictions_file(name)]
            if not paths:
                raise EvaluationError(f"{argument}: no .jsonl, .json, .csv, .tsv or .eval file in this folder")
        for path in paths:
            system = without_ending(path)
            if system in files:
                raise EvaluationError(f"{files[system]} and {path} are both the system {system!r}; rename one")
            files[system] = path
    return files


def _outputs(folder: str | None, systems: Iterable[str], suffix: str) -> dict[str, str]:
    """Return the files for several systems in the folder of an option: system → file."""
    if folder is None:
        return {}
    if folder == "-" or (os.path.exists(folder) and not os.path.isdir(folder)):
        raise EvaluationError(f"{folder}: of several systems the output must be a folder")
    return {system: os.path.join(folder, system + suffix) for system in systems}


def _gate(reports: Mapping[str, Mapping[str, Any]], fail_under: Mapping[str, float]) -> int:
    """Return the exit code of ``--fail-under``; what failed is said in one line."""
    failed = [
        f"{name}: {metric} {report['overall'][metric]} is under {least}"
        for name, report in reports.items()
        for metric, least in fail_under.items()
        if report["overall"][metric] < least
    ]
    if not failed:
        return 0
    tell(f"FAILED: {'; '.join(failed)}")
    return EXIT_GATE


def _run_one(arguments: argparse.Namespace, questions: Mapping[str, Question], name: str, task: Task) -> int:
    outputs = {
        option: path
        for option, path in (
            ("--output", arguments.output),
            ("--per-question-csv", arguments.per_question_csv),
            ("--html", arguments.html),
        )
        if path is not None
    }
    for (option, path), (other_option, other) in itertools.combinations(outputs.items(), 2):
        if _is_same_file(path, other):
            raise EvaluationError(f"{option} and {other_option} are both {path}; choose another name for one")
    if arguments.jobs > 1:
        from xldocbench.parallel import judge_file_in_processes

        judge = functools.partial(judge_file_in_processes, questions, name, task, arguments.jobs)
    else:
        judge = functools.partial(judge_file, questions, name, task)
    outcome = finish_file(questions, name, task, lambda intake: _with_progress(judge(intake), len(questions)))
    tell_about(outcome)
    made = zip(outputs.values(), filter(None, (outcome.json, outcome.csv, outcome.html)), strict=True)
    contents = dict(made)
    to_stdout = contents.pop("-", None)
    write_files(contents)
    if to_stdout is not None:
        _write_stdout(to_stdout)
    for_people = [summary_of(outcome.report), *outcome.explanations]
    print_to("\n\n".join(for_people), sys.stdout if to_stdout is None else sys.stderr)
    return _gate({name: outcome.report}, arguments.fail_under)


def _run_several(
    arguments: argparse.Namespace, questions: Mapping[str, Question], files: Mapping[str, str], task: Task
) -> int:
    outputs = _outputs(arguments.output, files, ".json")
    tables = _outputs(arguments.per_question_csv, files, ".csv")
    pages = _outputs(arguments.html, files, ".html")
    check_outputs([*outputs.values(), *tables.values(), *pages.values()], list(files.values()))
    if arguments.jobs > 1:
        from xldocbench.parallel import finish_files_in_processes

        outcomes = finish_files_in_processes(questions, list(files.values()), task, arguments.jobs)
    else:
        outcomes = (
            finish_file(questions, name, task, functools.partial(judge_file, questions, name, task))
            for name in files.values()
        )
    reports: dict[str, dict[str, Any]] = {}
    contents: dict[str, bytes] = {}
    messages: list[str] = []
    explanations: list[str] = []
    for system, outcome in zip(files, _with_progress(outcomes, len(files)), strict=True):
        reports[system] = outcome.report
        messages += (f"{level}: {system}: {text}" for level, text in outcome.messages)
        if outcome.json is not None:
            contents[outputs[system]] = outcome.json
        if outcome.csv is not None:
            contents[tables[system]] = outcome.csv
        if outcome.html is not None:
            contents[pages[system]] = outcome.html
        explanations += (f"system: {system}\n{explanation}" for explanation in outcome.explanations)
    # What is said of the gold is the same for every system.
    for message in (*messages, *(f"WARNING: {text}" for text in next(iter(reports.values()))["warnings"])):
        tell(message)
    write_files(contents)
    print_to("\n\n".join([table_of(reports), *explanations]), sys.stdout)
    return _gate(reports, arguments.fail_under)


def _nearest(question_id: str, questions: Mapping[str, Question]) -> str:
    """Return a hint at the known id that is most like another, or nothing where none is."""
    import difflib

    nearest = difflib.get_close_matches(question_id, questions, n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _run_check(
    arguments: argparse.Namespace, questions: Mapping[str, Question], gold_records: Iterable[Mapping[str, Any]]
) -> int:
    from xldocbench.check import FAULT, as_text, examine, wordings_of

    wordings, options = wordings_of(gold_records), reading_of(arguments)
    code = 0
    for path in _predictions_files(arguments.predictions).values():
        examination = examine(path, questions, wordings, options)
        print_to(as_text(examination), sys.stdout)
        if any(finding.level == FAULT for finding in examination.findings):
            code = EXIT_ERROR
    return code


def _run(arguments: argparse.Namespace) -> int:
    gold_files = gold_files_of(arguments)
    outputs = [path for path in (arguments.output, arguments.per_question_csv, arguments.html) if path is not None]
    check_outputs(outputs, [*arguments.predictions, *gold_files])
    gold = load_gold_files(gold_files)
    questions = index_questions(gold.records)
    if arguments.check:
        return _run_check(arguments, questions, gold.records)
    for question_id in arguments.explain:
        if question_id not in questions:
            raise EvaluationError(
                f"--explain {question_id}: no question of the gold has this id{_nearest(question_id, questions)}"
            )
    clusters = None
    if arguments.confidence or arguments.html is not None:
        from xldocbench.uncertainty import clusters_of

        clusters = clusters_of(gold.records)
    task = Task(
        reading_of(arguments),
        arguments.ignore_missing,
        report=arguments.output is not None,
        rows_in_report=not arguments.no_per_question_json,
        table=arguments.per_question_csv is not None,
        spreadsheet_safe=arguments.csv_safe,
        confidence=arguments.confidence,
        audit=arguments.audit,
        page=arguments.html is not None,
        explain=tuple(arguments.explain),
        gold=gold.provenance,
        clusters=clusters,
    )
    if len(arguments.predictions) == 1 and not os.path.isdir(arguments.predictions[0]):
        return _run_one(arguments, questions, arguments.predictions[0], task)
    return _run_several(arguments, questions, _predictions_files(arguments.predictions), task)


def _silence_stdout() -> None:
    """Let the interpreter flush into nothing when it ends, instead of failing a second time."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def run_command(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], argv: Sequence[str] | None
) -> int:
    """Parse ``argv``, run a command and return its exit code; every fault of input or output is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # An id or a path that the terminal's encoding lacks must not stop the summary.
            reconfigure(errors="backslashreplace")
    try:
        try:
            return run(parser.parse_args(argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_CLOSED_PIPE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except EvaluationError as error:
        tell(f"ERROR: {error}")
    except OSError as error:
        if error.filename is None:
            _silence_stdout()
        place = "stdout" if error.filename is None else error.filename or "''"
        tell(f"ERROR: {place}: {error.strerror or error}")
    return EXIT_ERROR


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (0, 1, 130 or 141; argparse exits with 2 itself)."""
    return run_command(_build_parser(), _run, argv)


if __name__ == "__main__":
    # Modules imported later must find this module and its classes, not load a second copy of them.
    sys.modules["xldocbench.evaluate"] = sys.modules["__main__"]
    sys.exit(main())
