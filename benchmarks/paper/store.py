"""The results file of the paper's evaluation. Each run is added when it ends, so a stopped evaluation can resume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.output import RESULTS, provenance
from benchmarks.paper.experiments import Job
from benchmarks.paper.runs import Run
from benchmarks.pool import rewriting

PAPER = RESULTS / "paper.json"
DIGITS = 5

Key = tuple[str, str, str, int]
"""(experiment, problem, variant, seed)."""


def key(job: Job) -> Key:
    """The key of a job's run."""
    return job.experiment, job.problem, job.variant, job.seed


def load(path: Path = PAPER) -> dict[Key, Mapping[str, Any]]:
    """The runs by key, each with its arguments as ``asked``; empty if there is no file."""
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    return {(run["experiment"], run["problem"], run["variant"], run["seed"]): run["run"] for run in runs}


def is_there(runs: Mapping[Key, Mapping[str, Any]], job: Job) -> bool:
    """Whether there is a run with the job's constants that has the job's number of steps, or ran for at least the job's
    time limit."""
    run = runs.get(key(job))
    if run is None or any(run["asked"].get(name) != value for name, value in _asked(job).items() if name != "seconds"):
        return False
    return bool(run["steps"] == job.steps or run["asked"]["seconds"] >= job.limit)


def _asked(job: Job) -> dict[str, Any]:
    return {"steps": job.steps, "seconds": job.limit, "settings": job.settings}


def add(path: Path, job: Job, run: Run) -> None:
    """Add a run to the file."""
    with rewriting(path) as partial:
        runs = load(path)
        runs[key(job)] = {"asked": _asked(job), **_rounded(run)}
        lines = [
            json.dumps(
                dict(zip(("experiment", "problem", "variant", "seed"), its, strict=True)) | {"run": runs[its]},
                separators=(",", ":"),
            )
            for its in sorted(runs)
        ]
        made = json.dumps(provenance("benchmarks.paper"))
        partial.write_text(f'{{"made": {made},\n"runs": [\n' + ",\n".join(lines) + "\n]}\n")


def _rounded(run: Run) -> dict[str, Any]:
    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(each) for each in value]
        return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value

    return {name: rounded(value) for name, value in asdict(run).items()}
