"""Each cell of the comparison with other services has a source."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tools.docs import services

COMPARISON = services.load()
CELLS = [cell for questions in COMPARISON.groups.values() for cells in questions.values() for cell in cells]
ANSWERS = {"yes", "in part", "no", services.NOT_FOUND}
LICENCES = {"MIT", "Apache 2.0"}
OF_GITHUB = re.compile(r"/[\w.-]+/[\w.-]+/(?:(?:issues|pull)/\d+|blob/(?P<version>[^/]+)/[\w./-]+)")


def test_cells_have_a_valid_answer_and_its_source() -> None:
    """Each answer for this service links to its documentation, and partial answers say which part."""
    assert len(CELLS) > 200
    for cell in CELLS:
        assert cell.answer in ANSWERS | LICENCES, cell
        assert bool(cell.address) == (cell.answer != services.NOT_FOUND), cell
        assert cell.address or cell.service != "here", cell
        assert cell.part or cell.answer != "in part", cell
        assert len(cell.part) <= 60, cell
        assert not re.search(r"[\s()|\[\]]", cell.address), cell


def test_sources_are_our_pages_or_permanent_links() -> None:
    """A link to a file in a repository names a version or a commit, so that its content does not change."""
    for cell in CELLS:
        address = urlsplit(cell.address)
        if cell.service == "here":
            assert not address.scheme, cell
            assert (services.FILE.parents[1] / address.path).exists(), cell
        elif cell.address:
            assert address.scheme == "https", cell
            assert address.path.strip("/"), cell
            if address.netloc == "github.com":
                of_github = OF_GITHUB.fullmatch(address.path)
                assert of_github, cell
                assert of_github["version"] not in {"main", "master", "HEAD"}, cell


def test_each_question_is_answered_once_for_every_service() -> None:
    questions = [question for group in COMPARISON.groups.values() for question in group]
    assert len(questions) == len(set(questions))
    for group in COMPARISON.groups.values():
        for question, cells in group.items():
            assert [cell.service for cell in cells] == list(COMPARISON.services), question
