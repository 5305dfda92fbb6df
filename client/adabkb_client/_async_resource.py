"""The awaitable calls of a study; the methods in ``_async_study.py`` use them."""

from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, overload

from adabkb_client._calls import Listing, Steps, documented
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._items import AsyncItems, as_it_is
from adabkb_client._models import Parameters, Trial
from adabkb_client._study_calls import StudyCalls

P = ParamSpec("P")
T = TypeVar("T")


def awaited(
    steps: Callable[Concatenate[StudyCalls, P], Steps[T]],
    *,
    has_files: bool = False,
) -> Callable[Concatenate["AsyncStudyResource", P], Coroutine[Any, Any, T]]:
    """Turn a procedure into an async method with the same arguments and docstring. A procedure that reads files runs in
    threads."""

    async def method(self: "AsyncStudyResource", /, *args: P.args, **kwargs: P.kwargs) -> T:
        perform = self._transport.perform_in_threads if has_files else self._transport.perform
        return await perform(steps(self._calls, *args, **kwargs))

    documented(method, steps)
    return method


def listed(
    listing: Callable[Concatenate[StudyCalls, P], Listing[T]],
) -> Callable[Concatenate["AsyncStudyResource", P], AsyncItems[T]]:
    """Turn a listing into a method that returns a list, which is read page by page when needed."""

    def method(self: "AsyncStudyResource", /, *args: P.args, **kwargs: P.kwargs) -> AsyncItems[T]:
        return AsyncItems(self._transport, listing(self._calls, *args, **kwargs), as_it_is)

    documented(method, listing, AsyncItems)
    return method


class AsyncStudyResource:
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

    info = awaited(StudyCalls.info)
    best = awaited(StudyCalls.best)
    update = awaited(StudyCalls.update)
    change_catalogue = awaited(StudyCalls.change_catalogue)
    pause = awaited(StudyCalls.pause)
    resume = awaited(StudyCalls.resume)
    delete = awaited(StudyCalls.delete)

    access = awaited(StudyCalls.access)
    share = awaited(StudyCalls.share)
    unshare = awaited(StudyCalls.unshare)
    give = awaited(StudyCalls.give)
    link = awaited(StudyCalls.link)
    links = listed(StudyCalls.links)
    unlink = awaited(StudyCalls.unlink)

    files = listed(StudyCalls.files)
    add_file = awaited(StudyCalls.add_file, has_files=True)
    read_file = awaited(StudyCalls.read_file)
    remove_file = awaited(StudyCalls.remove_file)

    webhooks = awaited(StudyCalls.webhooks)
    add_webhook = awaited(StudyCalls.add_webhook)
    change_webhook = awaited(StudyCalls.change_webhook)
    remove_webhook = awaited(StudyCalls.remove_webhook)

    observe = awaited(StudyCalls.observe)
    add_result = awaited(StudyCalls.add_result)
    observe_many = awaited(StudyCalls.observe_many)
    fail = awaited(StudyCalls.fail)
    heartbeat = awaited(StudyCalls.heartbeat)
    release = awaited(StudyCalls.release)
    _settle = awaited(StudyCalls.settle)
    report = awaited(StudyCalls.report)
    report_many = awaited(StudyCalls.report_many)
    _deliver_reports = awaited(StudyCalls.deliver_reports)
    curve = listed(StudyCalls.curve)
    retry = awaited(StudyCalls.retry)
    retry_failed = awaited(StudyCalls.retry_failed)
    annotate = awaited(StudyCalls.annotate)
    queue = awaited(StudyCalls.queue)
    repeat = awaited(StudyCalls.repeat)
    trials = listed(StudyCalls.trials)
    why = awaited(StudyCalls.why)

    observations = listed(StudyCalls.observations)
    correct = awaited(StudyCalls.correct)
    exclude = awaited(StudyCalls.exclude)
    include = awaited(StudyCalls.include)
    import_results = awaited(StudyCalls.import_results, has_files=True)
    recommendation = awaited(StudyCalls.recommendation)
    front = awaited(StudyCalls.front)
    predict = awaited(StudyCalls.predict)
    importance = awaited(StudyCalls.importance)
    validation = awaited(StudyCalls.validation)
    assessment = awaited(StudyCalls.assessment)
    slice = awaited(StudyCalls.slice)

    model = awaited(StudyCalls.model)
    tree = listed(StudyCalls.tree)
    partition = listed(StudyCalls.partition)
    dictionary = listed(StudyCalls.dictionary)
    events = listed(StudyCalls.events)
    export = awaited(StudyCalls.export)
    export_excel = awaited(StudyCalls.export_excel)
    export_report = awaited(StudyCalls.export_report)

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
