"""Numbers in words: scripts of the page, the server and the client write them alike."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adabkb_client import _values as numbers
from adabkb_service import page
from adabkb_service.contract.quantities import titled, with_unit
from adabkb_service.operations.words import digits
from adabkb_service.operations.words.columns_in_words import rounded
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.operations.words.wording import duration, elapsed
from tests.packages import NODE

WORDS = (Path(page.__file__).parent / "assets" / "words.js").as_uri()
FIGURES = [
    (None, 5, "–"),
    (0.0, 5, "0"),
    (-0.5, 5, "\N{MINUS SIGN}0.5"),
    (82.456789, 5, "82.457"),
    (0.1 + 0.2, 6, "0.3"),
    (123456.75, 5, "123460"),
    (123456.0, 3, "123\N{NARROW NO-BREAK SPACE}456"),
    (1000.0, 3, "1\N{NARROW NO-BREAK SPACE}000"),
    (999.0, 2, "999"),
    (1234567.0, 5, "1.2346e+6"),
    (-2.5e-7, 5, "\N{MINUS SIGN}2.5e\N{MINUS SIGN}7"),
    (0.0001, 5, "0.0001"),
    (0.00012345, 3, "0.000123"),
    (3e20, 5, "3e+20"),
]
DIFFERENCES = [
    (0.0, "0"),
    (0.5, "0.50"),
    (1.234, "1.2"),
    (18.2, "18"),
    (1234.0, "1200"),
    (0.000123, "0.00012"),
    (2.345e-8, "2.35e-8"),
    (3.2e17, "3.2e+17"),
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
    ([1e-5, 0.123456], ["1e\N{MINUS SIGN}5", "0.12346"]),
    ([3.0, 4.0], ["3", "4"]),
]
TYPED = [
    ("82,4", 82.4),
    ("82.4", 82.4),
    ("−1,5e-3", -0.0015),
    ("1\N{NARROW NO-BREAK SPACE}234 567,5", 1234567.5),
    ("1,234.5", None),
    ("1 2", None),
    ("12 %", None),
]
"""What is typed in a field, and the number; None if it is none."""
CASES: dict[str, Sequence[tuple[Any, ...]]] = {
    "numeral": TYPED,
    "figure": FIGURES,
    "difference": DIFFERENCES,
    "inUnit": UNITS,
    "titled": TITLES,
    "shown": VALUES,
    "inLargestUnit": DURATIONS,
    "column": COLUMNS,
}
"""Name of a function in ``words.js`` -> its arguments and what it returns."""


def test_the_server_and_the_client_write_numbers_so() -> None:
    assert [figure(value, places) for value, places, _ in FIGURES] == [case[-1] for case in FIGURES]
    assert [digits.difference(value) for value, _ in DIFFERENCES] == [case[-1] for case in DIFFERENCES]
    assert [numbers.difference(value) for value, _ in DIFFERENCES] == [case[-1] for case in DIFFERENCES]
    assert [with_unit(number, unit) for number, unit, _ in UNITS] == [case[-1] for case in UNITS]
    assert [titled(name, label, unit) for name, label, unit, _ in TITLES] == [case[-1] for case in TITLES]
    assert [shown(value) for value, _ in VALUES] == [case[-1] for case in VALUES]
    assert [rounded([figure(each) for each in values]) for values, _ in COLUMNS] == [case[-1] for case in COLUMNS]
    assert [duration(seconds) for seconds, _ in DURATIONS] == [case[-1] for case in DURATIONS]
    assert [elapsed(seconds) for seconds, _ in TIMES] == [case[-1] for case in TIMES]


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
