"""The user name and the scope of a person, from the claims of an OpenID Connect provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.errors import LoginRefused, shortened, shown
from adabkb_service.identity.config import ProviderConfig
from adabkb_service.storage.tokens import Scope

USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}")
"""User names, as in tokens."""
MAX_SUBJECT_LENGTH = 255
MAX_NAME_LENGTH, MAX_EMAIL_LENGTH = 200, 320
SHOWN_GROUPS = 10
LARGEST_FIRST: tuple[Scope, ...] = ("admin", "work", "read")


@dataclass(frozen=True, slots=True)
class Identity:
    """A person whom a provider has authenticated, and the scope of their groups."""

    issuer: str
    subject: str
    user: str
    """The user name, in studies and shares, unless the person already has one."""
    name: str
    email: str | None
    scope: Scope


def identify(claims: Mapping[str, Any], config: ProviderConfig) -> Identity:
    """Return the person whom verified claims describe.

    Raises:
        LoginRefused: the claims lack a usable subject or user name, the email address that serves as the user name is
            not verified, or none of the person's groups may use the server.
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
        raise LoginRefused(f"The provider sent no usable subject: {shown(subject)}.", "login: no subject")
    user = _user(claims, config)
    email = claims.get("email")
    email = email if isinstance(email, str) and len(email) <= MAX_EMAIL_LENGTH else None
    name = claims.get("name")
    name = shortened(name, MAX_NAME_LENGTH) if isinstance(name, str) and name.strip() else user
    return Identity(config.issuer, subject, user, name, email, _scope(claims, config, user))


def _user(claims: Mapping[str, Any], config: ProviderConfig) -> str:
    user = found_at(claims, config.user_claim)
    if not isinstance(user, str) or USER.fullmatch(user) is None:
        raise LoginRefused(
            f"The claim {config.user_claim!r} of the provider is {shown(user)}, but a user name may only have "
            "letters, digits and @ . _ + -, and at most 100 characters. An administrator can choose another claim "
            "with the setting oidc_user_claim, or let the provider send this one (the setting oidc_scopes).",
            "login: no user name",
        )
    if config.user_claim == "email" and claims.get("email_verified") is not True:
        raise LoginRefused(
            f"The provider does not confirm that the address {user} is yours (the claim email_verified). Confirm it "
            "there, and log in again.",
            "login: email not verified",
        )
    return user


def _scope(claims: Mapping[str, Any], config: ProviderConfig, user: str) -> Scope:
    groups = _groups(claims, config)
    for scope in LARGEST_FIRST:
        if groups & config.groups.get(scope, frozenset()):
            return scope
    if config.default_scope is not None:
        return config.default_scope
    listed = ", ".join(sorted(groups)[:SHOWN_GROUPS]) + (", ..." if len(groups) > SHOWN_GROUPS else "")
    reason = f"your groups are {shortened(listed, 500)}" if groups else "it names no groups of yours"
    raise LoginRefused(
        f"The provider knows you as {user}, but none of your groups may use this server; {reason} (the claim "
        f"{config.groups_claim!r}). Ask an administrator of this server to admit one of your groups (the settings "
        "oidc_read_groups, oidc_work_groups and oidc_admin_groups), or one of the provider to add you to a group.",
        "login: no group",
    )


def _groups(claims: Mapping[str, Any], config: ProviderConfig) -> frozenset[str]:
    found = found_at(claims, config.groups_claim)
    listed = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(each for each in listed if isinstance(each, str))


def found_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim called ``name`` or, without one, the nested claim at this path of names, separated by dots; None
    if there is neither."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for step in name.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
