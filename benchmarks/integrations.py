"""The engine behind the interfaces of other tools, beside the engine run directly: the regret of the best observation.

``python -m benchmarks.integrations`` writes benchmarks/results/integrations.json (about 3 minutes). The problems are
those of benchmarks.quality: shifted boxes, and noise that is the same for every method.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.output import RESULTS, provenance, write
from benchmarks.quality.methods import METHODS, Entry
from benchmarks.quality.problems import FUNCTION_PROBLEMS
from benchmarks.quality.runs import Job

DIRECTLY = "auto"
ENTRIES = {
    DIRECTLY: METHODS[DIRECTLY],
    "optuna": Entry("benchmarks.quality.methods.optuna_samplers:adabkb", packages=("optuna",)),
}
FUNCTIONS = ("Branin", "Rosenbrock_2", "Hartmann_3", "Shekel_4", "Ackley_5", "Hartmann_6", "Levy_8", "DixonPrice_10")
SEEDS, BUDGET = 5, 200


def compared(functions: tuple[str, ...], seeds: int, budget: int) -> dict[str, dict[str, list[float]]]:
    """By function and interface, the regret of the best observation for each seed."""
    with threadpool_limits(1):
        return {
            function: {name: [regret(function, name, seed, budget) for seed in range(seeds)] for name in ENTRIES}
            for function in functions
        }


def regret(function: str, name: str, seed: int, budget: int) -> float:
    """Of the best observation of one run."""
    run = Job(FUNCTION_PROBLEMS[function], name, ENTRIES[name], seed, budget).run()
    return float(run.rounded()["observed"][-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrations", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "integrations.json")
    options = parser.parse_args()
    regrets = compared(FUNCTIONS, SEEDS, BUDGET)
    packages = {package: version for entry in ENTRIES.values() for package, version in entry.versions().items()}
    write(
        options.out,
        {**provenance("benchmarks.integrations"), "packages": packages, "budget": BUDGET, "regrets": regrets},
    )


if __name__ == "__main__":
    main()
