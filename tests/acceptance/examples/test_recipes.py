"""The recipes for batch systems: their scripts run with real servers, as the batch system would run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from adabkb_client import Client, Study
from tests.servers import free_port
from tests.waiting import TIMEOUT_SECONDS, wait_for

EXAMPLES = Path(__file__).parents[3] / "examples"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
WITH_SERVER = "slurm/array-with-server.sbatch"
BUDGET = json.loads((EXAMPLES / "program/study.json").read_text())["budget"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the recipes, since they write files to their own folder."""
    for name in ("program", "slurm", "tmux"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    return tmp_path


def task(script: Path, number: int, **environment: str) -> subprocess.Popen[str]:
    """A task of an array submitted in the script's folder, started as Slurm does."""
    slurm = {
        "SLURM_SUBMIT_DIR": str(script.parent),
        "SLURM_ARRAY_JOB_ID": "4711",
        "SLURM_ARRAY_TASK_ID": str(number),
        "SLURM_ARRAY_TASK_MIN": "0",
    }
    return subprocess.Popen(
        ["bash", str(script)],
        env={**os.environ, "PATH": PATH, **slurm, **environment},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == code, output
    return output


ONE_TRIAL_A_WORKER = '[ -z "${GATE:-}" ] || mkdir "$GATE-$PPID" || exec sleep 3600\n'
"""A line of a program: the second evaluation of a worker runs until it is killed."""


def is_complete(study: Study) -> bool:
    info = study.info()
    return (info.state, info.counts.completed) == ("complete", BUDGET)


@pytest.mark.long
def test_slurm_array_with_its_server_continues_in_the_next_job(folder: Path) -> None:
    there = {"ADABKB_HOST": "127.0.0.1", "LINGER_SECONDS": "0", "TMPDIR": str(folder)}
    address = folder / "slurm/server-4711.url"
    train = folder / "program/train.sh"
    shebang, *lines = train.read_text().splitlines(keepends=True)
    train.write_text("".join([shebang, ONE_TRIAL_A_WORKER, *lines]))
    first = [task(folder / WITH_SERVER, number, GATE=str(folder / "gate"), **there) for number in (0, 1)]
    wait_for(address.exists)
    token = folder / "slurm/server-4711.token"
    assert token.stat().st_mode & 0o077 == 0
    with Client(address.read_text().strip(), token=token.read_text().strip()) as client:
        study = client.study("svm")
        wait_for(lambda: len({trial.worker for trial in study.trials("completed")}) == 2)
    for process in reversed(first):  # the one with the server last
        os.kill(process.pid, signal.SIGTERM)  # as by --signal=B:TERM@60
        ended(process, 128 + signal.SIGTERM)
    before = trials(folder)
    assert {trial["state"] for trial in before} == {"completed", "released"}
    with pytest.raises(httpx.ConnectError):
        httpx.get(client.url)
    next_job = task(folder / WITH_SERVER, 0, TRAIN_SECONDS="0", **there)
    assert "Study svm is complete (budget)" in ended(next_job)
    after = trials(folder)
    assert [trial["state"] for trial in after] == ["completed"] * BUDGET
    assert [trial["parameters"] for trial in after[: len(before)]] == [trial["parameters"] for trial in before]
    assert not address.exists()
    assert not token.exists()
    assert not list(folder.glob("tmp.*")), "the folder of the database is removed"
    wait_for(lambda: not any(lives(process.pid) for process in [*first, next_job]))


@pytest.mark.long
def test_slurm_job_retries_a_failed_export_and_deletes_nothing(folder: Path) -> None:
    there = {"ADABKB_HOST": "127.0.0.1", "LINGER_SECONDS": "0", "SAVE_SECONDS": "0.1", "TMPDIR": str(folder)}
    there["ADABKB_MODEL_PROCESSES"] = "0"
    in_the_way, export = folder / "slurm/svm.jsonl.part", folder / "slurm/svm.jsonl"
    in_the_way.mkdir()
    job = task(folder / WITH_SERVER, 0, TRAIN_SECONDS="60", **there)
    assert job.stdout is not None
    assert any("cannot write svm.jsonl.part" in line for line in job.stdout)
    in_the_way.rmdir()
    wait_for(export.exists)
    wait_for(lambda: _made(in_the_way))
    os.kill(job.pid, signal.SIGTERM)
    assert "the study could not be exported; its database is kept" in ended(job, 1)
    [database] = folder.glob("tmp.*/adabkb.db")
    export.unlink()
    environment = {**os.environ, "PATH": PATH, "ADABKB_DATABASE": f"sqlite:///{database}"}
    doctor = subprocess.run(["adabkb", "data", "doctor"], env=environment, capture_output=True, text=True, check=True)
    assert "Checked 1 study" in doctor.stdout
    wait_for(lambda: not lives(job.pid))


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:  # an export in progress uses this name
        return False
    return True


def test_slurm_tasks_end_if_their_server_does_not_start(folder: Path) -> None:
    there = {"ADABKB_HOST": "127.0.0.1", "LINGER_SECONDS": "0", "TMPDIR": str(folder)}
    (folder / "slurm/svm.jsonl").write_text("not an export")
    assert "error: " in ended(task(folder / WITH_SERVER, 0, **there), 1)
    assert "The first task has ended" in ended(task(folder / WITH_SERVER, 1, **there))
    assert (folder / "slurm/svm.jsonl").read_text() == "not an export"


def trials(folder: Path) -> list[dict[str, Any]]:
    """The trials of the study that a job has exported."""
    rows = [json.loads(line) for line in (folder / "slurm/svm.jsonl").read_text().splitlines()]
    return [row for row in rows if row["type"] == "trial"]


def lives(group: int) -> bool:
    """Whether any process of a group is running, apart from zombies."""
    rows = subprocess.check_output(["ps", "-eo", "pgid=,stat="], text=True).splitlines()
    return any(int(number) == group and not state.startswith("Z") for number, state in map(str.split, rows))


@pytest.mark.long
def test_tmux_workers_complete_a_study_and_end_with_the_session(folder: Path) -> None:
    port = str(free_port())
    environment = {**os.environ, "PATH": PATH, "TMUX_TMPDIR": str(folder), "ADABKB_PORT": port, "TRAIN_SECONDS": "0"}
    environment["ADABKB_MODEL_PROCESSES"] = "0"
    environment.pop("ADABKB_URL", None)
    environment.pop("TMUX", None)

    def tmux(*arguments: str) -> str:
        return subprocess.run(["tmux", *arguments], env=environment, capture_output=True, text=True, check=True).stdout

    try:
        script = [str(folder / "tmux/workers.sh"), "2"]
        output = subprocess.run(script, env=environment, capture_output=True, text=True, check=True).stdout
        assert "2 workers are in the tmux session svm" in output
        with Client(f"http://127.0.0.1:{port}") as client:
            wait_for(lambda: is_complete(client.study("svm")))
        assert tmux("list-windows", "-t", "svm", "-F", "#W").split() == ["server", "worker-1", "worker-2"]
    finally:
        tmux("kill-session", "-t", "svm")
    wait_for(lambda: not _answers(port))


def test_tmux_script_reports_a_missing_command(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/dirname").symlink_to(str(shutil.which("dirname")))
    script = ["/bin/sh", str(folder / "tmux/workers.sh")]
    done = subprocess.run(script, env={"PATH": str(folder / "bin")}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: there is no adabkb on the PATH; install it:")


def _answers(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.long
def test_kubernetes_containers_work_as_the_recipe_says(server: str) -> None:
    recipe = EXAMPLES / "kubernetes"
    documents = [*yaml.safe_load_all((recipe / "server.yaml").read_text())]
    [job] = yaml.safe_load_all((recipe / "job.yaml").read_text())
    server_of = {document["kind"]: document for document in documents}
    service, pods = server_of["Service"], [server_of["Deployment"]["spec"]["template"], job["spec"]["template"]]
    # Otherwise a service of this name sets ADABKB_PORT to tcp://..., and the server does not start.
    assert [pod["spec"]["enableServiceLinks"] for pod in pods] == [False, False]
    assert service["spec"]["selector"] == pods[0]["metadata"]["labels"]
    assert server_of["Deployment"]["spec"]["strategy"]["type"] == "Recreate"
    inside = f"http://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"

    def run(container: dict[str, Any]) -> str:
        environment = {variable["name"]: variable.get("value") for variable in container["env"]}
        assert environment == {"ADABKB_URL": inside, "ADABKB_TOKEN": None}  # from a secret
        command = [
            re.sub("^/(study|train.sh)", lambda found: str(EXAMPLES / "program" / found[1].removeprefix("study")), word)
            for word in container["command"]
        ]
        settings = {"PATH": PATH, "ADABKB_URL": server, "TRAIN_SECONDS": "0"}
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    spec = job["spec"]["template"]["spec"]
    assert run(spec["initContainers"][0]) == "Study svm is running.\n"
    assert run(spec["containers"][0]).startswith("Study svm is complete (budget)")
    assert run(spec["initContainers"][0]) == "Study svm is complete.\n"
    # Otherwise, orphans of a program remain, since the command is the first process of its container.
    assert spec["shareProcessNamespace"] is True


@pytest.mark.long
def test_kubernetes_server_creates_its_first_token_once(tmp_path: Path) -> None:
    documents = yaml.safe_load_all((EXAMPLES / "kubernetes/server.yaml").read_text())
    [deployment] = [document for document in documents if document["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["initContainers"]
    command = [word.replace("/data", str(tmp_path)) for word in container["command"]]
    environment = {**os.environ, "PATH": PATH, "ADABKB_DATABASE": f"sqlite:///{tmp_path}/adabkb.db"}
    made = []
    for _ in range(2):
        subprocess.run(command, env=environment, check=True)
        made.append((tmp_path / "token").read_text())
    assert made[0].startswith("adabkb_")
    assert made[0] == made[1]


def test_kubernetes_images_are_built_from_this_repository() -> None:
    recipe = EXAMPLES / "kubernetes"
    built = dict(
        re.findall(r"docker build -t (\S+:\S+)(.*?)(?: #.*)?$", (recipe / "README.md").read_text(), re.MULTILINE)
    )
    named = re.findall(r"image: (.+)", (recipe / "server.yaml").read_text() + (recipe / "job.yaml").read_text())
    assert set(named) == set(built), "an image without a tag would be pulled from a registry"
    root = EXAMPLES.parent
    sent = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for arguments in built.values():
        *options, context = arguments.split()
        assert (recipe / context).resolve() == root
        file = recipe / options[1] if options else root / "Dockerfile"
        for source in re.findall(r"^COPY (?!--from)(\S+)", file.read_text(), re.MULTILINE):
            assert source == "." or any(Path(source).is_relative_to(each) for each in sent)
        # The package is not in a registry, so the copied files are installed.
        [installed] = re.findall(r"pip install .*'(\S+)\[[\w,]+\]'", file.read_text())
        assert installed in (".", "/src")
