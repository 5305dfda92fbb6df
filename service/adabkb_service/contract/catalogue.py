"""Catalogues: changes while the study runs, and fields that cannot be combined with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import Body, CatalogueParameter, Parameter, TableText, Text
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.contract.tables import MOST_ROWS

RowNames = Annotated[list[Text], Field(max_length=MOST_ROWS), SPARING]

ALONE: Mapping[str, str] = {
    "constraints": "cannot be combined with a catalogue yet; leave out the rows that must not be suggested, and "
    "report other excluded points as failed",
    "mixtures": "cannot be combined with a catalogue yet; leave the mixtures out, or put the formulas into the "
    "catalogue",
    "transfer_from": "cannot be combined with a catalogue yet; import the older results as those of this study",
    "baseline": "cannot be combined with a catalogue yet; leave it out",
}
"""Fields of a study that cannot be combined with a catalogue, with the error message."""
CONDITIONAL = "cannot be combined with conditions (when) yet; leave the conditions out"
NEEDS_AUTO = "does not support catalogues; leave the algorithm out: auto supports them"
TWICE = "is the study's second catalogue, and only one is allowed; make it a categorical parameter with descriptors"
NOT_GIVEN = "is set by the server; give the table itself"


class TableChange(Sparse, Body):
    """A change of a catalogue's rows."""

    add: Annotated[
        TableText,
        Field(description="rows to append: CSV with the same header as the table"),
        ABSENT_BY_DEFAULT,
    ] = ""
    withdraw: Annotated[
        RowNames, Field(description="rows that the server must not suggest again"), ABSENT_BY_DEFAULT
    ] = Field(default_factory=list)
    restore: Annotated[
        RowNames,
        Field(description="withdrawn rows that the server may suggest again"),
        ABSENT_BY_DEFAULT,
    ] = Field(default_factory=list)


def catalogues_of(parameters: Iterable[Parameter]) -> list[CatalogueParameter]:
    """Return the catalogues among the parameters."""
    return [each for each in parameters if isinstance(each, CatalogueParameter)]


def check_goes_with_catalogue(field: str, value: Any, parameters: Sequence[Parameter] | None) -> None:
    """Refuse a field that cannot be combined with a catalogue.

    Raises:
        PydanticCustomError: the field is given and there is a catalogue.
    """
    if value and catalogues_of(parameters or ()):
        raise PydanticCustomError("catalogue", ALONE[field])


def check_catalogues(parameters: Sequence[Parameter], *, is_stored: bool) -> None:
    """Refuse parameters that cannot be combined with a catalogue.

    Args:
        parameters: the study's parameters.
        is_stored: whether they come from the database, which stores a digest instead of the table.

    Raises:
        PydanticCustomError: there are two catalogues, or conditions, or a table is missing.
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
