"""The sweeper with real Hydra: programs started with ``--multirun``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from adabkb_client import Categorical, Client, Fixed, Float, Int, Ordinal, Parameter
from adabkb_integrations.hydra.space import Space, space_of
from tests.acceptance.examples.programs import finish, start
from tests.waiting import TIMEOUT_SECONDS

PROGRAM = """
import hydra

@hydra.main(version_base="1.3", config_path=None)
def task(config):
    if config.x < 0.5:
        raise ArithmeticError("diverged") if config.how == "fails" else ImportError("no such module")
    return {"value": (config.x - 0.7) ** 2, "std_error": 0.1}

task()
"""


def space(*overrides: str) -> Space:
    return space_of(OverridesParser.create().parse_overrides(list(overrides)))


@pytest.mark.long
def test_example_continues_a_study_and_writes_its_best_trial(server: str, client: Client, tmp_path: Path) -> None:
    axes: dict[str, Parameter] = {
        "svm.C": Float(1e-2, 1e3, log=True),
        "svm.gamma": Float(1e-6, 1e-1, log=True),
        "svm.kernel": Categorical(["rbf", "poly", "linear"]),
    }
    study = client.create_study("hydra-digits", axes, direction="maximize", budget=1)
    study.observe(study.suggest(), 0.01)
    swept = ("--multirun", "hydra.sweeper.budget=4", "hydra.sweeper.workers=2", "svm.kernel=rbf,poly,linear")
    finish(start("examples/hydra_digits.py", *swept, f"hydra.sweep.dir={tmp_path}", ADABKB_URL=server))
    first, *others = study.trials()
    assert (first.value, len(others)) == (0.01, 3)
    best = study.best()
    assert best
    assert yaml.safe_load((tmp_path / "optimization_results.yaml").read_text()) == {
        "name": "adabkb",
        "study": "hydra-digits",
        "best_params": best.parameters,
        "best_value": best.value,
    }
    job = yaml.safe_load((tmp_path / "2" / ".hydra" / "overrides.yaml").read_text())
    assert job == [f"{key}={value}" for key, value in others[2].parameters.items()]


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "state", "says"),
    [
        ("fails", "failed", "stopped after 1 failed jobs in a row"),
        ("is_wrong", "released", "ImportError: no such module"),
    ],
)
def test_failed_job_is_a_failed_trial_and_a_user_error_releases_its_trials(
    server: str, client: Client, tmp_path: Path, how: str, state: str, says: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    sweeper = (f"hydra.sweeper.url={server}", "hydra.sweeper.max_failures=1", "hydra.sweeper.study=s")
    overrides = (f"hydra.sweep.dir={tmp_path}/out", f"+how={how}", "+x=interval(0, 0.4)")
    program = start(
        str(tmp_path / "program.py"), "--multirun", "hydra/sweeper=adabkb", *sweeper, *overrides, HYDRA_FULL_ERROR="1"
    )
    with program:
        _, errors = program.communicate(timeout=TIMEOUT_SECONDS)
    assert program.returncode == 1
    assert says in errors
    assert [trial.state for trial in client.study("s").trials()] == [state]


@pytest.mark.parametrize(
    ("override", "parameter"),
    [
        ("x=interval(0, 1)", Float(0, 1)),
        ("x=tag(log, interval(1e-5, 1))", Float(1e-5, 1, log=True)),
        ("x=int(interval(1, 8))", Int(1, 8)),
        ("x=tag(log, int(interval(1, 64)))", Int(1, 64, log=True)),
        ("x=range(1, 5)", Int(1, 4)),
        ("x=range(8, 0, -2)", Int(2, 8, step=2)),
        ("x=tag(log, range(1, 65))", Int(1, 64, log=True)),
        ("x=range(0, 1, 0.25)", Float(0, 0.75, step=0.25)),
        ("x=shuffle(range(3, 4))", Fixed(3)),
        ("x=16,32,64", Ordinal([16, 32, 64])),
        ("x=choice(64, 16, 32)", Categorical(["64", "16", "32"])),
        ("x=choice(adam, 'a b', true, [64, 64])", Categorical(["adam", "a\\ b", "True", "[64,64]"])),
        ("x=choice(adam)", Fixed("adam")),
    ],
)
def test_every_sweep_becomes_the_equivalent_parameter(override: str, parameter: Parameter) -> None:
    assert space(override).parameters == {"x": parameter}


def test_constant_overrides_are_passed_to_each_job_and_the_last_value_wins() -> None:
    found = space("x=interval(0, 1)", "db=mysql", "+y=1,2", "~z", "x=range(1, 9)", "db='a b'")
    assert found.parameters.keys() == {"x", "+y"}
    assert found.job({"x": 3, "+y": 2}) == ["db='a b'", "~z", "x=3", "+y=2"]


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("x=1", "no override is a sweep, so there is nothing to search: give one, such as"),
        ("x=range(5, 5)", "x: range(5, 5, 1) has no value; its stop is exclusive"),
        ("x=tag(log, choice(1, 2))", "x: a choice cannot have a log scale; use tag(log, interval(...))"),
        ("x=tag(log, range(1, 9, 2))", "x: a range with a step cannot have a log scale; use interval(...)"),
    ],
)
def test_unsupported_sweeps_are_rejected_by_key(override: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        space(override)
