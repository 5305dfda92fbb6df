"""Calls of the API as values, and procedures that consist of them. None of this knows how a call is sent.

A procedure (``Steps``) is a generator: it yields a call, is sent the answer or has the error thrown at it, and returns
its result at the end. A transport performs it, whether it blocks or awaits, so each procedure is written once.
"""

import inspect
import logging
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import update_wrapper
from typing import Any, Generic, TypeVar, Unpack, get_args, get_origin, get_type_hints

from adabkb_client.decoding import decode
from adabkb_client.errors import AdaBKBError, APIError, Unauthorized, Unavailable, from_problem, is_refusal
from adabkb_client.models import Trial
from adabkb_client.outbox import Delivery, KeptResult, Outbox
from adabkb_client.protocol import PAGE, Json, Param

log = logging.getLogger("adabkb_client")

T = TypeVar("T")
U = TypeVar("U")
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """A request, however often it is sent: its key is made once. Without one, the request itself may be repeated.

    A call that ``tells_result`` is kept on disk while the server cannot be reached; ``trial_created_at`` is known of
    some of these. ``retry_for`` limits the seconds of further attempts, beside the client's own limit. For ``wait``
    seconds the server may wait before it answers that there is nothing.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
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

    def mapped(self, function: Callable[[T], U]) -> "Listing[U]":
        """Return the same list, of what a function makes of its items."""
        return Listing(self.path, lambda item: function(self.decode(item)), self.params)


def delivery(outbox: Outbox | None) -> Steps[Delivery]:
    """Send the results that are kept for a server, each once. What is neither stored nor refused waits on."""
    sent: list[KeptResult] = []
    refused: list[KeptResult] = []
    if outbox is not None:
        for kept in outbox.waiting():
            try:
                yield from _sent_now(kept)
            except AdaBKBError as error:
                if is_refusal(error):
                    refused.append(outbox.refuse(kept, str(error)))
                    continue
                if outbox.holds(kept):  # or else another process has just delivered it
                    outbox.keep(kept, error)
                if not isinstance(error, APIError) or isinstance(error, Unauthorized | Unavailable):
                    raise
                log.warning("%s is not delivered yet: %s", kept, error)
            else:
                outbox.remove(kept)
                sent.append(kept)
    return Delivery(tuple(sent), tuple(refused))


def _sent_now(kept: KeptResult) -> Steps[None]:
    if kept.trial_created_at is not None:
        study, number = kept.path.removesuffix("/observe"), kept.body["trial"]
        trial = decode(Trial, (yield Call("GET", f"{study}/trials/{number}")), study_id=kept.study)
        if trial.created_at != datetime.fromisoformat(kept.trial_created_at):
            detail = f"study {kept.study!r} was created anew: this is another trial"
            raise from_problem(404, {"code": "trial_not_found", "detail": detail})
    yield Call("POST", kept.path, kept.body, key=kept.idempotency_key)


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
