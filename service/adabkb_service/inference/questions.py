"""What can be asked of a model that has followed its log. Each takes the model and the arguments of ``Ask``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.inference.model import Model
from adabkb_service.inference.proposals import Expected

Point = dict[str, Any]


def figures(model: Model) -> dict[str, Any]:
    """The model in numbers, and what it has learned."""
    return {**model.figures(), "learned": model.learned}


def recommended(model: Model) -> tuple[tuple[Point, float, float] | None, float | None]:
    """The evaluated point of best posterior mean, with mean and standard deviation (None before the first result),
    and the gap."""
    found, gap = model.policy.recommend(model.state), model.figures()["gap"]
    if found is None:
        return None, gap
    return (model.dataset.parameters_at(found.point), model.sign * found.mean, found.std), gap


def predicted(model: Model, positions: NDArray[np.float64]) -> list[Expected]:
    """Predictions at positions (k, d)."""
    return model.predict(positions)


def boxes(model: Model, keys: list[str]) -> list[tuple[Point, Point, Point]]:
    """Low corner, high corner and centroid of each cell."""
    decode = model.dataset.space.decode
    found = [model.policy.cell_box(model.state, key) for key in keys]
    return [(decode(box.low), decode(box.high), decode(box.centroid)) for box in found]


def members(model: Model, after: int, limit: int) -> list[tuple[int, Point]]:
    """The dictionary's points by ordinal, after one ordinal."""
    ordinals = [ordinal for ordinal in model.policy.dictionary(model.state) if ordinal > after][:limit]
    points = model.dataset.distinct_points()
    return [(ordinal, model.dataset.parameters_at(points[ordinal])) for ordinal in ordinals]


def stored(_: Model) -> None:
    """Nothing; the rows of the model are stored before the answer."""


QUESTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (figures, recommended, predicted, boxes, members, stored)
}
