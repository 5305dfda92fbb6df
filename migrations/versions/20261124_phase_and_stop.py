"""What a suggestion is for and what the model expected of it; and rules by which a study stops.

Of suggestions that exist neither is known. ``results_since_best`` is counted from the observations.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trials", sa.Column("phase", sa.String(20)))
    op.add_column("trials", sa.Column("expected", sa.JSON(none_as_null=True)))
    op.add_column("studies", sa.Column("stop", sa.JSON(none_as_null=True)))
    op.add_column("studies", sa.Column("results_since_best", sa.Integer(), nullable=False, server_default="0"))
    studies = sa.table("studies", sa.column("id"), sa.column("definition", sa.JSON), sa.column("results_since_best"))
    connection = op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.definition)).all():
        since = _results_since_best(connection, study.id, study.definition["direction"] == "maximize")
        connection.execute(studies.update().where(studies.c.id == study.id).values(results_since_best=since))


def downgrade() -> None:
    op.drop_column("studies", "results_since_best")
    op.drop_column("studies", "stop")
    op.drop_column("trials", "expected")
    op.drop_column("trials", "phase")


def _results_since_best(connection: sa.Connection, study_id: str, maximize: bool) -> int:
    """How many observations that count came after the best of them, the first of equals; 0 if there is none."""
    observations = sa.table("observations", *map(sa.column, ("study_id", "seq", "value", "excluded")))
    value, counts = observations.c.value, (observations.c.study_id == study_id, sa.not_(observations.c.excluded))
    best = (
        sa.select(observations.c.seq)
        .where(*counts)
        .order_by(value.desc() if maximize else value, observations.c.seq)
        .limit(1)
        .scalar_subquery()
    )
    return connection.execute(sa.select(sa.func.count()).where(*counts, observations.c.seq > best)).scalar_one()
