"""One HTTP connection pool, and the repetition of requests that get no answer.

A logical call is sent until it is answered. Its Idempotency-Key is generated once, before the first attempt, so the
server performs the call once, however often it is sent.
"""

import logging
import ssl
import uuid
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.metadata import version
from typing import Any, Self

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from adabkb_client.errors import AdaBKBError, ConnectionFailed, NotFound, Unavailable, UnexpectedAnswer, from_problem
from adabkb_client.plain import encoded

Json = Any
"""What ``json.loads`` returns."""

Param = str | int | list[str] | None
"""A parameter of a query; None is none."""

CONNECT_TIMEOUT = 5.0
RETRY_FOR = 120.0
"""Seconds of retrying, unless the program chooses."""
FIRST_CONTACT = 5.0
"""The same for a server that has never answered, so that a wrong address is noticed soon."""
RETRY_AFTER_CAP = 30.0
"""Longest pause, in seconds, that a server's Retry-After can impose."""
BY_A_PROXY = (401, 403, 413, 429, 502, 503, 504)
"""Statuses by which a proxy in front of the server refuses a request, or says that the server is away or busy."""
PAGE = 500
REMEDY = "Start one with `adabkb serve`, or give the address of yours: Client(url), or ADABKB_URL in the environment."

log = logging.getLogger("adabkb_client")

_full_jitter = wait_random_exponential(multiplier=0.25, max=8)


class Transport:
    """Sends requests, retries them, and turns refusals into exceptions. Safe to share between threads."""

    def __init__(self, url: str, token: str | None, timeout: float, retry_for: float | None) -> None:
        self.url = url
        self._settings = (url, token, timeout, retry_for)
        self._retry_for = retry_for
        self._answered = False
        headers = {"User-Agent": f"adabkb-client/{version('adabkb-service')}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT),
            verify=_trusted_certificates(),
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str | None, float, float | None]]:
        """Pickle the settings: another process makes connections of its own."""
        return type(self), self._settings

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **params: Param) -> Json:
        """GET a JSON document."""
        return self._json(self._call("GET", path, params=params))

    def text(self, path: str, **params: Param) -> str:
        """GET a document that is not JSON."""
        return self._call("GET", path, params=params, headers={"Accept": "*/*"}).text

    def post(self, path: str, body: Mapping[str, Any], retry_for: float | None = None) -> Json:
        """POST a body, with exactly one effect; ``retry_for`` overrides that of the client, in seconds."""
        return self._json(self._call("POST", path, content=encoded(body), headers=_sent(), retry_for=retry_for))

    def patch(self, path: str, body: Mapping[str, Any]) -> Json:
        """PATCH a resource, with exactly one effect: a copy that arrives late must not undo later changes."""
        return self._json(self._call("PATCH", path, content=encoded(body), headers=_sent()))

    def delete(self, path: str) -> None:
        """DELETE a resource."""
        self._call("DELETE", path)

    def pages(self, path: str, **params: Param) -> Iterator[Json]:
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
        patience = self._patience() if retry_for is None else retry_for
        try:
            return self._repeated(request, patience)
        except AdaBKBError as error:
            # The frames of the repetition would only hide where the program made the call.
            raise error.with_traceback(None) from None

    def _patience(self) -> float:
        if self._retry_for is not None:
            return self._retry_for
        return RETRY_FOR if self._answered else FIRST_CONTACT

    def _repeated(self, request: httpx.Request, patience: float) -> httpx.Response:
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ConnectionFailed | Unavailable)),
            wait=partial(_pause, patience),
            stop=stop_after_delay(patience),
            before_sleep=partial(_say_once, patience),
            reraise=True,
        )
        for attempt in retrying:
            with attempt:
                try:
                    return self._send(request)
                except NotFound:
                    # An earlier attempt, whose answer was lost, may have deleted it.
                    if request.method == "DELETE" and attempt.retry_state.attempt_number > 1:
                        return httpx.Response(204)
                    raise
        raise AssertionError("tenacity returns or raises")

    def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self._http.send(request)
        except httpx.TransportError as error:
            cause = str(error) or type(error).__name__
            raise ConnectionFailed(f"no server answers at {self.url} ({cause}).\n{REMEDY}") from error
        self._answered = True
        if response.is_success:
            return response
        if response.is_redirect:
            target = response.headers.get("Location")
            raise UnexpectedAnswer(f"something else answers at {self.url}: it redirects to {target}.\n{REMEDY}")
        problem = _problem(response)
        if not problem and response.status_code not in BY_A_PROXY:
            raise UnexpectedAnswer(
                f"something else answers at {self.url}: status {response.status_code}, and not as this service would.\n"
                f"{REMEDY}"
            )
        raise from_problem(response.status_code, problem, _retry_after(response))

    def _json(self, response: httpx.Response) -> Json:
        try:
            return response.json()
        except ValueError:
            raise UnexpectedAnswer(
                f"something else answers at {self.url}: what it says is not JSON.\n{REMEDY}"
            ) from None


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Return what httpx trusts by default. To load it takes longer than a call, so that it is done once a process."""
    return httpx.create_ssl_context()


def _sent() -> dict[str, str]:
    """Return the headers of a body: its kind, and a new key."""
    return {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}


def _problem(response: httpx.Response) -> dict[str, Any]:
    """Return the problem document, or an empty one if it was not the API that answered."""
    if not response.headers.get("Content-Type", "").startswith("application/problem+json"):
        return {}
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(response: httpx.Response) -> float | None:
    """Return Retry-After in seconds; its date form, which this server never sends, counts as absent."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _say_once(patience: float, state: RetryCallState) -> None:
    """Log that a call is being repeated, so that the program does not wait in silence."""
    if state.attempt_number == 1 and state.outcome is not None:
        cause = str(state.outcome.exception()).partition("\n")[0]
        log.warning("%s Trying again for up to %g seconds.", cause, patience)


def _pause(patience: float, state: RetryCallState) -> float:
    """Return the seconds until the next attempt: the server's Retry-After, or else backoff with full jitter.

    The last attempt is made at the end of the time.
    """
    error = state.outcome.exception() if state.outcome else None
    advice = error.retry_after if isinstance(error, Unavailable) else None
    pause = _full_jitter(state) if advice is None else min(advice, RETRY_AFTER_CAP)
    return max(min(pause, patience - (state.seconds_since_start or 0.0)), 0.0)
