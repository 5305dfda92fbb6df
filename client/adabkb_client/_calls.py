"""Objects that represent calls of the API, and procedures that consist of such calls. A transport sends the calls.

A procedure (``Steps``) is a generator. It yields a call, receives the answer or the error, and finally returns its
result. A transport performs it, either blocking or async, so each procedure is written only once.
"""

import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from adabkb_client._records import BatchItem, decode_batch_item
from adabkb_client._values import shown

Json = Any
"""A value that ``json.loads`` returns."""

Param = str | int | float | list[str] | None
"""The value of a query parameter; None leaves it out."""

PAGE = 500
"""The number of items per page."""
BATCH = 1000
"""The maximum number of items that the server accepts in one batch."""
RETRY_FOR = 120.0
"""Default number of seconds for which a call is retried."""

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request with its idempotency key, which stays the same when the request is sent again. A request without a key
    must be idempotent.

    ``content`` is sent in place of ``body``, with the type ``media_type``.

    A call with ``reports_result`` reports a result, and is kept on disk while the server is down; ``trial_created_at``
    is then the time at which the trial was created, if it is known. ``retry_for`` limits the seconds of retries, in
    addition to the client's own limit. ``wait`` is the number of seconds that the server may wait for a trial. The path
    is one of the API, unless ``in_api`` is False. ``on_replay`` is called if the answer is the stored one of an earlier
    request with the same key.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    content: bytes | None = None
    media_type: str = "application/json"
    as_text: bool = False
    as_bytes: bool = False
    in_api: bool = True
    retry_for: float | None = None
    wait: float = 0.0
    reports_result: bool = False
    trial_created_at: datetime | None = None
    key: str | None = field(default_factory=lambda: uuid.uuid4().hex)
    on_replay: Callable[[], None] | None = None


Steps = Generator[Call, Any, T]
"""A procedure that returns a T."""


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list that the server returns in pages."""

    path: str
    decode: Callable[[Json], T]
    params: Mapping[str, Param] = field(default_factory=dict)

    def page(self, cursor: str | None, limit: int = PAGE) -> Call:
        """Return the call for the page at a cursor."""
        return Call("GET", self.path, params={**self.params, "limit": limit, "cursor": cursor})

    def first(self, count: int) -> Steps[list[T]]:
        """Read up to ``count`` items from the beginning, without retries."""
        call = Call("GET", self.path, params={**self.params, "limit": count}, retry_for=0.0)
        return [self.decode(item) for item in (yield call)["items"]]

    def page_after(self, cursor: str | None, limit: int = PAGE) -> Steps[tuple[list[T], str | None]]:
        """Read the page at a cursor (None for the first page), and the cursor of the next page (None after the
        last)."""
        page = yield self.page(cursor, limit)
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
        TypeError: the id is not a string.
        ValueError: the id is empty or has a slash, so it would change the path.
    """
    if not isinstance(study_id, str):
        raise TypeError(f"the id of a study must be a string such as 'svm', not {shown(study_id)}")
    if not study_id or "/" in study_id:
        raise ValueError(f"the id of a study must be a string without slashes such as 'svm', not {study_id!r}")
    return f"/studies/{quote(study_id, safe='')}"


def read_trial(study_id: str, number: int) -> Steps[Json]:
    """Return the trial with this number, as JSON."""
    return (yield Call("GET", f"{study_path(study_id)}/trials/{number}"))


def batch(
    study_id: str, items: Sequence[Mapping[str, Any]], *, dry_run: bool, key: str | None = None
) -> Steps[list[BatchItem]]:
    """Report up to ``BATCH`` results, as JSON, in one call. Batches with the same ``key`` take effect once. By
    default, each batch gets a new key."""
    body = {"items": [dict(item) for item in items], "dry_run": dry_run}
    path = f"{study_path(study_id)}/observations"
    answer = yield Call("POST", path, body) if key is None else Call("POST", path, body, key=key)
    return [decode_batch_item(item, study=study_id) for item in answer["items"]]
