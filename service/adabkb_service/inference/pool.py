"""Where models live: in the server's own process, or in processes beside it, each the home of its share of the studies.

Numerics hold Python's interpreter lock. In a process of their own they hold up neither the other requests of the server
nor the studies of another process. Only the engine's work is done there; rows, locks and answers stay with the server.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from adabkb_service.errors import Busy, Contention
from adabkb_service.inference.model import Model

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

GONE = "The model has to be restored; try again."
AT_ONCE = 16
"""Calls that one process is at."""
CALL_SECONDS = 10.0
"""How long anyone waits for one of them; what was asked for goes on, and until it is done its study has no model."""
HANG_SECONDS = 120.0
"""What takes longer will never be done: its process is ended with it."""
CLOSE_SECONDS = 5.0
TURN_SECONDS = 0.05
"""How long one of them waits for another to end before they share the processor. Most end sooner, and threads that
share it lose time at every change; but a study that takes long must not hold up the others."""


@dataclass
class Shelf:
    """The models of one process."""

    models: dict[str, Model] = field(default_factory=dict)
    undecided: dict[str, Any] = field(default_factory=dict)
    """Study -> the engine's state after a decision that may not come to be."""

    def at(self, study_id: str, seq: int) -> Model:
        """The model of a study, at an event.

        Raises:
            ModelGone: it is not here, or elsewhere in the log.
        """
        model = self.models.get(study_id)
        if model is None or model.seq != seq:
            raise ModelGone(GONE)
        return model

    def drop(self, study_id: str) -> None:
        """Forget a study."""
        self.models.pop(study_id, None)
        self.undecided.pop(study_id, None)


class ModelGone(Contention):
    """The process that had the model is gone, or began anew; done again, the model is restored from its rows."""


class ModelLate(Busy):
    """The model is still at something that takes too long to wait for."""


Work = Callable[Concatenate[Shelf, P], R]


class Host(Protocol):
    """Something that has shelves, and does work on the one of a study."""

    def open(self) -> None:
        """Calls are about to come."""

    def call(self, study_id: str, work: Work[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Do it, and wait for what it gives.

        Raises:
            ModelGone, ModelLate: there is nothing to wait for any more.
        """

    def close(self) -> None:
        """No more calls will come."""


class Here:
    """This process."""

    def __init__(self) -> None:
        self._shelf = Shelf()

    def open(self) -> None:
        """Nothing to do."""

    def call(self, study_id: str, work: Work[P, R], *args: P.args, **kwargs: P.kwargs) -> R:  # noqa: ARG002
        """Do it."""
        return work(self._shelf, *args, **kwargs)

    def close(self) -> None:
        """Nothing to do."""


class Beside:
    """Processes of our own. One that dies is replaced; what it was at is ``ModelGone``."""

    def __init__(
        self,
        count: int,
        blas_threads: int,
        *,
        call_seconds: float = CALL_SECONDS,
        hang_seconds: float = HANG_SECONDS,
    ) -> None:
        self._blas_threads = blas_threads
        self._call_seconds = call_seconds
        self._hang_seconds = hang_seconds
        self._late: set[str] = set()
        """Studies with a call that nobody waits for any more."""
        self._guard = threading.Lock()
        self._closed = False
        self._homes: list[_Home | None] = [None] * count

    def open(self) -> None:
        """Start the processes, all at once, and wait until they are ready."""
        for index in range(len(self._homes)):
            self._replace(index, None)
        for home in self._homes:
            if home is not None:
                home.ask((Shelf.drop, ("",), {}), self._hang_seconds)

    def call(self, study_id: str, work: Work[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Do it in the study's process."""
        index = zlib.crc32(study_id.encode()) % len(self._homes)
        home = self._homes[index]
        assert home is not None, "open comes first"
        late = ModelLate(f"The model of study {study_id!r} takes long; try again later.")
        if study_id in self._late:
            raise late
        try:
            done, outcome = home.ask((work, args, kwargs), self._call_seconds)
        except Empty as error:
            raise late from error
        except Unanswered as unanswered:
            self._late.add(study_id)
            threading.Thread(target=self._outwait, args=(study_id, index, home, unanswered.pipe), daemon=True).start()
            raise late from unanswered
        except (EOFError, OSError) as error:
            self._replace(index, home)
            raise ModelGone(GONE) from error
        if not done:
            raise outcome
        result: R = outcome
        return result

    def close(self) -> None:
        """End the processes."""
        with self._guard:
            self._closed = True
        for home in self._homes:
            if home is not None:
                home.close()

    def _outwait(self, study_id: str, index: int, home: _Home, pipe: Pipe) -> None:
        """Wait for an answer that comes too late to be of use."""
        try:
            if pipe.poll(self._hang_seconds - self._call_seconds):
                pipe.recv()
            else:
                self._replace(index, home)
        except (EOFError, OSError):
            pass  # the process is gone, as others will find out
        finally:
            home.free(pipe)
            self._late.discard(study_id)

    def _replace(self, index: int, gone: _Home | None) -> None:
        with self._guard:
            if self._closed or self._homes[index] is not gone:
                return  # another call was faster
            if gone is not None:
                logger.warning("a process of models ended; its studies are restored in another")
                gone.kill()
            self._homes[index] = _Home(self._blas_threads)


class Unanswered(Exception):
    """A call that goes on, and the pipe that its answer will come by."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__()
        self.pipe = pipe


class _Home:
    """One process, with a pipe for each call that it is at."""

    def __init__(self, blas_threads: int) -> None:
        context = multiprocessing.get_context("spawn")  # fork would take along locks that other threads hold
        pipes = [context.Pipe() for _ in range(AT_ONCE)]
        self._pipes = [ours for ours, _ in pipes]
        self._free: SimpleQueue[Pipe] = SimpleQueue()
        for ours in self._pipes:
            self._free.put(ours)
        theirs = [theirs for _, theirs in pipes]
        self._process = context.Process(target=_serve, args=(theirs, blas_threads), daemon=True, name="models")
        self._process.start()
        for pipe in theirs:
            pipe.close()

    def ask(self, request: Any, seconds: float) -> Any:
        """Send it, and wait for what comes back.

        Raises:
            Empty: it is at too many other calls.
            Unanswered: nothing comes back in time.
            EOFError, OSError: the process is gone.
        """
        deadline = time.monotonic() + seconds
        pipe, answered = self._free.get(timeout=seconds), True
        try:
            pipe.send(request)
            answered = pipe.poll(max(deadline - time.monotonic(), 0.0))
            if not answered:
                raise Unanswered(pipe)
            return pipe.recv()
        finally:
            if answered:
                self._free.put(pipe)

    def free(self, pipe: Pipe) -> None:
        """Its answer was fetched."""
        self._free.put(pipe)

    def kill(self) -> None:
        """End it whatever it is at; those who wait for it are told by its pipes."""
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        """Nobody waits for it any more."""
        for pipe in self._pipes:
            pipe.close()
        self._process.join(CLOSE_SECONDS)
        self.kill()


def _serve(pipes: list[Pipe], blas_threads: int) -> None:
    """Work until the server closes the pipes, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle
    shelf, turn = Shelf(), threading.Lock()

    def work_on(pipe: Pipe) -> None:
        with suppress(EOFError, OSError), pipe:  # closed, whatever ends this, so that nobody waits for an answer
            while True:
                work, args, kwargs = pipe.recv()
                mine = turn.acquire(timeout=TURN_SECONDS)
                try:
                    outcome = (True, work(shelf, *args, **kwargs))
                except Exception as error:
                    outcome = (False, error)
                finally:
                    if mine:
                        turn.release()
                pipe.send(outcome)

    with threadpool_limits(blas_threads):
        threads = [threading.Thread(target=work_on, args=(pipe,)) for pipe in pipes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@dataclass(frozen=True, slots=True)
class Known:
    """What the server knows of a model on a shelf."""

    seq: int
    """The last event it has folded, ..."""
    at: datetime
    """... and when that was logged: another study of the same id has another log."""
