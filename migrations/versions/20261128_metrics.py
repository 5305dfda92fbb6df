"""What results measure beside their value, in studies with metrics; of rows that exist it is nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trials", sa.Column("metrics", sa.JSON(none_as_null=True)))
    op.add_column("observations", sa.Column("metrics", sa.JSON(none_as_null=True)))
    op.add_column("observations", sa.Column("std_errors", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    op.drop_column("observations", "std_errors")
    op.drop_column("observations", "metrics")
    op.drop_column("trials", "metrics")
