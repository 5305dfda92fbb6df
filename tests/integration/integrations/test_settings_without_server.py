"""The table of settings of studies that searches without a server take."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_type_hints

import optuna
import pytest

from adabkb_client import Float, StudySettings
from adabkb_integrations.inprocess import maximize, minimize
from adabkb_integrations.inprocess.options import Options
from adabkb_integrations.optuna import AdaBKBSampler
from adabkb_integrations.optuna.sampler import ELSEWHERE

ROOT = Path(__file__).parents[3]


def rows() -> dict[str, list[str]]:
    """Setting -> the other cells of its row."""
    text = (ROOT / "docs/integrations.md").read_text()
    header = "| Setting | `minimize` | sampler | Reason or alternative |"
    table = text.split(header)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {name.strip("`"): others for name, *others in cells}


def test_the_table_has_each_setting_and_says_who_takes_it() -> None:
    found, settings = rows(), get_type_hints(StudySettings).keys()
    assert found.keys() == settings
    options = {*Options.__annotations__, "budget"}
    assert {name for name, (taken, *_) in found.items() if taken == "yes"} == options & settings
    arguments = inspect.signature(AdaBKBSampler).parameters.keys()
    assert {name for name, (_, taken, _) in found.items() if taken == "yes"} == arguments & settings
    assert [name for name, (one, other, why) in found.items() if "no" in (one, other) and not why] == []


def test_a_robust_search_gives_an_outlier_less_weight() -> None:
    """It finds the optimum although its third result is far off, and repeats the point of that result."""
    calls = []

    def value(x: float) -> float:
        calls.append(x)
        return 50.0 if len(calls) == 12 else -((x - 0.3) ** 2)

    maximize(value, {"x": Float(0, 1)}, 24, seed=1, robust=True, progress=False)
    assert calls.count(calls[11]) > 1


def test_the_sampler_refuses_each_other_setting_for_the_reason_in_the_table() -> None:
    assert ELSEWHERE.keys() == {name for name, (_, taken, _) in rows().items() if taken == "no"} | {"fixed"}
    for name, reason in ELSEWHERE.items():
        with pytest.raises(TypeError, match=f"AdaBKBSampler takes no {name}: {re.escape(reason)}"):
            AdaBKBSampler(**{name: 1})  # type: ignore[arg-type]
        told = reason.partition("; minimize")[0]
        assert told in rows().get(name, ["", "", told])[2].replace("`", ""), name
    with pytest.raises(TypeError, match="AdaBKBSampler has no argument 'sead'"):
        AdaBKBSampler(**{"sead": 1})  # type: ignore[arg-type]


def test_a_robust_sampler_suggests_the_point_of_an_outlier_again() -> None:
    calls = []

    def value(trial: optuna.Trial) -> float:
        calls.append(trial.suggest_float("x", 0, 1))
        return 50.0 if len(calls) == 12 else -((calls[-1] - 0.3) ** 2)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=AdaBKBSampler(seed=1, robust=True))
    study.optimize(value, n_trials=24)
    assert calls.count(calls[11]) > 1


def test_the_sampler_works_with_fixed_values() -> None:
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        fixed = optuna.samplers.PartialFixedSampler({"y": 0.25}, AdaBKBSampler(seed=1))
    study = optuna.create_study(sampler=fixed)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + trial.suggest_float("y", 0, 1), 15)
    assert {trial.params["y"] for trial in study.trials} == {0.25}
    assert abs(study.best_params["x"] - 0.3) < 0.05


def test_what_needs_a_server_is_refused() -> None:
    with pytest.raises(ValueError, match="robust requires the algorithm"):
        minimize(lambda x: x, {"x": Float(0, 1)}, 3, robust=True, algorithm={"kind": "sobol"})
