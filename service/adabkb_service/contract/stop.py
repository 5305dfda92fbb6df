"""When a study ends by its results: the field ``stop`` of its definition."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import MISSING, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.parameters import Body, Count


class Stop(Body):
    """When a study ends before its budget is used up: as soon as one of these rules says so."""

    # An answer, too, has only the rules that there are.
    model_config = ConfigDict(json_schema_serialization_defaults_required=False, json_schema_extra={"minProperties": 1})

    no_gain_for: Annotated[
        Count | MISSING, Field(description="so many results in a row without a better one end the study")
    ] = MISSING
    gap_share_below: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | MISSING,
        Field(
            description="a gap below this share of the range of the results ends the study: going on would probably "
            "gain less; for the profile auto"
        ),
    ] = MISSING

    @model_validator(mode="after")
    def _some_rule(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("stop", "must have no_gain_for or gap_share_below; null is no rule")
        return self

    def incompatibility(self, algorithm: Algorithm) -> str | None:
        """Why a study with this algorithm cannot have these rules."""
        if self.gap_share_below is MISSING or isinstance(algorithm, AutoProfile):
            return None
        return "cannot have gap_share_below, which is for the profile auto only; use no_gain_for or tolerance"
