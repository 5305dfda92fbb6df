"""The blocking calls of a study; the methods in ``_study.py`` use them."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Concatenate, Literal, ParamSpec, Self, TypeVar, overload

from adabkb_client._calls import Listing, Steps, documented
from adabkb_client._http.transport import Transport
from adabkb_client._items import Items, as_it_is
from adabkb_client._models import Parameters, Trial
from adabkb_client._study_calls import StudyCalls

P = ParamSpec("P")
T = TypeVar("T")


def performed(
    steps: Callable[Concatenate[StudyCalls, P], Steps[T]],
) -> Callable[Concatenate["StudyResource", P], T]:
    """Turn a procedure into a method with its arguments and its docstring."""

    def method(self: "StudyResource", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._transport.perform(steps(self._calls, *args, **kwargs))

    documented(method, steps)
    return method


def listed(
    listing: Callable[Concatenate[StudyCalls, P], Listing[T]],
) -> Callable[Concatenate["StudyResource", P], Items[T]]:
    """Turn a listing into a method that returns a lazy list."""

    def method(self: "StudyResource", /, *args: P.args, **kwargs: P.kwargs) -> Items[T]:
        return Items(listing(self._calls, *args, **kwargs), as_it_is, self._transport)

    documented(method, listing, Items)
    return method


class StudyResource:
    """The calls of one study."""

    def __init__(self, transport: Transport, study_id: str) -> None:
        self.id = study_id
        self._transport = transport
        self._calls = StudyCalls(study_id)

    def __repr__(self) -> str:
        return f"<Study {self.id!r}>"

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

    info = performed(StudyCalls.info)
    best = performed(StudyCalls.best)
    update = performed(StudyCalls.update)
    _edit_space = performed(StudyCalls._edit_space)
    change_catalogue = performed(StudyCalls.change_catalogue)
    pause = performed(StudyCalls.pause)
    resume = performed(StudyCalls.resume)
    delete = performed(StudyCalls.delete)

    access = performed(StudyCalls.access)
    share = performed(StudyCalls.share)
    unshare = performed(StudyCalls.unshare)
    give = performed(StudyCalls.give)
    link = performed(StudyCalls.link)
    links = listed(StudyCalls.links)
    unlink = performed(StudyCalls.unlink)

    files = listed(StudyCalls.files)
    add_file = performed(StudyCalls.add_file)
    read_file = performed(StudyCalls.read_file)
    remove_file = performed(StudyCalls.remove_file)

    webhooks = performed(StudyCalls.webhooks)
    add_webhook = performed(StudyCalls.add_webhook)
    change_webhook = performed(StudyCalls.change_webhook)
    remove_webhook = performed(StudyCalls.remove_webhook)

    observe = performed(StudyCalls.observe)
    add_result = performed(StudyCalls.add_result)
    observe_many = performed(StudyCalls.observe_many)
    fail = performed(StudyCalls.fail)
    heartbeat = performed(StudyCalls.heartbeat)
    release = performed(StudyCalls.release)
    _settle = performed(StudyCalls.settle)
    report = performed(StudyCalls.report)
    report_many = performed(StudyCalls.report_many)
    _deliver_reports = performed(StudyCalls.deliver_reports)
    curve = listed(StudyCalls.curve)
    retry = performed(StudyCalls.retry)
    retry_failed = performed(StudyCalls.retry_failed)
    annotate = performed(StudyCalls.annotate)
    queue = performed(StudyCalls.queue)
    repeat = performed(StudyCalls.repeat)
    trials = listed(StudyCalls.trials)
    why = performed(StudyCalls.why)

    observations = listed(StudyCalls.observations)
    correct = performed(StudyCalls.correct)
    exclude = performed(StudyCalls.exclude)
    include = performed(StudyCalls.include)
    import_results = performed(StudyCalls.import_results)
    recommendation = performed(StudyCalls.recommendation)
    front = performed(StudyCalls.front)
    predict = performed(StudyCalls.predict)
    importance = performed(StudyCalls.importance)
    validation = performed(StudyCalls.validation)
    assessment = performed(StudyCalls.assessment)
    slice = performed(StudyCalls.slice)

    model = performed(StudyCalls.model)
    tree = listed(StudyCalls.tree)
    partition = listed(StudyCalls.partition)
    dictionary = listed(StudyCalls.dictionary)
    events = listed(StudyCalls.events)
    export = performed(StudyCalls.export)
    export_excel = performed(StudyCalls.export_excel)
    export_report = performed(StudyCalls.export_report)

    @overload
    def suggest(
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
    def suggest(
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
    def suggest(
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
    def suggest(
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
        """Lease a trial or, with ``count`` or ``plate``, a list of trials.

        In a study with plates, the trials of a list are on one plate. Trials of an earlier plate that were released, or
        whose lease expired, come first, and alone.

        Args:
            count: the maximum number of trials. With None, it is a single trial instead of a list or, with ``plate``,
                all trials of the plate, up to 100.
            worker: a name for this worker; by default the host and the process.
            lease_seconds: the duration of the lease; by default the study's.
            fixed: values of parameters to fix, such as ``{"machine": "B"}``; the server chooses the others.
            context: the current values of all context parameters, such as ``{"humidity": 0.4}``, if the study has any.
            plate: in a study with plates, "open" for the rest of the last plate or, if that is full, for the next one;
                "new" for a new plate.
            wait: seconds, up to 60, that the server may wait if there is no trial at once.

        Raises:
            Invalid: a value is outside its parameter's range, the context does not fit the study, the algorithm
                cannot fix parameters, or the study has no plates.
            StudyComplete: the study will issue no more trials.
            NoTrialAvailable: there is no trial now, or there was none during ``wait``.
        """
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
        trials = self._transport.perform(steps)
        return trials[0] if is_single else trials
