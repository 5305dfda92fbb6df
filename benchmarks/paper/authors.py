"""The experiments of Ada-BKB's authors: constants per system and function, and results at the end of a run.

``authors.json`` has these as read from the authors' code and traces. Where their paper and their code differ, it has
the values of the code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.variation import Chaining
from benchmarks.paper.functions import FUNCTIONS

AUTHORS: Mapping[str, Any] = json.loads((Path(__file__).parent / "authors.json").read_text())
STEPS: int = AUTHORS["common"]["steps"]

System = Literal["ada-bkb", "ada-gp-ucb", "bkb", "gp-ucb"]
SYSTEMS: tuple[System, ...] = get_args(System)


def noise_std(function: str) -> float:
    """Standard deviation of the noise in the results of a function."""
    noise: float = AUTHORS["functions"][function].get("noise_std", AUTHORS["common"]["noise_std"])
    return noise


def results(function: str, system: System = "ada-bkb") -> Mapping[str, Any] | None:
    """The authors' results; None if there is no trace."""
    found: Mapping[str, Any] | None = AUTHORS["functions"][function].get("results", {}).get(system)
    return found


def has_grid(function: str) -> bool:
    """Whether they ran the systems that need a grid on this function."""
    return "grid" in AUTHORS["functions"][function]


def initial(function: str, system: System) -> int:
    """The number of random grid points that a system got before its first step."""
    count: int = AUTHORS["functions"][function].get("initial", {}).get(system, 0)
    return count


def config(function: str, system: System = "ada-bkb") -> Config:
    """Return the constants with which they ran a system: raw coordinates and outputs, explicit v1 and rho, and their
    formula of the confidence width.

    Their noise variance, which enters the width only, is lambda^2. The Gaussian process of their GP-UCB and
    Ada-GP-UCB had no noise, because of a mistake in the call of a library; here it has the lambda that they gave
    it. Its standard deviations are not divided by sqrt(lambda), so the widths are multiplied by sqrt(lambda).
    """
    settings = AUTHORS["functions"][function]
    constants = settings["constants"]
    common = Config(
        kernel="gaussian", coordinates="raw", outputs="raw", beta="authors", noise_std=constants["ridge"], **constants
    )
    if system == "ada-bkb":
        return common
    if system == "ada-gp-ucb":
        own = {name: value for name, value in settings.get(system, {}).items() if name != "c1"}
        return ada_gp_ucb(replace(common, **own), STEPS, settings.get(system, {}).get("c1", 1.0))
    grid = replace(common, **settings["grid"], **settings.get(system, {}))
    return grid if system == "bkb" else replace(exact(grid), beta=math.sqrt(common.ridge))


def robustness(function: str, norm_bound: float = 1.0) -> Config:
    """Ada-BKB as the authors ran it with different F, and to compare it with Random-BKB. On some functions, the
    constants differ from those of ``config``."""
    changed = AUTHORS["robustness"].get(function, {})
    return replace(config(function), norm_bound=norm_bound, **changed)


def branching(function: str, children: int) -> Config:
    """Ada-BKB as they ran it with different N: v1 = N sqrt(d) and rho = N^(-1 / d)."""
    d = FUNCTIONS[function].dimension
    constants = {"branching": children, "v1": children * math.sqrt(d), "rho": children ** (-1 / d), "qbar": 5}
    return replace(config(function), **constants, **AUTHORS["branching"][function])


def exact(sketched: Config) -> Config:
    """The same constants without the sketch."""
    return replace(sketched, qbar=math.inf, epsilon=0.0)


def ada_gp_ucb(ada_bkb: Config, horizon: int, c1: float) -> Config:
    """Ada-GP-UCB on the tree of an Ada-BKB. The authors' width is sqrt(delta + ln(T h_max)), and delta hardly
    matters."""
    width = math.sqrt(ada_bkb.delta + math.log(horizon * (ada_bkb.max_depth or 1)))
    delta = math.exp(-ada_bkb.delta)  # V_h contains ln(1 / delta); the authors' width contains delta itself
    own = replace(exact(ada_bkb), chaining=Chaining(horizon, c1), prunes=False, delta=delta)
    return replace(own, beta=math.sqrt(ada_bkb.ridge) * width)
