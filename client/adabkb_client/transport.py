"""One HTTP connection pool, and the repetition of requests that get no answer.

A logical call is sent until it is answered. Its Idempotency-Key is generated once, before the first attempt, so the
server performs the call once, however often it is sent.
"""

import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

from adabkb_client.errors import ConnectionFailed, NotFound, Unavailable, UnexpectedAnswer, from_problem

Json = Any
"""What ``json.loads`` returns."""

CONNECT_TIMEOUT = 5.0
FIRST_CONTACT = 5.0
"""Seconds of retrying if the server has never answered, so that a wrong address is noticed soon."""
RETRY_AFTER_CAP = 30.0
"""Longest pause, in seconds, that a server's Retry-After can impose."""
PAGE = 500

_full_jitter = wait_random_exponential(multiplier=0.25, max=8)


class Transport:
    """Sends requests, retries them, and turns refusals into exceptions. Safe to share between threads."""

    def __init__(self, url: str, token: str | None, timeout: float, retry_for: float) -> None:
        self._retry_for = retry_for
        self._answered = False
        headers = {"User-Agent": f"adabkb-client/{version('adabkb-service')}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT)
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **params: str | int | None) -> Json:
        """GET a JSON document."""
        return _json(self._call("GET", path, params=params))

    def text(self, path: str, **params: str | int | None) -> str:
        """GET a document that is not JSON."""
        return self._call("GET", path, params=params, headers={"Accept": "*/*"}).text

    def post(self, path: str, body: Mapping[str, Any], retry_for: float | None = None) -> Json:
        """POST a body, with exactly one effect; ``retry_for`` overrides that of the client, in seconds."""
        return _json(self._call("POST", path, json=body, headers=_new_key(), retry_for=retry_for))

    def patch(self, path: str, body: Mapping[str, Any]) -> Json:
        """PATCH a resource, with exactly one effect: a copy that arrives late must not undo later changes."""
        return _json(self._call("PATCH", path, json=body, headers=_new_key()))

    def delete(self, path: str) -> None:
        """DELETE a resource."""
        self._call("DELETE", path)

    def pages(self, path: str, **params: str | int | None) -> Iterator[Json]:
        """Yield the items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self.get(path, **params, limit=PAGE, cursor=cursor)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _call(self, method: str, path: str, *, retry_for: float | None = None, **content: Any) -> httpx.Response:
        if params := content.get("params"):
            content["params"] = {name: value for name, value in params.items() if value is not None}
        request = self._http.build_request(method, f"/v1{path}", **content)
        patience = self._retry_for if retry_for is None else retry_for
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ConnectionFailed | Unavailable)),
            wait=_pause,
            stop=stop_before_delay(patience if self._answered else min(patience, FIRST_CONTACT)),
            reraise=True,
        )
        for attempt in retrying:
            with attempt:
                try:
                    return self._send(request)
                except NotFound:
                    # An earlier attempt, whose answer was lost, may have deleted it.
                    if method == "DELETE" and attempt.retry_state.attempt_number > 1:
                        return httpx.Response(204)
                    raise
        raise AssertionError("tenacity returns or raises")

    def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self._http.send(request)
        except httpx.TransportError as error:
            cause = str(error) or type(error).__name__
            raise ConnectionFailed(f"no answer from {self._http.base_url}: {cause}") from error
        self._answered = True
        if response.is_success:
            return response
        if response.is_redirect:
            raise UnexpectedAnswer(f"{request.url} redirects to {response.headers.get('Location')}")
        raise from_problem(response.status_code, _problem(response), _retry_after(response))


def _new_key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def _json(response: httpx.Response) -> Json:
    try:
        return response.json()
    except ValueError as error:
        raise UnexpectedAnswer(f"{response.url} answered something that is not JSON") from error


def _problem(response: httpx.Response) -> dict[str, Any]:
    """Return the problem document, or an empty one if it was not the API that answered."""
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        document = response.json()
        return document if isinstance(document, dict) else {}
    return {}


def _retry_after(response: httpx.Response) -> float | None:
    """Return Retry-After in seconds; its date form, which this server never sends, counts as absent."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _pause(state: RetryCallState) -> float:
    """Return the seconds until the next attempt: the server's Retry-After, or else backoff with full jitter."""
    error = state.outcome.exception() if state.outcome else None
    advice = error.retry_after if isinstance(error, Unavailable) else None
    return _full_jitter(state) if advice is None else min(advice, RETRY_AFTER_CAP)
