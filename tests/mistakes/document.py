"""The document: every mistake with its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.mistakes import commands, definitions, metrics, objectives, python, requests, results, settings
from tests.mistakes.bench import Bench
from tests.mistakes.kinds import Section

FILE = Path(__file__).parents[2] / "docs" / "mistakes.md"
SECTIONS: list[Section] = [
    *requests.SECTIONS,
    *definitions.SECTIONS,
    *results.SECTIONS,
    *metrics.SECTIONS,
    *objectives.SECTIONS,
    *python.SECTIONS,
    *commands.SECTIONS,
    *settings.SECTIONS,
]
INTRODUCTION = """# Mistakes, and what is answered

{count} mistakes that people make, each with what was done and the exact answer. None of them changes anything. A test
makes them all on a real server and compares the answers with this page, which `python -m tests.mistakes` writes.

On the server, `svm` is a study of `lr`, `layers` and `kernel`: its trial 1 is completed, 2 is leased, 3 has failed, and
4 is leased for the second time. `done` is complete by its budget of 1, `paper` has the profile `paper`, `paused` is
paused, and `limited` has the constraint `layers * lr <= 1`. The first line of an answer of the API has the status,
`code` and `detail` of the problem document; its `remedy` and `errors` follow, if it has any.
"""


def text(bench: Bench) -> str:
    """Make all mistakes; return the document.

    Raises:
        AssertionError: one of them is accepted, or changes the database.
    """
    count = sum(len(mistakes) for _, _, mistakes in SECTIONS)
    return "\n".join([INTRODUCTION.replace("{count}", str(count)), *_parts(bench)])


def _parts(bench: Bench) -> Iterator[str]:
    before = bench.state()
    for heading, remark, mistakes in SECTIONS:
        yield f"## {heading}\n\n{remark}\n"
        for mistake in mistakes:
            answer = mistake.answer(bench)
            assert bench.state() == before, f"{mistake.title!r} has changed the database"
            yield f"{mistake.title}:\n\n```text\n{_brief(mistake.made)}\n\n{answer}\n```\n"


def _brief(text: str) -> str:
    """Without the rest of a character that is repeated more than a hundred times."""
    return re.sub(r"(\w)\1{100,}", lambda run: f"{run[0][:3]}...", text)
