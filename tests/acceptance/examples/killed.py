"""An evaluation that is killed, for worker processes, which import this module."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from adabkb_client import LeasedTrial
from examples.stories import network
from tests.waiting import wait_for


def killed_once(folder: Path, trial: LeasedTrial) -> float:
    """Train once there are two processes, but kill one of them, as the system does when memory runs out."""
    trial.annotate({"gpu": os.environ["CUDA_VISIBLE_DEVICES"]})
    (folder / str(os.getpid())).touch()
    wait_for(lambda: len(list(folder.iterdir())) >= 2)
    try:
        (folder / "killed").touch(exist_ok=False)
    except FileExistsError:
        return network.train(trial)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
