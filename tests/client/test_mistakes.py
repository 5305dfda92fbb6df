"""``study.run``: a mistake of the program ends the run at once, says what it is, and costs no trial."""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from adabkb_client import Client, Float, NoTrialAvailable, Study
from tests.waiting import wait_for

BUDGET = 12


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study(
        "s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, failure_limit=3, pending_limit=4, seed=1
    )


def unlucky(x: float) -> float:
    raise ZeroDivisionError(f"at {x}")


def test_a_study_that_failures_have_paused_ends_the_run_and_says_how_to_go_on(study: Study) -> None:
    with pytest.raises(NoTrialAvailable, match=r"failed one after the other.*study\.resume\(\)") as caught:
        study.run(unlucky)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(NoTrialAvailable, match=r"study\.resume\(\)"):
        study.run(lambda x: x)
    study.resume()
    assert study.run(lambda x: x).completed == BUDGET - 3


def test_a_run_on_a_study_that_somebody_paused_waits_and_says_so(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    study.pause()

    def warnings() -> list[str]:
        return [record.message for record in caplog.records if record.levelname == "WARNING"]

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
        (lambda x: {"loss": x}, 'must be such as {"value": 0.1'),
        (lambda **_: "0.5", "value must be a number, not '0.5'"),
        (lambda x: np.array([x, x]), "value must be a number, not array"),
        (lambda x: (x, None, 3), "not 3 values"),
        (lambda x: (x, "small"), "std_error must be a number"),
    ],
)
def test_a_mistake_stops_the_run_at_the_first_trial_which_is_given_back(
    study: Study, function: Any, message: str
) -> None:
    with pytest.raises((ImportError, NameError, TypeError)) as caught:
        study.run(function, workers=2)
    assert message in str(caught.value)
    states = [trial.state for trial in study.trials()]
    assert set(states) == {"released"}
    assert len(states) <= 2


def test_a_function_that_does_not_take_the_parameters_is_refused_before_any_trial(study: Study) -> None:
    with pytest.raises(TypeError, match="with the parameters x by name, but it takes \\(lr\\)"):
        study.run(lambda lr: lr)
    assert not list(study.trials())


def test_a_function_wrapped_to_take_less_is_called(study: Study) -> None:
    def scaled(x: float, scale: float) -> float:
        return x * scale

    @functools.wraps(scaled)
    def wrapper(**parameters: float) -> float:
        return scaled(**parameters, scale=2.0)

    assert study.run(wrapper).completed == BUDGET


def test_a_none_told_inside_a_block_gives_the_trial_back(study: Study) -> None:
    with pytest.raises(TypeError, match="not None"), study.trial() as trial:
        trial.observe(None)
    assert [each.state for each in study.trials()] == ["released"]
