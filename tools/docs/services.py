"""The comparison with other services: read from ``docs/build/comparison.yaml`` and written as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FILE = Path(__file__).parents[2] / "docs" / "build" / "comparison.yaml"
NOT_FOUND = "not found"


class Cell(NamedTuple):
    """The answer for one service and one question; without a source if nothing was found."""

    service: str
    answer: str
    part: str
    address: str

    def markdown(self) -> str:
        """The answer as a link to its source."""
        if not self.address:
            return self.answer
        return f"[{self.answer}]({self.address})" + f": {self.part}" * bool(self.part)


class Comparison:
    """The file, with addresses in full."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.services: dict[str, str] = content["services"]
        """Names and versions for the column headings, by key."""
        self.groups: dict[str, dict[str, list[Cell]]] = {
            group: {question: list(self._cells(cells, content["sources"])) for question, cells in questions.items()}
            for group, questions in content["groups"].items()
        }
        """Cells by question, by group."""

    def rows(self) -> Iterator[list[str]]:
        """The rows of the table. Each group but the first one repeats the names of the services, for readers who
        scroll.
        """
        for index, (group, questions) in enumerate(self.groups.items()):
            names = [f"**{name}**" for name in self.services.values()] if index else [""] * len(self.services)
            yield [f"**{group}**", *names]
            for question, cells in questions.items():
                yield [question, *(cell.markdown() for cell in cells)]

    def _cells(self, cells: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[Cell]:
        for service in self.services:
            cell = cells[service]
            if cell == NOT_FOUND:
                yield Cell(service, NOT_FOUND, "", "")
            else:
                assert cell.keys() <= {"answer", "what", "source"}, cell  # a string with a comma needs quotes
                place, _, path = cell["source"].partition(":")
                address = sources[place] + path if place in sources else cell["source"]
                yield Cell(service, cell["answer"], cell.get("what", ""), address)


def load() -> Comparison:
    """Read the file of the repository. All values are strings, including ``yes`` and ``no``."""
    return Comparison(yaml.load(FILE.read_text(), Loader=yaml.BaseLoader))
