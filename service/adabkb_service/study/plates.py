"""The plates of a study: the one that new trials continue, what its points have in common, and whether points
that users chose can be on a plate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from adabkb_service.contract.plates import Plates
from adabkb_service.engine.feasibility import has_points
from adabkb_service.engine.plates import OpenPlate, differing_names
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid, json_pointer, shown
from adabkb_service.inference.restriction import Restriction
from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study.draft import Draft

NO_PLATES = "is for studies with plates, and this one has none; leave it out"
POINT = "/parameters"
"""JSON pointer to the point of a request."""


def open_plate(study: StudyRow) -> OpenPlate | None:
    """Return the plate that new trials continue. None if the next trial begins a plate, and in a study without plates.
    Withdrawn trials are not counted: if all are withdrawn, the next trial begins a plate."""
    last = study.plate
    if last is None or last["shared"] is None or not study.places_left:
        return None
    return OpenPlate(last["number"], study.places_left, last["shared"])


def can_begin(study: StudyRow) -> bool:
    """Return whether the budget allows another plate; True without a budget of plates."""
    return study.plates_left is None or study.plates_left > 0


def fitting_plate(study: StudyRow, space: Space, fixed: Mapping[str, Any]) -> OpenPlate | None:
    """Return the open plate, if the space has points with the plate's shared values and the values that a request
    fixes; else None."""
    found = open_plate(study)
    return found if found is not None and found.fits(space, fixed) else None


def closes(study: StudyRow, space: Space) -> bool:
    """Return whether an edit closes the last plate: the edited space has no point with the values that the plate's
    trials share."""
    shared = None if study.plate is None else study.plate["shared"]
    if not shared:
        return False
    return bool(space.problems(shared, partial=True) or space.withdrawn(shared)) or not has_points(Slice(space, shared))


def restriction(draft: Draft, fixed: dict[str, Any] | None, plate: OpenPlate | None) -> Restriction:
    """Return the restriction on new points, given the values that a request fixes and the plate that the points
    continue."""
    plates = draft.definition.plates
    if plates is None:
        return Restriction(fixed)
    return Restriction(fixed, tuple(plates.shared), None if plate is None else plate.values)


def room_on(draft: Draft, plate: OpenPlate | None) -> int | None:
    """Return the number of trials for which a plate has room; None in a study without plates. If ``plate`` is None, it
    is the room of a new plate: 0 if the budget allows no further plate."""
    plates = draft.definition.plates
    if plates is None:
        return None
    if plate is None:
        return plates.size if can_begin(draft.study) else 0
    return plate.room


def number_for(draft: Draft, parameters: Mapping[str, Any], *, is_new: bool) -> int | None:
    """Return the number of the plate of the next trial; None in a study without plates.

    Args:
        draft: the draft of the study.
        parameters: the parameters of the trial.
        is_new: whether the trial begins a plate even if it would fit the open one.
    """
    if draft.definition.plates is None:
        return None
    plate = open_plate(draft.study)
    if plate is not None and not is_new and plate.takes(parameters):
        return plate.number
    last = draft.study.plate
    return 1 if last is None else max(last["number"], last.get("named", 0)) + 1


def check_result(draft: Draft, parameters: Mapping[str, Any], plate: int) -> None:
    """Check that a result at a point that a user chose may name a plate. The plate may be new.

    Args:
        draft: the draft of the study.
        parameters: the point, in stored form.
        plate: the number of the plate.

    Raises:
        Invalid: the study has no plates, or the plate has other values of the shared parameters. A measured value
            between two steps counts as the nearest step.
    """
    shared = _plates(draft).shared
    known = draft.point_on_plate(plate) if shared else None
    if known is not None:
        nearest = draft.space.nearest(known)
        values = {name: nearest[name] for name in shared}
        differing = differing_names(draft.space.nearest(parameters), values)
        _refuse(differing, parameters, values, plate, POINT, "give that value, or the number of another plate")


def check_trials(
    draft: Draft, parameters: Mapping[str, Any], which: Literal["open", "new"], pointer: str, count: int = 1
) -> None:
    """Check that trials at a point that a user chose can be on the plate that a request asks for.

    Args:
        draft: the draft of the study.
        parameters: the point, in stored form.
        which: "open" for the last plate, if it has room, and otherwise a new one; "new" for a new plate.
        pointer: JSON pointer to the point, or to its trial, in the request.
        count: the number of trials.

    Raises:
        Invalid: the study has no plates, or the plate has other values of the shared parameters or too little room.
    """
    size = _plates(draft).size
    plate = None if which == "new" else open_plate(draft.study)
    if plate is not None:
        differing = differing_names(parameters, plate.values)
        _refuse(differing, parameters, plate.values, plate.number, pointer, 'give that value, or plate "new"')
    room = size if plate is None else plate.room
    if count > room:
        where = f"on a plate of {size}" if plate is None else f'on plate {plate.number}; give fewer, or plate "new"'
        raise Invalid([FieldError("/times", f"must be at most {room}, the room {where}", "plate_full")])


def has_place_for(draft: Draft, withdrawn: TrialRow) -> bool:
    """Return whether the plate of a withdrawn trial still has a place for it; True for a trial without a plate."""
    plates = draft.definition.plates
    return plates is None or withdrawn.plate is None or draft.trials_on_plate(withdrawn.plate) < plates.size


def _plates(draft: Draft) -> Plates:
    plates = draft.definition.plates
    if plates is None:
        raise Invalid([FieldError("/plate", NO_PLATES, "no_plates")])
    return plates


def _refuse(
    differing: Sequence[str],
    parameters: Mapping[str, Any],
    values: Mapping[str, Any],
    plate: int,
    pointer: str,
    remedy: str,
) -> None:
    """Refuse a point that differs from the values of a plate, with one error per differing parameter."""
    errors = []
    for name in differing:
        given, at = shown(parameters.get(name)), shown(values[name])
        if pointer == POINT:
            place, what = pointer + json_pointer(name), f"is {given}"
        else:
            place, what = pointer, f"has {name} = {given}"
        errors.append(FieldError(place, f"{what}, but plate {plate} has {at}; {remedy}", "other_plate"))
    if errors:
        raise Invalid(errors)


def of_one_plate(trials: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the trials that are on the same plate as the first trial."""
    return [trial for trial in trials if trial.plate == trials[0].plate]
