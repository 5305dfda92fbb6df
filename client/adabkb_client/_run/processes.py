"""A worker process: it evaluates trials for one thread of a run, and may be killed without any harm to the run."""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import ModuleType

from adabkb_client._lease import LeasedTrial
from adabkb_client._leased import Leased
from adabkb_client._models import Answer, Trial
from adabkb_client._plain import WrongFunction
from adabkb_client._resource import StudyResource
from adabkb_client._run.evaluation import Evaluation
from adabkb_client._run.frames import formatted
from adabkb_client._run.result import Result
from adabkb_client.errors import WorkerDied

LOOK_EVERY = 1.0
"""Seconds between two looks at whether the process lives. Its end closes the pipe, which is noticed at once, unless a
process that it has started itself holds the pipe open."""
CLOSE_PATIENCE = 5.0
"""Seconds that a process has to exit before it is killed."""

_spawn = multiprocessing.get_context("spawn")  # this process has threads, which a fork would leave in any state

VISIBLE = "CUDA_VISIBLE_DEVICES"
_visible_devices = threading.Lock()
"""Held while the variable has the value for another process."""

Reply = Result | Answer | BaseException | None


class WorkerProcess:
    """Evaluates trials in a separate process, which is replaced if it dies.

    Raises:
        TypeError: the function cannot be pickled, or the process cannot load it.
    """

    def __init__(self, evaluation: Evaluation, study: StudyResource, gpu: str | None = None) -> None:
        try:
            self._task = pickle.dumps((evaluation, study))
        except Exception as error:
            raise WrongFunction(
                "processes=True needs a function that can be pickled, and this one cannot be "
                f"({type(error).__name__}: {error}). Define it at the top level of a module; a lambda or a function "
                "inside another one cannot be sent to a process."
            ) from None
        self._gpu = gpu
        self._killed = False
        self._starting = threading.Lock()
        """Held from the look at ``_killed`` until the process is there, so that ``kill`` misses none in between."""
        self._start()

    def __call__(self, trial: LeasedTrial) -> Result | Answer:
        """Evaluate a trial: see ``Evaluation``.

        Raises:
            WorkerDied: the process ended meanwhile. The next call starts another one.
            SystemExit: ``kill`` has ended it.
        """
        if not self._process.is_alive():
            self._start()
        try:
            self._pipe.send(trial.trial)
            reply = self._reply()
        except (EOFError, OSError):
            end = self._end()
            if self._killed:
                raise SystemExit("the run is over") from None
            raise WorkerDied(f"the worker process {end} while it evaluated trial {trial.number}") from None
        assert reply is not None, "only the start of a process is answered by None"
        return reply

    def kill(self) -> None:
        """End the process at once, and start no other. Another thread may call this."""
        with self._starting:
            self._killed = True
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(CLOSE_PATIENCE)
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        with self._starting:
            if self._killed:
                raise SystemExit("the run is over")
            self._pipe, theirs = _spawn.Pipe()
            # It is no daemon, because daemons may start no processes.
            self._process: SpawnProcess = _spawn.Process(target=_work, args=(theirs, self._task), daemon=False)
            with _seeing(self._gpu):
                self._process.start()
        theirs.close()
        try:
            self._reply()
        except (EOFError, OSError):
            raise RuntimeError(
                f"a worker process {self._end()} before it was ready. Worker processes import the program's main "
                'script: call study.run(..., processes=True) there below `if __name__ == "__main__":`.'
            ) from None

    def _reply(self) -> Result | Answer | None:
        while not self._pipe.poll(LOOK_EVERY):
            if not self._process.is_alive():
                raise EOFError
        reply: Reply = self._pipe.recv()
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def _end(self) -> str:
        """Wait for the end of the process, and tell it in words."""
        self._pipe.close()
        self._process.join()
        code = self._process.exitcode or 0
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


@contextmanager
def _seeing(gpu: str | None) -> Iterator[None]:
    """Start processes inside the block that see one device. The variable is inherited, as a process imports the program
    before it runs any code of this package."""
    if gpu is None:
        yield
        return
    with _visible_devices:
        before = os.environ.get(VISIBLE)
        os.environ[VISIBLE] = gpu
        try:
            yield
        finally:
            if before is None:
                del os.environ[VISIBLE]
            else:
                os.environ[VISIBLE] = before


def _work(pipe: Connection, task: bytes) -> None:
    """Evaluate one trial after the other, until the other end of the pipe is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they go to the run too, which then ends this process
        signal.signal(number, lambda *_: None)
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=_heed_signals)
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    try:
        evaluation, study = _loaded(task)
    except Exception as error:
        pipe.send(error)
        return
    pipe.send(None)
    while True:
        try:
            trial: Trial = pipe.recv()
        except EOFError:
            return
        pipe.send(reply_to(evaluation, LeasedTrial(study, trial)))


def _heed_signals() -> None:
    """In a process that the function has forked: a pool ends its processes by SIGTERM."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with_the_run() -> None:
    """End if the run's process does, because nobody would take the result."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _loaded(task: bytes) -> tuple[Evaluation, StudyResource]:
    try:
        evaluation, study = pickle.loads(task)  # noqa: S301 (of the parent process, by a pipe)
    except Exception as error:
        raise WrongFunction(
            f"a worker process cannot load the function ({type(error).__name__}: {error}). Define it at the top level "
            "of a module that can be imported; one that was typed into an interpreter or a notebook cannot."
        ) from None
    return evaluation, study


def reply_to(evaluation: Evaluation, trial: Leased, pickler: ModuleType = pickle) -> Reply:
    """Return the result of an evaluation, or its error in a form that ``pickler`` can send."""
    try:
        return evaluation(trial)
    except BaseException as error:
        error.add_note(formatted(error))  # the traceback itself cannot be sent
        try:
            pickler.loads(pickler.dumps(error))
        except Exception:  # it cannot be sent, but what it says can
            stand_in = RuntimeError(f"{type(error).__name__}: {error}")
            stand_in.__notes__ = error.__notes__
            return stand_in
        return error
