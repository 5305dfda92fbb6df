"""Long questions to models, answered one after the other while the models continue with their steps.

Each question is answered with a snapshot of the model, so that the model itself can change meanwhile.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from adabkb_service.inference.kept_answers import KeptAnswers
from adabkb_service.inference.messages import Answered, Ask
from adabkb_service.inference.model import Model
from adabkb_service.inference.questions import QUESTIONS


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A question, and the model with which it is answered."""

    number: int
    """Number of the message."""
    message: Ask
    model: Model
    """A snapshot of the study's model."""
    kept: KeptAnswers
    """The cached answers of this model."""

    def has_answer_of(self, other: Read) -> bool:
        """Whether the answer to ``other`` also answers this question: both ask the same about the same study, and the
        model of ``other`` has folded all events that this question needs."""
        mine, its = self.message, other.message
        return (
            (mine.study_id, mine.incarnation, mine.question) == (its.study_id, its.incarnation, its.question)
            and mine.study_seq <= other.model.seq
            and pickle.dumps(mine.arguments) == pickle.dumps(its.arguments)
        )

    def answered(self) -> Answered:
        """Return the answer, and cache it for the model. If an exception is raised, return it uncached."""
        answer = answered(self.message, self.model)
        self.kept.keep(self.message, answer)
        return answer


def answered(message: Ask, model: Model) -> Answered:
    """A model's answer to a question, or the exception."""
    try:
        return Answered(QUESTIONS[message.question](model, *message.arguments))
    except Exception as error:
        return Answered(error=_sendable(error))


def _sendable(error: Exception) -> Exception:
    """An error, or its text if the error itself cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (its own bytes)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Reads:
    """The queue of questions, in order of arrival. Thread-safe.

    Args:
        is_long: given a study and a question, whether the answer is expected to take long.
    """

    def __init__(self, is_long: Callable[[str, str], bool]) -> None:
        self._is_long = is_long
        self._changed = threading.Condition()
        self._waiting: deque[Read] = deque()
        self._is_over = False

    def takes(self, message: Ask) -> bool:
        """Whether a question belongs in this queue: its answer is expected to take long. The question ``stored`` does
        not, since it stores the model."""
        return message.question != "stored" and self._is_long(message.study_id, message.question)

    def put(self, read: Read) -> None:
        """Queue a question."""
        with self._changed:
            self._waiting.append(read)
            self._changed.notify()

    def take(self) -> Read | None:
        """Wait for the next question, and return it. None after ``end``."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over)
            return None if self._is_over else self._waiting.popleft()

    def withdraw(self, study_id: str, number: int) -> list[int]:
        """Remove a withdrawn question from the queue. Return the numbers of its messages: none if it was not queued."""
        with self._changed:
            gone = [
                each for each in self._waiting if (each.message.study_id, each.message.number) == (study_id, number)
            ]
            for each in gone:
                self._waiting.remove(each)
            return [each.number for each in gone]

    def take_same(self, read: Read) -> list[int]:
        """Remove the queued questions that the answer to ``read`` also answers. Return the numbers of their
        messages."""
        with self._changed:
            same = [each for each in self._waiting if each.has_answer_of(read)]
            for each in same:
                self._waiting.remove(each)
            return [each.number for each in same]

    def end(self) -> None:
        """Make ``take`` return None, so that the threads that answer stop."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
