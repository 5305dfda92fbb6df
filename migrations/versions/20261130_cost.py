"""What the results of a study have cost; those that exist have no costs."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("studies", sa.Column("cost_spent", sa.Double, nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("studies", "cost_spent")
