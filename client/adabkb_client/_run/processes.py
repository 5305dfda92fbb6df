"""A worker process, which evaluates trials for one thread of a run. If it is killed, only its trial is affected."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import NamedTuple

from adabkb_client._records import Answer, Trial
from adabkb_client._run.evaluation import Evaluation, Result
from adabkb_client._run.tracebacks import formatted
from adabkb_client._study_methods import Study
from adabkb_client._trial import LeasedTrial
from adabkb_client._trial_calls import Leased
from adabkb_client.errors import WorkerDied, WorkerLost, WrongFunction

LOOK_EVERY = 1.0
"""Seconds between two checks whether the process is alive. Its end closes the pipe, which is noticed at once, unless
one of its own child processes keeps the pipe open."""
CLOSE_SECONDS = 5.0
"""Seconds within which a process must exit before it is killed."""

KILLED = "was ended by SIGKILL"
"""What ``_end`` returns for a process that the system or a user has killed."""

_spawn = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads

VISIBLE = "CUDA_VISIBLE_DEVICES"
_visible_devices = threading.Lock()
"""Held while CUDA_VISIBLE_DEVICES is set for a new process."""


class Raised(NamedTuple):
    """An error of an evaluation, and the outcome of the trial if it was reported or stopped before."""

    error: BaseException
    outcome: Answer | None = None


Reply = Result | Answer | Raised | None


class WorkerProcess:
    """Evaluates trials in a separate process, which is replaced if it dies.

    Args:
        evaluation: calls the function.
        study: the study of the trials.
        max_attempts: the number of the attempt in which a killed process makes the trial fail.
        gpu: the only CUDA device that the process sees; None for those that this process sees.

    Raises:
        TypeError: the function cannot be pickled, or the process cannot load it.
        RuntimeError: the process ended before it was ready.
    """

    def __init__(self, evaluation: Evaluation, study: Study, max_attempts: int, gpu: str | None = None) -> None:
        try:
            self._task = pickle.dumps((evaluation, study))
        except Exception as error:
            raise WrongFunction(
                "processes=True needs a function that can be pickled, but this one cannot be "
                f"({type(error).__name__}: {error}). Define it at the top level of a module; a lambda or a function "
                "inside another one cannot be sent to a process."
            ) from None
        self._max_attempts = max_attempts
        self._gpu = gpu
        self._killed = False
        self._starting = threading.Lock()
        """Held from the check of ``_killed`` until the process exists, so that ``kill`` misses no process."""
        self._start()

    def __call__(self, trial: LeasedTrial) -> Result | Answer:
        """Evaluate a trial: see ``Evaluation``.

        Raises:
            WorkerLost: the process was killed during the evaluation, and the trial has attempts left.
            WorkerDied: the process was killed during the last attempt, or ended otherwise.
            SystemExit: ``kill`` was called.
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
            has_attempts = trial.trial.attempt < self._max_attempts
            kind = WorkerLost if end == KILLED and has_attempts else WorkerDied
            raise kind(f"the worker process {end} while it evaluated trial {trial.number}") from None
        assert reply is not None, "the reply is None only when a process starts"
        return result_in(reply, trial)

    def kill(self) -> None:
        """End the process at once, and start no other. Any thread may call this."""
        with self._starting:
            self._killed = True
            self._kill()

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(CLOSE_SECONDS)
        if self._process.is_alive():
            self._kill()
        self._process.join()

    def _kill(self) -> None:
        self._process.kill()
        _end_group(self._process.pid)

    def _start(self) -> None:
        with self._starting:
            if self._killed:
                raise SystemExit("the run is over")
            self._pipe, theirs = _spawn.Pipe()
            # Not a daemon, because daemons may not start processes.
            self._process: SpawnProcess = _spawn.Process(target=_work, args=(theirs, self._task), daemon=False)
            with _only_device(self._gpu):
                self._process.start()
        theirs.close()
        try:
            reply = self._reply()
        except (EOFError, OSError):
            raise RuntimeError(
                f"a worker process {self._end()} before it was ready. Worker processes import the program's main "
                f"script: {_remedy()}."
            ) from None
        if isinstance(reply, Raised):
            raise reply.error

    def _reply(self) -> Reply:
        while not self._pipe.poll(LOOK_EVERY):
            if not self._process.is_alive():
                raise EOFError
        reply: Reply = self._pipe.recv()
        return reply

    def _end(self) -> str:
        """Wait for the end of the process, and describe it."""
        self._pipe.close()
        self._process.join()
        _end_group(self._process.pid)
        code = self._process.exitcode or 0
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _remedy() -> str:
    """Return what to do if a worker process cannot import the program's main script."""
    if getattr(sys.modules["__main__"], "__file__", None) == "<stdin>":
        return "a program from standard input has none, so save it in a file, and start that"
    return 'call study.run(..., processes=True) there below `if __name__ == "__main__":`'


@contextmanager
def _only_device(gpu: str | None) -> Iterator[None]:
    """Make processes that are started inside the block see only this device, by an environment variable: a new process
    imports the program before it runs any code of this package."""
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
    """Evaluate trials, one after the other, until the other end of the pipe is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the run also receives them, and then ends this process
        signal.signal(number, lambda *_: None)
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=_restore_signal_handlers)
    if hasattr(os, "setpgid"):  # not on Windows
        os.setpgid(0, 0)  # see ``_end_group``
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    try:
        evaluation, study = _loaded(task)
    except Exception as error:
        pipe.send(Raised(error))
        return
    pipe.send(None)
    with suppress(EOFError):
        while True:
            trial: Trial = pipe.recv()
            pipe.send(reply_to(evaluation, LeasedTrial(study, trial)))
    # End idle pools of joblib and concurrent.futures, as at the end of a program. Otherwise multiprocessing would wait
    # for their processes first, which joblib ends only after five idle minutes.
    threading._shutdown()  # type: ignore[attr-defined]


def _restore_signal_handlers() -> None:
    """Restore default signal handlers in a process that the function has forked, so that pools can end it with
    SIGTERM."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with_the_run() -> None:
    """End this process if the run's process ends, since no process would receive the result."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    _end_group(os.getpid())
    os._exit(1)


def _end_group(process: int | None) -> None:
    """Send SIGTERM to the processes that the function has started in a worker process. The worker process ignores the
    signal, and so do trackers of shared memory, which clean up when the other processes have ended."""
    if hasattr(os, "killpg") and process is not None:
        with suppress(ProcessLookupError, PermissionError):  # it has no group yet, or none is left
            os.killpg(process, signal.SIGTERM)


def _loaded(task: bytes) -> tuple[Evaluation, Study]:
    try:
        evaluation, study = pickle.loads(task)  # noqa: S301 (from the parent process, through a pipe)
    except Exception as error:
        raise WrongFunction(
            f"a worker process cannot load the function ({type(error).__name__}: {error}). Define it at the top level "
            "of an importable module, not in an interpreter or a notebook."
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
        except Exception:  # it cannot be sent, but its text can
            stand_in = RuntimeError(f"{type(error).__name__}: {error}")
            stand_in.__notes__ = error.__notes__
            return Raised(stand_in, trial.outcome)
        return Raised(error, trial.outcome)


def result_in(reply: Result | Answer | Raised, trial: Leased) -> Result | Answer:
    """Return the result in the reply of another process.

    Raises:
        BaseException: the error in the reply. The trial then has the outcome that it has in the other process.
    """
    if isinstance(reply, Raised):
        if reply.outcome is not None:  # otherwise this process may have released the trial
            trial.outcome = reply.outcome
        raise reply.error
    return reply
