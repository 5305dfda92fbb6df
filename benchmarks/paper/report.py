"""The tables of docs/paper.md, from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.paper import authors, tuning
from benchmarks.paper.experiments import AUTO, EXPERIMENTS, REFITTED
from benchmarks.paper.store import Key

Runs = Mapping[Key, Mapping[str, Any]]
Table = tuple[list[str], list[list[str]]]
AIM = 1.1
"""Times the authors' average regret."""

PUBLISHED = {
    "bkb": (("0.067 ± 0.004", "33.67 ± 17.79", "0.99 ± 0.0005"), ("956 ± 622", "818 ± 332", "951 ± 1")),
    "random-bkb": (("0.24 ± 0.34", "47.79 ± 35.81", "0.412 ± 0.01"), ("144 ± 5", "121 ± 29", "300 ± 5")),
    "ada-bkb": (("0.068 ± 0.005", "17.07 ± 0.09", "0.383 ± 0.014"), ("115 ± 36", "109 ± 1", "230 ± 4")),
    "ada-gp-ucb": (("0.071 ± 0.003", "18.65 ± 0.34", "0.389 ± 0.010"), ("182 ± 2", "152 ± 1", "251 ± 1")),
}
"""The paper's two tables of the tuning experiments: test errors and seconds, by data set."""


def table(part: str, runs: Runs) -> Table:
    """A table of docs/paper.md: of an experiment, or ``times`` for those of the functions."""
    own = {"functions": functions, "times": times, "gp-threds": gp_threds, "tuning": tuned}
    return own[part](runs) if part in own else compared(part, runs)


def functions(runs: Runs) -> Table:
    """Average regret on the 17 functions, beside the authors'."""
    others = authors.SYSTEMS[1:]
    header = ["function", "ada-bkb", "authors", "ratio", "over seeds"]
    header += [name for system in others for name in (system, "authors")] + [AUTO]
    rows = []
    for problem in EXPERIMENTS["functions"].problems:
        found = _regrets(runs, "functions", problem, "ada-bkb")
        measured = authors.results(problem)
        row = [problem, _middle(runs, problem, "ada-bkb")]
        if measured is None or not len(found):
            row += ["", "", ""]
        else:
            ratios = found / measured["average_regret"]
            ratio = f"{np.median(ratios):.2f}"
            row += [_number(measured["average_regret"]), ratio if np.median(ratios) <= AIM else f"**{ratio}**"]
            row.append(f"{ratios.min():.2f}-{ratios.max():.2f}")
        for system in others:
            theirs = authors.results(problem, system)
            row.append(_middle(runs, problem, system))
            row.append("" if theirs is None else _number(theirs["average_regret"]))
        row.append(_middle(runs, problem, AUTO))
        rows.append(row)
    return header, rows


def times(runs: Runs) -> Table:
    """Seconds and leaf sets on the 17 functions, beside the authors'."""
    header = ["function"]
    for system in authors.SYSTEMS:
        header += [f"{system} s", "authors", "leaves", "authors"] if "ada" in system else [f"{system} s", "authors"]
    rows = []
    for problem in EXPERIMENTS["functions"].problems:
        row = [problem]
        for system in authors.SYSTEMS:
            found = _runs(runs, "functions", problem, system)
            theirs = authors.results(problem, system) or {}
            cut = any(run["steps"] < run["asked"]["steps"] for run in found)
            row.append(_median(found, "seconds") + (" (cut)" if cut else ""))
            row.append(_number(theirs.get("seconds")))
            if "ada" in system:
                row += [_median(found, "max_leaves"), _number(theirs.get("max_leaves"))]
        rows.append(row)
    return header, rows


def compared(experiment: str, runs: Runs) -> Table:
    """An experiment's variants: average regret, best regret, seconds, leaf set; medians."""
    header = ["problem", "", "average regret", "over seeds", "best regret", "seconds", "leaves"]
    rows = []
    for problem in EXPERIMENTS[experiment].problems:
        for variant in EXPERIMENTS[experiment].variants(problem):
            found = _runs(runs, experiment, problem, variant)
            if found:
                regrets = _regrets(runs, experiment, problem, variant)
                spread = f"{_number(regrets.min())}-{_number(regrets.max())}"
                numbers = [_median(found, name) for name in ("best_regret", "seconds", "max_leaves")]
                rows.append([problem, variant, _number(np.median(regrets)), spread, *numbers])
    return header, rows


def gp_threds(runs: Runs) -> Table:
    """Regret, and total seconds beside the paper's: of the engine, and with every posterior fitted anew."""
    header = ["problem", "", "average regret", "over seeds", "best regret", "leaves"]
    header += ["seconds", "refitted", "times Ada-BKB's", "paper", "times Ada-BKB's"]
    claimed = {name.lower(): seconds for name, seconds in authors.AUTHORS["gp-threds"]["claimed_seconds"].items()}
    rows = []
    for column, problem in enumerate(EXPERIMENTS["gp-threds"].problems):
        every = {name: _runs(runs, "gp-threds", problem, name) for name in EXPERIMENTS["gp-threds"].variants(problem)}
        taken = {name: np.median([run["seconds"] for run in found]) for name, found in every.items() if found}
        for name in (name for name in taken if not name.endswith(REFITTED)):
            regrets = _regrets(runs, "gp-threds", problem, name)
            row = [problem, name, _number(np.median(regrets)), f"{_number(regrets.min())}-{_number(regrets.max())}"]
            row += [_median(every[name], which) for which in ("best_regret", "max_leaves")]
            row.append(_number(taken[name]))
            row += _beside(taken.get(name + REFITTED), taken.get("ada-bkb" + REFITTED))
            row += _beside(claimed[name][column], claimed["ada-bkb"][column]) if name in claimed else ["", ""]
            rows.append(row)
    return header, rows


def _beside(seconds: float | None, reference: float | None) -> list[str]:
    return ["", ""] if seconds is None or reference is None else [_number(seconds), f"{seconds / reference:.1f}"]


def tuned(runs: Runs) -> Table:
    """Test errors and seconds of the tuning experiments: mean and standard deviation, beside the paper's."""
    header = ["data", "system", "test error", "of the last point", "paper", "seconds", "paper", "evaluated", "steps"]
    rows = []
    for column, problem in enumerate(tuning.TASKS):
        for variant in EXPERIMENTS["tuning"].variants(problem):
            found = _runs(runs, "tuning", problem, variant)
            if not found:
                continue
            errors, seconds = PUBLISHED.get(variant, (("",) * 3, ("",) * 3))
            spent = [run["seconds"] + run["evaluation_seconds"] for run in found]
            row = [problem, variant]
            row += [_spread([run["test_errors"][which] for run in found]) for which in ("best", "last")]
            row += [errors[column], _spread(spent), seconds[column], _median(found, "points"), _median(found, "steps")]
            rows.append(row)
    return header, rows


def _middle(runs: Runs, problem: str, system: str) -> str:
    return _median(_runs(runs, "functions", problem, system), "average_regret")


def _runs(runs: Runs, *which: str) -> list[Mapping[str, Any]]:
    return [run for key, run in sorted(runs.items()) if key[:3] == which]


def _regrets(runs: Runs, *which: str) -> Any:
    return np.array([run["average_regret"] for run in _runs(runs, *which)])


def _median(runs: Sequence[Mapping[str, Any]], name: str) -> str:
    return _number(float(np.median([run[name] for run in runs]))) if runs else ""


def _spread(values: Sequence[float]) -> str:
    return f"{_number(float(np.mean(values)))} ± {_number(float(np.std(values)))}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
