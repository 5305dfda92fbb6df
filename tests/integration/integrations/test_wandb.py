"""The callback with the library of Weights & Biases in offline mode, whose files the tests read.

The tests import the library themselves, since the import takes a second in each test process.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adabkb_client import Study

if TYPE_CHECKING:
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]  # it is generated


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    wandb.teardown()  # it reads the environment only once per process
    yield
    wandb.teardown()


def records(log: bytes) -> Iterator[Record]:
    """The records of a W&B file: a log in LevelDB's format after a header of the same size as those of its parts."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    block, header = 2**15, 7
    at, parts = header, b""
    while at < len(log):
        if block - at % block < header:  # padding
            at += block - at % block
            continue
        _, length, kind = struct.unpack_from("<IHB", log, at)
        parts += log[at + header : at + header + length]
        at += header + length
        if kind in (1, 4):  # a whole record, or its last part
            yield Record.FromString(parts)
            parts = b""


class WrittenRun:
    """A run read from its file."""

    def __init__(self, file: Path) -> None:
        self.config: dict[str, Any] = {}
        self.summary: dict[str, Any] = {}
        self.exit_code: int | None = None
        for record in records(file.read_bytes()):
            self._take(record)

    def _take(self, record: Record) -> None:
        match record.WhichOneof("record_type"):
            case "run":
                self.run = record.run
                self.config |= _values(record.run.config.update)
            case "config":
                self.config |= _values(record.config.update)
            case "summary":
                self.summary |= _values(record.summary.update)
            case "history":
                self.summary |= _values(record.history.item)
            case "exit":
                self.exit_code = record.exit.exit_code


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def runs(folder: Path) -> list[WrittenRun]:
    import wandb

    wandb.teardown()  # writes the remaining data to the files
    found = [WrittenRun(file) for file in folder.glob("wandb/offline-run-*/run-*.wandb")]
    return sorted(found, key=lambda each: each.run.display_name)


def evaluate(trial: Any) -> dict[str, float] | float:
    if trial.number == 2:
        raise ValueError("diverged")
    return {"value": trial.parameters["x"], "std_error": 0.5}


def test_each_trial_is_a_run_in_the_group_of_the_study(study: Study, tmp_path: Path) -> None:
    import wandb

    from adabkb_integrations.wandb import WandbCallback

    callback = WandbCallback("p", metric="accuracy", tags=["mine"])
    with wandb.init(project="other") as own:
        study.run(evaluate, n_trials=2, pass_trial=True, workers=2, callbacks=[callback])
        assert wandb.run is own
    first, failed = (each for each in runs(tmp_path) if each.run.project == "p")
    trial = study.trials()[0]
    assert [each.run.display_name for each in (first, failed)] == ["s-1", "s-2"]
    assert {(each.run.run_group, each.run.job_type, *each.run.tags) for each in (first, failed)} == {
        ("s", "trial", "mine")
    }
    assert trial.parameters.items() <= first.config.items()
    result = {"accuracy": trial.value, "std_error": 0.5}
    about = {"adabkb/study": "s", "adabkb/trial": 1, "adabkb/state": "completed"}
    assert (result | about).items() <= first.summary.items()
    assert failed.summary["adabkb/reason"] == "ValueError: diverged"
    assert "accuracy" not in failed.summary
    assert (first.exit_code, failed.exit_code) == (0, 1)


def test_missing_wandb_is_reported_with_the_package_to_install() -> None:
    program = "import sys; sys.modules['wandb'] = None; import adabkb_integrations.wandb"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'adabkb-service[wandb]'")
