"""The cookie of a login, from the redirect to the provider until the browser returns."""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Self
from urllib.parse import urlsplit

from adabkb_service.errors import LoginFailed

LOGIN_TIMEOUT_SECONDS = 600
"""The maximum time from the redirect to the provider until the browser returns."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{40,100}")
_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1999}")
"""Visible ASCII without backslashes, which some browsers read as slashes."""
AGAIN = "Log in again."


@dataclass(frozen=True, slots=True)
class Login:
    """A login that has begun in one browser."""

    state: str
    """Returned by the provider, so that this browser cannot complete somebody else's login."""
    nonce: str
    """Repeated in the ID token, so that somebody else's token is not accepted."""
    verifier: str
    """The PKCE verifier, without which the provider does not exchange the authorization code."""
    next: str
    """Path of the page that is shown after the login."""

    @classmethod
    def begin(cls, target: str) -> Self:
        """Begin a login that leads to ``target`` if this is a path of this server, otherwise to the first page."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, local_path(target))

    @classmethod
    def read(cls, cookie: str | None, state: str) -> Self:
        """Return the login in a cookie, if its state is the one that the provider has returned.

        Raises:
            LoginFailed: the login was not begun in this browser, is over, or took too long.
        """
        login = None if cookie is None else cls._parsed(cookie)
        if login is None or not hmac.compare_digest(login.state.encode(), state.encode()):
            raise LoginFailed(
                f"This login was not begun in this browser, has ended, or took more than {LOGIN_TIMEOUT_SECONDS // 60} "
                f"minutes. If you began a later login in another tab, complete that one. {AGAIN}",
                "login: state",
            )
        return login

    @classmethod
    def _parsed(cls, cookie: str) -> Self | None:
        try:
            found = json.loads(base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4)))
            login = cls(**found)
        except (ValueError, TypeError, RecursionError):
            return None
        texts = [login.state, login.nonce, login.verifier]
        is_valid = all(isinstance(each, str) and _TOKEN.fullmatch(each) for each in texts)
        return login if is_valid and isinstance(login.next, str) else None

    @property
    def cookie(self) -> str:
        """The value of the cookie."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")


def local_path(target: str) -> str:
    """Return ``target`` if it is a path (with a query) on this host; otherwise the path of the first page."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "/"
    is_local = not parts.scheme and not parts.netloc and _PATH.fullmatch(target) is not None
    return target if is_local else "/"
