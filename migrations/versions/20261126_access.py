"""Tokens, grants of studies, the trash and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("studies", sa.JSON(none_as_null=True)),
        sa.Column("link", sa.String(100)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("used_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_index(op.f("ix_tokens_link"), "tokens", ["link"])
    op.create_index(op.f("ix_tokens_created_at_id"), "tokens", ["created_at", "id"])
    op.create_table(
        "grants",
        sa.Column("study_id", sa.String(100), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("right", sa.String(10), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_grants_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "user", name=op.f("pk_grants")),
    )
    op.create_table(
        "trash",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", sa.String(100), nullable=False),
        sa.Column("owner", sa.String(100)),
        sa.Column("rights", sa.JSON, nullable=False),
        sa.Column("results", sa.Integer, nullable=False),
        sa.Column("deleted_by", sa.String(100)),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trash")),
    )
    op.create_index(op.f("ix_trash_study_id"), "trash", ["study_id"])
    op.create_index(op.f("ix_trash_deleted_at"), "trash", ["deleted_at"])
    op.create_table(
        "audit",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(50), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("user", sa.String(100)),
        sa.Column("token", sa.String(12)),
        sa.Column("address", sa.String(100), nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"])


def downgrade() -> None:
    for table in ("audit", "trash", "grants", "tokens"):
        op.drop_table(table)
