"""``adabkb run``: a wrong command or option does not use up a trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.run.started import Create, Run, states
from tests.integration.cli.shell import adabkb


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (["./absent.sh"], "cannot start the program './absent.sh' (No such file or directory); give its path, such as"),
        (["./plain.txt"], "cannot start the program './plain.txt' (Permission denied); make it executable: chmod +x"),
        (["./shebang"], "cannot start the program './shebang' (Exec format error); if it is a script, give its"),
        (
            ["echo", "{rl}"],
            "the argument '{rl}' has {rl}, which is not a parameter; the parameters are lr, layers. Write",
        ),
        (["echo", "{lr"], "the argument '{lr' has a single brace; the parameters are lr, layers. Write {{ and }} for"),
    ],
)
def test_a_mistake_of_the_command_stops_it_at_once_and_costs_no_trial(
    create: Create, address: str, folder: Path, program: list[str], message: str
) -> None:
    (folder / "plain.txt").touch()
    (folder / "shebang").write_text("echo 1\n")
    (folder / "shebang").chmod(0o755)
    study = create(budget=2)
    assert message in adabkb("run", study.id, "--url", address, "--", *program, code=1)
    assert set(states(study)) <= {"released"}
    assert len(states(study)) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pattern", "("), "--pattern '(' is not a regular expression"),
        (("--pattern", "a"), "--pattern 'a' has 0 groups; put only the result in parentheses"),
        (("--logs", "/dev/null/x"), "cannot make the folder /dev/null/x"),
        (("--url", "nonsense"), "start a server with: adabkb serve"),
    ],
)
def test_an_invalid_option_is_reported_before_any_trial(
    create: Create, run: Run, options: tuple[str, ...], message: str
) -> None:
    study = create(budget=1)
    assert message in run(study, "echo 1", *options, code=1)
    assert states(study) == []


def test_an_unknown_study_is_named(address: str) -> None:
    said = adabkb("run", "nowhere", "--url", address, "--json", "--", "true", code=1)
    assert json.loads(said)["code"] == "study_not_found"
