"""The lines of an export while it is imported. An import first reads the log, which is not at the beginning of the
file, and an export may be larger than the memory. So the lines are kept in a temporary file."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any, NoReturn, TypeVar

from pydantic import ValidationError

from adabkb_service.contract import strict
from adabkb_service.contract.exported import FORMAT, LINES
from adabkb_service.contract.wording import sentence
from adabkb_service.errors import FieldError, Invalid, shortened

logger = logging.getLogger(__name__)

T = TypeVar("T")

REMEDY = "export the study again (adabkb study export)"
MAX_CAUSE_LENGTH = 350
"""The maximum length of a cause in a message, so that the remedy after it is not cut."""


class ExportedLines:
    """Reads the lines of an export by kind, one at a time.

    Args:
        lines: the lines of an export.
        file: an empty file, which this object alone uses.

    Raises:
        Invalid: a line is not strict JSON or has an unknown kind, or the lines are not those of one study.
        Exception: an error of ``lines``, unchanged.
    """

    def __init__(self, lines: Iterable[str], file: IO[bytes]) -> None:
        self._file = file
        self._ends = array("q", [0])
        """Line number, from 1 -> where the line ends in the file, in bytes."""
        self._numbers = {kind: array("q") for kind in LINES}
        """Kind -> the numbers of its lines."""
        for number, line in enumerate(lines, 1):
            with _naming(number):
                self._numbers[_kind(line, number)].append(number)
            self._ends.append(self._ends[-1] + file.write(line.encode()))
        if self.count("study") != 1 or self.count("model") != 1 or not self.count("event"):
            end = len(self._ends) - 1
            raise invalid(f"it ends after line {end} without a complete study, so it may be truncated")

    def count(self, kind: str) -> int:
        """Return the number of lines of a kind."""
        return len(self._numbers[kind])

    def size(self, kind: str, index: int) -> int:
        """Return the size of a line, in bytes."""
        number = self._numbers[kind][index]
        return self._ends[number] - self._ends[number - 1]

    def read(self, kind: str, index: int = 0) -> Any:
        """Return a line, as an instance of the class in ``LINES``.

        Args:
            kind: the kind of the line.
            index: its index among the lines of this kind.

        Raises:
            Invalid: a field is invalid.
        """
        number = self._numbers[kind][index]
        start, end = self._ends[number - 1 : number + 1]
        self._file.seek(start)
        with _naming(number):
            return LINES[kind].model_validate(strict.loads(self._file.read(end - start).decode()))

    def each(self, kind: str, result: Callable[[Any], T]) -> Iterator[T]:
        """Yield the result of a function for each line of a kind, in order.

        Raises:
            Invalid: a field is invalid, or the function raises an error that an altered line may cause.
        """
        for index in range(self.count(kind)):
            line = self.read(kind, index)
            with self.naming(kind, index):
                found = result(line)
            yield found

    def check(self, kind: str, check: Callable[[Any], None]) -> None:
        """Call a function with each line of a kind, in order. It raises the same errors as ``each``."""
        for _ in self.each(kind, check):
            pass

    def naming(self, kind: str, index: int = 0) -> AbstractContextManager[None]:
        """Within the block, an error that an altered line may cause refuses this line."""
        return _naming(self._numbers[kind][index])

    def refuse(self, kind: str, index: int, cause: str, error: Exception | None = None) -> NoReturn:
        """Refuse a line, because of an error if one is given."""
        raise _refused(self._numbers[kind][index], cause) from error


def invalid(cause: str) -> Invalid:
    """Return the error for a file that is not an export, or was altered."""
    return Invalid([FieldError("The file", f"{shortened(cause, MAX_CAUSE_LENGTH)}; {REMEDY}", "invalid_export")])


def text_of(error: Exception) -> str:
    """Return the text of an error; of a validation error, the first error and its field."""
    if not isinstance(error, ValidationError):
        return str(error)
    field_error = error.errors(include_input=False)[0]
    return f"{'.'.join(map(str, field_error['loc']))}: {sentence(field_error)}"


def _kind(line: str, number: int) -> str:
    fields = strict.loads(line)
    for path, message, _ in strict.find_errors(fields):
        raise ValueError(f"{'.'.join(map(str, strict.steps(path)))} {message}".strip())
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in LINES:
        raise ValueError(f"its type must be one of {', '.join(LINES)}")
    if number == 1 and (kind != "study" or fields.get("format") != FORMAT):
        raise ValueError(f"an export of format {FORMAT} must start with the study")
    return kind


@contextmanager
def _naming(number: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise _refused(number, text_of(error)) from error
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError) as error:
        # An altered line may cause any of these errors, but so may a fault of this code.
        logger.info("line %d of an export contradicts others", number, exc_info=True)
        raise _refused(number, f"it contradicts other lines ({type(error).__name__})") from error


def _refused(number: int, cause: str) -> Invalid:
    return invalid(f"line {number} is not a valid line of an export: {cause}")
