"""Long questions to models, answered one after the other beside the steps of the models.

Each is answered by the model as it was when the question came, so its study goes on meanwhile.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from adabkb_service.inference.messages import Answered, Ask
from adabkb_service.inference.model import Model
from adabkb_service.inference.questions import QUESTIONS


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A question, and the model that answers it."""

    number: int
    """Of the message."""
    message: Ask
    model: Model
    """Which nothing changes any more."""

    def has_answer_of(self, other: Read) -> bool:
        """Whether the other one asks the same, of a model that has folded all that this one is to have folded."""
        mine, its = self.message, other.message
        return (
            (mine.study_id, mine.incarnation, mine.question) == (its.study_id, its.incarnation, its.question)
            and mine.study_seq <= other.model.seq
            and pickle.dumps(mine.arguments) == pickle.dumps(its.arguments)
        )

    def answered(self) -> Answered:
        """The answer, or what was raised instead."""
        return answered(self.message, self.model)


def answered(message: Ask, model: Model) -> Answered:
    """What a model answers to a question, or what it raises instead."""
    try:
        return Answered(QUESTIONS[message.question](model, *message.arguments))
    except Exception as error:
        return Answered(error=error)


class Reads:
    """Questions that wait, in the order in which they came. Several threads may use it.

    Args:
        is_long: whether a question to a study, both by name, is expected to take long.
    """

    def __init__(self, is_long: Callable[[str, str], bool]) -> None:
        self._is_long = is_long
        self._changed = threading.Condition()
        self._waiting: deque[Read] = deque()
        self._is_over = False

    def takes(self, message: Ask) -> bool:
        """Whether a question belongs here: it is long, and changes nothing."""
        return message.question != "stored" and self._is_long(message.study_id, message.question)

    def put(self, read: Read) -> None:
        """Let a question wait."""
        with self._changed:
            self._waiting.append(read)
            self._changed.notify()

    def take(self) -> Read | None:
        """The next question, as soon as there is one; None after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over)
            return None if self._is_over else self._waiting.popleft()

    def withdraw(self, study_id: str, number: int) -> list[int]:
        """Numbers of the messages with a question that is withdrawn, if it still waits."""
        with self._changed:
            gone = [
                each for each in self._waiting if (each.message.study_id, each.message.number) == (study_id, number)
            ]
            for each in gone:
                self._waiting.remove(each)
            return [each.number for each in gone]

    def same(self, read: Read) -> list[int]:
        """Numbers of the messages with the same question that wait, and that the answer of a read is as fresh as they
        want; they wait no longer."""
        with self._changed:
            same = [each for each in self._waiting if each.has_answer_of(read)]
            for each in same:
                self._waiting.remove(each)
            return [each.number for each in same]

    def end(self) -> None:
        """Stop the threads that answer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
