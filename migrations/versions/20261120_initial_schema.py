"""initial schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_idempotency_keys")),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_keys_created_at"), ["created_at"], unique=False)

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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
    )
    with op.batch_alter_table("studies", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_studies_created_at_id"), ["created_at", "id"], unique=False)

    op.create_table(
        "cells",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=2000), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_cells_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cells")),
        sa.UniqueConstraint("study_id", "key", name=op.f("uq_cells_study_id_key")),
    )
    op.create_table(
        "dictionary",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_dictionary_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "ordinal", name=op.f("pk_dictionary")),
    )
    op.create_table(
        "events",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_events_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_events")),
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
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_trials_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_trials")),
    )
    with op.batch_alter_table("trials", schema=None) as batch_op:
        batch_op.create_index("ix_trials_leases", ["state", "leased_until"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_trials_study_id_state_number"), ["study_id", "state", "number"], unique=False
        )

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
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name=op.f("fk_observations_study_id_trial")
        ),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_observations_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_observations")),
    )
    with op.batch_alter_table("observations", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_observations_study_id_excluded_value"), ["study_id", "excluded", "value"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_observations_study_id_trial"), ["study_id", "trial"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("observations", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_observations_study_id_trial"))
        batch_op.drop_index(batch_op.f("ix_observations_study_id_excluded_value"))

    op.drop_table("observations")
    with op.batch_alter_table("trials", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_trials_study_id_state_number"))
        batch_op.drop_index("ix_trials_leases")

    op.drop_table("trials")
    op.drop_table("events")
    op.drop_table("dictionary")
    op.drop_table("cells")
    with op.batch_alter_table("studies", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_studies_created_at_id"))

    op.drop_table("studies")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_keys_created_at"))

    op.drop_table("idempotency_keys")
