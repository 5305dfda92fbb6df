"""One identity and one version of a study, the revision of the engine's rules, the checkpoint in its own column, and
an index on the events of a trial.

``model`` keeps the figures that people read; what a restored model needs beyond its cells and its dictionary moves to
``checkpoint``. Studies that exist keep the rules under which their suggestions were made: revision 1.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("studies", sa.Column("incarnation", sa.String(32), nullable=False, server_default=""))
    op.add_column("studies", sa.Column("version", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("engine_revision", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("studies", sa.Column("checkpoint", sa.JSON(none_as_null=True)))
    op.create_table(
        "horizons",
        sa.Column("name", sa.String(50), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_events_study_id_trial", "events", ["study_id", "trial"])
    studies, connection = _studies(), op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.model)).all():
        figures = study.model
        checkpoint = None if figures is None else figures.pop("learned", None)
        values = {"incarnation": secrets.token_hex(16), "model": figures, "checkpoint": checkpoint}
        connection.execute(studies.update().where(studies.c.id == study.id).values(values))


def downgrade() -> None:
    studies, connection = _studies(), op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.model, studies.c.checkpoint)).all():
        if study.model is not None:
            figures = {**study.model, "learned": study.checkpoint}
            connection.execute(studies.update().where(studies.c.id == study.id).values(model=figures))
    op.drop_index("ix_events_study_id_trial", "events")
    op.drop_table("horizons")
    for name in ("checkpoint", "engine_revision", "version", "incarnation"):
        op.drop_column("studies", name)


def _studies() -> sa.TableClause:
    json = [sa.column(name, sa.JSON(none_as_null=True)) for name in ("model", "checkpoint")]
    return sa.table("studies", sa.column("id"), sa.column("incarnation"), *json)
