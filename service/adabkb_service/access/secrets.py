"""Tokens as texts: ``adabkb_``, an id that lists and logs may show, and a secret.

Only the SHA-256 of a token is stored. Slow hashes such as argon2 protect passwords, which people choose and others can
guess; nobody guesses 256 random bits, and each request would pay for the slowness.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

_TOKEN = re.compile(r"adabkb_([0-9a-f]{12})_[0-9a-f]{64}")


class Minted(NamedTuple):
    """A new token."""

    id: str
    token: str
    """With the secret; shown once."""


def mint(token_id: str | None = None) -> Minted:
    """Draw a token; its id, too, unless it is given: 12 hexadecimal digits."""
    token_id = token_id or secrets.token_hex(6)
    return Minted(token_id, f"adabkb_{token_id}_{secrets.token_hex(32)}")


def id_of(token: str) -> str | None:
    """The id in a token, None if it does not have the form of one."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else found[1]


def digest(token: str) -> str:
    """What is stored of a token: its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_same(digest_stored: str, token: str) -> bool:
    """Whether a digest is that of a token, in a time that does not tell how much of it is right."""
    return hmac.compare_digest(digest_stored, digest(token))
