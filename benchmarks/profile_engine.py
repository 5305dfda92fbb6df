"""Where the engine spends its time, and a hash of the points that it suggests, to compare two versions of the code.

``python -m benchmarks.profile_engine --space mixture --results 80``. It runs a search with one BLAS thread, as servers
do: with more, the engine takes several times as long, and suggests other points.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import pstats
from collections.abc import Mapping
from typing import Any

from adabkb_client import Categorical, Float, Int, Mixture
from adabkb_integrations.inprocess import minimize

UNIT = {name: Float(0, 1) for name in "abcd"}
SPACES: Mapping[str, tuple[Mapping[str, Any], dict[str, Any]]] = {
    "float": (UNIT, {}),
    "mixed": ({"a": Float(0, 1), "b": Float(0.01, 1, log=True), "n": Int(1, 9), "c": Categorical(["r", "g", "b"])}, {}),
    "mixture": (UNIT, {"mixtures": [Mixture(parameters=list(UNIT))]}),
    "constraints": (UNIT, {"constraints": ["a + b <= 1", "c >= d"]}),
}
"""Name -> the parameters and the other settings of a search."""


def value(**point: Any) -> float:
    """A smooth function with one minimum; each choice of a category adds a constant."""
    numbers = [0.1 * len(each) if isinstance(each, str) else float(each) for each in point.values()]
    return sum((number - 0.3 - 0.1 * place) ** 2 for place, number in enumerate(numbers))


def profile(space: str, results: int) -> tuple[pstats.Stats, str]:
    """Run a search with this number of results.

    Returns:
        The profile, and the first 12 digits of a hash of the suggested points. Each bit of the points matters.
    """
    parameters, settings = SPACES[space]
    profiler = cProfile.Profile()
    with profiler:
        found = minimize(value, parameters, results, seed=1, progress=False, **settings)
    points = json.dumps([trial.parameters for trial in found.trials], sort_keys=True)
    return pstats.Stats(profiler), hashlib.sha256(points.encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_engine", description=__doc__)
    parser.add_argument("--space", choices=SPACES, default="mixed")
    parser.add_argument("--results", type=int, default=80)
    parser.add_argument("--lines", type=int, default=25, help="number of functions to print (25)")
    parser.add_argument("--sort", choices=("cumulative", "tottime"), default="cumulative")
    options = parser.parse_args()
    statistics, digest = profile(options.space, options.results)
    statistics.strip_dirs().sort_stats(options.sort).print_stats(options.lines)
    print(f"hash of the points: {digest} ({options.space}, {options.results} results)")


if __name__ == "__main__":
    main()
