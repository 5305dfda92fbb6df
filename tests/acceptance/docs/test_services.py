"""Each cell of the comparison with other services has a source."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from tests.acceptance.docs import services

COMPARISON = services.load()
CELLS = [
    pytest.param(cell, id=f"{question}, {cell.service}")
    for questions in COMPARISON.groups.values()
    for question, cells in questions.items()
    for cell in cells
]
ANSWERS = {"yes", "in part", "no", services.NOT_FOUND}
LICENCES = {"MIT", "Apache 2.0"}
OF_GITHUB = re.compile(r"/[\w.-]+/[\w.-]+/(?:(?:issues|pull)/\d+|blob/(?P<version>[^/]+)/[\w./-]+)")


@pytest.mark.parametrize("cell", CELLS)
def test_cells_have_a_valid_answer_and_its_source(cell: services.Cell) -> None:
    """Each answer for this service links to its documentation, and partial answers say which part."""
    assert cell.answer in ANSWERS | LICENCES
    assert bool(cell.address) == (cell.answer != services.NOT_FOUND)
    assert cell.address or cell.service != "here"
    assert cell.part or cell.answer != "in part"
    assert len(cell.part) <= 60
    assert not re.search(r"[\s()|\[\]]", cell.address)


@pytest.mark.parametrize("cell", CELLS)
def test_sources_are_our_pages_or_permanent_links(cell: services.Cell) -> None:
    """A link to a file in a repository names a version or a commit, so that its content does not change."""
    address = urlsplit(cell.address)
    if cell.service == "here":
        assert not address.scheme
        assert (services.FILE.parents[1] / address.path).exists()
    elif cell.address:
        assert address.scheme == "https"
        assert address.path.strip("/")
        if address.netloc == "github.com":
            of_github = OF_GITHUB.fullmatch(address.path)
            assert of_github, cell.address
            assert of_github["version"] not in {"main", "master", "HEAD"}


def test_each_question_is_answered_once_for_every_service() -> None:
    questions = [question for group in COMPARISON.groups.values() for question in group]
    assert len(questions) == len(set(questions))
    for group in COMPARISON.groups.values():
        for question, cells in group.items():
            assert [cell.service for cell in cells] == list(COMPARISON.services), question
