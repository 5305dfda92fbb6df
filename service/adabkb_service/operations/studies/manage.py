"""Create, read, list and change studies. (``trash`` deletes and restores them.)"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Connection

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.access.quotas import check_new_study
from adabkb_service.contract import answers
from adabkb_service.contract.budget import IN_COSTS, NEEDS_PLATES, NOT_IN_COSTS, cost_budget_of
from adabkb_service.contract.context import WITHOUT_CONTEXT_ONLY, context_of
from adabkb_service.contract.objectives import SINGLE_OBJECTIVE_ONLY
from adabkb_service.contract.quantities import UNNAMED, WORDS, check_quantities
from adabkb_service.contract.readable import check_readable
from adabkb_service.contract.settings import EDITED, IN_COLUMNS, LABELS, removed
from adabkb_service.contract.stop import Stop
from adabkb_service.contract.stored import StoredDefinition, definition_of, first_stored
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.contract.transfer import Snapshot
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.errors import (
    Busy,
    Contention,
    FieldError,
    Forbidden,
    IdTaken,
    Invalid,
    StudyExists,
    Unavailable,
    json_pointer,
    shortened,
    shown,
)
from adabkb_service.operations.former import check_former, check_revision
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.edit import edit
from adabkb_service.operations.studies.read import Page
from adabkb_service.operations.studies.transfer import snapshots
from adabkb_service.storage import events, grants, idempotency, studies, trash
from adabkb_service.storage.event_payloads import Created
from adabkb_service.storage.model import write_cells
from adabkb_service.storage.rows import CreatedRow, EventOf, StudyRow
from adabkb_service.storage.tables import studies as table
from adabkb_service.storage.tables import trash as trashed
from adabkb_service.study import lifecycle, transitions
from adabkb_service.study.contention import repeating
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Key, Outcome, Points, Request, key_row, stored_answer

MAX_DIFFERENCES = 10
"""The maximum number of fields that the error ``StudyExists`` names."""
ABSENT = object()
SPACE = ("parameters", "defaults", "catalogues", *EDITED)
"""The fields of a change that edit the space."""

Position = tuple[datetime, str]
"""The position of a study in the list: (created_at, id)."""


def create(
    service: Service, definition: StudyDefinition, key: Key | None = None, caller: Caller = ANYBODY
) -> Outcome[answers.Study]:
    """Create a study that the caller owns. If a study with the same id and the same definition exists, return it.

    Raises:
        StudyExists: a study with this id and another definition exists; the message names the differences.
        IdTaken: a study with this id exists that the caller may not read, or is in another user's trash.
        Forbidden: the caller's token does not allow this id.
        QuotaExceeded: the caller's quota of studies or storage is used up.
        Invalid: no point satisfies the constraints, a study in ``transfer_from`` cannot be used, or a name or another
            short text has characters that people cannot read (see ``contract.readable``).
    """
    if excluded := definition.exclusions():
        raise Invalid(
            [FieldError(json_pointer("constraints", index), found, "constraint") for index, found in excluded.items()]
        )
    return repeating(service.timeouts.contention)(_create, service, definition, key, caller)


def _create(service: Service, definition: StudyDefinition, key: Key | None, caller: Caller) -> Outcome[answers.Study]:
    """Create a study. Computations that take seconds for a large definition are done before the write transaction."""
    with service.database.reading() as connection:
        if known := stored_answer(connection, key, answers.Study):
            return known
        existing = None if definition.id is None else studies.find(connection, definition.id)
        if existing is not None:
            _check_visible(connection, existing, caller)
        else:
            check_readable(definition.model_dump(mode="json"))
        older = snapshots(connection, definition, caller) if existing is None else []
    created = _first_event(definition, older, service.clock(), caller)
    if existing is not None:
        _check_same(existing, definition)
    study = existing or transitions.begin(created.study_id, created)
    outcome = Outcome(lifecycle.full_view(study), created=existing is None)
    with service.database.writing() as connection:
        if known := stored_answer(connection, key, answers.Study):
            return known
        if (study.id in studies.last_events(connection, [study.id])) != (existing is not None):
            raise Contention(f"Study {study.id!r} was created or deleted at this moment; try again.")
        if existing is None:
            if definition.id is not None and caller.user is not None:
                _check_no_trash(connection, definition.id, caller.user)
            _add(connection, study, created, caller)
        if key is not None and existing is None:
            idempotency.add(connection, [key_row(key, study.id, outcome, created.created_at)])
    return outcome


def _add(connection: Connection, study: StudyRow, created: CreatedRow, caller: Caller) -> None:
    """Store a new study with its first event."""
    _check_id_allowed(study.id, caller)
    check_new_study(connection, caller.user, caller.quotas, study.log_bytes)
    studies.create(connection, study)
    if caller.user is not None:
        grants.replace(connection, study.id, {caller.user: "own"})
    events.add(connection, [created])
    write_cells(connection, study.id, NEW_TREE)


def _first_event(definition: StudyDefinition, older: list[Snapshot], now: datetime, caller: Caller) -> CreatedRow:
    """Return the first event of a new study."""
    payload: Created = {
        "definition": definition.model_dump(mode="json"),
        "seed": secrets.randbelow(2**31) if definition.seed is None else definition.seed,
    }
    if older:
        payload["older"] = [each.model_dump(mode="json") for each in older]
    if caller.user is not None:
        payload["user"] = caller.user
    study_id = definition.id or f"study-{secrets.token_hex(6)}"
    return EventOf(study_id, 1, "created", None, payload, now)


def _check_visible(connection: Connection, study: StudyRow, caller: Caller) -> None:
    """Refuse the id of a study that the caller may not read."""
    rights = grants.of_user(connection, study.id, caller.user or "") if caller.reaches(study.id) else []
    if not (caller.is_admin or rights):
        raise IdTaken(study.id)


def _check_no_trash(connection: Connection, study_id: str, user: str) -> None:
    """Refuse the id of a study in another user's trash, so that the other user can still restore it."""
    if trash.page(connection, 0, 1, trashed.c.study_id == study_id, trashed.c.owner != user):
        raise IdTaken(study_id)


def _check_id_allowed(study_id: str, caller: Caller) -> None:
    if not caller.reaches(study_id):
        allowed = ", ".join(caller.studies or ())
        raise Forbidden(
            f"The token only allows studies with these ids: {allowed}; {study_id!r} is not among them. Give the new "
            "study such an id."
        )


def _check_same(existing: StudyRow, definition: StudyDefinition) -> None:
    """Check that a definition matches an existing study. Changeable fields are compared with their current values, and
    only if the request gives them. All other fields are compared with the stored definition."""
    was = definition_of(existing.definition).model_dump(mode="json", include=set(StudyDefinition.model_fields))
    given = first_stored(definition.model_dump(mode="json"))
    fixed = set() if cost_budget_of(was) is None else {"budget"}  # a cost budget is only in the definition
    for name in set(IN_COLUMNS) - fixed:
        was[name] = getattr(existing, name) if name in definition.model_fields_set else given[name]
    for name in LABELS:
        given.setdefault(name, removed(name))
        was[name] = was.get(name, removed(name)) if name in definition.model_fields_set else given[name]
    if _all_metrics(was) == _all_metrics(given):  # bounds imply their metrics, whether they are listed or not
        was.pop("metrics", None)
        given.pop("metrics", None)
    was["parameters"] = _without_omitted_labels(was["parameters"], given["parameters"])
    differences = _differences("", was, given)
    differing = ", ".join(islice(differences, MAX_DIFFERENCES))
    if differing:
        others = sum(1 for _ in differences)
        rest = f", and {others:,} more" if others else ""
        raise StudyExists(f"Study {existing.id!r} exists with another definition: {differing}{rest}.")


def _all_metrics(definition: Mapping[str, Any]) -> set[str]:
    """Return the metrics of a definition, including those that only its bounds name."""
    bounded = {each["metric"] for each in definition.get("outcome_constraints") or ()}
    return bounded.union(definition.get("metrics") or ())


def _without_omitted_labels(was: list[Any], given: list[Any]) -> list[Any]:
    """Return the stored parameters without the labels and units that the request omits. They may have been changed
    since the study was created, so they are compared only if given."""
    by_name = {each["name"]: each for each in given}
    return [
        {
            field: value
            for field, value in each.items()
            if field not in WORDS or field in by_name.get(each["name"], each)
        }
        for each in was
    ]


def _differences(name: str, was: Any, given: Any) -> Iterator[str]:
    """Yield the differences between two values, down to single numbers, fields of parameters and choices. Parameters
    are called by their names."""
    if isinstance(was, dict) and isinstance(given, dict):
        for field in sorted(was.keys() | given.keys()):
            yield from _differences(f"{name}.{field}".lstrip("."), was.get(field, ABSENT), given.get(field, ABSENT))
    elif name == "parameters":
        yield from _differing_parameters(was, given)
    elif isinstance(was, list) and isinstance(given, list):
        yield from _differing_items(name, was, given)
    elif was != given:
        yield f"{shortened(name, 100)} is {_as_text(was)}, not {_as_text(given)}"


def _differing_parameters(was: list[Any], given: list[Any]) -> Iterator[str]:
    names, others = _names(was), _names(given)
    one, other = dict(zip(names, was, strict=True)), dict(zip(others, given, strict=True))
    for name in names if names == others else sorted(one.keys() | other.keys()):
        title = f"parameter {shown(name)}"
        if name in one and name in other:
            yield from (f"{title}: {difference}" for difference in _differences("", one[name], other[name]))
        else:
            yield from _differences(title, one.get(name, ABSENT), other.get(name, ABSENT))
    if names != others and one.keys() == other.keys():
        yield f"the order of parameters is {shown(names)}, not {shown(others)}"


def _differing_items(name: str, was: list[Any], given: list[Any]) -> Iterator[str]:
    if len(was) != len(given):
        yield f"{shortened(name, 100)} has {len(was)} items, not {len(given)}"
    for index, (item, instead) in enumerate(zip(was, given, strict=False)):
        yield from _differences(f"{name}.{index}", item, instead)


def _names(parameters: list[Any]) -> list[str]:
    return [parameter["name"] for parameter in parameters]


def _as_text(value: object) -> str:
    if value is ABSENT:
        return "absent"
    if isinstance(value, dict) and "kind" in value:
        return f"of kind {value['kind']}"
    return "null" if value is None else shown(value)


def get(study_id: str) -> Request[answers.Study]:
    """Return a request for a study. The view includes the model's state after the latest results, if the model replies
    quickly.

    Raises:
        StudyNotFound: the study does not exist.
    """
    return Request(study_id, answers.Study, _view, waits_for_latest_results=True)


def displayed(service: Service, study_id: str) -> answers.Study:
    """Return a study for a page, which any server shows. On the study's follower, this is ``get``, or the study as
    stored if its queue does not move. Other servers return the study as stored, since they must not compute its model,
    too. The follower stores its statistics within a second.

    Raises:
        StudyNotFound: the study does not exist.
    """
    if service.follows(study_id):
        with suppress(Busy, Unavailable):
            return service.do(get(study_id), service.timeouts.read).view
    return stored(service, study_id)


def stored(service: Service, study_id: str) -> answers.Study:
    """Return a study as stored. The model's state may lack the results of the last second.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        return lifecycle.full_view(studies.get(connection, study_id))


def _view(draft: Draft, _: Points) -> Outcome[answers.Study]:
    return Outcome(lifecycle.full_view(draft.study, draft.definition))


def page(
    service: Service,
    after: Position | None,
    limit: int,
    caller: Caller = ANYBODY,
    tags: Collection[tuple[str, str]] = (),
    owner: str | None = None,
) -> Page[answers.ListedStudy, Position]:
    """Return a page of the studies that the caller may read, newest first; with ``tags``, those that have all of them
    (name and text); with ``owner``, those of this user. A page with large definitions may have fewer than ``limit``
    studies."""
    conditions = [*readable(caller), *(studies.tagged(name, text) for name, text in tags)]
    if owner is not None:
        conditions.append(grants.owned_by(owner))
    with service.database.reading() as connection:
        found = studies.bounded_page(connection, after, limit, *conditions)
        owners = grants.owners(connection, [row.id for row in found.rows])
    views = lifecycle.full_views(found.rows)
    items = [answers.ListedStudy.model_construct(**dict(view), owner=owners.get(row.id)) for row, view in views]
    return Page(items, None if found.is_last else (found.rows[-1].created_at, found.rows[-1].id))


def readable(caller: Caller) -> list[ColumnElement[bool]]:
    """Return the SQL conditions that select the studies that a caller may read."""
    if caller.is_admin:
        return []
    restriction = [] if caller.studies is None else [grants.named(table.c.id, caller.studies)]
    return [grants.visible_to(caller.user or ""), *restriction]


def change(
    study_id: str,
    changes: dict[str, Any],
    revisions: frozenset[str] | None = None,
    key: Key | None = None,
    was: Mapping[str, Any] | None = None,
) -> Request[answers.Study]:
    """Return a request to change a study's limits, tags or quantities, to edit its space, or to pause or resume it.

    Args:
        study_id: the study's id.
        changes: new values of ``IN_COLUMNS`` and ``LABELS`` fields, of ``state`` ("paused" or "running"), and of
            the arguments of ``edit``.
        revisions: the tags of the revisions at which the change is allowed; None for any.
        key: the idempotency key of the request.
        was: former values of fields of the study.

    Raises:
        StudyNotFound: the study does not exist.
        PreconditionFailed: the study has another revision, or a field has another value than in ``was``.
        Invalid: the study does not support a stopping rule or this kind of budget, does not measure a quantity, an edit
            is invalid (see ``edit``), or a new text has characters that people cannot read (see ``contract.readable``).
    """
    return Request(
        study_id, answers.Study, partial(_change, changes, revisions, was), key, waits_for_latest_results=True
    )


def _change(
    changes: dict[str, Any],
    revisions: frozenset[str] | None,
    former: Mapping[str, Any] | None,
    draft: Draft,
    _: Points,
) -> Outcome[answers.Study]:
    study = draft.study
    check_revision(study, revisions)
    if former:
        check_former(f"Study {study.id!r}", lifecycle.full_view(study, draft.definition), former)
    check_readable(changes, {**study.definition, "title": study.title, "tags": study.tags})
    _check_rules(draft.definition, changes)
    _check_budget(draft, changes)
    is_paused = changes["state"] == "paused" if "state" in changes else study.paused
    if is_paused and not study.paused:
        draft.record("paused", {})
    if study.paused and not is_paused:
        draft.record("resumed", {})
    edited = SPACE if cost_budget_of(study.definition) is None else (*SPACE, "budget")
    if space := {name: changes[name] for name in edited if name in changes}:
        edit(draft, **space)
    columns = [name for name in IN_COLUMNS if name in changes and name not in edited]
    new = {name: changes[name] for name in columns if changes[name] != getattr(study, name)}
    was = {name: getattr(study, name) for name in new}
    if changes.get("quantities"):
        _check_quantities(draft.definition, changes["quantities"])
    for name in LABELS:
        before = study.definition.get(name, removed(name))
        if name in changes and changes[name] != before:
            new[name], was[name] = changes[name], before
    if new:
        draft.record("updated", {"changes": new, "was": was})
    lifecycle.update_state(draft)
    return Outcome(lifecycle.full_view(draft.study, draft.definition))


def _check_budget(draft: Draft, changes: dict[str, Any]) -> None:
    """Refuse a new budget of a kind that the study does not support."""
    if "budget" not in changes:
        return
    budget, message = changes["budget"], None
    is_cost = isinstance(budget, dict) and "cost" in budget
    if cost_budget_of(draft.study.definition) is not None:
        message = None if is_cost else IN_COSTS
    elif is_cost:
        message = NOT_IN_COSTS
    elif isinstance(budget, dict) and draft.definition.plates is None:
        message = NEEDS_PLATES
    if message is not None:
        raise Invalid([FieldError("/budget", message, "budget")])


def _check_rules(definition: StoredDefinition, changes: dict[str, Any]) -> None:
    """Refuse a new tolerance or new stopping rules that the study does not support."""
    field_errors = []
    if definition.objectives and changes.get("tolerance") is not None:
        field_errors.append(FieldError("/tolerance", SINGLE_OBJECTIVE_ONLY["tolerance"], "objectives"))
    if context_of(definition.parameters):
        field_errors += [
            FieldError(f"/{name}", WITHOUT_CONTEXT_ONLY[name], "context")
            for name in ("stop", "tolerance")
            if changes.get(name) is not None
        ]
    if field_errors:
        raise Invalid(field_errors)
    if (rules := changes.get("stop")) is None:
        return
    if detail := Stop(**rules).incompatibility(definition.algorithm, has_several=bool(definition.objectives)):
        raise Invalid([FieldError("/stop", detail, "stop")])


def _check_quantities(definition: StoredDefinition, quantities: dict[str, Any]) -> None:
    """Check new quantities. A quantity that the study already has may stay.

    Raises:
        Invalid: the study does not measure one of the new quantities.
    """
    metrics = [metric.name for metric in definition.metrics_with_bounds]
    new = [name for name in quantities if name not in definition.quantities]
    try:
        check_quantities(dict.fromkeys(new, UNNAMED), metrics, several=bool(definition.objectives))
    except PydanticCustomError as error:
        raise Invalid([FieldError("/quantities", error.message(), error.type)]) from error
