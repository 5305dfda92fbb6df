"""Every mistake gets exactly the response in ``docs/mistakes.md``, and changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

from tools.generated import outdated
from tools.mistakes import document
from tools.mistakes.server import opened

FOREIGN = re.compile(r"pydantic|discriminator|Traceback|Input should|[Uu]nable to (?:parse|interpret|extract)")
"""Terms of the implementation that answers must not contain."""


def test_every_mistake_gets_the_documented_response_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as server:
        found = document.text(server)
    assert FOREIGN.findall(found) == []
    assert outdated(document.FILE.read_text(), found) == ""


def test_there_are_many_distinct_mistakes() -> None:
    titles = document.titles()
    assert len(titles) >= 510
    assert len(set(titles)) == len(titles)
