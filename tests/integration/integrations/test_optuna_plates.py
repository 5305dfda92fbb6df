"""Plates in Optuna's studies: the trials of a plate share values, and their results an offset that the model learns."""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabkb_client import Categorical, Float, Parameter
from adabkb_integrations.inprocess import minimize

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

from adabkb_integrations.optuna import AdaBKBSampler

pytestmark = pytest.mark.usefixtures("quiet_optuna")

HEATS = [60, 80, 100]
PLATES: Any = {"size": 4, "shared": ["heat"]}
PLATE = "adabkb:plate"


def value(x: float, heat: int, y: float) -> float:
    return (x - 0.6) ** 2 + (y - 0.3) ** 2 + abs(heat - 80) / 40


def loss(trial: optuna.Trial) -> float:
    x, heat = trial.suggest_float("x", 0, 1), trial.suggest_categorical("heat", HEATS)
    return value(x, heat, trial.suggest_float("y", 0, 1))


def created(storage: Any = None, **options: Any) -> optuna.Study:
    return optuna.create_study(storage=storage, sampler=AdaBKBSampler(seed=1, **{"plates": PLATES, **options}))


def on_plates(study: optuna.Study) -> dict[int, list[optuna.trial.FrozenTrial]]:
    """The finished trials by plate."""
    found = defaultdict(list)
    for trial in study.trials:
        if trial.state.is_finished() and PLATE in trial.user_attrs:
            found[trial.user_attrs[PLATE]].append(trial)
    return found


def test_plates_are_filled_in_turn_and_share_their_values() -> None:
    study = created()
    study.optimize(loss, n_trials=14)
    found = on_plates(study)
    assert {plate: [trial.number for trial in trials] for plate, trials in found.items()} == {
        1: [0, 1, 2, 3],
        5: [4, 5, 6, 7],
        9: [8, 9, 10, 11],
        13: [12, 13],
    }
    for trials in found.values():
        assert len({trial.params["heat"] for trial in trials}) == 1
        assert len({(trial.params["x"], trial.params["y"]) for trial in trials}) == len(trials)
    study.optimize(loss, n_trials=2)
    assert len(on_plates(study)[13]) == 4, "the rest of a plate waits for the next call"


def test_the_points_are_those_of_a_search_with_plates() -> None:
    space: dict[str, Parameter] = {"heat": Categorical(HEATS), "x": Float(0, 1), "y": Float(0, 1)}
    found = minimize(value, space, 14, seed=1, plates=PLATES, progress=False)
    study = created()
    study.enqueue_trial(dict(found.trials[0].parameters), user_attrs={PLATE: 1})
    for _ in range(3):  # the rest of the first plate
        heat = found.trials[0].parameters["heat"]
        study.enqueue_trial({"heat": heat}, user_attrs={PLATE: 1})
    study.optimize(loss, n_trials=14)
    assert [trial.params for trial in study.trials[:14]] == [dict(each.parameters) for each in found.trials]


def test_a_whole_plate_is_asked_for_before_any_result() -> None:
    """Without and with a model. Optuna chooses the values when they are requested: here, by ``ask``."""
    study = created(plates={"size": 3, "shared": ["heat"]})
    space = {
        "x": FloatDistribution(0, 1),
        "heat": CategoricalDistribution(HEATS),
        "y": FloatDistribution(0, 1),
    }
    for number in (1, 4):
        trials = [study.ask(space) for _ in range(3)]
        for trial in trials:
            study.tell(trial, value(**trial.params))
        assert [study.trials[trial.number].user_attrs[PLATE] for trial in trials] == [number] * 3
        assert len({trial.params["heat"] for trial in trials}) == 1
        assert len({(trial.params["x"], trial.params["y"]) for trial in trials}) == 3


def test_enqueued_trials_are_on_no_plate_and_failures_keep_their_places() -> None:
    study = created()

    def fails(trial: optuna.Trial) -> float:
        found = loss(trial)
        if trial.number % 3 == 0:
            raise RuntimeError
        return found

    study.optimize(fails, n_trials=6, catch=RuntimeError)
    study.enqueue_trial({"heat": 60})
    study.optimize(fails, n_trials=6, catch=RuntimeError)
    own = [trial for trial in study.trials if PLATE not in trial.user_attrs]
    assert [trial.params["heat"] for trial in own] == [60]
    assert max(len(trials) for trials in on_plates(study).values()) == 4


def late(trial: optuna.Trial) -> float:
    """An objective that requests the shared value last."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return value(x, trial.suggest_categorical("heat", HEATS), y)


def fixing(values: dict[str, Any], sampler: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is experimental
        return optuna.samplers.PartialFixedSampler(values, sampler)


@pytest.mark.parametrize("storage", [None, "sqlite://"])
@pytest.mark.parametrize("fixed", [{"heat": np.int64(80)}, {"heat": 80, "x": 0.5, "y": 0.5}])
def test_a_fixed_value_is_shared_also_if_it_is_fixed_otherwise_later(storage: Any, fixed: dict[str, Any]) -> None:
    study = created(storage)
    own = study.sampler
    study.sampler = fixing({"y": 0.5}, fixing(fixed, own))
    study.optimize(late, n_trials=6)
    study.sampler = fixing({"heat": 60}, own)
    study.optimize(late, n_trials=3)
    found = [(trial.user_attrs.get(PLATE), trial.params["heat"]) for trial in study.trials[:9]]
    assert found == [(1, 80)] * 4 + [(5, 80)] * 4 + [(9, 60)]


def test_a_whole_plate_with_a_fixed_value_is_asked_for_before_any_result() -> None:
    study = created(plates={"size": 3, "shared": ["heat"]})
    study.sampler = fixing({"heat": 80}, study.sampler)
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1), "heat": CategoricalDistribution(HEATS)}
    for number in (1, 4):
        trials = [study.ask(space) for _ in range(3)]
        for trial in trials:
            study.tell(trial, value(**trial.params))
        assert [study.trials[trial.number].user_attrs[PLATE] for trial in trials] == [number] * 3


@pytest.mark.parametrize("shared", [["heat"], ["heat", "x"]])
@pytest.mark.parametrize("changes", [False, True])
def test_a_plate_begins_at_the_latest_when_its_first_trial_ends(changes: bool, shared: list[str]) -> None:
    """Optuna requests the only value of a parameter from no sampler, and an objective may change it between plates."""

    def objective(trial: optuna.Trial) -> float:
        x, y, heat = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1), HEATS[trial.number // 3 * changes]
        found = value(x, trial.suggest_int("heat", heat, heat), y)
        if trial.number == 3:
            raise RuntimeError
        return found

    study = created(plates={"size": 3, "shared": shared})
    study.optimize(objective, n_trials=9, catch=RuntimeError)
    assert [trial.user_attrs.get(PLATE) for trial in study.trials[:9]] == [1] * 3 + [4] * 3 + [7] * 3
    for trials in on_plates(study).values():
        assert len({tuple(trial.params[name] for name in shared) for trial in trials}) == 1
        assert len({(trial.params["x"], trial.params["y"]) for trial in trials}) == 3


def test_plates_need_no_shared_values() -> None:
    study = created(plates={"size": 2})
    study.optimize(loss, n_trials=6)
    assert {plate: len(trials) for plate, trials in on_plates(study).items()} == {1: 2, 3: 2, 5: 2}


def test_offsets_of_plates_are_not_attributed_to_parameters() -> None:
    """The offsets are much larger than the differences between the values of x. A trial's number gives its plate."""
    offsets = dict(zip(range(1, 25, 4), [0.0, 3.0, -3.0, 5.0, -5.0, 1.0], strict=True))

    def shifted(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        plate = 1 + 4 * (trial.number // 4)
        return (x - 0.6) ** 2 + offsets[plate]

    study = created(plates={"size": 4})
    study.optimize(shifted, n_trials=24)
    late = [trial.params["x"] for trial in study.trials[12:24]]
    assert sorted(abs(x - 0.6) for x in late)[6] < 0.1


@pytest.mark.long
def test_workers_of_a_shared_storage_never_overfill_a_plate(tmp_path: Path) -> None:
    """With SQLite, Optuna may give an enqueued trial to two workers."""
    study = created(JournalStorage(JournalFileBackend(str(tmp_path / "journal"))))
    study.optimize(loss, n_trials=24, n_jobs=4)
    for trials in on_plates(study).values():
        assert len(trials) <= 4
        assert len({trial.params["heat"] for trial in trials}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plates": {"shared": ["heat"]}}, "plates must be a dict such as"),
        ({"plates": {"size": 1}}, r"plates\['size'\] must be"),
        ({"plates": {"size": 4, "shared": "heat"}}, "must be a list of names"),
        ({"plates": {"size": 4, "shared": ["a"]}, "mixtures": [{"parameters": ["a", "b"]}]}, "a share of a mixture"),
    ],
)
def test_invalid_plates_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        AdaBKBSampler(**options)


def test_a_shared_parameter_cannot_be_a_context() -> None:
    with pytest.raises(ValueError, match="'heat', which the context gives"):
        created(context={"heat": 60})
    with pytest.raises(ValueError, match="'heat', which the context gives"):
        created(context=lambda _: {"heat": 60}).optimize(loss, n_trials=1)
