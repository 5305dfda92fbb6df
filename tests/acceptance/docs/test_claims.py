"""Each claim about speed or quality links to the file with its measurement, and the numbers in sentences agree with the
results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.docs import measured, numbers
from tools.docs.numbers import RESULT, ROOT, pages, sections

CLAIM = re.compile(
    r"mean rank|times the regret|times as (?:much|long|large|fast|many)|pairs per second|median regret"
    r"|\d ?ms\b|\d s of a processor|of the truth\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_claims_about_speed_or_quality_link_to_a_measurement(page: Path) -> None:
    without_code = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    parts = [numbers.COMMENT.sub("", part) for _, part in sections(without_code)]
    assert [part.splitlines()[0] for part in parts if CLAIM.search(part) and not RESULT.search(part)] == []


def test_every_result_file_is_on_the_results_page() -> None:
    linked = set(re.findall(r"benchmarks/results/([\w-]+\.json)\)", (ROOT / "docs/results.md").read_text()))
    assert linked == {path.name for path in (ROOT / "benchmarks/results").glob("*.json")}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_numbers_in_sentences_are_those_of_the_results(page: Path) -> None:
    """``make generate`` corrects wrong numbers."""
    assert numbers.problems(page) == []


LINK = "From [x.json](benchmarks/results/x.json).\n\n"
EXPRESSION = 'cells("many", "Mean rank", "tpe", 50, 100)'
RANKS = f"<!-- numbers: {EXPRESSION} -->"
FIRST, SECOND = numbers.evaluated(EXPRESSION)


@pytest.fixture
def page(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a page with a link to results and a text in line 3."""

    def written(text: str) -> Path:
        path = tmp_path / "page.md"
        path.write_text(f"{LINK}{text}\n")
        return path

    return written


def test_each_number_is_compared_with_the_results(page: Callable[[str], Path]) -> None:
    text = f"The mean rank is {FIRST:.2f} and %.1f after 50 and 100 evaluations. {RANKS}"
    assert numbers.problems(page(text % SECOND)) == []
    [problem] = numbers.problems(page(text % (SECOND + 1)))
    stated = f"page.md:3: the text states {SECOND + 1:.1f}, the results {SECOND:g}"
    assert problem.endswith(f"{stated} (run make generate)")
    [problem] = numbers.problems(page(f"The mean rank is {FIRST:.2f}. {RANKS}"))
    assert problem.endswith(f"its comment names 2 numbers: {FIRST:g}, {SECOND:g}")
    [problem] = numbers.problems(page("The mean rank is 1.25 after 10 evaluations."))
    assert problem.endswith("page.md:3: no comment names the measurements of 1.25")


def test_a_text_that_links_to_measurements_needs_a_comment() -> None:
    guide = ROOT / "docs/guides/plates.md"
    assert numbers.links_to_measurements(guide, "5% ([measured](../outcomes.md#plates))")
    assert not numbers.links_to_measurements(guide, "5% ([a limit](outcomes.md))")


def test_an_expression_that_fails_is_located(page: Callable[[str], Path]) -> None:
    with pytest.raises(KeyError) as failure:
        numbers.problems(page('It is 1.25. <!-- numbers: cells("many", "Mean rank", "tpe", 7) -->'))
    [note] = failure.value.__notes__
    assert note.endswith('page.md:3: cells("many", "Mean rank", "tpe", 7)')


def test_conditions_are_checked(page: Callable[[str], Path]) -> None:
    assert numbers.problems(page(f"It is better. <!-- holds: {EXPRESSION}[0] == {FIRST} -->")) == []
    [problem] = numbers.problems(page(f"It is better. <!-- holds: {EXPRESSION}[0] > {FIRST} -->"))
    assert problem.endswith(f"page.md:3: no longer holds: {EXPRESSION}[0] > {FIRST}")


def test_numbers_are_rewritten_with_the_digits_of_the_text(page: Callable[[str], Path]) -> None:
    path = page(f"It is 9.99 and 9.9 on `x 7` after 10 and 20 evaluations. {RANKS} Then 1,000 steps.")
    numbers.rewrite(path)
    right = f"It is {FIRST:.2f} and {SECOND:.1f} on `x 7` after 10 and 20 evaluations. {RANKS} Then 1,000 steps."
    assert right in path.read_text()
    assert numbers.problems(path) == []


def test_a_comment_on_its_own_line_covers_the_table_above(page: Callable[[str], Path]) -> None:
    table = f"| a | b |\n|---|---|\n| x | {FIRST} |\n| y | {SECOND} |"
    assert numbers.problems(page(f"{table}\n\n{RANKS}")) == []
    assert len(numbers.problems(page(table))) == 2


def test_cells_are_read_as_numbers() -> None:
    assert measured.numbers("-1.5 (0.2)") == [-1.5, 0.2]
    assert measured.numbers("1.09-2.79, 1e-06") == [1.09, 2.79, 1e-6]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("17 textbook functions with 10 seeds, 400 evaluations", []),
        ("at 10, 20 and 50, and after 100", []),
        ("revision 13 on Hartmann 6 of 3 March 2026, goal: 0.3 s", []),
        ("the 90% interval of Scheffé 3D in [decision 0048](decisions/0048.md), `x = 7`", []),
        ("in 5 of 10 runs", ["5"]),
        ("at 1.5 times, within 10%, −0.1 or 1,234 of 2e-4", ["1.5", "10", "−0.1", "1,234", "2e-4"]),
    ],
)
def test_settings_are_recognized(page: Callable[[str], Path], text: str, found: list[str]) -> None:
    _, stated = numbers.stated(page(text))
    assert [each[0] for each in stated.found()] == found
