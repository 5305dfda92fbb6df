"""``adabkb run``: a program can report what a function in Python can."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from adabkb_client import Float, Study
from tests.integration.cli.run.started import Create, reasons, states
from tests.integration.cli.shell import adabkb
from tests.samples import some
from tests.servers import ADABKB

MEASURED = {"speed": Float(0, 10), "humidity": Float(0, 1, context="measured")}
RunFile = Callable[..., str]


@pytest.fixture
def run_file(address: str, folder: Path) -> RunFile:
    """Return a function that evaluates the trials of a study with a shell script, and returns the output of the
    command. In a file, braces are literal."""

    def run(study: Study, script: str, *options: str, code: int = 0) -> str:
        (folder / "program.sh").write_text(script)
        return adabkb("run", study.id, "--url", address, *options, "--", "sh", "program.sh", code=code)

    return run


def test_a_result_has_the_values_of_parameters_that_are_measured_with_it(
    create: Create, run_file: RunFile, folder: Path
) -> None:
    """A result without them costs no trial, and the command says what to print."""
    study = create(parameters=MEASURED, budget=2)
    said = run_file(study, "echo 0.5", code=1)
    assert "lacks the parameter 'humidity' in parameters, measured with the result" in said
    assert """takes a result such as {"value": 0.1, "parameters": {"humidity": 0.1}}. The trial is released.""" in said
    printed = """printf '{"value": 1, "parameters": {"humidity": 0.%s}, "seconds": 7}' "$ADABKB_TRIAL" """
    run_file(study, f'echo "$ADABKB_TO_MEASURE" >>assumed\n{printed}')
    assert [result.parameters["humidity"] for result in study.observations()] == [0.1, 0.2]
    assert [trial.seconds for trial in study.trials()] == [7.0, 7.0]
    assert [json.loads(line) for line in (folder / "assumed").read_text().splitlines()] == [
        {"humidity": 0.5},
        {"humidity": 0.1},
    ]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ('{"value": 1, "parameters": 0.4}', 'the parameters of the result must be an object such as {"humidity": 0.4}'),
        ('{"value": 1, "parameters": {"humidity": NaN}}', "parameter humidity of the result is nan, not a finite"),
        ('{"value": 1, "seconds": "7"}', "the seconds of the result is '7', not a number"),
    ],
)
def test_a_wrong_part_of_a_result_is_named(create: Create, run_file: RunFile, result: str, message: str) -> None:
    study = create(parameters=MEASURED, budget=1)
    said = run_file(study, f"echo '{result}'", code=1)
    assert message in said + "".join(filter(None, reasons(study)))


def test_an_argument_cannot_have_a_value_that_is_measured_with_the_result(create: Create, address: str) -> None:
    study = create(parameters=MEASURED, budget=1)
    said = adabkb("run", study.id, "--url", address, "--", "echo", "{humidity}", code=1)
    assert "the argument '{humidity}' has {humidity}, whose value is only measured with the result" in said
    assert """such as {"value": 0.1, "parameters": {"humidity": 0.1}}""" in said
    assert states(study) == []


def test_reports_have_the_cost_and_the_measured_values_so_far(
    create: Create, run_file: RunFile, caplog: pytest.LogCaptureFixture
) -> None:
    """Those of the last report are the ones of a stopped trial. A wrong line has no effect."""
    rule = {"rule": "patience", "max_steps": 9, "no_gain_for": 1}
    study = create(parameters=MEASURED, budget=1, cost="told", early_stopping=rule)
    script = """
    echo '{"step": 1, "value": 9, "cost": 1, "parameters": 0.2}' >>"$ADABKB_REPORTS"
    echo '{"step": 1, "value": 1, "cost": 2, "parameters": {"humidity": 0.3}}' >>"$ADABKB_REPORTS"
    echo '{"step": 2, "value": 1, "cost": 3, "parameters": {"humidity": 0.4}}' >>"$ADABKB_REPORTS"
    while true; do sleep 0.05; done
    """
    run_file(study, script, "--n-trials", "1")
    assert "the parameters in a line of the file $ADABKB_REPORTS must be an object such as" in caplog.text
    [result] = study.observations()
    assert (result.value, result.metrics, result.parameters["humidity"]) == (1.0, {"cost": 3.0}, 0.4)


PATIENCE = {"rule": "patience", "max_steps": 9, "no_gain_for": 1, "metric": "error"}
STOPPED = [
    pytest.param('echo 1 0.5 >>"$ADABKB_REPORTS"; echo 2 0.6 >>"$ADABKB_REPORTS"', id="file"),
    pytest.param("report 1 0.5; report 2 0.6; test $? = 3 && finish", id="command"),
]


@pytest.mark.parametrize("reports", STOPPED)
def test_a_stopped_program_gives_the_metrics_that_its_reports_lack(
    create: Create, run_file: RunFile, reports: str
) -> None:
    objectives = [{"metric": name, "direction": "minimize"} for name in ("error", "size")]
    study = create(direction=None, objectives=objectives, budget=1, early_stopping=PATIENCE)
    script = f"""
    finish() {{ echo '{{"metrics": {{"error": 0.9, "size": 5}}}}'; exit 0; }}
    report() {{ {ADABKB[0]} trial report "$ADABKB_STUDY" "$ADABKB_TRIAL" "$@" >&2; }}
    trap finish TERM
    {reports}
    while true; do sleep 0.05; done
    """
    said = run_file(study, script, "--n-trials", "1")
    assert "completed 0 trials, 0 failed, 1 stopped" in said
    assert [result.metrics for result in study.observations()] == [{"error": 0.6, "size": 5.0}]


@pytest.mark.parametrize(
    ("command", "ending", "state"),
    some(
        [
            ("trial withdraw $AT --reason 'no sample left'", "exit 0", "withdrawn"),
            ("trial withdraw $AT", "exit 75", "withdrawn"),
            ("trial report $AT 1 0.5 || true", "echo 1", "stopped"),
            ("trial report $AT 1 0.5 || true", "exit 1", "stopped"),
            ("result observe $AT 4", "exit 0", "completed"),
            ("trial fail $AT 'no sample left'", "exit 1", "failed"),
        ],
        [
            ("trial withdraw $AT", "exit 75", "withdrawn"),
            ("trial report $AT 1 0.5 || true", "exit 1", "stopped"),
            ("result observe $AT 4", "exit 0", "completed"),
        ],
    ),
)
def test_a_program_may_end_its_trial_by_a_command(
    create: Create, run_file: RunFile, command: str, ending: str, state: str
) -> None:
    """Only the failure counts as one. Trials are stopped if they are worse than the first one."""
    study = create(budget=3, early_stopping={"rule": "asha", "max_steps": 9})
    script = f"""
    test "$ADABKB_TRIAL" = 1 && echo 1 1 >"$ADABKB_REPORTS" && echo 2 && exit
    test "$ADABKB_TRIAL" = 3 && echo 2 && exit
    AT="$ADABKB_STUDY $ADABKB_TRIAL"
    {ADABKB[0]} {command} >&2
    {ending}
    """
    said = run_file(study, script, "--n-trials", "3", "--max-failures", "2")
    assert f"{int(state == 'failed')} failed" in said
    assert states(study) == ["completed", state, "completed"]


def test_a_program_annotates_its_trial_and_attaches_files(create: Create, run_file: RunFile) -> None:
    study = create(budget=1)
    script = f"""
    {ADABKB[0]} trial annotate "$ADABKB_STUDY" "$ADABKB_TRIAL" host=n1 >&2
    echo content >curve.csv
    {ADABKB[0]} trial add-file "$ADABKB_STUDY" "$ADABKB_TRIAL" curve.csv >&2
    echo 1
    """
    run_file(study, script)
    [trial] = study.trials()
    assert trial.attributes == {"host": "n1"}
    assert [file.name for file in study.files(trial)] == ["curve.csv"]


def test_the_reason_of_a_release_has_the_last_lines_of_standard_error(create: Create, run_file: RunFile) -> None:
    study = create(budget=1)
    run_file(study, 'test "$ADABKB_ATTEMPT" -gt 1 || { echo no licence is free >&2; exit 75; }; echo 1')
    [released] = [each.payload["reason"] for each in study.events() if each.kind == "released"]
    assert released == "exit code 75: no licence is free"
