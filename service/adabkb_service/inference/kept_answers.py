"""The latest answers of a model to long questions, kept until the model changes."""

from __future__ import annotations

import pickle
import threading

from cachetools import LRUCache

from adabkb_service.inference.messages import Answered, Ask

KEPT = 16
"""The maximum number of answers that are kept for a model. An analysis of a study asks fewer different questions."""


class KeptAnswers:
    """Answers to long questions. A model with new events gets an empty object. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._answers: LRUCache[tuple[str, bytes], Answered] = LRUCache(KEPT)

    def find(self, message: Ask) -> Answered | None:
        """Return the answer to a question, or None."""
        with self._guard:
            return self._answers.get(_key(message))

    def keep(self, message: Ask, answer: Answered) -> None:
        """Keep an answer, unless it is an error."""
        if answer.error is None:
            with self._guard:
                self._answers[_key(message)] = answer


def _key(message: Ask) -> tuple[str, bytes]:
    return message.question, pickle.dumps(message.arguments)
