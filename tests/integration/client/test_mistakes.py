"""``study.run``: a programming error ends the run at once with a clear message, and uses up no trial."""

import asyncio
import functools
import json
import math
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from adabkb_client import Algorithm, AsyncClient, Categorical, Client, Float, Invalid, NoTrialAvailable, Study
from adabkb_integrations.optuna import served
from tests.integration.client.objectives import async_lookup, lookup
from tests.waiting import wait_for

BUDGET = 6


@pytest.fixture
def study(client: Client) -> Study:
    limits: dict[str, Any] = {"budget": BUDGET, "failure_limit": 3, "pending_limit": 4}
    random: Algorithm = {"kind": "random"}  # no model, which mistakes have no use for
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1, algorithm=random, **limits)


def unlucky(x: float) -> float:
    raise ZeroDivisionError(f"at {x}")


def test_a_study_that_failures_have_paused_ends_the_run_and_says_how_to_continue(study: Study) -> None:
    with pytest.raises(NoTrialAvailable, match=r"trials in a row failed.*study\.resume\(\)") as caught:
        study.run(unlucky)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(NoTrialAvailable, match=r"study\.resume\(\)"):
        study.run(lambda x: x)
    study.resume()
    assert study.run(lambda x: x).completed == BUDGET - 3


def test_an_error_on_a_tuple_says_that_choices_arrive_as_tuples(client: Client) -> None:
    study = client.create_study("t", {"layers": Categorical([[64, 32], [64]])}, direction="minimize")
    with pytest.raises(AttributeError) as caught:
        study.run(lambda layers: layers.append(16))
    assert any("layers is a tuple" in note for note in caught.value.__notes__)


def test_a_run_on_a_study_that_somebody_paused_waits_and_says_so(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    study.pause()

    def warnings() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]

    def resume() -> None:
        wait_for(warnings)
        study.resume()

    with ThreadPoolExecutor(1) as elsewhere:
        resumed = elsewhere.submit(resume)
        assert study.run(lambda x: x).completed == BUDGET
        resumed.result()
    (said,) = warnings()
    assert "paused" in said
    assert "study.resume()" in said


def no_module(x: float) -> float:
    import a_module_that_nobody_has  # type: ignore[import-not-found]

    return float(a_module_that_nobody_has.score(x))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_module, "a_module_that_nobody_has"),
        (lambda x: x + undefined, "undefined"),  # type: ignore[name-defined]  # noqa: F821
        (lambda **_: None, "value must be a number, not None"),
        (lambda x: {"loss": x}, "the keys 'loss'; a result may have 'value', 'std_error', 'metrics'"),
        pytest.param(lambda **_: "0.5", "value must be a number, not '0.5'", marks=pytest.mark.long),
        pytest.param(lambda x: np.array([x, x]), "value must be a number, not array", marks=pytest.mark.long),
        pytest.param(lambda x: (x, None, 3), "but the numbers of a tuple have no names", marks=pytest.mark.long),
        (lambda x: (x, 12.0), 'its standard error is {"value": 0.1, "std_error": 0.01}'),
        pytest.param(
            lambda x: {"value": x, "std_error": "small"}, "std_error must be a number", marks=pytest.mark.long
        ),
        (lambda x: {"value": x, "metrics": {"latency_ms": 12}}, "study 's' has none"),
        (lambda x: {}[x], "0."),
        pytest.param(lambda x: x.missing, "missing", marks=pytest.mark.long),
        pytest.param(lambda x: x + "1", "unsupported operand", marks=pytest.mark.long),
    ],
)
def test_a_programming_error_stops_the_run_and_releases_the_first_trial(
    study: Study, function: Any, message: str
) -> None:
    with pytest.raises((ImportError, NameError, TypeError, KeyError, AttributeError)) as caught:
        study.run(function, workers=2)
    assert message in str(caught.value)
    states = [trial.state for trial in study.trials()]
    assert set(states) == {"released"}
    assert len(states) <= 2
    assert study.run(lambda x: x).completed == BUDGET  # the error used up no trial


def test_a_function_that_does_not_take_the_parameters_is_refused_before_any_trial(study: Study) -> None:
    with pytest.raises(TypeError, match="with the parameters x by name, but its signature is \\(lr\\)") as caught:
        study.run(lambda lr: lr)
    assert not list(study.trials())
    assert len(traceback.extract_tb(caught.tb)) == 2  # the call in this test, and run itself


def test_a_function_wrapped_to_take_less_is_called(study: Study) -> None:
    def scaled(x: float, scale: float) -> float:
        return x * scale

    @functools.wraps(scaled)
    def wrapper(**parameters: float) -> float:
        return scaled(**parameters, scale=2.0)

    assert study.run(wrapper).completed == BUDGET


def test_reporting_none_in_a_block_releases_the_trial(study: Study) -> None:
    with pytest.raises(TypeError, match="not None"), study.trial() as trial:
        trial.observe(None)
    assert [each.state for each in study.trials()] == ["released"]


SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"metrics": ["seconds"]}, '{"value": 0.1, "metrics": {"seconds": 0.1}}'),
    (
        {"objectives": [{"metric": "near", "direction": "minimize"}, {"metric": "far", "direction": "maximize"}]},
        '{"metrics": {"near": 0.1, "far": 0.1}}',
    ),
]


@pytest.mark.parametrize(("settings", "example"), SHAPES)
@pytest.mark.parametrize(
    "returned",
    [
        0.5,
        {"value": 0.5, "metrics": {"seconds": 1.0, "near": 1.0, "far": 1.0, "speed": 2.0}},
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (
                (0.5, 12.0),
                None,
                {"value": 0.5},
                {"metrics": {"speed": 1.0}},
                {"value": 0.5, "metrics": {"near": 1.0, "far": 1.0}},
            )
        ),
    ],
)
def test_a_result_that_lacks_or_exceeds_the_metrics_says_what_to_return(
    client: Client, settings: dict[str, Any], example: str, returned: Any
) -> None:
    direction: Any = None if "objectives" in settings else "minimize"
    study = client.create_study("m", {"x": Float(0, 1)}, direction=direction, budget=3, **settings)
    with pytest.raises(TypeError) as caught:
        study.run(lambda **_: returned, progress=False)
    first, second, *told = str(caught.value).splitlines()
    assert first.startswith(f'File "{__file__}", line ')
    assert second.strip().startswith("study.run(lambda **_: returned")
    assert example in " ".join(told)
    assert [trial.state for trial in study.trials()] == ["released"]


def test_a_run_takes_the_example_that_an_error_shows(client: Client) -> None:
    for number, (settings, example) in enumerate(SHAPES):
        direction: Any = None if "objectives" in settings else "minimize"
        study = client.create_study(f"m{number}", {"x": Float(0, 1)}, direction=direction, budget=1, **settings)
        assert study.run(lambda text=example, **_: json.loads(text), progress=False).completed == 1


def test_a_measured_cost_need_not_be_returned(client: Client) -> None:
    study = client.create_study("c", {"x": Float(0, 1)}, direction="minimize", budget=2, cost="measured")
    assert study.run(lambda x: x if x < 0.5 else {"value": x, "metrics": {"cost": 2.0}}, progress=False).completed == 2


@pytest.mark.parametrize("how", ["threads", pytest.param("processes", marks=pytest.mark.long), "tasks"])
def test_the_traceback_has_the_lines_of_the_user_alone(study: Study, server: str, how: str) -> None:
    async def awaited() -> None:
        async with AsyncClient(server) as client:
            await (await client.study("s")).run(async_lookup, progress=False)

    def run() -> None:
        if how == "tasks":
            asyncio.run(awaited())
        else:
            study.run(lookup, processes=how == "processes", progress=False)

    with pytest.raises(KeyError) as caught:
        run()
    frames = traceback.extract_tb(caught.value.__traceback__)
    ours = [frame for frame in frames if "adabkb_client" in frame.filename]
    assert len(ours) <= 1  # the call of the run
    told = "".join(traceback.format_exception(caught.value))
    assert 'return {"a": 1.0}["b"]' in told
    assert told.count("adabkb_client") <= 2
    assert "was released, not failed" in told
    assert "catch=KeyError" in told
    assert {trial.state for trial in study.trials()} == {"released"}


def test_a_run_that_results_without_a_number_stop_shows_no_lines_of_the_client(study: Study) -> None:
    with pytest.raises(ValueError, match="value must be a finite number, not nan; raise an exception") as caught:
        study.run(lambda x: x * math.nan, max_failures=2, progress=False)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert len([frame for frame in frames if "adabkb_client" in frame.filename]) <= 1  # the call of the run


def test_after_a_result_of_the_function_the_same_error_fails_its_trial_alone(study: Study) -> None:
    study.update(failure_limit=None)

    def odd(x: float, calls: list[float] = []) -> Any:  # noqa: B006 - it counts the calls
        calls.append(x)
        return x if len(calls) % 3 else {"a": None}["b" if len(calls) % 2 else "a"]

    report = study.run(odd, progress=False)
    assert (report.completed, report.failed, report.reason) == (BUDGET - 2, 2, "budget")
    reasons = {trial.reason.split(":")[0] for trial in study.trials("failed") if trial.reason}
    assert reasons == {"KeyError", "WrongResult"}


def test_named_in_catch_such_an_error_fails_its_trial_from_the_beginning(study: Study) -> None:
    study.update(failure_limit=None)
    assert study.run(lookup, n_trials=2, catch=KeyError, progress=False).failed == 2


def test_an_objective_for_optuna_gets_a_hint_about_optimize(study: Study) -> None:
    def objective(trial: Any) -> float:
        x: float = trial.suggest_float("x", 0, 1)
        return x

    with pytest.raises(TypeError, match=r"written for Optuna.*study\.optimize\(objective\)"):
        study.run(objective, progress=False)
    with pytest.raises(
        AttributeError, match=r"no attribute \'suggest_float\'.*written for Optuna.*study\.optimize\(objective\)"
    ) as caught:
        study.run(objective, pass_trial=True, progress=False)
    assert not [note for note in caught.value.__notes__ if "catch" in note]
    assert {trial.state for trial in study.trials()} == {"released"}
    assert study.run(served(objective), pass_trial=True, progress=False).completed == BUDGET


def test_a_result_that_the_server_refuses_inside_a_block_gives_the_trial_back(client: Client) -> None:
    study = client.create_study("m", {"x": Float(0, 1)}, direction="minimize", metrics=["seconds"])
    with pytest.raises(Invalid, match="metrics"), study.trial() as trial:
        trial.observe(0.5)
    assert [each.state for each in study.trials()] == ["released"]
