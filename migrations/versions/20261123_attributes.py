"""Attributes of trials. Trials that exist have none."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trials", sa.Column("attributes", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("trials", "attributes")
