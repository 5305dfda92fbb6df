"""How long a study has gone without a gain, told from its observations in order."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

GAIN = 0.01
"""Of the range of the results: the least that counts."""


def upgrade() -> None:
    op.add_column("studies", sa.Column("progress", sa.JSON(none_as_null=True)))
    studies = sa.table(
        "studies", sa.column("id"), sa.column("definition", sa.JSON), sa.column("progress", sa.JSON(none_as_null=True))
    )
    connection = op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.definition)).all():
        progress = _progress(connection, study.id, 1.0 if study.definition["direction"] == "maximize" else -1.0)
        connection.execute(studies.update().where(studies.c.id == study.id).values(progress=progress))


def downgrade() -> None:
    op.drop_column("studies", "progress")


def _progress(connection: sa.Connection, study_id: str, sign: float) -> dict[str, float] | None:
    """The merit at the last gain, the worst one, and the number of results since; None if there is no result."""
    observations = sa.table("observations", *map(sa.column, ("study_id", "seq", "value", "excluded")))
    counting = (observations.c.study_id == study_id, sa.not_(observations.c.excluded))
    merits = [
        sign * value
        for value in connection.scalars(sa.select(observations.c.value).where(*counting).order_by(observations.c.seq))
    ]
    if not merits:
        return None
    reference, worst, since = merits[0], merits[0], 0
    for merit in merits[1:]:
        worst = min(worst, merit)
        gained = merit - reference > GAIN * (merit - worst)
        reference, since = (merit, 0) if gained else (reference, since + 1)
    return {"reference": reference, "worst": worst, "since": since}
