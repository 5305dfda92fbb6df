"""The systems that a study can choose from: ``algorithm`` of a study's definition, and what it means to the engine.

All but ``auto`` take their constants as given. Lengths are in model coordinates (the unit cube, or with ``raw`` the
parameters' own), outputs in model units (standardised, or with ``raw`` the objective's own).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import MOST_PARAMETERS, Body, Constant, Count, Whole
from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.candidates import grid_size
from adabkb_service.engine.cells import LONGEST_KEY
from adabkb_service.engine.paper.config import Config, Problem
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.variation import Chaining
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.space import FloatAxis, Space
from adabkb_service.engine.threds import state as gp_threds_module
from adabkb_service.engine.threds.policy import gp_threds

MAX_DEPTH = 900
MAX_HALVINGS = 100
MOST_POINTS = 20_000
"""Fixed points to choose from, at most: each suggestion looks at all of them."""

EXACT: dict[str, Any] = {"qbar": math.inf, "epsilon": 0.0}
"""No sketch."""

MOST_COORDINATES = 400_000
"""Of points drawn at random: drawing them takes some seconds then."""
MOST_TEST_POINTS = 2_000
"""Of the grid of a GP-ThreDS test: a study is restored by going through all of its results."""

Delta = Annotated[float, Field(ge=1e-300, lt=1, description="the bounds hold with probability 1 - delta")]
Index = Annotated[
    Literal["ucb", "ei"], Field(description="what cells compete with: upper bound or expected improvement")
]


class AutoProfile(Body):
    """Ada-BKB with every constant learned: the default."""

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["auto"] = "auto"
    delta: Annotated[float, Field(gt=0, lt=1, description="the gap holds with probability 1 - delta")] = (
        auto_module.Config.delta
    )
    policy: ClassVar[Policy[Any, Any]] = auto

    def config(self, output_noise_std: float | None, sign: float) -> auto_module.Config:  # noqa: ARG002
        """What the engine is told."""
        return auto_module.Config(delta=self.delta, noise_std=output_noise_std)

    def resolved(self, space: Space) -> Self:  # noqa: ARG002
        """Itself: nothing depends on the space."""
        return self


class _Kernel(Body):
    """The kernel, which every Gaussian process here has."""

    kernel: Annotated[Literal["gaussian", "matern"], Field(description="k")] = Config.kernel
    smoothness: Annotated[
        float, Field(description="nu of the Matern kernel", json_schema_extra={"enum": [0.5, 1.5, 2.5]})
    ] = Config.smoothness
    lengthscale: Annotated[
        Constant | Annotated[list[Constant], Field(max_length=MOST_PARAMETERS), SPARING] | None,
        Field(description="one, or one per parameter; by default 0.2 sqrt(d) times the width of the axis"),
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
            raise _misfit("lengthscale", "needs one number, or one per parameter ({count})", count=space.dimension)
        return default if scales is None else scales

    def _engine_lengthscale(self) -> float | tuple[float, ...] | None:
        return tuple(self.lengthscale) if isinstance(self.lengthscale, list) else self.lengthscale


class _Constants(_Kernel):
    """What the systems that are Ada-BKB with parts exchanged have in common."""

    ridge: Annotated[Constant, Field(description="lambda")] = Config.ridge
    delta: Delta = Config.delta
    coordinates: Annotated[
        Literal["unit", "raw"], Field(description="the model's: the unit cube, or the parameters' own")
    ] = Config.coordinates
    outputs: Annotated[
        Literal["standardized", "raw"] | None, Field(description="by default raw where the coordinates are raw")
    ] = None
    policy: ClassVar[Policy[Any, Any]] = ada_bkb
    exchanged: ClassVar[Mapping[str, Any]] = {}
    """Constants of the engine that make it this system."""
    own: ClassVar[set[str]] = {"kind", "profile", "lengthscale"}
    """Fields that are no constants of the engine."""

    def config(self, output_noise_std: float | None, sign: float = 1.0) -> Config:  # noqa: ARG002
        """The engine's constants."""
        fields = {**self.model_dump(exclude=self.own, exclude_none=True), **self.exchanged}
        return Config(**fields, lengthscale=self._engine_lengthscale(), output_noise_std=output_noise_std)

    def resolved(self, space: Space) -> Self:
        """With the defaults that depend on the space as numbers: a study keeps its constants whatever later versions
        take for defaults.

        Raises:
            PydanticCustomError: the constants do not fit the space.
        """
        if self.coordinates == "raw":
            for axis in space.axes:
                if axis.raw_bounds is None:
                    raise _misfit("coordinates", "raw ones need numeric or ordinal parameters; choose unit")
                if math.isinf(axis.raw_bounds[1] - axis.raw_bounds[0]):
                    raise _misfit("coordinates", "the bounds are too far apart for raw ones; choose unit")
        self._lengthscales(space, [])
        problem = Problem(space, self.config(None), seed=0)
        return self.model_copy(
            update={
                "lengthscale": self._lengthscales(space, problem.lengthscales.tolist()),
                "outputs": "standardized" if problem.standardizes else "raw",
            }
        )


class _Width(Body):
    noise_std: Annotated[
        Constant, Field(description="xi, in model output units; a study's own noise_std replaces it")
    ] = Config.noise_std
    norm_bound: Annotated[Constant, Field(description="F")] = Config.norm_bound
    beta: Annotated[
        Literal["theory", "authors"] | Annotated[float, Field(ge=0, le=1e30)],
        Field(description="form of the confidence width, or the width itself, per ridge-scaled standard deviation"),
    ] = "theory"


class _Sketched(_Width):
    epsilon: Annotated[float, Field(gt=0, lt=1, description="accuracy of the sketch, in beta")] = Config.epsilon
    qbar: Annotated[Constant, Field(description="oversampling of the dictionary")] = Config.qbar


class _Tree(_Constants):
    branching: Annotated[int, Field(ge=2, le=100, description="N"), Whole] = Config.branching
    max_depth: Annotated[
        Annotated[int, Field(ge=0, le=MAX_DEPTH), Whole] | None, Field(description="h_max; by default 10 d")
    ] = None
    v1: Annotated[Constant | None, Field(description="with rho: V_h = F g(v1 rho^h)")] = None
    rho: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        Field(validate_default=True, description="without v1 and rho each cell's own radius is used"),
    ] = None

    @field_validator("rho")
    @classmethod
    def _both_or_none(cls, rho: float | None, info: ValidationInfo) -> float | None:
        if "v1" in info.data and (rho is None) != (info.data["v1"] is None):
            raise PydanticCustomError("missing", "v1 and rho go together: give both or none")
        if rho is not None and info.data.get("kernel") == "matern" and info.data.get("smoothness") == 0.5:
            raise PydanticCustomError("rho", "the Matern kernel of smoothness 0.5 has no linear g for v1 and rho")
        return rho

    def resolved(self, space: Space) -> Self:
        """With h_max as a number too."""
        own = super().resolved(space)
        depth = min(Problem(space, self.config(None), seed=0).max_depth, MAX_DEPTH)
        if depth * (len(str(self.branching - 1)) + 1) > LONGEST_KEY:
            raise _misfit(
                "max_depth", "is too large for a branching of {branching}; lower one", branching=self.branching
            )
        return own.model_copy(update={"max_depth": depth})


class PaperProfile(_Tree, _Sketched):
    """Ada-BKB as the paper has it: every constant is given."""

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["paper"]
    index: Index = Config.index


class AdaBBKB(_Tree, _Sketched):
    """Ada-BKB whose dictionary changes only now and then: for many results that come close together."""

    kind: Literal["ada-bbkb"]
    batch_drift: Annotated[
        float, Field(ge=1, le=1e30, description="C: factor by which variances may change until it does")
    ] = 2.0
    index: Index = Config.index


class AdaGPUCB(_Tree):
    """Ada-GP-UCB: the tree with the exact posterior and its own, wider V_h; nothing is pruned."""

    kind: Literal["ada-gp-ucb"]
    horizon: Annotated[Count, Field(description="T: results that the bounds are to hold for")] = 1000
    c1: Annotated[Constant, Field(description="C_1 of its V_h")] = 1.0
    beta: Annotated[
        Annotated[float, Field(ge=0, le=1e30)] | None,
        Field(description="the width; by default sqrt(lambda (ln(1/delta) + ln(T h_max)))"),
    ] = None
    exchanged: ClassVar[Mapping[str, Any]] = EXACT | {"prunes": False}
    own: ClassVar[set[str]] = _Tree.own | {"horizon", "c1"}

    def config(self, output_noise_std: float | None, sign: float = 1.0) -> Config:
        """The engine's constants."""
        return replace(super().config(output_noise_std, sign), chaining=Chaining(self.horizon, self.c1))

    def resolved(self, space: Space) -> Self:
        """With the width as a number too."""
        own = super().resolved(space)
        logarithms = math.log(1 / self.delta) + math.log(self.horizon * max(own.max_depth or 0, 1))
        return own.model_copy(update={"beta": math.sqrt(self.ridge * logarithms) if self.beta is None else self.beta})


class _Grid(_Constants):
    points_per_axis: Annotated[
        Annotated[int, Field(ge=2, le=MOST_POINTS), Whole] | None,
        Field(description="of the grid; choices and fewer values are all on it; by default 15, or as many as fit"),
    ] = None

    def resolved(self, space: Space) -> Self:
        """With the grid's size as a number, if it is not too large."""
        size = _per_axis(space, self.points_per_axis, 15, MOST_POINTS)
        return super().resolved(space).model_copy(update={"points_per_axis": size})


class GPUCB(_Grid, _Width):
    """GP-UCB: the largest upper bound on a fixed grid, with the exact posterior."""

    kind: Literal["gp-ucb"]
    exchanged: ClassVar[Mapping[str, Any]] = EXACT


class BKB(_Grid, _Sketched):
    """BKB: the largest upper bound on a fixed grid, with the sketch."""

    kind: Literal["bkb"]


class RandomBKB(_Constants, _Sketched):
    """BKB on points that are drawn at random once."""

    kind: Literal["random-bkb"]
    points: Annotated[int, Field(ge=1, le=MOST_POINTS, description="drawn uniformly, once"), Whole] = 1000

    def resolved(self, space: Space) -> Self:
        """If there are not too many coordinates."""
        if self.points * space.dimension > MOST_COORDINATES:
            most = MOST_COORDINATES // space.dimension
            raise _misfit("points", "must be at most {most} in so many dimensions", most=most)
        return super().resolved(space)


class GPThreDS(_Kernel):
    """GP-ThreDS: tests whether the objective passes a threshold, in ever smaller cells.

    Outputs are the objective's own; lengths are in the unit cube.
    """

    kind: Literal["gp-threds"]
    lowest: Annotated[float, Field(ge=-1e30, le=1e30, description="the best value is looked for from here ...")]
    highest: Annotated[float, Field(ge=-1e30, le=1e30, description="... to here")]
    ridge: Annotated[Constant, Field(description="lambda")] = 0.01
    noise_std: Annotated[Constant, Field(description="of a result; a study's own noise_std replaces it")] = 0.1
    norm_bound: Annotated[Constant, Field(description="B")] = 1.0
    delta: Delta = 1e-3
    points_per_axis: Annotated[
        Annotated[int, Field(ge=2, le=MOST_TEST_POINTS), Whole] | None,
        Field(description="of the grid of a cell; by default 20, or as many as fit"),
    ] = None
    patience: Annotated[Count, Field(description="results without a decision, after which a cell is accepted")] = 50
    slack: Annotated[
        float, Field(ge=0, le=1e30, description="how far below the threshold a cell must be to be rejected")
    ] = 0.2
    max_depth: Annotated[int, Field(ge=1, le=MAX_HALVINGS, description="halvings of the box"), Whole] = 12
    policy: ClassVar[Policy[Any, Any]] = gp_threds

    @field_validator("highest")
    @classmethod
    def _above_lowest(cls, highest: float, info: ValidationInfo) -> float:
        if "lowest" in info.data and highest <= info.data["lowest"]:
            raise PydanticCustomError("bounds", "must be greater than lowest")
        return highest

    def config(self, output_noise_std: float | None, sign: float) -> gp_threds_module.Config:
        """The engine's constants."""
        model = gp_threds_module.of_a_test(
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
            model, low, high, self.points_per_axis, self.patience, self.slack, self.max_depth
        )

    def resolved(self, space: Space) -> Self:
        """With the defaults that depend on the space as numbers.

        Raises:
            PydanticCustomError: the constants do not fit the space.
        """
        if not all(isinstance(axis, FloatAxis) for axis in space.axes):
            raise _misfit("kind", "gp-threds needs parameters of kind float; choose ada-bkb for others")
        size = _per_axis(space, self.points_per_axis, 20, MOST_TEST_POINTS)
        default = [0.2 * math.sqrt(space.dimension)] * space.dimension
        return self.model_copy(update={"points_per_axis": size, "lengthscale": self._lengthscales(space, default)})


def _per_axis(space: Space, wanted: int | None, usual: int, most: int) -> int:
    """The points per axis of a grid of so many at most: those that are wanted, or the usual ones if they fit."""
    counts = range(2, (wanted or usual) + 1)
    fitting = 1 + bisect_right(counts, float(most), key=lambda count: grid_size(space, count))
    if fitting > 1 and wanted in (None, fitting):
        return fitting
    size = grid_size(space, wanted or 2)
    raise _misfit(
        "points_per_axis",
        "a grid of {size} points is too large ({most} at most): {remedy}; kind ada-bkb and random-bkb need none",
        size=f"{size:,.0f}" if size < 1e9 else f"{size:.3g}",
        most=f"{most:,}",
        remedy=f"at most {fitting} per axis fit" if fitting > 1 else "no grid of these parameters fits",
    )


def _misfit(field: str, message: str, **numbers: object) -> PydanticCustomError:
    """The error of a constant that does not fit the space or the kind; it is reported at its field."""
    return PydanticCustomError("misfit", message, {"field": field, **numbers})


def _known(algorithm: Any) -> Any:
    """If it is of a kind that there is, with constants that it has."""
    if isinstance(algorithm, Body):
        return algorithm
    if not isinstance(algorithm, Mapping):
        raise PydanticCustomError("algorithm", 'must be an object, such as {{"kind": "gp-ucb"}}')
    kind = algorithm.get("kind", KINDS[0])
    if kind not in KINDS:
        raise _misfit("kind", "must be one of {kinds}", kinds=", ".join(KINDS))
    profile = algorithm.get("profile", PROFILES[0])
    if kind == KINDS[0] and profile not in PROFILES:
        raise _misfit("profile", "must be auto or paper; other systems are named by kind")
    taken = SYSTEMS[_system(algorithm)].model_fields
    for field in algorithm:
        if field not in taken:
            having = [name for name, system in SYSTEMS.items() if field in system.model_fields]
            raise _misfit(
                field,
                "is not a constant of {system}, which has {taken}{having}",
                system=_system(algorithm),
                taken=", ".join(name for name in taken if name != "kind"),
                having=f"; those that have it: {', '.join(having)}" if having else "",
            )
    return algorithm


def _system(algorithm: Any) -> str:
    """The kind that a request asks for, or the profile of ada-bkb."""
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
    | Annotated[GPThreDS, Tag("gp-threds")],
    Discriminator(_system),
    BeforeValidator(_known),
]
