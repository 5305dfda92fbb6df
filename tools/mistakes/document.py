"""Read the document, which lists the mistakes, and update its answers."""

from __future__ import annotations

import re
from pathlib import Path

from tools.mistakes.kinds import answer
from tools.mistakes.server import MistakeServer

FILE = Path(__file__).parents[2] / "docs" / "mistakes.md"
MISTAKE = re.compile(
    r"^(?P<title>[^\n]+):\n\n```text\n(?P<made>.+?)\n\n(?P<answer>.+?)\n```$", re.MULTILINE | re.DOTALL
)


def titles() -> list[str]:
    """The titles of the mistakes."""
    return [mistake["title"] for mistake in MISTAKE.finditer(FILE.read_text())]


def text(server: MistakeServer) -> str:
    """Make all mistakes in the document, and return it with the current answers.

    Raises:
        AssertionError: a mistake is accepted, or changes the database.
    """
    before = server.state()

    def made(mistake: re.Match[str]) -> str:
        found = answer(mistake["made"], server)
        assert server.state() == before, f"{mistake['title']!r} has changed the database"
        return f"{mistake['title']}:\n\n```text\n{mistake['made']}\n\n{found}\n```"

    counted = re.sub(r"^\d+ mistakes", f"{len(titles())} mistakes", FILE.read_text(), count=1, flags=re.MULTILINE)
    return MISTAKE.sub(made, counted)
