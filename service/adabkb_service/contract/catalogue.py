"""Catalogues: what changes in one while the study runs, and what does not go with one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import Body, CatalogueParameter, Parameter, TableText, Text
from adabkb_service.contract.tables import MOST_ROWS

RowNames = Annotated[list[Text], Field(max_length=MOST_ROWS), SPARING]

ALONE: Mapping[str, str] = {
    "constraints": "cannot go with a catalogue yet; leave out the rows that must not be suggested, and let the "
    "evaluation fail elsewhere",
    "mixtures": "cannot go with a catalogue yet; leave the mixtures out, or put the formulas into the catalogue",
    "transfer_from": "cannot go with a catalogue yet; import the older results as those of this study",
    "baseline": "cannot go with a catalogue yet; leave it out",
}
"""Fields of a study that do not go with a catalogue, and why."""
CONDITIONAL = "cannot go with parameters that have conditions (when) yet; leave the conditions out"
NEEDS_AUTO = "has no catalogues; leave the algorithm out: auto has them"
TWICE = "is the second catalogue of the study, which may have one; make it a categorical parameter with descriptors"
NOT_GIVEN = "is of a table that the server has; give the table itself"


class TableChange(Body):
    """A change of a catalogue's rows."""

    add: Annotated[
        TableText,
        Field(description="rows at the end: CSV with the same line of heads as the table", exclude_if=lambda t: not t),
    ] = ""
    withdraw: Annotated[
        RowNames, Field(description="rows that are not suggested any more", exclude_if=lambda names: not names)
    ] = Field(default_factory=list)
    restore: Annotated[
        RowNames, Field(description="withdrawn rows that are suggested again", exclude_if=lambda names: not names)
    ] = Field(default_factory=list)


def catalogues_of(parameters: Iterable[Parameter]) -> list[CatalogueParameter]:
    """Those of some parameters."""
    return [each for each in parameters if isinstance(each, CatalogueParameter)]


def check_goes_with_catalogue(field: str, value: Any, parameters: Sequence[Parameter] | None) -> None:
    """Refuse a field that does not go with a catalogue.

    Raises:
        PydanticCustomError: it is given, and there is one.
    """
    if value and catalogues_of(parameters or ()):
        raise PydanticCustomError("catalogue", ALONE[field])


def check_catalogues(parameters: Sequence[Parameter], *, is_stored: bool) -> None:
    """Refuse what does not go with a catalogue among the parameters.

    Args:
        parameters: of the study.
        is_stored: whether they come from the database, where a table has a digest.

    Raises:
        PydanticCustomError: there are two, or conditions, or a table is not given.
    """
    found = catalogues_of(parameters)
    if not found:
        return
    if len(found) > 1:
        raise PydanticCustomError("catalogue", "{name} {what}", {"name": repr(found[1].name), "what": TWICE})
    if any(each.when for each in parameters):
        raise PydanticCustomError("catalogue", "{name} {what}", {"name": repr(found[0].name), "what": CONDITIONAL})
    if found[0].table is None and not is_stored:
        raise PydanticCustomError("catalogue", "{name} {what}", {"name": repr(found[0].name), "what": NOT_GIVEN})
