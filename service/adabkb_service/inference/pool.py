"""Run models in this process, or in worker processes, each with its share of the studies.

Numerics hold Python's interpreter lock. In separate processes they block neither the server's requests nor the studies
of other processes.
"""

from __future__ import annotations

import itertools
import logging
import math
import queue
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adabkb_service.inference.forking import PROCESSES
from adabkb_service.inference.messages import Advanced, Begun, Load, Lost, Message, Reply, Spent
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import UNHURRIED

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

logger = logging.getLogger(__name__)

CACHE_BYTES = 256 * 2**20
MEMORY_MEGABYTES = 4096
LOADING_SECONDS = 60.0
"""How long a start waits for the first process to import the engine, usually less than a second."""
SLOW_SECONDS = 5.0
"""Loading time from which a warning is logged."""
WATCH_SECONDS = 1.0
SAVING_SHARE = 0.4
"""Share of a process' stop timeout for storing its models; steps in progress get half of that to finish."""
SILENT_SECONDS = 150.0
"""A process with unanswered messages that is silent for so long counts as hung: it is killed and replaced."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """When a process is restarted and when it counts as down, in seconds."""

    restart: float = 1.0
    """Least interval between two starts."""
    down: float = 5.0
    """Time after which a process that did not start is reported as down; until then its messages wait."""
    begin: float = 60.0
    """Time after which a process that does not accept messages is killed and replaced: it had no memory for its
    threads."""


Receive = Callable[[Reply], None]
Charge = Callable[[Mapping[str, float]], None]
"""Called periodically with the processor seconds of models since the last call, by study."""


def ignore_usage(_: Mapping[str, float]) -> None:
    """Discard the usage."""


class Inference(Protocol):
    """Accepts messages for models, and delivers replies later on any thread."""

    def open(self) -> None:
        """Prepare for messages."""

    def post(self, message: Message, receive: Receive) -> None:
        """Send a message; ``receive`` is called with each reply to it."""

    @property
    def load(self) -> Load:
        """The current load."""

    @property
    def loaded_at(self) -> float:
        """When the first processes finished importing the engine, by ``time.monotonic``; infinite until then."""

    def close(self) -> None:
        """Stop; no more messages may be sent."""


def in_this_process(
    database: Database,
    capacity: int = CACHE_BYTES,
    charge: Charge = ignore_usage,
    decision_seconds: float = UNHURRIED,
) -> Inference:
    """Models in this process: see ``InProcess``."""
    # The engine is imported here, since a server with model processes does not need it.
    from adabkb_service.inference.inprocess import InProcess  # noqa: PLC0415

    return InProcess(database, capacity, charge, decision_seconds)


class WorkerPool:
    """Worker processes. One that ends is replaced; ``Lost`` is the reply to its unanswered messages."""

    def __init__(
        self,
        database_url: str,
        count: int,
        *,
        blas_threads: int = 1,
        capacity: int = CACHE_BYTES,
        lock_seconds: float = 10.0,
        silent_seconds: float = SILENT_SECONDS,
        charge: Charge = ignore_usage,
        memory_megabytes: int = MEMORY_MEGABYTES,
        decision_seconds: float = UNHURRIED,
        stop_seconds: float = UNHURRIED,
        supervision: Supervision = Supervision(),
    ) -> None:
        arguments = (
            database_url,
            lock_seconds,
            capacity,
            blas_threads,
            memory_megabytes,
            decision_seconds,
            stop_seconds * SAVING_SHARE,
        )
        self.silent_seconds = silent_seconds
        """How long a process with unanswered messages may be silent; may be changed at any time."""
        self._workers = [
            _WorkerProcess(arguments, self._is_silent, charge, stop_seconds, supervision) for _ in range(count)
        ]

    def open(self) -> None:
        """Start the processes. They accept messages at once and are ready some seconds later."""
        for each in self._workers:
            each.start()

    def post(self, message: Message, receive: Receive) -> None:
        """Send a message to the process of its study."""
        self._workers[zlib.crc32(message.study_id.encode()) % len(self._workers)].post(message, receive)

    def close(self) -> None:
        """Stop all processes in parallel."""
        for each in self._workers:
            each.stop()
        for each in self._workers:
            each.close()

    def _is_silent(self, since: float) -> bool:
        """Whether a process counts as hung, given when it last sent something, by ``time.monotonic``."""
        return time.monotonic() - since > self.silent_seconds

    @property
    def pids(self) -> list[int]:
        """Ids of the running processes."""
        return [each.pid for each in self._workers if each.pid is not None]

    @property
    def load(self) -> Load:
        """See ``Inference``."""
        waiting = sum(each.waiting for each in self._workers)
        cache_bytes = sum(each.cache_bytes for each in self._workers)
        return Load(waiting, cache_bytes, self.pids, sum(each.is_down for each in self._workers))

    @property
    def loaded_at(self) -> float:
        """See ``Inference``."""
        return max(each.loaded_at for each in self._workers)


class _WorkerProcess:
    """A process and its replacements. One thread sends and another receives; no other thread waits for the process."""

    def __init__(
        self,
        arguments: tuple[Any, ...],
        is_silent: Callable[[float], bool],
        charge: Charge,
        stop_seconds: float,
        supervision: Supervision,
    ) -> None:
        self._arguments = arguments
        self._charge = charge
        self._is_silent = is_silent
        self._stop_seconds = stop_seconds
        self._supervision = supervision
        self._numbers = itertools.count()
        self._guard = threading.Lock()
        self._receivers: dict[int, Receive] = {}
        self._outbox: queue.SimpleQueue[tuple[int, Message] | None] = queue.SimpleQueue()
        self._process: Any = None
        self._heard = 0.0
        """When the process last sent something or had nothing to do."""
        self._has_begun = False
        """Whether the process accepts messages."""
        self.cache_bytes = 0
        """Size of its models, as last reported."""
        self._opened_at = time.monotonic()
        self._down_since: float | None = self._opened_at
        self._loaded_at: float | None = None
        """When the first process ran or failed to start."""
        self._closed = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True, name="models")

    @property
    def pid(self) -> int | None:
        """Id of the running process."""
        process = self._process
        return None if process is None else process.pid

    @property
    def loaded_at(self) -> float:
        """See ``Inference``. If the first process takes too long, it counts as loaded, and as down."""
        if self._loaded_at is not None:
            return self._loaded_at
        return math.inf if time.monotonic() < self._opened_at + LOADING_SECONDS else self._opened_at + LOADING_SECONDS

    @property
    def is_down(self) -> bool:
        """Whether no process has run for longer than a start takes."""
        since = self._down_since
        return since is not None and time.monotonic() - max(since, self.loaded_at) > self._supervision.down

    @property
    def waiting(self) -> int:
        """Number of messages without a reply."""
        return len(self._receivers)

    def start(self) -> None:
        """Start the first process."""
        self._down_since = self._opened_at = time.monotonic()
        self._supervisor.start()

    def post(self, message: Message, receive: Receive) -> None:
        """Send a message as soon as a process accepts it."""
        number = next(self._numbers)
        with self._guard:
            self._receivers[number] = receive
        self._outbox.put((number, message))

    def stop(self) -> None:
        """Ask the process to store its models and end."""
        self._closed.set()
        self._outbox.put(None)

    def close(self) -> None:
        """Wait some seconds for a stopped process to end."""
        self._supervisor.join(self._stop_seconds)
        self._kill()

    def _supervise(self) -> None:
        for run in itertools.count(1):
            started = time.monotonic()
            try:
                self._run_one()
            except Exception:  # no file descriptor, memory or thread is available; the next attempt may get one
                logger.exception("a model process could not be started; trying again")
            if self._closed.is_set():
                return
            self._down_since = self._down_since or time.monotonic()
            logger.warning("a model process ended; another one restores its studies")
            self._lose(run)
            if self._closed.wait(max(self._supervision.restart - (time.monotonic() - started), 0.0)):
                return

    def _run_one(self) -> None:
        """Start a process, and receive from it until it ends.

        Raises:
            Exception: the system refused a file descriptor, a process or a thread; the attempt was cleaned up.
        """
        ours, theirs = PROCESSES.Pipe()
        self._has_begun = False
        with ours:
            try:
                process = self._process = start_process(theirs, *self._arguments)
            finally:
                self._note_loaded()
            sending = threading.Thread(target=self._send, args=(ours, process), daemon=True, name="models-send")
            receiving = threading.Thread(target=self._receive_all, args=(ours,), daemon=True, name="models-receive")
            try:
                sending.start()
                receiving.start()
                self._watch(receiving)
                process.join(self._stop_seconds if self._closed.is_set() else 0.0)  # it may be storing models
            finally:
                process.kill()
                process.join()
                self._process = None
                self._outbox.put(None)
                if sending.ident is not None:
                    sending.join()

    def _note_loaded(self) -> None:
        if self._loaded_at is not None:
            return
        self._loaded_at = time.monotonic()
        if (seconds := self._loaded_at - self._opened_at) > SLOW_SECONDS:
            logger.warning("a model process took %.0f s to load the engine; suggestions waited for it", seconds)

    def _watch(self, receiving: threading.Thread) -> None:
        """Return when the process ends; kill it if it does not begin, or is silent for too long."""
        started = self._heard = time.monotonic()
        while receiving.is_alive():
            receiving.join(WATCH_SECONDS)
            if self._has_begun:
                self._down_since = None
            elif self._closed.is_set() or time.monotonic() - started > self._supervision.begin:
                self._kill()
            if not self._receivers:
                self._heard = time.monotonic()
            elif self._is_silent(self._heard):
                self._kill()

    def _kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def _send(self, pipe: Pipe, process: Any) -> None:
        """Send the outbox up to a None, which ends the process; the process may have ended already."""
        outbox = self._outbox
        try:
            while (entry := outbox.get()) is not None:
                pipe.send(entry)
            pipe.send(None)
        except OSError:
            return
        except Exception:
            logger.exception("a message cannot be sent to a model process; another process replaces it")
            process.kill()

    def _receive_all(self, pipe: Pipe) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._receive(*pipe.recv())

    def _receive(self, number: int, reply: Reply | Begun | Spent) -> None:
        if isinstance(reply, Begun):
            self._has_begun = True
            return
        if isinstance(reply, Spent):
            self._charge(reply.seconds)
            return
        self._heard = time.monotonic()
        if isinstance(reply, Advanced) and reply.cache_bytes:
            self.cache_bytes = reply.cache_bytes
        with self._guard:
            receive = self._receivers.get(number)
            if not getattr(reply, "behind", 0):
                self._receivers.pop(number, None)
        if receive is not None:
            _tell(receive, reply)

    def _lose(self, run: int) -> None:
        """Reply ``Lost`` to all unanswered messages; the next process gets a new outbox."""
        self.cache_bytes = 0
        with self._guard:
            self._outbox = queue.SimpleQueue()
            lost, self._receivers = self._receivers, {}
        for receive in lost.values():
            _tell(receive, Lost(run))


def _tell(receive: Receive, reply: Reply) -> None:
    """Deliver a reply. An error of one receiver does not affect the others."""
    try:
        receive(reply)
    except Exception:
        logger.exception("a reply of a model process could not be handled")


def start_process(pipe: Pipe, *arguments: Any) -> Any:
    """Start a process that works at the other end of a pipe."""
    with pipe:
        process = PROCESSES.Process(target=_work, args=(pipe, *arguments), daemon=True, name="models")
        process.start()
    return process


def _work(pipe: Pipe, *arguments: Any) -> None:
    """Main function of a process, which has the engine imported by the fork server; the server never imports it."""
    from adabkb_service.inference import worker  # noqa: PLC0415

    worker.main(pipe, *arguments)
