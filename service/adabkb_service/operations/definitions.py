"""What a study is made of: the body of POST /v1/studies, what ``studies.definition`` stores, and its meaning to
the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.engine.cells import LONGEST_KEY
from adabkb_service.engine.policies import ada_bkb, auto
from adabkb_service.engine.policies.policy import Policy
from adabkb_service.engine.space import Space
from adabkb_service.operations.parameters import (
    MAX_SAFE_INTEGER,
    Body,
    Constant,
    Count,
    Integer,
    LeaseSeconds,
    Parameter,
    Positive,
    Tags,
)

MAX_DEPTH = 900
FAILURE_LIMIT = 10
CHANGEABLE = (
    "budget",
    "failure_limit",
    "lease_seconds",
    "max_attempts",
    "max_runtime_seconds",
    "pending_limit",
    "tags",
    "tolerance",
)
"""What may be changed once a study exists."""
STUDY_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


def _profile(algorithm: Any) -> str | None:
    """The profile that a request asks for."""
    if isinstance(algorithm, Mapping):
        profile = algorithm.get("profile", "auto")
        return profile if isinstance(profile, str) else None
    return getattr(algorithm, "profile", None)


class AutoProfile(Body):
    """Ada-BKB with every constant learned: the default."""

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["auto"] = "auto"
    delta: Annotated[float, Field(gt=0, lt=1, description="the gap holds with probability 1 - delta")] = (
        auto.Config.delta
    )

    def config(self, output_noise_std: float | None) -> auto.Config:
        """What the engine is told."""
        return auto.Config(delta=self.delta, noise_std=output_noise_std)

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return auto

    def resolved(self, space: Space) -> AutoProfile:  # noqa: ARG002
        """Itself: nothing depends on the space."""
        return self


class PaperProfile(Body):
    """Ada-BKB as the paper has it: every constant is given.

    Lengths are in model coordinates (the unit cube, or with ``raw`` the parameters' own), outputs in model units
    (standardised, or with ``raw`` the objective's own). Without ``v1`` and ``rho`` each cell's own radius is used.
    """

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["paper"]
    kernel: Literal["gaussian", "matern"] = ada_bkb.Config.kernel
    smoothness: Annotated[
        float, Field(description="nu of the Matern kernel", json_schema_extra={"enum": [0.5, 1.5, 2.5]})
    ] = ada_bkb.Config.smoothness
    lengthscale: Annotated[
        Constant | list[Constant] | None,
        Field(description="one, or one per parameter; by default 0.2 sqrt(d) times the width of the axis"),
    ] = None
    ridge: Annotated[Constant, Field(description="lambda")] = ada_bkb.Config.ridge
    noise_std: Annotated[
        Constant, Field(description="xi, in model output units; a study's own noise_std replaces it")
    ] = ada_bkb.Config.noise_std
    norm_bound: Annotated[Constant, Field(description="F")] = ada_bkb.Config.norm_bound
    delta: Annotated[float, Field(gt=0, lt=1)] = ada_bkb.Config.delta
    epsilon: Annotated[float, Field(gt=0, lt=1)] = ada_bkb.Config.epsilon
    qbar: Constant = ada_bkb.Config.qbar
    branching: Annotated[Integer, Field(ge=2, le=100, description="N")] = ada_bkb.Config.branching
    max_depth: Annotated[
        Annotated[Integer, Field(ge=0, le=MAX_DEPTH)] | None, Field(description="h_max; by default 10 d")
    ] = None
    beta: Annotated[
        Literal["theory", "authors"] | Annotated[float, Field(ge=0, le=1e30)],
        Field(description="form of the confidence width, or the width itself"),
    ] = "theory"
    v1: Constant | None = None
    rho: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, Field(validate_default=True)] = None
    coordinates: Literal["unit", "raw"] = ada_bkb.Config.coordinates
    outputs: Annotated[
        Literal["standardized", "raw"] | None, Field(description="by default raw where the coordinates are raw")
    ] = None

    @field_validator("smoothness")
    @classmethod
    def _half_integer(cls, smoothness: float) -> float:
        if smoothness not in (0.5, 1.5, 2.5):
            raise PydanticCustomError("smoothness", "must be 0.5, 1.5 or 2.5")
        return smoothness

    @field_validator("rho")
    @classmethod
    def _both_or_none(cls, rho: float | None, info: ValidationInfo) -> float | None:
        if "v1" in info.data and (rho is None) != (info.data["v1"] is None):
            raise PydanticCustomError("missing", "v1 and rho go together: give both or none")
        if rho is not None and info.data.get("kernel") == "matern" and info.data.get("smoothness") == 0.5:
            raise PydanticCustomError("rho", "the Matern kernel of smoothness 0.5 has no linear g for v1 and rho")
        return rho

    def config(self, output_noise_std: float | None) -> ada_bkb.Config:
        """The engine's constants."""
        fields = self.model_dump(exclude={"kind", "profile", "lengthscale"})
        scales = self.lengthscale
        lengthscale = tuple(scales) if isinstance(scales, list) else scales
        return ada_bkb.Config(**fields, lengthscale=lengthscale, output_noise_std=output_noise_std)

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return ada_bkb

    def resolved(self, space: Space) -> PaperProfile:
        """With the defaults that depend on the space as numbers: a study keeps its constants whatever later versions
        take for defaults.

        Raises:
            PydanticCustomError: the constants do not fit the space.
        """
        scales = self.lengthscale
        if isinstance(scales, list) and len(scales) != space.dimension:
            raise PydanticCustomError("lengthscale", "lengthscale needs one number, or one per parameter")
        if self.coordinates == "raw" and any(axis.raw_bounds is None for axis in space.axes):
            raise PydanticCustomError("coordinates", "raw coordinates need numeric or ordinal parameters")
        problem = ada_bkb.Problem(space, self.config(None), seed=0)
        depth = min(problem.max_depth, MAX_DEPTH)
        if depth * (len(str(self.branching - 1)) + 1) > LONGEST_KEY:
            raise PydanticCustomError("max_depth", "max_depth is too large for so many branches; lower one of them")
        return self.model_copy(
            update={
                "lengthscale": problem.lengthscales.tolist() if scales is None else scales,
                "max_depth": depth,
                "outputs": "standardized" if problem.standardizes else "raw",
            }
        )


Algorithm = Annotated[
    Annotated[AutoProfile, Tag("auto")] | Annotated[PaperProfile, Tag("paper")],
    Discriminator(
        _profile,
        custom_error_type="profile",
        custom_error_message='profile must be "auto" (the default) or "paper"',
    ),
]


class StudyDefinition(Body):
    """A study as its creator describes it."""

    id: (
        Annotated[str, StringConstraints(pattern=STUDY_ID), Field(description="drawn by the server if absent")] | None
    ) = None
    direction: Literal["minimize", "maximize"]
    parameters: Annotated[list[Parameter], Field(min_length=1, max_length=100)]
    algorithm: Annotated[Algorithm, Field(validate_default=True)] = AutoProfile()
    budget: Annotated[Count | None, Field(description="trials at most; each is one unit however often leased")] = None
    seed: Annotated[Integer, Field(ge=0, le=MAX_SAFE_INTEGER)] | None = None
    noise_std: Annotated[Positive | None, Field(description="of one result, in the objective's units")] = None
    tolerance: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
        Field(description="the study is complete once its gap is no larger, in the objective's units"),
    ] = None
    lease_seconds: LeaseSeconds = 3600.0
    max_attempts: Annotated[Count, Field(description="leases that may run out before the trial is failed")] = 3
    max_runtime_seconds: Annotated[
        LeaseSeconds | None, Field(description="of one attempt, whatever its heartbeats say")
    ] = None
    failure_limit: Annotated[
        Count | None, Field(description="trials that fail one after the other until the study is paused")
    ] = FAILURE_LIMIT
    pending_limit: Annotated[Count | None, Field(description="unfinished trials at most")] = None
    tags: Tags = Field(default_factory=dict)

    @field_validator("parameters")
    @classmethod
    def _distinct_names(cls, parameters: list[Any]) -> list[Any]:
        names = [parameter.name for parameter in parameters]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("duplicate", "parameter {name} occurs twice", {"name": repr(name)})
        return parameters

    @field_validator("algorithm")
    @classmethod
    def _fits_parameters(cls, algorithm: Algorithm, info: ValidationInfo) -> Algorithm:
        parameters = info.data.get("parameters")
        if parameters is None:
            return algorithm
        return algorithm.resolved(Space(tuple(parameter.axis() for parameter in parameters)))

    def space(self) -> Space:
        """The engine's search space."""
        return Space(tuple(parameter.axis() for parameter in self.parameters))

    def config(self) -> auto.Config | ada_bkb.Config:
        """The engine's constants."""
        return self.algorithm.config(self.noise_std)

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return self.algorithm.policy

    @property
    def sign(self) -> float:
        """The engine maximises: +1 for a study that maximises, -1 for one that minimises."""
        return 1.0 if self.direction == "maximize" else -1.0
