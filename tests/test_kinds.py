"""The kind of an answer (rule 3) and the rules of text, unanswerable, boolean and choice (rule 4)."""

from __future__ import annotations

import pytest

from xldocbench import Score, accuracy_score, score
from xldocbench.evaluate import RULES, answer_kind


@pytest.mark.parametrize(
    ("answer_format", "rule", "kind"),
    [
        ("None", "exact_match", "unanswerable"),
        ("None", "choice_exact_match", "unanswerable"),
        ("Str", "choice_exact_match", "choice"),
        ("Choice", "", "choice"),
        ("SingleChoice", "", "choice"),
        ("single_choice", "", "choice"),
        ("Single Choice", "", "choice"),
        ("single-choice", "", "choice"),
        ("Float", "percentage_exact", "number"),
        ("Str", "percentage_exact", "number"),
        ("Percentage", "", "number"),
        ("Int", "choice_exact_match", "choice"),
        ("Int", "", "number"),
        ("FLOAT", "", "number"),
        ("Bool", "", "boolean"),
        ("boolean", "", "boolean"),
        ("Str", "numeric_tolerance", "text"),
        ("Str", "", "text"),
        ("Decimal", "numeric_tolerance", "number"),
        ("Decimal", "within_tolerance", "number"),
        ("List", "", "text"),
        ("", "", "text"),
        ("", "numeric_tolerance", "number"),
    ],
)
def test_answer_kind(answer_format: str, rule: str, kind: str) -> None:
    assert answer_kind(answer_format, rule) == kind


@pytest.mark.parametrize(
    ("prediction", "gold", "rule", "why"),
    [
        ("It is the Green Deal.", "green deal", "contained", "inside the prediction"),
        ("Green Dael", "green deal", "similarity", "8 of 10 characters"),
        ("gren dael", "green deal", "dissimilar", "below 0.8"),
        ("green", "green deal", "dissimilar", "the prediction inside the gold does not count"),
        ("15", "5", "contained", "inside a longer token counts"),
        ("???", "!!!", "similarity", "an empty gold is in nothing; two empty texts are alike"),
        ("word", "!!!", "dissimilar", "an empty gold is not inside everything"),
    ],
)
def test_text_rule(prediction: str, gold: str, rule: str, why: str) -> None:
    assert score(prediction, gold).rule == rule, why


@pytest.mark.parametrize(
    ("prediction", "rule"),
    [
        ("Not answerable.", "refusal-phrase"),
        ("This is UNANSWERABLE", "refusal-phrase"),
        ("it cannot be determined", "refusal-phrase"),
        ("the question cannot be answered", "refusal-phrase"),
        ("there is not enough information", "refusal-phrase"),
        ("not  enough\ninformation", "refusal-phrase"),
        ("not an answerable one", "refusal-phrase"),
        ("can't be determined", "no-refusal-phrase"),
        ("N/A", "no-refusal-phrase"),
        ("42", "no-refusal-phrase"),
    ],
)
@pytest.mark.parametrize("gold", ["Not answerable", "the gold is not read"])
def test_unanswerable_rule(prediction: str, rule: str, gold: str) -> None:
    assert score(prediction, gold, "None").rule == rule


YES, NO, NONE = "yes", "no", "none"


@pytest.mark.parametrize(
    ("prediction", "verdict", "why"),
    [
        ("Yes", YES, "a verdict word"),
        ("TRUE.", YES, "any case, with punctuation"),
        ("incorrect", NO, "a verdict word"),
        ("untrue", NONE, "no verdict word"),
        ("yes, it is not answerable", NONE, "1: a refusal phrase comes before all"),
        ("No wait. The answer is: yes", YES, "2: after `answer is`"),
        ('answer: "**No**"', NO, "2: quotes and asterisks between"),
        ("Answer (yes)", YES, "2: an opening bracket between"),
        ("answer: yes. On reflection, answer: no", NO, "2: the last one"),
        ("the answer yesterday was no", NO, "2: a verdict word is a whole word"),
        ("It is not true", NO, "3: turned round by a negator"),
        ("not at all false", YES, "3: the negator is within three words"),
        ("not one of them was false", NO, "3: the negator is four words away"),
        ("No, it is true that costs rose", NO, "3: the first verdict word"),
        ("It isn't correct", NO, "3: the apostrophe is gone after normalising"),
        ("It isn’t correct", NO, "3: and so is the curly one"),
        ("Of course not", NO, "4: a negator alone"),
        ("It does not", NO, "4: at the end"),
        ("never", NO, "4: any negator"),
        ("I am not sure", NONE, "4: but not before a word of doubt"),
        ("It is not stated, and it does not say", NO, "4: another negator, not before such a word"),
        ("maybe", NONE, "5: nothing"),
        ("!!!", NONE, "5: no word at all"),
        ("I know it applies", NONE, "`know` is not `no`"),
    ],
)
@pytest.mark.parametrize("gold", ["yes", "False"])
def test_boolean_rule(prediction: str, verdict: str, why: str, gold: str) -> None:
    same = {"yes": YES, "False": NO}[gold] == verdict
    expected = "no-verdict" if verdict == NONE else "same-verdict" if same else "other-verdict"
    assert score(prediction, gold, "Bool").rule == expected, why


def test_boolean_gold_without_a_verdict_is_judged_as_text() -> None:
    assert score("maybe so", "maybe", "Bool").rule == "contained"


@pytest.mark.parametrize(
    ("prediction", "option", "why"),
    [
        ("B", "B", "1: one letter"),
        (" (b) ", "B", "1: any case, punctuation around it"),
        ("**B**", "B", "1: punctuation around it"),
        ("_c_", "C", "1: the underscore is punctuation here"),
        ("E", None, "1: only A to D"),
        ("Option A is ruled out, so the answer is C", "C", "2: after `answer is`"),
        ("answer: C. No, answer: D", "D", "2: the last one"),
        ("Answer is option B because A is wrong", "B", "2: `option` between"),
        ('The answer is: "(b)"', "B", "2: colon, quotes and bracket between"),
        ("答案是C", "C", "2: no space needed"),
        ("答案：选项 D", "D", "2: wide colon and 选项 between"),
        ("答案为A。", "A", "2: 为"),
        ("the answer is a", "A", "2: lower-case a with nothing after it"),
        ("the answer is a.", "A", "2: lower-case a before a point"),
        ("answer: a) the first", "A", "2: lower-case a before a bracket"),
        ("The answer is a good one: C", "C", "2: lower-case a as an article"),
        ("Answer: A good choice is D", "D", "2: capital A as an article"),
        ("Answer: A is right, not D", "A", "2: `is` may follow"),
        ("ANSWER: CD", None, "2: a letter follows"),
        ("answer C_1 or so", None, "2: an underscore follows"),
        ("answers: C", "C", "4, since `answers` is no cue"),
        ("See Annex A; option C fits", "C", "3: after `option`"),
        ("A or choice d", "D", "3: any case"),
        ("因此选项B正确", "B", "3: no space needed"),
        ("options A and B", "A", "4: `options` is no cue"),
        ("I take B/D", "B", "4: the first capital standing alone"),
        ("A dog or D", "D", "4: an article is passed over"),
        ("A because of it", "A", "4: `because` may follow"),
        ("A Dog", "A", "4: no word in lower case follows"),
        ("I believe it is Basel", None, "4: a letter beside it"),
        ("b) text", "B", "5: a label at the start"),
        ("(c) text", "C", "5: punctuation in front"),
        ("d: text", "D", "5: a colon"),
        ("so b) text", None, "5: only at the start"),
        ("maybe", None, "nothing"),
    ],
)
@pytest.mark.parametrize("gold", list("ABCD"))
def test_choice_rule(prediction: str, option: str | None, why: str, gold: str) -> None:
    expected = "no-option" if option is None else "same-option" if option == gold else "other-option"
    assert score(prediction, gold, "Str", "choice_exact_match").rule == expected, why


def test_choice_gold_without_a_letter_is_judged_as_text() -> None:
    assert score("in Paris", "Paris", "Choice").rule == "contained"


@pytest.mark.parametrize(
    ("prediction", "gold", "expected", "why"),
    [
        (None, "", Score(0.0, 0.0, 0.0, "empty"), "null is no answer, whatever the gold"),
        ("", "", Score(0.0, 0.0, 0.0, "empty"), "nor is an empty text"),
        (" \n\u3000", "not answerable", Score(0.0, 0.0, 0.0, "empty"), "nor is white space"),
        (0, "0", Score(1.0, 1.0, 1.0, "contained"), "the integer 0 is an answer"),
        (False, "false", Score(1.0, 1.0, 1.0, "contained"), "a boolean is str(value)"),
        (2.50, "2.5", Score(1.0, 1.0, 1.0, "contained"), "a number is str(value)"),
        (["b", "a"], '["b", "a"]', Score(1.0, 1.0, 1.0, "contained"), "a list is JSON"),
        ({"b": "é", "a": 1}, '{"a": 1, "b": "é"}', Score(1.0, 1.0, 1.0, "contained"), "keys sorted, not escaped"),
        ("25", 25, Score(1.0, 1.0, 1.0, "contained"), "the gold too may be any JSON value"),
    ],
)
def test_score_takes_any_json_value(prediction: object, gold: object, expected: Score, why: str) -> None:
    assert score(prediction, gold) == expected, why


def test_a_score_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        score("a", "a").accuracy = 0.0  # type: ignore[misc]


def test_accuracy_score_takes_a_format_or_a_rule() -> None:
    assert accuracy_score("I think (b)", "B", "Choice") == 0.0
    assert accuracy_score("(b) I think", "B", "choice_exact_match") == 1.0
    assert accuracy_score("25.3", "25", "Int") == 1.0
    assert accuracy_score("25.3", "25", "numeric_tolerance") == 1.0


def test_every_rule_code_gives_the_accuracy_it_says() -> None:
    assert {code for code, rule in RULES.items() if rule.accuracy == 1.0} == {
        "contained",
        "similarity",
        "within-tolerance",
        "same-option",
        "same-verdict",
        "refusal-phrase",
    }
