"""Functions that worker processes can load."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import time
from pathlib import Path

from adabkb_client import LeasedTrial


def parabola(x: float) -> float:
    return -((x - 0.3) ** 2)


def in_another_process(x: float) -> float:
    """The value tells in which process it was evaluated."""
    del x
    return float(os.getpid())


def in_company(folder: Path, x: float) -> dict[str, float]:
    """The value tells in which process it was evaluated. No evaluation ends before there is one in two processes."""
    del x
    (folder / str(os.getpid())).touch()
    latest = time.monotonic() + 60.0
    while len(list(folder.iterdir())) < 2 and time.monotonic() < latest:
        time.sleep(0.01)
    return {"value": float(os.getpid()), "std_error": 0.5}


def crash_on_the_left(x: float) -> float:
    if x < 0.5:
        ctypes.string_at(0)  # a segmentation fault
    return x


def killed(x: float) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def killed_once(marker: Path, x: float) -> float:
    """Kill this process in the first call, which creates the file."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def exits(x: float) -> float:
    os._exit(3)
    return x


def without_the_lock(pipe: Path, x: float) -> float:
    """Hold the interpreter's lock until somebody opens a pipe, as a badly written extension does."""
    ctypes.PyDLL(None).open(os.fsencode(pipe), os.O_RDONLY)
    return x


class OnTheLeft(Exception):
    def __init__(self, x: float, *, why: str) -> None:
        super().__init__(f"{x:.3f} is on the left, {why}")


def raise_what_cannot_be_pickled(x: float) -> float:
    raise OnTheLeft(x, why="as it happens")


def divide_by_zero(x: float) -> float:
    return x / 0


def misses_a_file(x: float) -> float:
    return float(Path("missing.csv").read_text()) + x


def number_of(trial: LeasedTrial) -> float:
    trial.annotate({"process": os.getpid()})
    return trial.number + float(trial.parameters["x"])


def sleep(x: float) -> float:
    print("evaluating", flush=True)
    time.sleep(60)
    return x


def settle(trial: LeasedTrial) -> None:
    """Report the outcome of the trial itself: a value, a failure, or that it is given back."""
    if trial.number == 1:
        trial.observe(0.5)
    elif trial.number == 2:
        trial.fail("no convergence")
    else:
        trial.release()


def sum_of_squares(x: float) -> float:
    """Computed by a pool of processes."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return sum(pool.map(abs, [x, x]))


def learns(trial: LeasedTrial) -> float:
    """The first trial is the best. What is returned after a stop is not the value of a full evaluation."""
    for step in (1, 3, 9):
        value = float(trial.number + 9 - step)
        if trial.report(step, value):
            break
    return value


def lookup(x: float) -> float:
    del x
    return {"a": 1.0}["b"]


async def async_lookup(x: float) -> float:
    return lookup(x)


SEEN_AT_IMPORT = os.environ.get("CUDA_VISIBLE_DEVICES")


def device(folder: Path, x: float) -> float:
    """Which device the process saw when it imported this module; it waits until two processes are there."""
    assert SEEN_AT_IMPORT is not None, x
    in_company(folder, x)
    return float(SEEN_AT_IMPORT)


def with_joblib(folder: Path, x: float) -> float:
    """Evaluate in two processes of joblib, which stay for later calls. Each leaves a file with its number as its
    name."""
    from joblib import Parallel, delayed

    Parallel(n_jobs=2)(delayed(in_company)(folder, x) for _ in range(2))
    return x


def crash_with_a_child(folder: Path, x: float) -> float:
    """End this process while a program that it has started runs; a file has the program's number as its name."""
    child = subprocess.Popen(["sleep", "600"])
    (folder / str(child.pid)).touch()
    os._exit(3)
    return x
