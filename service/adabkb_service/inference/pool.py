"""Run models in this process, or in model processes. Each model process has the models of a part of the studies.

Numerical work holds Python's interpreter lock. In separate processes, it blocks neither the server's requests nor the
studies of other processes.
"""

from __future__ import annotations

import atexit
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

from adabkb_service.inference.fork_server import PROCESSES
from adabkb_service.inference.messages import Advanced, Begun, Load, Lost, Message, Reply, Spent
from adabkb_service.inference.process_settings import ProcessSettings
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import UNLIMITED_SECONDS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    Pipe = Connection[Any, Any]

logger = logging.getLogger(__name__)

CACHE_BYTES = 256 * 2**20
MEMORY_MEGABYTES = 4096
LOADING_SECONDS = 60.0
"""If a process takes longer than this to import the engine for the first time, requests stop waiting for the import.
Usually, it takes less than a second."""
SLOW_SECONDS = 5.0
"""If loading takes longer than this, a warning is logged."""
WATCH_SECONDS = 1.0
SAVING_SHARE = 0.4
"""The share of the stop timeout in which a process must store its models. Before that, the process waits up to half of
this time for each of its two threads (``worker.LANES``) to end its step. So it uses at most twice this share."""
SILENT_SECONDS = 150.0
"""A process that has unanswered messages and has sent no reply for this long counts as hung. It is killed and
replaced."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """Times, in seconds, after which a process is restarted or counts as down."""

    restart: float = 1.0
    """The minimum interval between two starts."""
    down: float = 5.0
    """The time after which a process that ended, or does not accept messages yet, is reported as down."""
    begin: float = 60.0
    """The time after which a new process that does not accept messages yet is killed and replaced. A process that lacks
    memory for its threads, for example, never accepts messages."""


Receive = Callable[[Reply], None]
Charge = Callable[[Mapping[str, float]], None]
"""Called periodically with study -> processor seconds of its model since the last call."""


def ignore_usage(_: Mapping[str, float]) -> None:
    """Discard the usage."""


class Inference(Protocol):
    """Accepts messages for models. Delivers the replies later, from any thread."""

    def open(self) -> None:
        """Start what is needed to process messages."""

    def post(self, message: Message, receive: Receive) -> None:
        """Send a message. ``receive`` will be called with each reply to it."""

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
    decision_seconds: float = UNLIMITED_SECONDS,
) -> Inference:
    """Run the models in this process: see ``InProcess``."""
    # The engine is imported here, since a server with model processes does not need it.
    from adabkb_service.inference.inprocess import InProcess  # noqa: PLC0415

    return InProcess(database, capacity, charge, decision_seconds)


class WorkerPool:
    """Model processes. A process that ends is replaced, and its unanswered messages get the reply ``Lost``."""

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
        decision_seconds: float = UNLIMITED_SECONDS,
        stop_seconds: float = UNLIMITED_SECONDS,
        supervision: Supervision = Supervision(),
    ) -> None:
        settings = ProcessSettings(
            database_url=database_url,
            lock_seconds=lock_seconds,
            capacity=capacity,
            blas_threads=blas_threads,
            memory_megabytes=memory_megabytes,
            decision_seconds=decision_seconds,
            saving_seconds=stop_seconds * SAVING_SHARE,
        )
        self.silent_seconds = silent_seconds
        """How long a process with unanswered messages may send no reply. It can be changed at any time."""
        self._workers = [
            _WorkerProcess(settings, self._is_silent, charge, stop_seconds, supervision) for _ in range(count)
        ]

    def open(self) -> None:
        """Start the processes. Messages can be sent at once; they are processed once the engine is loaded."""
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
        """Whether a process counts as hung. ``since`` is when it last sent a reply or had no unanswered messages, by
        ``time.monotonic``."""
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
    """A model process, and the processes that replace it. One thread sends and another receives, so that callers do not
    wait for the process."""

    def __init__(
        self,
        settings: ProcessSettings,
        is_silent: Callable[[float], bool],
        charge: Charge,
        stop_seconds: float,
        supervision: Supervision,
    ) -> None:
        self._settings = settings
        self._charge = charge
        self._is_silent = is_silent
        self._stop_seconds = stop_seconds
        self._supervision = supervision
        self._numbers = itertools.count()
        self._guard = threading.Lock()
        self._receivers: dict[int, Receive] = {}
        self._outbox: queue.SimpleQueue[tuple[int, Message] | None] = queue.SimpleQueue()
        self._process: BaseProcess | None = None
        self._heard = 0.0
        """When the process last sent a reply or had no unanswered messages, by ``time.monotonic``."""
        self._has_begun = False
        """Whether the process accepts messages."""
        self.cache_bytes = 0
        """Size of its models in bytes, as last reported."""
        self._opened_at = time.monotonic()
        self._down_since: float | None = self._opened_at
        self._loaded_at: float | None = None
        """When the first process was started, or failed to start; None before."""
        self._closed = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True, name="models")

    @property
    def pid(self) -> int | None:
        """Id of the running process."""
        process = self._process
        return None if process is None else process.pid

    @property
    def loaded_at(self) -> float:
        """See ``Inference``. If the first start takes longer than LOADING_SECONDS, the engine counts as loaded after
        this time."""
        if self._loaded_at is not None:
            return self._loaded_at
        return math.inf if time.monotonic() < self._opened_at + LOADING_SECONDS else self._opened_at + LOADING_SECONDS

    @property
    def is_down(self) -> bool:
        """Whether no process has accepted messages for ``Supervision.down`` seconds."""
        since = self._down_since
        return since is not None and time.monotonic() - max(since, self.loaded_at) > self._supervision.down

    @property
    def waiting(self) -> int:
        """Number of messages without a reply."""
        return len(self._receivers)

    def start(self) -> None:
        """Start the first process."""
        self._down_since = self._opened_at = time.monotonic()
        atexit.register(self._kill)  # otherwise an exit would wait for the process, which ignores SIGTERM
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
        """Wait up to ``stop_seconds`` for a stopped process to end, then kill it."""
        self._supervisor.join(self._stop_seconds)
        self._kill()
        atexit.unregister(self._kill)

    def _supervise(self) -> None:
        for run in itertools.count(1):
            started = time.monotonic()
            try:
                self._run_one()
            except Exception:  # for example no free file descriptor, memory or thread; the next attempt may succeed
                logger.exception("a model process could not be started; trying again")
            if self._closed.is_set():
                return
            self._down_since = self._down_since or time.monotonic()
            logger.warning("a model process ended; another one restores its studies")
            self._reply_lost(run)
            if self._closed.wait(max(self._supervision.restart - (time.monotonic() - started), 0.0)):
                return

    def _run_one(self) -> None:
        """Start a process, and receive from it until it ends.

        Raises:
            Exception: the operating system refused a file descriptor, a process or a thread; nothing of the attempt is
                left.
        """
        ours, theirs = PROCESSES.Pipe()
        self._has_begun = False
        with ours:
            try:
                process = self._process = start_process(theirs, self._settings)
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
        """Wait until the process ends. Kill it if it does not begin to accept messages, or is silent for too long."""
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

    def _send(self, pipe: Pipe, process: BaseProcess) -> None:
        """Send messages until the outbox yields None; then send None, which ends the process. Return if the process has
        already ended."""
        outbox = self._outbox
        try:
            while (entry := outbox.get()) is not None:
                pipe.send(entry)
            pipe.send(None)
        except OSError:
            return
        except Exception:
            logger.exception("a message could not be sent to a model process; the process is replaced")
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
            if not (isinstance(reply, Advanced) and reply.behind):  # else another reply follows
                self._receivers.pop(number, None)
        if receive is not None:
            _deliver(receive, reply)

    def _reply_lost(self, run: int) -> None:
        """Reply ``Lost`` to all unanswered messages. Create a new outbox for the next process."""
        self.cache_bytes = 0
        with self._guard:
            self._outbox = queue.SimpleQueue()
            lost, self._receivers = self._receivers, {}
        for receive in lost.values():
            _deliver(receive, Lost(run))


def _deliver(receive: Receive, reply: Reply) -> None:
    """Deliver a reply. An error of one receiver does not affect the others."""
    try:
        receive(reply)
    except Exception:
        logger.exception("a reply of a model process could not be handled")


def start_process(pipe: Pipe, settings: ProcessSettings) -> BaseProcess:
    """Start a model process with this end of a pipe."""
    with pipe:
        process: BaseProcess = PROCESSES.Process(target=_work, args=(pipe, settings), daemon=True, name="models")
        process.start()
    return process


def _work(pipe: Pipe, settings: ProcessSettings) -> None:
    """The main function of a model process. It imports ``worker``, since the server must not import the engine."""
    from adabkb_service.inference import worker  # noqa: PLC0415

    worker.main(pipe, settings)
