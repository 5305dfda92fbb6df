"""Rules that end a study based on its results: the field ``stop`` of its definition."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.parameters import Body, Count
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, NotNull, Sparse


class Stop(Sparse, Body):
    """Rules that end a study before its budget is used up. The first rule that applies ends it."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    no_gain_for: Annotated[
        NotNull[Count],
        Field(
            description="the study ends after this many results without an improvement; with several objectives, "
            "without a better compromise, that is, an increase of the hypervolume"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    gap_share_below: Annotated[
        NotNull[Annotated[float, Field(gt=0, lt=1)]],
        Field(
            description="the study ends when, according to the model, further trials gain less than this share of the "
            "range of the results; only the default algorithm (auto) has this rule"
        ),
        ABSENT_BY_DEFAULT,
    ] = None

    @model_validator(mode="after")
    def _some_rule(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("stop", "must have no_gain_for or gap_share_below; null does not count as a rule")
        return self

    def incompatibility(self, algorithm: Algorithm, *, has_several: bool) -> str | None:
        """Return why a study with this algorithm, and with one or several objectives, cannot have these rules; None if
        it can."""
        if self.gap_share_below is None:
            return None
        if has_several:
            return "cannot have gap_share_below with several objectives, which have no gap; use no_gain_for"
        if isinstance(algorithm, AutoProfile):
            return None
        return "cannot have gap_share_below, which needs the profile auto; use no_gain_for or tolerance"
