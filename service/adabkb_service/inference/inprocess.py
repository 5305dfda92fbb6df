"""Run models in the caller's process, for commands, tests, and a server without model processes."""

from __future__ import annotations

import itertools
import threading
import time

from adabkb_service.inference.host import FOLD_SECONDS, IDLE_SECONDS, ModelHost
from adabkb_service.inference.messages import Load, Message, Reply
from adabkb_service.inference.pool import CACHE_BYTES, Charge, Receive, ignore_usage
from adabkb_service.inference.store import SAVE_EVENTS, ModelStore
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import UNLIMITED_SECONDS


class InProcess:
    """Models in this process. A message has been processed when ``post`` returns."""

    def __init__(
        self,
        database: Database,
        capacity: int = CACHE_BYTES,
        charge: Charge = ignore_usage,
        decision_seconds: float = UNLIMITED_SECONDS,
        fold_seconds: float = FOLD_SECONDS,
        save_events: int = SAVE_EVENTS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """See ``ModelHost`` for the last four arguments."""
        self._charge = charge
        self._receivers: dict[int, Receive] = {}
        self._numbers = itertools.count()
        self._host = ModelHost(
            ModelStore(database, capacity),
            self._receive,
            decision_seconds,
            fold_seconds=fold_seconds,
            save_events=save_events,
            idle_seconds=idle_seconds,
        )
        self._lock = threading.RLock()

    def open(self) -> None:
        """Do nothing, since there is no process to start."""

    def post(self, message: Message, receive: Receive) -> None:
        """Process a message, and prepare for the next result."""
        number = next(self._numbers)
        self._receivers[number] = receive
        self._host.post(number, message)
        with self._lock:
            before = time.thread_time()
            while self._host.step(message.study_id):
                pass
            spent = time.thread_time() - before
        self._charge({message.study_id: spent})
        self._receivers.pop(number, None)

    @property
    def load(self) -> Load:
        """See ``Inference``."""
        return Load(waiting=len(self._receivers), cache_bytes=self._host.store.bytes, pids=[])

    @property
    def loaded_at(self) -> float:
        """0.0: the engine is always loaded, since this module imports it."""
        return 0.0

    def close(self) -> None:
        """Store models with unstored changes."""
        self._host.save_all()

    def _receive(self, number: int, reply: Reply) -> None:
        self._receivers[number](reply)
