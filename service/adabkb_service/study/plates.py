"""The plates of a study: which plate new trials continue, and which values its points share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.axes import identity
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import Invalid
from adabkb_service.inference.restriction import Restriction
from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study.point_checks import check_slice


@dataclass(frozen=True, slots=True)
class OpenPlate:
    """The last plate, which has room for more trials."""

    number: int
    room: int
    """The number of trials that can still be added."""
    values: dict[str, Any]
    """Name -> value that all trials on the plate share."""


def open_plate(study: StudyRow) -> OpenPlate | None:
    """The plate that new trials continue. None if the next trial begins a plate, and in a study without plates."""
    plates, last = definition_of(study.definition).plates, study.plate
    if plates is None or last is None or last["shared"] is None or last["trials"] >= plates.size:
        return None
    return OpenPlate(last["number"], plates.size - last["trials"], last["shared"])


def fitting_plate(study: StudyRow, space: Space, fixed: Mapping[str, Any]) -> OpenPlate | None:
    """The open plate, if the space has points with both its shared values and the values that a request fixes; else
    None."""
    found = open_plate(study)
    if found is None or not fixed:
        return found
    values = {**fixed, **found.values}
    if not Slice(space, fixed).agrees(values):
        return None
    try:
        check_slice(Slice(space, values), "")
    except Invalid:
        return None
    return found


def restriction(study: StudyRow, fixed: dict[str, Any] | None, plate: OpenPlate | None) -> Restriction:
    """The restriction on new points, given the values that a request fixes and the plate that the points continue."""
    plates = definition_of(study.definition).plates
    if plates is None:
        return Restriction(fixed)
    return Restriction(fixed, tuple(plates.shared), None if plate is None else plate.values)


def room_on(study: StudyRow, plate: OpenPlate | None) -> int | None:
    """The number of trials that the plate has room for, or a new plate if ``plate`` is None. None in a study without
    plates."""
    plates = definition_of(study.definition).plates
    if plates is None:
        return None
    return plates.size if plate is None else plate.room


def number_for(study: StudyRow, parameters: Mapping[str, Any], *, is_new: bool) -> int | None:
    """The number of the plate of the next trial; None in a study without plates.

    Args:
        study: the row of the study.
        parameters: the parameters of the trial.
        is_new: whether the trial begins a plate even if it would fit the open one.
    """
    if definition_of(study.definition).plates is None:
        return None
    plate = open_plate(study)
    if plate is not None and not is_new and _agrees(parameters, plate.values):
        return plate.number
    return 1 if study.plate is None else int(study.plate["number"]) + 1


def _agrees(parameters: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(name in parameters and identity(parameters[name]) == identity(at) for name, at in values.items())


def of_one_plate(trials: Sequence[TrialRow]) -> list[TrialRow]:
    """The trials that are on the same plate as the first trial."""
    return [trial for trial in trials if trial.plate == trials[0].plate]
