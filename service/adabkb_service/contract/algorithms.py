"""The algorithms that a study can use: the field ``algorithm`` of its definition, and the engine's configuration.

All except ``auto`` and the baselines without a model take constants from the user; docs/algorithm.md explains their
symbols. Lengths are in model coordinates: the unit cube or, if ``raw``, the parameters' own. Outputs are in model
units: standardized or, if ``raw``, the objective's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.constants import (
    EXACT,
    MAX_COORDINATES,
    MAX_HALVINGS,
    MAX_POINTS,
    MAX_TEST_POINTS,
    ConstantsFields,
    Delta,
    GridFields,
    Index,
    KernelFields,
    SketchedFields,
    System,
    TreeFields,
    WidthFields,
    incompatible,
    per_axis,
)
from adabkb_service.contract.parameters import Body, Constant, Count, Whole
from adabkb_service.engine.auto import config as auto_module
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.variation import Chaining
from adabkb_service.engine.sampling import config as sampling_module
from adabkb_service.engine.space import Space
from adabkb_service.engine.threds import config as gp_threds_module
from adabkb_service.engine.wording import nearest


class AutoProfile(System):
    """The default: Ada-BKB that learns every constant from the results."""

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["auto"] = "auto"
    delta: Annotated[float, Field(gt=0, lt=1, description="1 - delta: probability that no optimum is pruned")] = (
        auto_module.Config.delta
    )
    supports_slices: ClassVar[bool] = True
    supports_constraints: ClassVar[bool] = True
    supports_mixtures: ClassVar[bool] = True
    supports_all_parameters: ClassVar[bool] = True
    supports_metrics: ClassVar[bool] = True

    def config(self, output_noise_std: float | None, sign: float) -> auto_module.Config:  # noqa: ARG002
        """Return the configuration of the engine."""
        return auto_module.Config(delta=self.delta, noise_std=output_noise_std)

    def resolved(self, space: Space) -> Self:  # noqa: ARG002
        """Return the algorithm itself, since nothing depends on the space."""
        return self


class PaperProfile(TreeFields, SketchedFields):
    """Ada-BKB as published: all constants are given."""

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["paper"]
    index: Index = Config.index


class AdaBBKB(TreeFields, SketchedFields):
    """Ada-BKB that redraws its dictionary only after several results. It is faster if many results arrive in a short
    time."""

    kind: Literal["ada-bbkb"]
    batch_drift: Annotated[
        float,
        Field(
            ge=1,
            le=1e30,
            description="C: the dictionary is drawn again when 1 plus the sum of the variances s^2 at the points "
            "observed since the last draw exceeds it",
        ),
    ] = 2.0
    index: Index = Config.index


class AdaGPUCB(TreeFields):
    """Ada-GP-UCB: the tree with the exact posterior and a larger V_h; no cell is pruned."""

    kind: Literal["ada-gp-ucb"]
    horizon: Annotated[Count, Field(description="T: number of results for which the bounds must hold")] = 1000
    c1: Annotated[Constant, Field(description="C_1, so that C_1 r^-d balls of radius r can cover the box")] = 1.0
    beta: Annotated[
        Annotated[float, Field(ge=0, le=1e30)] | None,
        Field(description="width of the bounds; by default sqrt(lambda (ln(1/delta) + ln(T h_max)))"),
    ] = None
    exchanged: ClassVar[Mapping[str, Any]] = EXACT | {"prunes": False}
    own: ClassVar[set[str]] = TreeFields.own | {"horizon", "c1"}

    def config(self, output_noise_std: float | None, sign: float = 1.0) -> Config:
        """Return the engine's constants."""
        return replace(super().config(output_noise_std, sign), chaining=Chaining(self.horizon, self.c1))

    def resolved(self, space: Space) -> Self:
        """Return the constants with a number for each default, also for the width. See ``ConstantsFields.resolved``."""
        own = super().resolved(space)
        logarithms = math.log(1 / self.delta) + math.log(self.horizon * max(own.max_depth or 0, 1))
        return own.model_copy(update={"beta": math.sqrt(self.ridge * logarithms) if self.beta is None else self.beta})


class GPUCB(GridFields, WidthFields):
    """GP-UCB: the point with the largest upper bound on a fixed grid, with the exact posterior."""

    kind: Literal["gp-ucb"]
    exchanged: ClassVar[Mapping[str, Any]] = EXACT


class BKB(GridFields, SketchedFields):
    """BKB: the point with the largest upper bound on a fixed grid, with the sketch."""

    kind: Literal["bkb"]


class RandomBKB(ConstantsFields, SketchedFields):
    """BKB on fixed points, drawn at random when the study is created."""

    kind: Literal["random-bkb"]
    points: Annotated[int, Field(ge=1, le=MAX_POINTS, description="number of points, drawn uniformly once"), Whole] = (
        1000
    )

    def resolved(self, space: Space) -> Self:
        """Return the constants with a number for each default. See ``ConstantsFields.resolved``.

        Raises:
            PydanticCustomError: the points have too many coordinates, or the constants do not fit the space.
        """
        if self.points * space.dimension > MAX_COORDINATES:
            most = MAX_COORDINATES // space.dimension
            raise incompatible("points", "must be at most {most} for this number of dimensions", most=most)
        return super().resolved(space)


class GPThreDS(KernelFields):
    """GP-ThreDS: tests whether the objective exceeds a threshold, in smaller and smaller cells.

    Outputs are in the units of the objective; lengths are in the unit cube.
    """

    kind: Literal["gp-threds"]
    lowest: Annotated[
        float, Field(ge=-1e30, le=1e30, description="lower end of the range in which to search for the best value")
    ]
    highest: Annotated[float, Field(ge=-1e30, le=1e30, description="upper end of this range")]
    ridge: Annotated[Constant, Field(description="lambda: ridge that is added to the kernel matrix")] = 0.01
    noise_std: Annotated[Constant, Field(description="noise of a result; the study's noise_std overrides it")] = 0.1
    norm_bound: Annotated[
        Constant, Field(description="B: bound on the norm of the objective in the RKHS of the kernel")
    ] = 1.0
    delta: Delta = 1e-3
    points_per_axis: Annotated[
        Annotated[int, Field(ge=2, le=MAX_TEST_POINTS), Whole] | None,
        Field(description="points per axis of a cell's grid; by default 20, or as many as fit"),
    ] = None
    patience: Annotated[
        Count, Field(description="number of results without a decision after which a cell is accepted")
    ] = 50
    slack: Annotated[
        float,
        Field(
            ge=0,
            le=1e30,
            description="margin below the threshold at which the children of a cell are rejected, as a multiple of the "
            "cell's side",
        ),
    ] = 0.2
    max_depth: Annotated[
        int, Field(ge=1, le=MAX_HALVINGS, description="maximum number of halvings of the box"), Whole
    ] = 12

    @field_validator("highest")
    @classmethod
    def _above_lowest(cls, highest: float, info: ValidationInfo) -> float:
        if "lowest" in info.data and highest <= info.data["lowest"]:
            raise PydanticCustomError("bounds", "must be greater than lowest")
        return highest

    def config(self, output_noise_std: float | None, sign: float) -> gp_threds_module.Config:
        """Return the engine's constants."""
        given = Config(
            kernel=self.kernel,
            smoothness=self.smoothness,
            lengthscale=self._engine_lengthscale(),
            ridge=self.ridge,
            noise_std=self.noise_std,
            output_noise_std=output_noise_std,
            norm_bound=self.norm_bound,
            delta=self.delta,
        )
        assert self.points_per_axis is not None, "resolved"
        low, high = sorted((sign * self.lowest, sign * self.highest))
        return gp_threds_module.Config(
            gp_threds_module.of_a_test(given),
            low,
            high,
            self.points_per_axis,
            self.patience,
            self.slack,
            self.max_depth,
        )

    def resolved(self, space: Space) -> Self:
        """Return the constants, with numbers for the defaults that depend on the space.

        Raises:
            PydanticCustomError: the constants do not fit the space.
        """
        if not all(isinstance(axis, FloatAxis) for axis in space.axes):
            raise incompatible(
                "kind", "gp-threds needs parameters of kind float without a step; choose ada-bkb for others"
            )
        size = per_axis(space, self.points_per_axis, 20, MAX_TEST_POINTS)
        default = [0.2 * math.sqrt(space.dimension)] * space.dimension
        return self.model_copy(update={"points_per_axis": size, "lengthscale": self._lengthscales(space, default)})


class RandomPoints(System):
    """Uniform random points without a model, as a baseline."""

    kind: Literal["random"]
    has_model: ClassVar[bool] = False
    supports_slices: ClassVar[bool] = True
    supports_constraints: ClassVar[bool] = True
    supports_mixtures: ClassVar[bool] = True
    supports_all_parameters: ClassVar[bool] = True

    def config(self, output_noise_std: float | None, sign: float) -> sampling_module.Config:  # noqa: ARG002
        """Return the configuration of the engine."""
        return sampling_module.Config("random", repeats=bool(output_noise_std))

    def resolved(self, space: Space) -> Self:  # noqa: ARG002
        """Return the algorithm itself, since nothing depends on the space."""
        return self


class SobolPoints(System):
    """Quasi-random points without a model. They cover the box more evenly than random points."""

    kind: Literal["sobol"]
    has_model: ClassVar[bool] = False
    supports_slices: ClassVar[bool] = True
    supports_constraints: ClassVar[bool] = True
    supports_all_parameters: ClassVar[bool] = True

    def config(self, output_noise_std: float | None, sign: float) -> sampling_module.Config:  # noqa: ARG002
        """Return the configuration of the engine."""
        return sampling_module.Config("sobol", repeats=bool(output_noise_std))

    def resolved(self, space: Space) -> Self:  # noqa: ARG002
        """Return the algorithm itself, since nothing depends on the space."""
        return self


def _check_known(algorithm: object) -> object:
    """Return the algorithm unchanged if its kind exists and has the given constants.

    Raises:
        PydanticCustomError: the kind or a constant is unknown; the message lists the valid ones.
    """
    if isinstance(algorithm, Body):
        return algorithm
    if not isinstance(algorithm, Mapping):
        raise PydanticCustomError("algorithm", 'must be an object, such as {"kind": "gp-ucb"}')
    kind = algorithm.get("kind", KINDS[0])
    if kind not in KINDS:
        raise incompatible("kind", "must be one of {kinds}; auto and paper are profiles", kinds=", ".join(KINDS))
    profile = algorithm.get("profile", PROFILES[0])
    if kind == KINDS[0] and profile not in PROFILES:
        raise incompatible("profile", "must be auto or paper; give other algorithms by kind")
    taken = SYSTEMS[_system(algorithm)].model_fields
    for field in algorithm:
        if field not in taken:
            having = [name for name, system in SYSTEMS.items() if field in system.model_fields]
            raise incompatible(
                field,
                "is not a constant of {system}{meant}, which has {taken}{having}",
                system=_system(algorithm),
                taken=", ".join(name for name in taken if name != "kind"),
                meant=f" (did you mean {near}?)" if (near := nearest(str(field), taken)) else "",
                having=f"; kinds with this constant: {', '.join(having)}" if having else "",
            )
    return algorithm


def _system(algorithm: Body | Mapping[str, Any]) -> str:
    """Return the key in ``SYSTEMS`` of the algorithm in a request."""
    given = vars(algorithm) if isinstance(algorithm, Body) else algorithm
    kind: str = given.get("kind", KINDS[0])
    return kind if kind != KINDS[0] else f"profile {given.get('profile', PROFILES[0])}"


SYSTEMS: Mapping[str, type[Body]] = {
    "profile auto": AutoProfile,
    "profile paper": PaperProfile,
    "ada-bbkb": AdaBBKB,
    "ada-gp-ucb": AdaGPUCB,
    "gp-ucb": GPUCB,
    "bkb": BKB,
    "random-bkb": RandomBKB,
    "gp-threds": GPThreDS,
    "random": RandomPoints,
    "sobol": SobolPoints,
}
PROFILES = ["auto", "paper"]
KINDS = ["ada-bkb", *list(SYSTEMS)[len(PROFILES) :]]

Algorithm = Annotated[
    Annotated[AutoProfile, Tag("profile auto")]
    | Annotated[PaperProfile, Tag("profile paper")]
    | Annotated[AdaBBKB, Tag("ada-bbkb")]
    | Annotated[AdaGPUCB, Tag("ada-gp-ucb")]
    | Annotated[GPUCB, Tag("gp-ucb")]
    | Annotated[BKB, Tag("bkb")]
    | Annotated[RandomBKB, Tag("random-bkb")]
    | Annotated[GPThreDS, Tag("gp-threds")]
    | Annotated[RandomPoints, Tag("random")]
    | Annotated[SobolPoints, Tag("sobol")],
    Discriminator(_system),
    BeforeValidator(_check_known),
]
