"""The protocol of an exchange with the server, independent of its transport: requests, responses and retries.

A call is sent until it is answered. Its Idempotency-Key is generated once, before the first attempt, so the server
performs the call only once.
"""

import logging
import os
import re
import ssl
import sys
from functools import cache
from typing import Any

import httpx
from tenacity import RetryCallState, wait_random_exponential

from adabkb_client._calls import Json
from adabkb_client._version import VERSION
from adabkb_client.errors import AdaBKBError, ConnectionFailed, Unavailable, UnexpectedAnswer, from_problem

CONNECT_TIMEOUT = 5.0
RETRY_FOR = 120.0
"""Default number of seconds for retries."""
FIRST_CONTACT = 5.0
"""Number of seconds for retries if the server has never answered, so that a wrong URL is noticed soon."""
RETRY_AFTER_CAP = 30.0
"""The maximum pause in seconds that a server's Retry-After can set."""
BY_A_PROXY = (401, 403, 413, 429, 502, 503, 504)
"""Statuses with which a proxy refuses a request, or reports that the server is down or busy."""
REMEDY = "Start one with `adabkb serve`, or give the address of yours: Client(url), or ADABKB_URL in the environment."

log = logging.getLogger("adabkb_client")

NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""OpenSSL's reasons if the answer is plain HTTP."""
_USER = re.compile(r"//[^/?#]*@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)

_full_jitter = wait_random_exponential(multiplier=0.25, max=8)


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


def without_secrets(url: str) -> str:
    """Return a URL for messages: without user, password, query and fragment."""
    return _QUERY.sub("", _USER.sub("//", url, count=1))


def trusted_certificates(verify: str | os.PathLike[str] | ssl.SSLContext | bool) -> ssl.SSLContext:
    """Return the TLS context with the trusted certificates: see ``Client``.

    Raises:
        OSError: the file or folder does not exist, or has no certificates.
    """
    if isinstance(verify, ssl.SSLContext):
        return verify
    return _trusted_by_default() if verify is True else _trusted(verify)


@cache
def _trusted_by_default() -> ssl.SSLContext:
    """Load the default certificates once per process, since this takes longer than a call."""
    return httpx.create_ssl_context()


def _trusted(verify: str | os.PathLike[str] | bool) -> ssl.SSLContext:
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    try:
        if os.path.isdir(verify):
            return ssl.create_default_context(capath=verify)
        return ssl.create_default_context(cafile=verify)
    except OSError as error:
        what = f"{os.fspath(verify)!r} has no certificates in PEM form ({error.strerror or error})"
        raise type(error)(f"verify={what}; name the file with your authority's certificate") from None


def accepted(response: httpx.Response, url: str) -> httpx.Response:
    """Return the answer if it is a success.

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
    raise from_problem(response.status_code, problem, _retry_after(response))


def unreachable(error: httpx.TransportError, url: str, remedy: str) -> AdaBKBError:
    """Return the error for a request that got no answer."""
    tls = _tls_of(error)
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
            f"server, give its address as {plain}. Over a network, put a proxy with TLS before it."
        )
    return ConnectionFailed(f"no server answers at {url} ({str(error) or type(error).__name__}).\n{remedy}")


def _tls_of(error: BaseException | None) -> ssl.SSLError | None:
    """Return the TLS error that caused an error, if any."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
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
    """Return Retry-After in seconds; its date form, which this server never sends, counts as absent."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def say_once(patience: float, state: RetryCallState) -> None:
    """Log once that a call is retried, so that users know what the program waits for."""
    if state.attempt_number == 1 and state.outcome is not None:
        cause = str(state.outcome.exception()).partition("\n")[0]
        log.warning("%s Trying again for up to %g seconds.", cause, patience)


def pause(patience: float, state: RetryCallState) -> float:
    """Return the seconds until the next attempt: the server's Retry-After, if any, plus a backoff with full jitter. The
    jitter keeps clients that were refused at the same time from all returning at the same time. The last attempt is
    made at the end of the time limit.
    """
    error = state.outcome.exception() if state.outcome else None
    advice = (error.retry_after if isinstance(error, Unavailable) else None) or 0.0
    seconds = min(advice, RETRY_AFTER_CAP) + _full_jitter(state)
    return max(min(seconds, patience - (state.seconds_since_start or 0.0)), 0.0)
