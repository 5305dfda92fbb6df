"""The questions to one study's model that have no answer yet, such as those of POST /predict."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adabkb_service.errors import Busy
from adabkb_service.storage.rows import StudyRow

MAX_QUESTIONS = 64
"""The maximum number of questions of a study without an answer."""


@dataclass(eq=False)
class PendingQuestion:
    """A question that the model has not answered yet."""

    question: str
    arguments: tuple[Any, ...]
    receive: Callable[[StudyRow | None, Any], None]
    """Called with the study's row and the reply, or with None and the exception."""
    number: int = field(default_factory=itertools.count().__next__)
    """Unique in this process."""


class ModelQuestions:
    """The questions to one study's model. Thread-safe."""

    def __init__(self, study_id: str) -> None:
        self._study_id = study_id
        self._guard = threading.Lock()
        self._queued: deque[PendingQuestion] = deque()
        self._unanswered: set[int] = set()
        """Numbers of all questions without an answer, queued or sent."""
        self._withdrawn: list[int] = []
        """Numbers of questions that were withdrawn after they were sent. The model must still drop them."""

    @property
    def is_empty(self) -> bool:
        """Whether all questions are answered."""
        return not self._unanswered

    def put(self, pending: PendingQuestion) -> None:
        """Queue a question.

        Raises:
            Busy: too many questions have no answer.
        """
        with self._guard:
            if len(self._unanswered) >= MAX_QUESTIONS:
                raise Busy(f"Too many questions wait for the model of study {self._study_id!r}; try again.")
            self._unanswered.add(pending.number)
            self._queued.append(pending)

    def withdraw(self, pending: PendingQuestion) -> bool:
        """Withdraw a question. Return whether it was sent already. If so, and if it has no answer yet, ``take``
        returns its number, so that the model drops it."""
        with self._guard:
            if pending in self._queued:
                self._queued.remove(pending)
                self._unanswered.discard(pending.number)
                return False
            if pending.number in self._unanswered:
                self._withdrawn.append(pending.number)
            return True

    def take(self) -> tuple[list[PendingQuestion], list[int]]:
        """Remove and return the queued questions, in order of arrival, and the numbers of the withdrawn questions that
        the model must drop."""
        with self._guard:
            queued, withdrawn = list(self._queued), self._withdrawn
            self._queued.clear()
            self._withdrawn = []
            return queued, withdrawn

    def answer(self, pending: PendingQuestion, study: StudyRow | None, reply: Any) -> None:
        """Pass the reply or the exception to the sender of a question."""
        with self._guard:
            self._unanswered.discard(pending.number)
        pending.receive(study, reply)
