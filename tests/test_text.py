"""Normalisation, similarity, token F1 and ANLS (rules 2 and 6)."""

from __future__ import annotations

import random

import pytest

from xldocbench import (
    Score,
    anls_score,
    levenshtein_distance,
    normalize_answer,
    normalized_levenshtein_similarity,
    score,
    token_f1_score,
)


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("  Green Deal \n", "green deal", "stripped and lower-cased"),
        ("The answer is: Paris", "paris", "first phrase dropped, then the colon"),
        ("Answer: the answer is Paris", "answer is paris", "phrases are tried once, in order; `the` is an article"),
        ("answer is Paris", "paris", "third phrase"),
        ("The answer is answer: answer is 4", "4", "all three, in their order"),
        ("answer is answer: 4", "answer 4", "the second phrase was tried before the third was dropped"),
        ("It is the answer: 4", "it is answer 4", "only at the start"),
        ("«Green» (Deal)!", "green deal", "punctuation deleted, not replaced"),
        ("state-of-the-art, 3.5%", "state-of- -art 3.5%", "`.`, `-` and `%` are kept; `the` is a word between hyphens"),
        ("A theatre and an answer", "theatre and answer", "whole words only"),
        ("snake_case", "snake_case", "the underscore is a word character"),
        ("東京、大阪", "東京大阪", "letters of any script are word characters"),
        ("a\u00a0b\tc\u2003d", "b c d", "any white space collapses"),
        ("", "", "nothing stays nothing"),
        ("the", "", "an article alone is nothing"),
    ],
)
def test_normalize_answer(text: str, expected: str, why: str) -> None:
    assert normalize_answer(text) == expected, why


@pytest.mark.parametrize(
    ("prediction", "gold", "expected", "why"),
    [
        ("kitten", "sitting", 1 - 3 / 7, "three edits over the longer length"),
        (" ABC ", "abc", 1.0, "stripped and lower-cased"),
        ("", "", 1.0, "both empty"),
        ("", "abc", 0.0, "one empty"),
        ("naïve", "naive", 0.8, "code points, no folding of accents"),
        ("😀a", "a", 0.5, "a code point outside the BMP is one"),
    ],
)
def test_similarity(prediction: str, gold: str, expected: float, why: str) -> None:
    assert normalized_levenshtein_similarity(prediction, gold) == expected, why


@pytest.mark.parametrize(
    ("prediction", "gold", "expected", "why"),
    [
        ("one two", "one two two", 1.0, "sets: a repeated token counts once"),
        ("the", "a", 1.0, "both token sets empty"),
        ("word", "the", 0.0, "gold set empty, prediction's not"),
        ("the", "word", 0.0, "no common token"),
        ("green deal plan", "green deal", 0.8, "P 2/3, R 1"),
    ],
)
def test_token_f1(prediction: str, gold: str, expected: float, why: str) -> None:
    assert token_f1_score(prediction, gold) == expected, why


@pytest.mark.parametrize(
    ("prediction", "gold", "threshold", "expected", "why"),
    [
        ("ab", "abcd", 0.5, 0.5, "the threshold itself counts"),
        ("a", "abc", 0.5, 0.0, "below the threshold"),
        ("a", "abc", 0.3, 1 - 2 / 3, "another threshold"),
        ("The Deal", "deal", 0.5, 0.5, "raw texts: the article is not removed"),
        ("«deal»", "deal", 0.5, 1 - 2 / 6, "raw texts: punctuation counts"),
        ("", "", 0.5, 1.0, "two empty texts are alike"),
    ],
)
def test_anls(prediction: str, gold: str, threshold: float, expected: float, why: str) -> None:
    assert anls_score(prediction, gold, threshold) == expected, why


def test_published_check_values() -> None:
    gold = "the biggest single risk to human health worldwide"
    prediction = "Air pollution is widely called the biggest single risk to human health worldwide"
    assert (len(gold), len(prediction), len(set(normalize_answer(prediction).split()))) == (49, 80, 12)
    assert score(prediction, gold) == Score(1.0, 2 * (7 / 12) / (7 / 12 + 1), 0.6125, "contained")
    assert pytest.approx(14 / 19, abs=1e-15) == 2 * (7 / 12) / (7 / 12 + 1)


def plain_distance(a: str, b: str) -> int:
    """The textbook table, row by row: slow and plainly right."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row = row, [i]
        for j, y in enumerate(b, start=1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (x != y)))
    return row[-1]


def _pairs() -> list[tuple[str, str]]:
    draws = random.Random(20)
    pairs = [("", ""), ("", "abc"), ("abc", "abc"), ("abcd", "bcd"), ("xabc", "abc")]
    # Lengths around machine words: an implementation by bits breaks there first.
    for length in (1, 2, 31, 32, 33, 62, 63, 64, 65, 127, 128, 129):
        for other in (length - 1, length, length + 1, 3):
            for alphabet in ("ab", "abcdefghijklmnopqrstuvwxyz ", "aé中😀"):
                pairs.append(("".join(draws.choices(alphabet, k=length)), "".join(draws.choices(alphabet, k=other))))
    for _ in range(300):
        text = draws.choices("abcdef ", k=draws.randrange(1, 60))
        edited = list(text)
        for _ in range(draws.randrange(4)):
            edited[draws.randrange(len(edited))] = draws.choice(["", "x", "yz"])
        pairs.append(("".join(text), "".join(edited)))
    return pairs


@pytest.mark.parametrize(("a", "b"), _pairs(), ids=lambda text: f"{len(text)}")
def test_distance_equals_the_plain_table(a: str, b: str) -> None:
    assert levenshtein_distance(a, b) == plain_distance(a, b) == levenshtein_distance(b, a)


def test_a_difference_in_length_never_settles_what_it_cannot() -> None:
    # 4 of 5 characters: the bound by length is exactly the threshold, and the texts reach it.
    assert score("abcd", "abcde").rule == "similarity"
    assert score("abxd", "abcde").rule == "dissimilar"
