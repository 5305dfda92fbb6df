"""Tokens as text: ``adabkb_``, a public id, and a secret.

Only the SHA-256 of a token is stored. Slow hashes such as argon2 protect passwords, which can be guessed; 256 random
bits cannot be guessed, and a slow hash would delay every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

_TOKEN = re.compile(r"adabkb_([0-9a-f]{12})_[0-9a-f]{64}")


class MintedToken(NamedTuple):
    """A new token."""

    id: str
    token: str
    """The whole token, with its secret. It is shown only once."""


def mint(token_id: str | None = None) -> MintedToken:
    """Return a new random token. Its id, 12 hexadecimal digits, is random unless given."""
    token_id = token_id or secrets.token_hex(6)
    return MintedToken(token_id, f"adabkb_{token_id}_{secrets.token_hex(32)}")


def id_of(token: str) -> str | None:
    """Return the id in a token; None if the text is not a token."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else found[1]


def digest(token: str) -> str:
    """Return the stored form of a token: its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_same(digest_stored: str, token: str) -> bool:
    """Return whether a digest is that of a token; the comparison takes constant time."""
    return hmac.compare_digest(digest_stored, digest(token))
