"""The blocking transport, with one connection pool: calls are retried for a limited time while the server is down or
busy.

A call's Idempotency-Key is generated once, before the first attempt, so the server performs the call only once.
``Exchange`` has what the blocking and the async transport have in common: requests, answers, errors and retries. They
add only sending and waiting.
"""

import json
import logging
import math
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Self, TypeGuard, TypeVar

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_delay,
    stop_when_event_set,
    wait_random_exponential,
)

from adabkb_client._calls import RETRY_FOR, Call, Json, Listing, Steps
from adabkb_client._http.connection import REMEDY, Settings, checked_headers, trusted_certificates
from adabkb_client._http.outbox import Delivery, KeptResult, delivery
from adabkb_client._values import encoded
from adabkb_client._version import VERSION
from adabkb_client.errors import (
    AdaBKBError,
    ConnectionFailed,
    NotFound,
    ResultKept,
    Unavailable,
    UnexpectedAnswer,
    from_problem,
    is_refusal,
)

log = logging.getLogger("adabkb_client")

CONNECT_TIMEOUT = 5.0
RETRY_AFTER_CAP = 30.0
"""The maximum pause in seconds that a server's Retry-After can set."""
BY_A_PROXY = (401, 403, 413, 429, 502, 503, 504)
"""Statuses with which a proxy refuses a request, or reports that the server is down or busy."""

NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""OpenSSL's reasons if the answer is plain HTTP."""

_full_jitter = wait_random_exponential(multiplier=0.25, max=8)

T = TypeVar("T")
E = TypeVar("E", bound="Exchange")
Cause = TypeVar("Cause", bound=BaseException)


class Exchange:
    """The settings of a connection, its requests, and what happens to results that cannot be sent."""

    def __init__(self, settings: Settings) -> None:
        self.server = settings.server
        self.outbox = settings.outbox
        self._settings = settings
        self._answered = False
        self._is_ours = True
        self._over: Any = None
        """The event after which no further attempt at a call is made; None if there is none."""
        self._credentials = None if settings.token else settings.server.credentials

    @property
    def _http_options(self) -> dict[str, Any]:
        """The options of this client for httpx."""
        return {"verify": trusted_certificates(self._settings.verify), "proxy": self._settings.proxy}

    def with_options(self, timeout: float | None, retry_for: float | None, headers: Mapping[str, str] | None) -> Self:
        """Return an object with the same connections but other settings. None keeps a setting."""
        now = self._settings
        settings = replace(
            now,
            timeout=now.timeout if timeout is None else timeout,
            retry_for=now.retry_for if retry_for is None else retry_for,
            headers={**now.headers, **checked_headers(headers or {})},
        )
        return self._derived(_settings=settings)

    def until(self, over: Any) -> Self:
        """Return an object with the same connections that makes no further attempt at a call once an event is set: a
        ``threading.Event`` or, for the async transport, an ``asyncio.Event``."""
        return self._derived(_over=over)

    def _derived(self, **changed: Any) -> Self:
        derived = object.__new__(type(self))
        vars(derived).update(vars(self), _is_ours=False, **changed)
        return derived

    def __reduce__(self) -> tuple[type[Self], tuple[Settings]]:
        """Pickle the settings; another process opens its own connections."""
        return type(self), (self._settings,)

    def _request(self, http: httpx.Client | httpx.AsyncClient, address: str, call: Call) -> httpx.Request:
        url = api_url(address, call.path) if call.in_api else f"{address.rstrip('/')}{call.path}"
        params = {name: value for name, value in call.params.items() if value is not None}
        headers = self._headers() | ({"Accept": "*/*"} if call.as_text or call.as_bytes else {})
        timeout = self._timeout(call.wait)
        if call.content is not None:
            headers["Content-Type"] = call.media_type
            content = call.content
            return http.build_request(
                call.method, url, params=params, content=content, headers=headers, timeout=timeout
            )
        if call.body is None:
            return http.build_request(call.method, url, params=params, headers=headers, timeout=timeout)
        headers |= {"Content-Type": "application/json"} | ({"Idempotency-Key": call.key} if call.key else {})
        if call.wait:
            headers["Prefer"] = f"wait={math.ceil(call.wait)}"
        return http.build_request(call.method, url, content=encoded(call.body), headers=headers, timeout=timeout)

    def _headers(self) -> dict[str, str]:
        return {**default_headers(self._settings.token), **trace_headers(), **self._settings.headers}

    def _timeout(self, wait: float = 0.0) -> httpx.Timeout:
        seconds = self._settings.timeout
        return httpx.Timeout(seconds + wait, connect=min(CONNECT_TIMEOUT, seconds))

    @property
    def _auth(self) -> Any:
        """The ``auth`` argument of httpx: the credentials in the URL, unless the client has a token. Without them,
        httpx uses those of the program's own client."""
        return self._credentials or httpx.USE_CLIENT_DEFAULT

    def _result_to_keep(self, call: Call) -> KeptResult | None:
        """Return the result that a call reports, if it should be kept while the server is down."""
        if self.outbox is None or not call.reports_result or call.body is None or call.key is None:
            return None
        return KeptResult.of(call.path, json.loads(encoded(call.body)), call.key, call.trial_created_at)

    def _retrying(self, time_limit: float, on_failure: Callable[[RetryCallState], object]) -> dict[str, Any]:
        """Return the retry policy of a call, as arguments of tenacity."""
        policy: dict[str, Any] = {
            "retry": retry_if_exception(lambda error: isinstance(error, ConnectionFailed | Unavailable)),
            "wait": partial(pause, time_limit),
            "stop": stop_after_delay(time_limit),
            "before_sleep": on_failure,
            "reraise": True,
        }
        if self._over is not None:
            policy["stop"] |= stop_when_event_set(self._over)
            policy["sleep"] = self._sleep
        return policy

    def _sleep(self, seconds: float) -> Any:
        """Wait between two attempts, but not after ``_over`` is set."""
        raise NotImplementedError

    def _time_limit(self, call: Call) -> float:
        """Return the seconds for which to retry a call, at most the client's ``retry_for``."""
        limit = self._settings.retry_for
        if call.retry_for is not None:
            return call.retry_for if limit is None else min(call.retry_for, limit)
        if limit is not None:
            return limit
        return RETRY_FOR if self._answered else self.server.first_contact

    def _read(self, call: Call, response: httpx.Response, address: str) -> Json:
        self._answered = True
        accepted(response, address, _parameter_names(call))
        if call.on_replay is not None and "Idempotent-Replayed" in response.headers:
            call.on_replay()
        if call.as_bytes:
            return response.content
        if call.as_text:
            return response.text
        return None if call.method == "DELETE" else as_json(response, address)

    def _unreachable(self, error: httpx.TransportError, address: str) -> AdaBKBError:
        return unreachable(error, address, self.server.remedy)

    def _error_for(self, kept: KeptResult | None, error: AdaBKBError) -> AdaBKBError:
        """Return the error of a failed call, which is ``ResultKept`` if its result was kept.

        The result is kept if the server is down. It is also kept if the server was down at an earlier attempt and has
        not refused the result since.
        """
        if kept is None or self.outbox is None:
            return error
        if is_refusal(error):
            if self.outbox._has_written(kept):
                self.outbox.remove(kept)
            return error
        is_away = isinstance(error, ConnectionFailed | Unavailable)
        was_away = self.outbox._has_written(kept) and self.outbox._is_on_disk(kept)
        if not ((is_away or was_away) and self.outbox._keep(kept, error)):
            return error
        return ResultKept(
            f"{error}\nThe result is not lost: it is kept in {self.outbox.file(kept)}, "
            "and is sent when a client on this machine next reaches the server."
        )

    def _is_kept(self, kept: KeptResult | None) -> TypeGuard[KeptResult]:
        """Return whether a result was kept at an earlier attempt."""
        return kept is not None and self.outbox is not None and self.outbox._has_written(kept)

    def _may_deliver(self) -> bool:
        """Return whether there may be kept results to send, now that the server answers."""
        return self.outbox is not None and self.outbox._is_due()


def default_headers(token: str | None) -> dict[str, str]:
    """Return the headers of every request."""
    headers = {"User-Agent": f"adabkb-client/{VERSION}", "Accept": "application/json"}
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def trace_headers() -> dict[str, str]:
    """Return the headers that continue the program's trace on the server, if the program uses OpenTelemetry."""
    headers: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry import propagate  # noqa: PLC0415

        propagate.inject(headers)
    return headers


def accepted(response: httpx.Response, url: str, names: Sequence[str] = ()) -> httpx.Response:
    """Return the answer if it is a success. ``names`` are the parameters of the search space in the request.

    Raises:
        APIError: the server refused.
        UnexpectedAnswer: the answer is not from this API.
    """
    if response.is_success:
        return response
    if response.is_redirect:
        target = response.headers.get("Location")
        raise UnexpectedAnswer(f"something else answers at {url}: it redirects to {target}.\n{REMEDY}")
    problem = _problem(response)
    if not problem and response.status_code not in BY_A_PROXY:
        raise UnexpectedAnswer(
            f"something else answers at {url}: status {response.status_code}, without a problem document of this "
            f"service.\n{REMEDY}"
        )
    by_proxy = (
        f"a proxy in front of {url} answered in place of the server: status {response.status_code} "
        f"({response.reason_phrase})."
    )
    raise from_problem(response.status_code, problem, _retry_after(response), names, otherwise=by_proxy)


def _parameter_names(call: Call) -> list[str]:
    """Return the names of the parameters that a call declares; the position of one without a name."""
    declared = call.body.get("parameters") if isinstance(call.body, Mapping) else None
    items = enumerate(declared if isinstance(declared, list) else [])
    return [str(each.get("name", at) if isinstance(each, Mapping) else at) for at, each in items]


def unreachable(error: httpx.TransportError, url: str, remedy: str) -> AdaBKBError:
    """Return the error for a request without an answer."""
    tls = _cause_of(ssl.SSLError, error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return UnexpectedAnswer(
            f"the certificate of the server at {url} is not trusted: {tls.verify_message.rstrip('.')}.\nIf your own "
            "authority has issued it, name the file with the authority's certificate: Client(url, verify=...), or "
            "SSL_CERT_FILE in the environment."
        )
    if tls is not None and tls.reason in NO_TLS:
        plain = url.replace("https://", "http://", 1)
        return UnexpectedAnswer(
            f"the server at {url} answers without TLS, so its address must not begin with https.\nIf that is your "
            f"server, give its address as {plain}. Over a network, put a proxy with TLS in front of it."
        )
    if _cause_of(socket.gaierror, error):
        remedy = "This machine does not know that host name. Check it, or give the server's IP address."
    return ConnectionFailed(f"no server answers at {url} ({str(error) or type(error).__name__}).\n{remedy}")


def _cause_of(kind: type[Cause], error: BaseException | None) -> Cause | None:
    """Return the error of this class that caused an error, if any."""
    while error is not None:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None


def as_json(response: httpx.Response, url: str) -> Json:
    """Return the document of an answer.

    Raises:
        UnexpectedAnswer: the answer is not JSON.
    """
    try:
        return response.json()
    except ValueError:
        raise UnexpectedAnswer(f"something else answers at {url}: its answer is not JSON.\n{REMEDY}") from None


def _problem(response: httpx.Response) -> dict[str, Any]:
    """Return the problem document; empty if the answer is not from this API."""
    if not response.headers.get("Content-Type", "").startswith("application/problem+json"):
        return {}
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(response: httpx.Response) -> float | None:
    """Return Retry-After in seconds; None without it. Its date form, which this server never sends, is ignored."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def log_first_failure(time_limit: float, state: RetryCallState) -> None:
    """Log once that a call is retried, so that users know what the program waits for."""
    if state.attempt_number == 1 and state.outcome is not None:
        cause = str(state.outcome.exception()).partition("\n")[0]
        log.warning("%s Trying again for up to %g s.", cause, time_limit)


def pause(time_limit: float, state: RetryCallState) -> float:
    """Return the seconds until the next attempt: the server's Retry-After, if any, plus a backoff with full jitter. The
    jitter keeps clients that were refused at the same time from all returning at the same time. The last attempt is
    made at the end of the time limit.
    """
    error = state.outcome.exception() if state.outcome else None
    advice = (error.retry_after if isinstance(error, Unavailable) else None) or 0.0
    seconds = min(advice, RETRY_AFTER_CAP) + _full_jitter(state)
    return max(min(seconds, time_limit - (state.seconds_since_start or 0.0)), 0.0)


class Connected(Generic[E]):
    """A client or a study, blocking or asynchronous, which sends calls by a transport."""

    _transport: E

    def with_options(
        self,
        *,
        timeout: float | None = None,
        retry_for: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a copy with the same connections but other options, such as ``study.with_options(timeout=5).best()``.

        Args:
            timeout: seconds to wait for an answer. For each argument, None keeps the current value.
            retry_for: seconds for which a call is retried; 0 means no retries.
            headers: sent in addition to those of the client.
        """
        return self._with(self._transport.with_options(timeout, retry_for, headers))

    def _with(self, transport: E) -> Self:
        changed = copy(self)
        changed._transport = transport
        return changed


def api_url(address: str, path: str) -> str:
    """Return the URL of a path of the API."""
    return f"{address.rstrip('/')}/v1{path}"


def deleted_before(call: Call, state: RetryCallState) -> bool:
    """Return whether an earlier attempt, whose answer was lost, may have deleted the missing item."""
    return call.method == "DELETE" and state.attempt_number > 1


def error_of(state: RetryCallState) -> BaseException | None:
    """Return the error of an attempt."""
    return state.outcome.exception() if state.outcome else None


def log_delivery(delivered: Delivery) -> None:
    """Log that kept results were delivered along with another call."""
    if delivered.sent:
        log.info("delivered results that were kept while the server was down: %d", len(delivered.sent))


class Transport(Exchange):
    """Performs procedures (``Steps``); its calls block. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        given = settings.http_client
        if given is not None and not isinstance(given, httpx.Client):
            raise TypeError(f"http_client must be an httpx.Client, not {type(given).__name__}")
        self._http = httpx.Client(**self._http_options) if given is None else given
        self._delivering = threading.Lock()

    def close(self) -> None:
        """Close the connections that this object opened, and disconnect from a local server."""
        if not self._is_ours:
            return
        if self._settings.http_client is None:
            self._http.close()
        self.server.close()

    def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure, and retry each of its calls for a limited time."""
        try:
            return _performed(steps, self._call)
        except AdaBKBError as error:
            # The frames of the retries would hide where the program made the call.
            raise error.with_traceback(None) from None

    def each(self, listing: Listing[T]) -> Iterator[T]:
        """Yield the items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self._call(listing.page(cursor))
            yield from map(listing.decode, page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def lines(self, path: str, headers: Mapping[str, str]) -> Iterator[str]:
        """Yield a document line by line, as the lines arrive; this is not retried if the connection is lost."""
        address = self.server.address()
        try:
            url, sent = api_url(address, path), {**self._headers(), **headers}
            with self._http.stream("GET", url, headers=sent, timeout=self._timeout(), auth=self._auth) as response:
                if not response.is_success:
                    response.read()
                yield from accepted(response, address).iter_lines()
        except httpx.TransportError as error:
            raise self._unreachable(error, address) from error

    def deliver(self) -> Delivery:
        """Send the results that are kept for this server; the server stores each once."""
        return _performed(delivery(self.outbox), self._send)

    def _call(self, call: Call) -> Json:
        kept = self._result_to_keep(call)
        try:
            answer = self._call_with_retries(call, kept)
        except AdaBKBError as error:
            raise self._error_for(kept, error) from None
        if self.outbox is not None and self._is_kept(kept):
            self.outbox.remove(kept)
        if self._may_deliver():
            self._deliver_kept()
        return answer

    def _call_with_retries(self, call: Call, kept: KeptResult | None) -> Json:
        time_limit = self._time_limit(call)

        def on_failure(state: RetryCallState) -> None:
            log_first_failure(time_limit, state)
            if kept is not None and self.outbox is not None:  # before the wait, during which this process may end
                self.outbox._keep(kept, error_of(state))

        for attempt in Retrying(**self._retrying(time_limit, on_failure)):
            with attempt:
                try:
                    return self._send(call)
                except NotFound:
                    if deleted_before(call, attempt.retry_state):
                        return None
                    raise
        raise AssertionError("tenacity returns or raises")

    def _sleep(self, seconds: float) -> None:
        self._over.wait(seconds)

    def _send(self, call: Call) -> Json:
        address = self.server.address()
        try:
            response = self._http.send(self._request(self._http, address, call), auth=self._auth)
        except httpx.TransportError as error:
            raise self._unreachable(error, address) from error
        return self._read(call, response, address)

    def _deliver_kept(self) -> None:
        """Send kept results now that the server responds, unless another thread does."""
        if self._delivering.acquire(blocking=False):
            try:
                log_delivery(self.deliver())
            except (AdaBKBError, OSError) as error:
                log.info("kept results are not delivered yet: %s", error)
            finally:
                self._delivering.release()


def _performed(steps: Steps[T], answer: Callable[[Call], Json]) -> T:
    try:
        call = next(steps)
        while True:
            try:
                document = answer(call)
            except AdaBKBError as error:
                call = steps.throw(error)
            else:
                call = steps.send(document)
    except StopIteration as end:
        result: T = end.value
        return result
