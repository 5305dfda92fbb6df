"""Studies from Optuna to a server and back, with the real Optuna."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from adabkb_client import Categorical, Client, Conflict, Fixed, Float, Int, Ordinal, Parameter
from adabkb_integrations.optuna import to_optuna, to_server

pytestmark = pytest.mark.usefixtures("quiet_optuna")


def objective(trial: optuna.Trial) -> float:
    """One parameter of every kind. Trial 2 fails, 3 is pruned, 4 is infinite."""
    x = trial.suggest_float("x", -1, 1)
    trial.suggest_float("rate", 1e-4, 1, log=True)
    trial.suggest_float("drop", 0, 0.5, step=0.25)
    trial.suggest_int("depth", 1, 9, step=2)
    trial.suggest_int("units", 8, 512, log=True)
    trial.suggest_categorical("kind", [None, "relu", True, 0.5])
    trial.suggest_categorical("deep", [True, False])
    trial.suggest_float("same", 0.5, 0.5)
    if trial.number in (2, 3):
        raise optuna.TrialPruned if trial.number == 3 else ValueError
    return float("inf") if trial.number == 4 else x


def test_results_survive_a_round_trip(client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    theirs = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    theirs.optimize(objective, n_trials=12, catch=ValueError)
    study = to_server(theirs, client, "there", budget=5)
    assert "trial 4, value: must be finite" in caplog.text
    counts = study.info().counts
    assert (counts.observations, counts.trials, counts.own_failures) == (9, 1, 1)
    to_server(theirs, client, "there", budget=5)
    assert study.info().counts == counts, "it can be repeated"
    back = to_optuna(study, storage=f"sqlite:///{tmp_path}/optuna.db")
    sent = [trial for trial in theirs.trials if trial.state == TrialState.COMPLETE and trial.number != 4]
    complete = back.get_trials(states=[TrialState.COMPLETE])
    assert [trial.value for trial in complete] == [trial.value for trial in sent]
    assert [trial.params for trial in complete] == [trial.params for trial in sent]
    [failed] = back.get_trials(states=[TrialState.FAIL])
    assert failed.params == theirs.trials[2].params
    assert back.best_value == max(trial.value or 0 for trial in sent)
    kept = {name: each for name, each in sent[0].distributions.items() if name not in ("deep", "same")}
    assert kept.items() <= complete[0].distributions.items()
    assert to_server(back, client, "again").info().parameters[:-2] == study.info().parameters[:-2]
    with pytest.raises(ValueError, match="the storage has a study 'there' already; give another study_name="):
        to_optuna(study, storage=f"sqlite:///{tmp_path}/optuna.db")
    opposite = optuna.create_study(direction="minimize")
    opposite.add_trials(sent)
    with pytest.raises(Conflict, match="direction"):
        to_server(opposite, client, "there")


def test_server_trials_become_optuna_trials(client: Client) -> None:
    parameters: dict[str, Parameter] = {
        "x": Float(0, 1, step=0.3),
        "n": Int(1, 10, step=4),
        "units": Int(8, 512, log=True),
        "width": Ordinal([16, 64]),
        "layers": Categorical([(64,), (64, 64)]),
        "data": Fixed("iris"),
    }
    study = client.create_study("ours", parameters, direction="minimize", seed=1)
    first, second, third = study.suggest(3)
    study.observe(second, 0.25, std_error=0.5)
    study.fail(first, "out of memory")
    study.observe(third, 9.0)
    study.annotate(second, {"host": "n1"})
    study.exclude(2)
    point = {"x": 0.6, "n": 5, "units": 9, "width": 64, "layers": (64, 64), "data": "iris"}
    study.add_result(point, -1.0)
    made = to_optuna(study, study_name="theirs")
    assert (made.study_name, made.direction.name) == ("theirs", "MINIMIZE")
    complete, failed, nobodys = made.trials
    assert complete.user_attrs == {"host": "n1", "adabkb:trial": 2, "adabkb:std_error": 0.5}
    assert complete.duration is not None
    assert (failed.state, failed.user_attrs) == (TrialState.FAIL, {"adabkb:trial": 1, "adabkb:reason": "out of memory"})
    assert nobodys.params == {**point, "layers": "[64, 64]"}
    assert made.best_trial.number == nobodys.number
    assert nobodys.distributions == {
        "x": FloatDistribution(0, 0.9, step=0.3),
        "n": IntDistribution(1, 9, step=4),
        "units": IntDistribution(8, 512, log=True),
        "width": CategoricalDistribution((16, 64)),
        "layers": CategoricalDistribution(("[64]", "[64, 64]")),
        "data": CategoricalDistribution(("iris",)),
    }


def test_unsupported_optuna_studies_are_rejected_with_a_remedy(client: Client) -> None:
    def conditional(trial: optuna.Trial) -> float:
        deep = trial.suggest_categorical("deep", [True, False])
        return trial.suggest_float("x", 0, 1) + (trial.suggest_int("layers", 1, 8) if deep else 0)

    def growing(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1 + trial.number)

    branching = optuna.create_study()
    for deep in (True, False, False):
        branching.enqueue_trial({"deep": deep})
    branching.optimize(conditional, n_trials=3)
    with pytest.raises(ValueError, match=r"of 3 complete trials 2 have deep, x; 1 have deep, layers, x. Create the"):
        to_server(branching, client, "no")
    part = optuna.create_study()
    part.add_trials([trial for trial in branching.trials if "layers" not in trial.params])
    assert to_server(part, client, "part").info().counts.observations == 2, "as the message suggests"
    moving = optuna.create_study()
    moving.optimize(growing, n_trials=2)
    with pytest.raises(
        ValueError, match=r"'x' has 2 in this study: FloatDistribution\(high=1.0, .* and FloatDistribution\(high=2.0"
    ):
        to_server(moving, client, "no")
    with pytest.raises(ValueError, match="only a study with one objective can be imported, but this one has 2"):
        to_server(optuna.create_study(directions=["minimize", "minimize"]), client, "no")
    with pytest.raises(ValueError, match="no complete trial"):
        to_server(optuna.create_study(), client, "no")
    assert [study.id for study in client.studies()] == ["part"]
