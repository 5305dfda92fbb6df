"""Preview a change of a study: what differs, and which results and trials it affects. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from adabkb_service.contract.answers import Best, Reason, Study
from adabkb_service.contract.parameters import Parameter
from adabkb_service.operations.studies import manage
from adabkb_service.operations.words import definition_in_words, wording
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.storage import observations
from adabkb_service.storage.rows import StudyState
from adabkb_service.study.best import counting
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request


class Difference(BaseModel):
    """A part of the definition in words, before and after the change. A text is empty if the part does not exist at
    that time."""

    what: str
    before: str
    after: str


class Preview(BaseModel):
    """What a change would do. The model uses the results that are inside the space and not excluded."""

    differences: list[Difference]
    results: int
    """Number of results that the model would use."""
    leaving: int
    """Number of results that the model uses now, but would not use."""
    returning: int
    """Number of results that the model does not use now, but would use."""
    withdrawn: int
    """Number of waiting trials that would be withdrawn, because they are outside the new space."""
    best: Best | None
    state: StudyState
    reason: Reason | None


def preview(study_id: str, changes: dict[str, Any]) -> Request[Preview]:
    """Return a request for a preview of ``manage.change`` with these changes.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the change would be refused.
    """

    def perform(draft: Draft, points: Points) -> Outcome[Preview]:
        before, used_before = manage.get(study_id).perform(draft, points).view, _used_results(draft)
        with draft.undone():
            after, used_after = manage.change(study_id, changes).perform(draft, points).view, _used_results(draft)
        found = Preview(
            differences=list(_differences(before, after)),
            results=len(used_after),
            leaving=len(used_before - used_after),
            returning=len(used_after - used_before),
            withdrawn=after.counts.withdrawn - before.counts.withdrawn,
            best=after.best,
            state=after.state,
            reason=after.reason,
        )
        return Outcome(found, is_stored=False)

    return Request(study_id, Preview, perform)


def _used_results(draft: Draft) -> set[int]:
    """Return the numbers of the results that the model uses."""
    rows, counts = observations.every(draft.connection, draft.study.id), counting(draft.study, draft.definition)
    return {row.seq for row in filter(counts, rows.values())}


def _differences(before: Study, after: Study) -> Iterator[Difference]:
    was = {each.name: _in_words(each, before) for each in before.parameters}
    for each in after.parameters:
        if (now := _in_words(each, after)) != was.get(each.name):
            yield Difference(what=each.name, before=was.get(each.name, ""), after=now)
    removed, new = (
        [each for each in one.constraints if each not in other.constraints]
        for one, other in ((before, after), (after, before))
    )
    if removed or new:
        yield Difference(what="Constraints", before="\n".join(removed), after="\n".join(new))
    rules, others = (list(definition_in_words.rules(study)) for study in (before, after))
    for name in dict.fromkeys(name for name, _ in rules + others if name != "Edited"):
        one, other = ("\n".join(words for each, words in pairs if each == name) for pairs in (rules, others))
        if one != other:
            yield Difference(what=name, before=one, after=other)


def _in_words(parameter: Parameter, study: Study) -> str:
    """Return the name, the kind, the values and the condition of a parameter, the belief about its best value, and its
    value in use, as a text."""
    title, when = wording.parameter_title(parameter), wording.condition(parameter)
    label = "" if title == parameter.name else f"{title}: "
    kind = definition_in_words.KINDS[parameter.kind]
    belief = definition_in_words.belief(parameter, study.prior.get(parameter.name))
    more = [
        f"only if {when}" if when else "",
        f"probably best: {belief}" if belief else "",
        f"in use: {shown(study.baseline[parameter.name])}" if parameter.name in study.baseline else "",
    ]
    return f"{label}{'; '.join(filter(None, [f'{kind}, {definition_in_words.values(parameter)}', *more]))}"
