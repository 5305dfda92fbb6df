"""The callback. Each trial is a run, as in a sweep, so W&B's panels that compare runs show the study."""

from __future__ import annotations

from typing import Any

import wandb

from adabkb_client import Study, Trial
from adabkb_integrations.results import std_error


class WandbCallback:
    """Logs each trial that a run of a study has finished as a Weights & Biases run.

    The W&B run is named after the study and the trial, in a group named after the study. Its config has the parameters.
    It has the value as a metric, ``std_error`` if known, and in its summary ``adabkb/study``, ``adabkb/trial`` and
    ``adabkb/state``. A failed trial is a failed run with ``adabkb/reason``. An active run is not affected.

    Args:
        project: the project; by default W&B's own setting.
        metric: the name of the value as a metric.
        options: further arguments of ``wandb.init``, such as ``entity``, ``tags``, ``mode`` or ``dir``.
    """

    def __init__(self, project: str | None = None, metric: str = "value", **options: Any) -> None:
        self._metric = metric
        self._options = {"project": project, "settings": wandb.Settings(console="off", quiet=True), **options}

    def __call__(self, study: Study, trial: Trial) -> None:
        """Log a trial."""
        defaults = {"group": study.id, "name": f"{study.id}-{trial.number}", "job_type": "trial"}
        run = wandb.init(config=dict(trial.parameters), reinit="create_new", **{**defaults, **self._options})
        values = {self._metric: trial.value, "std_error": std_error(study, trial)}
        run.log({name: value for name, value in values.items() if value is not None})
        about = {"study": trial.study, "trial": trial.number, "state": trial.state, "reason": trial.reason}
        run.summary.update({f"adabkb/{name}": value for name, value in about.items() if value is not None})
        run.finish(exit_code=0 if trial.state == "completed" else 1)
