"""Calls of the API as values, and procedures that consist of them. None of this knows how a call is sent.

A procedure (``Steps``) is a generator: it yields a call, is sent the answer or has the error thrown at it, and returns
its result at the end. A transport performs it, whether it blocks or awaits, so each procedure is written once.
"""

import inspect
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import update_wrapper
from typing import Any, Generic, TypeVar, Unpack, get_args, get_origin, get_type_hints
from urllib.parse import quote

from adabkb_client._decoding import decode_batch_item
from adabkb_client._models import BatchItem
from adabkb_client._plain import shown

Json = Any
"""A value that ``json.loads`` returns."""

Param = str | int | float | list[str] | None
"""A parameter of a query; None is none."""

PAGE = 500
"""Items of a page."""
BATCH = 1000
"""The most items that the server accepts in one batch."""

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """A request, however often it is sent: its key is made once. Without one, the request itself may be repeated.

    ``content`` is sent in place of a body, as a file of ``media_type``.

    A call that ``tells_result`` is kept on disk while the server cannot be reached; ``trial_created_at`` is known of
    some of these. ``retry_for`` limits the seconds of further attempts, beside the client's own limit. For ``wait``
    seconds the server may wait before it answers that there is nothing.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    content: bytes | None = None
    media_type: str = "application/json"
    as_text: bool = False
    as_bytes: bool = False
    retry_for: float | None = None
    wait: float = 0.0
    tells_result: bool = False
    trial_created_at: datetime | None = None
    key: str | None = field(default_factory=lambda: uuid.uuid4().hex)


Steps = Generator[Call, Any, T]
"""A procedure that returns a T."""


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list that the server gives page by page."""

    path: str
    decode: Callable[[Json], T]
    params: Mapping[str, Param] = field(default_factory=dict)

    def page(self, cursor: str | None) -> Call:
        """Return the call for the page at a cursor."""
        return Call("GET", self.path, params={**self.params, "limit": PAGE, "cursor": cursor})

    def first(self, count: int) -> Steps[list[T]]:
        """Read the first items, so many at most, if the server answers at once."""
        call = Call("GET", self.path, params={**self.params, "limit": count}, retry_for=0.0)
        return [self.decode(item) for item in (yield call)["items"]]

    def page_after(self, cursor: str | None) -> Steps[tuple[list[T], str | None]]:
        """Read the page at a cursor, and the cursor of the next one; None for the first page, and after the last."""
        page = yield self.page(cursor)
        return [self.decode(item) for item in page["items"]], page["next_cursor"]

    def all(self) -> Steps[list[T]]:
        """Read all pages."""
        items: list[T] = []
        cursor: str | None = None
        while True:
            read, cursor = yield from self.page_after(cursor)
            items += read
            if cursor is None:
                return items


def study_path(study_id: str) -> str:
    """Return a study's path under the API's root.

    Raises:
        TypeError: the id is no text.
        ValueError: it is empty or has a slash, so the address would be that of something else.
    """
    if not isinstance(study_id, str):
        raise TypeError(f"the id of a study must be a text such as 'svm', not {shown(study_id)}")
    if not study_id or "/" in study_id:
        raise ValueError(f"the id of a study must be a text without slashes such as 'svm', not {study_id!r}")
    return f"/studies/{quote(study_id, safe='')}"


def batch(
    study_id: str, items: Sequence[Mapping[str, Any]], *, dry_run: bool, key: str | None = None
) -> Steps[list[BatchItem]]:
    """Report up to ``BATCH`` results in wire form by one call, which is made once under a key that is given."""
    body = {"items": [dict(item) for item in items], "dry_run": dry_run}
    path = f"{study_path(study_id)}/observations"
    answer = yield Call("POST", path, body) if key is None else Call("POST", path, body, key=key)
    return [decode_batch_item(item, study_id=study_id) for item in answer["items"]]


def documented(method: Callable[..., Any], build: Callable[..., Any], returns: Any = None) -> None:
    """Give a method that performs a procedure, or reads a list, its arguments, its docstring and what it returns."""
    update_wrapper(method, build)
    signature = inspect.signature(build)
    result = get_args(signature.return_annotation)[-1]
    shown = result if returns is None else returns[result]
    method.__dict__["__signature__"] = signature.replace(return_annotation=shown)


def naming_settings(method: Method) -> Method:
    """Let the signature of a method have each of its ``**settings: Unpack[...]``: notebooks complete them by it."""
    signature, parameters = inspect.signature(method), list[inspect.Parameter]()
    for each in signature.parameters.values():
        if get_origin(each.annotation) is not Unpack:
            parameters.append(each)
            continue
        (settings,) = get_args(each.annotation)
        for name, kind in get_type_hints(settings).items():
            parameters.append(inspect.Parameter(name, each.KEYWORD_ONLY, annotation=kind, default=...))
    method.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return method
