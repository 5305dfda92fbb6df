"""The settings of a connection, from the arguments of a client and the environment: server, token, certificates."""

import os
import re
import ssl
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import httpx

from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Outbox

DEFAULT_URL = "http://127.0.0.1:8000"
FIRST_CONTACT = 5.0
"""Number of seconds for retries if the server has never answered, so that a wrong URL is noticed soon."""
REMEDY = (
    "Start one with `adabkb serve`, or give the address of yours: Client(url), or ADABKB_URL in the environment. "
    'Without a server: Client.local("study.db").'
)

OutboxFolder = str | Path | Literal[False] | None
"""The folder of kept results; None for the default, False to keep none."""
Verify = str | os.PathLike[str] | ssl.SSLContext | bool
"""How to verify the server's certificate."""

CONTROLS = {"\n": "the end of a line", "\r": "a carriage return", "\t": "a tab", "\0": "NUL"}
"""Names of control characters, which have none in Unicode."""
MAX_TOKEN_LENGTH = 8192
"""The maximum length in characters; most servers and proxies refuse longer headers."""
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PRINTABLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
PROXY = re.compile(r"(?:https?|socks5h?)://[^/]")
_USER = re.compile(r"//[^/?#]*@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
UNSENDABLE = re.compile(r"[^!-~]")
"""Characters that a bearer token cannot have: spaces, line ends, control characters, and all that are not ASCII."""


@dataclass(frozen=True)
class RemoteServer:
    """A server that another program runs. No error shows its URL before it is checked, since it may be a token that
    was passed by mistake.

    Raises:
        TypeError: the URL is not a string.
        ValueError: the URL does not start with http:// or https://.
        httpx.InvalidURL: the URL is invalid for another reason.
    """

    url: str = field(repr=False)
    """The server's URL, which may contain a password."""
    first_contact = FIRST_CONTACT
    """Seconds for which a call is retried if the server has never answered."""
    remedy = REMEDY
    """The remedy if the server does not respond."""

    def __post_init__(self) -> None:
        if not isinstance(self.url, str):
            raise TypeError(f"the server's URL must be a string such as {DEFAULT_URL}, not {type(self.url).__name__}")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(
                f"the server's URL must start with http:// or https://, such as {DEFAULT_URL}; a token is another "
                "argument: Client(url, token=...)"
            )
        try:
            httpx.URL(self.url)
        except httpx.InvalidURL:
            raise httpx.InvalidURL(
                f"the server's URL is not valid; check its host and its port, and give one such as {DEFAULT_URL}"
            ) from None

    @property
    def name(self) -> str:
        """The server's URL without secrets, for messages, the log of httpx and file names."""
        return without_secrets(self.url)

    @property
    def shown(self) -> str:
        """The server as messages name it: its URL without secrets."""
        return self.name

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password in the URL, for a proxy that requires them; None without them."""
        url = httpx.URL(self.url)
        return (url.username, url.password) if url.userinfo else None

    @property
    def last_address(self) -> str:
        """The server's URL without secrets: see ``LocalServer``."""
        return self.name

    def address(self) -> str:
        """Return the server's URL without secrets."""
        return self.name

    def close(self) -> None:
        """Do nothing, since this process does not run the server."""


Server = RemoteServer | LocalServer


@dataclass(frozen=True)
class Settings:
    """The settings of a transport."""

    server: Server
    token: str | None = field(repr=False)
    timeout: float
    retry_for: float | None
    outbox: Outbox | None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    verify: Verify = True
    proxy: str | None = field(default=None, repr=False)
    http_client: httpx.Client | httpx.AsyncClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings, from which another process opens its own connections.

        Raises:
            TypeError: a setting cannot be sent to another process.
        """
        given = {"http_client": self.http_client is not None, "verify": isinstance(self.verify, ssl.SSLContext)}
        for name in (name for name, is_here in given.items() if is_here):
            raise TypeError(
                f"a client with your own {name} cannot be sent to another process; give verify the path of a "
                "file with certificates, and proxy=... and headers=... instead of an http_client"
            )
        return vars(self)


def server_at(url: str | None) -> RemoteServer:
    """Return the server at a URL; by default at ADABKB_URL, or else at the default URL."""
    return RemoteServer(url or os.environ.get("ADABKB_URL") or DEFAULT_URL)


def settings(
    server: Server,
    token: str | None,
    timeout: float,
    retry_for: float | None,
    outbox: OutboxFolder,
    headers: Mapping[str, str] | None = None,
    verify: Verify = True,
    proxy: str | None = None,
    http_client: httpx.Client | httpx.AsyncClient | None = None,
) -> Settings:
    """Complete the arguments of a client from the environment: see ``Client``."""
    if http_client is not None and (verify is not True or proxy is not None):
        raise ValueError(
            "verify and proxy cannot be combined with http_client; set them there: httpx.Client(verify=..., ...)"
        )
    _check_proxy(proxy)
    kept = None if outbox is False else Outbox(server.name, outbox)
    given = checked_token(token, "token") or checked_token(os.environ.get("ADABKB_TOKEN"), "ADABKB_TOKEN")
    sent = checked_headers(headers or {})
    return Settings(server, given, timeout, retry_for, kept, sent, verify, proxy, http_client)


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers that can be sent. Errors never show a value, which may be a secret.

    Raises:
        TypeError: a name or a value is not a string.
        ValueError: a name or a value has a character that a header cannot have, or a value is empty or has a space at
            an end.
    """
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            part, found = ("value", value) if isinstance(name, str) else ("name", name)
            raise TypeError(
                f"header names and values must be strings, but header {name!r} has a {part} of type "
                f"{type(found).__name__}"
            )
        if value != value.strip(" ") or not value:
            raise ValueError(f"the value of header {name!r} is empty or has a space at an end")
        if not HEADER.fullmatch(name) or not PRINTABLE.fullmatch(value):
            raise ValueError(f"header {name!r} has a character that headers cannot have; use printable ASCII")
    return dict(headers)


def _check_proxy(proxy: str | None) -> None:
    """Refuse an invalid proxy URL. The error does not show it, since it may have a password."""
    if proxy is not None and not (isinstance(proxy, str) and PROXY.match(proxy)):
        raise ValueError("proxy must be a URL such as http://proxy.example.org:3128")


def checked_token(token: Any, name: str) -> str | None:
    """Return a token that can be sent; None without a token. Errors never show it.

    Args:
        token: the user's value.
        name: name of the argument or the variable, for errors.

    Raises:
        TypeError: it is not a string.
        ValueError: it is too long, or has a character that a header cannot have.
    """
    if token is None or token == "":
        return None
    if not isinstance(token, str):
        raise TypeError(f"{name} must be a string, not {type(token).__name__}")
    if len(token) > MAX_TOKEN_LENGTH:
        raise ValueError(
            f"{name} has {len(token):,} characters, but a token has at most {MAX_TOKEN_LENGTH:,}; check it"
        )
    found = UNSENDABLE.search(token)
    if found is not None:
        what = unicodedata.name(found[0], "") or CONTROLS.get(found[0]) or "a control character"
        place = f"character {found.start() + 1} of {len(token)}"
        remedy = "strip it, such as by .strip()" if token.strip() == UNSENDABLE.sub("", token) else "copy it again"
        raise ValueError(f"{name} has a character that a token cannot have: {what} ({place}); {remedy}")
    return token


def without_secrets(url: str) -> str:
    """Return a URL for messages: without user, password, query and fragment."""
    return _QUERY.sub("", _USER.sub("//", url, count=1))


def trusted_certificates(verify: Verify) -> ssl.SSLContext:
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
        problem = "has no certificates in PEM form" if isinstance(error, ssl.SSLError) else "cannot be read"
        what = f"{os.fspath(verify)!r} {problem} ({error.strerror or error})"
        raise type(error)(f"verify={what}; name the file with your authority's certificate") from None
