"""A leased trial with its methods in both clients, and the types of the functions that evaluate it. A thread or a task
renews its lease."""

import logging
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, SupportsFloat, SupportsIndex

from adabkb_client._hints import add_hints
from adabkb_client._records import Answer, Parameters, Trial
from adabkb_client._study_methods import Study
from adabkb_client._trial_calls import Leased, printable, report_of
from adabkb_client._values import Numbers
from adabkb_client.errors import AdaBKBError, Conflict

if TYPE_CHECKING:
    from adabkb_client._async_study_methods import AsyncStudy

log = logging.getLogger("adabkb_client")

Returned = SupportsFloat | Mapping[str, Any] | None
"""The value, or a dict with ``value``, ``std_error``, ``metrics`` and ``std_errors``; None if the function has reported
an outcome of the trial itself. For a stopped trial any value is allowed; from a dict, metrics that the result lacks are
added."""
Objective = Callable[..., Returned]
"""Takes the parameters by name, or the trial."""
AsyncObjective = Callable[..., Awaitable[Returned]]
"""An async function with the same arguments."""
Context = Parameters | Callable[[], Parameters] | None
"""Values of context parameters, or a function that returns the current ones."""

LEASE_SECONDS = 120.0
"""Default length of a renewed lease, short enough that the trial of a killed process is issued again soon."""
RENEW_AT = 1 / 3
"""Share of a lease after which it is renewed. The rest is time for retries."""
RENEW_AGAIN = 0.05
"""Share of a lease between retries of a renewal."""
KEEPER_SECONDS = 2.0
"""Seconds for which the end of a block waits for a renewal in progress."""


@add_hints
class LeasedTrial(Leased):
    """A trial to evaluate, in a ``with`` block or between ``start`` and ``close``.

    During this time, its lease is renewed. If an exception ends the block, the trial fails, with the exception's text
    as the reason. KeyboardInterrupt, SystemExit and programming errors (ImportError, NameError, SyntaxError, an invalid
    result) release the trial instead. The exception always propagates. If the result could not be delivered, the trial
    does not fail: its lease expires, and the server issues it again.

    The object can be pickled. A copy renews the lease only if it is started, too.
    """

    def __init__(self, study: Study, trial: Trial) -> None:
        super().__init__(trial)
        self._study = study
        self._over = threading.Event()
        self._keeper: threading.Thread | None = None

    def __reduce__(self) -> tuple[type[Self], tuple[Study, Trial]]:
        return type(self), (self._study, self.trial)

    def annotate(self, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of the trial by name, or remove those that are None: see ``Study.annotate``."""
        answer = self._study.annotate(self, attributes)
        self._set_here(answer)
        return answer

    def report(
        self,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        parameters: Parameters | None = None,
    ) -> bool:
        """Report an intermediate value, and return whether the trial is stopped. If it is, end the evaluation. The
        return value of the function is then ignored, except for metrics if the rule "patience" stopped the trial.

        While the server is down, reports wait in memory, the trial continues, and the next call sends them all.

        Args:
            step: number of steps done so far; larger than in the previous report.
            value: value of the objective after this step; a finite number.
            cost: what the evaluation has cost so far, in a study with ``cost="told"``.
            parameters: the values so far of the context parameters that are measured with the result.
        """
        return self._study._deliver_reports(self, [report_of(step, value, cost, parameters)])

    def observe(
        self,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        seconds: SupportsFloat | None = None,
    ) -> Answer:
        """Report the result: see ``Study.observe``."""
        if self._unsent and self._study._deliver_reports(self) and self.outcome is not None:
            return self.outcome
        return self._study.observe(
            self,
            value,
            std_error=std_error,
            parameters=parameters,
            metrics=metrics,
            std_errors=std_errors,
            partial=partial,
            seconds=seconds,
        )

    def fail(self, reason: str | None = None, *, seconds: SupportsFloat | None = None) -> Answer:
        """Report that the trial cannot be evaluated: see ``Study.fail``."""
        return self._study.fail(self, None if reason is None else printable(reason), seconds=seconds)

    def release(self, reason: str | None = None) -> Answer:
        """Release the trial without a result; the log keeps the reason."""
        return self._study.release(self, reason)

    def withdraw(self, reason: str | None = None) -> Answer:
        """Decline the trial: its point will not be evaluated."""
        return self._study.withdraw(self, reason)

    def start(self) -> Self:
        """Renew the lease from now on, in a thread, until ``close``."""
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name=f"lease-{self.number}", daemon=True)
            self._keeper.start()
        return self

    def close(self, error: BaseException | None = None) -> None:
        """Stop renewing the lease and, if no outcome was reported, report one as at the end of a block.

        Args:
            error: the exception that ended the evaluation. The trial fails, with the exception's text as the reason;
                KeyboardInterrupt, SystemExit and programming errors release it instead. Without an exception, the trial
                fails because it has no result. A second call does nothing.
        """
        if self._over.is_set():
            return
        self._over.set()
        try:
            self._study._settle(self, error)
        except AdaBKBError as refusal:
            # The block's own exception must not be replaced by this one.
            log.warning("trial %d of study %r: %s", self.number, self.trial.study, refusal)
        if self._keeper is not None:
            # Do not wait longer: a renewal that is being retried is no longer needed.
            self._keeper.join(KEEPER_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    def _keep(self) -> None:
        """Renew the lease until the block ends, or until another worker leases the trial."""
        lease = self.trial.lease_seconds
        pause = RENEW_AT * lease
        while not self._over.wait(pause):
            try:
                self._study.heartbeat(self.trial)
                pause = RENEW_AT * lease
            except Conflict as lost:
                self._note_lost_lease(lost)
                return
            except AdaBKBError as error:
                log.warning("trial %d of study %r: lease not renewed: %s", self.number, self.trial.study, error)
                pause = RENEW_AGAIN * lease


@add_hints
class AsyncLeasedTrial(Leased):
    """A trial to evaluate in an ``async with study.trial()`` block. A task renews its lease."""

    def __init__(self, study: "AsyncStudy", trial: Trial) -> None:
        super().__init__(trial)
        self._study = study

    async def annotate(self, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of the trial by name, or remove those that are None: see ``Study.annotate``."""
        answer = await self._study.annotate(self, attributes)
        self._set_here(answer)
        return answer

    async def report(
        self,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        parameters: Parameters | None = None,
    ) -> bool:
        """Report an intermediate value, and return whether the trial is stopped: see ``LeasedTrial.report``."""
        return await self._study._deliver_reports(self, [report_of(step, value, cost, parameters)])

    async def observe(
        self,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        seconds: SupportsFloat | None = None,
    ) -> Answer:
        """Report the result: see ``Study.observe``."""
        if self._unsent and await self._study._deliver_reports(self) and self.outcome is not None:
            return self.outcome
        return await self._study.observe(
            self,
            value,
            std_error=std_error,
            parameters=parameters,
            metrics=metrics,
            std_errors=std_errors,
            partial=partial,
            seconds=seconds,
        )

    async def fail(self, reason: str | None = None, *, seconds: SupportsFloat | None = None) -> Answer:
        """Report that the trial cannot be evaluated: see ``Study.fail``."""
        return await self._study.fail(self, None if reason is None else printable(reason), seconds=seconds)

    async def release(self, reason: str | None = None) -> Answer:
        """Release the trial without a result; the log keeps the reason."""
        return await self._study.release(self, reason)

    async def withdraw(self, reason: str | None = None) -> Answer:
        """Decline the trial: its point will not be evaluated."""
        return await self._study.withdraw(self, reason)

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 (the blocking client does without it)

        self._keeper = asyncio.create_task(self._keep(), name=f"lease-{self.number}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio  # noqa: PLC0415 (as above)

        self._keeper.cancel()
        try:
            await self._study._settle(self, error)
        except AdaBKBError as refusal:
            # The block's own exception must not be replaced by this one.
            log.warning("trial %d of study %r: %s", self.number, self.trial.study, refusal)
        await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        """Renew the lease until the block ends, or until another worker leases the trial."""
        import asyncio  # noqa: PLC0415 (as above)

        lease = self.trial.lease_seconds
        pause = RENEW_AT * lease
        while True:
            await asyncio.sleep(pause)
            try:
                await self._study.heartbeat(self.trial)
                pause = RENEW_AT * lease
            except Conflict as lost:
                self._note_lost_lease(lost)
                return
            except AdaBKBError as error:
                log.warning("trial %d of study %r: lease not renewed: %s", self.number, self.trial.study, error)
                pause = RENEW_AGAIN * lease


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Make SIGTERM raise SystemExit inside the block, so that leases are released before the process ends.

    This works only in the main thread, and only if the program has no handler for SIGTERM.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
