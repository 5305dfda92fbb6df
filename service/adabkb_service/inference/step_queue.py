"""Choose the study that takes the next step in a model process. There are two queues, called lanes, each with its own
thread.

A step cannot be interrupted. Steps that are expected to be long are queued in the slow lane, so that a short step waits
only for short ones. In each lane, the shortest step goes first, unless it arrived much later. So a study with few
results does not wait for many large studies. Questions go after the steps for suggestions and results. Long questions
are passed on to ``reads``.

The expected time of a step is the mean time of the study's latest steps of the same kind. Steps that learn
hyperparameters from many results are a separate kind: they are rare, and take up to a hundred times as long as others.
Each question is a separate kind. If a study has no steps of a kind yet, a question is expected to take as long as in
other studies.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

QUICK, SLOW = range(2)
"""The lanes."""
FOLDS, LEARNS = "folds", "learns"
"""Kinds of steps: folding, and folding with learning of hyperparameters from many results. All other kinds are names of
questions."""
LONG_AT_FIRST = {
    LEARNS,
    "assessment",
    "front",
    "importance",
    "partition",
    "past_partition",
    "slice_through",
    "validation",
}
"""Kinds whose steps count as long until the first one has been timed."""
LONG_SECONDS = 0.03
"""If the expected processor time is longer than this, a step that folds or learns is queued in the slow lane, and a
question is passed on to ``reads``."""
LATEST = 0.1
"""Weight of the latest step in the mean. It is small, so that a single long step changes the mean little."""
KNOWN = 20_000
"""The maximum number of means in memory. A study whose means were dropped counts as new."""
MAX_SECONDS = 1.0
"""Longer expected processor times have the same effect on the order of steps as this."""
STRETCH = 30.0
"""If a step is expected to be 1 s shorter than another, it goes first even if it arrived up to this many seconds
later."""
QUESTION_SECONDS = 1.0
"""A question goes after steps that fold or learn and arrive up to this many seconds later."""


class StepQueue:
    """Studies that are queued for a step. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: tuple[list[tuple[float, int, str]], ...] = [], []
        """For each lane, a heap of entries (rank, order of arrival, study)."""
        self._places: dict[str, tuple[float, int, str]] = {}
        """Study -> its valid heap entry; its other entries are obsolete."""
        self._asked: set[str] = set()
        """Studies whose valid entry is a question."""
        self._arrivals = itertools.count()
        self._means: LRUCache[tuple[str, str], float] = LRUCache(KNOWN)
        """(study, kind) -> mean processor seconds of the study's steps of this kind. The key ("", kind) is for all
        studies."""
        self._is_over = False

    def put(self, study_id: str, kind: str) -> None:
        """Queue a study for a step of a kind.

        A step that learns gets the rank of an ordinary step, since a result waits for it. A long question is only
        passed on to ``reads``, so its step counts as taking no time.
        """
        with self._changed:
            lane, seconds, handicap = QUICK, self._expected(study_id, FOLDS if kind == LEARNS else kind), 0.0
            if kind not in (FOLDS, LEARNS):
                seconds, handicap = 0.0 if self._is_long(study_id, kind) else seconds, QUESTION_SECONDS
            elif self._is_long(study_id, kind):
                lane = SLOW
            rank = self._clock() + STRETCH * min(seconds, MAX_SECONDS) + handicap
            (self._asked.add if handicap else self._asked.discard)(study_id)
            place = self._places[study_id] = (rank, next(self._arrivals), study_id)
            heapq.heappush(self._waiting[lane], place)
            self._changed.notify_all()

    def hasten(self, study_id: str, kind: str) -> None:
        """If a study is queued for a question, and ``kind`` is not a question, queue it for a step of this kind
        instead."""
        with self._changed:
            if study_id in self._places and study_id in self._asked and kind in (FOLDS, LEARNS):
                self.put(study_id, kind)

    def is_long_question(self, study_id: str, kind: str) -> bool:
        """Whether a kind is a question whose answer is expected to take long."""
        with self._changed:
            return kind not in (FOLDS, LEARNS) and self._is_long(study_id, kind)

    def _is_long(self, study_id: str, kind: str) -> bool:
        return self._expected(study_id, kind) > LONG_SECONDS

    def _expected(self, study_id: str, kind: str) -> float:
        at_first = math.inf if kind in LONG_AT_FIRST else 0.0
        if kind not in (FOLDS, LEARNS):
            at_first = self._means.get(("", kind), at_first)
        return self._means.get((study_id, kind), at_first)

    def take(self, lane: int) -> str | None:
        """Wait for the study that takes the next step in a lane, and return it. None after ``end``."""
        waiting = self._waiting[lane]
        with self._changed:
            while True:
                self._changed.wait_for(lambda: waiting or self._is_over)
                if self._is_over:
                    return None
                place = heapq.heappop(waiting)
                if self._places.get(place[-1]) == place:
                    self._asked.discard(place[-1])
                    return self._places.pop(place[-1])[-1]

    def record_time(self, study_id: str, kind: str, seconds: float) -> None:
        """Update the means with the processor time of a step."""
        with self._changed:
            for whose in (study_id, ""):
                mean = self._means.get((whose, kind), seconds)
                self._means[whose, kind] = mean + LATEST * (seconds - mean)

    def end(self) -> None:
        """Make ``take`` return None."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
