"""Number extraction (rule 5) and the number rule of accuracy (rule 4)."""

from __future__ import annotations

import pytest

from xldocbench import extract_number, score


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The table of rule 5, row by row.
        ("1,250.5", 1250.5),
        ("1,234", 1234),
        ("63,1%", 63.1),
        ("0,125", 0.125),
        ("12,3456", 12.3456),
        ("1.234,56", 1234.56),
        ("1.234.567", 1234567),
        ("12 000", 12000),
        ("12\u00a0000", 12000),
        ("12\u202f000", 12000),
        ("12\u2009000", 12000),
        ("12'000", 12000),
        ("12\u2019000", 12000),
        ("50 0000", 50),
        ("1,2,3", 1.2),
        (".5", 0.5),
        ("5.", 5),
        ("10⁶", 1_000_000),
        ("2.5×10⁻³", 0.0025),
        ("COVID-19", 19),
        ("A-5", 5),
        ("10^3", 1000),
        ("10 ^ 3", 1000),
        ("10^(3)", 1000),
        ("2 x 10^3", 2000),
        ("2×10^3", 2000),
        ("2*10^3", 2000),
        ("2·10^3", 2000),
        ("2.5e2", 250),
        ("1.5E-3", 0.0015),
        ("1/2", 0.5),
        ("1 / 2", 0.5),
        ("3/0", 3),
        ("12/05/2020", 12),
        ("1/2/3", 1),
        ("-2^2", -4),
        ("−3", -3),
        ("$ -5", -5),
        ("- 5", -5),
        ("10-20", 10),
        ("In 2023 it was 4.5 billion", 2023),
        ("(123)", 123),
        ("25³", 25),
        ("1e400", None),
        ("10^999999999", None),
        # Its sentences.
        ("2,123,3", 2123),
        ("0,120.11", 0.12),
        ("12'000,5", 12000.5),
        ("12 000,5", 12000.5),
        ("12 000.5", 12000.5),
        ("10²0", 100),
        ("+7", 7),
        ("\ufe637", -7),
        ("\uff0d7", -7),
        ("-  7", 7),
        (")-7", 7),
        ("]-7", 7),
        ("5%-7", 5),
        ("x%-7", 7),
        ("x.-7", 7),
        ("x_-7", 7),
        ("٢٥", 25),
        ("３１０", 310),
        ("nan", None),
        ("inf", None),
        ("Infinity", None),
        ("", None),
        ("no digits", None),
        # What follows from them.
        ("1,234,567.89", 1234567.89),
        ("1,234,5678", 1234),
        ("000,125", 0.125),
        ("0 120", 0),
        ("1.234", 1.234),
        ("1.234.56", 1.234),
        ("1.234.567,8", 1234567.8),
        ("1.234, and more", 1.234),
        ("1,234, and more", 1234),
        ("12 000 000", 12000000),
        ("6 1 6", 6),
        ("-0", 0),
        ("-.5", -0.5),
        ("-1/2", -0.5),
        ("1/1,000", 0.001),
        ("1/10^3", 0.001),
        ("10^3/4", 250),
        ("0/5", 0),
        ("12/2020 report", 12 / 2020),
        ("1.5e−3", 0.0015),
        ("2^-1", 0.5),
        ("10^ -3", 0.001),
        ("0^-1", None),
        ("10.0²", 10),
        ("010²", 10),
        ("2×10", 2),
        ("2×20^3", 2),
        ("7⋅10⁶", 7),
        ("3,4x10²", 340),
        ("-10³", -1000),
        ("2\n* 10^3", 2),
        ("10^(3", 10),
        ("5e", 5),
        ("1/3e1900000000", None),
        ("1^" + "9" * 5000, None),
        ("1e-" + "9" * 5000, None),
        ("0." + "0" * 5000 + "1", 0),
    ],
    ids=lambda value: f"{str(value)[:20]!a}",
)
def test_extract_number(text: str, expected: float | None) -> None:
    assert extract_number(text) == expected


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "1,000" * 2000, "1/" + "9" * 5000])
def test_a_numeral_that_overflows_is_no_number(text: str) -> None:
    assert extract_number(text) is None or abs(extract_number(text) or 0) < 2000


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        *"1,/^ .-(x⁰e'%",
        "1,",
        "1 ",
        "1/",
        "1^",
        "1.",
        "1,000",
        "1 000",
        "10^",
        "×10",
        "- ",
        "1e",
        "10⁰",
        "/ ",
        "^ ",
        "A ",
    ],
)
@pytest.mark.parametrize("answer_format", ["Int", "Choice", "Bool"])
def test_a_megabyte_of_marks_is_read_in_linear_time(unit: str, answer_format: str) -> None:
    # No clock: a pattern that backtracks over 10^6 characters would not come back at all.
    text = unit * (MEGABYTE // len(unit))
    assert score(text, {"Int": "77", "Choice": "D", "Bool": "yes"}[answer_format], answer_format).accuracy == 0.0


@pytest.mark.parametrize(
    ("prediction", "gold", "rule", "why"),
    [
        ("95", "100", "within-tolerance", "5% itself counts"),
        ("105", "100", "within-tolerance", "on both sides"),
        ("94.9", "100", "outside-tolerance", "beyond"),
        ("1.05", "1.0", "outside-tolerance", "in double precision as written"),
        ("95", "-100", "outside-tolerance", "the sign counts"),
        ("-96", "-100", "within-tolerance", "relative to the size of the gold"),
        ("0.0000009", "0", "within-tolerance", "gold 0 has an absolute tolerance"),
        ("0.000001", "0", "outside-tolerance", "of less than a millionth"),
        ("none", "0", "no-number", "gold has a number, the prediction none"),
        ("5.4%", "5.4", "within-tolerance", "the sign % is dropped"),
        ("0.054", "5.4%", "outside-tolerance", "and never converted"),
        ("4.5 billion", "4500000000", "outside-tolerance", "magnitude words are ignored"),
        ("about five", "five", "contained", "gold without a number: the text rule"),
        ("5", "five", "dissimilar", "gold without a number: the text rule"),
        ("fivr5", "five5x", "within-tolerance", "a number inside a word is one"),
        ("1e308", "-1e308", "outside-tolerance", "a difference that overflows is no crash"),
        ("1e308", "1e-320", "outside-tolerance", "nor a quotient that does"),
    ],
)
def test_number_rule(prediction: str, gold: str, rule: str, why: str) -> None:
    assert score(prediction, gold, "Float").rule == rule, why
