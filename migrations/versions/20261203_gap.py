"""No counts of results without a gain: what going on will probably gain is a number of the model."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

GAIN = 0.01
"""Of the range of the results: the least that counts."""

studies = sa.table(
    "studies", sa.column("id"), sa.column("definition", sa.JSON), sa.column("progress", sa.JSON(none_as_null=True))
)
observations = sa.table("observations", *map(sa.column, ("study_id", "seq", "value", "excluded")))


def upgrade() -> None:
    op.drop_column("studies", "progress")


def downgrade() -> None:
    op.add_column("studies", sa.Column("progress", sa.JSON(none_as_null=True)))
    connection = op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.definition)).all():
        progress = _progress(connection, study.id, study.definition)
        connection.execute(studies.update().where(studies.c.id == study.id).values(progress=progress))


def _progress(connection: sa.Connection, study_id: str, definition: dict[str, Any]) -> dict[str, float] | None:
    """The merit at the last gain, the worst one, and the number of results since; None if there is no result."""
    sign = 1.0 if definition.get("direction") == "maximize" else -1.0
    counting = (observations.c.study_id == study_id, sa.not_(observations.c.excluded), observations.c.value.isnot(None))
    query = sa.select(observations.c.value).where(*counting).order_by(observations.c.seq)
    merits = [sign * value for value in connection.scalars(query)]
    if not merits:
        return None
    reference, worst, since = merits[0], merits[0], 0
    for merit in merits[1:]:
        worst = min(worst, merit)
        gained = merit - reference > GAIN * (merit - worst)
        reference, since = (merit, 0) if gained else (reference, since + 1)
    return {"reference": reference, "worst": worst, "since": since}
