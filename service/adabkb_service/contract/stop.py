"""Rules that end a study based on its results: the field ``stop`` of its definition."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.parameters import Body, Count
from adabkb_service.contract.setting import Setting, settings_of
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, NotNull, Sparse
from adabkb_service.engine.ending import STOP_RULES

OF_RESULTS = [name for name, rule in STOP_RULES.items() if not rule.needs_gap]
"""The rules that every study may have."""


class Stop(Sparse, Body):
    """Rules that end a study before its budget is used up. The first rule that applies ends it."""

    # The fields are the rules of STOP_RULES, which says when each applies.

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    no_gain_for: Annotated[
        NotNull[Count],
        Field(
            description="the study ends after this many results without an improvement; with several objectives, "
            "without a better compromise, that is, an increase of the hypervolume"
        ),
        ABSENT_BY_DEFAULT,
        Setting("stop after this many results without a gain", words="results without an improvement"),
    ] = None
    gap_share_below: Annotated[
        NotNull[Annotated[float, Field(gt=0, lt=1)]],
        Field(
            description="the study ends when, according to the model, further trials gain less than this share of the "
            "range of the results; only the default algorithm (auto) has this rule"
        ),
        ABSENT_BY_DEFAULT,
        Setting(
            "stop at this gap, as a share of the range",
            words="gain by the model, as a share of the range of the results",
            form="share",
        ),
    ] = None

    @model_validator(mode="after")
    def _some_rule(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("stop", f"must have {' or '.join(STOP_RULES)}; null does not count as a rule")
        return self

    def incompatibility(self, algorithm: Algorithm, *, has_several: bool) -> str | None:
        """Return why a study with this algorithm, and with one or several objectives, cannot have these rules; None if
        it can."""
        needing = [name for name, rule in STOP_RULES.items() if rule.needs_gap and getattr(self, name) is not None]
        if not needing:
            return None
        others = " or ".join(OF_RESULTS)
        if has_several:
            return f"cannot have {needing[0]} with several objectives, which have no gap; use {others}"
        if isinstance(algorithm, AutoProfile):
            return None
        return f"cannot have {needing[0]}, which needs the profile auto; use {others} or tolerance"


RULES = settings_of(Stop)
"""The rules by name."""
