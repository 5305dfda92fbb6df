"""The sketched Gaussian process at all known points: the features that the dictionary defines, and the posterior of
their weights."""

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
    """The features and variances of all P known points. Each operation returns a new object."""

    sketch: sketch.Sketch
    posterior: posterior.Posterior

    def add(self, scaled: Array) -> SketchedGP:
        """Add k points at scaled positions (k, d)."""
        features = self.sketch.embed(scaled)
        return SketchedGP(self.sketch.add(features), self.posterior.add(features))

    def observe(self, point: int) -> SketchedGP:
        """Condition on one more result of a known point, given its id."""
        return replace(self, posterior=self.posterior.observe(self.sketch.features.array, point))

    def include(self, ids: Ints, points: Points) -> SketchedGP:
        """Add points, given their ids (k,), to the dictionary."""
        old = self.sketch.features.array
        wider, columns = self.sketch.include(ids, points.scaled.array)
        return SketchedGP(wider, self.posterior.widen(points, old, columns))

    def exclude(self, ids: Ints) -> SketchedGP:
        """Remove members, given their ids (k,), from the dictionary."""
        narrower, lost = self.sketch.exclude(ids)
        return SketchedGP(narrower, self.posterior.narrow(self.sketch.features.array, lost))

    def compact(self) -> SketchedGP:
        """The same process with the smallest possible number of feature columns."""
        return SketchedGP(self.sketch.compact(), self.posterior.rotate(self.sketch.Q))


def sketched_gp(problem: Problem, points: Points, dictionary: Ints) -> SketchedGP:
    """The process at all points with this dictionary, factorized from scratch."""
    built = sketch.build(problem.kernel, dictionary, points.scaled.array)
    return SketchedGP(built, posterior.build(built, points, problem.config.ridge))
