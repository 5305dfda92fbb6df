"""NumPy numbers are accepted wherever numbers are, and ambiguous choices are refused."""

from typing import Any

import numpy as np
import pytest

from adabkb_client import Bool, Categorical, Client, Float, Int, Ordinal


def test_numpy_numbers_define_a_study(client: Client) -> None:
    choices: list[Any] = [np.str_("a"), np.bool_(True), np.float64(0.25), np.int64(7)]
    study = client.create_study(
        "numpy",
        {
            "rate": Float(np.float32(0.5), np.int64(2), log=np.bool_(True)),  # type: ignore[arg-type]
            "depth": Int(np.int64(1), np.array(9), step=np.int32(2)),  # type: ignore[arg-type]
            "batch": Ordinal(np.array([16, 32])),
            "width": Ordinal(range(1, 4)),
            "mode": Categorical(choices),
            "bias": Bool(),
        },
        direction="minimize",
        budget=np.int64(9),
        noise_std=np.float32(0.5),
        algorithm={"profile": "auto"},
    )
    info = study.info()
    wire = {parameter["name"]: parameter for parameter in info.parameters}
    assert (wire["rate"]["low"], wire["rate"]["high"], wire["rate"]["scale"]) == (0.5, 2.0, "log")
    assert (wire["depth"]["low"], wire["depth"]["high"], wire["depth"]["step"]) == (1, 9, 2)
    assert (wire["batch"]["values"], wire["width"]["values"]) == ([16, 32], [1, 2, 3])
    assert wire["mode"]["choices"] == ["a", True, 0.25, 7]
    assert (info.budget, info.noise_std) == (9, 0.5)


def test_numpy_numbers_are_results_and_points(client: Client) -> None:
    study = client.create_study("numpy", {"x": Float(0, 1), "n": Int(1, 9), "b": Bool()}, direction="minimize", seed=1)
    point: dict[str, Any] = {"x": np.array(0.5), "n": np.int64(3), "b": np.bool_(True)}
    first, second = study.suggest(np.int64(2), lease_seconds=np.float64(60))  # type: ignore[call-overload]
    study.observe(np.int64(first.number), np.array(0.25), std_error=np.float32(0.5), parameters=point)  # type: ignore[arg-type]
    study.observe(second, np.int64(2), std_error=np.array(1))
    study.add_result(point, np.float32(0.75))
    study.observe_many([{"parameters": point, "value": np.float64(1.0), "std_error": np.array(0.5)}])
    assert [each.value for each in study.observations()] == [0.25, 2.0, 0.75, 1.0]
    assert study.observations()[0].parameters == {"x": 0.5, "n": 3, "b": True}
    assert len(study.predict([point])) == 1
    assert study.queue(point).parameters == {"x": 0.5, "n": 3, "b": True}
    study.correct(np.int64(1), np.float64(5.0))  # type: ignore[arg-type]
    assert study.update(budget=np.int64(20)).budget == 20


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sgd", "adam"}, "not a set: the order of a set may differ between processes"),
        (frozenset({1, 2}), "not a set"),
        ("sgd", r"one value per letter; give a list: \w+\(\['sgd'\]\)"),
        ({"sgd": 1}, "a list of values, not {'sgd': 1}"),
        (3, "a list of values, not 3"),
    ],
)
def test_choices_without_a_fixed_order_are_refused(kind: Any, values: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kind(values)


@pytest.mark.parametrize("high", [np.float32("inf"), np.array(np.nan)])
def test_a_numpy_bound_that_is_not_finite_is_refused(client: Client, high: Any) -> None:
    with pytest.raises(ValueError, match="parameter 'x': high must be finite"):
        client.create_study("s", {"x": Float(0, high)}, direction="minimize")
