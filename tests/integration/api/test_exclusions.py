"""A study over HTTP in which most combinations of choices are excluded."""

from __future__ import annotations

from pathlib import Path

import pytest

from adabkb_client import Categorical, Client, Float, Int, Parameter
from tests.servers import server_on

pytestmark = pytest.mark.long

ALLOWED = {("Pd", "XPhos", "dioxane", "K3PO4"), ("Pd", "SPhos", "DMF", "Cs2CO3"), ("Ni", "dppf", "THF", "KF")}
SPACE: dict[str, Parameter] = {
    "metal": Categorical(["Pd", "Ni", "Cu"]),
    "ligand": Categorical(["XPhos", "SPhos", "dppf", "PPh3"]),
    "solvent": Categorical(["dioxane", "DMF", "THF", "water"]),
    "base": Categorical(["K3PO4", "Cs2CO3", "KF", "NEt3"]),
    "temperature": Float(20, 120),
    "hours": Int(1, 24),
}
NAMES = ("metal", "ligand", "solvent", "base")
CONSTRAINTS = [
    " or ".join(
        "(" + " and ".join(f"{name} == {value!r}" for name, value in zip(NAMES, each, strict=True)) + ")"
        for each in sorted(ALLOWED)
    ),
    "not (metal == 'Ni' and temperature > 60)",
    "hours <= 12 or ligand not in ['XPhos', 'SPhos']",
]


def yield_of(parameters: dict[str, object]) -> float:
    """The reaction fails above 60 degrees with the best catalyst, nickel."""
    temperature = float(parameters["temperature"])  # type: ignore[arg-type]
    return temperature / 120.0 + 2.0 * (parameters["metal"] == "Ni")


def test_search_of_three_of_192_combinations_finds_the_constrained_optimum(tmp_path: Path) -> None:
    with server_on(f"sqlite:///{tmp_path}/adabkb.db") as address, Client(address) as client:
        study = client.create_study("coupling", SPACE, direction="maximize", seed=1, constraints=CONSTRAINTS)
        seen = set()
        for _ in range(25):
            trial = study.suggest()
            seen.add(tuple(trial.parameters[name] for name in NAMES))
            assert trial.parameters["metal"] != "Ni" or trial.parameters["temperature"] <= 60
            assert trial.parameters["hours"] <= 12 or trial.parameters["metal"] == "Ni"
            study.observe(trial, yield_of(dict(trial.parameters)))
        assert seen == ALLOWED
        info = study.info()
        assert info.constraints == tuple(CONSTRAINTS)
        assert info.best is not None
        assert info.best.value > 2.49
