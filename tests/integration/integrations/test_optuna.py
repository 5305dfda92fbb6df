"""The sampler in real studies of Optuna. In fewer than one of twenty studies, uniform sampling would satisfy the
asserted limits of the best value.
"""

from __future__ import annotations

import math
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from adabkb_integrations.optuna import AdaBKBSampler
from adabkb_integrations.optuna.branches import branches
from adabkb_integrations.optuna.history import SUGGESTED, History, history
from adabkb_integrations.optuna.outcomes import Goals
from benchmarks.integrations import PLAIN, compared
from benchmarks.quality.problems import FUNCTION_PROBLEMS
from tests.waiting import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[3]
HUB = ROOT / "integrations" / "hub" / "package"

pytestmark = pytest.mark.usefixtures("quiet_optuna")


def mixed(trial: optuna.Trial) -> float:
    """All kinds of parameters; the minimum is 0."""
    x = trial.suggest_float("x", -1.0, 2.0)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    drop = trial.suggest_float("drop", 0.0, 0.5, step=0.1)
    depth = trial.suggest_int("depth", 1, 9, step=2)
    units = trial.suggest_int("units", 8, 512, log=True)
    kind = trial.suggest_categorical("kind", [None, "relu", True, 0.5])
    fits = (x - 0.7) ** 2 + (np.log10(rate) + 2) ** 2 / 4 + (drop - 0.3) ** 2 + (depth - 5) ** 2 / 40
    return float(fits + (np.log2(units) - 6) ** 2 / 10 + (kind != "relu") * 0.3)


def branching(trial: optuna.Trial) -> float:
    """Three branches with their own parameters, whose minima are 0.1, 0 and 0.05."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    shared = 0.2 * (np.log10(rate) + 2.3) ** 2
    match trial.suggest_categorical("model", ["svm", "tree", "layers"]):
        case "svm":
            C, gamma = trial.suggest_float("C", 1e-3, 1e3, log=True), trial.suggest_float("gamma", 1e-4, 10, log=True)
            return float(shared + 0.1 + 0.05 * (np.log10(C) - 1) ** 2 + 0.1 * (np.log10(gamma) + 1.5) ** 2)
        case "tree":
            depth, share = trial.suggest_int("depth", 1, 32, log=True), trial.suggest_float("share", 0.1, 1.0)
            return float(shared + 0.3 * (np.log2(depth) - 3) ** 2 + (share - 0.65) ** 2)
        case _:
            count = trial.suggest_int("count", 1, 3)
            widths = [trial.suggest_int(f"width{layer}", 8, 512, log=True) for layer in range(count)]
            return float(shared + 0.05 + 0.1 * abs(count - 2) + 0.05 * sum((np.log2(w) - 6) ** 2 for w in widths))


def run(objective: optuna.study.study.ObjectiveFuncType, trials: int, **study: object) -> optuna.Study:
    made = optuna.create_study(**{"sampler": AdaBKBSampler(seed=1), **study})  # type: ignore[arg-type]
    made.optimize(objective, n_trials=trials)
    return made


def points(study: optuna.Study) -> list[dict[str, object]]:
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("function", ["Branin", pytest.param("Hartmann_6", marks=pytest.mark.long)])
def test_one_worker_evaluates_the_same_points_as_the_engine(function: str) -> None:
    regrets = compared(FUNCTION_PROBLEMS[function], PLAIN, seeds=1, budget=25)
    assert regrets["optuna"] == regrets["auto"]


def test_every_kind_of_parameter_is_learned() -> None:
    study = run(mixed, 60)
    assert study.best_value < 0.02
    assert study.best_params["kind"] == "relu"


def test_maximizing_the_negative_gives_the_same_trials() -> None:
    assert points(run(mixed, 15)) == points(run(lambda trial: -mixed(trial), 15, direction="maximize"))


def test_resumed_study_knows_earlier_trials(tmp_path: Path) -> None:
    """All information is in the storage: two new samplers with the same seed continue identically."""
    run(mixed, 25, storage=f"sqlite:///{tmp_path}/0.db", study_name="s")
    found = []
    for copy in ("1.db", "2.db"):
        shutil.copy(tmp_path / "0.db", tmp_path / copy)
        study = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path}/{copy}", sampler=AdaBKBSampler(seed=1))
        study.optimize(mixed, n_trials=1)
        found.append(study.trials[-1].params)
    assert found[0] == found[1]
    assert found[0]["kind"] == "relu"


def test_threads_share_a_study_without_repeated_points() -> None:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1))
    study.optimize(mixed, n_trials=16, n_jobs=4)
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 16


PROCESS = """
import sys, optuna
from adabkb_integrations.optuna import AdaBKBSampler
from adabkb_integrations.optuna.history import SUGGESTED
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=AdaBKBSampler(seed=1))
study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2 + (t.suggest_float("y", 0, 1) - 0.8) ** 2, n_trials=10)
"""


@pytest.mark.long
def test_processes_share_a_study_through_its_storage(tmp_path: Path) -> None:
    """All have the same seed; their points differ because they know each other's trials."""
    storage = f"sqlite:///{tmp_path}/optuna.db"
    study = optuna.create_study(study_name="s", storage=storage)
    workers = [subprocess.Popen([sys.executable, "-c", PROCESS, storage]) for _ in range(2)]
    assert [worker.wait(TIMEOUT_SECONDS) for worker in workers] == [0, 0]
    modelled = [tuple(trial.params.values()) for trial in study.trials if "adabkb:suggested" in trial.system_attrs]
    assert len(modelled) >= 16
    assert len(set(modelled)) == len(modelled)
    assert study.best_value < 1e-3


def test_trials_asked_for_together_differ() -> None:
    study = run(mixed, 5)
    asked = [study.ask() for _ in range(4)]
    for trial in asked:
        mixed(trial)
    assert len({tuple(trial.params.items()) for trial in asked}) == 4


def test_trial_without_parameters_changes_nothing() -> None:
    """Such trials remain in the storage if a worker was killed, or if more trials were requested than used."""
    study, alone = run(mixed, 5), run(mixed, 5)
    study.ask()
    for each in (study, alone):
        each.optimize(mixed, n_trials=5)
    assert [point for point in points(study) if point] == points(alone)


class Overtaken(InMemoryStorage):
    """Another trial gets the same point just before the next one is stored."""

    other: int | None = None

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        if key == SUGGESTED and self.other is not None:
            super().set_trial_system_attr(self.other, key, value)
            self.other = None
        super().set_trial_system_attr(trial_id, key, value)


@pytest.mark.parametrize("had_a_point", [False, True], ids=["first", "in place of one that was taken"])
def test_point_that_another_process_took_first_is_replaced(had_a_point: bool) -> None:
    storage = Overtaken()
    study = run(mixed, 5, storage=storage)
    other, trial = study.ask(), study.ask()
    if had_a_point:
        mixed(other)
    storage.other = other._trial_id  # storages need this id, for which Optuna has no public name
    mixed(trial)
    *_, theirs, ours = study.trials
    assert ours.system_attrs[SUGGESTED] != theirs.system_attrs[SUGGESTED]


@pytest.mark.long
def test_several_branches_are_searched_better_than_at_random_in_most_studies() -> None:
    seeds = 8
    ours = [run(branching, 60, sampler=AdaBKBSampler(seed=seed)).best_value for seed in range(seeds)]
    random = [run(branching, 60, sampler=optuna.samplers.RandomSampler(seed=seed)).best_value for seed in range(seeds)]
    assert sum(our < its for our, its in zip(ours, random, strict=True)) > seeds / 2


def test_numeric_condition_is_learned() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if x < 0.4:
            return 1.0 + x + (trial.suggest_float("y", 0.0, 1.0) - 0.3) ** 2
        return (trial.suggest_float("z", 0.0, 1.0) - 0.6) ** 2 + (x - 0.7) ** 2

    study = run(objective, 40)
    assert study.best_value < 1e-5
    assert sum("z" in trial.params for trial in study.trials) > 25


@pytest.mark.long
def test_parameter_added_later_is_learned() -> None:
    study = run(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + 1.0, 15)

    def longer(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2

    study.optimize(longer, n_trials=25)
    assert study.best_value < 1e-4


@pytest.mark.long
def test_changed_range_applies_from_then_on() -> None:
    study = run(lambda trial: (trial.suggest_float("x", 0, 1) - 0.9) ** 2 + trial.suggest_float("y", 0, 1), 12)
    study.optimize(
        lambda trial: (trial.suggest_float("x", 0, 4) - 3.0) ** 2 + trial.suggest_float("y", 0, 1) - 1, n_trials=25
    )
    assert study.best_params["x"] == pytest.approx(3.0, abs=0.05)


def test_finite_space_is_covered_before_any_point_is_repeated() -> None:
    study = run(lambda trial: trial.suggest_int("a", 0, 3) + float(trial.suggest_categorical("b", "xyz") == "x"), 14)
    assert len({tuple(trial.params.items()) for trial in study.trials[:12]}) == 12


@pytest.mark.long
@pytest.mark.parametrize("pruner", [optuna.pruners.MedianPruner(n_startup_trials=3), optuna.pruners.HyperbandPruner()])
def test_pruned_trials_inform_the_model(pruner: optuna.pruners.BasePruner) -> None:
    def objective(trial: optuna.Trial) -> float:
        final = (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2
        for step in range(10):
            trial.report(final + 1.0 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return final

    study = run(objective, 60, pruner=pruner, study_name="s")  # its hash selects the brackets of Hyperband
    at_random = 1.0 / (60 * math.pi)  # the expected best of the same number of random points
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.PRUNED) > 10
    assert study.best_value < at_random / 20


@pytest.mark.long
def test_pruned_trial_is_at_most_as_good_as_the_median_complete_one() -> None:
    """Its intermediate values may measure something other than the final ones."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x > 0.7:
            trial.report(-1000.0, 0)
            raise optuna.TrialPruned
        return (x - 0.2) ** 2

    study = run(objective, 30)
    assert study.best_value < 1e-6
    assert sum(trial.state is TrialState.PRUNED for trial in study.trials) < 4


@pytest.mark.long
def test_search_avoids_failing_regions() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if x > 0.6:
            raise MemoryError
        return (x - 0.55) ** 2 + (y - 0.5) ** 2

    study = optuna.create_study(sampler=AdaBKBSampler(seed=1))
    study.optimize(objective, n_trials=40, catch=MemoryError)
    failed = [trial.state is TrialState.FAIL for trial in study.trials]
    assert study.best_value < 1e-3
    assert sum(failed) < 12


@pytest.mark.parametrize("beyond", [float("inf"), float("-inf"), 1e308])
def test_values_beyond_the_models_range_do_no_harm(beyond: float) -> None:
    values = iter([0.5, beyond, 0.4, -beyond, 0.3])
    study = run(lambda trial: next(values) + 0 * trial.suggest_float("x", 0, 1), 5)
    assert len({trial.params["x"] for trial in study.trials}) == 5


def limited(trial: optuna.Trial) -> float:
    """The best feasible point is (0.45, 0.45), at the edge x + y = 0.9, and the value there is -0.405."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_user_attr("memory", x + y - 0.9)
    return float(-x * y - x * 0.45 - y * 0.45 + 0.2025)


def memory(trial: optuna.trial.FrozenTrial) -> list[float]:
    return [trial.user_attrs["memory"]]


def best_kept(study: optuna.Study) -> float:
    return min(float(trial.values[0]) for trial in study.trials if trial.values and memory(trial)[0] <= 0)


def test_best_point_at_the_edge_of_a_constraint_is_found() -> None:
    """Feasible random points come within 0.02 in less than one of five studies."""
    study = run(limited, 25, sampler=AdaBKBSampler(seed=1, constraints_func=memory))
    assert best_kept(study) == pytest.approx(-0.405, abs=1e-3)


if hasattr(optuna.Trial, "set_constraint"):  # from Optuna 5 on

    def test_constraints_set_on_the_trial_equal_those_of_the_function() -> None:
        def objective(trial: optuna.Trial) -> float:
            value = limited(trial)
            trial.set_constraint("0", trial.user_attrs["memory"])
            return value

        by_function = run(limited, 8, sampler=AdaBKBSampler(seed=1, constraints_func=memory))
        assert points(run(objective, 8)) == points(by_function)


@pytest.mark.long
def test_trials_that_violate_a_partly_reported_constraint_count_as_bad() -> None:
    def some(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [trial.params["x"] - 0.5] if trial.number % 2 else []

    sampler = AdaBKBSampler(seed=1, constraints_func=some)
    study = run(lambda trial: -trial.suggest_float("x", 0, 1), 25, sampler=sampler)
    ordered = list(study.trials)
    (branch,) = branches(ordered)
    results = history(branch, branch.space({"x"}), ordered, Goals((-1.0,))).results
    violating = [trial for trial in ordered[1:] if trial.number % 2 and trial.params["x"] > 0.5]
    assert violating
    for trial in violating:
        value = results[trial.number].value
        assert value is None or value <= min(each.value or 0.0 for each in results.values())


def two_goals(trial: optuna.Trial) -> tuple[float, float]:
    """The front consists of the points x = y from 0.2 to 0.8, where the square roots of both values sum to 0.6
    sqrt(2)."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return (x - 0.2) ** 2 + (y - 0.2) ** 2, -((x - 0.8) ** 2 + (y - 0.8) ** 2)


def hypervolume(study: optuna.Study) -> float:
    """The hypervolume of the front above (0.72, -0.72), whose maximum is 0.432."""
    front = sorted((trial.values[0], -trial.values[1]) for trial in study.best_trials)
    area, ceiling = 0.0, 0.72
    for first, second in front:
        if first < 0.72 and second < ceiling:
            area += (0.72 - first) * (ceiling - second)
            ceiling = second
    return area


def test_front_of_two_objectives_is_found() -> None:
    directions = {"directions": ["minimize", "maximize"]}
    ours = hypervolume(run(two_goals, 30, **directions))
    assert ours > 0.39
    for seed in range(3):
        other = run(two_goals, 30, sampler=optuna.samplers.RandomSampler(seed=seed), **directions)
        assert ours > hypervolume(other) + 0.02


@pytest.mark.long
def test_two_objectives_with_a_constraint_and_branches() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        if trial.suggest_categorical("kind", ["bad", "good"]) == "bad":
            z = trial.suggest_float("z", 0, 1)
            return 1.0 + z, -1.0 - z
        return two_goals(trial)

    def left(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [trial.params.get("x", 0.0) - 0.5]

    sampler = AdaBKBSampler(seed=1, constraints_func=left)
    study = run(objective, 40, sampler=sampler, directions=["minimize", "maximize"])
    kept = [trial for trial in study.trials if "x" in trial.params and trial.params["x"] <= 0.5]
    assert len(kept) > 15
    assert min(trial.values[0] for trial in kept) < 0.01
    assert max(trial.values[1] for trial in kept) > -0.19


def test_enqueued_points_are_evaluated_in_between() -> None:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1))
    study.enqueue_trial({"x": 0.7})
    study.optimize(mixed, n_trials=3)
    study.enqueue_trial({"x": 0.25, "kind": True})
    study.optimize(mixed, n_trials=20)
    assert study.trials[0].params["x"] == 0.7
    assert study.trials[3].params["x"] == 0.25
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 23


def three(trial: optuna.Trial) -> float:
    return sum((trial.suggest_float(name, 0, 4) - 1) ** 2 for name in "xyz")


def model_of(study: optuna.Study, names: str) -> History:
    """The model's view of the branch with these parameters."""
    ordered = sorted(study.trials, key=lambda trial: not trial.state.is_finished())
    (branch,) = (each for each in branches(study.get_trials(states=[TrialState.COMPLETE])) if each.names == set(names))
    return history(branch, branch.space(names), ordered, Goals((-1.0,)))


def test_enqueued_value_out_of_range_is_not_counted_as_a_result() -> None:
    study = run(three, 4)
    study.enqueue_trial({"x": 20.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(three, n_trials=1)
    assert study.trials[4].params["x"] == 20.0
    assert model_of(study, "xyz").results.keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("state", [TrialState.PRUNED, TrialState.FAIL])
def test_trial_that_stops_early_counts_at_its_full_point(state: TrialState) -> None:
    """Parameters that it requested have the enqueued values, and the others the suggested ones."""
    study = run(three, 4)
    study.enqueue_trial({"x": 3.0})
    trial = study.ask()
    x, y = trial.suggest_float("x", 0, 4), trial.suggest_float("y", 0, 4)
    study.tell(trial, state=state)
    z = study.trials[4].system_attrs[SUGGESTED]["z"]
    assert model_of(study, "xyz").results[4].position == (x / 4, y / 4, z / 4)


def test_pending_point_is_the_one_that_runs() -> None:
    study = run(three, 4)
    study.enqueue_trial({"x": 2.9})
    trial = study.ask()
    three(trial)
    seen = model_of(study, "xyz")
    assert seen.pending == [tuple(trial.params[name] / 4 for name in "xyz")]
    assert len(seen.moved) == 1


@pytest.mark.parametrize("state", [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL])
def test_trial_of_another_branch_only_marks_the_point_as_taken(state: TrialState) -> None:
    study = run(three, 4)
    trial = study.ask()
    trial.suggest_float("x", 0, 4)
    trial.suggest_float("other", 0, 4)
    trial.report(-5.0, 0)
    study.tell(trial, -5.0 if state is TrialState.COMPLETE else None, state)
    seen = model_of(study, "xyz")
    assert seen.results[4].value is None
    assert seen.left == 1


def test_study_can_be_sent_to_another_process() -> None:
    study = run(mixed, 10)
    first, second = (pickle.loads(pickle.dumps(study)) for _ in range(2))
    assert vars(study.sampler)["_models"]
    assert vars(first.sampler)["_models"] == []
    assert vars(first.sampler).keys() == vars(study.sampler).keys()
    for copy in (first, second):
        copy.optimize(mixed, n_trials=5)
    assert points(first) == points(second)
    assert len({tuple(point.items()) for point in points(first)}) == 15


def test_reseeding_does_not_change_the_model() -> None:
    study, other = run(mixed, 5), run(mixed, 5)
    other.sampler.reseed_rng()
    study.optimize(mixed, n_trials=3)
    other.optimize(mixed, n_trials=3)
    assert points(study) == points(other)


def test_points_with_exact_values_are_not_repeated() -> None:
    study = run(lambda trial: float(trial.suggest_int("a", 1, 9)), 9, sampler=AdaBKBSampler(seed=1, noise_std=0.0))
    assert sorted(trial.params["a"] for trial in study.trials) == [*range(1, 10)]


def test_declared_noise_allows_repeated_points() -> None:
    noisy = AdaBKBSampler(seed=1, noise_std=0.1)
    study = run(lambda trial: float(trial.suggest_categorical("a", "xyz") == "x"), 9, sampler=noisy)
    assert [trial.params["a"] for trial in study.trials].count("x") < 5
    with pytest.raises(ValueError, match=r"noise_std must be 0 or more, not -0.1"):
        AdaBKBSampler(noise_std=-0.1)


@pytest.mark.long
def test_noise_is_declared_for_each_of_several_objectives() -> None:
    def evaluate(trial: optuna.Trial) -> tuple[float, float]:
        number = trial.suggest_int("a", 1, 4)
        return float(number), float(-number)

    def values(*noises: float | None) -> list[int]:
        study = optuna.create_study(directions=["minimize"] * 2, sampler=AdaBKBSampler(seed=1, noise_std=noises))
        study.optimize(evaluate, 8)
        return [trial.params["a"] for trial in study.trials[:4]]

    assert sorted(values(0.0, 0.0)) == [1, 2, 3, 4]
    assert len(set(values(None, 1.0))) < 4  # noise of either objective allows repeated points
    study = optuna.create_study(directions=["minimize"] * 2, sampler=AdaBKBSampler(noise_std=0.1))
    with pytest.raises(ValueError, match="one value for each of the 2 objectives, not 1; write None"):
        study.ask().suggest_float("x", 0, 1)


def test_more_than_four_objectives_are_rejected_with_a_remedy() -> None:
    study = optuna.create_study(directions=["minimize"] * 5, sampler=AdaBKBSampler())
    with pytest.raises(ValueError, match=r"up to 4 objectives, but this study has 5; turn some into constraints"):
        study.ask().suggest_float("x", 0, 1)


def test_missing_optuna_is_reported_with_the_package_to_install() -> None:
    program = "import sys; sys.modules['optuna'] = None; import adabkb_integrations.optuna"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'adabkb-service[optuna]'")


@pytest.mark.long
def test_optunahub_package_loads_and_its_example_works() -> None:
    import optunahub  # imported here, since the import takes half a second in each test process

    module = optunahub.load_local_module("samplers/ada_bkb", registry_root=str(HUB))
    study = optuna.create_study(sampler=module.AdaBKBSampler(seed=1))
    names: dict[str, object] = {}
    folder = HUB / "samplers" / "ada_bkb"
    exec(compile((folder / "example.py").read_text(), "example.py", "exec"), names)
    objective = names["objective"]
    assert callable(objective)
    study.optimize(objective, n_trials=30)
    assert study.best_value < 0.05
    assert {path.name for path in folder.iterdir()} >= {"__init__.py", "example.py", "README.md", "LICENSE"}
