"""The groups of commands: help, positions of global options, and errors for typing mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adabkb_client import Client, Study
from adabkb_service.cli.main import PATHS, SUMMARIES
from tests.integration.cli.shell import adabkb, commands
from tests.integration.cli.test_calls import listening

SCREEN = 40
"""Maximum number of lines of a help text."""
SERVING = {("serve",), ("work",), ("mcp",)}
"""Commands that run until they are stopped, and print no answer."""


WITH_A_FUNCTION = {"lease", "optimize", "plot", "run", "stop", "to_frame", "trial"}
"""Methods that evaluate a function of the program, or return objects of Python; ``adabkb run`` evaluates a command."""
OF_PROGRAMS = {"report_many", "with_options"} | WITH_A_FUNCTION
"""Methods without a command. ``report_many`` is several calls of ``trial report``, and the options of ``with_options``
are global options of all commands."""
CLIENT = {name for name in dir(Client) if not name.startswith("_")}
NAMED = {
    ("study", "export"): ("export", "export_excel"),
    ("study", "list"): ("studies",),
    ("study", "show"): ("info", "best"),
    ("study", "watch"): ("events",),
    ("trial", "list"): ("trials",),
    ("trial", "retry"): ("retry", "retry_failed"),
    ("result", "list"): ("observations",),
    ("result", "annotate"): ("annotate_result",),
    ("result", "files"): ("result_files",),
    ("result", "add-file"): ("add_result_file",),
    ("result", "read-file"): ("read_result_file",),
    ("result", "remove-file"): ("remove_result_file",),
    ("model", "show"): ("model",),
    ("access", "show"): ("access",),
}
"""Command -> its methods, if their names differ from that of the command."""


def groups() -> list[str]:
    return sorted({path[0] for path, _ in commands() if len(path) > 1})


def test_every_command_and_option_has_help_and_all_that_answer_speak_json() -> None:
    for path, command in commands():
        assert command.help, path
        for parameter in command.params:
            assert parameter.hidden or parameter.name == "help" or parameter.help, (path, parameter.name)
        assert (path in SERVING) is not ("--json" in [option for each in command.params for option in each.opts]), path


@pytest.mark.parametrize("group", [[], *([name] for name in groups())])
def test_the_help_of_a_group_is_a_screen_and_no_summary_is_cut(group: list[str]) -> None:
    lines = adabkb(*group, "--help").splitlines()
    assert len(lines) <= SCREEN
    assert not [line for line in lines[1:] if line.endswith("...")]


def test_the_help_of_every_command_is_a_screen() -> None:
    lengths = {path: len(adabkb(*path, "--help").splitlines()) for path, _ in commands()}
    assert {path: lines for path, lines in lengths.items() if lines > SCREEN} == {}


def test_the_help_of_a_command_names_each_option() -> None:
    for path, command in commands():
        text = adabkb(*path, "--help")
        named = [each.opts[0] for each in command.params if not each.hidden and each.opts[0].startswith("-")]
        assert [name for name in named if f"{name} " not in text.replace("\n", " ").replace(",", " ")] == [], path


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["study", "update", "s", "--early-stopping", "{}", "--early-stopping", "{}"], "--early-stopping"),
        (["study", "update", "--budget=1", "s", "--budget", "2"], "--budget"),
        (["result", "observe", "s", "1", "-0.5", "--std-error", "1", "--std-error=2"], "--std-error"),
        (["study", "list", "--url", "http://127.0.0.1:1", "--url", "http://127.0.0.1:2"], "--url"),
    ],
)
def test_an_option_with_one_value_is_given_once(words: list[str], option: str) -> None:
    assert f"{option} is given twice; give it once." in adabkb(*words, code=2)


def test_flags_and_options_with_several_values_may_be_repeated() -> None:
    with listening() as (url, _):
        assert (
            json.loads(adabkb("study", "list", "--url", url, "--tag", "a=b", "--tag", "a=b", "--json", "--json")) == []
        )


def test_the_first_level_says_of_a_command_what_the_command_says_of_itself() -> None:
    for path, command in commands():
        if len(path) == 1:
            assert SUMMARIES[path[0]] == command.get_short_help_str(100)


def test_the_help_of_the_first_level_imports_neither_client_nor_server() -> None:
    program = (
        "import sys; from adabkb_service.cli.main import app; app(['--help'], standalone_mode=False); "
        "print(sorted({'adabkb_client', 'httpx', 'sqlalchemy', 'numpy'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["suggest", "svm"], "Did you mean adabkb trial suggest?"),
        (["sugest", "svm"], "Did you mean adabkb trial suggest?"),
        (["trial", "sugest"], "Did you mean adabkb trial suggest?"),
        (["trial", "observe", "svm"], "Did you mean adabkb result observe?"),
        (["doctor"], "Did you mean adabkb data doctor?"),
        (["data", "bakcup"], "Did you mean adabkb data backup?"),
        (["restore"], "Did you mean adabkb trash restore or adabkb data restore?"),
        (["recommend"], "Did you mean adabkb study recommendation?"),
        (["study", "run"], "Did you mean adabkb run?"),
        (["study", "best", "svm"], "Did you mean adabkb study show or adabkb study recommendation?"),
        (["study", "add_result", "svm"], "Did you mean adabkb result add?"),
        (["study", "plot", "svm"], "open URL/studies/STUDY in a browser. In Python, study.plot draws them."),
        (["xyzzy"], "No such command 'xyzzy'."),
    ],
)
def test_a_command_that_does_not_exist_gets_the_one_that_is_meant_named(words: list[str], meant: str) -> None:
    assert adabkb(*words, code=2).rstrip().endswith(meant)


OF_STUDY = {path[1] for path, _ in commands() if path[0] == "study" and len(path) == 2}
METHODS = sorted(name for name in dir(Study) if not name.startswith("_") and name not in OF_STUDY)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_of_the_client_that_is_no_command_gets_one_named(method: str) -> None:
    """Users of the client may type its names, such as ``adabkb study best``."""
    said = adabkb("study", method, "svm", code=2)
    others = {"plot": "In Python, study.plot draws them.", "with_options": "Give --url, --token or --retry-for"}
    assert others.get(method, "Did you mean adabkb ") in said


def test_only_commands_and_groups_are_suggested() -> None:
    paths = {" ".join(path) for path, _ in commands()} | set(groups())
    assert {path for named in PATHS.values() for path in named} == paths


def test_global_options_stand_before_a_command_or_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", "http://127.0.0.1:1")
    with listening() as (url, tokens):
        before = adabkb("--url", url, "--token", "first", "--json", "study", "list")
        between = adabkb("--url", "http://127.0.0.1:1", "study", "list", "--url", url, "--json", "--token", "second")
        adabkb("--token", "first", "study", "list", "--url", url, "--token", "second")
    assert (json.loads(before), json.loads(between)) == ([], [])
    assert tokens == ["Bearer first", "Bearer second", "Bearer second"]


def test_each_command_of_a_study_is_a_call_of_the_client_and_the_other_way_round() -> None:
    """Commands are named after methods: ``result add`` calls ``add_result``. ``NAMED`` has the exceptions."""
    calls = {name for name in dir(Study) if not name.startswith("_")} - OF_PROGRAMS
    found = set[str]()
    for path, _ in commands():
        if path in (("access", "whoami"), ("access", "usage"), ("access", "give-all")):
            continue  # they concern the token, users, and several studies
        if len(path) == 2 and path[0] in ("study", "trial", "result", "model", "access"):
            names = NAMED.get(path) or (path[1].replace("-", "_"), f"{path[1]}_{path[0]}", f"{path[1]}_{path[0]}s")
            assert (calls | CLIENT) & set(names), path
            found |= calls & set(names)
    assert found == calls


def test_an_error_is_json_if_the_option_stands_before_the_command() -> None:
    said = adabkb("--json", "--retry-for", "0", "--url", "http://127.0.0.1:1", "study", "show", "svm", code=1)
    assert json.loads(said)["error"].endswith("start one with: adabkb serve")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--json", "study", "shw"], "No such command 'shw'. Did you mean adabkb study show?"),
        (["study", "show", "--json"], "Missing argument '"),
        (["--json", "--foo"], "No such option: --foo"),
        (["run", "svm", "--json", "--workers", "two", "--", "./a"], "Invalid value for '--workers'"),
    ],
)
def test_an_error_of_usage_is_json_if_the_option_is_given_anywhere(words: list[str], error: str) -> None:
    assert json.loads(adabkb(*words, code=2))["error"].startswith(error)


def test_an_option_of_the_program_is_none_of_the_command() -> None:
    said = adabkb("run", "svm", "--workers", "two", "--", "./a", "--json", code=2)
    assert "Error: Invalid value for '--workers'" in said


def test_a_command_that_talks_to_no_server_refuses_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = ("--database", f"sqlite:///{tmp_path}/a.db")
    refused = adabkb("--url", "http://127.0.0.1:1", "data", "migrate", *database, code=2)
    assert "does not take --url; leave it out" in refused
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("ADABKB_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ADABKB_TOKEN", "0" * 12)
    adabkb("data", "migrate", *database)
    made = json.loads(adabkb("--json", "token", "create", "ann", *database))
    assert adabkb("token", "revoke", made["id"], *database) == f"Token {made['id']} is revoked.\n"


def test_a_negative_number_is_a_value_and_no_option() -> None:
    assert "the number of a trial must be a whole number" in adabkb("trial", "why", "svm", "-1", code=1)
    assert "the number of a trial must be a whole number" in adabkb("trial", "report", "svm", "-1", "3", "-.5", code=1)
    nowhere = ("--url", "http://127.0.0.1:1", "--retry-for", "0")
    assert "no server answers" in adabkb(
        "result", "observe", "svm", "1", "-1e-3", "--std-error", "0.1", *nowhere, code=1
    )


def test_a_misspelt_option_is_refused_beside_a_negative_number() -> None:
    said = adabkb("result", "observe", "svm", "1", "-0.5", "--std-eror", "0.1", code=2)
    assert "No such option: --std-eror" in said
