"""Objectives of Optuna, with its own trials' methods and pruning, evaluated for a study on a server."""

from __future__ import annotations

import optuna
import pytest
from optuna.trial import BaseTrial

from adabkb_client import Categorical, Client, Float, Parameter, PatienceRule
from adabkb_integrations.optuna import served
from adabkb_integrations.optuna.served import ServedTrial

pytestmark = pytest.mark.usefixtures("quiet_optuna")

STEPS = 6


def training(trial: BaseTrial) -> float:
    """As in Optuna's examples: it improves at each step, except for one kind."""
    rate = trial.suggest_float("rate", 1e-3, 1, log=True)
    kind = trial.suggest_categorical("kind", ["learns", "stands"])
    trial.set_user_attr("trained", kind)
    for step in range(1, STEPS + 1):
        trial.report(rate if kind == "stands" else rate / step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return rate / STEPS


def test_stop_rule_of_the_study_prunes_trials(client: Client) -> None:
    space: dict[str, Parameter] = {"rate": Float(1e-3, 1, log=True), "kind": Categorical(["learns", "stands"])}
    rule = PatienceRule(STEPS, no_gain_for=2)
    study = client.create_study("pruned", space, direction="minimize", budget=6, seed=1, early_stopping=rule)
    for kind in ("learns", "stands"):
        study.queue({"rate": 0.1, "kind": kind})
    report = study.run(served(training), pass_trial=True, progress=False)
    assert report.reason == "budget"
    found = {trial.number: trial for trial in study.trials()}
    for trial in found.values():
        is_pruned = trial.parameters["kind"] == "stands"
        assert trial.state == ("stopped" if is_pruned else "completed")
        assert trial.curve is not None
        assert trial.curve.step == (3 if is_pruned else STEPS)
        assert trial.attributes == {"trained": trial.parameters["kind"]}
    assert {trial.state for trial in found.values()} == {"stopped", "completed"}


def test_report_passes_the_cost_and_measured_values(client: Client) -> None:
    def costly(trial: BaseTrial) -> float:
        assert isinstance(trial, ServedTrial)
        rate = trial.suggest_float("rate", 0, 1)
        for step in range(1, STEPS + 1):
            trial.report(rate, step, cost=0.5 * step, parameters={"humidity": 0.1 * step})
            if trial.should_prune():
                raise optuna.TrialPruned
        return rate

    rule = PatienceRule(STEPS, no_gain_for=2)
    space: dict[str, Parameter] = {"rate": Float(0, 1), "humidity": Float(0, 1, context="measured")}
    study = client.create_study("c", space, direction="minimize", cost="told", early_stopping=rule)
    study.run(served(costly), pass_trial=True, n_trials=1, progress=False)
    (trial,) = study.trials()
    assert (trial.state, trial.metrics) == ("stopped", {"cost": 1.5})
    assert [each.parameters["humidity"] for each in study.observations()] == [0.1 * 3]


def test_trial_that_prunes_itself_fails_with_that_reason(client: Client) -> None:
    def gives_up(trial: BaseTrial) -> float:
        trial.suggest_float("x", 0, 1)
        raise optuna.TrialPruned("no disk left")

    study = client.create_study("own", {"x": Float(0, 1)}, direction="minimize", budget=1)
    study.run(served(gives_up), pass_trial=True, progress=False)
    (trial,) = study.trials()
    assert (trial.state, trial.reason) == ("failed", "TrialPruned: no disk left")
