"""Entity tags (RFC 9110): ETag in responses, If-Match and If-None-Match in requests."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

_TAG = re.compile(r'"([^"]*)"')


def tags_in(header: str) -> frozenset[str]:
    """Return the tags in If-Match or If-None-Match, without quotation marks and without the prefix of weak tags, which
    compressed responses have."""
    return frozenset(_TAG.findall(header))


def content_tag(text: str) -> str:
    """Return the tag of a representation: a hash of its JSON."""
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest()


def identity_tag(created_at: datetime, seed: int) -> str:
    """Return a tag that differs between a study and a later one with the same id, but not between a study and its
    restored or imported copy."""
    return hashlib.blake2b(f"{created_at.timestamp():.6f} {seed}".encode(), digest_size=4).hexdigest()


def revision_tag(created_at: datetime, seed: int, revision: int) -> str:
    """Return the tag of a revision of a study: the revision, and the ``identity_tag`` of the study."""
    return f"{revision}.{identity_tag(created_at, seed)}"


def study_tag(revision: str, text: str) -> str:
    """Return the tag of a study's representation, from that of its revision and its JSON."""
    return f"{revision}.{content_tag(text)}"


def revisions_in(tags: frozenset[str]) -> frozenset[str]:
    """Return the tags of revisions in tags of studies, without the hash of the representation."""
    return frozenset(tag.rpartition(".")[0] if tag.count(".") == 2 else tag for tag in tags)
