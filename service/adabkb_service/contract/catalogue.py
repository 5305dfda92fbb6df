"""Catalogues: changes while the study runs, and checks of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import Body, CatalogueParameter, Parameter, TableText, Text
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.contract.tables import MAX_ROWS
from adabkb_service.storage.catalogues import is_kept

RowNames = Annotated[list[Text], Field(max_length=MAX_ROWS), LIMIT_ERRORS]

NEEDS_AUTO = "does not support catalogues; leave the algorithm out: auto supports them"
TWICE = "is the study's second catalogue, and only one is allowed; make it a categorical parameter with descriptors"
NOT_GIVEN = "needs its table; the server sets the digest"


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


def are_at_hand(parameters: Iterable[Parameter]) -> bool:
    """Return whether this process has the tables of all catalogues. It may lack those of a stored definition, which was
    checked when it was stored."""
    return all(each.table is not None or is_kept(each.digest or "") for each in catalogues_of(parameters))


def check_catalogues(parameters: Sequence[Parameter], *, is_stored: bool) -> None:
    """Refuse a second catalogue, and one without its table.

    Args:
        parameters: the study's parameters.
        is_stored: whether they come from the database, which stores a digest instead of the table.

    Raises:
        PydanticCustomError: there are two catalogues, or a table is missing.
    """
    found = catalogues_of(parameters)
    if not found:
        return
    if len(found) > 1:
        raise PydanticCustomError("catalogue", "{name} {what}", {"name": repr(found[1].name), "what": TWICE})
    if found[0].table is None and not is_stored:
        raise PydanticCustomError("catalogue", "{name} {what}", {"name": repr(found[0].name), "what": NOT_GIVEN})
