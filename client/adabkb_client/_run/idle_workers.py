"""The idle workers of a run, and the trials that one of them has leased for all."""

import threading
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from adabkb_client._run.run_state import RunState
from adabkb_client._trial_calls import Leased

TOGETHER = 8
"""The maximum number of trials in one request for the idle workers of a run. The server prefetches as many."""

L = TypeVar("L", bound=Leased)


class IdleWorkers(Generic[L]):
    """Decides which idle worker requests trials, how many, and who gets them, without I/O.

    A worker that needs a trial calls ``join`` and then waits for its turn, a lock that the workers share. During its
    turn, it requests ``request_size`` trials, unless that is 0, and calls ``received`` and ``take``. It calls ``leave``
    before the next turn begins: otherwise, the next worker would request a trial for this one, too.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._count = 0
        """The number of workers between ``join`` and ``leave``."""
        self._together = TOGETHER
        self._trials: list[L] = []
        """The leased trials that no worker has taken, in reverse order."""
        self._lock = threading.Lock()

    def join(self) -> bool:
        """Count a worker as idle; return False, without counting it, if the run needs no further trial."""
        if not self._state.may_take():
            return False
        with self._lock:
            self._count += 1
        return True

    def leave(self) -> None:
        """No longer count a worker as idle."""
        with self._lock:
            self._count -= 1

    def request_size(self) -> int:
        """Return how many trials to request: one for each idle worker, up to the number that the run still needs and to
        what the model chooses in time. If the context may change, request one at a time, each with the current context.
        """
        if self._trials or not self._state.may_take():
            return 0
        most = 1 if callable(self._state.options.context) else min(self._count, self._together)
        return self._state.needed(most)

    def received(self, trials: Sequence[L]) -> None:
        """Add leased trials, and adapt the size of requests. The server chooses the points that the model has no time
        for quasi-randomly. If any point is quasi-random, request half as many trials next time, otherwise twice as
        many, up to ``TOGETHER``."""
        self._trials = list(reversed(trials))
        is_late = any(each.trial.origin == "fallback" for each in trials)
        self._together = max(self._together // 2, 1) if is_late else min(2 * self._together, TOGETHER)

    def take(self) -> L | None:
        """Return a trial to evaluate, which then counts as taken by the run; None without one, or if the run is over.
        Nobody takes the trials that are then left."""
        if not self._trials or not self._state.may_take():
            return None
        trial = self._trials.pop()
        self._state.took(trial)
        return trial

    def left(self) -> Iterator[L]:
        """Yield the trials that nobody takes, to be released. Each is removed only afterwards, so that an interrupted
        release is repeated."""
        while self._trials:
            yield self._trials[-1]
            self._trials.pop()
