"""What a study is made of: the body of POST /v1/studies, what ``studies.definition`` stores, and its meaning to
the engine."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.engine.policies import ada_bkb
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
MAX_KEY = 2000
"""Characters of a cell's key, which names its path from the root; PostgreSQL indexes no more than 2700 bytes."""
STUDY_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class AdaBKB(Body):
    """Ada-BKB with the constants of the paper's ``paper`` profile.

    Lengths are in model coordinates (the unit cube, or with ``raw`` the parameters' own), outputs in model units
    (standardised, or with ``raw`` the objective's own). Without ``v1`` and ``rho`` each cell's own radius is used.
    """

    kind: Literal["ada-bkb"] = "ada-bkb"
    profile: Literal["paper"] = "paper"
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


class StudyDefinition(Body):
    """A study as its creator describes it."""

    id: (
        Annotated[str, StringConstraints(pattern=STUDY_ID), Field(description="drawn by the server if absent")] | None
    ) = None
    direction: Literal["minimize", "maximize"]
    parameters: Annotated[list[Parameter], Field(min_length=1, max_length=100)]
    algorithm: Annotated[AdaBKB, Field(validate_default=True)] = AdaBKB()
    budget: Annotated[Count | None, Field(description="trials at most; each is one unit however often leased")] = None
    seed: Annotated[Integer, Field(ge=0, le=MAX_SAFE_INTEGER)] | None = None
    noise_std: Annotated[Positive | None, Field(description="of one result, in the objective's units")] = None
    tolerance: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
        Field(description="the study is complete once its gap is no larger, in the objective's units"),
    ] = None
    lease_seconds: LeaseSeconds = 3600.0
    max_attempts: Annotated[Count, Field(description="leases that may run out before the trial is failed")] = 3
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
    def _fits_parameters(cls, algorithm: AdaBKB, info: ValidationInfo) -> AdaBKB:
        parameters = info.data.get("parameters")
        if parameters is None:
            return algorithm
        scales = algorithm.lengthscale
        if isinstance(scales, list) and len(scales) != len(parameters):
            raise PydanticCustomError("lengthscale", "lengthscale needs one number, or one per parameter")
        if algorithm.coordinates == "raw" and any(p.axis().raw_bounds is None for p in parameters):
            raise PydanticCustomError("coordinates", "raw coordinates need numeric or ordinal parameters")
        algorithm = _resolved(algorithm, Space(tuple(parameter.axis() for parameter in parameters)))
        if (algorithm.max_depth or 0) * (len(str(algorithm.branching - 1)) + 1) > MAX_KEY:
            raise PydanticCustomError("max_depth", "max_depth is too large for so many branches; lower one of them")
        return algorithm

    def space(self) -> Space:
        """The engine's search space."""
        return Space(tuple(parameter.axis() for parameter in self.parameters))

    def config(self) -> ada_bkb.Config:
        """The engine's constants."""
        return self.algorithm.config(self.noise_std)

    @property
    def sign(self) -> float:
        """The engine maximises: +1 for a study that maximises, -1 for one that minimises."""
        return 1.0 if self.direction == "maximize" else -1.0


def _resolved(algorithm: AdaBKB, space: Space) -> AdaBKB:
    """With the defaults that depend on the space as numbers: a study keeps its constants whatever later versions
    take for defaults."""
    problem = ada_bkb.Problem(space, algorithm.config(None), seed=0)
    return algorithm.model_copy(
        update={
            "lengthscale": problem.lengthscales.tolist() if algorithm.lengthscale is None else algorithm.lengthscale,
            "max_depth": min(problem.max_depth, MAX_DEPTH),
            "outputs": "standardized" if problem.standardizes else "raw",
        }
    )
