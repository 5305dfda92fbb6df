"""``adabkb study create``: from options, from a file, and from both."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from adabkb_client import Client
from tests.integration.cli.shell import adabkb
from tests.servers import ADABKB

PARAMETER = '{"name": "x", "kind": "float", "low": 0, "high": 1}'


@pytest.fixture(autouse=True)
def _address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)


def test_a_study_is_created_from_options_alone(address: str) -> None:
    space = ("--parameter", PARAMETER, "--parameter", PARAMETER.replace("x", "y"), "--constraint", "x + y <= 1")
    limits = ("--budget", "9", "--tolerance", "0.1", "--no-gain-for", "5", "--lease-seconds", "30")
    made = adabkb("study", "create", "--id", "typed", "--direction", "maximize", *space, *limits, "--tag", "a=b")
    assert made == "Study typed is running.\n"
    with Client(address) as client:
        info = client.study("typed").info()
    assert [each["name"] for each in info.parameters] == ["x", "y"]
    assert (info.direction, info.budget, info.tolerance, info.lease_seconds) == ("maximize", 9, 0.1, 30.0)
    assert (info.constraints, info.stop, info.tags) == (("x + y <= 1",), {"no_gain_for": 5}, {"a": "b"})


SHARES = [json.dumps({"name": name, "kind": "float", "low": 0, "high": 1}) for name in "abc"]


def test_a_definition_is_utf_8_in_any_locale(tmp_path: Path, address: str) -> None:
    """With a byte order mark, too, as some editors write it."""
    definition = {"direction": "minimize", "title": "Härte", "parameters": [json.loads(PARAMETER)]}
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for number, (encoding, is_stdin) in enumerate([("utf-8", False), ("utf-8-sig", False), ("utf-8", True)]):
        file = tmp_path / "study.json"
        file.write_text(json.dumps({**definition, "id": f"hard{number}"}, ensure_ascii=False), encoding=encoding)
        command = [*ADABKB, "study", "create", "-" if is_stdin else file]
        subprocess.run(command, env=environment, input=file.read_bytes(), check=True, capture_output=True)
        with Client(address) as client:
            assert client.study(f"hard{number}").info().title == "Härte"


def test_a_study_has_every_setting_that_an_option_gives(address: str) -> None:
    """Objectives go with neither a baseline nor a robust search, and a plain algorithm goes with few settings."""
    space = [word for text in SHARES for word in ("--parameter", text)]
    bound, mixture = {"metric": "purity", "lower": 0.9, "upper": None}, {"parameters": ["a", "b"], "total": 2.0}
    rule = {"rule": "median", "max_steps": 9, "min_steps": 2, "after_trials": 5}
    belief = {"around": 0.5, "width": 0.25}
    adabkb(
        *(
            "study",
            "create",
            "--id",
            "one",
            "--direction",
            "maximize",
            *space,
            "--title",
            "Blend",
            "--metric",
            "purity",
        ),
        *("--outcome-constraint", json.dumps(bound), "--mixture", json.dumps(mixture), "--per-cost", "--cost", "told"),
        *("--prior", f"c={json.dumps(belief)}", "--baseline", "c=0.25", "--robust", "--failure-limit", "none"),
        *("--quantity", 'value={"unit": "%"}', "--quantity", 'purity={"digits": 2}', "--description", "for a test"),
        *("--max-attempts", "4", "--max-runtime-seconds", "60", "--pending-limit", "5", "--budget", "cost 12.5"),
        *("--plates", '{"size": 4, "shared": ["c"]}'),
    )
    goals = [{"metric": name, "direction": "minimize", "noise_std": 0.5} for name in ("m", "n")]
    objectives = [word for goal in goals for word in ("--objective", json.dumps(goal))]
    stopping = ("--early-stopping", json.dumps(rule | {"metric": "m"}))
    adabkb("study", "create", "--id", "two", *space, *objectives, *stopping)
    algorithm = ("--algorithm", '{"kind": "sobol"}')
    adabkb("study", "create", "--id", "three", "--direction", "minimize", *space, *algorithm)
    with Client(address) as client:
        one, two, three = (client.study(id).info() for id in ("one", "two", "three"))
    assert (one.outcome_constraints, one.prior, one.baseline) == ((bound,), {"c": belief}, {"c": 0.25})
    assert one.mixtures[0]["total"] == 2.0
    assert (one.cost, one.per_cost, one.robust, one.budget) == ("told", True, True, {"cost": 12.5})
    assert (one.failure_limit, one.max_attempts, one.max_runtime_seconds, one.pending_limit) == (None, 4, 60.0, 5)
    assert one.quantities == {"value": {"unit": "%"}, "purity": {"digits": 2}}
    assert (one.title, one.description, one.plates) == ("Blend", "for a test", {"size": 4, "shared": ["c"]})
    assert (two.objectives, two.early_stopping) == (tuple(goals), rule | {"metric": "m"})
    assert three.algorithm["kind"] == "sobol"


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (["--plates", '{"size": 1}'], "error: --plates size: "),
        (["--objective", '{"metric": "m"}'], "error: --objective"),
        (["--outcome-constraint", '{"metric": "m"}'], "error: --outcome-constraint 0"),
        (["--mixture", '["x", "y"]'], 'error: --mixture \'["x", "y"]\' is not a JSON object'),
        (["--early-stopping", "median"], "error: --early-stopping 'median' is not a JSON object; give one as in a def"),
        (["--prior", "z=1"], "error: --prior z: "),
        (["--baseline", "x=7"], "error: --baseline x: "),
        (["--quantity", "value=3"], "error: --quantity value: "),
        (["--per-cost"], "error: --per-cost: also needs the field cost"),
        (["--failure-limit", "many"], "error: --failure-limit: "),
        (["--algorithm", '{"kind": "best"}'], "error: --algorithm kind: "),
    ],
)
def test_an_error_of_a_setting_names_its_option(options: list[str], where: str) -> None:
    space = ("--direction", "minimize", "--parameter", PARAMETER)
    assert where in adabkb("study", "create", *space, *options, code=1)


def test_options_replace_fields_of_the_file_and_update_changes_a_study(tmp_path: Path, address: str) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"id": "filed", "direction": "minimize", "parameters": [json.loads(PARAMETER)]}))
    adabkb("study", "create", str(file), "--budget", "5")
    assert "study_exists" in adabkb("study", "create", str(file), "--budget", "6", code=1)
    changed = json.loads(adabkb("study", "create", str(file), "--budget", "6", "--update", "--json"))
    assert (changed["id"], changed["budget"]) == ("filed", 6)
    assert "study_exists" in adabkb("study", "create", str(file), "--direction", "maximize", "--update", code=1)
    with Client(address) as client:
        assert client.study("filed").info().direction == "minimize"


def test_a_budget_may_count_plates(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    plates = {"direction": "minimize", "parameters": [json.loads(PARAMETER)], "plates": {"size": 4, "shared": []}}
    file.write_text(json.dumps(plates))
    made = json.loads(adabkb("study", "create", str(file), "--budget", "3 plates", "--json"))
    assert made["budget"] == {"plates": 3}


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (["--constraint", "x + z <= 1"], "error: --constraint 0: "),
        (["--gap-share-below", "-1"], "error: --gap-share-below: "),
        (["--parameter", PARAMETER.replace('"x"', '"y"').replace("1}", "-1}")], "error: --parameter, 'y', high: "),
        (["--parameter", '{"kind": "bool"}'], "error: --parameter, 1, name: "),
        (["--descriptors", "x=FILE"], "error: --parameter has no categorical parameter 'x'"),
    ],
)
def test_an_error_of_an_option_names_it_as_it_was_given(options: list[str], where: str) -> None:
    space = ("--direction", "minimize", "--parameter", PARAMETER)
    assert where in adabkb("study", "create", *space, *options, code=1)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (["--parameter", PARAMETER.replace("1}", "-1}")], "error: --parameter, 'x', high: "),
        (["--parameter", PARAMETER, "--parameter", PARAMETER.replace('"x"', '"y"').replace("0,", "{},")], "'y', low: "),
        (["--parameter", '{"kind": "bool"}'], "error: --parameter, 0, name: "),
        (["--parameter", PARAMETER.replace('"x"', '"y"'), "--default", "y=4"], "error: --default y: "),
        (["--constraint", "x + z <= 1"], "error: --constraint 0: "),
        (["--quantity", "value=3"], "error: --quantity value: "),
        (["--early-stopping", "none"], "error: early stopping cannot be removed from a study; "),
    ],
)
def test_an_error_of_an_update_names_the_option_as_it_was_given(options: list[str], where: str) -> None:
    adabkb("study", "create", "--id", "old", "--direction", "minimize", "--parameter", PARAMETER)
    assert where in adabkb("study", "update", "old", *options, code=1)


def test_errors_name_the_option_or_the_field_of_the_file(tmp_path: Path) -> None:
    space = ("--direction", "minimize", "--parameter", PARAMETER)
    assert "error: --budget: " in adabkb("study", "create", *space, "--budget", "-3", code=1)
    assert "error: --no-gain-for: " in adabkb("study", "create", *space, "--no-gain-for", "0", code=1)
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"direction": "minimize", "parameters": [json.loads(PARAMETER)], "budget": -3}))
    assert "error: /budget: " in adabkb("study", "create", str(file), code=1)
    file.write_text("[]")
    assert "is not a JSON object" in adabkb("study", "create", str(file), code=1)
    assert "give a file with a definition" in adabkb("study", "create", code=1)
