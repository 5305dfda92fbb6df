"""The sender of a request, and what a route requires of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adabkb_service.access.quotas import Quotas
from adabkb_service.storage.grants import Right
from adabkb_service.storage.tokens import Scope

Need = Literal["read", "work", "own", "admin"]
"""What a route needs: to read, to work on a study, to own the study, or to administer the server."""

SCOPES: dict[Scope, int] = {"read": 1, "work": 2, "admin": 3}
"""A scope includes those before it."""
RIGHTS: dict[Right, int] = {"read": 1, "work": 2, "own": 3}
"""Likewise."""
SCOPE_FOR: dict[Need, Scope] = {"read": "read", "work": "work", "own": "work", "admin": "admin"}
"""The scope that a token has to have."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request."""

    user: str | None
    """None without a token."""
    scope: Scope
    """The largest of the token."""
    studies: tuple[str, ...] | None = None
    """Ids, and beginnings of ids with a * behind, that the token is restricted to; None for no restriction."""
    token: str | None = None
    """The id of the token."""
    quotas: Quotas | None = None
    """None if nothing is limited."""
    address: str = ""
    """Where the request comes from."""
    payer: str = ""
    """Whose rates the requests use up: the id of a token with quotas of its own, else the user."""
    is_link: bool = False
    """Whether the token is a link: it reads its study, and nothing of its owner's."""

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed."""
        return self.scope == "admin"

    def has(self, scope: Scope) -> bool:
        """Whether the token has a scope, or a larger one."""
        return SCOPES[self.scope] >= SCOPES[scope]

    def reaches(self, study_id: str) -> bool:
        """Whether the token is good for a study of this id."""
        return self.studies is None or any(_fits(pattern, study_id) for pattern in self.studies)


ANYBODY = Caller(user=None, scope="admin")
"""The sender of any request, where a server asks for no tokens."""


def _fits(pattern: str, study_id: str) -> bool:
    return study_id.startswith(pattern[:-1]) if pattern.endswith("*") else study_id == pattern


def is_enough(rights: list[Right], need: Need) -> bool:
    """Whether somebody with these rights to a study has the one that is needed."""
    return any(RIGHTS[right] >= RIGHTS["own" if need == "admin" else need] for right in rights)
