"""Values that trials report step by step, and trials that are stopped by them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("studies", sa.Column("stopped", sa.Integer, nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("steps_saved", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("trials", sa.Column("curve", sa.JSON(none_as_null=True)))
    op.add_column("trials", sa.Column("estimate", sa.JSON(none_as_null=True)))
    op.create_table(
        "reports",
        sa.Column("study_id", sa.String(length=100), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("mark", sa.Integer(), nullable=True),
        sa.Column("reported_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_reports_study_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["study_id", "trial"], ["trials.study_id", "trials.number"], name="fk_reports_study_id_trial"
        ),
        sa.PrimaryKeyConstraint("study_id", "trial", "attempt", "step", name="pk_reports"),
    )
    op.create_index("ix_reports_study_id_mark_trial", "reports", ["study_id", "mark", "trial"])


def downgrade() -> None:
    op.drop_table("reports")
    op.drop_column("trials", "estimate")
    op.drop_column("trials", "curve")
    op.drop_column("studies", "steps_saved")
    op.drop_column("studies", "stopped")
