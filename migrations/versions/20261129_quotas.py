"""Quotas of tokens, and how much a study has in its log, which is counted for those that exist."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("quotas", sa.JSON(none_as_null=True)))
    op.add_column("studies", sa.Column("log_bytes", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index(op.f("ix_grants_user"), "grants", ["user"])
    op.execute(
        "UPDATE studies SET log_bytes = (SELECT COALESCE(SUM(LENGTH(CAST(payload AS TEXT))), 0) FROM events"
        " WHERE events.study_id = studies.id)"
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_grants_user"), "grants")
    op.drop_column("studies", "log_bytes")
    op.drop_column("tokens", "quotas")
