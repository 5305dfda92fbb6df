"""The callback with real MLflow and its SQLite stores."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.entities import Run

from adabkb_client import Client, Float, Study
from adabkb_integrations.mlflow import MLflowCallback

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader")  # MLflow's use of SQLAlchemy


@pytest.fixture(scope="module", autouse=True)
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Restore MLflow's settings after the tests."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"
    mlflow.set_tracking_uri(uri)
    yield uri
    mlflow.set_tracking_uri("")


@pytest.fixture(autouse=True)
def experiment(request: pytest.FixtureRequest) -> str:
    """What MLflow is set to."""
    mlflow.set_experiment(request.node.name)
    return str(request.node.name)


def runs(experiment: str, uri: str | None = None) -> list[Run]:
    """The runs in order."""
    client = mlflow.MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    assert found
    return list(reversed(client.search_runs([found.experiment_id])))


def evaluate(trial: Any) -> dict[str, float] | float:
    if trial.number == 2:
        raise ValueError("diverged")
    time.sleep(0.02)
    value: float = trial.parameters["x"]
    return {"value": value, "std_error": 0.5} if trial.number == 1 else value


def test_each_trial_is_a_run_with_its_parameters_value_and_status(study: Study, experiment: str) -> None:
    study.run(evaluate, n_trials=3, pass_trial=True, callbacks=[MLflowCallback(metric="accuracy", tags={"a": "b"})])
    first, failed, last = runs(experiment)
    trials = list(study.trials())
    assert [run.info.run_name for run in (first, failed, last)] == ["s-1", "s-2", "s-3"]
    assert first.data.params == {name: str(value) for name, value in trials[0].parameters.items()}
    assert first.data.metrics == {"accuracy": trials[0].value, "std_error": 0.5}
    assert last.data.metrics == {"accuracy": trials[2].value}
    tags = {"a": "b", "adabkb.study": "s", "adabkb.trial": "1", "adabkb.state": "completed"}
    assert tags.items() <= first.data.tags.items()
    assert (first.info.status, failed.info.status) == ("FINISHED", "FAILED")
    assert failed.data.tags["adabkb.reason"] == "ValueError: diverged"
    assert not failed.data.metrics
    assert first.info.end_time - first.info.start_time >= 20


@pytest.mark.long
def test_runs_are_nested_in_the_active_run(study: Study, experiment: str) -> None:
    with mlflow.start_run() as parent:
        study.run(lambda x, **_: x, n_trials=3, workers=2, callbacks=[MLflowCallback()])
        active = mlflow.active_run()
    assert active
    assert active.info.run_id == parent.info.run_id
    children = [run for run in runs(experiment) if run.info.run_id != parent.info.run_id]
    assert [run.data.tags["mlflow.parentRunId"] for run in children] == [parent.info.run_id] * 3


@pytest.mark.long
def test_store_and_experiment_can_be_named(study: Study, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/elsewhere.db"
    with mlflow.start_run():
        for _ in range(2):  # the second call finds the existing experiment
            study.run(lambda x, **_: x, n_trials=1, callbacks=[MLflowCallback(other, experiment="new")])
    assert mlflow.get_tracking_uri() != other
    found = runs("new", other)
    assert [run.data.tags["adabkb.trial"] for run in found] == ["1", "2"]
    assert not any("mlflow.parentRunId" in run.data.tags for run in found)


@pytest.mark.long
def test_names_that_mlflow_rejects_are_converted(client: Client, experiment: str) -> None:
    study = client.create_study("odd", {"α, β (%)": Float(0, 1), "b:c": Float(0, 1)}, direction="minimize")
    study.run(lambda **values: sum(values.values()), n_trials=1, callbacks=[MLflowCallback()])
    assert set(runs(experiment)[0].data.params) == {"α_ β ___", "b_c"}


def test_missing_mlflow_is_reported_with_the_package_to_install() -> None:
    program = "import sys; sys.modules['mlflow'] = None; import adabkb_integrations.mlflow"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'adabkb-service[mlflow]'")
