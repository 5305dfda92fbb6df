"""Constants that several algorithms share: fields of ``algorithm``, their validation and their defaults.

Lengths are in model coordinates: the unit cube or, if ``raw``, the parameters' own. Outputs are in model units:
standardized or, if ``raw``, the objective's own.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import MAX_PARAMETERS, Body, Constant, Whole
from adabkb_service.engine.candidates import grid_size
from adabkb_service.engine.cells import MAX_KEY_LENGTH
from adabkb_service.engine.paper.config import Config, Problem
from adabkb_service.engine.space import Space

MAX_DEPTH = 900
MAX_HALVINGS = 100
MAX_POINTS = 20_000
"""The maximum number of points of an algorithm without a tree. Each suggestion computes the index of all of them."""

EXACT: dict[str, Any] = {"qbar": math.inf, "epsilon": 0.0}
"""The engine's constants for the exact posterior, without a sketch."""

MAX_COORDINATES = 400_000
"""The maximum number of coordinates of random points; drawing this many takes some seconds."""
MAX_TEST_POINTS = 2_000
"""The maximum number of points of the grid in one test of GP-ThreDS (docs/systems.md). It is limited because restoring
a study replays all results."""

Delta = Annotated[float, Field(ge=1e-300, lt=1, description="the bounds hold with probability 1 - delta")]
Index = Annotated[
    Literal["ucb", "ei"], Field(description="index that ranks cells: upper bound or expected improvement")
]


class System(Body):
    """An algorithm, and the features of studies that it supports."""

    has_model: ClassVar[bool] = True
    """Whether the algorithm chooses points with a model of the results."""
    supports_slices: ClassVar[bool] = False
    """Whether the algorithm can suggest points in a slice of the space: ``GeneralPolicy.suggestions_within``."""
    supports_constraints: ClassVar[bool] = False
    """Whether the algorithm supports constraints on parameters."""
    supports_mixtures: ClassVar[bool] = False
    """Whether the algorithm supports mixtures."""
    supports_all_parameters: ClassVar[bool] = False
    """Whether the algorithm supports conditions, descriptors, periodic parameters, catalogues and edits of the
    space."""
    supports_metrics: ClassVar[bool] = False
    """Whether the algorithm models metrics besides the objective. Other algorithms never receive any."""


class KernelFields(System):
    """The kernel."""

    kernel: Annotated[Literal["gaussian", "matern"], Field(description="the kernel")] = Config.kernel
    smoothness: Annotated[
        float,
        # Not an enumeration, since client generators do not accept numbers in one.
        Field(
            description="nu of the Matern kernel: 0.5, 1.5 or 2.5", json_schema_extra={"minimum": 0.5, "maximum": 2.5}
        ),
    ] = Config.smoothness
    lengthscale: Annotated[
        Constant | Annotated[list[Constant], Field(max_length=MAX_PARAMETERS), LIMIT_ERRORS] | None,
        Field(description="one number, or one per parameter; by default 0.2 sqrt(d) times the width of the axis"),
    ] = None

    @field_validator("smoothness")
    @classmethod
    def _half_integer(cls, smoothness: float) -> float:
        if smoothness not in (0.5, 1.5, 2.5):
            raise PydanticCustomError("smoothness", "must be 0.5, 1.5 or 2.5")
        return smoothness

    def _lengthscales(self, space: Space, default: list[float]) -> float | list[float]:
        scales = self.lengthscale
        if isinstance(scales, list) and len(scales) != space.dimension:
            raise incompatible("lengthscale", "needs one number, or one per parameter ({count})", count=space.dimension)
        return default if scales is None else scales

    def _engine_lengthscale(self) -> float | tuple[float, ...] | None:
        return tuple(self.lengthscale) if isinstance(self.lengthscale, list) else self.lengthscale


class ConstantsFields(KernelFields):
    """The constants that Ada-BKB and its variants have in common."""

    ridge: Annotated[Constant, Field(description="lambda: ridge that is added to the kernel matrix")] = Config.ridge
    delta: Delta = Config.delta
    coordinates: Annotated[
        Literal["unit", "raw"], Field(description="coordinates of the model: the unit cube, or the parameters' own")
    ] = Config.coordinates
    outputs: Annotated[
        Literal["standardized", "raw"] | None,
        Field(description="units of the model's outputs; by default raw if the coordinates are raw"),
    ] = None
    exchanged: ClassVar[Mapping[str, Any]] = {}
    """Constants of the engine that are fixed for this algorithm and distinguish it from Ada-BKB."""
    own: ClassVar[set[str]] = {"kind", "profile", "lengthscale"}
    """Fields that are not passed to the engine under their own names."""

    def config(self, output_noise_std: float | None, sign: float = 1.0) -> Config:  # noqa: ARG002
        """Return the engine's constants."""
        fields = {**self.model_dump(exclude=self.own, exclude_none=True), **self.exchanged}
        return Config(**fields, lengthscale=self._engine_lengthscale(), output_noise_std=output_noise_std)

    def resolved(self, space: Space) -> Self:
        """Return the constants, with numbers for the defaults that depend on the space. A study stores these numbers,
        so later versions with other defaults do not change it.

        Raises:
            PydanticCustomError: the constants do not fit the space.
        """
        if self.coordinates == "raw":
            for axis in space.axes:
                if axis.raw_bounds is None:
                    raise incompatible("coordinates", "raw coordinates need numeric or ordinal parameters; choose unit")
                if math.isinf(axis.raw_bounds[1] - axis.raw_bounds[0]):
                    raise incompatible("coordinates", "the bounds are too far apart for raw coordinates; choose unit")
        self._lengthscales(space, [])
        problem = Problem(space, self.config(None), seed=0)
        return self.model_copy(
            update={
                "lengthscale": self._lengthscales(space, problem.lengthscales.tolist()),
                "outputs": "standardized" if problem.standardizes else "raw",
            }
        )


class WidthFields(Body):
    """The constants of the confidence width."""

    noise_std: Annotated[
        Constant, Field(description="xi, in model output units; the study's noise_std overrides it")
    ] = Config.noise_std
    norm_bound: Annotated[
        Constant, Field(description="F: bound on the norm of the objective in the RKHS of the kernel")
    ] = Config.norm_bound
    beta: Annotated[
        Literal["theory", "authors"] | Annotated[float, Field(ge=0, le=1e30)],
        Field(
            description="confidence width, as a multiple of s, the posterior standard deviation divided by "
            "sqrt(lambda); or its formula"
        ),
    ] = "theory"


class SketchedFields(WidthFields):
    """The constants of the sketch and of the confidence width."""

    epsilon: Annotated[float, Field(gt=0, lt=1, description="accuracy of the sketch, used in beta")] = Config.epsilon
    qbar: Annotated[Constant, Field(description="oversampling of the dictionary")] = Config.qbar


class TreeFields(ConstantsFields):
    """The constants of the partition tree."""

    branching: Annotated[int, Field(ge=2, le=100, description="N: children per split"), Whole] = Config.branching
    max_depth: Annotated[
        Annotated[int, Field(ge=0, le=MAX_DEPTH), Whole] | None,
        Field(description="h_max: greatest depth; by default 10 d"),
    ] = None
    v1: Annotated[Constant | None, Field(description="together with rho: V_h contains g(v1 rho^h)")] = None
    rho: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        Field(validate_default=True, description="together with v1; without both, each cell's own radius is used"),
    ] = None

    @field_validator("rho")
    @classmethod
    def _both_or_none(cls, rho: float | None, info: ValidationInfo) -> float | None:
        if "v1" in info.data and (rho is None) != (info.data["v1"] is None):
            raise PydanticCustomError("missing", "v1 and rho belong together; give both or neither")
        if rho is not None and info.data.get("kernel") == "matern" and info.data.get("smoothness") == 0.5:
            raise PydanticCustomError(
                "rho",
                "must be left out with smoothness 0.5, whose Matern kernel is too rough for a bound of the form "
                "g(v1 rho^h); leave out v1, too",
            )
        return rho

    def resolved(self, space: Space) -> Self:
        """Return the constants with a number for each default, also for h_max. See ``ConstantsFields.resolved``.

        Raises:
            PydanticCustomError: the keys of cells would be too long, or the constants do not fit the space.
        """
        own = super().resolved(space)
        depth = min(Problem(space, self.config(None), seed=0).max_depth, MAX_DEPTH)
        if depth * (len(str(self.branching - 1)) + 1) > MAX_KEY_LENGTH:
            raise incompatible(
                "max_depth", "is too large for a branching of {branching}; lower one of them", branching=self.branching
            )
        return own.model_copy(update={"max_depth": depth})


class GridFields(ConstantsFields):
    """A fixed grid of points."""

    points_per_axis: Annotated[
        Annotated[int, Field(ge=2, le=MAX_POINTS), Whole] | None,
        Field(
            description="points per axis of the grid (all values of a parameter that has fewer); by default 15, or as "
            "many as fit"
        ),
    ] = None

    def resolved(self, space: Space) -> Self:
        """Return the constants with a number for each default, also for the size of the grid. See
        ``ConstantsFields.resolved``.

        Raises:
            PydanticCustomError: the grid has too many points, or the constants do not fit the space.
        """
        size = per_axis(space, self.points_per_axis, 15, MAX_POINTS)
        return super().resolved(space).model_copy(update={"points_per_axis": size})


def per_axis(space: Space, wanted: int | None, usual: int, most: int) -> int:
    """Return the number of points per axis of a grid.

    Args:
        space: the space of the study.
        wanted: points per axis that the user requests, or None.
        usual: points per axis by default. If the grid would be too large, there are as many as possible.
        most: the maximum number of points of the whole grid.

    Raises:
        PydanticCustomError: the grid is too large.
    """
    counts = range(2, (wanted or usual) + 1)
    fitting = 1 + bisect_right(counts, float(most), key=lambda count: grid_size(space, count))
    if fitting > 1 and wanted in (None, fitting):
        return fitting
    size = grid_size(space, wanted or 2)
    raise incompatible(
        "points_per_axis",
        "a grid of {size} points is too large ({most} at most): {remedy}; the kinds ada-bkb and random-bkb need no "
        "grid",
        size=f"{size:,.0f}" if size < 1e9 else f"{size:.3g}",
        most=f"{most:,}",
        remedy=f"at most {fitting} per axis fit" if fitting > 1 else "no grid of these parameters fits",
    )


def incompatible(field: str, message: str, **numbers: object) -> PydanticCustomError:
    """Return the error for a constant that does not fit the space or the kind. It is reported at the field of the
    constant."""
    return PydanticCustomError("misfit", message, {"field": field, **numbers})
