"""A laboratory with the measured yields of 1,728 reactions, in percent (Shields et al., Nature 590 (2021) 89-96).

python examples/stories/reaction.py "Cesium pivalate" XPhos DMAc 0.153 105
"""

import csv
import gzip
import sys
from pathlib import Path

DATA = Path(__file__).parents[2] / "benchmarks/quality/data/nature/direct_arylation.csv.gz"
with gzip.open(DATA, "rt") as lines:
    NAMES, *ROWS = csv.reader(lines)
YIELDS = {tuple(point): float(measured) for *point, measured in ROWS}
VALUES = {name: sorted({row[place] for row in ROWS}) for place, name in enumerate(NAMES[:-3])}
VALUES |= {"concentration": ["0.057", "0.1", "0.153"], "temperature": ["90", "105", "120"]}
"""The values of each parameter: bases, ligands, solvents, concentrations (M) and temperatures (°C)."""


def measured_yield(*point: object) -> float:
    """Return the yield with a base, a ligand, a solvent, a concentration and a temperature.

    Raises:
        SystemExit: this reaction was not measured.
    """
    found = YIELDS.get(tuple(map(str, point)))
    if found is None:
        raise SystemExit(f"This reaction was not measured; the possible values are {VALUES}")
    return found


if __name__ == "__main__":
    print(measured_yield(*sys.argv[1:]))
