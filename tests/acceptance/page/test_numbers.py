"""Numbers in words: scripts of the page, the server and the client write them alike."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabkb_client import _values as numbers
from adabkb_service import page
from adabkb_service.contract.answers import Study
from adabkb_service.contract.parameters import FloatParameter
from adabkb_service.contract.quantities import Quantity, in_points, titled, with_unit
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.inference.questions import _usual_decimals
from adabkb_service.operations.words import digits, wording
from adabkb_service.operations.words.columns_in_words import parameter_values, rounded
from adabkb_service.operations.words.values_in_words import as_typed, figure, fixed, shown
from adabkb_service.operations.words.wording import duration, elapsed
from tools.npm import NODE

WORDS = (Path(page.__file__).parent / "assets" / "words.js").as_uri()
FIGURES = [
    (None, 5, "–"),
    (0.0, 5, "0"),
    (-0.5, 5, "\N{MINUS SIGN}0.5"),
    (82.456789, 5, "82.457"),
    (0.1 + 0.2, 6, "0.3"),
    (123456.75, 5, "123\N{NARROW NO-BREAK SPACE}460"),
    (123456.0, 3, "123\N{NARROW NO-BREAK SPACE}456"),
    (1000.0, 3, "1\N{NARROW NO-BREAK SPACE}000"),
    (999.0, 2, "999"),
    (1234567.0, 5, "1.2346×10⁶"),
    (-2.5e-7, 5, "\N{MINUS SIGN}2.5×10⁻⁷"),
    (0.0001, 5, "0.0001"),
    (0.00012345, 3, "0.000123"),
    (-15_000_000.0, 5, "\N{MINUS SIGN}1.5×10⁷"),
    (3e20, 5, "3×10²⁰"),
    (0.125, 2, "0.13"),
    (80.25, 3, "80.3"),
    (80.35, 3, "80.4"),
    (1.005, 3, "1.01"),
    (-2.5, 1, "\N{MINUS SIGN}3"),
    (99.95, 3, "100"),
    (1.25e-7, 2, "1.3×10⁻⁷"),
    (2500001.0, 1, "3×10⁶"),
]
DIFFERENCES = [
    (0.0, "0"),
    (0.5, "0.50"),
    (1.234, "1.2"),
    (18.2, "18"),
    (-2.25, "\N{MINUS SIGN}2.3"),
    (125.0, "130"),
    (-125.0, "\N{MINUS SIGN}130"),
    (1234.0, "1\N{NARROW NO-BREAK SPACE}200"),
    (0.000123, "0.00012"),
    (2.345e-8, "2.35×10⁻⁸"),
    (-0.0123, "\N{MINUS SIGN}0.012"),
    (-1.5e7, "\N{MINUS SIGN}1.5×10⁷"),
    (-2.345e-8, "\N{MINUS SIGN}2.35×10⁻⁸"),
    (3.2e17, "3.2×10¹⁷"),
]
CLEARER = [
    ("1,234", "“1,234”: write 1234 or 1.234."),
    ("0,125", ""),
    ("1.234", ""),
    ("12,5", ""),
]
UNITS = [
    ("82.4", "%", "82.4\N{NO-BREAK SPACE}%"),
    ("45", "°", "45°"),
    ("20", "°C", "20\N{NO-BREAK SPACE}°C"),
    ("7", None, "7"),
]
TITLES = [("t", "Time", "h", "Time [h]"), ("t", None, "h", "t [h]"), ("t", "Time", None, "Time")]
VALUES = [(1500.0, "1\N{NARROW NO-BREAK SPACE}500"), ("DMF", "DMF"), (True, "true"), ([1.0, 2.5], "[1, 2.5]")]
TIMES = [
    (0.0314, "0.031 s"),
    (3.7449, "3.7 s"),
    (59.7, "1 min"),
    (65.941, "1 min 6 s"),
    (27_630.0, "7 h 40 min"),
    (86_400.0, "1 d"),
    (90_061.0, "1 d 1 h"),
]
DURATIONS = [(90.0, "90 s"), (5400.0, "90 min"), (28800.0, "8 h"), (172800.0, "2 d")]
COLUMNS: list[tuple[list[float | None], list[str]]] = [
    ([82.456789, 9.12345, None, 100.0], ["82.46", "9.12", "–", "100.00"]),
    ([69.0, 36.4], ["69.0", "36.4"]),
    ([-0.5, 12.0], ["\N{MINUS SIGN}0.5", "12.0"]),
    ([0.0012345, 12.3456], ["0.0012345", "12.346"]),
    ([1e-5, 0.123456], ["1×10⁻⁵", "0.12346"]),
    ([3.0, 4.0], ["3", "4"]),
]
TYPED = [
    ("82,4", 82.4),
    ("82.4", 82.4),
    ("−1,5e-3", -0.0015),
    ("−1.5×10⁻³", -0.0015),
    ("8.7654×10¹²", 8.7654e12),
    ("1\N{NARROW NO-BREAK SPACE}234 567,5", 1234567.5),
    ("1,234.5", 1234.5),
    ("−1.234.567,5", -1234567.5),
    ("1.23,5", None),
    ("1,234", None),
    ("−12,345", None),
    ("0,125", 0.125),
    ("1234,567", 1234.567),
    ("1,2345", 1.2345),
    ("1.234", 1.234),
    ("1 2", None),
    ("12 %", None),
]
"""What is typed in a field, and the number; None if it is none."""
Words = dict[str, Any]
PERCENT: Words = {"unit": "%"}
BOUNDED: Words = {"unit": "%", "digits": 1, "low": 0, "high": 100}
MEASURED: list[tuple[float | None, Words, str]] = [
    (82.456789, {}, "82.457"),
    (82.456789, PERCENT, "82.457\N{NO-BREAK SPACE}%"),
    (-82.45, BOUNDED, "\N{MINUS SIGN}82.5\N{NO-BREAK SPACE}%"),
    (80.25, BOUNDED, "80.3\N{NO-BREAK SPACE}%"),
    (80.35, BOUNDED, "80.4\N{NO-BREAK SPACE}%"),
    (-0.25, BOUNDED, "\N{MINUS SIGN}0.3\N{NO-BREAK SPACE}%"),
    (2.5, {"digits": 0}, "3"),
    (0.04, BOUNDED, "0.0\N{NO-BREAK SPACE}%"),
    (1e-9, {"unit": "mol"}, "1×10⁻⁹\N{NO-BREAK SPACE}mol"),
    (45.0, {"unit": "°", "digits": 0}, "45°"),
]
PLUS_MINUS: list[tuple[float, float | None, Words, str]] = [
    (82.456789, 1.5, PERCENT, "82.5\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}1.5\N{NO-BREAK SPACE}%"),
    (82.456789, 0.0123, {}, "82.457\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.012"),
    (82.456789, 0.0123, BOUNDED, "82.46\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.01\N{NO-BREAK SPACE}%"),
    (1234.0, 180.0, {}, "1\N{NARROW NO-BREAK SPACE}230\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}180"),
    (-3.2, 0.5, {}, "\N{MINUS SIGN}3.20\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.50"),
    (-0.01, 0.5, {}, "\N{MINUS SIGN}0.01\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.50"),
    (-0.001, 0.5, {}, "0.00\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.50"),
]
LIKE: list[tuple[float, float, Words, str]] = [
    (82.456, 1.5, PERCENT, "82.5\N{NO-BREAK SPACE}%"),
    (82.456, 0.02, BOUNDED, "82.5\N{NO-BREAK SPACE}%"),
    (-1234.0, 180.0, {}, "\N{MINUS SIGN}1\N{NARROW NO-BREAK SPACE}230"),
]
EXPECTED: list[tuple[Words, Words, str]] = [
    (
        {"mean": 82.456, "std": 1.5, "lcb": 79.99, "ucb": 84.92},
        PERCENT,
        "82.5\N{NO-BREAK SPACE}% (90%: 80.0 to 84.9\N{NO-BREAK SPACE}%)",
    ),
    (
        {"mean": 82.456, "std": 0.15, "lcb": 82.19, "ucb": 82.72},
        BOUNDED,
        "82.5\N{NO-BREAK SPACE}% (90%: 82.2 to 82.7\N{NO-BREAK SPACE}%)",
    ),
    ({"mean": -0.5, "std": 0.2, "lcb": -0.83, "ucb": 0.0}, {}, "\N{MINUS SIGN}0.50 (90%: \N{MINUS SIGN}0.83 to 0.00)"),
]
BETWEEN: list[tuple[Words, float, Words, str]] = [
    ({"low": 79.99, "high": 84.92}, 1.5, PERCENT, "80.0 to 84.9\N{NO-BREAK SPACE}%"),
    ({"low": 79.99, "high": 84.92}, 0.015, BOUNDED, "80.0 to 84.9\N{NO-BREAK SPACE}%"),
    ({"low": -12.0, "high": 3.0}, 40.0, {}, "\N{MINUS SIGN}12 to 3"),
]
MEANS: list[tuple[float, Words, str]] = [
    (82.456, PERCENT, "82.46\N{NO-BREAK SPACE}%"),
    (82.456, BOUNDED, "82.5\N{NO-BREAK SPACE}%"),
    (91.85, {}, "91.85"),
    (82456.0, {}, "82\N{NARROW NO-BREAK SPACE}460"),
    (-0.00123456, {}, "\N{MINUS SIGN}0.001235"),
]
APPORTIONED: list[tuple[list[float], float, int, list[float]]] = [
    ([50.79, 25.08, 15.47, 8.66], 100.0, 1, [50.8, 25.1, 15.5, 8.6]),
    ([50.84, 25.06, 15.46, 8.64], 100.0, 1, [50.8, 25.1, 15.5, 8.6]),
    ([1 / 3, 1 / 3, 1 / 3], 1.0, 3, [0.334, 0.333, 0.333]),
    ([0.0, 0.3, 0.7], 1.0, 3, [0.0, 0.3, 0.7]),
    ([1234.0, 8766.0], 10000.0, -1, [1230.0, 8770.0]),
]
IN_POINTS: list[tuple[float, Words, str]] = [
    (1.234, PERCENT, "1.2\N{NO-BREAK SPACE}percentage points"),
    (0.5, {"unit": "mL"}, "0.50\N{NO-BREAK SPACE}mL"),
    (18.2, {}, "18"),
]
SPANS = [
    (90.0, "90\N{NO-BREAK SPACE}seconds"),
    (150.0, "2.5\N{NO-BREAK SPACE}minutes"),
    (7200.0, "2\N{NO-BREAK SPACE}hours"),
    (200_000.0, "2.31\N{NO-BREAK SPACE}days"),
]
"""Only the page writes these."""
CUT: list[tuple[Words | None, Words, Words | None]] = [
    ({"mean": 104.0, "std": 5.0, "lcb": -2.0, "ucb": 112.0}, BOUNDED, {"mean": 100, "std": 5, "lcb": 0, "ucb": 100}),
    ({"mean": -1.5, "std": 5.0}, {"low": 0}, {"mean": 0, "std": 5}),
    ({"mean": -1.5, "std": 5.0}, {}, {"mean": -1.5, "std": 5}),
    (None, BOUNDED, None),
]
USUAL: list[tuple[list[float], int]] = [
    ([0.97, 0.9695, 0.9663, 0.9722], 4),
    ([82.4, 82.45678], 5),
    ([82.4, 81.3, 82.45678], 1),
    ([2.5e-7, 1e-7, 3.0], 7),
    ([1e21, 3.0], 1),
]
"""Results, and their usual number of decimals."""
CASES: dict[str, Sequence[tuple[Any, ...]]] = {
    "numeral": TYPED,
    "clearer": CLEARER,
    "figure": FIGURES,
    "difference": DIFFERENCES,
    "inUnit": UNITS,
    "titled": TITLES,
    "shown": VALUES,
    "inLargestUnit": DURATIONS,
    "column": COLUMNS,
    "measured": MEASURED,
    "plusMinus": PLUS_MINUS,
    "like": LIKE,
    "expected": EXPECTED,
    "between": BETWEEN,
    "meanOf": MEANS,
    "inPoints": IN_POINTS,
    "apportioned": APPORTIONED,
    "usualDecimals": USUAL,
    "span": SPANS,
    "cut": CUT,
}
"""Name of a function in ``words.js`` -> its arguments and what it returns."""


def test_the_server_and_the_client_write_numbers_so() -> None:
    assert [figure(value, places) for value, places, _ in FIGURES] == [case[-1] for case in FIGURES]
    assert [digits.difference(value) for value, _ in DIFFERENCES] == [case[-1] for case in DIFFERENCES]
    assert [float(numbers.difference(value)) for value, _ in DIFFERENCES] == [
        float(as_typed(case[-1])) for case in DIFFERENCES
    ], "in terminals, numbers are written as programs read them"
    assert [with_unit(number, unit) for number, unit, _ in UNITS] == [case[-1] for case in UNITS]
    assert [titled(name, label, unit) for name, label, unit, _ in TITLES] == [case[-1] for case in TITLES]
    assert [shown(value) for value, _ in VALUES] == [case[-1] for case in VALUES]
    assert [rounded([figure(each) for each in values]) for values, _ in COLUMNS] == [case[-1] for case in COLUMNS]
    assert [duration(seconds) for seconds, _ in DURATIONS] == [case[-1] for case in DURATIONS]
    assert [elapsed(seconds) for seconds, _ in TIMES] == [case[-1] for case in TIMES]


def test_the_server_writes_numbers_of_a_quantity_so() -> None:
    of = Quantity.model_validate
    assert [wording.written(of(words), value) for value, words, _ in MEASURED] == [case[-1] for case in MEASURED]
    assert [any_digits(mean, words).estimate(mean, std or 0.0) for mean, std, words, _ in PLUS_MINUS] == [
        case[-1] for case in PLUS_MINUS
    ]
    assert [any_digits(value, words).rounded_like(value, error) for value, error, words, _ in LIKE] == [
        case[-1] for case in LIKE
    ]
    assert [
        any_digits(at["mean"], words).expected(at["mean"], at["lcb"], at["ucb"], at["std"]) for at, words, _ in EXPECTED
    ] == [case[-1] for case in EXPECTED]
    assert [
        any_digits(at["low"], words).interval(at["low"], at["high"], std).replace(" and ", " to ")
        for at, std, words, _ in BETWEEN
    ] == [case[-1] for case in BETWEEN]
    assert [with_unit(wording.mean(named(words), value), words.get("unit")) for value, words, _ in MEANS] == [
        case[-1] for case in MEANS
    ]
    assert [any_digits(value, words).mean(value) for value, words, _ in MEANS] == [case[-1] for case in MEANS]
    assert [in_points(digits.difference(value), words.get("unit")) for value, words, _ in IN_POINTS] == [
        case[-1] for case in IN_POINTS
    ]
    assert [digits.apportioned(values, total, places) for values, total, places, _ in APPORTIONED] == [
        case[-1] for case in APPORTIONED
    ]
    assert [_usual_decimals(values) for values, _ in USUAL] == [case[-1] for case in USUAL]
    for prediction, words, clipped in CUT:
        for name in ("mean", "lcb", "ucb"):
            if prediction and clipped and name in prediction:
                assert of(words).within(prediction[name]) == clipped[name]


def test_zeros_are_not_appended_to_a_rounded_value_of_a_parameter() -> None:
    hours = FloatParameter(name="hours", kind="float", low=1, high=25)
    given = [{"hours": each} for each in (22.5625, 4.25, 24.0)]
    assert parameter_values(hours, given) == ["22.6", "4.25", "24"]
    assert parameter_values(hours, given[1:]) == ["4.25", "24.00"]


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.sampled_from([1.0, 100.0, 250.0]))
def test_the_shares_of_a_mixture_sum_to_the_total_as_they_are_shown(parts: list[float], total: float) -> None:
    names = [f"x{place}" for place in range(len(parts))]
    floats = [{"name": name, "kind": "float", "low": 0, "high": total} for name in names]
    definition = {
        "id": "s",
        "direction": "maximize",
        "parameters": floats,
        "mixtures": [{"parameters": names, "total": total}],
    }
    study = cast("Study", StudyDefinition.model_validate(definition))
    point = {name: total * part / sum(parts) for name, part in zip(names, parts, strict=True)}
    told = wording.as_shown(study, point)
    texts = [wording.setting(each, told[each.name]) for each in study.parameters]
    assert sum(map(Decimal, texts)) == Decimal(repr(total))
    for each in names:
        assert told[each] == pytest.approx(point[each], abs=0.001 * 10 ** math.ceil(math.log10(total)))


def any_digits(value: float, words: Words) -> digits.Digits:
    """The format of predictions on the page: their standard deviations decide."""
    return digits.Digits(value, value, wording.FINEST, Quantity.model_validate(words))


def named(words: Words) -> Study:
    """A study of which only this quantity is read."""
    return cast("Study", SimpleNamespace(quantities={"value": Quantity.model_validate(words)}))


def test_the_scripts_write_numbers_so() -> None:
    program = f"""
    const words = await import({json.dumps(WORDS)});
    const cases = JSON.parse(process.argv[1]);
    const found = Object.entries(cases).map(([name, each]) =>
      [name, each.map((given) => words[name](...given.slice(0, -1)))]);
    console.log(JSON.stringify(Object.fromEntries(found)));
    """
    command = [str(NODE), "--input-type=module", "-e", program, json.dumps(CASES)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    assert json.loads(done.stdout) == {name: [case[-1] for case in each] for name, each in CASES.items()}


def test_both_round_halves_of_written_numbers_away_from_zero() -> None:
    """As people do. Neither rounds to an even digit, nor the binary number."""
    written = [f"{sign}{whole}.{decimals}5" for sign in ("", "-") for whole in (0, 7, 80) for decimals in range(100)]
    expected = [
        str(Decimal(each).quantize(Decimal((0, (1,), -len(each.split(".")[1]) + 1)), "ROUND_HALF_UP"))
        for each in written
    ]
    values = [(float(each), len(each.split(".")[1]) - 1) for each in written]
    program = f"""
    const {{ exact }} = await import({json.dumps(WORDS)});
    console.log(JSON.stringify(JSON.parse(process.argv[1]).map(([value, places]) => exact(value, places))));
    """
    command = [str(NODE), "--input-type=module", "-e", program, json.dumps(values)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    assert [as_typed(text) for text in json.loads(done.stdout)] == expected
    assert [as_typed(fixed(value, places)) for value, places in values] == expected
