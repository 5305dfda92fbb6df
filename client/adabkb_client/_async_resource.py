"""The awaitable calls of a study; the methods in ``_async_study.py`` use them."""

from collections.abc import Mapping
from copy import copy
from typing import Literal, Self, overload

from adabkb_client._async_study_methods import AsyncStudyMethods
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._models import Parameters, Trial
from adabkb_client._study_calls import StudyCalls


class AsyncStudyResource(AsyncStudyMethods):
    """The awaitable calls of one study."""

    def __init__(self, transport: AsyncTransport, study_id: str) -> None:
        self.id = study_id
        self._transport = transport
        self._calls = StudyCalls(study_id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    def with_options(
        self,
        *,
        timeout: float | None = None,
        retry_for: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return this study with other options of its calls, such as ``study.with_options(timeout=5).suggest()``.

        Args:
            timeout: seconds to wait for an answer. For each argument, None keeps the current value.
            retry_for: seconds for which a call is retried; 0 means no retries.
            headers: sent in addition to those of the client.
        """
        changed = copy(self)
        changed._transport = self._transport.with_options(timeout, retry_for, headers)
        return changed

    @overload
    async def suggest(
        self,
        count: None = None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: None = None,
        wait: float = 0.0,
    ) -> Trial: ...
    @overload
    async def suggest(
        self,
        count: int,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
    ) -> list[Trial]: ...
    @overload
    async def suggest(
        self,
        count: None = None,
        *,
        plate: Literal["open", "new"],
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> list[Trial]: ...
    async def suggest(
        self,
        count: int | None = None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
    ) -> Trial | list[Trial]:
        """Lease a trial or, with ``count`` or ``plate``, a list of trials: see ``Study.suggest``."""
        is_single = count is None and plate is None
        steps = self._calls.suggest(
            1 if is_single else count,
            worker=worker,
            lease_seconds=lease_seconds,
            fixed=fixed,
            context=context,
            plate=plate,
            wait=wait,
        )
        trials = await self._transport.perform(steps)
        return trials[0] if is_single else trials
