"""What the server answers about who may do what, and about deleted studies, as frozen records."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Access:
    """Whose a study is, and with whom it is shared: "read" or "work" by user, of whom "*" is everybody.

    A study without an owner is visible to administrators only, where the server asks for tokens.
    """

    owner: str | None
    shared_with: dict[str, Any]


@dataclass(frozen=True)
class Link:
    """A token that reads one study: give it to whoever is to see the study. ``id`` is for taking it back."""

    id: str
    token: str = field(repr=False)
    expires_at: datetime | None


@dataclass(frozen=True)
class Deletion:
    """A study in the trash, which ``purged_at`` deletes for good."""

    deletion: int
    study: str
    owner: str | None
    results: int
    deleted_by: str | None
    deleted_at: datetime
    purged_at: datetime
