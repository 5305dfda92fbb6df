"""Sessions of agents: the worker that each one is, and the attempts of trials that it was given."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from mcp.server.mcpserver import Context

from adabkb_client._records import Trial

SESSION = "mcp-session-id"
"""The header that names a session over HTTP."""
MOST = 10_000
"""The maximum number of attempts and pauses that are remembered, of all sessions."""
ISSUED_AGAIN = (
    "attempt: is required, since trial {number} was issued {attempt} times. If you have it, give the attempt that "
    "suggest gave with it. If your program was restarted and the trial is yours, trials() has its attempt."
)
NOT_YOURS = (
    "trial: Trial {number} is leased to another worker{worker}, not to you ({own}). Do not change it. Only if its "
    "worker or the user asked you to, repeat the call with of_other_worker=true."
)

AnyContext = Context[Any, Any]


def default_worker() -> str:
    """Return a name that stays the same when the program restarts: "agent:", user and host."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # the user has no name; ImportError: on Windows
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return f"agent:{user}@{socket.gethostname()}"


def short_hash(text: str) -> str:
    """Return 32 characters that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Session:
    """A session: one agent, which works on trials as one worker.

    Args:
        worker: the name of the worker.
        id: the session's id; None if the protocol has no sessions, so that several agents cannot be told apart.
        memory: what is remembered of all sessions.
    """

    def __init__(self, worker: str, id: str | None, memory: OrderedDict[tuple[str | None, str, int], int]) -> None:
        self.worker = worker
        self._id = id
        self._memory = memory

    def is_mine(self, trial: Trial) -> bool:
        """Return whether this worker has or had the trial last."""
        return trial.worker == self.worker

    def remember(self, trials: Iterable[Trial], *, is_replayed: bool) -> None:
        """Remember the attempts of trials that were issued to this session. A replayed answer may be older than what is
        remembered, so it adds only trials that are not."""
        for trial in trials:
            if not is_replayed or (self._id, trial.study, trial.number) not in self._memory:
                self._note(trial.study, trial.number, trial.attempt)

    def remember_pause(self, study: str, revision: int) -> None:
        """Remember that this session paused a study, which then had this revision."""
        self._note(study, 0, revision)

    def has_paused(self, study: str, event: int) -> bool:
        """Return whether this session caused the last pause of a study, which is the event with this number."""
        return event == self._memory.get((self._id, study, 0))

    def attempt(self, trial: Trial, given: int | None, *, of_other_worker: bool) -> int:
        """Return the attempt of a trial that a call concerns: the given one or, unless it is that of another worker,
        the one that the session was given, or else the current one.

        Args:
            trial: the trial as it is now.
            given: the argument of the call.
            of_other_worker: whether the trial of another worker may be changed.

        Raises:
            ValueError: the attempt is that of another worker, or it is not known whose it is.
        """
        is_held = trial.state in ("active", "expired")
        remembered = None if of_other_worker else self._memory.get((self._id, trial.study, trial.number))
        found = given or remembered
        if found is None and is_held and trial.attempt > 1 and not of_other_worker and self.is_mine(trial):
            raise ValueError(ISSUED_AGAIN.format(number=trial.number, attempt=trial.attempt))
        found = trial.attempt if found is None else found
        if is_held and found == trial.attempt and not (of_other_worker or self.is_mine(trial)):
            worker = "" if trial.worker is None else f' ("{trial.worker}")'
            raise ValueError(NOT_YOURS.format(number=trial.number, worker=worker, own=self.worker))
        return found

    def _note(self, study: str, number: int, value: int) -> None:
        if self._id is None:
            return
        self._memory[self._id, study, number] = value
        self._memory.move_to_end((self._id, study, number))
        while len(self._memory) > MOST:
            self._memory.popitem(last=False)


class Sessions:
    """All sessions of a process.

    Args:
        worker: the name of the worker. Over HTTP, a part of the session's id is added, so that sessions differ.
    """

    def __init__(self, worker: str) -> None:
        self.process = uuid.uuid4().hex
        """A text that no other process has."""
        self._worker = worker
        self._memory: OrderedDict[tuple[str | None, str, int], int] = OrderedDict()

    def of(self, context: AnyContext) -> Session:
        """Return the session of a call."""
        if context.headers is None:  # over stdio, a process has one session
            return Session(self._worker, "", self._memory)
        id = context.headers.get(SESSION)
        worker = self._worker if id is None else f"{self._worker}/{short_hash(id)[:8]}"
        return Session(worker, id, self._memory)
