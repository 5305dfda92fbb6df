"""The callback. It uses MLflow's client rather than the active run, because the active run belongs to one thread, and
callbacks run in other threads."""

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
"""Characters that MLflow does not allow in names of parameters."""


class MLflowCallback:
    """Logs each trial that a run of a study has finished as an MLflow run.

    The MLflow run is named after the study and the trial, and has the duration of the evaluation. It has the
    parameters, the value as a metric, ``std_error`` if known, and the tags ``adabkb.study``, ``adabkb.trial`` and
    ``adabkb.state``. A failed trial is a run in the state FAILED with the tag ``adabkb.reason``. If an MLflow run is
    active when the callback is created, the trials are nested in it.

    Args:
        tracking_uri: where to store the runs; by default MLflow's own setting.
        experiment: the name of the experiment, which is created if it does not exist; by default that of the active
            run, or else MLflow's own setting.
        metric: the name of the value as a metric.
        tags: further tags of each run.

    Raises:
        MlflowException: the experiment can be neither found nor created.
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
            self._experiment = self._experiment_id(experiment)
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

    def _experiment_id(self, experiment: str) -> str:
        found = self._client.get_experiment_by_name(experiment)
        return self._client.create_experiment(experiment) if found is None else found.experiment_id


def _tags(trial: Trial) -> dict[str, str]:
    reason = {} if trial.reason is None else {"adabkb.reason": trial.reason}
    return {"adabkb.study": trial.study, "adabkb.trial": str(trial.number), "adabkb.state": trial.state, **reason}


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
