"""The callback. It uses MLflow's client, not the run that is active: callbacks are called in threads of their own, and
what is active belongs to a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import mlflow
from mlflow.entities import Metric, Param
from mlflow.tracking.fluent import _get_experiment_id
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from adabkb_client import Study, Trial
from adabkb_integrations.results import std_error

FORBIDDEN = re.compile(r"[^/\w.\- ]")
"""Characters that MLflow allows in no name of a parameter."""


class MLflowCallback:
    """Logs each trial that a run of a study has finished as a run of MLflow.

    The run is named after the study and the trial, and lasts as long as the evaluation did. It has the parameters, the
    value as a metric, ``std_error`` if that is known, and the tags ``adabkb.study``, ``adabkb.trial`` and
    ``adabkb.state``. A failed trial is a run in the state FAILED, and its reason is the tag ``adabkb.reason``. If a run
    of MLflow is active where the callback is made, the trials are nested in it.

    Args:
        tracking_uri: where the runs are stored; MLflow's own setting if not given.
        experiment: the name of their experiment, which is made if there is none. If not given, that of the active run,
            else the one that MLflow is set to.
        metric: the name of the value.
        tags: further tags of each run.

    Raises:
        MlflowException: the experiment can neither be found nor made.
    """

    def __init__(
        self,
        tracking_uri: str | None = None,
        experiment: str | None = None,
        metric: str = "value",
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self._client = mlflow.MlflowClient(tracking_uri)
        parent = mlflow.active_run() if tracking_uri in (None, mlflow.get_tracking_uri()) else None
        self._tags = {**(tags or {}), **({MLFLOW_PARENT_RUN_ID: parent.info.run_id} if parent else {})}
        if experiment is not None:
            self._experiment = self._named(experiment)
        else:
            self._experiment = parent.info.experiment_id if parent else str(_get_experiment_id())
        self._metric = metric

    def __call__(self, study: Study, trial: Trial) -> None:
        """Log a trial."""
        assert trial.finished_at is not None
        end = _milliseconds(trial.finished_at)
        run = self._client.create_run(
            self._experiment,
            start_time=_milliseconds(trial.started_at or trial.created_at),
            run_name=f"{study.id}-{trial.number}",
            tags={**self._tags, **_tags(trial)},
        )
        params = [Param(FORBIDDEN.sub("_", name), str(value)) for name, value in trial.parameters.items()]
        values = {self._metric: trial.value, "std_error": std_error(study, trial)}
        metrics = [Metric(name, value, end, 0) for name, value in values.items() if value is not None]
        self._client.log_batch(run.info.run_id, metrics, params)
        state = "FINISHED" if trial.state == "completed" else "FAILED"
        self._client.set_terminated(run.info.run_id, state, end)

    def _named(self, experiment: str) -> str:
        found = self._client.get_experiment_by_name(experiment)
        return self._client.create_experiment(experiment) if found is None else found.experiment_id


def _tags(trial: Trial) -> dict[str, str]:
    reason = {} if trial.reason is None else {"adabkb.reason": trial.reason}
    return {"adabkb.study": trial.study_id, "adabkb.trial": str(trial.number), "adabkb.state": trial.state, **reason}


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
