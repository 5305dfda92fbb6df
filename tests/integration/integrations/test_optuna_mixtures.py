"""Mixtures in Optuna's studies: the shares of each trial sum to the total, from the first trial on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from adabkb_client import Float, Mixture, Parameter
from adabkb_integrations.inprocess import minimize
from tests.samples import some

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import optuna

from adabkb_integrations.optuna import AdaBKBSampler

pytestmark = pytest.mark.usefixtures("quiet_optuna")

NAMES = ("water", "oil", "salt")
RANGES = {"water": (0.3, 0.8), "oil": (0.1, 0.6), "salt": (0.0, 0.25)}
PLAIN: Mixture = {"parameters": NAMES}
FEW: Mixture = {"parameters": NAMES, "at_most": 2, "least": 0.1}
PERCENT: Mixture = {"parameters": NAMES, "total": 100}


def blend(ranges: Any = None, total: float = 1.0) -> Callable[[optuna.Trial], float]:
    """Return an objective that requests a parameter of another kind between the shares."""

    def loss(trial: optuna.Trial) -> float:
        known = ranges or {}
        water = trial.suggest_float("water", *known.get("water", (0, total))) / total
        heat = trial.suggest_float("heat", 0, 1)
        oil, salt = (trial.suggest_float(name, *known.get(name, (0, total))) / total for name in NAMES[1:])
        return float((water - 0.6) ** 2 + (oil - 0.3) ** 2 + 0.1 * salt + (heat - water) ** 2)

    return loss


def run(objective: Callable[[optuna.Trial], Any], count: int, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, **options))
    study.optimize(objective, n_trials=count)
    return study


def total(params: dict[str, Any]) -> Fraction:
    return sum((Fraction(str(params[name])) for name in NAMES), Fraction(0))


@pytest.mark.parametrize(
    ("mixture", "ranges"), some([(PLAIN, None), (FEW, None), (PERCENT, None), (PLAIN, RANGES)], [(PLAIN, RANGES)])
)
def test_shares_sum_to_the_total_and_keep_their_ranges(mixture: Mixture, ranges: Any) -> None:
    whole = float(mixture.get("total", 1.0))
    study = run(blend(ranges, whole), 14, mixtures=[mixture], ranges=ranges)
    for trial in study.trials:
        assert total(trial.params) == whole
        shares = [trial.params[name] for name in NAMES]
        if mixture is FEW:
            assert all(share == 0.0 or share >= 0.1 for share in shares)
            assert sum(share > 0.0 for share in shares) <= 2
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 14
    assert study.best_value < 0.05


def test_a_share_cannot_be_a_context() -> None:
    """No share is chosen before the context is known: the shares would have another sum."""
    message = "context has 'salt', a share of a mixture"
    with pytest.raises(ValueError, match=message):
        AdaBKBSampler(mixtures=[PLAIN], context={"heat": 0.5, "salt": 0.1})
    contexts = iter([{"heat": 0.5}, {"heat": 0.5}, {"heat": 0.5, "salt": 0.1}])
    study = run(blend(), 2, mixtures=[PLAIN], context=lambda _: next(contexts))
    assert [(trial.params["heat"], total(trial.params)) for trial in study.trials] == [(0.5, Fraction(1))] * 2
    with pytest.raises(ValueError, match=message):
        study.optimize(blend(), n_trials=1)
    assert not study.trials[2].params


def test_the_first_trial_is_the_mixture_nearest_to_the_middle() -> None:
    (trial,) = run(blend(), 1, mixtures=[PLAIN]).trials
    assert [round(trial.params[name], 9) for name in NAMES] == [round(1 / 3, 9)] * 3


def test_points_satisfy_constraints_on_shares_and_on_other_parameters() -> None:
    rules = ["water >= 2 * oil", "heat <= salt + 0.5"]
    study = run(blend(), 12, mixtures=[PLAIN], constraints=rules)
    for trial in study.trials:
        assert total(trial.params) == 1
        assert trial.params["water"] >= 2 * trial.params["oil"] - 1e-9
        assert trial.params["heat"] <= trial.params["salt"] + 0.5 + 1e-9


def test_the_points_with_a_model_are_those_of_a_search_with_the_same_results() -> None:
    """Both begin with the same point."""
    space: dict[str, Parameter] = {name: Float(0, 1) for name in NAMES}

    def loss(water: float, oil: float, salt: float) -> float:
        return (water - 0.6) ** 2 + (oil - 0.3) ** 2 + 0.1 * salt

    found = minimize(loss, space, 10, seed=1, mixtures=[PLAIN], progress=False)
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, mixtures=[PLAIN]))
    study.enqueue_trial(dict(found.trials[0].parameters))
    study.optimize(lambda trial: loss(*(trial.suggest_float(name, 0, 1) for name in NAMES)), n_trials=10)
    assert [trial.params for trial in study.trials] == [dict(each.parameters) for each in found.trials]


def test_an_enqueued_share_is_kept_and_the_others_complete_it() -> None:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, mixtures=[PLAIN]))
    for number in range(2):  # without and with a model
        study.enqueue_trial({"oil": 0.25})
        study.optimize(blend(), n_trials=1 + 3 * number)
        trial = study.trials[number]
        assert trial.params["oil"] == 0.25
        assert total(trial.params) == 1


def test_a_mixture_may_belong_to_one_branch() -> None:
    def loss(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["blend", "pure"]) == "pure":
            return 0.5 + trial.suggest_float("heat", 0, 1)
        water, oil, salt = (trial.suggest_float(name, 0, 1) for name in NAMES)
        return (water - 0.6) ** 2 + (oil - 0.3) ** 2 + 0.1 * salt

    study = run(loss, 25, mixtures=[PLAIN])
    blends = [trial for trial in study.trials if trial.params["kind"] == "blend"]
    assert 5 < len(blends) < 25
    assert {total(trial.params) for trial in blends} == {1}


@pytest.mark.long
def test_several_workers_share_a_storage(tmp_path: Any) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    study = optuna.create_study(storage=storage, sampler=AdaBKBSampler(seed=1, mixtures=[PLAIN]))
    study.optimize(blend(), n_trials=16, n_jobs=4)
    assert {total(trial.params) for trial in study.trials} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mixtures": [{**PLAIN, "at_most": 0}]}, r"mixtures\[0\]: total and at_most must be positive"),
        ({"mixtures": ["water"]}, r"mixtures\[0\] must be a dict"),
        ({"mixtures": [PLAIN], "ranges": {"sugar": (0, 1)}}, "'sugar', which is not a share"),
        ({"mixtures": [PLAIN], "ranges": {"oil": 0.5}}, r"ranges\['oil'\] must be a pair"),
        ({"mixtures": [PLAIN], "ranges": {"oil": (0.9, 1), "salt": (0.9, 1)}}, r"mixtures\[0\]"),
    ],
)
def test_invalid_mixtures_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        AdaBKBSampler(**options)


def test_a_share_with_another_range_is_refused_before_the_first_evaluation() -> None:
    with pytest.raises(ValueError, match=r"give ranges=\{'water': \(0.3, 0.8\)\}"):
        run(blend(RANGES), 1, mixtures=[PLAIN])
    with pytest.raises(ValueError, match="must be a float without log and step"):
        run(lambda trial: trial.suggest_float("water", 0, 1, step=0.1), 1, mixtures=[PLAIN])


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_trials_whose_shares_another_sampler_chose_are_refused() -> None:
    sampler = optuna.samplers.PartialFixedSampler({"salt": 0.9}, AdaBKBSampler(seed=1, mixtures=[PLAIN]))
    with pytest.raises(ValueError, match="trial 0: the shares water, oil, salt sum to"):
        optuna.create_study(sampler=sampler).optimize(blend(), n_trials=1)
    study = run(blend(), 2, mixtures=[PLAIN])
    study.sampler = optuna.samplers.PartialFixedSampler({"salt": 0.2}, AdaBKBSampler(seed=1, mixtures=[PLAIN]))
    with pytest.raises(ValueError, match="another sampler chooses the share 'salt'"):
        study.optimize(blend(), n_trials=1)
