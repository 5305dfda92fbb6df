"""``minimize`` and ``maximize`` with fixed values, a baseline, and rules that end the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adabkb_client import Belief, Categorical, Client, Fixed, Float, Int, Mixture, Parameter
from adabkb_integrations.inprocess import maximize, minimize

SPACE: dict[str, Parameter] = {
    "x": Float(0, 1),
    "y": Float(0, 1),
    "kind": Categorical(["a", "b"]),
    "n": Int(1, 4, when={"kind": ["b"]}),
}


def loss(x: float, y: float, kind: str, n: int | None = None) -> float:
    return (x - 0.3) ** 2 + 0.0 * y + (kind == "a") * 0.2 + (0 if n is None else (n - 2) ** 2 / 10)


@pytest.mark.parametrize(
    "fixed",
    [{"n": 3}, *(pytest.param(each, marks=pytest.mark.long) for each in ({"y": 0.123456789}, {"kind": "a", "x": 0.5}))],
    ids=str,
)
def test_fixed_values_give_the_points_of_a_study(fixed: dict[str, Any], client: Client) -> None:
    """A fixed parameter with a condition also fixes its parent."""
    found = minimize(loss, SPACE, 10, seed=2, fixed=fixed, progress=False)
    study = client.create_study(None, SPACE, direction="minimize", budget=10, seed=2)
    study.run(loss, fixed=fixed, progress=False)
    assert [dict(trial.parameters) for trial in study.trials()] == [dict(trial.parameters) for trial in found.trials]
    assert all(fixed.items() <= trial.parameters.items() for trial in found.trials)


@pytest.mark.long
def test_fixed_values_go_with_plates_context_mixtures_and_objects_as_choices() -> None:
    functions: list[Any] = [np.sin, np.cos]
    space: dict[str, Parameter] = {
        "x": Float(0, 1),
        "f": Categorical(functions),
        "day": Float(0, 1, context=True),
        **{name: Float(0, 1) for name in ("a", "b", "c")},
    }
    days = iter(np.linspace(0, 1, 12))
    found = maximize(
        lambda x, f, day, a, b, c: float(f(x + day) + a * b - c),
        space,
        12,
        seed=1,
        fixed={"f": np.cos, "a": 0.25},
        context=lambda: {"day": float(next(days))},
        mixtures=[Mixture(parameters=["a", "b", "c"])],
        plates={"size": 2},
        progress=False,
    )
    for trial in found.trials:
        given = trial.parameters
        assert (given["f"], given["a"]) == (np.cos, 0.25)
        assert given["a"] + given["b"] + given["c"] == pytest.approx(1, abs=1e-12)
    assert len({trial.parameters["day"] for trial in found.trials}) == 12


def test_a_search_ends_when_every_point_with_the_fixed_values_is_evaluated() -> None:
    space: dict[str, Parameter] = {"k": Categorical(["a", "b"]), "n": Int(1, 3)}
    found = minimize(lambda k, n: n + (k == "a"), space, 20, seed=1, fixed={"k": "b"}, noise_std=0, progress=False)
    assert ([trial.parameters["k"] for trial in found.trials], found.reason) == (["b"] * 3, "exhausted")


@pytest.mark.long
def test_the_point_near_the_baseline_is_that_of_a_study(client: Client) -> None:
    """It keeps the value of a parameter that hardly matters."""
    baseline = {"y": 1.0, "kind": "a"}
    found = minimize(loss, SPACE, 14, seed=2, baseline=baseline, progress=False)
    study = client.create_study(None, SPACE, direction="minimize", budget=14, seed=2, baseline=baseline)
    model = study.run(loss, progress=False).recommendation.model
    assert model is not None
    near = found.near_baseline
    assert near is not None
    assert found.recommended is not None
    assert (near.parameters, near.mean, near.std) == (model.parameters, model.mean, model.std)
    assert near.changes == model.changes
    assert near.parameters["y"] == 1.0 != found.recommended.parameters["y"]
    assert [(each.parameter, each.baseline, each.value) for each in near.changes or ()] == [("kind", "a", "b")]
    assert minimize(loss, SPACE, 3, seed=2, progress=False).near_baseline is None


@pytest.mark.long
def test_a_belief_about_an_angle_holds_across_its_end(client: Client) -> None:
    def turned(angle: float, x: float) -> float:
        return float(x - np.cos(np.radians(angle - 20)))

    space: dict[str, Parameter] = {"angle": Float(0, 360, periodic=True), "x": Float(0, 1)}
    prior: dict[str, Belief] = {"angle": {"around": 350, "width": 30}}
    found = minimize(turned, space, 8, seed=3, prior=prior, progress=False)
    study = client.create_study(None, space, direction="minimize", budget=8, seed=3, prior=prior)
    study.run(turned, progress=False)
    assert [dict(trial.parameters) for trial in study.trials()] == [dict(trial.parameters) for trial in found.trials]


def test_the_rules_end_a_search() -> None:
    """A search without results that improve ends after the given number; the others end by the gap."""

    def flat(**parameters: Any) -> float:
        return 0.0 if parameters["x"] == 0.5 else 1.0

    space: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1)}
    found = minimize(flat, space, 30, seed=1, stop={"no_gain_for": 5}, noise_std=0.0, progress=False)
    best = min(found.trials, key=lambda trial: (trial.value, trial.number)).number
    assert (found.reason, len(found.trials)) == ("no_gain", best + 5)

    def bowl(x: float, y: float) -> float:
        return (x - 0.3) ** 2 + (y - 0.6) ** 2

    whole = minimize(bowl, space, 30, seed=1, progress=False)
    share = minimize(bowl, space, 30, seed=1, stop={"gap_share_below": 0.25}, progress=False)
    near = minimize(bowl, space, 30, seed=1, tolerance=0.07, progress=False)
    assert (whole.reason, share.reason, near.reason) == ("budget", "gain_unlikely", "converged")
    for each in (share, near):
        assert 3 < len(each.trials) < 30
        assert each.trials == whole.trials[: len(each.trials)]


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(("rule", "trials"), [({"tolerance": 0.2}, 9), ({"stop": {"no_gain_for": 2}}, 7)])
def test_a_search_ends_for_the_reason_of_a_study(rule: dict[str, Any], trials: int, more: int, client: Client) -> None:
    """Also if its budget ends with the same trial."""

    def bowl(x: float, y: float) -> float:
        return (x - 0.3) ** 2 + (y - 0.6) ** 2

    space: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1)}
    found = minimize(bowl, space, trials + more, seed=1, progress=False, **rule)
    study = client.create_study(None, space, direction="minimize", budget=trials + more, seed=1, **rule)
    study.run(bowl, progress=False)
    assert (found.reason, len(found.trials)) == (study.info().reason, trials)


def test_no_gain_of_several_objectives_is_that_of_the_hypervolume() -> None:
    def two(x: float) -> dict[str, Any]:
        return {"metrics": {"a": float(x > 2), "b": 0.0}}

    options: dict[str, Any] = {
        "objectives": [{"metric": name, "direction": "minimize", "reference": 2} for name in "ab"]
    }
    found = minimize(two, {"x": Float(0, 1)}, 30, seed=1, stop={"no_gain_for": 4}, progress=False, **options)
    assert (found.reason, len(found.trials)) == ("no_gain", 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": {"z": 1}}, r"fixed\['z'\] is not a parameter"),
        ({"fixed": {"x": 2}}, r"fixed\['x'\] is 2, outside"),
        ({"fixed": {"n": 2, "kind": "a"}}, r"fixed\['n'\] is only active if kind is 'b'"),
        ({"fixed": {"x": 0.9}, "constraints": ["x < 0.5"]}, "fixed leaves no point that satisfies the constraints"),
        ({"baseline": {"x": 2}}, r"baseline\['x'\] is 2, outside"),
        ({"baseline": {"lab": "A"}}, r"baseline\['lab'\] is a fixed parameter"),
        ({"baseline": {"x": 0.5}, "objectives": ["p", "q"]}, "baseline cannot be combined with several objectives"),
        ({"baseline": {"x": 0.5}, "algorithm": {"kind": "sobol"}}, "baseline requires the algorithm"),
        ({"tolerance": 0.1, "algorithm": {"kind": "sobol"}}, "tolerance requires the algorithm"),
        ({"tolerance": -1}, "tolerance must be 0 or more, not -1"),
        ({"stop": {"gap_share_below": 2}}, r"stop\['gap_share_below'\] must be between 0 and 1"),
        ({"stop": {"gap_share_below": 0.1}, "objectives": ["p", "q"]}, "gap_share_below cannot be combined"),
        ({"stop": {"no_gain_for": 0}}, r"stop\['no_gain_for'\] must be at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_combined_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(lambda **_: 1.0, {**SPACE, "lab": Fixed("A")}, 3, **options)


def test_context_is_refused_with_what_needs_one_best_point() -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "day": Float(0, 1, context=True)}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"baseline": {"day": 0.5}}, r"baseline\['day'\] is a context parameter, which is not chosen"),
        ({"stop": {"no_gain_for": 3}}, "stop cannot be combined with context parameters"),
        ({"tolerance": 1}, "tolerance cannot be combined with context parameters"),
        ({"fixed": {"day": 0.5}}, r"fixed\['day'\] is a context parameter; set it in context=\{\.\.\.\}"),
    ]
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            minimize(lambda x, day: x + day, space, 3, context={"day": 0.5}, **options)
    unknown: dict[str, Any] = {"lease_seconds": 9}
    with pytest.raises(TypeError, match=r"minimize\(\) has no lease_seconds; a study has it: Client.local"):
        minimize(lambda x: x, {"x": Float(0, 1)}, 3, **unknown)
    with pytest.raises(TypeError, match=r"stop must be a dict of rules \(no_gain_for, "):
        minimize(lambda x: x, {"x": Float(0, 1)}, 3, stop={"rule": "median"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"minimize\(\) needs budget, such as budget=30, the number of trials"),
        ({"n_trials": 9}, r"minimize\(\) has no option n_trials; use budget"),
        ({"budgte": 9}, r"minimize\(\) has no option budgte; did you mean budget\?"),
        ({"budget": 9, "sede": 9}, r"minimize\(\) has no option sede; did you mean seed\?"),
        ({"budget": 9, "direction": "maximize"}, r"has no option direction; call minimize\(\) or maximize\(\)"),
        ({"budget": 9, "directions": ["minimize"]}, r"has no option directions; use objectives=\["),
        (
            {"budget": 9, "workers": 4},
            r"has no option workers; a run of a study has workers: .*run\(function, workers=",
        ),
        ({"budget": 9, "n_jobs": 4}, r"has no option n_jobs; a run of a study has workers: .*run\(function, workers="),
        ({"budget": 9, "timeout": 4}, r"has no option timeout; a run of a study has timeout"),
        ({"budget": 9, "qqq": 4}, r"minimize\(\) has no option qqq; it has algorithm, seed"),
    ],
    ids=str,
)
def test_an_unknown_or_missing_argument_is_named_with_the_one_to_use(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        minimize(lambda x: x, {"x": Float(0, 1)}, **arguments)
