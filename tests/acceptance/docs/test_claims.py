"""Each claim about speed or quality links to the file with its measurement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RESULT = re.compile(r"benchmarks/results/[\w-]+\.json\)")
CLAIM = re.compile(
    r"mean rank|times the regret|times as (?:much|long|large|fast|many)|pairs per second|median regret"
    r"|\d ?ms\b|\d s of a processor|of the truth\b",
    re.IGNORECASE,
)
REASONED = ("decisions/", "algorithm.md", "glossary.md", "mistakes.md", "reference/", "http.md")
"""Pages about what the code does, not how well. Decisions state past measurements."""


def sections(page: Path) -> Iterator[str]:
    """The sections of a page below its second-level headings, without code."""
    yield from re.split(
        r"^## ", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), flags=re.MULTILINE
    )


def pages() -> list[Path]:
    docs = ROOT / "docs"
    found = [page for page in docs.rglob("*.md") if not page.relative_to(docs).as_posix().startswith(REASONED)]
    return sorted([ROOT / "README.md", *found])


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_claims_about_speed_or_quality_link_to_a_measurement(page: Path) -> None:
    bare = [part.splitlines()[0] for part in sections(page) if CLAIM.search(part) and not RESULT.search(part)]
    assert bare == []


def test_every_result_file_is_on_the_results_page() -> None:
    linked = set(re.findall(r"benchmarks/results/([\w-]+\.json)\)", (ROOT / "docs/results.md").read_text()))
    assert linked == {path.name for path in (ROOT / "benchmarks/results").glob("*.json")}
