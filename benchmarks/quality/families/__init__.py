"""Families of random functions, one per seed. Half of them guide changes; the others are for the final table.

No function of them is anybody's test function, so nothing can be tuned to one. A score is the regret as a share of the
function's range, and at least 1e-4 or the noise: below that all regrets are alike.
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
