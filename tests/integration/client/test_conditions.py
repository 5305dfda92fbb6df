"""Conditional parameters through the client: definition, run, import, figures and notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from adabkb_client import Bool, Categorical, Client, Fixed, Float, Int, Invalid, Ordinal, Parameter
from adabkb_integrations.optuna import to_optuna, to_server

SPACE: dict[str, Parameter] = {
    "optimizer": Categorical(["sgd", "adam"]),
    "momentum": Float(0, 1, when={"optimizer": ["sgd"]}),
    "nesterov": Bool(when={"optimizer": ("sgd",)}),
    "delay": Int(1, 9, when={"nesterov": [True]}),
    "size": Ordinal(["S", "L"], when={"optimizer": ["adam"]}),
    "decay": Categorical([None, "step"], when={"size": ["L"], "optimizer": ["adam"]}),
    "eps": Fixed(1e-8, when={"optimizer": ["adam"]}),
}


def loss(optimizer: str, momentum: float = 0.5, **_: object) -> float:
    return (optimizer == "adam") + (momentum - 0.3) ** 2


def test_a_run_calls_the_function_with_the_active_parameters(client: Client) -> None:
    study = client.create_study("when", SPACE, direction="minimize", budget=8, seed=1)
    assert study.info().parameters[1]["when"] == {"optimizer": ["sgd"]}
    with pytest.raises(TypeError, match=r"without momentum, nesterov, .* where they are inactive"):
        study.run(lambda optimizer, momentum, nesterov, delay, size, decay, eps: 0.0)  # noqa: ARG005
    assert study.run(loss).completed == 8
    points = [trial.parameters for trial in study.trials()]
    assert {frozenset(point) for point in points} >= {
        frozenset({"optimizer", "momentum", "nesterov"}),
        frozenset({"optimizer", "size", "eps"}),
    }
    for figure in (study.plot.slice(), study.plot.contour(), study.plot.parallel(), study.plot.leaves("delay")):
        assert figure.axes
    assert "None" not in study.recommendation()._repr_html_()
    cut = study.slice("delay", "momentum", points=3)
    assert (cut.at["optimizer"], cut.at["nesterov"]) == ("sgd", True)
    with pytest.raises(Invalid, match="never active together"):
        study.slice("delay", "size")


def test_a_trial_says_why_it_lacks_an_inactive_parameter(client: Client) -> None:
    study = client.create_study("inactive", SPACE, direction="minimize")
    study.queue({"optimizer": "adam", "size": "S"})
    with pytest.raises(
        KeyError, match=r"'momentum' is not a parameter of this trial; it has optimizer, size, eps\. .*when"
    ):
        study.run(lambda trial: float(trial.parameters["momentum"]), pass_trial=True)
    with study.trial() as trial:
        parameters = trial.parameters
        assert parameters == {"optimizer": "adam", "size": "S", "eps": 1e-8}
        assert json.loads(json.dumps(parameters)) == parameters
        assert parameters.get("momentum") is None
        with pytest.raises(AttributeError, match=r"no attribute 'params'; use trial\.parameters"):
            print(trial.params)  # type: ignore[attr-defined]
        trial.observe(0.5)


@pytest.mark.long
def test_results_come_back_from_a_table_and_from_optuna(client: Client, tmp_path: Path) -> None:
    study = client.create_study("from", SPACE, direction="minimize", budget=8, seed=1)
    study.run(loss)
    study.observe_many([{"parameters": {"optimizer": "adam", "size": "L", "decay": None}, "value": 2.0}])
    (tmp_path / "results.csv").write_text(study.export("csv"))
    results = [(dict(each.parameters), each.value) for each in study.observations()]
    again = client.create_study("again", SPACE, direction="minimize")
    report = again.import_results(tmp_path / "results.csv")
    assert report.errors == ()
    assert [(dict(each.parameters), each.value) for each in again.observations()] == results
    theirs = to_optuna(study)
    assert [trial.params for trial in theirs.get_trials(states=(optuna.trial.TrialState.COMPLETE,))] == [
        parameters for parameters, _ in results
    ]
    with pytest.raises(ValueError, match="do not contain the conditions"):
        to_server(theirs, client, "refused")
    assert client.create_study("third", SPACE, direction="minimize").import_results(theirs).stored == len(results)
    extra = optuna.create_study()
    params = {"optimizer": "adam", "momentum": 0.5}
    ranges = {"optimizer": CategoricalDistribution(["sgd", "adam"]), "momentum": FloatDistribution(0, 1)}
    extra.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, value=1.0))
    errors = again.import_results(extra, dry_run=True).errors
    assert {each.field: each.problem.partition(",")[0] for each in errors} == {"size": "is missing; fill it in"}
