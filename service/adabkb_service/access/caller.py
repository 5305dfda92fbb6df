"""The sender of a request, and the rights that a route requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adabkb_service.access.quotas import Quotas
from adabkb_service.storage.grants import Right
from adabkb_service.storage.people import PersonRow
from adabkb_service.storage.tokens import Scope

Need = Literal["read", "work", "own", "admin"]
"""The right that a route requires: to read, to work on a study, to own it, or to administer the server."""

SCOPES: dict[Scope, int] = {"read": 1, "work": 2, "admin": 3}
"""A scope includes those before it."""
RIGHTS: dict[Right, int] = {"read": 1, "work": 2, "own": 3}
"""A right includes those before it."""
SCOPE_FOR: dict[Need, Scope] = {"read": "read", "work": "work", "own": "work", "admin": "admin"}
"""The scope that a token must have for each right."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request."""

    user: str | None
    """None without a token."""
    scope: Scope
    """Highest scope of the token."""
    studies: tuple[str, ...] | None = None
    """Study ids, or prefixes of ids followed by ``*``, that the token is restricted to; None for no restriction."""
    token: str | None = None
    """Id of the token."""
    quotas: Quotas | None = None
    """None without limits."""
    address: str = ""
    """Network address of the sender."""
    payer: str = ""
    """Key by which rate limits count requests: the id of the token if it has its own quotas, else the user."""
    is_link: bool = False
    """Whether the token is a read-only link to one study, without access to its owner's other data."""
    person: PersonRow | None = None
    """The person who logged in by OpenID Connect, if the token is a session."""

    @property
    def is_admin(self) -> bool:
        """Whether the caller may do everything on all studies."""
        return self.scope == "admin"

    def has(self, scope: Scope) -> bool:
        """Return whether the token includes a scope."""
        return SCOPES[self.scope] >= SCOPES[scope]

    def reaches(self, study_id: str) -> bool:
        """Return whether the token's restriction includes this study."""
        return self.studies is None or any(_fits(pattern, study_id) for pattern in self.studies)


ANYBODY = Caller(user=None, scope="admin")
"""The sender of every request if authentication is disabled."""


def _fits(pattern: str, study_id: str) -> bool:
    return study_id.startswith(pattern[:-1]) if pattern.endswith("*") else study_id == pattern


def is_enough(rights: list[Right], need: Need) -> bool:
    """Return whether these rights to a study include the required one. ``admin`` is a scope of the token, which the
    gate checks; of the rights to a study, it requires ``own``."""
    return any(RIGHTS[right] >= RIGHTS["own" if need == "admin" else need] for right in rights)
