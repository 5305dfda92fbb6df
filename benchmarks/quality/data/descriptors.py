"""Descriptors of the reagents of ``direct_arylation``, computed from their structures.

``python descriptors.py``, in a separate environment with ``pip install rdkit==2026.9.1``, writes
``nature/direct_arylation-*.csv`` again. All descriptors that RDKit computes from a graph of atoms are used
(``Descriptors.CalcMolDescriptors``), except those that are not finite or are the same for all choices. None was
selected by the yields.

The structures are those of the publication, as SMILES.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from rdkit.Chem import Descriptors, MolFromSmiles

DIGITS = 7
STRUCTURES = {
    "base": {
        "Potassium acetate": "O=C([O-])C.[K+]",
        "Potassium pivalate": "O=C([O-])C(C)(C)C.[K+]",
        "Cesium acetate": "O=C([O-])C.[Cs+]",
        "Cesium pivalate": "O=C([O-])C(C)(C)C.[Cs+]",
    },
    "solvent": {
        "DMAc": "CC(N(C)C)=O",
        "Butyornitrile": "CCCC#N",
        "Butyl Ester": "CCCCOC(C)=O",
        "p-Xylene": "CC1=CC=C(C)C=C1",
    },
    "ligand": {
        "BrettPhos": "CC(C)C1=CC(C(C)C)=C(C(C(C)C)=C1)C2=C(P(C3CCCCC3)C4CCCCC4)C(OC)=CC=C2OC",
        "Di-tert-butylphenylphosphine": "CC(C)(C)P(C1=CC=CC=C1)C(C)(C)C",
        "(t-Bu)PhCPhos": "CN(C)C1=CC=CC(N(C)C)=C1C2=CC=CC=C2P(C(C)(C)C)C3=CC=CC=C3",
        "Tricyclohexylphosphine": "P(C1CCCCC1)(C2CCCCC2)C3CCCCC3",
        "PPh3": "P(C1=CC=CC=C1)(C2=CC=CC=C2)C3=CC=CC=C3",
        "XPhos": "CC(C1=C(C2=CC=CC=C2P(C3CCCCC3)C4CCCCC4)C(C(C)C)=CC(C(C)C)=C1)C",
        "P(2-furyl)3": "P(C1=CC=CO1)(C2=CC=CO2)C3=CC=CO3",
        "Methyldiphenylphosphine": "CP(C1=CC=CC=C1)C2=CC=CC=C2",
        "1268824-69-6": "CC(OC1=C(P(C2CCCCC2)C3CCCCC3)C(OC(C)C)=CC=C1)C",
        "JackiePhos": "FC(F)(F)C1=CC(P(C2=C(C3=C(C(C)C)C=C(C(C)C)C=C3C(C)C)C(OC)=CC=C2OC)"
        "C4=CC(C(F)(F)F)=CC(C(F)(F)F)=C4)=CC(C(F)(F)F)=C1",
        "SCHEMBL15068049": "C[C@]1(O2)O[C@](C[C@]2(C)P3C4=CC=CC=C4)(C)O[C@]3(C)C1",
        "Me2PPh": "CP(C)C1=CC=CC=C1",
    },
}


def main() -> None:
    for parameter, structures in STRUCTURES.items():
        rows = {name: Descriptors.CalcMolDescriptors(MolFromSmiles(text)) for name, text in structures.items()}
        names = [
            name
            for name in next(iter(rows.values()))
            if all(math.isfinite(row[name]) for row in rows.values()) and len({row[name] for row in rows.values()}) > 1
        ]
        path = Path(__file__).parent / "nature" / f"direct_arylation-{parameter}.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow([parameter, *names])
            table.writerows([choice, *(f"{row[name]:.{DIGITS}g}" for name in names)] for choice, row in rows.items())


if __name__ == "__main__":
    main()
