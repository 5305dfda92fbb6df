"""The results file, with one line per run. Each run is added when it ends, so a stopped benchmark can resume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adabkb_service.engine.auto.state.checkpoint import REVISION
from benchmarks.output import provenance
from benchmarks.pool import rewriting
from benchmarks.quality.runs import BUDGETS, COUNTS, Job, Run

Key = tuple[str, str, int]
"""(problem, method, seed)."""


@dataclass(slots=True)
class Results:
    """The content of the file."""

    runs: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of ``Run``; ``revision`` of the engine, if the method is ours (older runs lack it)."""
    methods: dict[str, Any] = field(default_factory=dict)
    """Method -> origin of its newest run."""


def key(job: Job) -> Key:
    """The key of a job's run."""
    return job.problem.name, job.name, job.seed


def is_complete(results: Results, job: Job, since: int = 0) -> bool:
    """Whether the results have a complete run for a job and, if the method is ours, with the engine revision ``since``
    or a later one."""
    run = results.runs.get(key(job))
    if run is None or run["evaluations"] < job.budget:
        return False
    return job.entry.is_peer or run.get("revision", 0) >= since


def load(*paths: Path) -> Results:
    """The runs of all files that exist. Runs in later files replace earlier ones."""
    results = Results()
    for path in paths:
        if path.exists():
            content = json.loads(path.read_text())
            results.runs |= {(run["problem"], run["method"], run["seed"]): run["run"] for run in content["runs"]}
            results.methods |= content["methods"]
    return results


def add(path: Path, job: Job, run: Run, module: str = "benchmarks.quality") -> None:
    """Add a run of a module to the file. Two benchmarks may write to the same file at the same time."""
    with rewriting(path) as partial:
        results = load(path)
        revision = {} if job.entry.is_peer else {"revision": REVISION}
        results.runs[key(job)] = {**run.rounded(), **revision}
        results.methods[job.name] = {**provenance(module), "packages": job.entry.versions()}
        partial.write_text(_text(results))


def _text(results: Results) -> str:
    runs = [
        json.dumps({"problem": problem, "method": method, "seed": seed, "run": run}, separators=(",", ":"))
        for (problem, method, seed), run in sorted(results.runs.items())
    ]
    methods = ",\n".join(f"  {json.dumps(name)}: {json.dumps(made)}" for name, made in sorted(results.methods.items()))
    head = f' "counts": {json.dumps(COUNTS)},\n "budgets": {json.dumps(BUDGETS)},\n "methods": {{\n{methods}\n }}'
    return f'{{\n{head},\n "runs": [\n' + ",\n".join(f"  {run}" for run in runs) + "\n ]\n}\n"
