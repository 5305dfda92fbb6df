"""The search algorithm: a worker of a study whose trials Tune evaluates."""

from __future__ import annotations

import logging
import math
import pickle
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal, Unpack

from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import Searcher

from adabkb_client import (
    AdaBKBError,
    Client,
    Conflict,
    Direction,
    NoTrialAvailable,
    Parameter,
    ResultKept,
    Study,
    StudyComplete,
    StudySettings,
    Trial,
)
from adabkb_client._trial import RENEW_AT
from adabkb_integrations.ray.space import nested, parameters

log = logging.getLogger("adabkb_integrations")

DIRECTIONS: Mapping[str, Direction] = {"min": "minimize", "max": "maximize"}
SAVED = ("_metric", "_mode", "_parameters", "_open")
"""Fields to save, since Tune does not set them again when it restores an experiment."""
LEASE_SECONDS = 3600.0
"""Default duration of a lease."""
PAUSE = 1.0
"""Default number of seconds until the next request for a trial."""


@dataclass
class Open:
    """A trial that Tune evaluates."""

    trial: Trial
    renew_at: float
    value: float | None = None
    """The last reported value."""
    failed: bool = False
    """Whether the trial has failed. It is kept, since Tune may resume it when an experiment is restored."""


class AdaBKBSearch(Searcher):
    """Searches with a study on a server, which several experiments, clusters and other workers may share.

    The search space is the ``param_space`` of the Tuner, with its domains and parameters of ``adabkb_client``. If
    nothing in it varies, the study must exist. Tune's ``num_samples`` limits the experiment; the study's budget limits
    the study.

    The server's token is read from ADABKB_TOKEN where the Tuner runs, and never stored with the experiment.

    Args:
        study: the study's id; the study is created if it does not exist.
        metric: the name of the result; by default that of the Tuner.
        mode: "min" or "max"; by default that of the Tuner.
        url: the URL of the server; by default ADABKB_URL, or http://127.0.0.1:8000.
        settings: settings for creating the study, as in ``Client.create_study``: ``budget``, ``seed``, ``noise_std``...
            ``lease_seconds`` applies only to this search: how long a trial stays with Tune after its last report; by
            default an hour. If the experiment is killed, the trial is issued again after this time. It must exceed the
            longest time between two reports of a trial.
    """

    def __init__(
        self,
        study: str,
        metric: str | None = None,
        mode: Literal["min", "max"] | None = None,
        *,
        url: str | None = None,
        **settings: Unpack[StudySettings],
    ) -> None:
        super().__init__(metric, mode)
        self._name = study
        self._url = url
        self._lease_seconds = float(settings.pop("lease_seconds", LEASE_SECONDS))
        self._settings = settings
        self._parameters: dict[str, Parameter] = {}
        self._open: dict[str, Open] = {}
        self._study: Study | None = None
        self._ask_at = -math.inf

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the connection, which has the token, since Tune stores it with the experiment."""
        return {**vars(self), "_study": None, "_ask_at": -math.inf}

    def set_search_properties(self, metric: str | None, mode: str | None, config: Mapping[str, Any], **_: Any) -> bool:
        """Accept the Tuner's settings, and open the study.

        Raises:
            ValueError: a part of the search space has no counterpart, or the study has the opposite direction.
            Conflict: a study with this id and another definition exists.
            NotFound: nothing in the search space varies, and the study does not exist.
        """
        self._metric = metric or self._metric
        self._mode = mode or self._mode
        self._parameters = parameters(config)
        self._study = self._open_study()
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]  # Ray's type lacks FINISHED
        """Return parameters to evaluate; None if there are none now, FINISHED if there will be none.

        Raises:
            NoTrialAvailable: the study was paused after failures.
            ConnectionFailed: the server was down for too long.
        """
        if monotonic() < self._ask_at:
            return None
        try:
            trial = self._study_on_server.suggest(lease_seconds=self._lease_seconds)
        except StudyComplete:
            return Searcher.FINISHED
        except NoTrialAvailable as none:
            if none.reason == "failures" and all(each.failed for each in self._open.values()):
                raise
            self._ask_at = monotonic() + (none.retry_after or PAUSE)
            return None
        self._open[trial_id] = Open(trial, self._next_renewal())
        return nested(trial.parameters)

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Renew the lease of a trial."""
        evaluated = self._open.get(trial_id)
        if evaluated is None or evaluated.failed:
            return
        evaluated.value = result.get(self._measured, evaluated.value)
        if monotonic() >= evaluated.renew_at:
            self._renew(evaluated)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Report the last result, or the failure. A trial that was stopped before any result is released."""
        evaluated = self._open.get(trial_id) if error else self._open.pop(trial_id, None)
        if evaluated is None:
            return
        trial, value = evaluated.trial, (result or {}).get(self._measured, evaluated.value)
        try:
            if error:
                evaluated.failed = True
                self._study_on_server.fail(trial, f"trial {trial_id} of Ray Tune ended with an error")
            elif value is None and not result:
                self._study_on_server.release(trial)
            elif value is None or not math.isfinite(value):
                self._study_on_server.fail(trial, f"trial {trial_id} of Ray Tune has the {self._measured} {value}")
            else:
                if evaluated.failed:  # a failed attempt has no value unless it is evaluated again
                    self._study_on_server.retry(trial, "resumed by Ray Tune")
                self._study_on_server.observe(trial, value)
        except (Conflict, ResultKept) as refusal:  # another worker holds the trial, or the result is kept on disk
            log.warning("trial %d of study %r: %s", trial.number, self._name, refusal)

    def save(self, checkpoint_path: str) -> None:
        """Store the trials that Tune evaluates, and the Tuner's settings."""
        Path(checkpoint_path).write_bytes(pickle.dumps({name: vars(self)[name] for name in SAVED}))

    def restore(self, checkpoint_path: str) -> None:
        """Continue with the trials that Tune evaluated, and renew their leases."""
        stored = Path(checkpoint_path).read_bytes()
        vars(self).update(pickle.loads(stored))  # noqa: S301 (of the user's own experiment; Tune pickles there as well)
        for each in self._open.values():
            if not each.failed:
                self._renew(each)

    @property
    def _study_on_server(self) -> Study:
        """The study, opened on first use."""
        if self._study is None:
            self._study = self._open_study()
        return self._study

    @property
    def _measured(self) -> str:
        """The name of the result."""
        return self._metric or str(DEFAULT_METRIC)

    def _open_study(self) -> Study:
        if self._mode is None:
            raise ValueError("AdaBKBSearch needs mode='min' or mode='max', as an argument or in tune.TuneConfig")
        client, direction = Client(self._url), DIRECTIONS[self._mode]
        weakref.finalize(self, client.close)  # Tune does not report the end of the search
        if self._parameters:
            return client.create_study(self._name, self._parameters, direction=direction, **self._settings)
        study = client.study(self._name)
        if study.info().direction != direction:
            raise ValueError(f"study {self._name!r} does not {direction}; change mode")
        return study

    def _renew(self, evaluated: Open) -> None:
        evaluated.renew_at = self._next_renewal()
        try:
            self._study_on_server.heartbeat(evaluated.trial)
        except AdaBKBError as error:  # a later result is stored anyway
            log.warning("trial %d of study %r: lease not renewed: %s", evaluated.trial.number, self._name, error)

    def _next_renewal(self) -> float:
        return monotonic() + RENEW_AT * self._lease_seconds
