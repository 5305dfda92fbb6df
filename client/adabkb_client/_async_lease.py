"""A trial leased by an ``async with`` block. Its calls are awaited, and a task renews the lease."""

import asyncio
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, SupportsFloat, SupportsIndex

from adabkb_client._leased import RENEW_AGAIN, RENEW_AT, Leased, printable
from adabkb_client._models import Answer, Parameters, Trial
from adabkb_client._plain import Numbers
from adabkb_client._report_calls import report_of
from adabkb_client.errors import AdaBKBError, Conflict

if TYPE_CHECKING:
    from adabkb_client._async_resource import AsyncStudyResource

log = logging.getLogger("adabkb_client")


class AsyncLeasedTrial(Leased):
    """A trial to evaluate in an ``async with study.trial()`` block. A task renews its lease."""

    def __init__(self, study: "AsyncStudyResource", trial: Trial) -> None:
        super().__init__(trial)
        self._study = study

    async def annotate(self, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of the trial by name, or remove those that are None: see ``Study.annotate``."""
        answer = await self._study.annotate(self, attributes)
        self._set_here(answer)
        return answer

    async def report(self, step: SupportsIndex, value: SupportsFloat, cost: SupportsFloat | None = None) -> bool:
        """Report an intermediate value, and return whether the trial is stopped. If it is, end the evaluation. The
        return value of the function is then ignored, except for metrics if the rule "patience" stopped the trial.

        While the server is down, reports wait in memory, the trial continues, and the next call sends them all.

        Args:
            step: number of steps done so far; larger than in the previous report.
            value: value of the objective after this step; a finite number.
            cost: what the evaluation has cost so far, in a study with ``cost="told"``.
        """
        return await self._study._deliver_reports(self, [report_of(step, value, cost)])

    async def observe(
        self,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
    ) -> Answer:
        """Report the result: see ``Study.observe``."""
        if self.unsent and await self._study._deliver_reports(self) and self.outcome is not None:
            return self.outcome
        return await self._study.observe(
            self,
            value,
            std_error=std_error,
            parameters=parameters,
            metrics=metrics,
            std_errors=std_errors,
            partial=partial,
        )

    async def fail(self, reason: str) -> Answer:
        """Report that the trial cannot be evaluated."""
        return await self._study.fail(self, printable(reason))

    async def release(self) -> Answer:
        """Release the trial without a result."""
        return await self._study.release(self)

    async def withdraw(self, reason: str | None = None) -> Answer:
        """Decline the trial: nobody is to evaluate its point."""
        return await self._study.withdraw(self, reason)

    async def __aenter__(self) -> Self:
        self._keeper = asyncio.create_task(self._keep(), name=f"lease-{self.number}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeper.cancel()
        try:
            await self._study._settle(self, error)
        except AdaBKBError as refusal:
            # The block's own exception must not be replaced by this one.
            log.warning("trial %d of study %r: %s", self.number, self._study.id, refusal)
        await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        """Renew the lease until the block ends, or until another worker holds the trial."""
        lease = self.trial.lease_seconds
        pause = RENEW_AT * lease
        while True:
            await asyncio.sleep(pause)
            try:
                await self._study.heartbeat(self.trial)
                pause = RENEW_AT * lease
            except Conflict as lost:
                log.info("trial %d of study %r: %s", self.number, self._study.id, lost.detail)
                return
            except AdaBKBError as error:
                log.warning("trial %d of study %r: lease not renewed: %s", self.number, self._study.id, error)
                pause = RENEW_AGAIN * lease
