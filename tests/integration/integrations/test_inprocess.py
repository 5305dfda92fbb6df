"""``minimize`` and ``maximize``: the engine in this process evaluates the same points as a study on a server."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from adabkb_client import (
    Bool,
    Catalogue,
    Categorical,
    Client,
    Fixed,
    Float,
    Int,
    Mixture,
    Ordinal,
    Parameter,
    PatienceRule,
)
from adabkb_integrations.inprocess import Evaluated, RunningTrial, Search, maximize, minimize

SPACE: dict[str, Parameter] = {
    "x": Float(-1, 2),
    "rate": Float(1e-4, 1.0, log=True),
    "drop": Float(0.0, 0.5, step=0.1),
    "depth": Int(1, 9, step=2),
    "units": Int(8, 512, log=True),
    "width": Ordinal([16, 32, 64]),
    "kind": Categorical([None, "relu", True, 0.5]),
    "warm": Bool(),
    "device": Fixed("cpu"),
}
DESCRIBED: dict[str, Parameter] = {
    **SPACE,
    "kind": Categorical([None, "relu", True, 0.5], descriptors={"slope": [1, 0, 0, 0.5], "cost": [1, 2, 3, 9]}),
}
CONDITIONAL: dict[str, Parameter] = {
    **SPACE,
    "slope": Float(0, 1, when={"kind": ["relu", None]}),
    "kept": Bool(when={"depth": [5, 7, 9], "device": ["cpu"]}),
    "share": Float(0.01, 1.0, log=True, when={"kept": [True], "kind": ["relu", 0.5]}),
}


WELLS = {"size": 3, "shared": ["width", "x"]}
PRIOR: dict[str, dict[str, Any]] = {
    "x": {"around": 0.6, "width": 0.2},
    "rate": {"around": 0.01, "factor": 10},
    "drop": {"around": 0.25, "width": 0.5},
    "units": {"around": 64, "factor": 4},
    "width": {"weights": {"32": 2}},
    "kind": {"weights": {"relu": 3, "null": 0.5, "true": 2}},
    "kept": {"weights": {"true": 2}},
}


CATALOGUE = Catalogue([f"cpu {row}" for row in range(300)], {"cores": [row % 17 for row in range(300)]})


def mixed(
    x: float, rate: float, drop: float, depth: int, units: int, width: int, kind: Any, warm: bool, device: str
) -> float:
    assert device.startswith("cpu")
    fits = (x - 0.7) ** 2 + (np.log10(rate) + 2) ** 2 / 4 + (drop - 0.3) ** 2 + (depth - 5) ** 2 / 40
    return float(fits + (np.log2(units) - 6) ** 2 / 10 + (width != 32) * 0.1 + (kind != "relu") * 0.3 + warm * 0.1)


def unlucky(
    *, slope: float | None = None, kept: bool | None = None, share: float | None = None, **parameters: Any
) -> float:
    if parameters["depth"] == 9:
        raise ZeroDivisionError("too deep")
    return mixed(**parameters) + (slope or 0.0) + (share or 0.0) - (0.1 if kept else 0.0)


@pytest.mark.parametrize(
    ("space", "options"),
    [
        pytest.param(SPACE, {}, id="noise learned", marks=pytest.mark.long),
        pytest.param(SPACE, {"noise_std": 0.05}, id="noise declared", marks=pytest.mark.long),
        pytest.param(CONDITIONAL, {"prior": PRIOR}, id="conditions and a prior"),
        pytest.param(DESCRIBED, {}, id="descriptors", marks=pytest.mark.long),
        pytest.param({**SPACE, "device": CATALOGUE}, {}, id="a catalogue", marks=pytest.mark.long),
        pytest.param(SPACE, {"plates": WELLS}, id="plates", marks=pytest.mark.long),
        pytest.param(
            SPACE,
            {"plates": {"size": 4}, "constraints": ["drop <= rate or x < 1"]},
            id="plates of days",
            marks=pytest.mark.long,
        ),
    ],
)
def test_study_on_a_server_evaluates_the_same_points(
    client: Client, space: dict[str, Parameter], options: dict[str, Any]
) -> None:
    study = client.create_study("s", space, direction="minimize", budget=14, seed=3, **options)
    study.run(unlucky, catch=ZeroDivisionError, progress=False)
    found = minimize(unlucky, space, 14, seed=3, **options, catch=ZeroDivisionError, progress=False)
    theirs = list(study.trials())
    assert [dict(trial.parameters) for trial in found.trials] == [dict(trial.parameters) for trial in theirs]
    assert [(trial.state, trial.value, trial.reason, trial.plate) for trial in found.trials] == [
        (trial.state, trial.value, trial.reason, trial.plate) for trial in theirs
    ]
    best = study.best()
    assert best is not None
    assert (found.parameters, found.value) == (best.parameters, best.value)


def line(x: int) -> float:
    return float(x)


def test_search_ends_when_every_point_is_evaluated_in_both_directions() -> None:
    lowest, highest = (search(line, {"x": Int(1, 5)}, 20, seed=1, progress=False) for search in (minimize, maximize))
    assert (lowest.value, highest.value, lowest.reason) == (1.0, 5.0, "exhausted")
    assert sorted(trial.parameters["x"] for trial in lowest.trials) == [1, 2, 3, 4, 5]
    assert repr(highest) == "<5.0 at {'x': 5}, 5 trials, exhausted>"


def test_exhausted_plates_and_new_contexts_start_a_new_plate() -> None:
    space: dict[str, Parameter] = {"heat": Ordinal([60, 80, 100]), "glue": Bool(), "day": Int(1, 9, context=True)}
    days = iter([1, 1, 1, 2, 2, 2, 2, 2])
    found = minimize(
        lambda heat, glue, day: heat + glue + day,
        space,
        8,
        plates={"size": 4, "shared": ["heat", "day"]},
        context=lambda: {"day": next(days)},
        seed=1,
        progress=False,
    )
    assert [trial.plate for trial in found.trials] == [1, 1, 2, 3, 3, 4, 4, 5]
    for plate in range(1, 6):
        points = [trial.parameters for trial in found.trials if trial.plate == plate]
        assert len({(point["heat"], point["day"]) for point in points}) == 1


@pytest.mark.parametrize(
    ("plates", "error", "message"),
    [
        (24, TypeError, "plates must be a dict such as"),
        ({"shared": ["x"]}, TypeError, "plates must be a dict such as"),
        ({"size": 1}, ValueError, "plates\\['size'\\] must be at least 2"),
        ({"size": 4, "shared": "x"}, TypeError, "must be a list of names"),
        ({"size": 4, "shared": ["z"]}, ValueError, "'z' is not one of the parameters"),
        ({"size": 4, "shared": ["x", "x"]}, ValueError, "is named twice"),
        ({"size": 4, "shared": ["device"]}, ValueError, "is a fixed parameter"),
        ({"size": 4, "shared": ["slope"]}, ValueError, "has a condition"),
    ],
)
def test_invalid_plates_are_rejected(plates: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        minimize(unlucky, CONDITIONAL, 5, plates=plates)


def test_choices_may_be_any_objects_and_callbacks_can_stop_the_search() -> None:
    def stop(search: Search, trial: Evaluated) -> None:
        if trial.value == 1.0:
            search.stop()

    functions: list[Any] = [np.sin, np.cos, abs]
    found = maximize(lambda f: f(-2.0), {"f": Categorical(functions)}, 3, callbacks=[stop], progress=False)
    assert (found.reason, found.parameters) == ("budget", {"f": abs})
    found = maximize(
        lambda on: {"value": float(on), "std_error": 0.1}, {"on": Bool()}, 2, callbacks=[stop], progress=False
    )
    assert (found.value, found.trials[-1].std_error) == (1.0, 0.1)


@pytest.mark.parametrize("pass_trial", [False, True])
def test_a_function_that_changes_a_choice_does_not_change_the_search(pass_trial: bool) -> None:
    """Three choices of a dict that holds a list, and of a set, which the function empties."""
    nested: list[Any] = [{"units": [64] * count} for count in (1, 2, 3)]
    sets: list[Any] = [set(range(count)) for count in (1, 2, 3)]
    seen = []

    def emptied(layers: dict[str, list[int]], ids: set[int], x: float) -> float:
        seen.append((len(layers["units"]), len(ids)))
        layers["units"].pop()
        layers.clear()
        ids.clear()
        return sum(seen[-1]) + x

    def function(*trial: Any, **parameters: Any) -> float:
        return emptied(**(trial[0].parameters if pass_trial else parameters))

    space: dict[str, Parameter] = {"layers": Categorical(nested), "ids": Categorical(sets), "x": Float(0, 1)}
    found = minimize(function, space, 12, seed=1, pass_trial=pass_trial, progress=False)
    assert {trial.state for trial in found.trials} == {"completed"}
    reported = [(len(trial.parameters["layers"]["units"]), len(trial.parameters["ids"])) for trial in found.trials]
    assert reported == seen
    assert len(set(seen)) > 1
    assert nested == [{"units": [64] * count} for count in (1, 2, 3)]


def test_a_stopped_trial_keeps_the_choice_that_its_function_has_changed() -> None:
    def trained(trial: RunningTrial) -> float:
        trial.parameters["layers"].clear()
        for step in range(1, 10):
            if trial.report(step, 1.0):
                break
        return 1.0

    choices: list[Any] = [{"units": 1}, {"units": 2}]
    space: dict[str, Parameter] = {"layers": Categorical(choices), "x": Float(0, 1)}
    rule = PatienceRule(9, no_gain_for=1)
    found = minimize(trained, space, 2, seed=1, early_stopping=rule, pass_trial=True, progress=False)
    assert {trial.state for trial in found.trials} == {"stopped"}
    assert all(trial.parameters["layers"] for trial in found.trials)


def test_lists_are_tuples_as_in_a_study(client: Client) -> None:
    """In the parameters of the function, of the trials and of results at other points, and in given values."""
    space: dict[str, Parameter] = {
        "layers": Categorical([[64], [64, 64], [64, 64, 64]]),
        "sizes": Ordinal([[1, 2], [3, 4]]),
        "kept": Fixed([7, 8]),
        "hidden": Float(0, 1, when={"layers": [[64], [64, 64]]}),
        "shift": Categorical([[0], [1]], context=True),
    }
    given: list[dict[str, Any]] = []

    def function(**parameters: Any) -> dict[str, Any]:
        given.append(parameters)
        value = len(parameters["layers"]) + parameters.get("hidden", 0.5) - parameters["sizes"][0]
        return {"value": value, "parameters": {**parameters, "sizes": [1, 2]}}

    found = minimize(function, space, 6, seed=1, context={"shift": [1]}, progress=False)
    study = client.create_study("tuples", space, direction="minimize", budget=6, seed=1)
    in_process, given = given, []
    study.run(function, context={"shift": [1]}, progress=False)
    assert given == in_process
    assert {type(each[name]) for each in given for name in ("layers", "sizes", "kept", "shift")} == {tuple}
    assert [dict(trial.parameters) for trial in found.trials] == [
        dict(each.parameters) for each in study.observations()
    ]
    fixed = minimize(
        function, space, 3, fixed={"layers": [64, 64], "sizes": [3, 4]}, context={"shift": [0]}, progress=False
    )
    assert {trial.parameters["layers"] for trial in fixed.trials} == {(64, 64)}

    with pytest.raises(AttributeError, match="append") as caught:
        minimize(lambda layers, x: layers.append(x), {"layers": space["layers"], "x": Float(0, 1)}, 3, progress=False)
    assert "The value of layers is a tuple" in caught.value.__notes__[0]


def test_failures_are_logged_and_repeated_failures_end_the_search(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def divide(x: float) -> float:
        return x / 0

    with pytest.raises(ZeroDivisionError) as caught:
        minimize(divide, {"x": Float(0, 1)}, 9, max_failures=3, progress=False)
    assert "3 failures in a row" in caught.value.__notes__[0]
    assert [record.message for record in caplog.records] == [f"trial {n} of minimize() failed" for n in (1, 2)]
    none = minimize(divide, {"x": Float(0, 1)}, 7, catch=ZeroDivisionError, progress=False)
    assert (none.value, none.reason, {trial.state for trial in none.trials}) == (None, "budget", {"failed"})
    with pytest.raises(TypeError, match="value must be a number, not None"):
        minimize(lambda **_: None, {"x": Float(0, 1)}, 9, progress=False)


def test_a_printed_search_counts_failed_and_stopped_trials() -> None:
    calls = iter(range(99))

    def function(x: float) -> float:
        if next(calls) % 2:
            raise ArithmeticError
        return x

    def trained(trial: RunningTrial) -> float:
        trial.report(1, 1.0)
        return float(trial.report(2, 1.0))

    space: dict[str, Parameter] = {"x": Float(0, 1)}
    assert repr(minimize(function, space, 6, progress=False)).endswith(", 6 trials, 3 failed, budget>")
    rule = PatienceRule(9, no_gain_for=1)
    found = minimize(trained, space, 1, early_stopping=rule, pass_trial=True, progress=False)
    assert repr(found).endswith(", 1 trial, 1 stopped, budget>")
    none = minimize(lambda x: x / 0, space, 2, catch=ZeroDivisionError, progress=False)
    assert repr(none) == "<no best trial, 2 trials, 2 failed, budget>"


def test_ctrl_c_returns_the_results_so_far() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray Tune leaves a signal handler installed
    calls = iter(range(9))

    def function(x: float) -> float:
        if next(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return x

    found = minimize(function, {"x": Float(0, 1)}, 9, progress=False)
    assert (found.reason, len(found.trials)) == ("interrupted", 4)
    assert found.value == min(trial.value for trial in found.trials if trial.value is not None)


def test_every_trial_satisfies_the_constraints() -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "n": Int(1, 9), "kind": Categorical(["a", "b"])}
    found = minimize(
        lambda x, n, kind: -x * n + (kind == "a"),
        space,
        12,
        seed=1,
        constraints=["x * n <= 2", "n >= 2"],
        progress=False,
    )
    assert all(trial.parameters["x"] * trial.parameters["n"] <= 2 for trial in found.trials)
    assert min(trial.parameters["n"] for trial in found.trials) >= 2
    assert found.value is not None
    assert found.value < -1.95


def test_every_trial_satisfies_the_constraints_of_its_branch() -> None:
    """Also if choices that are objects activate parameters."""
    functions: list[Any] = [np.sin, np.cos]
    space: dict[str, Parameter] = {
        "f": Categorical(functions),
        "x": Float(0, 1, when={"f": functions[:1]}),
        "n": Int(1, 9, when={"f": functions[:1]}),
    }

    def loss(f: Any, x: float = 0.0, n: int = 0) -> float:
        assert x * n <= 2
        return float(f(0.0)) - x * n

    found = minimize(loss, space, 15, seed=1, constraints=["x * n <= 2"], max_failures=1, progress=False)
    assert found.value is not None
    assert found.value < -1.99


@pytest.mark.long
def test_every_trial_satisfies_constraints_on_choices() -> None:
    """Choices are named by their values, including tuples."""
    space: dict[str, Parameter] = {
        "x": Float(0, 1),
        "layers": Categorical([(64,), (64, 64), None]),
        "size": Ordinal([1, 5, 25]),
        "kind": Categorical(["a", "b"]),
        "on": Bool(),
        "lab": Fixed("Genoa"),
    }
    constraints = [
        "layers in [(64,), None] or x < 0.5",
        "not (kind == 'a' and size > 5) and (on or size == 1)",
        "lab == 'Genoa' or x < 0",
    ]

    def loss(x: float, layers: tuple[int, ...] | None, size: int, kind: str, on: bool, lab: str) -> float:
        assert layers in [(64,), None] or x < 0.5
        assert not (kind == "a" and size > 5)
        assert on or size == 1
        return -x - len(layers or ()) - size * (kind == "a") - 0.1 * on - len(lab)

    found = minimize(loss, space, 25, seed=1, constraints=constraints, max_failures=1, progress=False)
    assert found.parameters is not None
    assert {name: found.parameters[name] for name in ("size", "kind", "on")} == {"size": 5, "kind": "a", "on": True}


def test_an_error_of_a_constraint_names_choices_that_are_objects_only_if_the_constraint_uses_them() -> None:
    functions: list[Any] = [np.sin, np.cos]
    space: dict[str, Parameter] = {"f": Categorical(functions), "x": Float(0, 1)}
    with pytest.raises(
        ValueError, match=r"'f' is not a parameter .*; constraints cannot use f, whose choices are objects"
    ):
        minimize(np.hypot, space, 3, constraints=["f == 'sin'"])
    for constraint in ("x > 2", "y > 0", "x >"):
        with pytest.raises(ValueError, match=r"constraints\[0\]") as raised:
            minimize(np.hypot, space, 3, constraints=[constraint])
        assert "objects" not in str(raised.value)


def without_defaults(k: str, n: int, x: float) -> float:
    return len(k) + n + x


def pair(k: str, n: int) -> float:
    return len(k) + n


PAIR: dict[str, Parameter] = {"k": Categorical(["a", "b"]), "n": Int(1, 3)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"space": [Float(0, 1)]}, "space must be a dict of parameters"),
        ({"space": {"x": (0, 1)}}, "parameter 'x' must be declared by Float"),
        ({"space": {"x": Float(1, 0)}}, "space['x']: high must be greater than low"),
        ({"space": {"x": Float(0, np.inf)}}, "parameter 'x': high must be finite"),
        ({"space": {"x": Float(0, 1, log=True)}}, "space['x']: low must be positive on a log scale"),
        ({"space": {"x": Float(0, 1, step=2)}}, "space['x']: step must be positive and at most high - low, not 2"),
        ({"space": {"x": Float(0.1, 1, log=True, step=0.1)}}, "space['x']: step must be left out on a log scale"),
        ({"space": {"x": Int(0, 2.5)}}, "space['x']: low, high and step must be integers"),  # type: ignore[arg-type]
        ({"space": {"x": Categorical([])}}, "space['x'] has no values"),
        ({"space": {"x": Fixed(1)}}, "space: no parameter has more than one value"),
        (
            {"space": {"y": Float(0, 1)}},
            "minimize() calls the function with the parameters y by name, but its signature is",
        ),
        ({"constraints": "x <= 1"}, "constraints must be a list of strings, such as ['x <= 1']"),
        ({"constraints": ["x <= 1", "y <= 1"]}, "constraints[1], 'y <= 1': column 1: 'y' is not a parameter"),
        ({"constraints": ["x >= 2"]}, "constraints[0], 'x >= 2': no point satisfies this constraint"),
        (
            {"space": {**PAIR, "y": Float(0, 1, when={"k": ["c"]})}},
            "space['y']: when['k']: 'c' is not one of the choices",
        ),
        ({"space": {**PAIR, "y": Float(0, 1, when={"l": [1]})}}, "space['y']: when['l'] is not one of the parameters"),
        ({"space": {**PAIR, "n": Int(1, 9, when={"n": [2]})}}, "space['n']: when['n'] is the parameter itself"),
        (
            {"space": {**PAIR, "y": Bool(when={"n": [5]})}},
            "space['y']: when['n'][0] is 5, outside [1, 3]; list values that",
        ),
        (
            {
                "space": {**PAIR, "y": Float(0, 1, when={"k": ["a"]}), "z": Float(0, 1, when={"k": ["b"]})},
                "constraints": ["y + z <= 1"],
            },
            "constraints[0], 'y + z <= 1': never applies: no point has all its parameters (y, z)",
        ),
        (
            {"space": {**PAIR, "x": Float(0, 1, when={"k": ["a"]})}, "function": without_defaults},
            "minimize() calls the function with the parameters k, n, x by name (without x where they are inactive",
        ),
        (
            {"space": {**PAIR, "c": CATALOGUE}, "constraints": ["c == 'gpu'"]},
            "constraints[0], \"c == 'gpu'\": column 6: 'gpu' is not a value of 'c'",
        ),
        (
            {"space": {"x": CATALOGUE}, "prior": {"x": {"weights": {"gpu": 2}}}},
            "prior['x']: 'gpu' is an unknown choice",
        ),
        ({"budget": 0}, "budget must be at least 1, not 0"),
        ({"budget": 2.5}, "budget must be an integer, not 2.5"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"noise_std": -1}, "noise_std must be 0 or more, not -1.0"),
        (
            {"prior": {"y": {"around": 0, "width": 1}}},
            "prior['y'] is an unknown parameter (known: x)",
        ),
        ({"prior": {"x": {"around": 0.5}}}, "prior['x'] must have around and width, and nothing else"),
        ({"prior": {"x": {"around": 2, "width": 1}}}, "prior['x']: around is 2.0, outside [0.0, 1.0]"),
        ({"prior": {"x": {"around": 0.5, "width": 0}}}, "prior['x']: width must be more than 0, not 0.0"),
        (
            {"space": PAIR, "prior": {"k": {"weights": {"c": 2}}}, "function": pair},
            "prior['k']: 'c' is an unknown choice",
        ),
        ({"catch": "all"}, "catch must be an exception class or a tuple of them, not 'all'"),
    ],
)
def test_invalid_arguments_are_named(change: dict[str, Any], message: str) -> None:
    def never(x: float) -> float:
        raise AssertionError(f"it was called with {x}")

    with pytest.raises((TypeError, ValueError)) as caught:
        minimize(**{"function": never, "space": {"x": Float(0, 1)}, "budget": 3, **change})
    assert str(caught.value).startswith(message)


@pytest.mark.long
def test_neither_a_web_server_nor_a_database_is_loaded() -> None:
    program = (
        "import sys, adabkb_integrations.inprocess; "
        "print({'fastapi', 'optuna', 'pydantic', 'sklearn', 'sqlalchemy', 'uvicorn'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.long
def test_the_recommended_trial_is_at_the_point_that_a_study_recommends(client: Client) -> None:
    """With noisy results, it need not be the best one."""

    def noisy(x: float) -> float:
        return float((x - 0.3) ** 2 + 0.3 * np.sin(1e4 * x))

    space: dict[str, Parameter] = {"x": Float(0, 1)}
    found = minimize(noisy, space, budget=8, seed=3, progress=False)
    study = client.create_study(None, space, direction="minimize", budget=8, seed=3)
    model = study.run(noisy).recommendation.model
    assert model is not None
    assert found.recommended is not None
    assert found.recommended.parameters == model.parameters
    assert found.recommended != found.best
    several = minimize(lambda x: {"metrics": {"a": x, "b": 1 - x}}, space, budget=3, objectives=["a", "b"], seed=1)
    assert several.recommended is None


@pytest.mark.parametrize("kind", ["random", pytest.param("sobol", marks=pytest.mark.long)])
def test_baselines_evaluate_the_same_points_as_on_a_server(kind: str, client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "k": Categorical(["a", "b"])}
    algorithm: Any = {"kind": kind}

    def value(x: float, k: str) -> float:
        return x + (k == "a")

    found = minimize(value, space, 8, seed=4, algorithm=algorithm, progress=False)
    study = client.create_study(None, space, direction="minimize", budget=8, seed=4, algorithm=algorithm)
    study.run(value, progress=False)
    assert [dict(trial.parameters) for trial in study.trials()] == [dict(trial.parameters) for trial in found.trials]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": {"kind": "gp-ucb"}}, r"algorithm must be .* studies on a server support more algorithms"),
        ({"algorithm": "random"}, r"algorithm must be .*\{\"kind\": \"random\"\}"),
        ({"algorithm": {"kind": "random"}, "prior": {"x": {"around": 0.5, "width": 0.1}}}, "prior requires "),
        (
            {"algorithm": {"kind": "sobol"}, "mixtures": [Mixture(parameters=["x", "y"])]},
            r"mixtures cannot be combined with .*random",
        ),
    ],
)
def test_options_that_a_baseline_does_not_support_are_rejected(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(lambda x, y: x + y, {"x": Float(0, 1), "y": Float(0, 1)}, 3, **options)
