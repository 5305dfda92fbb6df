"""A slow, literal implementation of Ada-BKB as in the paper; the fast engine must agree with it.

Like Algorithm 1, it keeps only the leaf set, the results and the dictionary between steps. It computes every number
from scratch, from the paper's features (Lambda^(-1/2) U' k_S(x)) and A^-1 by a solver. It shares only conventions with
the engine: the search space, the random numbers of the dictionary, and the tie rule with its tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.leaves import TIE
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Space


@dataclass
class Cell:
    """A cell X_{h,i} with its centroid x_{h,i}; the middle child of an odd split *is* its parent's centroid."""

    path: tuple[int, ...]
    low: list[float]
    high: list[float]
    parent: Cell | None
    arm: Arm

    @property
    def h(self) -> int:
        return len(self.path) - 1


@dataclass
class Arm:
    """A distinct centroid: its position in the cube (u) and in model coordinates (x), and its observations."""

    u: list[float]
    x: list[float]
    rewards: list[float] = field(default_factory=list)


class Oracle:
    """Algorithm 1, one evaluation at a time."""

    def __init__(self, space: Space, config: Config, seed: int, max_expansions: int) -> None:
        self.space, self.config, self.seed, self.max_expansions = space, config, seed, max_expansions
        d = space.dimension
        scale, h_max = config.lengthscale, config.max_depth
        assert scale is not None, "the oracle needs a value for every constant"
        assert h_max is not None
        self.h_max = h_max
        self.lengthscale = list(scale) if isinstance(scale, tuple) else [scale] * d
        self.arms: list[Arm] = []
        self.evaluated: list[Arm] = []
        self.S: list[Arm] = []
        self.results: list[float] = []
        self.L = [Cell((0,), [0.0] * d, [1.0] * d, None, self.arm_at([0.5] * d))]
        self.pruned: list[Cell] = []

    # -- coordinates ---------------------------------------------------------------------------------------------

    def model_coordinates(self, u: list[float]) -> list[float]:
        if self.config.coordinates == "unit":
            return u
        bounds = [axis.raw_bounds or (0.0, 1.0) for axis in self.space.axes]
        return [a + (b - a) * v for (a, b), v in zip(bounds, u, strict=True)]

    def arm_at(self, u: list[float]) -> Arm:
        u = self.space.encode(self.space.decode(u)).tolist()
        for arm in self.arms:
            if arm.u == u:
                return arm
        self.arms.append(Arm(u, self.model_coordinates(u)))
        return self.arms[-1]

    # -- the model (paper, eqs. 3-6) -----------------------------------------------------------------------------

    def k(self, x: list[float], y: list[float]) -> float:
        r = math.sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(x, y, self.lengthscale, strict=True)))
        if self.config.kernel == "gaussian":
            return math.exp(-(r**2) / 2)
        nu = self.config.smoothness
        a = math.sqrt(2 * nu) * r
        return {0.5: 1.0, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[nu] * math.exp(-a)

    def fit(self) -> None:
        """Features of the dictionary, A and w."""
        m = len(self.S)
        K = np.array([[self.k(s.x, t.x) for t in self.S] for s in self.S]).reshape(m, m)
        eigenvalues, U = np.linalg.eigh(K)
        keep = eigenvalues > m * np.finfo(float).eps * max(eigenvalues, default=1.0)
        self.root = (U[:, keep] / np.sqrt(eigenvalues[keep])).T
        self.offset, self.scale = self.standardization()
        A = self.config.ridge * np.eye(int(keep.sum()))
        b = np.zeros(int(keep.sum()))
        for arm in self.evaluated:
            z = self.z(arm)
            for reward in arm.rewards:
                A += np.outer(z, z)
                b += z * (reward - self.offset) / self.scale
        self.A, self.w = A, np.linalg.solve(A, b)
        self.beta = self.width()

    def standardization(self) -> tuple[float, float]:
        if self.config.outputs == "raw" or not self.results:
            return 0.0, 1.0
        mean = sum(self.results) / len(self.results)
        std = math.sqrt(sum((y - mean) ** 2 for y in self.results) / len(self.results))
        largest = max(abs(y) for y in self.results) or 1.0
        return mean, std if std > 1e-12 * largest else largest

    def z(self, arm: Arm) -> np.ndarray:
        return np.asarray(self.root @ np.array([self.k(arm.x, s.x) for s in self.S]).reshape(len(self.S)))

    def mu(self, arm: Arm) -> float:
        return float(self.z(arm) @ self.w)

    def sigma2(self, arm: Arm) -> float:
        z = self.z(arm)
        return max(float((self.k(arm.x, arm.x) - z @ z) / self.config.ridge + z @ np.linalg.solve(self.A, z)), 0.0)

    def width(self) -> float:
        c = self.config
        d_eff = sum(len(arm.rewards) * self.sigma2(arm) for arm in self.evaluated)
        log_t = math.log(max(len(self.results), 1))
        if c.beta == "theory":
            alpha = (1 + c.epsilon) / (1 - c.epsilon)
            width = 2 * c.noise_std * math.sqrt(alpha * log_t * d_eff + math.log(1 / c.delta))
            return width + (1 + 1 / math.sqrt(1 - c.epsilon)) * math.sqrt(c.ridge) * c.norm_bound
        if c.beta == "authors":
            return c.ridge * math.sqrt(d_eff * log_t + math.log(1 / c.delta)) + math.sqrt(c.ridge) * c.norm_bound
        assert not isinstance(c.beta, str)
        return c.beta

    def ucb(self, arm: Arm) -> float:
        return self.mu(arm) + self.beta * math.sqrt(self.sigma2(arm))

    def lcb(self, arm: Arm) -> float:
        return self.mu(arm) - self.beta * math.sqrt(self.sigma2(arm))

    # -- the tree ------------------------------------------------------------------------------------------------

    def V(self, cell: Cell) -> float:
        c = self.config
        if c.v1 is not None and c.rho is not None:
            slope = 1.0 if c.kernel == "gaussian" else math.sqrt(c.smoothness / (c.smoothness - 1))
            return float(c.norm_bound * slope * c.v1 * c.rho**cell.h / min(self.lengthscale))
        low, high = self.model_coordinates(cell.low), self.model_coordinates(cell.high)
        corner = [x + max(b - x, x - a) for a, b, x in zip(low, high, self.model_coordinates(cell.arm.u), strict=True)]
        return c.norm_bound * math.sqrt(max(2 - 2 * self.k(cell.arm.x, corner), 0.0))

    def index(self, cell: Cell) -> float:
        own = self.ucb(cell.arm)
        if cell.parent is not None:
            own = min(own, self.ucb(cell.parent.arm) + self.V(cell.parent))
        return own + self.V(cell)

    def children(self, cell: Cell) -> list[Cell]:
        N = self.config.branching
        low, high = self.model_coordinates(cell.low), self.model_coordinates(cell.high)
        sides = [(b - a) / s for a, b, s in zip(low, high, self.lengthscale, strict=True)]
        j = next(i for i, side in enumerate(sides) if side >= max(sides) * (1 - 1e-9))
        made = []
        for i in range(N):
            child_low, child_high = list(cell.low), list(cell.high)
            child_low[j] = cell.low[j] + (cell.high[j] - cell.low[j]) * (i / N)
            child_high[j] = cell.low[j] + (cell.high[j] - cell.low[j]) * ((i + 1) / N)
            if i == N - 1:
                child_high[j] = cell.high[j]
            if N % 2 and i == N // 2:
                arm = cell.arm
            else:
                arm = self.arm_at([(a + b) / 2 for a, b in zip(child_low, child_high, strict=True)])
            made.append(Cell((*cell.path, i), child_low, child_high, cell, arm))
        return made

    def prune(self) -> None:
        if not self.evaluated:
            return
        lcbs = [self.lcb(arm) for arm in self.evaluated]
        best = max(lcbs)
        incumbent = next(a for a, v in zip(self.evaluated, lcbs, strict=True) if v >= best - TIE * abs(best))
        for cell in list(self.L):
            holds = all(a <= u <= b for a, u, b in zip(cell.low, incumbent.u, cell.high, strict=True))
            if self.ucb(cell.arm) + self.V(cell) < best - TIE * abs(best) and not holds:
                self.L.remove(cell)
                self.pruned.append(cell)

    # -- Algorithm 1 ---------------------------------------------------------------------------------------------

    def suggest(self) -> Cell:
        """Lines 4-6 and 11, up to the 'else' of line 7."""
        self.fit()
        expansions = 0
        while True:
            values = [self.index(cell) for cell in self.L]
            top = max(values)
            tied = [c for c, v in zip(self.L, values, strict=True) if v >= top - TIE * abs(top)]
            cell = min(tied, key=lambda c: (c.h, c.path))
            width = self.beta * math.sqrt(self.sigma2(cell.arm))
            expansions += 1
            if width <= self.V(cell) * (1 + TIE) and cell.h < self.h_max and expansions <= self.max_expansions:
                self.L.remove(cell)
                self.L.extend(self.children(cell))
                self.prune()
            else:
                return cell

    def observe(self, cell: Cell, reward: float) -> None:
        """Lines 8-11: the dictionary from the variances before this result, the model, pruning."""
        arm = cell.arm
        arms = self.evaluated if arm.rewards else [*self.evaluated, arm]
        p = [self.config.qbar * (len(a.rewards) + (a is arm)) * self.sigma2(a) for a in arms]
        draws = uniforms(self.seed, len(self.results), len(arms))
        self.S = [a for a, pi, draw in zip(arms, p, draws, strict=True) if draw < pi or pi >= 1]
        if not self.S:
            self.S = [arms[p.index(max(p))]]
        self.evaluated = arms
        arm.rewards.append(reward)
        self.results.append(reward)
        self.fit()
        self.prune()

    def stopped(self) -> bool:
        """Line 12."""
        return not self.L or (len(self.L) == 1 and self.L[0].h == self.h_max)
