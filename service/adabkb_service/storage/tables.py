"""The schema. The log in ``events`` is authoritative. Cells and dictionary are derived from it, and stored so that
models can be restored quickly.

Each study has a container: a row to which its content (trials, events, ...) and its row in ``studies`` refer. To delete
a study of any size, its row in ``studies`` is deleted first, which makes it unreadable; ``removal`` then deletes its
content in many short transactions. All types are portable, so that the same migrations run on SQLite and PostgreSQL.
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
    false,
    text,
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
    """An aware UTC time. SQLite has no time zones, and stores it as a naive time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to an aware UTC time, whatever the session's time zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


def _number(name: str) -> Column[int]:
    """A number that increases in order of creation. On SQLite, a table with numbers that users see also needs
    ``sqlite_autoincrement``; without it, the number of the last row is used again after its deletion."""
    return Column(name, BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


def _by_plate(number: str) -> Index:
    """An index of the rows that have a plate, with the column of their number."""
    has_plate = text("plate IS NOT NULL")
    return Index(None, "study_id", "plate", number, sqlite_where=has_plate, postgresql_where=has_plate)


def _study_key() -> Column[str]:
    return Column("study_id", String(100), ForeignKey("containers.id", ondelete="CASCADE"), primary_key=True)


containers = Table(
    "containers",
    metadata,
    Column("id", String(100), primary_key=True),  # a study's id; a random id for the content of a deleted study
    Column("writer", String(32)),  # who writes or removes the content; null while in use
    Column("removable_at", UtcDateTime, index=True),  # when another server may remove the content; null while in use
)

studies = Table(
    "studies",
    metadata,
    Column("id", String(100), ForeignKey("containers.id"), primary_key=True),
    Column("definition", JSON, nullable=False),  # with edits of the space; the current limits are in columns below
    Column("seed", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("budget", JSON(none_as_null=True)),  # a number of trials, or {"plates": 3}; null without either
    Column("tolerance", Double),
    Column("pending_limit", Integer),
    Column("lease_seconds", Double, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("study_seq", Integer, nullable=False),  # seq of the last event: the study's revision
    Column("model_seq", Integer, nullable=False),  # seq of the last event in cells, dictionary and checkpoint
    Column("model", JSON(none_as_null=True)),  # statistics of the model: gap, leaves, ...
    Column("model_error", Text),  # why the model failed to fold the log or to decide; null if it did not
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False, index=True),
    # Numbers of trials in each state, and of observations. Each change updates them, so that no query counts rows.
    _count("active"),
    _count("queued"),
    _count("released"),
    _count("expired"),
    _count("completed"),
    _count("failed"),
    _count("observations"),
    _count("failures"),  # consecutive failures, up to the latest trial that ended
    Column("best", JSON(none_as_null=True)),  # the best result: parameters, value, trial
    Column("failure_limit", Integer),
    Column("max_runtime_seconds", Double),
    Column("incarnation", String(32), nullable=False, server_default=""),  # random, drawn at creation
    Column("version", Integer, nullable=False, server_default="0"),  # increases with every commit of a request
    Column("engine_revision", Integer, nullable=False, server_default="1"),  # version of the decision rules
    Column("checkpoint", JSON(none_as_null=True)),  # the model's last checkpoint, as of ``model_seq``
    Column("stop", JSON(none_as_null=True)),  # stopping rules
    Column("results_since_best", Integer, nullable=False, server_default="0"),  # observations after the best one
    _count("stopped"),  # number of trials in this state
    Column("steps_saved", BigInteger, nullable=False, server_default="0"),  # steps that stopped trials did not take
    Column("log_bytes", BigInteger, nullable=False, server_default="0"),  # size of the payloads of its events, as JSON
    # The cost of all results, including excluded ones, and of stopped trials without a result.
    Column("cost_spent", Double, nullable=False, server_default="0"),
    # The last plate: its number, its number of trials, and its shared values while it is open. Also the number of begun
    # plates, and the largest number of a plate that a result without a trial names.
    Column("plate", JSON(none_as_null=True)),
    _count("withdrawn"),  # number of trials in this state
    Column("title", String(200)),
    Column("description", Text),
    _count("own_failures"),  # failures reported without a trial; they do not count towards the budget
    _count("last_file"),  # largest number that a file has had, so that no number is used again after a deletion
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
    Column("cell", Text),  # key of the cell whose centroid is the point
    Column("worker", Text),
    Column("attempt", Integer, nullable=False),  # leases so far; 0: queued, never leased
    Column("expirations", Integer, nullable=False),  # how many of these leases expired
    Column("lease_seconds", Double, nullable=False),
    Column("leased_until", UtcDateTime),
    Column("value", Double),  # the first result
    Column("failed_attempt", Integer),  # attempt that failed
    Column("reason", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("started_at", UtcDateTime),  # start of the current attempt
    Column("attributes", JSON, nullable=False, server_default="{}"),  # set by users, by name
    Column("phase", String(20)),  # purpose of the suggestion
    Column("expected", JSON(none_as_null=True)),  # prediction of the model at the point
    Column("curve", JSON(none_as_null=True)),  # summary of the current attempt's reports
    Column("estimate", JSON(none_as_null=True)),  # expected final value of a stopped trial
    Column("metrics", JSON(none_as_null=True)),  # metrics of the first result
    Column("plate", Integer),  # number of its plate, in a study with plates
    Column("seconds", Double),  # duration of the evaluation that ended the trial
    Column("reported_by", Text),  # user who reported its result or failure; null without tokens
    Index(None, "study_id", "state", "number"),
    _by_plate("number"),
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
    Column("value", Double),  # null with several objectives, which are metrics, and while it is missing
    Column("std_error", Double),
    Column("excluded", Boolean, nullable=False),
    Column("observed_at", UtcDateTime, nullable=False),
    Column("metrics", JSON(none_as_null=True)),  # other measured values, by name; null in a study without metrics
    Column("std_errors", JSON(none_as_null=True)),  # of metrics, where known
    Column("plate", Integer),  # number of the plate that a result without a trial names
    Column("seconds", Double),  # duration of the evaluation, where known
    Column("attributes", JSON, nullable=False, server_default="{}"),  # of a result without a trial, set by users
    Column("reported_by", Text),  # user who reported it; null without tokens
    ForeignKeyConstraint(["study_id", "trial"], ["trials.study_id", "trials.number"]),
    Index(None, "study_id", "trial"),
    Index(None, "study_id", "excluded", "value"),
    _by_plate("seq"),
)

reports = Table(
    "reports",
    metadata,
    _study_key(),
    Column("trial", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("value", Double, nullable=False),
    Column("mark", Integer),  # the mark of the early-stopping rule that it reaches (asha: 1, 3, 9, ...), or null
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
    _number("id"),  # order of creation; trees are restored in this order, because it decides ties
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
    Column("ordinal", Integer, primary_key=True),  # number of a distinct point, in order of first observation
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("scope", String(100), primary_key=True),  # the study; "" for the creation of a study
    Column("key", String(255), primary_key=True),
    Column("study_id", String(100), ForeignKey("containers.id", ondelete="CASCADE"), nullable=False),
    Column("fingerprint", String(64), nullable=False),  # hash of method, path, query and body
    Column("answer", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
    Index(None, "study_id", "scope", "key"),
)

files = Table(
    "files",
    metadata,
    _study_key(),
    Column("number", Integer, primary_key=True),  # 1, 2, 3, ... in order of addition
    Column("trial", Integer),  # the trial that has the file; null if a result without a trial has it
    Column("observation", Integer),  # seq of the result without a trial that has the file; null if a trial has it
    Column("name", Text, nullable=False),
    Column("media_type", String(100), nullable=False),
    Column("size", BigInteger, nullable=False),  # in bytes
    Column("digest", String(64), nullable=False),  # SHA-256 of the content
    Column("user", String(100)),  # who added it
    Column("created_at", UtcDateTime, nullable=False),
    Column("content", LargeBinary, nullable=False),
    ForeignKeyConstraint(["study_id", "trial"], ["trials.study_id", "trials.number"]),
    ForeignKeyConstraint(["study_id", "observation"], ["observations.study_id", "observations.seq"]),
    Index(None, "study_id", "trial"),
    Index(None, "study_id", "observation"),
)

webhooks = Table(
    "webhooks",
    metadata,
    _study_key(),
    Column("id", String(12), primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", String(100), nullable=False),  # the key that signs messages
    Column("notifications", JSON, nullable=False),  # kinds of notifications that it gets
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_seq", Integer, nullable=False),  # last event that was delivered or skipped
    Column("is_on", Boolean, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),  # next attempt; a server that sends postpones it
    Column("attempts", Integer, nullable=False),  # number of failed attempts since the last success
    Column("failing_since", UtcDateTime),
    Column("error", Text),  # error of the last attempt; null after a success
    Column("delivered", Integer, nullable=False),  # number of messages delivered
    Column("delivered_at", UtcDateTime),
    Index(None, "is_on", "due_at"),
)

retention_cutoffs = Table(
    "retention_cutoffs",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("at", UtcDateTime, nullable=False),  # rows from before this time were deleted
)

# Access control.

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(12), primary_key=True),  # the public part of the token
    Column("digest", String(64), nullable=False),  # SHA-256 of the token
    Column("user", String(100), nullable=False, index=True),
    Column("name", String(100), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("studies", JSON(none_as_null=True)),  # ids, and prefixes followed by *; null for all studies
    Column("link", String(100), index=True),  # the study, if the token is a share link
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),  # of a link also the time of its study's deletion, until the study is restored
    Column("used_at", UtcDateTime),  # precise to a minute
    Column("quotas", JSON(none_as_null=True)),  # name -> quota; the server's defaults apply to absent names
    Column("is_session", Boolean, server_default=false(), nullable=False),  # whether it is a session (OpenID Connect)
    Column("id_token", Text),  # ID token of a session, to log out; null after its end
    Index(None, "created_at", "id"),
)

people = Table(
    "people",
    metadata,
    Column("user", String(100), primary_key=True),
    Column("issuer", String(500), nullable=False),
    Column("subject", String(255), nullable=False),  # the issuer's id of the person; it never changes
    Column("name", String(200), nullable=False),
    Column("email", String(320)),
    Column("scope", String(10), nullable=False),  # at the last login
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),  # last login
    UniqueConstraint("issuer", "subject"),
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
    Column("title", String(200)),
    Column("owner", String(100), index=True),
    Column("rights", JSON, nullable=False),  # user -> right on the study
    Column("webhooks", JSON, nullable=False),  # its webhooks, with their secrets: see ``storage/webhooks.py``
    Column("results", Integer, nullable=False),
    Column("deleted_by", String(100)),
    Column("deleted_at", UtcDateTime, nullable=False, index=True),
    Column("container", String(100), ForeignKey("containers.id"), nullable=False, index=True),  # for its content
    Column("bytes", BigInteger, nullable=False),  # size of its content
    sqlite_autoincrement=True,
)

# The export of each deleted study, compressed by gzip and divided into parts.
parts = Table(
    "parts",
    metadata,
    Column("container", String(100), ForeignKey("containers.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),  # from 0
    Column("content", LargeBinary, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    _number("id"),
    Column("at", UtcDateTime, nullable=False, index=True),
    Column("action", String(50), nullable=False),
    Column("subject", String(200), nullable=False),  # the study, the token or the reason
    Column("user", String(100)),
    Column("token", String(12)),  # id of the token
    Column("address", String(100), nullable=False),
    Column("detail", JSON, nullable=False),
    Column("count", Integer, nullable=False),  # occurrences since the last such row
    sqlite_autoincrement=True,
)

servers = Table(
    "servers",
    metadata,
    Column("id", String(32), primary_key=True),  # secret: see ``peers``
    Column("version", String(100), nullable=False),  # of the program
    Column("is_model_worker", Boolean, nullable=False),  # follows studies without serving HTTP
    Column("seen_at", UtcDateTime, nullable=False),  # updated while there are other servers
    Column("process", Integer, nullable=False),  # PostgreSQL process of the server's connection
    Column("started_at", UtcDateTime, nullable=False),  # start of that process
    Column("is_leaving", Boolean, nullable=False),
)
"""Running servers. Copies of a database leave these rows out, since they are meaningless once the servers have
stopped."""
