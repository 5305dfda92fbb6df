"""The schema. ``events`` is the truth. Cells and dictionary are computed from it, and stored to restore models quickly.

The rows below a study refer to its container, and so does the study itself. So a study of any size disappears when one
row of ``studies`` is deleted, and ``removal`` deletes the rest in many short transactions. Types are portable: the same
migrations run on SQLite and PostgreSQL.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time; SQLite, which has no time zones, keeps it naive."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware again, whatever zone the session is in."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


def _number(name: str) -> Column[int]:
    """Rising in order of creation."""
    return Column(name, BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


def _study_key() -> Column[str]:
    return Column("study_id", String(100), ForeignKey("containers.id", ondelete="CASCADE"), primary_key=True)


containers = Table(
    "containers",
    metadata,
    Column("id", String(100), primary_key=True),  # that of the study; of a deletion's content, a drawn one
    Column("writer", String(32)),  # who writes or removes the content; null while a study or a deletion has it
    Column("removable_at", UtcDateTime, index=True),  # when another server may remove the content; null likewise
)

studies = Table(
    "studies",
    metadata,
    Column("id", String(100), ForeignKey("containers.id"), primary_key=True),
    Column("definition", JSON, nullable=False),  # as created, but for edits of its space; columns below are newer
    Column("seed", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("budget", Integer),
    Column("tolerance", Double),
    Column("pending_limit", Integer),
    Column("lease_seconds", Double, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("study_seq", Integer, nullable=False),  # last event: the study's revision
    Column("model_seq", Integer, nullable=False),  # last event that cells, dictionary and checkpoint include
    Column("model", JSON(none_as_null=True)),  # the model's latest figures: gap, leaves, ...
    Column("model_error", Text),  # why the model cannot follow the log; null if it can
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False, index=True),
    # Numbers of trials by state, and of observations. They are updated with each change, so nothing counts rows.
    _count("active"),
    _count("queued"),
    _count("released"),
    _count("expired"),
    _count("completed"),
    _count("failed"),
    _count("observations"),
    _count("failures"),  # trials that failed one after the other, up to the last one
    Column("best", JSON(none_as_null=True)),  # the best result that counts: parameters, value, trial
    Column("failure_limit", Integer),
    Column("max_runtime_seconds", Double),
    Column("incarnation", String(32), nullable=False, server_default=""),  # drawn at random when the study is created
    Column("version", Integer, nullable=False, server_default="0"),  # grows by one with every commit of a request
    Column("engine_revision", Integer, nullable=False, server_default="1"),  # number of the rules that decisions follow
    Column("checkpoint", JSON(none_as_null=True)),  # the model's last checkpoint, as of ``model_seq``
    Column("stop", JSON(none_as_null=True)),  # the rules by which the study ends before its budget
    Column("results_since_best", Integer, nullable=False, server_default="0"),  # observations after the best one
    _count("stopped"),  # trials, as above
    Column("steps_saved", BigInteger, nullable=False, server_default="0"),  # that stopped trials did not take
    Column("log_bytes", BigInteger, nullable=False, server_default="0"),  # of the payloads of its events, as JSON
    Column("cost_spent", Double, nullable=False, server_default="0"),  # by all its results, excluded ones too
    Index(None, "created_at", "id"),
)

trials = Table(
    "trials",
    metadata,
    _study_key(),
    Column("number", Integer, primary_key=True),
    Column("state", String(20), nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("origin", String(20), nullable=False),
    Column("cell", Text),  # key of the cell whose centroid it is
    Column("worker", Text),
    Column("attempt", Integer, nullable=False),  # leases so far; 0: queued, never leased
    Column("expirations", Integer, nullable=False),  # how many of them ran out
    Column("lease_seconds", Double, nullable=False),
    Column("leased_until", UtcDateTime),
    Column("value", Double),  # the first result
    Column("failed_attempt", Integer),  # the attempt that reported the failure
    Column("reason", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("started_at", UtcDateTime),  # the current attempt
    Column("attributes", JSON, nullable=False, server_default="{}"),  # the user's own, by name
    Column("phase", String(20)),  # what the suggestion is for
    Column("expected", JSON(none_as_null=True)),  # what the model predicted at the point
    Column("curve", JSON(none_as_null=True)),  # what the reports of the current attempt have come to
    Column("estimate", JSON(none_as_null=True)),  # of a stopped trial: the value that was to be expected at the end
    Column("metrics", JSON(none_as_null=True)),  # of the first result
    Index(None, "study_id", "state", "number"),
    Index(None, "study_id", "state", "leased_until"),
    Index("ix_trials_leases", "state", "leased_until"),
)

observations = Table(
    "observations",
    metadata,
    _study_key(),
    Column("seq", Integer, primary_key=True),
    Column("trial", Integer),
    Column("attempt", Integer),
    Column("parameters", JSON, nullable=False),
    Column("value", Double),  # null in a study with several objectives, which are metrics
    Column("std_error", Double),
    Column("excluded", Boolean, nullable=False),
    Column("observed_at", UtcDateTime, nullable=False),
    Column("metrics", JSON(none_as_null=True)),  # what else was measured, by name; null in a study without metrics
    Column("std_errors", JSON(none_as_null=True)),  # of metrics, where known
    ForeignKeyConstraint(["study_id", "trial"], ["trials.study_id", "trials.number"]),
    Index(None, "study_id", "trial"),
    Index(None, "study_id", "excluded", "value"),
)

reports = Table(
    "reports",
    metadata,
    _study_key(),
    Column("trial", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("value", Double, nullable=False),
    Column("mark", Integer),  # at which the rule of the study compares it with others
    Column("reported_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["study_id", "trial"], ["trials.study_id", "trials.number"]),
    Index(None, "study_id", "mark", "trial"),
)

events = Table(
    "events",
    metadata,
    _study_key(),
    Column("seq", Integer, primary_key=True),  # 1, 2, 3, ... without gaps
    Column("kind", String(20), nullable=False),
    Column("trial", Integer),
    Column("payload", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "study_id", "trial"),
)

cells = Table(
    "cells",
    metadata,
    _number("id"),  # in this order the engine's tie rule restores a tree
    Column("study_id", String(100), ForeignKey("containers.id", ondelete="CASCADE"), nullable=False),
    Column("key", String(2000), nullable=False),
    Column("depth", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    UniqueConstraint("study_id", "key"),
    Index(None, "study_id", "id"),
)

dictionary = Table(
    "dictionary",
    metadata,
    _study_key(),
    Column("ordinal", Integer, primary_key=True),  # of a point, in order of first observation
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("scope", String(100), primary_key=True),  # the study of the path; "" where a study is created
    Column("key", String(255), primary_key=True),
    Column("study_id", String(100), ForeignKey("containers.id", ondelete="CASCADE"), nullable=False),
    Column("fingerprint", String(64), nullable=False),  # of method, path and body
    Column("answer", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
    Index(None, "study_id", "scope", "key"),
)

files = Table(
    "files",
    metadata,
    _study_key(),
    Column("number", Integer, primary_key=True),  # 1, 2, 3, ... in order of addition
    Column("trial", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", String(100), nullable=False),
    Column("size", BigInteger, nullable=False),  # in bytes
    Column("digest", String(64), nullable=False),  # SHA-256 of the content
    Column("user", String(100)),  # who added it
    Column("created_at", UtcDateTime, nullable=False),
    Column("content", LargeBinary, nullable=False),
    ForeignKeyConstraint(["study_id", "trial"], ["trials.study_id", "trials.number"]),
    Index(None, "study_id", "trial"),
)

webhooks = Table(
    "webhooks",
    metadata,
    _study_key(),
    Column("id", String(12), primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", String(100), nullable=False),  # with which messages are signed
    Column("notifications", JSON, nullable=False),  # that it wants
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_seq", Integer, nullable=False),  # last event that was delivered, or that it does not want
    Column("is_on", Boolean, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),  # when it is looked at next; a server that sends puts it off
    Column("attempts", Integer, nullable=False),  # that failed since the last success
    Column("failing_since", UtcDateTime),
    Column("error", Text),  # of the last attempt; null after a success
    Column("delivered", Integer, nullable=False),  # messages so far
    Column("delivered_at", UtcDateTime),
    Index(None, "is_on", "due_at"),
)

retention_cutoffs = Table(
    "retention_cutoffs",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("at", UtcDateTime, nullable=False),  # only what is older is forgotten
)

# Who may do what.

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(12), primary_key=True),  # the part of the token that is no secret
    Column("digest", String(64), nullable=False),  # SHA-256 of the token
    Column("user", String(100), nullable=False, index=True),
    Column("name", String(100), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("studies", JSON(none_as_null=True)),  # ids, and beginnings of ids with a * behind; null for all studies
    Column("link", String(100), index=True),  # the study that it is a link to
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("used_at", UtcDateTime),  # to the minute
    Column("quotas", JSON(none_as_null=True)),  # by name; those that are absent are the server's defaults
    Index(None, "created_at", "id"),
)

grants = Table(
    "grants",
    metadata,
    _study_key(),
    Column("user", String(100), primary_key=True, index=True),  # "*" for everybody
    Column("right", String(10), nullable=False),
)

trash = Table(
    "trash",
    metadata,
    _number("id"),
    Column("study_id", String(100), nullable=False, index=True),
    Column("owner", String(100), index=True),
    Column("rights", JSON, nullable=False),  # the grants of the study, by user
    Column("results", Integer, nullable=False),
    Column("deleted_by", String(100)),
    Column("deleted_at", UtcDateTime, nullable=False, index=True),
    Column("container", String(100), ForeignKey("containers.id"), nullable=False, index=True),  # of its content
    Column("bytes", BigInteger, nullable=False),  # of its content
)

parts = Table(
    "parts",
    metadata,
    Column("container", String(100), ForeignKey("containers.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),  # from 0
    Column("content", LargeBinary, nullable=False),  # together: the export of a deleted study, compressed by gzip
)

audit = Table(
    "audit",
    metadata,
    _number("id"),
    Column("at", UtcDateTime, nullable=False, index=True),
    Column("action", String(50), nullable=False),
    Column("subject", String(200), nullable=False),  # the study, the token or the reason
    Column("user", String(100)),
    Column("token", String(12)),  # its id
    Column("address", String(100), nullable=False),
    Column("detail", JSON, nullable=False),
    Column("count", Integer, nullable=False),  # how often since the last row like this
)

servers = Table(
    "servers",
    metadata,
    Column("id", String(32), primary_key=True),  # a secret: see ``peers``
    Column("version", String(100), nullable=False),  # of the program
    Column("is_model_worker", Boolean, nullable=False),  # follows studies without serving HTTP
    Column("seen_at", UtcDateTime, nullable=False),  # while other servers are there
    Column("process", Integer, nullable=False),  # of PostgreSQL, that has the server's connection
    Column("started_at", UtcDateTime, nullable=False),  # when that process began
    Column("is_leaving", Boolean, nullable=False),
)
"""Servers that run. The rows mean nothing once these have stopped, so no copy of a database has them."""
