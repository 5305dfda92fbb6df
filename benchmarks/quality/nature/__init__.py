"""Problems from nature: measured tables, emulators of such tables, and simulated laboratory experiments.

Two of the three sets are for choosing how ``auto`` works: ``NATURE_CHOOSING``, and ``NATURE_FURTHER`` with problems
that resemble those of the final set. ``NATURE_FINAL`` is only for the final table.
"""

from __future__ import annotations

from benchmarks.quality.nature.emulators import Emulator
from benchmarks.quality.nature.laboratory import Laboratory
from benchmarks.quality.nature.measured import Measured
from benchmarks.quality.problems import Problem

_CHOOSING: tuple[Problem, ...] = (
    Measured("direct_arylation", maximized=True, grid=True),
    Measured("fullerenes", maximized=True, grid=True),
    Measured("colors_n9"),
    Measured("snar"),
    Measured("photo_pce10"),
    Measured("reizman_suzuki_1", maximized=True),
    Measured("reizman_suzuki_2", maximized=True),
    Measured("reizman_suzuki_3", maximized=True),
    Measured("reizman_suzuki_4", maximized=True),
    Measured("baumgartner_cn_aniline", maximized=True),
    Emulator("snar"),
    Emulator("photo_pce10"),
    Emulator("photo_pce10", noisy=True),
    Laboratory(floats=3, categories=(4, 4)),
    Laboratory(floats=2, categories=(8,)),
)
_FURTHER: tuple[Problem, ...] = (
    Measured("agnp", maximized=True),
    Measured("autoam", maximized=True),
    Measured("crossed_barrel", maximized=True),
    Measured("p3ht", maximized=True),
    Measured("thin_film"),
    Measured("oer_plate_3496"),
    Measured("liquid_water"),
    Measured("concrete", maximized=True),
    Measured("biomass", maximized=True),
    Measured("perovskites", grid=True),
    Measured("lnp3", maximized=True, grid=True),
    Measured("buchwald_a", maximized=True, grid=True),
    Measured("redoxmers", grid=True),
    Emulator("crossed_barrel", maximized=True),
    Emulator("crossed_barrel", maximized=True, noisy=True),
    Emulator("agnp", maximized=True),
    Emulator("agnp", maximized=True, noisy=True),
    Emulator("autoam", maximized=True, noisy=True),
    Emulator("p3ht", maximized=True),
    Emulator("liquid_water", noisy=True),
    Emulator("concrete", maximized=True),
    Emulator("concrete", maximized=True, noisy=True),
    Emulator("biomass", maximized=True, noisy=True),
    Laboratory(floats=3, categories=(5,)),
    Laboratory(floats=2, categories=(3, 4)),
    Laboratory(floats=4, categories=(4,)),
    Laboratory(floats=3, categories=(3, 3, 2)),
)
_FINAL: tuple[Problem, ...] = (
    Measured("suzuki", maximized=True),
    Measured("alkox", maximized=True),
    Measured("colors_bob"),
    Measured("benzylation"),
    Measured("hplc", maximized=True),
    Measured("photo_wf3"),
    Emulator("hplc", maximized=True),
    Emulator("hplc", maximized=True, noisy=True),
    Emulator("colors_bob", noisy=True),
    Laboratory(floats=4, categories=(3, 5)),
    Laboratory(floats=1, categories=(4, 3, 3)),
)
NATURE_CHOOSING: dict[str, Problem] = {problem.name: problem for problem in _CHOOSING}
NATURE_FURTHER: dict[str, Problem] = {problem.name: problem for problem in _FURTHER}
NATURE_FINAL: dict[str, Problem] = {problem.name: problem for problem in _FINAL}
