"""The blocking calls of a study; the methods in ``_study.py`` use them."""

from collections.abc import Mapping
from copy import copy
from typing import Literal, Self, overload

from adabkb_client._http.transport import Transport
from adabkb_client._models import Parameters, Trial
from adabkb_client._study_calls import StudyCalls
from adabkb_client._study_methods import StudyMethods


class StudyResource(StudyMethods):
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
        whose lease expired, come first, in a separate list.

        Args:
            count: the maximum number of trials. None means a single trial, not a list, or, with ``plate``, all trials
                of the plate, up to 100.
            worker: a name for this worker; by default the host and the process.
            lease_seconds: the duration of the lease; by default the study's.
            fixed: values of parameters to fix, such as ``{"machine": "B"}``; the server chooses the others.
            context: the current values of all context parameters, such as ``{"humidity": 0.4}``, if the study has any.
            plate: in a study with plates, "open" for the rest of the last plate or, if that is full, for the next one;
                "new" for a new plate.
            wait: seconds, up to 60, that the server may wait if there is no trial at once.

        Raises:
            Invalid: a value is outside its parameter's range, the context does not fit the study, the algorithm cannot
                fix parameters, or the study has no plates.
            StudyComplete: the study will issue no more trials.
            NoTrialAvailable: there is no trial now, even after ``wait`` seconds.
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
