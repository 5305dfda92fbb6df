"""A client generated from the OpenAPI document can run a study, and sends only the fields that its user sets."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.api.test_openapi import DOCUMENT
from tools.http_examples import DEFINITION


class Generated:
    """A generated package, its calls against one server, and its models."""

    def __init__(self, package: str, client: Any) -> None:
        self._package = package
        self._client = client
        self.models: Any = importlib.import_module(f"{package}.models")

    def call(self, operation: str, *path: Any, **arguments: Any) -> Any:
        """Call an operation, such as "studies.suggest", and return its parsed answer."""
        module = importlib.import_module(f"{self._package}.api.{operation}")
        return module.sync(*path, client=self._client, **arguments)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a package that openapi-python-client has generated without a warning."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(DOCUMENT))
    (folder / "config.yaml").write_text("post_hooks: []\n")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json"]
    options = ["--meta", "none", "--output-path", "generated_adabkb", "--config", "config.yaml", "--fail-on-warning"]
    made = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield "generated_adabkb"


@pytest.fixture
def generated(package: str, server: str) -> Iterator[Generated]:
    """The generated client of a server."""
    module: Any = importlib.import_module(f"{package}.client")
    with module.Client(server, raise_on_unexpected_status=True, timeout=60) as client:
        yield Generated(package, client)


@pytest.mark.long
def test_generated_client_has_every_operation(package: str) -> None:
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation["operationId"])
            assert importlib.import_module(f"{package}.api.{operation['tags'][0]}.{name}")


@pytest.mark.long
def test_generated_client_runs_a_study(generated: Generated) -> None:
    models, call = generated.models, generated.call
    study = call("studies.create_study", body=models.StudyDefinition.from_dict(DEFINITION))
    assert (study.id, study.budget, study.algorithm.profile) == ("svm", 60, "auto")
    assert call("studies.get_study", "svm") == study

    (trial,) = call("studies.suggest", "svm").trials  # without a body
    assert trial.parameters.additional_properties.keys() == {"C", "kernel"}
    result = models.TrialValueBody(trial=trial.number, value=0.9)
    assert call("observations.observe", "svm", body=result).observation.value == 0.9

    (listed,) = call("observations.list_observations", "svm").items
    assert (listed.trial, listed.value) == (trial.number, 0.9)
    assert [one.id for one in call("studies.list_studies").items] == ["svm"]

    assert call("studies.get_study", "nowhere").code == "study_not_found"
    assert call("studies.delete_study", "svm") is None
    assert call("studies.get_study", "svm").code == "study_not_found"


@pytest.mark.long
def test_generated_client_changes_only_the_given_fields(generated: Generated) -> None:
    """An earlier version overwrote the value of an observation with 0.0, and resumed a paused study."""
    models, call = generated.models, generated.call
    call("studies.create_study", body=models.StudyDefinition.from_dict({**DEFINITION, "lease_seconds": 60.0}))
    (trial,) = call("studies.suggest", "svm").trials
    call("observations.observe", "svm", body=models.TrialValueBody(trial=trial.number, value=0.9, std_error=0.1))

    call("observations.correct_observation", "svm", 1, body=models.CorrectionBody(excluded=True))
    (excluded,) = call("observations.list_observations", "svm").items
    assert (excluded.value, excluded.std_error, excluded.excluded) == (0.9, 0.1, True)
    call("observations.correct_observation", "svm", 1, body=models.CorrectionBody(value=0.8))
    (corrected,) = call("observations.list_observations", "svm").items
    assert (corrected.value, corrected.std_error, corrected.excluded) == (0.8, 0.1, True)

    call("studies.change_study", "svm", body=models.PatchStudyBody.from_dict({"state": "paused", "tags": {"a": "b"}}))
    changed = call("studies.change_study", "svm", body=models.PatchStudyBody(budget=40))
    assert (changed.state, changed.budget, changed.lease_seconds) == ("paused", 40, 60.0)
    assert changed.tags.to_dict() == {"a": "b"}
    lifted = call("studies.change_study", "svm", body=models.PatchStudyBody(budget=None))
    assert (lifted.state, lifted.budget) == ("paused", None)
