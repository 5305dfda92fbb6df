"""Scripts with Ax's interface on a real study: the meaning of its arguments, and refusals."""

from __future__ import annotations

import gc

import pytest

from adabkb_client import APIError
from adabkb_client import Client as StudyClient
from adabkb_integrations.ax import ChoiceParameterConfig, Client, RangeParameterConfig
from adabkb_integrations.wandb import sweep

PARAMETERS: list[RangeParameterConfig | ChoiceParameterConfig] = [
    RangeParameterConfig("rate", (1e-4, 1.0), "float", scaling="log"),
    RangeParameterConfig("layers", (1, 9), "int", step_size=2),
    ChoiceParameterConfig("units", [16, 32, 64], "int"),
    ChoiceParameterConfig("kind", ["a", "b"], "str"),
]


def test_parameters_objective_and_constraints_are_passed_to_the_study(server: str) -> None:
    with Client(server, budget=3, seed=1) as client:
        client.configure_experiment(parameters=PARAMETERS, name="s")
        client.configure_optimization(objective="-1 * loss", outcome_constraints=["latency <= 20", "memory >= 1e3"])
        info = client.study.info()
        assert [each["kind"] for each in info.parameters] == ["float", "int", "ordinal", "categorical"]
        assert info.direction == "minimize"
        assert [(each["metric"], each.get("lower"), each.get("upper")) for each in info.outcome_constraints] == [
            ("latency", None, 20.0),
            ("memory", 1000.0, None),
        ]
        trials = client.get_next_trials(max_trials=2)
        for number in trials:
            client.complete_trial(number, {"loss": (0.5 * number, 0.1), "latency": 3.0, "memory": (2e3, 1.0)})
        (last,) = client.get_next_trials(max_trials=5)
        client.mark_trial_failed(last)
        assert client.get_next_trials(max_trials=1) == {}
        assert [each.std_error for each in client.study.observations()] == [0.1, 0.1]
        best, predicted, trial, name = client.get_best_parameterization()
        assert (list(best), list(predicted), trial, name) == (list(trials[1]), ["loss"], 1, "s")


def test_the_models_mean_and_variance_are_those_of_the_recommendation(
    server: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(server, budget=12, seed=1) as client:
        client.configure_experiment(parameters=PARAMETERS[:1], name="m")
        client.configure_optimization(objective="loss")
        for number in range(1, 13):
            (point,) = client.get_next_trials(max_trials=1).values()
            client.complete_trial(number, {"loss": abs(point["rate"] - 0.1)})
        (there,) = client.study.predict([client.get_best_parameterization()[0]])
        assert there.mean is not None
        assert there.std is not None
        caplog.set_level("INFO", "httpx")
        _, predicted, _, _ = client.get_best_parameterization()
        sent = [record.getMessage() for record in caplog.records if record.name == "httpx"]
        assert ["/recommendation" in message for message in sent] == [True], "it asks for no prediction"
        assert predicted["loss"] == pytest.approx((there.mean, there.std**2))


def test_best_parameterization_has_the_trial_of_its_parameters(server: str) -> None:
    with Client(server, seed=1) as client:
        client.configure_experiment(parameters=PARAMETERS[:1], name="p")
        client.configure_optimization(objective="loss")
        with pytest.raises(RuntimeError, match="no_results"):
            client.get_best_parameterization()
        points = {}
        noise = (0.3, -0.4, 0.1, -0.2, 0.35, -0.3, 0.2, -0.1, 0.25, -0.35)
        for number, error in enumerate(noise, start=1):
            (points[number],) = client.get_next_trials(max_trials=1).values()
            client.complete_trial(number, {"loss": (abs(points[number]["rate"] - 0.1) + error, 0.3)})
            best, _, trial, _ = client.get_best_parameterization()
            assert trial is None or points[trial] == best


def test_batch_fills_the_rest_of_a_plate(server: str) -> None:
    with Client(server, plates={"size": 4, "shared": ["units"]}) as client:
        client.configure_experiment(parameters=PARAMETERS, name="wells")
        client.configure_optimization(objective="yield_")
        for count, size in ((10, 4), (3, 3), (10, 1), (2, 2)):
            trials = client.get_next_trials(max_trials=count)
            assert len(trials) == size
            assert len({point["units"] for point in trials.values()}) == 1
        assert [trial.plate for trial in client.study.trials()] == [1] * 4 + [2] * 4 + [3] * 2


def test_unsupported_configurations_are_rejected(server: str) -> None:
    with Client(server) as client:
        with pytest.raises(RuntimeError, match="call configure_experiment"):
            client.get_next_trials(max_trials=1)
        client.configure_experiment(parameters=PARAMETERS)
        with pytest.raises(ValueError, match="must be one metric, such as 'accuracy' or '-loss'"):
            client.configure_optimization(objective="loss, -latency")
        with pytest.raises(ValueError, match="must have a form such as 'latency <= 20'"):
            client.configure_optimization(objective="loss", outcome_constraints=["latency <= 1.1 * baseline"])


def test_sweep_configuration_is_passed_to_the_study(server: str) -> None:
    parameters = {
        "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-1},
        "drop": {"distribution": "q_uniform", "min": 0.0, "max": 0.5, "q": 0.1},
        "layers": {"min": 1, "max": 6},
        "width": {"distribution": "q_log_uniform_values", "min": 8, "max": 256},
        "units": {"values": [16, 32]},
        "kind": {"values": ["a", "b"]},
        "epochs": {"value": 3},
    }
    metric = {"name": "accuracy", "goal": "maximize"}
    with StudyClient(server) as client:
        study = sweep({"method": "random", "metric": metric, "parameters": parameters, "run_cap": 7}, "s", client)
        info = study.info()
        assert [each["kind"] for each in info.parameters] == [
            "float",
            "float",
            "int",
            "int",
            "ordinal",
            "categorical",
            "fixed",
        ]
        assert info.parameters[3]["scale"] == "log"
        assert (info.direction, info.trial_budget, info.algorithm["kind"]) == ("maximize", 7, "random")
        with pytest.raises(ValueError, match="'grid' is not supported by studies"):
            sweep({"method": "grid", "parameters": parameters}, "t", client)
        normal = {"distribution": "normal", "min": 0, "max": 1}
        with pytest.raises(ValueError, match=r"parameters.x.distribution: 'normal' is not supported by studies"):
            sweep({"parameters": {"x": normal}}, "t", client)
        eights = {"distribution": "q_log_uniform_values", "min": 8, "max": 256, "q": 8}
        with pytest.raises(ValueError, match=r"parameters.x: q_log_uniform_values needs integers"):
            sweep({"parameters": {"x": eights}}, "t", client)
        with pytest.raises(ValueError, match="early_terminate: leave it out"):
            sweep({"parameters": parameters, "early_terminate": {"type": "hyperband"}}, "t", client)


@pytest.mark.long
def test_no_connection_is_left_open(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", server)
    with Client() as client:
        client.configure_experiment(parameters=PARAMETERS[:1])
        client.configure_optimization(objective="loss")
    with pytest.raises(RuntimeError, match="closed"):
        client.get_next_trials(max_trials=1)
    with pytest.raises(APIError):
        sweep({"parameters": {"x": {"min": 2.0, "max": 1.0}}}, "s")
    gc.collect()  # a client that was left open is a ResourceWarning here
