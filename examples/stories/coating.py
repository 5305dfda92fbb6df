"""Find the recipe of a hard coating, with eight panels in each oven load.

python examples/stories/coating.py [plates]
"""

import sys
from collections.abc import Mapping
from math import exp
from typing import Any

import numpy as np

from adabkb_client import Client, Float, Mixture, Ordinal, Study, StudyComplete

SHARES = ["resin", "hardener", "filler", "solvent"]
DEFINITION: dict[str, Any] = {
    "parameters": {
        "resin": Float(30, 70, unit="%"),
        "hardener": Float(5, 40, unit="%"),
        "filler": Float(0, 40, unit="%"),
        "solvent": Float(5, 40, unit="%"),
        "temperature": Ordinal([60, 80, 100, 120, 140], unit="°C"),
    },
    "direction": "maximize",
    "mixtures": [Mixture(parameters=SHARES, total=100)],
    "plates": {"size": 8, "shared": ["temperature"]},
    "quantities": {"value": {"label": "Hardness", "digits": 1}},
}
DRIFT, NOISE = 6.0, 1.5
"""Standard deviations of the offset of a plate and of the noise of a panel."""


def hardness(resin: float, hardener: float, filler: float, solvent: float, temperature: float) -> float:
    """Return the hardness according to an invented formula, in place of a measurement; at most 100."""
    cured = exp(-(((hardener / resin - 0.25) / 0.15) ** 2))
    filled = exp(-(((filler - 30) / 15) ** 2))
    dried = exp(-(((temperature - 120 - 1.5 * (solvent - 10)) / 35) ** 2))
    return 100 * cured * filled * dried


class Laboratory:
    """A simulated laboratory. Each plate has an unknown offset, and one panel is coated twice by mistake."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._offsets: dict[int, float] = {}
        self.coated_twice: int | None = None
        """The trial whose panel was coated twice."""

    def measure(self, number: int, plate: int, parameters: Mapping[str, Any]) -> float:
        """Return the hardness that is measured in a trial of a plate."""
        offset = self._offsets.setdefault(plate, DRIFT * self._random.normal())
        value = hardness(**parameters) + offset + NOISE * self._random.normal()
        if plate == 3 and self.coated_twice is None:
            self.coated_twice = number
            value += 90
        return round(value, 1)


def fill(study: Study, laboratory: Laboratory) -> None:
    """Ask for the trials of the next plate, and report their results."""
    plate = study.suggest(plate="open")
    for trial in plate:
        assert trial.plate is not None
        study.observe(trial, laboratory.measure(trial.number, trial.plate, trial.parameters))


def exclude_spoiled_panels(study: Study, laboratory: Laboratory) -> None:
    """Check the panel of each result that the others contradict, and exclude the result if it was coated twice."""
    for check in study.assessment().checks:
        if check.check == "outlier" and check.observation is not None:
            print(check.text)
            [result] = [each for each in study.observations() if each.seq == check.observation]
            if result.trial == laboratory.coated_twice:
                study.exclude(result, reason="coated twice")


def main(client: Client, plates: int) -> Study:
    study = client.create_study("coating", **DEFINITION, budget=8 * plates, seed=1)
    laboratory = Laboratory(seed=1)
    try:
        while True:
            fill(study, laboratory)
            exclude_spoiled_panels(study, laboratory)
    except StudyComplete:
        model = study.recommendation().model
    assert model is not None
    print("Recommended:", {name: round(value, 1) for name, value in model.parameters.items()})
    print(f"Hardness on a plate without an offset: {model.mean:.1f} ± {model.std:.1f}")
    print(f"Hardness according to the simulation: {hardness(**model.parameters):.1f}")
    return study


if __name__ == "__main__":
    with Client.local("coating.db") as client:
        main(client, int(sys.argv[1]) if len(sys.argv) > 1 else 6)
