"""Queries of a study's model in a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from adabkb_service.contract.context import context_of
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.slices import Slice
from adabkb_service.errors import Contention
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations, studies
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.contention import repeating
from adabkb_service.study.point_checks import check_slice, checked_context

MAX_EXAMINED = 1000
"""The maximum number of latest results among which the latest one inside the space is sought."""
CONTEXT = "?context"
"""The query parameter that holds the context."""
LATEST: Literal["latest"] = "latest"
"""Stands for the context of the latest result."""
Context = Mapping[str, Any] | Literal["latest"] | None
"""Values of the context parameters by name, or ``LATEST``; None for none."""


def known_context(service: Service, study_id: str, context: Context) -> Mapping[str, Any] | None:
    """Return the values of a context by name. ``LATEST`` stands for the context of the latest result that is not
    excluded and lies in the space; without such a result, return None.

    Raises:
        StudyNotFound: the study does not exist.
    """
    if context != LATEST:
        return context
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
        space = definition.space()
        for row in observations.latest(connection, study_id, MAX_EXAMINED, without=()):
            if (point := space.present(row.parameters)) is not None:
                return {name: point[name] for name in context_of(definition.parameters)}
    return None


def ask_in_context(
    service: Service, study_id: str, context: Mapping[str, Any], question: str, *arguments: Any
) -> tuple[StudyRow, Any]:
    """Ask the model a question whose first argument is the values of the context. Return the study and the answer.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the context does not match the study, or has no feasible point.
        Busy: too many requests wait for the model.
        Unavailable: the model cannot process the log or takes too long, or the client has disconnected.
        Contention: the space was edited during every attempt.
    """
    return repeating(service.timeouts.contention)(_ask, service, study_id, context, question, *arguments)


def slice_of(study: StudyRow, context: Mapping[str, Any]) -> Slice:
    """Return the slice of the space with the values of a context.

    Raises:
        Invalid: the context does not match the study, or has no feasible point.
    """
    space = definition_of(study.definition).space()
    within = Slice(space, checked_context(space, context, CONTEXT))
    check_slice(within, CONTEXT)
    return within


def check_same_space(before: StudyRow, after: StudyRow) -> None:
    """Check that the space was not edited between two reads of a study.

    Raises:
        Contention: the space was edited.
    """
    versions = {definition_of(study.definition).space_version for study in (before, after)}
    if len(versions) > 1:
        raise Contention(f"The space of study {after.id!r} was edited meanwhile; try again.")


def _ask(
    service: Service, study_id: str, context: Mapping[str, Any], question: str, *arguments: Any
) -> tuple[StudyRow, Any]:
    with service.database.reading() as connection:
        before = studies.get(connection, study_id)
    after, found = service.ask(study_id, question, dict(slice_of(before, context).fixed), *arguments)
    check_same_space(before, after)
    return after, found
