"""The calls of the API from the command line, and their effects."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import httpx
import pytest
from openpyxl import load_workbook

from adabkb_client import Client, Float, Study
from adabkb_client._values import difference
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.integration.client.faults import proxy

ADABKB = str(Path(sys.executable).with_name("adabkb"))


@pytest.fixture(autouse=True)
def _address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)


@pytest.fixture
def study(create: Callable[..., Study]) -> Study:
    return create(parameters={"x": Float(0, 1), "y": Float(0, 1)}, budget=9)


def test_a_trial_is_renewed_released_failed_and_retried(study: Study) -> None:
    adabkb("trial", "suggest", study.id, "--lease-seconds", "60", "--worker", "me")
    header, line = adabkb("trial", "list", study.id, "--state", "active").splitlines()
    assert header.split() == ["trial", "state", "worker", "x", "y", "note"]
    assert re.fullmatch(r"1 +active +me +0\.\d+ +0\.\d+ +until 20\S+", line)
    assert adabkb("trial", "heartbeat", study.id, "1", "--lease-seconds", "1000").startswith(
        "Trial 1 is leased until 20"
    )
    assert adabkb("trial", "release", study.id, "1", "--attempt", "1") == "Trial 1 is released.\n"
    assert adabkb("trial", "list", study.id, "--state", "failed") == f"Study {study.id} has no failed trials.\n"
    adabkb("trial", "suggest", study.id)
    assert "lease_lost" in adabkb("trial", "release", study.id, "1", "--attempt", "1", code=1)
    assert adabkb("trial", "fail", study.id, "1", "out of memory").startswith("Trial 1 has failed.")
    header, line = adabkb("trial", "list", study.id).splitlines()
    assert header.split() == ["trial", "state", "seconds", "x", "y", "note"]
    assert re.fullmatch(r"1 +failed +\d\S* .*out of memory", line)
    assert adabkb("trial", "retry", study.id, "--failed") == "Trial 1 will be issued again.\n"
    told = [line[22:].strip() for line in adabkb("trial", "why", study.id, "1").splitlines() if line.startswith("  20")]
    assert told[0] == "Suggested to me"
    assert told[-2:] == ["Failed: out of memory", "Queued again"]
    [trial] = json.loads(adabkb("trial", "list", study.id, "--json"))
    assert (trial["number"], trial["state"], trial["attempt"]) == (1, "released", 2)


def test_a_metric_is_a_number_in_any_notation_and_errors_name_the_option(create: Callable[..., Study]) -> None:
    study = create(parameters={"x": Float(0, 1)}, metrics=["ms"])
    adabkb("trial", "suggest", study.id)
    assert "error: --metric: is required" in adabkb("result", "observe", study.id, "1", "0", code=1)
    adabkb("result", "observe", study.id, "1", "0", "--metric", "ms=.5", "--metric-std-error", "ms=+1e-2")
    [result] = study.observations()
    assert (result.metrics, result.std_errors) == ({"ms": 0.5}, {"ms": 0.01})


def test_a_suggestion_is_declined_and_taken_back(study: Study) -> None:
    adabkb("trial", "suggest", study.id)
    assert adabkb("trial", "withdraw", study.id, "1", "--reason", "no XPhos left") == "Trial 1 is withdrawn.\n"
    _, line = adabkb("trial", "list", study.id, "--state", "withdrawn").splitlines()
    assert line.endswith("no XPhos left")
    assert adabkb("trial", "retry", study.id, "1") == "Trial 1 will be issued again.\n"


def test_a_trial_is_asked_for_with_parameters_fixed(study: Study) -> None:
    assert (
        adabkb("trial", "suggest", study.id, "--fixed", "x=0.25", "--fixed", '{"y": 0.5}') == "trial 1: x=0.25 y=0.5\n"
    )
    refusal = adabkb("trial", "suggest", study.id, "--fixed", "z=1", code=1)
    assert "--fixed z: is not a parameter of this study" in refusal


def test_a_plate_is_asked_for(create: Callable[..., Study]) -> None:
    plates = {"size": 3, "shared": ["x"]}
    study = create(parameters={"x": Float(0, 1), "y": Float(0, 1)}, plates=plates, budget=9)
    first = adabkb("trial", "suggest", study.id, "--plate", "open").splitlines()
    assert [line.split(":")[0] for line in first] == [f"trial {number} (plate 1)" for number in (1, 2, 3)]
    assert len({line.split()[4] for line in first}) == 1
    assert adabkb("trial", "suggest", study.id).startswith("trial 4 (plate 2): x=")
    assert adabkb("trial", "suggest", study.id, "--plate", "new", "--count", "1").startswith("trial 5 (plate 3): x=")
    assert "plates: of 3 trials with the same x" in adabkb("study", "show", study.id)
    adabkb("result", "add", study.id, "0.5", "x=0.25", "y=0.5", "--plate", "9")
    assert [each.plate for each in study.observations()] == [9]
    assert adabkb("result", "list", study.id).splitlines()[0].split() == ["observation", "plate", "value", "x", "y"]
    told = adabkb("result", "add", study.id, "0.5", "x=0.5", "y=0.5", "--plate", "9", code=1)
    assert "is 0.5, but plate 9 has 0.25" in told
    queued = adabkb("trial", "queue", study.id, "x=0.25", "y=0.5", "--plate", "new")
    assert queued.startswith("Trial 6 is queued (plate 10): x=0.25")
    assert adabkb("trial", "repeat", study.id, "6", "--plate", "open").startswith("Trial 7 is queued (plate 10): ")
    plain = create(parameters={"x": Float(0, 1)})
    assert "this one has none" in adabkb("trial", "suggest", plain.id, "--plate", "open", code=1)


@pytest.mark.long
def test_a_context_is_given_and_what_is_changed_from_the_baseline_is_shown(create: Callable[..., Study]) -> None:
    study = create(
        parameters={"x": Float(0, 1), "y": Float(0, 1), "humidity": Float(0, 1, context=True)},
        baseline={"x": 0.1, "y": 0.2},
        budget=13,
    )
    assert "--context humidity: is missing; give the values" in adabkb("trial", "suggest", study.id, code=1)
    for number in range(1, 13):
        asked = json.loads(adabkb("trial", "suggest", study.id, "--context", "humidity=0.4", "--json"))
        point = asked["trials"][0]["parameters"]
        assert point["humidity"] == 0.4
        adabkb("result", "observe", study.id, str(number), str((point["x"] - 0.8) ** 2))
    assert "give it: --context NAME=VALUE" in adabkb("study", "recommendation", study.id)
    shown = adabkb("study", "recommendation", study.id, "--context", "humidity=0.4")
    assert "changes x=" in shown
    assert "from x=0.1: gains " in shown
    assert "is 7, outside" in adabkb("study", "recommendation", study.id, "--context", "humidity=7", code=1)


def test_values_are_reported_until_the_trial_is_stopped(create: Callable[..., Study]) -> None:
    rule = {"rule": "asha", "max_steps": 9}
    study = create(parameters={"x": Float(0, 1)}, early_stopping=rule)  # to be maximized
    adabkb("trial", "suggest", study.id, "--count", "2")
    assert adabkb("trial", "report", study.id, "1", "1", "-0.5") == "Go on.\n"
    stopped = adabkb("trial", "report", study.id, "2", "1", "-0.75", "--attempt", "1", code=3)
    assert stopped == "Stop: At step 1 it has place 2 of 2 trials, of which the best 1 continue.\n"
    assert adabkb("trial", "curve", study.id, "1") == "step 1: -0.5\n"
    assert adabkb("trial", "list", study.id, "--state", "stopped").endswith("at step 1 with -0.75\n")
    assert adabkb("study", "export", study.id, "--format", "curves").splitlines()[1].startswith("1,1,1,-0.5,20")
    assert "step: must be more than 1, the step reported before" in adabkb(
        "trial", "report", study.id, "1", "0", "1", code=1
    )
    assert f"adabkb trial release {study.id} TRIAL" in adabkb("trial", "report", study.id, "1", "1", "2", code=1)


def test_a_report_has_the_values_that_are_measured_with_the_result(create: Callable[..., Study]) -> None:
    space = {"x": Float(0, 1), "humidity": Float(0, 1, context="measured")}
    study = create(parameters=space, early_stopping={"rule": "patience", "max_steps": 9, "no_gain_for": 1})
    adabkb("trial", "suggest", study.id)
    assert "humidity: is missing" in adabkb("trial", "report", study.id, "1", "1", "0.5", code=1)
    assert adabkb("trial", "report", study.id, "1", "1", "0.5", "humidity=0.3") == "Go on.\n"
    adabkb("trial", "report", study.id, "1", "2", "0.5", "humidity=0.4", code=3)
    assert [each.parameters["humidity"] for each in study.observations()] == [0.4]


def test_attributes_of_a_result_without_a_trial_are_set_and_removed(study: Study) -> None:
    added = study.add_result({"x": 0.5, "y": 0.5}, 1.0).observation
    assert added is not None
    seq = str(added.seq)
    set_now = adabkb("result", "annotate", study.id, seq, "note=turbid", "fold=2")
    assert set_now == f"Result {seq} has note='turbid' fold=2.\n"
    assert adabkb("result", "annotate", study.id, seq, "note=null", "fold=null") == f"Result {seq} has no attributes.\n"


def test_attributes_are_set_removed_and_looked_for(study: Study) -> None:
    adabkb("trial", "suggest", study.id, "--count", "2")
    assert adabkb("trial", "annotate", study.id, "1", "host=n1", "fold=2") == "Trial 1 has host='n1' fold=2.\n"
    assert adabkb("trial", "annotate", study.id, "1", "host=null") == "Trial 1 has fold=2.\n"
    assert len(adabkb("trial", "list", study.id, "--attribute", "fold=2").splitlines()) == 2
    assert adabkb("trial", "list", study.id, "--attribute", "host=n1") == f"Study {study.id} has no trials.\n"


def test_a_rule_to_stop_is_set_and_removed(study: Study) -> None:
    adabkb("study", "update", study.id, "--no-gain-for", "3")
    assert study.info().stop == {"no_gain_for": 3}
    adabkb("study", "update", study.id, "--gap-share-below", "0.1")
    assert study.info().stop == {"no_gain_for": 3, "gap_share_below": 0.1}
    adabkb("study", "update", study.id, "--no-gain-for", "none")
    assert study.info().stop == {"gap_share_below": 0.1}
    adabkb("study", "update", study.id, "--gap-share-below", "none")
    assert study.info().stop is None


@pytest.mark.long
def test_a_study_is_shown_with_what_going_on_will_probably_gain(study: Study) -> None:
    assert "going on" not in adabkb("study", "show", study.id)
    for x, y in product((0.0, 0.5, 1.0), repeat=2):
        study.add_result({"x": x, "y": y}, (x - 0.4) ** 2 + y)
    gap = study.info().gap
    assert gap is not None
    assert f"according to the model, no point is better by more than {difference(gap)}" in adabkb(
        "study", "show", study.id
    )


def test_the_point_of_a_trial_is_repeated(study: Study) -> None:
    study.queue({"x": 0.5, "y": 0.25})
    assert adabkb("trial", "repeat", study.id, "1") == "Trial 2 is queued: x=0.5 y=0.25\n"
    assert adabkb("trial", "repeat", study.id, "1", "--times", "3") == "Trials 3 to 5 are queued: x=0.5 y=0.25\n"


def test_user_supplied_points_are_queued_and_added(study: Study) -> None:
    assert adabkb("trial", "queue", study.id, "x=0.5", "y=0.25") == "Trial 1 is queued: x=0.5 y=0.25\n"
    assert adabkb("trial", "queue", study.id, '{"x": 0.25, "y": 1}') == "Trial 2 is queued: x=0.25 y=1.0\n"
    assert adabkb("result", "add", study.id, "-3.5", "x=0.5", "y=0.5", "--std-error", "0.5").startswith(
        "Observation 1 is stored"
    )
    assert adabkb("result", "observe", study.id, "1", "-2", "x=0.5", "y=0.5").startswith("Trial 1 is completed.")
    listed = adabkb("result", "list", study.id).splitlines()
    assert [line.split() for line in listed] == [
        ["observation", "trial", "value", "std_error", "x", "y"],
        ["1", "-3.5", "0.5", "0.5", "0.5"],
        ["2", "1", "-2", "0.5", "0.5"],
    ]
    assert "\nA user queued it.\n" in adabkb("trial", "why", study.id, "2")
    study.import_results([{"x": 0.75, "y": 0.5, "value": None, "state": "failed"}])
    assert "\nA user reported that it failed.\n" in adabkb("trial", "why", study.id, "3")


def test_results_are_corrected_excluded_and_included_with_a_reason(study: Study) -> None:
    adabkb("result", "add", study.id, "1", "x=0.5", "y=0.5")
    assert adabkb("result", "correct", study.id, "1", "-2.5", "--reason", "typing error").startswith(
        "observation 1: -2.5 at x="
    )
    assert "y=0.5, excluded. " in adabkb("result", "exclude", study.id, "1")
    assert "excluded" not in adabkb("result", "include", study.id, "1")
    events = json.loads(adabkb("study", "events", study.id, "--json"))
    assert [event["kind"] for event in events] == ["created", "observed", "corrected", "corrected", "corrected"]
    assert events[2]["payload"]["reason"] == "typing error"
    assert "corrected" in adabkb("study", "events", study.id).splitlines()[2]
    [created] = adabkb("study", "events", study.id, "--kind", "created", "--kind", "paused").splitlines()
    assert "created" in created


def test_numbers_have_six_digits_except_in_points_to_evaluate(study: Study) -> None:
    """As in tables, in Python and in the web interface; ``--json`` has all digits."""
    x, y, value = 1 / 3, 2 / 3, 1234 / 7
    queued = adabkb("trial", "queue", study.id, f"x={x!r}", f"y={y!r}")
    assert queued == f"Trial 1 is queued: x={x!r} y={y!r}\n"
    assert adabkb("trial", "suggest", study.id) == f"trial 1: x={x!r} y={y!r}\n"
    found = "176.286 at x=0.333333 y=0.666667"
    assert adabkb("result", "observe", study.id, "1", repr(value)).endswith(f"best {found}\n")
    assert f"best {found}" in adabkb("study", "show", study.id)
    assert f"observed: {found}\n" in adabkb("study", "recommendation", study.id)
    corrected = adabkb("result", "correct", study.id, "1", repr(value), "--std-error", repr(1 / 7))
    assert "176.286 ± 0.142857 at x=0.333333 y=0.666667. " in corrected
    assert f"{found.replace(' y', ', y')}>" in repr(study.info())
    (result,) = json.loads(adabkb("result", "list", study.id, "--json"))
    assert (result["value"], result["parameters"]) == (value, {"x": x, "y": y})


def test_a_correction_keeps_what_is_not_given_and_none_removes_a_standard_error(study: Study) -> None:
    adabkb("result", "add", study.id, "1", "x=0.5", "y=0.5", "--std-error", "0.25")
    assert "observation 1: 2 ± 0.25 at" in adabkb("result", "correct", study.id, "1", "2")
    assert "observation 1: 2 at" in adabkb("result", "correct", study.id, "1", "--std-error", "none")
    assert "'many' is not a number" in adabkb("result", "correct", study.id, "1", "--std-error", "many", code=2)
    assert "nothing to correct" in adabkb("result", "correct", study.id, "1", code=1)
    told = adabkb("result", "correct", study.id, "1", "--metric-std-error", "time=none", code=1)
    assert "the study has no metrics" in told


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_to_a_full_disk_is_an_error_without_a_traceback(study: Study, options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [ADABKB, "study", "events", study.id, *options]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "cannot write the output: no space is left" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("study")
def test_a_closed_output_is_no_error() -> None:
    done = subprocess.run(f"{ADABKB} study list >&-", shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_many_results_are_reported_line_by_line(study: Study, tmp_path: Path) -> None:
    lines = [{"parameters": {"x": 0.5, "y": 0.5}, "value": 1}, {"trial": 7, "value": 1}, {"parameters": {}, "value": 1}]
    file = tmp_path / "results.jsonl"
    file.write_text("\n\n".join(map(json.dumps, lines)))
    told = adabkb("result", "observe-many", study.id, str(file), code=1).splitlines()
    assert told[0].startswith("line 3: ")
    assert told[1].startswith("line 5: ")
    assert told[2] == "1 of 3 results are stored."
    file.write_text(json.dumps(lines[0]) + "\n\n")
    assert "1 of 1 results are acceptable." in adabkb("result", "observe-many", study.id, str(file), "--dry-run")
    assert adabkb("result", "observe-many", study.id, "-", stdin=json.dumps(lines[0])) == "1 of 1 results are stored.\n"
    assert study.info().counts.observations == 2
    assert "line 2 of" in adabkb("result", "observe-many", study.id, "-", stdin='{"trial": 1}\n{', code=1)
    assert "has no results" in adabkb("result", "observe-many", study.id, "-", stdin="\n", code=1)


def test_a_study_is_paused_resumed_and_changed(study: Study) -> None:
    assert ": paused, 0 of 9 trials of the budget completed" in adabkb("study", "pause", study.id)
    assert "no trial is issued (the study is paused): Paused" in adabkb("trial", "suggest", study.id, code=1)
    assert ": running, 0 of 9" in adabkb("study", "resume", study.id)
    assert ": running, 0 of 20" in adabkb(
        "study", "update", study.id, "--budget", "20", "--tolerance", "0.5", "--tag", "a=b"
    )
    info = study.info()
    assert (info.budget, info.tolerance, info.tags) == (20, 0.5, {"a": "b"})
    told = adabkb("study", "update", study.id, "--title", "Suzuki", "--description", "Boronic ester")
    assert f"{study.id} 'Suzuki'" in told
    assert adabkb("study", "show", study.id).splitlines()[1] == "Boronic ester"
    assert "Suzuki" in adabkb("study", "list", "--tag", "a=b")
    assert adabkb("study", "list", "--tag", "a=c") == "No study has these tags.\n"
    adabkb("study", "update", study.id, "--title", "none", "--description", "none")
    assert (study.info().title, study.info().description) == (None, None)
    adabkb(
        "study",
        "update",
        study.id,
        "--budget",
        "none",
        "--tolerance",
        "none",
        "--lease-seconds",
        "9",
        "--max-attempts",
        "2",
    )
    info = study.info()
    assert (info.budget, info.tolerance, info.lease_seconds, info.max_attempts) == (None, None, 9, 2)
    assert "such as --budget 100" in adabkb("study", "update", study.id, code=1)
    assert "/budget" in adabkb("study", "update", study.id, "--budget", "0", "--json", code=1)
    assert "such as 60, '3 plates' or 'cost 50'" in adabkb("study", "update", study.id, "--budget", "many", code=1)
    wider, added = '{"name": "x", "kind": "float", "low": 0, "high": 3}', '{"name": "b", "kind": "bool"}'
    adabkb("study", "update", study.id, "--parameter", wider, "--parameter", added, "--default", "b=true")
    assert [parameter["name"] for parameter in study.info().parameters][-1] == "b"
    assert study.info().defaults == {"b": True}
    adabkb("study", "update", study.id, "--constraint", "x <= 2.5", "--constraint", "not (b and x > 1)")
    assert study.info().constraints == ("x <= 2.5", "not (b and x > 1)")
    adabkb("study", "update", study.id, "--noise-std", "0.5", "--robust")
    assert (study.info().noise_std, study.info().robust) == (0.5, True)
    adabkb("study", "update", study.id, "--noise-std", "none", "--no-robust")
    assert (study.info().noise_std, study.info().robust) == (None, False)
    assert "--per-cost" in adabkb("study", "update", study.id, "--per-cost", code=1)
    adabkb("study", "update", study.id, "--constraint", "none")
    assert study.info().constraints == ()
    assert "is not a JSON object; give one as in a definition" in adabkb(
        "study", "update", study.id, "--parameter", "x", code=1
    )
    assert "--tag 'a' has no value" in adabkb("study", "update", study.id, "--tag", "a", code=1)


def test_names_and_units_are_changed_and_in_an_excel_file(study: Study, tmp_path: Path) -> None:
    words = 'value={"label": "Yield", "unit": "%", "low": 0, "high": 100}'
    adabkb("study", "update", study.id, "--quantity", words)
    assert study.info().quantities == {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    told = adabkb("result", "add", study.id, "282", "x=0.5", "y=0.5", code=1)
    assert "is 282, far above the possible values, 0 to 100 %" in told
    assert "does not measure" in adabkb("study", "update", study.id, "--quantity", 'purity={"unit": "%"}', code=1)
    adabkb("result", "add", study.id, "82", "x=0.5", "y=0.5")
    assert "best 82 % at x=0.5 y=0.5" in adabkb("study", "show", study.id)
    assert "best 82 % at x=0.5, y=0.5" in repr(study.info())
    file = tmp_path / "study.xlsx"
    adabkb("study", "export", study.id, "--format", "xlsx", "--output", str(file))
    header, row = load_workbook(file).active.iter_rows(values_only=True)
    assert dict(zip(header, row, strict=True))["Yield [%]"] == 82
    refused = adabkb("study", "export", study.id, "--format", "xlsx", code=1)
    assert "cannot be written to standard output; give --output FILE.xlsx" in refused


def test_what_is_known_is_shown(study: Study) -> None:
    assert f"Ask for a trial: adabkb trial suggest {study.id}." in adabkb("study", "recommendation", study.id)
    assert "has no results" in adabkb("result", "list", study.id)
    assert adabkb("model", "dictionary", study.id) == f"The dictionary of study {study.id} is empty.\n"
    for number, x in enumerate((0.25, 0.5, 0.75)):
        adabkb("result", "add", study.id, str(number), f"x={x}", "y=0.5")
    told = adabkb("study", "recommendation", study.id).splitlines()
    assert told[0].startswith("There are too few results to rely on the model")
    assert told[1].startswith("by the model: ")
    assert told[2] == "observed: 2 at x=0.75 y=0.5"
    assert adabkb("model", "predict", study.id, "x=0.5", "y=0.5").startswith("x=0.5 y=0.5: ")
    several = json.loads(adabkb("model", "predict", study.id, '{"x": 0.5, "y": 0.5}', '{"x": 1, "y": 1}', "--json"))
    assert [sorted(prediction) for prediction in several] == [["lcb", "mean", "std", "ucb"]] * 2
    for x in (0.05, 0.1, 0.15, 0.9, 0.95):
        study.observe_many([{"parameters": {"x": x, "y": 0.9}, "state": "failed", "reason": "broke"}])
    predicted = adabkb("model", "predict", study.id, "x=0.5", "y=0.5").strip()
    assert re.search(r": \S+ ± \S+, from \S+ to \S+, finishes with probability \S+$", predicted), predicted
    assert "lengthscales" in adabkb("model", "show", study.id)
    assert len(adabkb("model", "dictionary", study.id).splitlines()) == 3


@pytest.mark.long
def test_what_the_model_has_found_out_is_shown_as_tables(study: Study) -> None:
    assert adabkb("model", "importance", study.id) == (
        f"Study {study.id} has 0 results: the model needs more; adabkb study assessment says how many.\n"
    )
    early = "It is too early to say whether you can trust the model: it needs 9 more results."
    assert adabkb("model", "validation", study.id) == f"{early}\n"
    study.observe_many([{"parameters": {"x": x / 4, "y": y}, "value": x} for x in range(5) for y in (0.0, 1.0)])
    header, first, second = adabkb("model", "importance", study.id).splitlines()
    assert header.split("  ")[0] == "parameter"
    assert first.startswith("x          ")
    assert " ± " in first
    assert second.startswith("y          ")
    assert json.loads(adabkb("model", "importance", study.id, "--json"))["results"] == 10
    header, *rows, whole = adabkb("model", "validation", study.id).splitlines()
    assert header.split() == ["result", "value", "predicted", "lower", "upper"]
    assert [row.split()[0] for row in rows] == [str(number) for number in range(1, 11)]
    assessed = json.loads(adabkb("study", "assessment", study.id, "--json"))
    standing, progress, *others = adabkb("study", "assessment", study.id).splitlines()
    assert (standing, progress) == (assessed["standing"], assessed["progress"]["text"])
    assert assessed["outlook"]["text"] in others
    assert assessed["verdicts"][""]["text"] == whole
    assert whole in others
    assert [f"! {each['text']}" for each in assessed["checks"]] == [each for each in others if each.startswith("!")]
    at, header, *rows = adabkb("model", "slice", study.id, "x", "--points", "3", "--at", "y=0.5").splitlines()
    assert (at, header.split()) == ("at y=0.5", ["x", "mean", "std", "lower", "upper"])
    assert [row.split()[0] for row in rows] == ["0", "0.5", "1"]
    assert len(adabkb("model", "slice", study.id, "y", "x", "--points", "3").splitlines()) == 10
    assert "'z' is not a parameter of this study (known: x, y)" in adabkb("model", "slice", study.id, "z", code=1)
    header, root = adabkb("model", "partition", study.id).splitlines()
    assert header.split() == ["cell", "depth", "status", "mean", "std", "index", "x", "y"]
    assert (root.split()[:3], root.split()[-2:]) == (["0", "0", "leaf"], ["0..1", "0..1"])
    assert adabkb("model", "partition", study.id, "--status", "pruned") == f"Study {study.id} has no pruned cells.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trial", "queue", "s", "x"], "'x' is not a value of a parameter; give NAME=VALUE, such as C=10"),
        (["result", "add", "s", "1", "=3"], "'=3' is not a value of a parameter"),
        (["result", "add", "s", "good", "x=1"], "'good' is not a number; give the result first, then the point"),
        (["result", "add", "s", "0.5"], "also give the point of the result"),
        (["result", "observe", "s", "1", "0", "--metric", "ms=fast"], "--metric ms=fast is not a number"),
        (["trial", "queue", "s", "x=NaN", "y=0"], "parameter 'x' must be a finite number, not nan"),
        (["result", "observe-many", "s", "/nowhere"], "cannot read /nowhere"),
        (
            ["study", "pause", "s", "--url", "http://127.0.0.1:abc"],
            "--url or ADABKB_URL is not a valid URL; check its host and port",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_the_remedy(arguments: list[str], message: str) -> None:
    said = adabkb(*arguments, code=1)
    assert message in said
    assert len(said.splitlines()) == 1


@pytest.mark.long
def test_a_name_that_the_terminal_cannot_show_is_printed_as_an_escape(create: Callable[..., Study]) -> None:
    study = create(parameters={"\N{GREEK SMALL LETTER ALPHA}": Float(0, 1)})
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [ADABKB, "trial", "suggest", study.id], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("trial 1: \\u03b1=0.")


def test_watching_shows_what_happens_until_the_study_is_complete(create: Callable[..., Study]) -> None:
    study = create(budget=1)
    trial = study.suggest()
    with subprocess.Popen([ADABKB, "study", "watch", study.id], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith(f"{study.id}: running")
        study.observe(trial, 0.5)
        assert [line.split()[3] for line in watching.stdout] == ["observed", "completed"]
    events = [json.loads(line) for line in adabkb("study", "watch", study.id, "--all", "--json").splitlines()]
    assert [event["kind"] for event in events] == ["created", "suggested", "observed", "completed"]
    said = adabkb("study", "watch", study.id, "--all").splitlines()
    assert said[0].startswith(f"{study.id}: complete (budget), 1 of 1")
    assert [line.split()[3] for line in said[1:]] == ["created", "suggested", "observed", "completed"]
    assert adabkb("study", "watch", study.id, "--json") == ""


@pytest.mark.parametrize("is_replaced", [False, True])
def test_watching_ends_with_an_error_when_the_study_is_deleted(
    create: Callable[..., Study], module_client: Client, is_replaced: bool
) -> None:
    study = create()
    command = [ADABKB, "study", "watch", study.id, "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith(f"{study.id}: running")
        assert watching.stdout.readline().startswith("event 1, ")
        module_client.delete_study(study.id)
        if is_replaced:
            module_client.create_study(study.id, {"x": Float(0, 2)}, direction="minimize")
        said, error = watching.communicate(timeout=60)
    assert (watching.returncode, said) == (1, "")
    assert f"Study {study.id!r} was deleted." in error


def test_every_call_of_the_api_can_be_made(address: str) -> None:
    """A new call of the API needs a command, or an entry in one of the lists at the end."""
    x, results = ("x=1", "n=2"), '{"parameters": {"x": 1, "n": 3}, "value": 1}'
    with proxy(address) as through:
        for arguments, stdin in [
            (("study", "create", "-"), json.dumps({**DEFINITION, "id": "all"})),
            (("study", "list"), None),
            (("study", "show", "all"), None),
            (("study", "pause", "all"), None),
            (("study", "resume", "all"), None),
            (("trial", "queue", "all", *x), None),
            (("trial", "repeat", "all", "1"), None),
            (("trial", "suggest", "all"), None),
            (("trial", "heartbeat", "all", "1"), None),
            (("trial", "release", "all", "1"), None),
            (("trial", "withdraw", "all", "1"), None),
            (("trial", "retry", "all", "1"), None),
            (("trial", "fail", "all", "1", "no"), None),
            (("trial", "retry", "all", "1"), None),
            (("trial", "annotate", "all", "1", "host=n1"), None),
            (("trial", "suggest", "all"), None),
            (("trial", "report", "all", "1", "3", "0.25"), None),
            (("trial", "curve", "all", "1"), None),
            (("result", "observe", "all", "1", "0.5"), None),
            (("result", "observe-many", "all", "-"), results),
            (("result", "correct", "all", "1", "0.25"), None),
            (("result", "add", "all", "0.75", *x), None),
            (("result", "annotate", "all", "2", "note=turbid"), None),
            *(((group, "list", "all"), None) for group in ("trial", "result")),
            *((("study", verb, "all"), None) for verb in ("recommendation", "events", "export", "rows")),
            *((("model", verb, "all"), None) for verb in ("show", "dictionary")),
            (("trial", "why", "all", "1"), None),
            (("model", "predict", "all", *x), None),
            (("model", "importance", "all"), None),
            (("model", "validation", "all"), None),
            (("study", "assessment", "all"), None),
            (("model", "slice", "all", "x"), None),
            (("model", "partition", "all"), None),
            (("access", "share", "all", "*"), None),
            (("access", "show", "all"), None),
            (("access", "links", "all"), None),
            (("study", "webhooks", "all"), None),
            (("study", "export-report", "all"), None),
            (("trial", "add-file", "all", "1", __file__), None),
            (("trial", "files", "all", "1"), None),
            (("trial", "read-file", "all", "1", "1"), None),
            (("trial", "remove-file", "all", "1", "1"), None),
            (("result", "add-file", "all", "2", __file__), None),
            (("result", "files", "all", "2"), None),
            (("result", "read-file", "all", "2", "2"), None),
            (("result", "remove-file", "all", "2", "2"), None),
            (("study", "delete", "all", "--yes"), None),
            (("trash", "restore", "all"), None),
            (("study", "delete", "all", "--yes"), None),
            (("trash", "list"), None),
            (("trash", "purge", "2", "--yes"), None),
            (("access", "whoami"), None),
            (("access", "usage"), None),
        ]:
            adabkb(*arguments, "--url", through.url, stdin=stdin)
        for refused in (("link", "all"), ("unlink", "all", "0" * 12)):  # this server requires no tokens
            adabkb("access", *refused, "--url", through.url, code=1)
        adabkb("study", "front", "all", "--url", through.url, code=1)  # a study with one objective has no front
        nowhere = ["all", "0" * 12]
        webhooks = (["add-webhook", "all", "http://127.0.0.1/"], ["change-webhook", *nowhere, "--on"])
        for unknown in (*webhooks, ["remove-webhook", *nowhere]):
            adabkb("study", *unknown, "--url", through.url, code=1)  # not a public address, and no such webhook
    called = {(method, re.sub(r"\?.*", "", path)) for method, path, _ in through.sent}
    for path, calls in httpx.get(f"{address}/openapi.json", timeout=60).json()["paths"].items():
        pattern = re.sub(r"\\{.*?\\}", "[^/]+", re.escape(path))
        for method, call in calls.items():
            is_made = any(method.upper() == made and re.fullmatch(pattern, where) for made, where in called)
            # The calls of trial why and trial list, result exclude, and model partition do the same.
            by_another = call["operationId"] in ("getTrial", "excludeObservation", "listCells")
            in_database = call["operationId"] in (
                "createToken",
                "changeToken",
                "listTokens",
                "revokeToken",
                "listAudit",
                "listPeople",
                "endSessions",
            )
            assert is_made or by_another or in_database or not path.startswith("/v1"), (
                f"no command calls {method.upper()} {path}"
            )


@contextmanager
def listening() -> Iterator[tuple[str, list[str | None]]]:
    """Yield the URL of a server, and a list of the Authorization headers that it gets."""
    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization"))
            body = b'{"items": [], "next_cursor": null}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", tokens
        server.shutdown()
        thread.join()


def test_the_token_of_the_option_beats_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as (url, tokens):
        adabkb("study", "list", "--url", url)
        monkeypatch.setenv("ADABKB_TOKEN", "from-the-environment")
        adabkb("study", "list", "--url", url)
        adabkb("study", "list", "--url", url, "--token", "given")
    assert tokens == [None, "Bearer from-the-environment", "Bearer given"]


def test_a_server_that_is_away_for_a_moment_is_waited_for(address: str) -> None:
    with proxy(address) as faulty:
        faulty.faults.extend(["lose request", "lose answer"])
        result = adabkb("study", "create", "-", "--url", faulty.url, stdin=json.dumps({**DEFINITION, "id": "waited"}))
        assert "Study waited is running." in result
    assert len({key for _, _, key in faulty.sent}) == 1


def test_with_json_an_unreachable_server_gives_json_only() -> None:
    said = adabkb("study", "list", "--url", "http://127.0.0.1:1", "--retry-for", "0.2", "--json", code=1)
    assert json.loads(said)["error"].endswith("; start one with: adabkb serve")


def test_another_program_that_answers_is_recognized(address: str) -> None:
    with proxy(address) as hotel:
        hotel.faults.append("not ours")
        assert "its answer is not JSON. Give the address of the server with --url." in adabkb(
            "study", "list", "--url", hotel.url, code=1
        )


@pytest.mark.parametrize(
    ("words", "completed"),
    [pytest.param("adabkb trial hea", "heartbeat", marks=pytest.mark.long), ("adabkb trial list {id}", "{id}")],
)
def test_a_shell_completes_commands_and_studies(study: Study, address: str, words: str, completed: str) -> None:
    asked = words.format(id=study.id[:-1])
    variables = {"_ADABKB_COMPLETE": "complete_bash", "COMP_WORDS": asked, "COMP_CWORD": str(asked.count(" "))}
    environment = {**os.environ, **variables, "ADABKB_URL": address}
    done = subprocess.run([ADABKB], env=environment, capture_output=True, text=True, check=True)
    assert completed.format(id=study.id) in done.stdout.splitlines()
