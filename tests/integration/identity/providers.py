"""OpenID Connect providers for the tests: a certified one, and a malicious one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joserfc.jwk import RSAKey

from tests.acceptance.page.browser import packages
from tests.servers import free_port
from tools.npm import NODE

PROGRAM = Path(__file__).with_name("provider.mjs")
CLIENT = "adabkb"
SECRET = "a secret of the client, which is at least that long"
PEOPLE: dict[str, dict[str, Any]] = {
    "1001": {"preferred_username": "ann", "name": "Ann Lee", "email": "ann@lab.example", "groups": ["chemists"]},
    "1002": {"preferred_username": "ben", "name": "Ben Ott", "email": "ben@lab.example", "groups": ["it"]},
    "1003": {"preferred_username": "eve", "name": "Eve Roe", "email": "eve@lab.example", "groups": ["guests", "sales"]},
    "1004": {"preferred_username": "dot", "name": "Dot Kay", "email": "dot@lab.example", "groups": ["readers"]},
    "2001": {"preferred_username": "ann", "name": "Another Ann", "groups": ["chemists"]},
    "2002": {"preferred_username": "Ann Lee", "groups": ["chemists"]},
}
"""By subject, which is also the user name in the login form."""


def new_key() -> RSAKey:
    """A key that signs ID tokens."""
    return RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)


@dataclass
class Certified:
    """The program of ``provider.mjs`` at a port that stays the same after a restart."""

    redirects: list[str]
    """The registered redirect URIs."""
    key: RSAKey = field(default_factory=new_key)
    port: int = field(default_factory=free_port)
    claims_in_token: bool = False
    """Whether the ID token has all claims; otherwise they are at the userinfo endpoint."""
    has_logout: bool = True

    @property
    def issuer(self) -> str:
        """The issuer's URL."""
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it within the block."""
        config = {
            "port": self.port,
            "people": PEOPLE,
            "key": self.key.as_dict(private=True),
            "claims": self.claims_in_token,
            "endSession": self.has_logout,
            "client": {
                "client_id": CLIENT,
                "client_secret": SECRET,
                "redirect_uris": [f"{each}/login/oidc/callback" for each in self.redirects],
                "post_logout_redirect_uris": [f"{each}/login" for each in self.redirects],
            },
        }
        command = [str(NODE), str(PROGRAM), str(packages()), json.dumps(config)]
        environment = {**os.environ, "NODE_ENV": "test"}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                assert process.stdout is not None
                lines = []
                for line in process.stdout:
                    lines.append(line)
                    if line == "listening\n":
                        break
                else:
                    raise RuntimeError("".join(lines))
                yield
            finally:
                process.terminate()
                process.wait(60)


def settings(issuer: str, **more: Any) -> dict[str, Any]:
    """The settings of a server that uses a provider."""
    return {
        "oidc_issuer": issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_admin_groups": "it",
        "oidc_work_groups": "chemists, physicists",
        "oidc_read_groups": "readers",
        **more,
    }
