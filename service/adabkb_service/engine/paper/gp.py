"""The sketched Gaussian process of all known points: the dictionary's features, and the posterior in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper import posterior, sketch
from adabkb_service.engine.paper.config import Problem
from adabkb_service.engine.paper.points import Points

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SketchedGP:
    """The sketched posterior of all P points: features, variances."""

    sketch: sketch.Sketch
    posterior: posterior.Posterior

    def add(self, scaled: Array) -> SketchedGP:
        """With k new points at scaled positions (k, d)."""
        features = self.sketch.embed(scaled)
        return SketchedGP(self.sketch.add(features), self.posterior.add(features))

    def observe(self, point: int) -> SketchedGP:
        """After one more observation of a point."""
        return replace(self, posterior=self.posterior.observe(self.sketch.features.array, point))

    def include(self, ids: Ints, points: Points) -> SketchedGP:
        """With points drawn into the dictionary."""
        old = self.sketch.features.array
        wider, columns = self.sketch.include(ids, points.scaled.array)
        return SketchedGP(wider, self.posterior.widen(points, old, columns))

    def exclude(self, ids: Ints) -> SketchedGP:
        """With members dropped from the dictionary."""
        narrower, lost = self.sketch.exclude(ids)
        return SketchedGP(narrower, self.posterior.narrow(self.sketch.features.array, lost))

    def compact(self) -> SketchedGP:
        """The same with as few feature columns as can be."""
        return SketchedGP(self.sketch.compact(), self.posterior.rotate(self.sketch.Q))


def sketched_gp(problem: Problem, points: Points, dictionary: Ints) -> SketchedGP:
    """The posterior of all points with this dictionary, from scratch."""
    built = sketch.build(problem.kernel, dictionary, points.scaled.array)
    return SketchedGP(built, posterior.build(built, points, problem.config.ridge))
