"""Edit the space of a running study, or other parts of its definition on which the model depends: PATCH
/v1/studies/{id} with ``parameters``, a field in ``EDITED`` or a cost budget.

An edit is an event that holds the whole new space and its version. Stored trials and results do not change. Results
inside the new space count (see ``engine/edited.py``), and the model is rebuilt from them. The other results are kept,
but the model does not use them, and none of them can be the best result. The event also says whether it closes the last
plate (``closes_plate``), because the new space has no point with the plate's shared values.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from adabkb_service.contract.catalogue import NOT_GIVEN
from adabkb_service.contract.quantities import WORDS, without_words
from adabkb_service.contract.stored import StoredDefinition, edited
from adabkb_service.contract.tables import are_alike, with_changes, with_digests
from adabkb_service.contract.wording import sentence
from adabkb_service.engine.axes import canonical
from adabkb_service.engine.feasibility import incompatible
from adabkb_service.engine.space import Fixed
from adabkb_service.engine.wording import brief
from adabkb_service.errors import FieldError, Invalid, json_pointer, shown
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.study import plates
from adabkb_service.study.draft import Draft
from adabkb_service.study.edited_space import withdraw_out_of_space_trials

Fields = Mapping[str, Any]

INSTEAD = "create a study of the edited space, and import the results of this one"
NEEDS_AUTO = (
    f"cannot be edited with this algorithm, whose guarantees hold for a fixed space only; {INSTEAD} (a study with the "
    "profile auto could be edited)"
)
NO_DEFAULT = (
    "is missing: give the value that the new parameter {name} had in the existing trials, so that their results still "
    "count"
)
NOT_MEASURED = (
    "is {name}, which the results of this study do not have; name one of its metrics, or create a study with the new "
    "metric"
)
NO_RULE = (
    "cannot be added while the study runs, since its budget counts whole trials; create another study with the rule, "
    "and import the results of this one"
)
SAME_RULE = (
    "must stay {value}, since it applied to the reports and stopped trials so far; create another study, and "
    "import the results of this one"
)
NOT_EDITED = "is not needed: {name} is not among the parameters of this request; add it there, or leave it out here"


def edit(
    draft: Draft,
    parameters: Sequence[Fields] | None = None,
    defaults: Fields | None = None,
    catalogues: Mapping[str, Fields] | None = None,
    **replaced: Any,
) -> None:
    """Edit the space of a study, if the request differs from the current space.

    Args:
        draft: the draft of the study.
        parameters: parameters to replace or add, in the stored form; None for none.
        defaults: values of added parameters in the existing trials.
        catalogues: name of a parameter -> changes of its catalogue's table.
        replaced: new values of ``EDITED`` fields, and of a cost budget; absent ones keep their values.

    Raises:
        Invalid: the space, one of these fields or a row is invalid; a default is missing, or is not a value of its
            parameter; or the study does not allow edits (see ``check_editable``).
    """
    definition = draft.definition
    before = {each.name: each.model_dump(mode="json") for each in definition.parameters}
    new = {each["name"]: each for each in parameters or ()}
    _check_names(parameters or (), new, defaults or {}, before)
    changes = _checked_changes(before, new, catalogues or {})
    new_stored = {each["name"]: each for each in with_digests(list(new.values()))}
    stored = definition.model_dump(mode="json")
    rules = {
        name: value
        for name, value in replaced.items()
        if not _is_same(_none_if_empty(value), _none_if_empty(stored.get(name)))
    }
    is_same_space = (
        not changes and not rules and _is_same(_without_labels(before | new_stored), _without_labels(before))
    )
    if is_same_space and _is_same(definition.defaults | dict(defaults or {}), definition.defaults):
        _change_labels(draft, before, new_stored)
        return
    _check_bounds(definition, rules)
    _check_early_stopping(definition, rules)
    check_editable(definition, f"/{next(iter(rules))}" if parameters is None and rules else "/parameters")
    fields = {
        "version": definition.space_version + 1,
        "parameters": list((before | new).values()),
        "defaults": {**_fixed_values(new, before), **(defaults or {})},
        **({"catalogues": changes} if changes else {}),
        **rules,
        **_metrics_field(definition, rules),
    }
    event = cast("Edited", fields)  # ``rules`` has only fields of ``EditedFields``
    after = _check_definition(edited(draft.study.definition, event), list(new), before, rules)
    event["defaults"] = _checked_defaults(after, event["defaults"], new.keys() - before.keys())
    if draft.study.plate is not None:
        event["closes_plate"] = plates.closes(draft.study, after.space())
    draft.record("edited", event)
    withdraw_out_of_space_trials(draft)


def _none_if_empty(value: Any) -> Any:
    """Return the value of a field; None if it is empty or false, since such a field may be absent."""
    return None if value is False or value in ([], {}) else value


def _check_bounds(definition: StoredDefinition, rules: Fields) -> None:
    """Refuse bounds of metrics that the study does not measure.

    Raises:
        Invalid: one error per such bound.
    """
    known = [metric.name for metric in definition.metrics_with_bounds]
    field_errors = [
        FieldError(f"/outcome_constraints/{index}/metric", NOT_MEASURED.format(name=brief(each["metric"])), "metrics")
        for index, each in enumerate(rules.get("outcome_constraints", ()))
        if each["metric"] not in known
    ]
    if field_errors:
        raise Invalid(field_errors)


def _metrics_field(definition: StoredDefinition, rules: Fields) -> Fields:
    """Return the field ``metrics`` of the event, with the metrics that results have, in their order. It is empty if the
    bounds stay the same, or if the new definition names the same metrics in the same order."""
    if "outcome_constraints" not in rules:
        return {}
    names = [metric.name for metric in definition.metrics_with_bounds if not metric.goal and not metric.is_cost]
    named = dict.fromkeys([*definition.metrics, *(each["metric"] for each in rules["outcome_constraints"])])
    return {} if [name for name in named if name in names] == names else {"metrics": names}


def _check_early_stopping(definition: StoredDefinition, rules: Fields) -> None:
    """Refuse another rule, since the current one applied to the reports and stopped trials so far.

    Raises:
        Invalid: the study stops no trials early, or one error per field that cannot be changed.
    """
    if "early_stopping" not in rules:
        return
    if definition.early_stopping is None:
        raise Invalid([FieldError("/early_stopping", NO_RULE, "early_stopping")])
    before = definition.early_stopping.model_dump(mode="json")
    field_errors = [
        FieldError(f"/early_stopping/{name}", SAME_RULE.format(value=shown(before.get(name))), "early_stopping")
        for name in ("rule", "max_steps", "metric")
        if not _is_same(rules["early_stopping"].get(name), before.get(name))
    ]
    if field_errors:
        raise Invalid(field_errors)


def _checked_changes(before: Fields, new: Fields, catalogues: Mapping[str, Fields]) -> dict[str, Fields]:
    """Return those changes of catalogues that have an effect.

    Raises:
        Invalid: a parameter is not a catalogue or is given in both forms, or a change is not possible for its table.
    """
    found: dict[str, Fields] = {}
    field_errors = [
        FieldError(f"/parameters/{index}", NOT_GIVEN, "catalogue")
        for index, (name, each) in enumerate(new.items())
        if "digest" in each and not _is_same(each, before.get(name))
    ]
    for name, change in catalogues.items():
        pointer = f"/catalogues{json_pointer(name)}"
        if before.get(name, {}).get("kind") != "catalogue":
            field_errors.append(FieldError(pointer, "is not a catalogue of this study", "catalogue"))
        elif name in new:
            field_errors.append(FieldError(pointer, "is also among the parameters; give one of the two", "catalogue"))
        else:
            try:
                (after,) = with_changes([before[name]], {name: change})
            except PydanticCustomError as error:
                part = (error.context or {}).get("part", "add")
                field_errors.append(FieldError(f"{pointer}/{part}", error.message(), error.type))
            else:
                if not are_alike(before[name], after):
                    found[name] = change
    if field_errors:
        raise Invalid(field_errors)
    return found


def _without_labels(parameters: Mapping[str, Fields]) -> dict[str, Fields]:
    """Return the parameters without their labels and units, which the model does not use."""
    return {name: without_words(each) for name, each in parameters.items()}


def _change_labels(draft: Draft, before: Mapping[str, Fields], new: Mapping[str, Fields]) -> None:
    """Change labels and units of parameters of which nothing else changes. The space and its version stay the same."""
    changed = [name for name, each in new.items() if not _is_same(each, before[name])]
    words, was = ({name: _labels(of[name]) for name in changed} for of in (new, before))
    if words:
        draft.record("updated", {"changes": {"parameters": words}, "was": {"parameters": was}})


def _labels(parameter: Fields) -> Fields:
    return {word: parameter[word] for word in WORDS if word in parameter}


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same in JSON. (Python's ``==`` does not suffice, since True == 1.)"""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _check_names(
    requested: Sequence[Fields], new: Mapping[str, Any], defaults: Fields, before: Mapping[str, Any]
) -> None:
    """Refuse a parameter that is given twice, an added one that looks like another one, and other defaults than those
    of the given parameters.

    Raises:
        Invalid: one error per such name.
    """
    field_errors = [
        FieldError(f"/parameters/{index}/name", "is given twice; give each parameter once", "duplicate")
        for index, each in enumerate(requested)
        if any(each["name"] == other["name"] for other in requested[:index])
    ]
    names = Counter(unicodedata.normalize("NFC", name) for name in before.keys() | new.keys())
    field_errors += [
        FieldError(f"/parameters/{index}/name", "looks like the name of another parameter", "duplicate")
        for index, each in enumerate(requested)
        if each["name"] not in before and names[unicodedata.normalize("NFC", each["name"])] > 1
    ]
    field_errors += [
        FieldError(f"/defaults{json_pointer(name)}", NOT_EDITED.format(name=brief(name)), "default")
        for name in defaults
        if name not in new
    ]
    if field_errors:
        raise Invalid(field_errors)


def check_editable(definition: StoredDefinition, field: str = "/parameters") -> None:
    """Check that the space of a study may be edited. An error is reported at ``field`` of the request.

    Raises:
        Invalid: it may not.
    """
    if not definition.algorithm.supports_all_parameters:
        raise Invalid([FieldError(field, NEEDS_AUTO, "cannot_edit")])


def _fixed_values(new: Mapping[str, Fields], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the added parameters that are fixed."""
    return {name: each["value"] for name, each in new.items() if name not in before and each["kind"] == "fixed"}


def _check_definition(
    stored: dict[str, Any], requested: Sequence[str], before: Mapping[str, Any], rules: Fields
) -> StoredDefinition:
    """Return the definition with the edited space.

    Raises:
        Invalid: it is not valid.
    """
    try:
        definition = StoredDefinition.model_validate(stored)
    except ValidationError as error:
        names = [*before, *(name for name in requested if name not in before)]
        raise Invalid(list(_field_errors(error, names, requested, rules))) from error
    has_constraints = "constraints" in rules
    if has_constraints:
        _check_rules(rules["constraints"], definition)
    if excluded := definition.exclusions():
        raise Invalid([_of_constraint(index, found, has_constraints) for index, found in excluded.items()])
    return definition


def _check_rules(rules: Sequence[str], definition: StoredDefinition) -> None:
    """Check constraints that the request gives against the edited space.

    Raises:
        Invalid: a constraint names a value that the space does not have.
    """
    if found := incompatible(rules, definition.space()):
        raise Invalid([_of_constraint(index, message, True) for index, message in found.items()])


def _of_constraint(index: int, message: str, is_given: bool) -> FieldError:
    """Return the error of a constraint. It is reported at the constraint if the request gives constraints, else at the
    parameters."""
    if is_given:
        return FieldError(json_pointer("constraints", index), message, "constraint")
    return _conflict(f"constraints.{index}", message)


def _field_errors(
    error: ValidationError, names: Sequence[str], requested: Sequence[str], rules: Fields
) -> Iterator[FieldError]:
    """Yield the errors of the edited space, each at a field of the request."""
    for field_error in error.errors(include_url=False, include_input=False):
        # An error of several fields names the one that does not fit.
        field, *path = field_error["loc"] or (field_error.get("ctx", {})["field"],)
        words, place = sentence(field_error), ""
        if field in rules:
            yield FieldError(json_pointer(field, *path), words, field_error["type"])
            continue
        if field == "parameters" and path:
            index, *rest = path
            name = names[int(index)]
            if name in requested:
                place = json_pointer(requested.index(name), *rest)
            else:
                other = f"whose {'.'.join(map(str, rest))}" if rest else "which"
                words = f"cannot be combined with {brief(name)}, {other} {words}"
        elif field != "parameters":
            yield _conflict(".".join(map(str, field_error["loc"])), words, field_error["type"])
            continue
        yield FieldError(f"/parameters{place}", words, field_error["type"])


def _conflict(field: str, message: str, code: str = "constraint") -> FieldError:
    """Return the error for an edited space that conflicts with another field of the study."""
    return FieldError("/parameters", f"cannot be combined with the study's {field}, which {message}", code)


def _checked_defaults(definition: StoredDefinition, defaults: Fields, added: set[str]) -> dict[str, Any]:
    """Return the defaults, converted to the types of their parameters.

    Raises:
        Invalid: a default is missing, or is not a value of its parameter.
    """
    field_errors, found = [], {}
    for each in definition.space().parameters:
        if each.name in defaults and (problem := each.problem(defaults[each.name])):
            field_errors.append(FieldError(f"/defaults{json_pointer(each.name)}", problem, "invalid_point"))
        elif each.name in defaults:
            value = defaults[each.name]
            found[each.name] = value if isinstance(each, Fixed) else canonical(each, value)
        elif each.name in added:
            detail = NO_DEFAULT.format(name=brief(each.name))
            field_errors.append(FieldError(f"/defaults{json_pointer(each.name)}", detail, "missing"))
    if field_errors:
        raise Invalid(field_errors)
    return found
