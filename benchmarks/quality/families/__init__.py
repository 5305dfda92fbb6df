"""Families of random functions, one function per seed.

The families of ``chosen_by`` and ``smooth`` guide changes of the engine; those of ``final`` are only for the final
table, and no constant was chosen by those of ``many``. Each function is drawn at random, so nothing can be tuned to one
of them. A score is the regret as a share of the function's range, and at least the noise and the floor of its family:
smaller regrets count as equal.
"""

from __future__ import annotations

from benchmarks.quality.families.chosen_by import CHOSEN_BY
from benchmarks.quality.families.final import FINAL
from benchmarks.quality.families.many import MANY
from benchmarks.quality.families.smooth import SMOOTH
from benchmarks.quality.problems import Problem

DEVELOPMENT_PROBLEMS: dict[str, Problem] = {family.name: family for family in CHOSEN_BY}
FINAL_PROBLEMS: dict[str, Problem] = {family.name: family for family in FINAL}
MANY_PROBLEMS: dict[str, Problem] = {family.name: family for family in MANY}
SMOOTH_PROBLEMS: dict[str, Problem] = {family.name: family for family in SMOOTH}
