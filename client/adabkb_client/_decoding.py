"""Convert the JSON of the server's answers to records.

Fields unknown to this version are ignored, so a newer server does not break an older client.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from adabkb_client._models import Answer, BatchItem, Parameters
from adabkb_client.errors import UnexpectedAnswer, from_problem

T = TypeVar("T")


def decode(kind: type[T], document: Any, **path: str) -> T:
    """Build a record from JSON; ``path`` gives fields that are known from the path of the request.

    Raises:
        UnexpectedAnswer: a field is missing or invalid.
    """
    try:
        record = _decode(kind, document, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedAnswer(f"the answer is not a valid {kind.__name__}: {error!r}") from error
    return record  # type: ignore[no-any-return]


def decode_batch_item(document: Mapping[str, Any], **path: str) -> BatchItem:
    """Build one item of a batch's answer, which is either an answer or a problem."""
    status = document["status"]
    if status < 400:
        return BatchItem(status, decode(Answer, document, **path), None)
    return BatchItem(status, None, from_problem(status, document))


def _decode(kind: Any, document: Any, path: Mapping[str, str]) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        known = {**path, **document}
        return kind(
            **{
                name: _decode(hint, known[name], path)
                for name, (hint, optional) in _layout(kind).items()
                if not (optional and name not in known)
            }
        )
    if isinstance(kind, UnionType):
        return None if document is None else _decode(get_args(kind)[0], document, path)
    if get_origin(kind) is Mapping and _has_records(get_args(kind)[1]):
        return {name: _decode(get_args(kind)[1], item, path) for name, item in document.items()}
    if get_origin(kind) is tuple:
        return tuple(_decode(get_args(kind)[0], item, path) for item in document)
    if kind == Parameters:
        return {name: _choice(value) for name, value in document.items()}
    return _SCALARS[kind](document) if kind in _SCALARS else document


def _has_records(kind: Any) -> bool:
    """Return whether a type is a record, or a tuple of records."""
    return is_dataclass(kind) or (get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]))


def _choice(value: Any) -> Any:
    """Return a parameter's value; lists become tuples, as in the search space."""
    return tuple(value) if isinstance(value, list) else value


_SCALARS: dict[Any, Callable[[Any], Any]] = {datetime: datetime.fromisoformat, float: float, Any: _choice}


@cache
def _layout(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a dataclass, and whether it may be absent."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is not MISSING or each.default_factory is not MISSING)
        for each in fields(kind)
    }
