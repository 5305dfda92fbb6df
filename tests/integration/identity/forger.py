"""A malicious or broken provider: each test sets how its answers are wrong."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.integration.identity.providers import CLIENT, new_key

KEY, STRANGERS = new_key(), new_key()
"""The provider's key, and a foreign one."""


@dataclass
class Forger:
    """The answers of the provider, which a test changes before a request."""

    issuer: str
    metadata: dict[str, Any] = field(default_factory=dict)
    """Replaces parts of the metadata."""
    claims: dict[str, Any] = field(default_factory=dict)
    """Replaces claims of the next ID token; None removes one."""
    algorithm: str = "RS256"
    key: RSAKey = field(default_factory=lambda: KEY)
    id_token: str | None = None
    """Replaces the signed ID token."""
    status: int = 200
    body: bytes | None = None
    """Replaces the body of each answer."""
    userinfo: dict[str, Any] = field(default_factory=dict)
    nonce: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    """Forms that the token endpoint received."""

    def change(self, **answers: Any) -> None:
        """Change the answers from now on."""
        vars(self).update(answers)

    def answer(self, path: str) -> Mapping[str, Any]:
        """The document of a path."""
        if path == "/.well-known/openid-configuration":
            found = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
            }
            return {name: value for name, value in (found | self.metadata).items() if value is not None}
        if path == "/keys":
            return {"keys": [KEY.as_dict(private=False), {"kty": "of the future", "kid": "x"}]}
        if path == "/userinfo":
            return self.userinfo
        return {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token or self.signed()}

    def signed(self) -> str:
        """An ID token for the nonce."""
        now = int(time.time())
        right = {
            "iss": self.issuer,
            "sub": "1001",
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
            "preferred_username": "ann",
            "groups": ["chemists"],
        }
        claims = {name: value for name, value in (right | self.claims).items() if value is not None}
        if self.algorithm == "none":
            parts = [{"alg": "none"}, claims]
            return ".".join(
                [*(urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts), ""]
            )
        header = {"alg": self.algorithm, "kid": KEY.kid}
        if self.algorithm == "HS256":  # with the public key as the shared secret
            signed = f"{_encoded(header)}.{_encoded(claims)}"
            secret = KEY.as_pem(private=False)
            return f"{signed}.{_text(hmac.digest(secret, signed.encode(), hashlib.sha256))}"
        return jwt.encode(header, claims, self.key)


def _encoded(part: Mapping[str, Any]) -> str:
    return _text(json.dumps(part).encode())


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


@contextmanager
def forging() -> Iterator[Forger]:
    """The provider, on a free port."""
    holder: list[Forger] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send()

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            holder[0].asked.append({name: values[0] for name, values in form.items()})
            self._send()

        def _send(self) -> None:
            body = holder[0].body
            content = json.dumps(holder[0].answer(self.path)).encode() if body is None else body
            self.send_response(holder[0].status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Do not log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        holder.append(Forger(f"http://127.0.0.1:{server.server_address[1]}"))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield holder[0]
        finally:
            server.shutdown()
            thread.join()
