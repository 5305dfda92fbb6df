"""The tables of docs/paper.md: means over the repetitions, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.paper import authors, tuning
from benchmarks.paper.experiments import AUTO, EXPERIMENTS, REFITTED
from benchmarks.paper.store import Key

Runs = Mapping[Key, Mapping[str, Any]]
Table = tuple[list[str], list[list[str]]]
PARTS = (*EXPERIMENTS, "best", "times")
"""Names of the tables: one per experiment, and those of the functions' lowest regrets and times."""
AIM = 1.1
"""Maximum ratio to the authors' average regret."""

PUBLISHED = {
    "bkb": (("0.067 ± 0.004", "33.67 ± 17.79", "0.99 ± 0.0005"), ("956 ± 622", "818 ± 332", "951 ± 1")),
    "random-bkb": (("0.24 ± 0.34", "47.79 ± 35.81", "0.412 ± 0.01"), ("144 ± 5", "121 ± 29", "300 ± 5")),
    "ada-bkb": (("0.068 ± 0.005", "17.07 ± 0.09", "0.383 ± 0.014"), ("115 ± 36", "109 ± 1", "230 ± 4")),
    "ada-gp-ucb": (("0.071 ± 0.003", "18.65 ± 0.34", "0.389 ± 0.010"), ("182 ± 2", "152 ± 1", "251 ± 1")),
}
"""The paper's two tables of the tuning experiments: test errors and seconds, by data set."""


def table(part: str, runs: Runs) -> Table:
    """A table of docs/paper.md, one of ``PARTS``."""
    own = {
        "functions": functions,
        "best": best,
        "times": times,
        "random-points": random_points,
        "gp-threds": gp_threds,
        "tuning": tuned,
    }
    return own[part](runs) if part in own else compared(part, runs)


def functions(runs: Runs) -> Table:
    """Average regret on the 17 functions, compared with the authors'."""
    header = ["function", "ada-bkb", "authors", "ratio", "range over seeds"]
    header += [name for system in authors.SYSTEMS[1:] for name in (system, "authors")] + [AUTO]
    rows = []
    for problem in EXPERIMENTS["functions"].problems:
        found, theirs = _runs(runs, "functions", problem, "ada-bkb"), authors.results(problem)
        row = [problem, _mean(found, "average_regret"), _theirs(theirs, "average_regret")]
        if theirs is None or not found:
            row += ["", ""]
        else:
            ratios = np.array([run["average_regret"] for run in found]) / theirs["average_regret"]
            ratio = f"{ratios.mean():.2f}"
            row += [ratio if ratios.mean() <= AIM else f"**{ratio}**", f"{ratios.min():.2f}-{ratios.max():.2f}"]
        for system in authors.SYSTEMS[1:]:
            row += _pair(runs, problem, system, "average_regret")
        rows.append([*row, _mean(_runs(runs, "functions", problem, AUTO), "average_regret")])
    return header, rows


def best(runs: Runs) -> Table:
    """Lowest regret found on the 17 functions, compared with the authors'."""
    header = ["function", *(name for system in authors.SYSTEMS for name in (system, "authors")), AUTO]
    rows = []
    for problem in EXPERIMENTS["functions"].problems:
        pairs = [_pair(runs, problem, system, "best_regret") for system in authors.SYSTEMS]
        rows.append([problem, *chain(*pairs), _mean(_runs(runs, "functions", problem, AUTO), "best_regret")])
    return header, rows


def times(runs: Runs) -> Table:
    """Seconds and largest leaf sets on the 17 functions, compared with the authors'."""
    header, quantities = ["function"], {}
    for system in authors.SYSTEMS:
        quantities[system] = ["seconds", "max_leaves"] if "ada" in system else ["seconds"]
        header += [f"{system} s", "authors", "largest leaf set", "authors"][: 2 * len(quantities[system])]
    rows = []
    for problem in EXPERIMENTS["functions"].problems:
        pairs = [_pair(runs, problem, system, name) for system, names in quantities.items() for name in names]
        rows.append([problem, *chain(*pairs), _mean(_runs(runs, "functions", problem, AUTO), "seconds")])
    return [*header, f"{AUTO} s"], rows


def compared(experiment: str, runs: Runs) -> Table:
    """An experiment's variants: average regret, best regret, seconds, leaf set."""
    header = ["problem", "", "average regret", "range over seeds", "best regret", "seconds", "largest leaf set"]
    return header, [
        [problem, variant, *_regrets(found), _mean(found, "seconds"), _mean(found, "max_leaves")]
        for problem in EXPERIMENTS[experiment].problems
        for variant in EXPERIMENTS[experiment].variants(problem)
        if (found := _runs(runs, experiment, problem, variant))
    ]


def random_points(runs: Runs) -> Table:
    """Random-BKB by its number of points, compared with the authors'."""
    header, rows = compared("random-points", runs)
    measured = authors.AUTHORS["random-bkb"]
    theirs = [measured[problem][variant.removesuffix(" points")] for problem, variant, *_ in rows]
    return [*header, "authors"], [
        [*row, _theirs(found, "average_regret")] for row, found in zip(rows, theirs, strict=True)
    ]


def gp_threds(runs: Runs) -> Table:
    """Regret, and total seconds, compared with the paper's: of the engine, with and without updates of posteriors."""
    header = ["problem", "", "average regret", "range over seeds", "best regret", "largest leaf set"]
    header += ["seconds", "refitted", "times Ada-BKB's", "paper", "times Ada-BKB's"]
    claimed = {name.lower(): seconds for name, seconds in authors.AUTHORS["gp-threds"]["claimed_seconds"].items()}
    rows = []
    for column, problem in enumerate(EXPERIMENTS["gp-threds"].problems):
        every = {name: _runs(runs, "gp-threds", problem, name) for name in EXPERIMENTS["gp-threds"].variants(problem)}
        taken = {name: float(np.mean([run["seconds"] for run in found])) for name, found in every.items() if found}
        for name in (name for name in taken if not name.endswith(REFITTED)):
            row = [problem, name, *_regrets(every[name]), _mean(every[name], "max_leaves"), _number(taken[name])]
            row += _beside(taken.get(name + REFITTED), taken.get("ada-bkb" + REFITTED))
            row += _beside(claimed[name][column], claimed["ada-bkb"][column]) if name in claimed else ["", ""]
            rows.append(row)
    return header, rows


def _beside(seconds: float | None, reference: float | None) -> list[str]:
    return ["", ""] if seconds is None or reference is None else [_number(seconds), f"{seconds / reference:.1f}"]


def tuned(runs: Runs) -> Table:
    """Test errors and seconds of the tuning experiments: mean and standard deviation, compared with the paper's."""
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
            row += [errors[column], _spread(spent), seconds[column]]
            rows.append(
                [*row, *(_number(float(np.mean([run[name] for run in found]))) for name in ("points", "steps"))]
            )
    return header, rows


def _runs(runs: Runs, *which: str) -> list[Mapping[str, Any]]:
    return [run for key, run in sorted(runs.items()) if key[:3] == which]


def _regrets(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Average regret, its range, and the best."""
    regrets = [run["average_regret"] for run in found]
    spread = f"{_number(min(regrets))}-{_number(max(regrets))}"
    return [_mean(found, "average_regret"), spread, _mean(found, "best_regret")]


def _pair(runs: Runs, problem: str, system: authors.System, quantity: str) -> list[str]:
    """Our number and the authors' for a function."""
    return [
        _mean(_runs(runs, "functions", problem, system), quantity),
        _theirs(authors.results(problem, system), quantity),
    ]


def _mean(found: Sequence[Mapping[str, Any]], quantity: str) -> str:
    """The mean, with the number of steps if runs were stopped early."""
    if not found:
        return ""
    steps = float(np.mean([run["steps"] for run in found]))
    cut = "" if all(run["steps"] == run["asked"]["steps"] for run in found) else f" ({steps:.0f} steps)"
    return _number(float(np.mean([run[quantity] for run in found]))) + cut


def _theirs(found: Mapping[str, Any] | None, quantity: str) -> str:
    if found is None or found.get(quantity) is None:
        return ""
    steps = found.get("steps", authors.STEPS)
    return _number(found[quantity]) + ("" if steps == authors.STEPS else f" ({steps:.0f} steps)")


def _spread(values: Sequence[float]) -> str:
    return f"{_number(float(np.mean(values)))} ± {_number(float(np.std(values)))}"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
