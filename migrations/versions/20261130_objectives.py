"""Results of several objectives have metrics and no value; those that exist keep theirs."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("observations") as table:
        table.alter_column("value", existing_type=sa.Double(), nullable=True)


def downgrade() -> None:
    with op.batch_alter_table("observations") as table:
        table.alter_column("value", existing_type=sa.Double(), nullable=False)
