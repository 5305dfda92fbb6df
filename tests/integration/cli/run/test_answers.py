"""``adabkb run``: the inputs and the results of a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import Bool, Categorical, Fixed, Float
from tests.integration.cli.run.started import Create, Run, reasons, states
from tests.integration.cli.shell import adabkb


def test_a_program_is_given_its_parameters_and_its_last_line_is_the_result(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=3)
    script = folder / "train.sh"
    script.write_text('#!/bin/sh\necho "lr $2"\necho "$2 $4" >>seen\necho $4\n\n')
    script.chmod(0o755)
    said = adabkb("run", study.id, "--url", address, "--", "./train.sh", "--lr", "{lr}", "--layers", "{layers}")
    assert said.startswith(f"Study {study.id} is complete (budget); this command completed 3 trials, 0 failed. Best ")
    trials = list(study.trials())
    assert [trial.value for trial in trials] == [float(trial.parameters["layers"]) for trial in trials]
    seen = [tuple(map(float, line.split())) for line in (folder / "seen").read_text().splitlines()]
    assert seen == [(trial.parameters["lr"], trial.parameters["layers"]) for trial in trials]


def test_a_run_with_parameters_fixed_ends_when_all_their_points_are_done(create: Create, run: Run) -> None:
    study = create(parameters={"b": Bool(), "c": Categorical(["u", "v"])})
    told = run(study, "echo 1", "--fixed", "c=v", "--workers", "2")
    assert told.startswith(f"Study {study.id} is not complete; this command completed 2 trials, 0 failed.")
    assert {trial.parameters["c"] for trial in study.trials()} == {"v"}


def test_the_environment_and_the_file_have_every_parameter(create: Create, run: Run, folder: Path) -> None:
    parameters = {
        "model.lr": Float(0, 1),
        "gamma-ray": Bool(),
        "kernel": Categorical(["rbf", None, (64, 64)]),
        "data": Fixed("a b"),
    }
    study = create(parameters=parameters, budget=4)
    run(study, 'env >"$ADABKB_TRIAL.env"; cp "$ADABKB_PARAMETERS" "$ADABKB_TRIAL.json"; echo 1')
    for trial in study.trials():
        told = dict(line.partition("=")[::2] for line in (folder / f"{trial.number}.env").read_text().splitlines())
        assert json.loads((folder / f"{trial.number}.json").read_text()) == json.loads(json.dumps(trial.parameters))
        assert (told["ADABKB_STUDY"], told["ADABKB_ATTEMPT"]) == (study.id, "1")
        assert float(told["ADABKB_PARAM_model_lr"]) == trial.parameters["model.lr"]
        assert told["ADABKB_PARAM_gamma_ray"] == json.dumps(trial.parameters["gamma-ray"])
        assert told["ADABKB_PARAM_kernel"] in ("rbf", "null", "[64, 64]")
        assert told["ADABKB_PARAM_data"] == "a b"
        assert told["ADABKB_URL"].startswith("http://127.0.0.1:")
        assert not Path(told["ADABKB_PARAMETERS"]).exists(), "the folder of the trial still exists"


@pytest.mark.parametrize(
    ("script", "options", "value", "std_error"),
    [
        ("echo 0.5; echo; echo '  '", (), 0.5, None),
        pytest.param("echo 1e-3", (), 0.001, None, marks=pytest.mark.long),
        ("""echo '{{"value": 2, "std_error": 0.25}}'""", (), 2, 0.25),
        pytest.param("""echo '{{"value": 2, "std_error": null}}'""", (), 2, None, marks=pytest.mark.long),
        pytest.param('echo 7; echo 0.5 >"$ADABKB_RESULT"', (), 0.5, None, marks=pytest.mark.long),
        ("""echo '{{"value": 2, "std_error": 0.25}}' >"$ADABKB_RESULT"; echo done""", (), 2, 0.25),
        ("echo 'acc=1 loss=9'; echo 'acc=2 loss=8'; echo bye", ("--pattern", r"acc=(\d+)"), 2, None),
        pytest.param("yes | head -c 3000000; echo; echo 5", (), 5, None, marks=pytest.mark.long),
        ("exec bash -c 'exec > >(sleep 0.1; tee -a /dev/null) 2>&1; echo 5'", (), 5, None),
    ],
)
def test_a_result_is_a_number_or_json_wherever_it_is(
    create: Create, run: Run, script: str, options: tuple[str, ...], value: float, std_error: float | None
) -> None:
    study = create(budget=1)
    run(study, script, *options)
    [observation] = study.observations()
    assert (observation.value, observation.std_error) == (value, std_error)


def test_a_program_reports_its_steps_and_is_ended_when_its_trial_is_stopped(
    create: Create, run: Run, folder: Path
) -> None:
    """The second trial is worse and gets SIGTERM; its result is then ignored."""
    study = create(budget=2, early_stopping={"rule": "asha", "max_steps": 9})
    first = """echo 1 1 >>"$ADABKB_REPORTS"; echo '{{"step": 3, "value": 2}}' >>"$ADABKB_REPORTS"; echo 2"""
    later = """trap 'touch told; echo 9; exit 0' TERM; echo 1 0 >>"$ADABKB_REPORTS"; while true; do sleep 0.05; done"""
    said = run(study, f'if [ "$ADABKB_TRIAL" = 1 ]; then {first}; else {later}; fi', "--n-trials", "2")
    assert "completed 1 trial, 0 failed, 1 stopped" in said
    assert states(study) == ["completed", "stopped"]
    assert [(point.step, point.value) for point in study.curve(1)] == [(1, 1.0), (3, 2.0)]
    assert (folder / "told").exists()


def test_lines_that_are_no_reports_cost_nothing_but_themselves(
    create: Create, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    study = create(budget=1)
    lines = r"""1 0.5\nepoch 2\n{{"step": 2, "value": "low"}}\n3 nan\n4 0.25\n"""
    run(study, f"""printf '{lines}' >"$ADABKB_REPORTS"; echo 1""")
    assert "the value in a line of the file $ADABKB_REPORTS is 'low', not a number" in caplog.text
    assert [(point.step, point.value) for point in study.curve(1)] == [(1, 0.5), (4, 0.25)]
    assert states(study) == ["completed"]


NO_RESULTS: list[Any] = [
    ("true", (), "its standard output is empty, and it wrote no file $ADABKB_RESULT"),
    ("echo 3 apples", (), "the last line of standard output is '3 apples', neither a number nor JSON such as"),
    pytest.param("echo true", (), "the last line of standard output is 'true', neither", marks=pytest.mark.long),
    pytest.param("echo 0.5 12", (), "the last line of standard output is '0.5 12', neither", marks=pytest.mark.long),
    pytest.param(
        """echo '{{"value": 1, "error": 2}}'""", (), "neither a number nor JSON such as", marks=pytest.mark.long
    ),
    ("""echo '{{"value": "1"}}'""", (), "the value of the result is '1', not a number"),
    ("""echo '{{"value": 1, "metrics": {{"speed": 2}}}}'""", (), "has metrics, but study"),
    ('echo oops >"$ADABKB_RESULT"; echo 1', (), "the file $ADABKB_RESULT is 'oops', neither"),
    pytest.param(
        "echo 1",
        ("--pattern", "acc=(.*)"),
        "nothing in the standard output matches --pattern 'acc=(.*)'",
        marks=pytest.mark.long,
    ),
]


@pytest.mark.parametrize(("script", "options", "reason"), NO_RESULTS)
def test_output_that_is_no_result_ends_the_command_at_the_first_trial_which_costs_nothing(
    create: Create, run: Run, script: str, options: tuple[str, ...], reason: str
) -> None:
    study = create(budget=2)
    said = run(study, script, *options, code=1)
    assert reason in said
    assert f"study '{study.id}' takes a result such as 0.1. The trial is released." in said
    assert states(study) == ["released"]


def test_output_without_the_metrics_of_the_study_says_what_to_print(create: Create, run: Run) -> None:
    study = create(budget=1, metrics=["seconds"])
    said = run(study, "echo 0.5", code=1)
    assert "lacks the metric 'seconds'" in said
    example = '{"value": 0.1, "metrics": {"seconds": 0.1}}'
    assert f"takes a result such as {example}." in said
    assert states(study) == ["released"]
    run(study, f"echo '{example.replace('{', '{{').replace('}', '}}')}'")
    assert states(study) == ["completed"]


def test_after_a_result_output_that_is_none_fails_its_trial_alone(create: Create, run: Run) -> None:
    study = create(budget=3)
    assert "completed 2 trials, 1 failed" in run(study, 'test "$ADABKB_TRIAL" = 2 && exit 0; echo 1')
    assert states(study) == ["completed", "failed", "completed"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo nan", "the value of the result is nan, not a finite number"),
        ("echo first >&2; echo last words >&2; exit 3", "exit code 3: first\nlast words"),
        ("exit 3", "exit code 3, and nothing on standard error"),
        ("exec bash -c 'exec 2> >(sleep 0.2; cat >&2); echo why >&2; exit 3'", "exit code 3: why"),
        ("kill -KILL $$", "ended by SIGKILL, and nothing on standard error"),
    ],
)
def test_failed_trials_have_a_reason_and_the_command_exits_with_1_if_all_failed(
    create: Create, run: Run, script: str, reason: str
) -> None:
    study = create(budget=1)
    said = run(study, script, code=1)
    assert f"every trial of this command failed. See why: adabkb trial list {study.id} --state failed" in said
    [told] = reasons(study)
    assert reason in (told or "")


def test_literal_braces_are_doubled(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, """printf '%s' '{{"value": {layers}}}'""")
    best = study.best()
    assert best is not None
    assert best.value == best.parameters["layers"]
