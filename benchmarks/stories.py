"""``python -m benchmarks.stories``: the five stories of the documentation and simple baselines, with several seeds.

Each run is a study as the story's program defines it, on a server for this database. ``random`` is the same study with
random points. ``one at a time`` begins with a random reaction, and varies one parameter after another in random order,
keeping the best value of each. A run is the best value after each trial. For the coating, it is the hardness, by the
formula, of the recommended panel after each plate: the model's choice, or the best result of the random plates.
The spoiled panel is excluded in both. For the network, the budget is in full trainings of 27 epochs, and ``random``
trains each network to its end.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from adabkb_client import Categorical, Client, Float, Int, Ordinal
from benchmarks.output import RESULTS, print_table, provenance
from examples.stories import agent, coating, network, reaction
from examples.stories.cluster import train

OUT = RESULTS / "stories.json"
SEEDS = 10
RANDOM = {"kind": "random"}
PLATES = 6
BUDGETS = {"network": 8, "cluster": 16, "reaction": 30, "coating": PLATES, "agent": 20}
"""The budget of each story, in full trainings, trials, experiments, plates and trials."""
Run = list[float]


def _studied(client: Client, name: str, function: Callable[..., float], seed: int, **definition: Any) -> Run:
    """The best value after each trial."""
    study = client.create_study(name, seed=seed, **definition)
    study.run(function, progress=False)
    better = min if definition["direction"] == "minimize" else max
    return list(accumulate((each.value or 0.0 for each in study.observations()), better))


def of_network(client: Client, name: str, method: str, seed: int) -> Run:
    """The smallest validation loss within each full training of the budget; at first, that of guessing."""
    definition = {**network.DEFINITION, "budget": BUDGETS["network"], "seed": seed}
    if method == "random":
        definition = {**definition, "early_stopping": None, "algorithm": RANDOM}
    study = client.create_study(name, **definition)
    study.run(network.train, pass_trial=True, progress=False)
    spent, best, found = 0.0, float(np.log(10)), [float(np.log(10))] * BUDGETS["network"]
    for trial in study.trials():
        spent += (trial.curve.step if trial.curve else network.EPOCHS) / network.EPOCHS
        best = best if trial.value is None else min(best, trial.value)
        place = int(np.ceil(spent - 1e-9)) - 1
        if place < len(found):
            found[place:] = [best] * (len(found) - place)
    return found


@cache
def _precision(learning_rate: float, leaves: int, penalty: float) -> float:
    return train.precision(learning_rate, leaves, penalty)


def of_cluster(client: Client, name: str, method: str, seed: int) -> Run:
    """The largest average precision."""
    parameters = {
        "learning_rate": Float(0.01, 1, log=True),
        "leaves": Int(2, 64, log=True),
        "penalty": Float(0.001, 1000, log=True),
    }
    return _studied(
        client,
        name,
        _precision,
        seed,
        parameters=parameters,
        direction="maximize",
        budget=BUDGETS["cluster"],
        **_algorithm(method),
    )


def of_reaction(client: Client, name: str, method: str, seed: int) -> Run:
    """The largest yield."""
    if method == "one at a time":
        found = list(accumulate(_one_at_a_time(np.random.default_rng(seed)), max))
        return found + [found[-1]] * (BUDGETS["reaction"] - len(found))
    parameters = {
        **{each: _choices(each, method, seed) for each in ("base", "ligand", "solvent")},
        "concentration": Ordinal([0.057, 0.1, 0.153]),
        "temperature": Ordinal([90, 105, 120]),
    }
    return _studied(
        client,
        name,
        _yield,
        seed,
        parameters=parameters,
        direction="maximize",
        budget=BUDGETS["reaction"],
        **_algorithm(method),
    )


def _choices(name: str, method: str, seed: int) -> Categorical:
    """The values of a parameter in a random order, since a search depends on it."""
    told = Categorical.from_csv(reaction.DATA.with_name(f"direct_arylation-{name}.csv"))
    choices = list(told.choices)
    order = np.random.default_rng(seed).permutation(len(choices))
    columns = {} if method != "study" else told.descriptors or {}
    descriptors = {column: [list(numbers)[each] for each in order] for column, numbers in columns.items()}
    return Categorical([choices[each] for each in order], descriptors=descriptors or None)


def _yield(**point: object) -> float:
    return reaction.measured_yield(*point.values())


def _one_at_a_time(rng: np.random.Generator) -> Iterator[float]:
    best = {name: str(rng.choice(values)) for name, values in reaction.VALUES.items()}
    highest = _yield(**best)
    yield highest
    for name in rng.permutation(list(best)):
        for value in [each for each in reaction.VALUES[name] if each != best[name]]:
            found = _yield(**{**best, name: value})
            yield found
            if found > highest:
                highest, best = found, {**best, name: value}


def of_coating(client: Client, name: str, method: str, seed: int) -> Run:
    """The hardness, by the formula, of the recommended panel after each plate."""
    budget = PLATES * coating.DEFINITION["plates"]["size"]
    study = client.create_study(name, **coating.DEFINITION, budget=budget, seed=seed, **_algorithm(method))
    laboratory, found = coating.Laboratory(seed), []
    for _ in range(PLATES):
        coating.fill(study, laboratory)
        for result in study.observations():
            if result.trial == laboratory.coated_twice and not result.excluded:
                study.exclude(result)
        told = study.recommendation()
        best = told.model if method == "study" else told.observed
        assert best is not None
        found.append(coating.hardness(**best.parameters))
    return found


def of_agent(client: Client, name: str, method: str, seed: int) -> Run:
    """The largest yield."""
    catalysts = agent.STUDY["parameters"]["catalyst"]["choices"]
    order = np.random.default_rng(seed).permutation(len(catalysts))
    parameters: dict[str, Any] = {"catalyst": Categorical([catalysts[each] for each in order])}
    parameters |= {each: Float(*ends) for each, ends in agent.RANGES.items()}
    return _studied(
        client,
        name,
        lambda **point: agent.measured_yield(point),
        seed,
        parameters=parameters,
        direction="maximize",
        budget=BUDGETS["agent"],
        **_algorithm(method),
    )


def _algorithm(method: str) -> dict[str, Any]:
    return {"algorithm": RANDOM} if method == "random" else {}


STORIES: Mapping[str, tuple[Callable[[Client, str, str, int], Run], Sequence[str]]] = {
    "network": (of_network, ("study", "random")),
    "cluster": (of_cluster, ("study", "random")),
    "reaction": (of_reaction, ("study", "without descriptors", "one at a time", "random")),
    "coating": (of_coating, ("study", "random")),
    "agent": (of_agent, ("study", "random")),
}


HEADER = ["method", "median at the end", "10% to 90% quantile at the end", "median after half of the budget"]
DIGITS = {"network": 3, "cluster": 3}
"""Digits after the decimal point; otherwise one."""


def rows(name: str, runs: Mapping[str, Sequence[Run]]) -> list[list[str]]:
    """The rows of a table, for a story's runs by method."""
    digits, half, found = DIGITS.get(name, 1), BUDGETS[name] // 2, []
    for method, of_seeds in runs.items():
        low, median, high = (
            f"{each:.{digits}f}" for each in np.quantile([run[-1] for run in of_seeds], [0.1, 0.5, 0.9])
        )
        at_half = f"{np.median([run[half - 1] for run in of_seeds]):.{digits}f}"
        found.append([method, median, f"{low} to {high}", at_half])
    return found


def main(names: Sequence[str]) -> None:
    """Run the named stories, and keep the stored runs of the others."""
    runs = json.loads(OUT.read_text())["runs"] if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as folder, Client.local(f"{folder}/stories.db") as client:
        for name in names or STORIES:
            run, methods = STORIES[name]
            runs[name] = {
                method: [
                    [round(each, 4) for each in run(client, f"{name}-{method}-{seed}".replace(" ", "-"), method, seed)]
                    for seed in range(SEEDS)
                ]
                for method in methods
            }
            print_table([name, *HEADER[1:]], rows(name, runs[name]))
            text = json.dumps({"provenance": provenance("benchmarks.stories"), "runs": runs}, separators=(",", ":"))
            OUT.write_text(re.sub(r"(?<=\]),\n?(?=\")|(?<=\}),(?=\"\w+\":\{\"study)", ",\n", text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
