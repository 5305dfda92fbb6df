"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=True),
        sa.Column("tolerance", sa.Double(), nullable=True),
        sa.Column("pending_limit", sa.Integer(), nullable=True),
        sa.Column("lease_seconds", sa.Double(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("head", sa.Integer(), nullable=False),
        sa.Column("folded", sa.Integer(), nullable=False),
        sa.Column("model", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("model_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
    )
    op.create_index("ix_studies_created_at_id", "studies", ["created_at", "id"])

    op.create_table(
        "cells",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=2000), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_cells_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_cells"),
        sa.UniqueConstraint("study_id", "key", name="uq_cells_study_id_key"),
    )
    op.create_table(
        "dictionary",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_dictionary_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "ordinal", name="pk_dictionary"),
    )
    op.create_table(
        "events",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_events_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "seq", name="pk_events"),
    )
    op.create_table(
        "trials",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("cell", sa.Text(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("expirations", sa.Integer(), nullable=False),
        sa.Column("lease_seconds", sa.Double(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("failed_attempt", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_trials_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "number", name="pk_trials"),
    )
    op.create_index("ix_trials_leases", "trials", ["state", "leased_until"])
    op.create_index("ix_trials_study_id_state_number", "trials", ["study_id", "state", "number"])

    op.create_table(
        "observations",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("std_error", sa.Double(), nullable=True),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name="fk_observations_study_id_trial"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_observations_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "seq", name="pk_observations"),
    )
    op.create_index("ix_observations_study_id_excluded_value", "observations", ["study_id", "excluded", "value"])
    op.create_index("ix_observations_study_id_trial", "observations", ["study_id", "trial"])

    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_idempotency_keys_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])
    op.create_index("ix_idempotency_keys_study_id", "idempotency_keys", ["study_id"])


def downgrade() -> None:
    op.drop_table("idempotency_keys")
    op.drop_table("observations")
    op.drop_table("trials")
    op.drop_table("events")
    op.drop_table("dictionary")
    op.drop_table("cells")
    op.drop_table("studies")
