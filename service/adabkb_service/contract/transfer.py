"""Older studies whose results a new study uses, field ``transfer_from``. The event of the new study's creation stores a
snapshot of each, so that the older studies may continue, change or be deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import MAX_PARAMETERS, Body, Name, Number, StudyId
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine.older import Older
from adabkb_service.storage.event_payloads import Created

MAX_STUDIES = 5
MAX_POINTS = 100
"""The maximum number of points of a snapshot."""
MAX_NUMBERS = 5000
"""The maximum number of coordinates of a snapshot."""
NEEDS_AUTO = "cannot be used by this algorithm; the profile auto can use it"
TWICE = "has {study} twice; list each study once"

OlderStudies = Annotated[list[StudyId], Field(max_length=MAX_STUDIES), LIMIT_ERRORS]
Position = Annotated[float, Field(ge=0, le=1)]


class Snapshot(Sparse, Body):
    """Some points and results of an older study, in the space of the new study."""

    model_config = ConfigDict(frozen=True)

    study: StudyId
    parameters: Annotated[list[Name], Field(min_length=1, max_length=MAX_PARAMETERS)]
    """The parameters that both studies have."""
    points: Annotated[list[list[Position]], Field(min_length=1, max_length=MAX_POINTS)]
    """Positions along these parameters' axes."""
    outputs: Annotated[list[Number], Field(min_length=1, max_length=MAX_POINTS)]
    """The results at these points, warped as the model warps results: larger is better."""
    metric: Annotated[Name | None, ABSENT_BY_DEFAULT] = None
    """The objective that they measure; None with a single objective."""

    def older(self, names: Sequence[str]) -> Older:
        """Return the snapshot in the engine's form, for a space whose axes have these names.

        Raises:
            ValueError: the snapshot does not fit the axes, or is inconsistent.
        """
        if unknown := set(self.parameters) - set(names):
            raise ValueError(f"the snapshot of {self.study!r} has parameters that do not vary: {sorted(unknown)}")
        if len(set(self.parameters)) < len(self.parameters):
            raise ValueError(f"the snapshot of {self.study!r} has a parameter twice")
        if len(self.points) != len(self.outputs) or any(len(point) != len(self.parameters) for point in self.points):
            raise ValueError(f"the snapshot of {self.study!r} lacks outputs or coordinates of its points")
        axes = tuple(map(names.index, self.parameters))
        return Older(self.study, axes, tuple(map(tuple, self.points)), tuple(self.outputs), self.metric)


def check_transfer(studies: Sequence[str], definition: Mapping[str, Any]) -> None:
    """Check that the older studies are distinct, and that the algorithm can use them.

    Args:
        studies: the ids of the older studies.
        definition: the valid fields of the new study.

    Raises:
        PydanticCustomError: a study is listed twice, or the algorithm is not the profile auto.
    """
    if not studies:
        return
    if twice := next((study for index, study in enumerate(studies) if study in studies[:index]), None):
        raise PydanticCustomError("duplicate", TWICE, {"study": repr(twice)})
    if not isinstance(definition.get("algorithm"), AutoProfile | None):
        raise PydanticCustomError("transfer", NEEDS_AUTO)


def snapshots_of(created: Created) -> list[Snapshot]:
    """Return the snapshots in the payload of a ``created`` event; empty for a study without older ones.

    Raises:
        ValueError: they do not match the definition, or are invalid.
    """
    found = [Snapshot.model_validate(each) for each in created.get("older", [])]
    definition = created["definition"]
    if list(dict.fromkeys(each.study for each in found)) != definition.get("transfer_from", []):
        raise ValueError("the snapshots of older studies differ from those that the definition names")
    objectives = [each["metric"] for each in definition.get("objectives", [])] or [None]
    if len({(each.study, each.metric) for each in found if each.metric in objectives}) < len(found):
        raise ValueError("the snapshots of older studies have other objectives than the definition, or one twice")
    return found
