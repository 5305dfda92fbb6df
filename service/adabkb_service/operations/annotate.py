"""PATCH /v1/studies/{id}/trials/{n}: change the attributes that users attach to a trial."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from adabkb_service.contract import attributes
from adabkb_service.contract.answers import TrialAnswer
from adabkb_service.contract.entity_tags import content_tag
from adabkb_service.errors import FieldError, Invalid, PreconditionFailed
from adabkb_service.operations.former import check_former
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Key, Outcome, Points, Request


def annotate(
    study_id: str,
    number: int,
    changes: dict[str, Any],
    key: Key | None = None,
    was: Mapping[str, Any] | None = None,
    tags: frozenset[str] | None = None,
) -> Request[TrialAnswer]:
    """Return a request to change attributes of a trial in any state.

    Args:
        study_id: the study's id.
        number: the trial's number.
        changes: name -> new value, as in a JSON merge patch; None removes the attribute.
        key: the idempotency key of the request.
        was: former values of fields of the trial, such as {"attributes": {"note": None}}.
        tags: the entity tags of the trial's representations at which the change is allowed; None for any.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        PreconditionFailed: the trial has another tag, or a field has another value than in ``was``.
        Invalid: the trial would have too many or too large attributes.
    """
    return Request(study_id, TrialAnswer, partial(_annotate, number, changes, was, tags), key)


def _annotate(
    number: int,
    changes: dict[str, Any],
    was: Mapping[str, Any] | None,
    tags: frozenset[str] | None,
    draft: Draft,
    _: Points,
) -> Outcome[TrialAnswer]:
    row = draft.trial(number)
    view = render.trial(row, draft.definition)
    if tags is not None and content_tag(view.model_dump_json()) not in tags:
        raise PreconditionFailed(f"Trial {number} has changed: its ETag is not the one in If-Match.")
    check_former(f"Trial {number}", view, was)
    before = row.attributes
    after = attributes.merged(before, changes)
    if error := attributes.error_in(after):
        raise Invalid(
            [FieldError("/attributes", f"{error}, counting the existing attributes of trial {number}", "attributes")]
        )
    if attributes.differ(before, changes):
        draft.record("annotated", {"attributes": changes, "was": attributes.replaced(before, changes)}, number)
    lifecycle.update_state(draft)
    return Outcome(
        TrialAnswer(trial=render.trial(draft.trial(number), draft.definition), study=lifecycle.summary(draft.study))
    )
