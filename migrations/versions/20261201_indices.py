"""Indexes for what lists are ordered and sought by."""

from alembic import op

revision = "0012.1"
down_revision = "0012"
branch_labels = None
depends_on = None

COLUMNS = (("studies", "updated_at"), ("tokens", "user"), ("trash", "owner"))


def upgrade() -> None:
    for table, column in COLUMNS:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def downgrade() -> None:
    for table, column in COLUMNS:
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
