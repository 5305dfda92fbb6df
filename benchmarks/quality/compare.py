"""Compare two versions of the engine on the test functions: the ratio of their regrets.

``python -m benchmarks.quality.compare run FILE`` writes the regrets of the present version (about 4 minutes), and
``python -m benchmarks.quality.compare ratio OLD NEW`` compares two such files.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.quality.methods import METHODS
from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD
from benchmarks.quality.runs import BUDGETS, COUNTS, Job

SEEDS = 10
BUDGET = 200
COMPARED = (25, 50, 100, 200)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.compare", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run")
    run.add_argument("file", type=Path)
    run.set_defaults(call=lambda options: options.file.write_text(json.dumps(runs())))
    ratio = commands.add_parser("ratio")
    ratio.add_argument("old", type=Path)
    ratio.add_argument("new", type=Path)
    ratio.set_defaults(call=lambda options: compare(options.old, options.new))
    options = parser.parse_args()
    options.call(options)


def runs() -> dict[str, dict[str, list[float]]]:
    """The regrets of the best observed and of the recommended point, by function and seed."""
    found = {}
    with threadpool_limits(1):
        for problem in FUNCTION_PROBLEMS.values():
            for seed in range(SEEDS):
                done = Job(problem, "auto", METHODS["auto"], seed, BUDGET).run()
                found[f"{problem.name} {seed}"] = {"observed": done.observed, "recommended": done.recommended}
    return found


def compare(old_file: Path, new_file: Path) -> None:
    """Print geometric means of new over old regrets, bounded below by the noise, and standard errors of their logs."""
    old, new = (json.loads(file.read_text()) for file in (old_file, new_file))
    for budget in COMPARED:
        cells = []
        for kind, position in (("observed", COUNTS.index(budget)), ("recommended", BUDGETS.index(budget))):
            regrets = [[max(runs[name][kind][position], NOISE_STD) for name in old] for runs in (old, new)]
            logs = np.log(regrets[1]) - np.log(regrets[0])
            cells.append(f"{kind} {np.exp(logs.mean()):.3f} +- {logs.std() / np.sqrt(len(logs)):.3f}")
        print(f"{budget:4}  {'   '.join(cells)}")


if __name__ == "__main__":
    main()
