"""docs/integrations.md and the examples work as shown."""

from __future__ import annotations

import gc
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adabkb_client._http.transport import Transport
from tests.acceptance.examples.programs import finish, start
from tests.acceptance.examples.test_examples import printed

GUIDE = Path(__file__).parents[3] / "docs" / "integrations.md"

pytestmark = pytest.mark.long


@pytest.mark.filterwarnings("ignore:The ``noload`` loader")  # MLflow's use of SQLAlchemy
def test_code_of_the_guide_runs_from_top_to_bottom(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADABKB_URL", server)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("RAY_ADDRESS", "local")  # not the cluster of test_ray, which may run at the same time
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    try:
        for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
            exec(block, names)
    finally:
        # A script closes them at its end; here, a later test would get warnings about their connections.
        for transport in [found for found in gc.get_objects() if type(found) is Transport]:
            transport.close()
    assert names["results"].num_errors == 0  # type: ignore[attr-defined]
    assert names["study"].best_value < 0.5  # type: ignore[attr-defined]
    assert names["search"].best_score_ > 0.97  # type: ignore[attr-defined]


def test_optuna_example_tunes_the_better_model() -> None:
    output = printed("examples/optuna_digits.py", "16")
    found = re.search(r"best of 16 trials: (0\.\d+) at \{'model': 'svm'", output)
    assert found
    assert float(found[1]) > 0.97


def test_scikit_learn_example_beats_the_random_search() -> None:
    output = printed("examples/sklearn_diabetes.py", "30")
    ours, random = re.findall(r"SearchCV: R2 (0\.\d+) at", output)
    assert float(ours) > float(random)


def test_constraint_example_satisfies_its_constraint() -> None:
    output = printed("examples/constrained_network.py", "8")
    weights = [int(found) for found in re.findall(r"(\d+) weights", output)]
    assert len(weights) == 8
    assert max(weights) <= 5000
    assert re.search(r"best of 8 trials: 0\.\d+ at", output)


def test_mlflow_example_nests_its_trials_in_a_run(server: str, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    output = printed("examples/mlflow_digits.py", "3", uri, ADABKB_URL=server)
    assert re.search(r"best of 3 trials: 0\.\d+; mlflow ui --backend-store-uri " + uri, output)
    with closing(sqlite3.connect(f"{tmp_path}/mlflow.db")) as connection:
        nested = "SELECT count(*) FROM tags WHERE key = 'mlflow.parentRunId'"
        assert connection.execute(nested).fetchone() == (3,)


def test_wandb_example_creates_a_run_for_each_trial(server: str, tmp_path: Path) -> None:
    output = finish(
        start("examples/wandb_digits.py", "3", ADABKB_URL=server, WANDB_MODE="offline", WANDB_DIR=str(tmp_path))
    )
    assert "best of 3 trials: 0." in output
    assert len(list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))) == 3
