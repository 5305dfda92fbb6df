"""The schema of version 0.1."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "containers",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("writer", sa.String(length=32)),
        sa.Column("removable_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_containers")),
    )
    op.create_index(op.f("ix_containers_removable_at"), "containers", ["removable_at"])
    op.create_table(
        "studies",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("budget", sa.JSON(none_as_null=True)),
        sa.Column("tolerance", sa.Double()),
        sa.Column("pending_limit", sa.Integer()),
        sa.Column("lease_seconds", sa.Double(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("study_seq", sa.Integer(), nullable=False),
        sa.Column("model_seq", sa.Integer(), nullable=False),
        sa.Column("model", sa.JSON(none_as_null=True)),
        sa.Column("model_error", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("active", sa.Integer(), server_default="0", nullable=False),
        sa.Column("queued", sa.Integer(), server_default="0", nullable=False),
        sa.Column("released", sa.Integer(), server_default="0", nullable=False),
        sa.Column("expired", sa.Integer(), server_default="0", nullable=False),
        sa.Column("completed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("observations", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("best", sa.JSON(none_as_null=True)),
        sa.Column("failure_limit", sa.Integer()),
        sa.Column("max_runtime_seconds", sa.Double()),
        sa.Column("incarnation", sa.String(length=32), server_default="", nullable=False),
        sa.Column("version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("engine_revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("checkpoint", sa.JSON(none_as_null=True)),
        sa.Column("stop", sa.JSON(none_as_null=True)),
        sa.Column("results_since_best", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stopped", sa.Integer(), server_default="0", nullable=False),
        sa.Column("steps_saved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("log_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cost_spent", sa.Double(), server_default="0", nullable=False),
        sa.Column("plate", sa.JSON(none_as_null=True)),
        sa.Column("withdrawn", sa.Integer(), server_default="0", nullable=False),
        sa.Column("title", sa.String(length=200)),
        sa.Column("description", sa.Text()),
        sa.Column("own_failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_file", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["id"], ["containers.id"], name=op.f("fk_studies_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
    )
    op.create_index(op.f("ix_studies_created_at_id"), "studies", ["created_at", "id"])
    op.create_index(op.f("ix_studies_updated_at"), "studies", ["updated_at"])
    op.create_table(
        "trials",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("cell", sa.Text()),
        sa.Column("worker", sa.Text()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("expirations", sa.Integer(), nullable=False),
        sa.Column("lease_seconds", sa.Double(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True)),
        sa.Column("value", sa.Double()),
        sa.Column("failed_attempt", sa.Integer()),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("attributes", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("phase", sa.String(length=20)),
        sa.Column("expected", sa.JSON(none_as_null=True)),
        sa.Column("curve", sa.JSON(none_as_null=True)),
        sa.Column("estimate", sa.JSON(none_as_null=True)),
        sa.Column("metrics", sa.JSON(none_as_null=True)),
        sa.Column("plate", sa.Integer()),
        sa.Column("seconds", sa.Double()),
        sa.Column("reported_by", sa.Text()),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_trials_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_trials")),
    )
    op.create_index("ix_trials_leases", "trials", ["state", "leased_until"])
    op.create_index(op.f("ix_trials_study_id_state_leased_until"), "trials", ["study_id", "state", "leased_until"])
    op.create_index(op.f("ix_trials_study_id_state_number"), "trials", ["study_id", "state", "number"])
    _create_index_by_plate("trials", "number")
    op.create_table(
        "observations",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer()),
        sa.Column("attempt", sa.Integer()),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("value", sa.Double()),
        sa.Column("std_error", sa.Double()),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("metrics", sa.JSON(none_as_null=True)),
        sa.Column("std_errors", sa.JSON(none_as_null=True)),
        sa.Column("plate", sa.Integer()),
        sa.Column("seconds", sa.Double()),
        sa.Column("attributes", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("reported_by", sa.Text()),
        sa.ForeignKeyConstraint(
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name=op.f("fk_observations_study_id_trial")
        ),
        sa.ForeignKeyConstraint(
            ["study_id"], ["containers.id"], name=op.f("fk_observations_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_observations")),
    )
    op.create_index(op.f("ix_observations_study_id_excluded_value"), "observations", ["study_id", "excluded", "value"])
    op.create_index(op.f("ix_observations_study_id_trial"), "observations", ["study_id", "trial"])
    _create_index_by_plate("observations", "seq")
    op.create_table(
        "reports",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("mark", sa.Integer()),
        sa.Column("reported_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name=op.f("fk_reports_study_id_trial")
        ),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_reports_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "trial", "attempt", "step", name=op.f("pk_reports")),
    )
    op.create_index(op.f("ix_reports_study_id_mark_trial"), "reports", ["study_id", "mark", "trial"])
    op.create_table(
        "events",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("trial", sa.Integer()),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_events_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_study_id_trial"), "events", ["study_id", "trial"])
    op.create_table(
        "cells",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=2000), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_cells_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cells")),
        sa.UniqueConstraint("study_id", "key", name=op.f("uq_cells_study_id_key")),
    )
    op.create_index(op.f("ix_cells_study_id_id"), "cells", ["study_id", "id"])
    op.create_table(
        "dictionary",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["containers.id"], name=op.f("fk_dictionary_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "ordinal", name=op.f("pk_dictionary")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["containers.id"], name=op.f("fk_idempotency_keys_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"])
    op.create_index(op.f("ix_idempotency_keys_study_id_scope_key"), "idempotency_keys", ["study_id", "scope", "key"])
    op.create_table(
        "files",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer()),
        sa.Column("observation", sa.Integer()),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user", sa.String(length=100)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_files_study_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name=op.f("fk_files_study_id_trial")
        ),
        sa.ForeignKeyConstraint(
            ["study_id", "observation"],
            ["observations.study_id", "observations.seq"],
            name=op.f("fk_files_study_id_observation"),
        ),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_files")),
    )
    op.create_index(op.f("ix_files_study_id_trial"), "files", ["study_id", "trial"])
    op.create_index(op.f("ix_files_study_id_observation"), "files", ["study_id", "observation"])
    op.create_table(
        "webhooks",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=100), nullable=False),
        sa.Column("notifications", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_seq", sa.Integer(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text()),
        sa.Column("delivered", sa.Integer(), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_webhooks_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_is_on_due_at"), "webhooks", ["is_on", "due_at"])
    op.create_table(
        "retention_cutoffs",
        sa.Column("name", sa.String(length=50), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_retention_cutoffs")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("studies", sa.JSON(none_as_null=True)),
        sa.Column("link", sa.String(length=100)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("used_at", sa.DateTime(timezone=True)),
        sa.Column("quotas", sa.JSON(none_as_null=True)),
        sa.Column("is_session", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("id_token", sa.Text()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_index(op.f("ix_tokens_created_at_id"), "tokens", ["created_at", "id"])
    op.create_index(op.f("ix_tokens_link"), "tokens", ["link"])
    op.create_index(op.f("ix_tokens_user"), "tokens", ["user"])
    op.create_table(
        "people",
        sa.Column("user", sa.String(length=100), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=320)),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user", name=op.f("pk_people")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_people_issuer_subject")),
    )
    op.create_table(
        "grants",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("user", sa.String(length=100), nullable=False),
        sa.Column("right", sa.String(length=10), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["containers.id"], name=op.f("fk_grants_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "user", name=op.f("pk_grants")),
    )
    op.create_index(op.f("ix_grants_user"), "grants", ["user"])
    op.create_table(
        "trash",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=200)),
        sa.Column("owner", sa.String(length=100)),
        sa.Column("rights", sa.JSON(), nullable=False),
        sa.Column("webhooks", sa.JSON(), nullable=False),
        sa.Column("results", sa.Integer(), nullable=False),
        sa.Column("deleted_by", sa.String(length=100)),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("container", sa.String(length=100), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["container"], ["containers.id"], name=op.f("fk_trash_container")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_trash_container"), "trash", ["container"])
    op.create_index(op.f("ix_trash_deleted_at"), "trash", ["deleted_at"])
    op.create_index(op.f("ix_trash_owner"), "trash", ["owner"])
    op.create_index(op.f("ix_trash_study_id"), "trash", ["study_id"])
    op.create_table(
        "parts",
        sa.Column("container", sa.String(length=100), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["container"], ["containers.id"], name=op.f("fk_parts_container"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("container", "ordinal", name=op.f("pk_parts")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(length=50), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=100)),
        sa.Column("token", sa.String(length=12)),
        sa.Column("address", sa.String(length=100), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"])
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "servers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=100), nullable=False),
        sa.Column("is_model_worker", sa.Boolean(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("process", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_leaving", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_servers")),
        prefixes=["UNLOGGED"] if is_postgresql else [],
    )


def _create_index_by_plate(table: str, number: str) -> None:
    has_plate = sa.text("plate IS NOT NULL")
    op.create_index(
        op.f(f"ix_{table}_study_id_plate_{number}"),
        table,
        ["study_id", "plate", number],
        sqlite_where=has_plate,
        postgresql_where=has_plate,
    )


def downgrade() -> None:
    op.drop_table("servers")
    op.drop_table("audit")
    op.drop_table("parts")
    op.drop_table("trash")
    op.drop_table("grants")
    op.drop_table("people")
    op.drop_table("tokens")
    op.drop_table("retention_cutoffs")
    op.drop_table("webhooks")
    op.drop_table("files")
    op.drop_table("idempotency_keys")
    op.drop_table("dictionary")
    op.drop_table("cells")
    op.drop_table("events")
    op.drop_table("reports")
    op.drop_table("observations")
    op.drop_table("trials")
    op.drop_table("studies")
    op.drop_table("containers")
