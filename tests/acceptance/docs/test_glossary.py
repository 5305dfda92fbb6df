"""docs/glossary.md: its terms are sorted and in use."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "glossary.md"
TERMS = re.findall(r"^\*\*(.+)\.\*\* ", GLOSSARY.read_text(), re.MULTILINE)


def in_words(text: str) -> str:
    """Return the text in lower case with single spaces, and names of the code split into words."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).casefold()


def test_terms_are_in_alphabetical_order() -> None:
    assert len(TERMS) > 50
    assert sorted(TERMS, key=str.casefold) == TERMS
    assert len({term.casefold() for term in TERMS}) == len(TERMS)


def test_every_paragraph_defines_one_term() -> None:
    _, _, *paragraphs = GLOSSARY.read_text().strip().split("\n\n")
    assert [text for text in paragraphs if not re.match(r"\*\*.+\.\*\* [A-Z]", text)] == []
    assert len(paragraphs) == len(TERMS)


def test_every_term_is_used_in_the_code_or_on_another_page() -> None:
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if page != GLOSSARY)]
    files = [*pages, *(ROOT / "service").rglob("*.py"), *(ROOT / "client").rglob("*.py")]
    text = " ".join(in_words(file.read_text()) for file in files)
    assert [term for term in TERMS if f" {in_words(term).strip()} " not in text] == []


def test_readme_and_algorithm_link_to_the_glossary() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text()
    assert "(glossary.md)" in (ROOT / "docs" / "algorithm.md").read_text()
