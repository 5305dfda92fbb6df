"""Compare the engine through the interfaces of other tools with the engine itself: regret of the best observation.

``python -m benchmarks.integrations`` writes benchmarks/results/integrations.json (about half an hour). The problems are
those of benchmarks.quality, shifted boxes with noise that is the same for every method, and the four functions with
conditional parameters of benchmarks.outcomes. Optuna does not know the conditions: it sees only the parameters that the
function asks it for.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.outcomes.conditional_problems import SYNTHETIC
from benchmarks.output import RESULTS, provenance, write
from benchmarks.quality.methods import METHODS, Entry
from benchmarks.quality.problems import FUNCTION_PROBLEMS, Problem
from benchmarks.quality.runs import Job

SAMPLERS = "benchmarks.quality.methods.optuna_samplers"
PLAIN = {"auto": METHODS["auto"], "optuna": Entry(f"{SAMPLERS}:adabkb", packages=("optuna",))}
CONDITIONAL = {"auto": METHODS["auto"], "optuna": Entry(f"{SAMPLERS}:conditional_adabkb", packages=("optuna",))}
FUNCTIONS = ("Branin", "Rosenbrock_2", "Hartmann_3", "Shekel_4", "Ackley_5", "Hartmann_6", "Levy_8", "DixonPrice_10")
SEEDS, BUDGET = 5, 200


def compared(
    problem: Problem, entries: Mapping[str, Entry], seeds: int = SEEDS, budget: int = BUDGET
) -> dict[str, list[float]]:
    """Interface -> regret of the best observation for each seed."""
    with threadpool_limits(1):
        return {
            name: [
                float(Job(problem, name, entry, seed, budget).run().rounded()["observed"][-1]) for seed in range(seeds)
            ]
            for name, entry in entries.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrations", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "integrations.json")
    options = parser.parse_args()
    regrets = {name: compared(FUNCTION_PROBLEMS[name], PLAIN) for name in FUNCTIONS}
    regrets |= {name: compared(problem, CONDITIONAL) for name, problem in SYNTHETIC.items()}
    packages = {package: version for entry in PLAIN.values() for package, version in entry.versions().items()}
    write(
        options.out,
        {**provenance("benchmarks.integrations"), "packages": packages, "budget": BUDGET, "regrets": regrets},
    )


if __name__ == "__main__":
    main()
