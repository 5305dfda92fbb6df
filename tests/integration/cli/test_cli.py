"""The command line: a thin layer over the API, with JSON output and errors with remedies."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from adabkb_client import Categorical, Client, Float, Int, Parameter
from adabkb_service import settings
from adabkb_service.cli.server import GRACE_SECONDS
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import cells, studies
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.servers import server_on, server_process

ADABKB = str(Path(sys.executable).with_name("adabkb"))


@pytest.fixture
def url(server: str) -> list[str]:
    """The option that names a server with a study."""
    option = ["--url", server]
    adabkb("study", "create", "-", *option, stdin=json.dumps(DEFINITION))
    return option


def test_a_study_from_the_shell(url: list[str], tmp_path: Path) -> None:
    trial = json.loads(adabkb("trial", "suggest", "s", "--json", *url))["trials"][0]
    assert adabkb("result", "observe", "s", "1", "-0.5", *url).startswith("Trial 1 is completed. s: running, 1 of 1")
    assert f"x={trial['parameters']['x']!r}" in adabkb("study", "show", "s", *url)
    assert adabkb("trial", "suggest", "s", "--count", "2", *url).splitlines()[1].startswith("trial 3: x=")
    assert "failed" in adabkb("trial", "fail", "s", "2", "diverged", *url)
    [study] = json.loads(adabkb("study", "list", "--json", *url))
    assert (study["counts"]["failed"], study["best"]["value"]) == (1, -0.5)
    output = tmp_path / "s.csv"
    adabkb("study", "export", "s", "--format", "csv", "--output", str(output), *url)
    assert output.read_text(encoding="utf-8-sig").startswith("trial,state,parameters.x,parameters.n,value")
    assert json.loads(adabkb("study", "export", "s", "--json", *url).splitlines()[0])["type"] == "study"
    assert adabkb("study", "delete", "s", "--yes", *url).startswith("Study s is deleted. For 30 days")
    assert adabkb("study", "list", *url) == "There are no studies.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "show", "nowhere"], "There is no study 'nowhere'. [study_not_found] List them: adabkb"),
        (["result", "observe", "s", "7", "1"], "has no trial 7"),
        (["result", "observe", "s", "1"], "If the evaluation failed, run: adabkb trial fail s 1 REASON"),
        (["study", "create", "/nowhere.json"], "cannot read the definition"),
        (
            ["study", "export", "s", "--output", "/nonexistent/x"],
            "cannot write /nonexistent/x (No such file or directory)",
        ),
        (["result", "observe", "s", "1", "nan"], "NaN and infinity cannot be sent; give finite numbers"),
        (["study", "delete", "s"], "Pass --yes"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(url: list[str], arguments: list[str], message: str) -> None:
    said = adabkb(*arguments, *url, code=1)
    assert said.startswith("error: ")
    assert message in said
    assert len(said.splitlines()) == 1


def test_with_json_an_error_is_json_too_the_servers_own_if_it_has_one(url: list[str]) -> None:
    problem = json.loads(adabkb("study", "show", "nowhere", "--json", *url, code=1))
    assert (problem["status"], problem["code"]) == (404, "study_not_found")
    ours = json.loads(adabkb("study", "export", "s", "--json", "--format", "csv", *url, code=1))
    assert ours == {"error": "--json is --format jsonl; leave out one of --json and --format csv"}


def test_a_definition_with_a_number_that_json_has_not_is_refused(url: list[str]) -> None:
    definition = json.dumps({**DEFINITION, "noise_std": float("nan")})
    assert "give finite numbers" in adabkb("study", "create", "-", *url, code=1, stdin=definition)


def test_the_version_is_printed() -> None:
    assert adabkb("--version") == f"adabkb {version('adabkb-service')}\n"


def test_without_a_server_the_remedy_is_named() -> None:
    nowhere = ["--url", "http://127.0.0.1:1", "--retry-for", "0"]
    assert "start one with: adabkb serve" in adabkb("study", "list", *nowhere, code=1)
    assert "start a server with: adabkb serve" in adabkb("study", "list", "--url", "nonsense", code=1)
    unknown = adabkb("study", "list", "--url", "http://adabkb.invalid:8000", "--retry-for", "0", code=1)
    assert "does not know that host name" in unknown
    assert "adabkb serve" not in unknown


def test_a_complete_study_has_no_trials_and_says_why(server: str) -> None:
    option = ["--url", server]
    adabkb("study", "create", "-", *option, stdin=json.dumps({**DEFINITION, "budget": 1}))
    adabkb("trial", "suggest", "s", *option)
    told = adabkb("trial", "suggest", "s", *option, code=1)
    assert "no trial is issued (the study is running): The budget is used up. Raise it: adabkb study update s" in told


def test_failed_trials_are_tried_again(server: str) -> None:
    option = ["--url", server]
    adabkb("study", "create", "-", *option, stdin=json.dumps(DEFINITION))
    adabkb("trial", "suggest", "s", "--count", "3", *option)
    for number in ("1", "2", "3"):
        adabkb("trial", "fail", "s", number, "no such file", *option)
    assert adabkb("trial", "retry", "s", "2", *option) == "Trial 2 will be issued again.\n"
    assert (
        adabkb("trial", "retry", "s", "--failed", *option)
        == "Trial 1 will be issued again.\nTrial 3 will be issued again.\n"
    )
    assert adabkb("trial", "retry", "s", "--failed", *option) == "No trial has failed.\n"
    assert json.loads(adabkb("trial", "suggest", "s", "--json", *option))["trials"][0]["attempt"] == 2


def test_progress_is_relative_to_the_budget(server: str) -> None:
    option = ["--url", server]
    adabkb("study", "create", "-", *option, stdin=json.dumps({**DEFINITION, "budget": 3}))
    assert "0 of 3 trials of the budget completed" in adabkb("study", "show", "s", *option)
    header, line = adabkb("study", "list", *option).splitlines()
    assert header.split() == ["study", "state", "completed"]
    assert line.split() == ["s", "running", "0", "of", "3"]


def test_the_output_names_a_system_other_than_the_default(url: list[str]) -> None:
    adabkb("study", "create", "-", *url, stdin=json.dumps({**DEFINITION, "id": "b", "algorithm": {"kind": "gp-ucb"}}))
    algorithm = {"profile": "paper"}
    adabkb("study", "create", "-", *url, stdin=json.dumps({**DEFINITION, "id": "c", "algorithm": algorithm}))
    listed = adabkb("study", "list", *url).splitlines()
    assert listed[0].split() == ["study", "state", "algorithm", "completed"]
    assert [line.split()[:-1] for line in listed[1:]] == [
        ["c", "running", "ada-bkb", "paper"],
        ["b", "running", "gp-ucb"],
        ["s", "running"],
    ]


def test_replay_repairs_rows_from_the_log(database_url: str) -> None:
    with server_on(database_url) as address:
        option = ["--url", address]
        adabkb("study", "create", "-", *option, stdin=json.dumps(DEFINITION))
        for number in range(1, 5):
            adabkb("trial", "suggest", "s", *option)
            adabkb("result", "observe", "s", str(number), str(number % 3), *option)
    database = Database(database_url)
    with database.writing() as connection:
        before = connection.execute(cells.select().order_by(cells.c.id)).all()
        connection.execute(cells.delete())
    report = json.loads(adabkb("data", "replay", "s", "--database", database_url, "--json"))
    told = {"study": "s", "events": 9, "cells": len(before), "dictionary": 4, "changed": True}
    assert report == {**told, "suggestions": 4, "diverged": [], "libraries": {}}
    with database.reading() as connection:
        after = connection.execute(cells.select().order_by(cells.c.id)).all()
        checkpoint = connection.execute(select(studies.c.checkpoint)).scalar_one()
    assert [(row.key, row.status) for row in after] == [(row.key, row.status) for row in before]
    elsewhere = {**checkpoint, "libraries": {**checkpoint["libraries"], "numpy": "1.0.0"}}
    with database.writing() as connection:
        connection.execute(studies.update().values(checkpoint=elsewhere))
    database.close()
    assert "computed with numpy 1.0.0; this installation has numpy 2" in adabkb(
        "data", "replay", "s", "--database", database_url
    )
    said = adabkb("data", "replay", "s", "--database", database_url)
    assert "computed with" not in said
    assert "the stored ones were the same" in said
    assert "All 4 suggestions are bit-identical" in said
    assert "List them: adabkb study list" in adabkb("data", "replay", "nowhere", "--database", database_url, code=1)


def test_replay_makes_no_database(tmp_path: Path) -> None:
    said = adabkb("data", "replay", "s", "--database", f"sqlite:///{tmp_path}/mistyped.db", code=1)
    assert f"there is no database at {tmp_path}/mistyped.db" in said
    assert not list(tmp_path.iterdir())


def test_migrate_brings_an_empty_database_to_this_version(database_url: str) -> None:
    assert json.loads(adabkb("data", "migrate", "--database", database_url, "--json")) == {"schema": migration.HEAD}
    assert adabkb("data", "migrate", "--database", database_url) == f"The schema is at {migration.HEAD}.\n"


def test_a_server_prints_one_line_and_stops_on_a_signal(tmp_path: Path) -> None:
    with server_process(f"sqlite:///{tmp_path}/x.db", model_processes=1) as server:
        server.process.terminate()
        rest, _ = server.process.communicate(timeout=60)
        assert rest == ""
        assert server.process.returncode in (0, -15)


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    adabkb("data", "migrate", "--database", database)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "try --port 0" in adabkb("serve", "--port", port, "--database", database, code=1)
        said = adabkb("serve", "--host", "nowhere.invalid", "--port", port, "--database", database, code=1)
        assert "such as --host 127.0.0.1" in said
        assert "--port 0" not in said
        opened = Database(database)
        with opened.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'x'")
        opened.close()
    said = adabkb("serve", "--host", "127.0.0.1", "--port", "0", "--database", database, code=1)
    assert said.count("\n") == 1
    assert "newer adabkb-service" in said
    assert "use sqlite:///... or postgresql://..." in adabkb(
        "serve", "--port", "0", "--database", "mysql://x/y", code=1
    )


@pytest.mark.parametrize(
    ("database", "cause", "remedy"),
    [
        ("sqlite:////nonexistent/a/b.db", "folder of the database does not exist", "mkdir -p /nonexistent/a"),
        ("sqlite:////", "unable to open database file", "check --database"),
        (f"sqlite:///{Path(__file__)}", "file is not a database", "check --database"),
        ("postgresql://u:secret@127.0.0.1:1/x", "Connection refused", "at 127.0.0.1:1"),
        ("lab.db", "is not a database URL", "try sqlite:///lab.db"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_with_cause_and_remedy(database: str, cause: str, remedy: str) -> None:
    said = adabkb("data", "migrate", "--database", database, code=1)
    assert cause in said
    assert remedy in said
    assert "secret" not in said
    assert len(said.splitlines()) == 1


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(settings.FILE).write_text("port = 1\nbody_limit = 2\nblas_threads = 3\n")
    monkeypatch.setenv("ADABKB_PORT", "4")
    monkeypatch.setenv("ADABKB_BODY_LIMIT", "5")
    found = settings.Settings(port=6)
    assert (found.port, found.body_limit, found.blas_threads, found.host) == (6, 5, 3, "127.0.0.1")


@pytest.mark.parametrize(
    ("file", "environment", "message"),
    [
        ("prot = 1", "1", "adabkb.toml: 'prot' is an unknown setting; did you mean port?"),
        ("port = = 1", "1", "adabkb.toml is not valid TOML"),
        ("", "abc", "'port' (--port, ADABKB_PORT or adabkb.toml) is 'abc', but must be a whole number"),
        ("", "99999", "'port' (--port, ADABKB_PORT or adabkb.toml) is '99999', but must be at most 65535"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, environment: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(settings.FILE).write_text(file)
    monkeypatch.setenv("ADABKB_PORT", environment)
    said = adabkb("data", "migrate", code=1)
    assert message in said
    assert len(said.splitlines()) == 1
    assert "pydantic" not in said


def test_a_folder_that_the_user_may_not_enter_is_an_error_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, the working folder is the administrator's, and the command runs as the user of the service."""
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0)
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.seteuid(65534)
        with pytest.raises(ValueError, match=r"cannot look for adabkb.toml in .*: permission denied"):
            settings.load()
    finally:
        if is_root:
            os.seteuid(0)
        tmp_path.chmod(0o700)


def test_the_settings_table_names_every_setting_with_its_help() -> None:
    table = settings.table()
    assert [line.name for line in table] == list(settings.Settings.model_fields)
    assert all(line.help and line.variable == f"ADABKB_{line.name.upper()}" for line in table)


@pytest.mark.long
def test_an_open_stream_does_not_keep_the_server_from_stopping(other_sqlite: str) -> None:
    """SIGTERM ends an event stream properly and at once, not by closing the connection in the middle."""
    with server_process(other_sqlite) as server:
        assert httpx.post(f"{server.address}/v1/studies", json=DEFINITION).status_code == 201
        address, accept = f"{server.address}/v1/studies/s/events", {"Accept": "text/event-stream"}
        with httpx.stream("GET", address, headers=accept, timeout=60) as stream:
            lines = stream.iter_lines()
            while next(lines) != "event: created":
                pass
            asked = time.monotonic()
            server.process.terminate()
            assert not [line for line in lines if line.startswith("event:")]
        assert server.process.wait(60) in (0, -signal.SIGTERM)
        assert time.monotonic() - asked < GRACE_SECONDS


def test_values_that_differ_from_the_suggestion_replace_only_these(server: str) -> None:
    """Conditional parameters are not copied, because a changed value may make them inactive."""
    with Client(server) as client:
        space: dict[str, Parameter] = {
            "kernel": Categorical(["rbf", "poly"]),
            "C": Float(0, 1),
            "degree": Int(2, 5, when={"kernel": ["poly"]}),
        }
        study = client.create_study("partly", space, direction="minimize")
        study.queue({"kernel": "poly", "C": 0.25, "degree": 3})
        study.suggest()
        adabkb("result", "observe", "partly", "1", "5", "kernel=rbf", "--url", server)
        (result,) = study.observations()
    assert result.parameters == {"kernel": "rbf", "C": 0.25}


def test_a_decimal_comma_is_refused_with_the_remedy(url: list[str]) -> None:
    said = adabkb("result", "observe", "s", "1", "45,3", *url, code=2)
    assert "'45,3' is not a number; write decimals with a point, such as 45.3" in said


def test_the_state_of_a_study_counts_imported_results(url: list[str]) -> None:
    for x in ("0.1", "0.2"):
        adabkb("result", "add", "s", "1.5", f"x={x}", "n=3", *url)
    assert "0 of 0 trials so far completed, 2 results, best 1.5" in adabkb("study", "show", "s", *url)


@pytest.mark.long
def test_a_terminal_shows_that_the_server_starts(tmp_path: Path) -> None:
    """A program that reads the output through a pipe gets only the line with the address."""
    controller, terminal = os.openpty()
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0"}
    command = [ADABKB, "serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/new.db"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=terminal, text=True) as process:
        try:
            assert process.stdout is not None
            assert "listening on" in process.stdout.readline()
            assert os.read(controller, 1000).decode() == f"adabkb: starting on the database {command[-1]}\r\n"
        finally:
            process.terminate()
            os.close(terminal)
            os.close(controller)


def test_a_server_that_cannot_listen_leaves_no_database_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "try --port 0" in adabkb("serve", "--port", port, "--database", f"sqlite:///{tmp_path}/new.db", code=1)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_names_what_it_looked_at(migrated_url: str) -> None:
    said = adabkb("data", "doctor", "--database", migrated_url)
    assert said.startswith("Checked 0 studies with 0 events in ")
    assert Path(migrated_url).name in said
    assert said.endswith("\nNo problems found.\n")
    with server_on(migrated_url) as address:
        assert httpx.post(f"{address}/v1/studies", json=DEFINITION).status_code == 201
    assert "Checked 1 study with 1 event in" in adabkb("data", "doctor", "--database", migrated_url)
    assert "Checked study s with 1 event in" in adabkb("data", "doctor", "s", "--database", migrated_url)


OTHER_FILES = [
    ["CREATE TABLE theirs (x)"],
    ["CREATE TABLE alembic_version (version_num)", "INSERT INTO alembic_version VALUES ('abc')", "CREATE TABLE a (x)"],
    ["CREATE TABLE studies (theirs)"],
]


@pytest.mark.parametrize("content", OTHER_FILES)
@pytest.mark.parametrize(
    "command", [["data", "doctor"], ["data", "replay", "s"], ["data", "migrate"], ["serve", "--port", "0"]]
)
def test_a_file_of_something_else_is_refused_and_left_as_it_was(
    tmp_path: Path, command: list[str], content: list[str]
) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        for statement in content:
            other.execute(statement)
    before = path.read_bytes()
    message = adabkb(*command, "--database", f"sqlite:///{path}", code=1)
    assert f"The SQLite file {path} is not a database of adabkb-service" in message
    assert "name another file with --database" in message
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.long
def test_a_shell_completes_commands_options_and_the_ids_of_studies(server: str) -> None:
    """The variables are those that bash sets after ``adabkb --install-completion``."""
    with Client(server) as client:
        client.create_study("tuned", {"x": Float(0, 1)}, direction="minimize")

    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_ADABKB_COMPLETE": "complete_bash"}
        done = subprocess.run(
            [ADABKB], env={**os.environ, **words, "ADABKB_URL": server}, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("adabkb stu") == ["study"]
    assert "--n-trials" in completed("adabkb run --n")
    assert completed("adabkb study show tu") == ["tuned"]
