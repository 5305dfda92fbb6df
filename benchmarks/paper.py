"""The authors' runs on the engine: their functions, constants, noise and number of steps.

``make bench-paper``, or ``python -m benchmarks.paper --functions Branin --seeds 3``. A seed draws the noise; the
search itself is deterministic. ``docs/benchmarks.md`` says what the numbers mean.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.functions import FUNCTIONS
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.runs import STEPS, Run, authors_config, authors_results, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS), metavar="NAME")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=5, help="number of noise seeds: 0, 1, ...")
    parser.add_argument("--out", type=Path, default=RESULTS / "paper.json")
    options = parser.parse_args()

    jobs = [(name, seed) for name in options.functions for seed in range(options.seeds)]
    runs: dict[str, list[Run]] = {name: [] for name in options.functions}
    with threadpool_limits(1):
        for name, seed in tqdm(jobs, unit="run"):
            runs[name].append(run(FUNCTIONS[name], authors_config(name), options.steps, seed))

    functions = {name: summary(name, of_name) for name, of_name in runs.items()}
    write(options.out, {**provenance("benchmarks.paper"), "steps": options.steps, "functions": functions})
    show(functions)


def summary(name: str, runs: list[Run]) -> dict[str, Any]:
    """A function's runs beside the authors' results. The ratio is that of the median average regret."""
    authors = authors_results(name)
    average_regret = np.array([run.average_regret for run in runs])
    seconds = np.array([run.seconds for run in runs])
    return {
        "ratio": float(np.median(average_regret) / authors["average_regret"]),
        "average_regret": float(np.median(average_regret)),
        "best_regret": float(np.median([run.best_regret for run in runs])),
        "seconds": {"median": float(np.median(seconds)), "min": float(seconds.min()), "max": float(seconds.max())},
        "authors": dict(authors),
        "runs": [asdict(run) for run in runs],
    }


def show(functions: dict[str, dict[str, Any]]) -> None:
    """Print the comparison; "(a)" marks the authors' numbers."""
    rows = []
    for name, numbers in functions.items():
        authors = numbers["authors"]
        regrets = [run["average_regret"] / authors["average_regret"] for run in numbers["runs"]]
        early_stops = [run["first_early_stop"] for run in numbers["runs"]]
        rows.append(
            [
                name,
                f"{numbers['ratio']:.2f}",
                f"{min(regrets):.2f}-{max(regrets):.2f}",
                f"{numbers['average_regret']:.4f}",
                f"{authors['average_regret']:.4f}",
                f"{numbers['best_regret']:.4f}",
                f"{authors['best_regret']:.4f}",
                f"{numbers['seconds']['median']:.2f}",
                f"{authors['seconds']:.2f}",
                str(max(run["max_leaves"] for run in numbers["runs"])),
                str(authors["max_leaves"]),
                str(early_stops[0]),
                str(authors["first_early_stop"]),
            ]
        )
    print_table(
        [
            *("function", "ratio", "over seeds", "avg regret", "(a)", "best", "(a)"),
            *("seconds", "(a)", "leaves", "(a)", "stop", "(a)"),
        ],
        rows,
    )


if __name__ == "__main__":
    main()
