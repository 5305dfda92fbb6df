"""Choose the study that takes the next step in a model process, in each of two lanes.

A step cannot be interrupted. Steps that are expected to be long wait in the slow lane, so that a short step waits only
for short ones. In each lane the shortest step goes first, unless it arrived much later: a study with few results does
not queue behind many large ones. Questions go after the steps for suggestions and results; ``reads`` answers long ones.

The expected time of a step is the mean time of the study's latest steps of its kind. Steps that learn hyperparameters
are a separate kind: they are rare, and take up to a hundred times as long as the others. So is each question. A kind
that is new in a study is expected to take as long as in other studies.
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
"""Kinds of steps; all others are questions."""
LONG_AT_FIRST = {LEARNS, "assessment", "front", "importance", "partition", "slice_through", "validation"}
"""Kinds that count as long until one has been timed."""
LONG_SECONDS = 0.03
"""Expected processor time from which a step belongs to the slow lane."""
LATEST = 0.1
"""Weight of the latest step in a mean; small enough that a single long step changes it little."""
KNOWN = 20_000
"""Number of means kept: a study unused for long counts as new."""
LONGEST_SECONDS = 1.0
"""Limit of the expected processor time in the order of steps."""
STRETCH = 100.0
"""A step that is shorter by 1 s goes before a step that arrived up to this many seconds earlier."""
QUESTION_SECONDS = 1.0
"""A question goes after any other step that arrives up to this many seconds later."""


class StepQueue:
    """Studies that wait for a step. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: tuple[list[tuple[float, int, str]], ...] = [], []
        """Per lane, a heap of rank, order of arrival and study."""
        self._places: dict[str, tuple[float, int, str]] = {}
        """Study -> its valid heap entry; its other entries are obsolete."""
        self._asked: set[str] = set()
        """Studies whose valid entry is a question."""
        self._arrivals = itertools.count()
        self._means: LRUCache[tuple[str, str], float] = LRUCache(KNOWN)
        """(study, kind) -> mean processor time of such steps in seconds; ("", kind) over all studies."""
        self._is_over = False

    def wait(self, study_id: str, kind: str) -> None:
        """Queue a study for a step of a kind.

        A step that learns has the rank of an ordinary step, since a result waits for it. A long question is only passed
        on, so it counts as instant.
        """
        with self._changed:
            lane, seconds, handicap = QUICK, self._expected(study_id, FOLDS if kind == LEARNS else kind), 0.0
            if kind not in (FOLDS, LEARNS):
                seconds, handicap = 0.0 if self._is_long(study_id, kind) else seconds, QUESTION_SECONDS
            elif self._is_long(study_id, kind):
                lane = SLOW
            rank = self._clock() + STRETCH * min(seconds, LONGEST_SECONDS) + handicap
            (self._asked.add if handicap else self._asked.discard)(study_id)
            place = self._places[study_id] = (rank, next(self._arrivals), study_id)
            heapq.heappush(self._waiting[lane], place)
            self._changed.notify_all()

    def hasten(self, study_id: str, kind: str) -> None:
        """Replace a queued question of a study by a step of another kind."""
        with self._changed:
            if study_id in self._places and study_id in self._asked and kind in (FOLDS, LEARNS):
                self.wait(study_id, kind)

    def is_long_question(self, study_id: str, kind: str) -> bool:
        """Whether the kind is a question whose answer is expected to take long."""
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
        """The study that takes the next step in a lane, blocking until one is queued; None after the end."""
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

    def stepped(self, study_id: str, kind: str, seconds: float) -> None:
        """Note the processor time of a step."""
        with self._changed:
            for whose in (study_id, ""):
                mean = self._means.get((whose, kind), seconds)
                self._means[whose, kind] = mean + LATEST * (seconds - mean)

    def end(self) -> None:
        """Issue no more steps."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
