"""How the server uses an OpenID Connect provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adabkb_service.storage.tokens import Scope


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """An OpenID Connect provider, and the rights of the people who log in there."""

    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    """None for a public client, which PKCE alone protects."""
    scopes: str
    """Separated by spaces; with ``openid``."""
    label: str
    """The provider's name on the button of the login page."""
    user_claim: str
    groups_claim: str
    """Names of nested objects are separated by dots, as in ``realm_access.roles``."""
    groups: Mapping[Scope, frozenset[str]]
    """Scope -> groups whose members get it."""
    default_scope: Scope | None
    """Scope of everybody else; None if they may not log in."""
    session_hours: float
    seconds: float
    """Time limit of all exchanges of one login, or of one discovery."""
