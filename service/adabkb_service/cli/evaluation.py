"""The evaluation of trials by a program, for ``adabkb run``."""

from __future__ import annotations

import json
import logging
import re
import signal
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import IO

from adabkb_client import Answer, Conflict, LeasedTrial, Trial
from adabkb_client._calls import read_trial
from adabkb_client._records import decode
from adabkb_client._run import run_state
from adabkb_client._run.evaluation import Expected, Result
from adabkb_client._trial_calls import printable
from adabkb_service.cli import program
from adabkb_service.cli.processes import Output, ProcessGroup, drain
from adabkb_service.cli.report_reader import ReportReader

log = logging.getLogger("adabkb.run")

RELEASE = 75
"""The exit code with which a program releases its trial: EX_TEMPFAIL of sysexits.h."""
STOPS = [signal.Signals[name] for name in ("SIGHUP", "SIGINT", "SIGTERM") if name in signal.Signals.__members__]
"""Signals that stop the command and are forwarded to the programs. Windows has no SIGHUP."""
TRIAL_FINISHED, RESULT_CONFLICT = "trial_finished", "result_conflict"
"""Codes of the refusal of an outcome because the trial has another outcome or another result."""
ENDED = ("completed", "failed", "stopped", "withdrawn")
"""States of trials that need no further outcome."""
MAX_PAUSE = 60.0
"""The maximum pause in seconds before the next trial, after programs have released one or several in a row."""
LAST_LINES = 10
REASON_LENGTH = 900


class ProgramFailed(Exception):
    """The program did not evaluate its trial; the message says why."""


class CaughtFailure(ProgramFailed):
    """A failure with an exit code of ``--catch``: it does not count towards ``--max-failures``."""


class Stopped(SystemExit):
    """The run ends at once; unfinished trials are released. ``code`` is the command's exit code,
    or an error message."""


@dataclass(frozen=True)
class Limits:
    """Time limits of a program, and how often it may release trials."""

    trial_timeout: float | None
    """Time limit of one evaluation in seconds."""
    grace: float
    """Seconds between SIGTERM and SIGKILL."""
    in_a_row: int
    """The number of consecutive released trials after which the run ends."""


@dataclass
class Programs:
    """Evaluates trials, in any number of threads, and forwards signals to the running programs."""

    command: Sequence[str]
    environment: Mapping[str, str]
    limits: Limits
    pattern: re.Pattern[str] | None
    logs: Path | None
    gpus: Sequence[str] = ()
    """CUDA devices; each program sees one of them. If empty, programs see those of the environment."""
    caught: Set[int] = frozenset()
    """Exit codes of failures that never stop the run."""
    expected: Expected | None = None
    """The result that the study expects; None for any result."""
    _has_succeeded: bool = False
    """Whether any trial has a result or was stopped. If so, unusable output fails one trial; otherwise it ends the
    run."""
    _running: set[ProcessGroup] = field(default_factory=set)
    _seen: Counter[str] = field(default_factory=Counter)
    """The number of running programs per device."""
    _stopped_by: int | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _released_in_a_row: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __call__(self, trial: LeasedTrial) -> program.Result | None:
        """Evaluate a trial.

        Returns:
            None if an outcome of the trial was reported; the result of a stopped trial, which may have metrics that its
            reports lack.

        Raises:
            ProgramFailed: the trial has failed.
            Stopped: a signal has stopped the command, or the program cannot be started.
        """
        begun = monotonic()
        with ExitStack() as open_:
            folder = Path(
                open_.enter_context(tempfile.TemporaryDirectory(prefix="adabkb-", ignore_cleanup_errors=True))
            )
            command = program.filled(self.command, trial.parameters)
            sink = self._sink(trial, command, open_)
            with self._started(command, trial, folder) as group:
                outputs = Output(group.stdout, sink), Output(group.stderr, sink)
                with ReportReader(trial, folder / program.REPORTS_FILE, group, self.limits.grace).reading():
                    code, timed_out = self._ended(group)
                drain(outputs)
            output, errors = (stream.text() for stream in outputs)
            if trial.should_stop:
                self._released_in_a_row, self._has_succeeded = 0, True
                return self._rest(code, folder, output)
            return self._outcome(trial, code, timed_out, folder, output, errors, begun)

    @contextmanager
    def forwarding_signals(self) -> Iterator[None]:
        """Inside the block, forward a signal that stops the command to the programs, and start no more trials. The run
        ends when the programs have ended and their results are stored or their trials released. A second signal, or the
        end of the grace period, kills the programs or, if none runs, ends the run at once."""
        before = {number: signal.getsignal(number) for number in (*STOPS, signal.SIGALRM)}
        for number in STOPS:
            if before[number] is not signal.SIG_IGN:  # under nohup, SIGHUP stays ignored
                signal.signal(number, self._stop)
        signal.signal(signal.SIGALRM, self._kill)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def check_running(self) -> None:
        """Do nothing unless a signal has stopped the command.

        Raises:
            Stopped: a signal has stopped the command.
        """
        if self._stopped_by is not None:
            raise Stopped(128 + self._stopped_by)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._stopped_by is not None:
            self._kill(number, frame)
            return
        with self._lock:
            self._stopped_by = number
            self._stopping.set()
            for group in self._running:
                group.send(number if self.limits.grace else signal.SIGKILL)
        try:
            run_state.stop()
        except RuntimeError:  # the run has not begun, or is over
            raise Stopped(128 + number) from None
        signal.setitimer(signal.ITIMER_REAL, self.limits.grace)

    def _kill(self, _: int, __: FrameType | None) -> None:
        with self._lock:
            for group in self._running:
                group.send(signal.SIGKILL)
            if not self._running:
                self.check_running()

    def _sink(self, trial: LeasedTrial, command: Sequence[str], open_: ExitStack) -> IO[bytes]:
        if self.logs is None:
            return sys.stderr.buffer
        path = self.logs / f"{trial.trial.study}-{trial.number}-{trial.trial.attempt}.log"
        try:
            file = open_.enter_context(path.open("ab", buffering=0))
        except OSError as error:
            raise Stopped(f"cannot write the log {path} ({error.strerror}); name another folder with --logs") from None
        file.write(f"$ {' '.join(command)}\n".encode())
        return file

    @contextmanager
    def _started(self, command: Sequence[str], trial: LeasedTrial, folder: Path) -> Iterator[ProcessGroup]:
        with (
            self._device() as seen,
            self._started_with(
                command, {**self.environment, **program.environment(trial, folder), **seen}, folder
            ) as group,
        ):
            yield group

    @contextmanager
    def _device(self) -> Iterator[dict[str, str]]:
        """Yield CUDA_VISIBLE_DEVICES with the device that has the fewest running programs; nothing without devices."""
        if not self.gpus:
            yield {}
            return
        with self._lock:
            device = min(self.gpus, key=lambda each: self._seen[each])
            self._seen[device] += 1
        try:
            yield {"CUDA_VISIBLE_DEVICES": device}
        finally:
            with self._lock:
                self._seen[device] -= 1

    @contextmanager
    def _started_with(
        self, command: Sequence[str], variables: Mapping[str, str], folder: Path
    ) -> Iterator[ProcessGroup]:
        with self._lock:  # a signal must reach every program
            self.check_running()
            try:
                group = ProcessGroup(command, variables, folder)
            except (OSError, ValueError) as error:
                raise Stopped(_not_started(command[0], error)) from None
            self._running.add(group)
        try:
            with group:
                yield group
        finally:
            with self._lock:
                self._running.discard(group)

    def _ended(self, group: ProcessGroup) -> tuple[int, bool]:
        """Wait for the end of the program; also return whether the timeout ended it."""
        over, timed_out = threading.Event(), threading.Event()

        def watch() -> None:
            if not over.wait(self.limits.trial_timeout):
                timed_out.set()
                group.send(signal.SIGTERM)
                if not over.wait(self.limits.grace):
                    group.send(signal.SIGKILL)

        if self.limits.trial_timeout is not None:
            threading.Thread(target=watch, daemon=True).start()
        try:
            return group.wait(), timed_out.is_set()
        finally:
            over.set()

    def _outcome(
        self, trial: LeasedTrial, code: int, timed_out: bool, folder: Path, output: str, errors: str, begun: float
    ) -> program.Result | None:
        if timed_out:
            self._fail(trial, f"no result after {self.limits.trial_timeout:g} s (--trial-timeout)")
            return None
        if code == 0:
            try:
                found = self._checked_result(program.result(folder, output, self.pattern))
            except (program.NoResult, program.NotFinite) as reason:
                self.check_running()
                if self._has_ended(trial):
                    return None
                if isinstance(reason, program.NoResult) and not self._has_succeeded:
                    raise Stopped(self._explained(trial, reason)) from None
                self._fail(trial, str(reason))
                return None
            self._released_in_a_row, self._has_succeeded = 0, True
            fields = found if isinstance(found, dict) else {"value": found}
            with self._noting_the_end(trial):
                trial.observe(**{"seconds": monotonic() - begun, **fields})
            return found if trial.should_stop else None
        self.check_running()
        end, lines = _described(code), _last_lines(errors)
        if code == RELEASE or _stopped_by_others(code):
            self._release(trial, f"{end}: {lines}" if lines and code == RELEASE else end)
            return None
        failure = CaughtFailure if code in self.caught else ProgramFailed
        self._fail(trial, f"{end}: {lines}" if lines else f"{end}, and nothing on standard error", failure)
        return None

    def _rest(self, code: int, folder: Path, output: str) -> program.Result | None:
        """Return the result of a program whose trial was stopped; None if it has none."""
        if code == 0:
            with suppress(program.NoResult, program.NotFinite):
                return program.result(folder, output, self.pattern)
        return None

    @contextmanager
    def _noting_the_end(self, trial: LeasedTrial) -> Iterator[None]:
        """Inside the block, the server may refuse an outcome because the program has reported another one itself, by a
        command or a request. Note that outcome.

        Raises:
            Conflict: the server refuses the outcome for another reason.
        """
        try:
            yield
        except Conflict as refused:
            if refused.code not in (TRIAL_FINISHED, RESULT_CONFLICT) or not self._has_ended(trial):
                raise
            if refused.code == RESULT_CONFLICT and not trial.should_stop:
                raise

    def _has_ended(self, trial: LeasedTrial) -> bool:
        """Whether the program has ended its trial itself, by a command or a request. If so, note the outcome."""
        study = trial._study
        found = decode(Trial, study._transport.perform(read_trial(study.id, trial.number)), study=study.id)
        if found.state not in ENDED or found.attempt != trial.trial.attempt:
            return False
        trial.outcome = Answer(study.info(), found)
        self._released_in_a_row, self._has_succeeded = 0, self._has_succeeded or found.state != "failed"
        return True

    def _checked_result(self, found: program.Result) -> program.Result:
        """Return the result if it has the study's metrics.

        Raises:
            NoResult: a metric is unknown or missing.
        """
        result = Result(**found) if isinstance(found, dict) else Result(found)
        mistake = None if self.expected is None else self.expected.mistake_of(result)
        if mistake is not None:
            raise program.NoResult(f"the result {json.dumps(found)} {mistake}")
        return found

    def _explained(self, trial: LeasedTrial, reason: Exception) -> str:
        expected = self.expected
        example = "" if expected is None else f"; {expected.of} takes a result such as {expected.example}"
        return f"trial {trial.number} has no result: {reason}{example}"

    def _fail(self, trial: LeasedTrial, reason: str, failure: type[ProgramFailed] = ProgramFailed) -> None:
        """Report a failure. If the program has ended the trial itself, only note how.

        Raises:
            ProgramFailed: the trial has failed.
        """
        self._released_in_a_row = 0
        with self._noting_the_end(trial):
            trial.fail(reason)
        if _state(trial) == "failed":
            raise failure(reason)

    def _release(self, trial: LeasedTrial, reason: str) -> None:
        with self._noting_the_end(trial):
            trial.release(printable(reason))
        if _state(trial) in ENDED:
            return
        with self._lock:
            self._released_in_a_row += 1
            times = self._released_in_a_row
        log.info("trial %d of study %r is released: %s", trial.number, trial.trial.study, reason)
        if times >= self.limits.in_a_row:
            raise Stopped(f"{times} trials in a row were released; reason of the last one: {reason}")
        # The server issues this trial next, so wait until the cause may be gone.
        self._stopping.wait(min(2.0 ** (times - 1), MAX_PAUSE))
        self.check_running()


def _state(trial: LeasedTrial) -> str | None:
    """Return the state of a trial whose outcome was reported."""
    return None if trial.outcome is None or trial.outcome.trial is None else trial.outcome.trial.state


def _not_started(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        remedy = "give its path, such as ./train.sh for a file in this folder"
    elif isinstance(error, PermissionError):
        remedy = f"make it executable: chmod +x {name}"
    else:
        remedy = f"if it is a script, give its interpreter first: sh {name}"
    cause = getattr(error, "strerror", None) or error
    return f"cannot start the program {name!r} ({cause}); {remedy}"


def _described(code: int) -> str:
    """Describe how a program ended."""
    if code < 0:
        with suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"exit code {code}"


def _stopped_by_others(code: int) -> bool:
    """Whether an external signal ended the program, such as one from a batch system to all processes of a job.
    A shell then exits with a code above 128."""
    return any(code in (-number, 128 + number) for number in STOPS)


def _last_lines(text: str) -> str:
    lines = deque((line.rstrip() for line in text.splitlines() if line.strip()), LAST_LINES)
    return "\n".join(lines)[-REASON_LENGTH:]
