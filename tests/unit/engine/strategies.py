"""Hypothesis strategies for the engine's objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


def unit_space(dimension: int) -> Space:
    return Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(dimension)))


@dataclass(frozen=True)
class Case:
    """A random optimization problem with its constants."""

    space: Space
    config: Config
    seed: int
    objective: Callable[[Array], float]
    noise: float


@st.composite
def configs(draw: st.DrawFn, dimension: int) -> Config:
    """Constants of the paper profile in the ranges that people use."""
    explicit = draw(st.booleans())
    kernels: list[Literal["gaussian", "matern"]] = ["gaussian", "matern"]
    lengthscale = draw(st.floats(0.2, 1.5))
    scales = tuple(lengthscale * draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in range(dimension))
    return Config(
        kernel=draw(st.sampled_from(kernels)),
        smoothness=draw(st.sampled_from([1.5, 2.5])),
        lengthscale=scales if draw(st.booleans()) else lengthscale,
        ridge=draw(st.sampled_from([1e-3, 1e-2, 0.1])),
        noise_std=draw(st.sampled_from([0.01, 0.1])),
        norm_bound=draw(st.sampled_from([0.5, 1.0, 2.0])),
        delta=draw(st.sampled_from([1e-5, 0.05])),
        qbar=draw(st.sampled_from([0.5, 1.0, 3.0])),
        branching=draw(st.sampled_from([2, 3, 5])),
        max_depth=draw(st.integers(2, 8)),
        beta=draw(st.sampled_from(["theory", "authors", 0.1])),
        v1=1.0 if explicit else None,
        rho=0.6 if explicit else None,
        coordinates=draw(st.sampled_from(["unit", "raw"])),
        outputs=draw(st.sampled_from(["standardized", "raw"])),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """d = 1..6, N = 2, 3, 5; a sum of random bumps, with noise."""
    dimension = draw(st.integers(1, 6))
    space = Space(
        tuple(
            FloatAxis(f"x{i}", *draw(st.sampled_from([(0.0, 1.0), (-1.0, 2.0), (0.5, 1.0)]))) for i in range(dimension)
        )
    )
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    centres, heights = rng.random((4, dimension)), rng.normal(size=4)

    def objective(u: Array) -> float:
        return float(heights @ np.exp(-3.0 * ((u - centres) ** 2).sum(axis=1)))

    return Case(space, draw(configs(dimension)), seed, objective, draw(st.sampled_from([0.0, 0.05])))
