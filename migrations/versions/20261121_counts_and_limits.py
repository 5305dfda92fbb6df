"""Counts of a study in its row, its limits on failures and run times, and when each attempt started.

Columns are added in place: rebuilding ``studies`` on SQLite, as Alembic's batch mode does, would drop it and take
everything below it along (ON DELETE CASCADE).
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATES = ("active", "queued", "released", "expired", "completed", "failed")
COUNTS = (*STATES, "observations", "failures")
NULLABLE = ("best", "failure_limit", "max_runtime_seconds")


def upgrade() -> None:
    for name in COUNTS:
        op.add_column("studies", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("best", sa.JSON(none_as_null=True)))
    op.add_column("studies", sa.Column("failure_limit", sa.Integer()))
    op.add_column("studies", sa.Column("max_runtime_seconds", sa.Double()))
    op.add_column("trials", sa.Column("started_at", sa.DateTime(timezone=True)))
    op.create_index("ix_trials_study_id_state_leased_until", "trials", ["study_id", "state", "leased_until"])
    op.create_index("ix_cells_study_id_id", "cells", ["study_id", "id"])
    for state in STATES:
        op.execute(
            f"UPDATE studies SET {state} = "
            f"(SELECT count(*) FROM trials WHERE trials.study_id = studies.id AND trials.state = '{state}')"
        )
    op.execute(
        "UPDATE studies SET observations = (SELECT count(*) FROM observations WHERE observations.study_id = studies.id)"
    )
    _fill_best()
    _fill_from_events()


def _fill_best() -> None:
    studies = sa.table("studies", sa.column("id"), sa.column("definition", sa.JSON), sa.column("best", sa.JSON))
    names = ("study_id", "seq", "trial", "value", "excluded")
    results = sa.table("observations", sa.column("parameters", sa.JSON), *map(sa.column, names))
    connection = op.get_bind()
    for study in connection.execute(sa.select(studies.c.id, studies.c.definition)).all():
        sign = 1 if study.definition["direction"] == "minimize" else -1
        query = (
            sa.select(results.c.parameters, results.c.value, results.c.trial)
            .where(results.c.study_id == study.id, results.c.excluded.is_(sa.false()))
            .order_by(sign * results.c.value, results.c.seq)
            .limit(1)
        )
        best = connection.execute(query).one_or_none()
        if best is not None:
            connection.execute(studies.update().where(studies.c.id == study.id).values(best=dict(best._mapping)))


def _fill_from_events() -> None:
    """When attempts started, and how many trials failed one after the other."""
    events = sa.table(
        "events",
        sa.column("payload", sa.JSON),
        sa.column("created_at", sa.DateTime(timezone=True)),
        *map(sa.column, ("study_id", "seq", "kind", "trial")),
    )
    trials = sa.table(
        "trials", sa.column("started_at", sa.DateTime(timezone=True)), *map(sa.column, ("study_id", "number"))
    )
    studies = sa.table("studies", *map(sa.column, ("id", "failures")))
    connection = op.get_bind()
    kinds = ("suggested", "leased", "failed", "observed", "resumed")
    for study_id in connection.execute(sa.select(studies.c.id)).scalars().all():
        query = sa.select(events).where(events.c.study_id == study_id, events.c.kind.in_(kinds)).order_by(events.c.seq)
        failures, told = 0, set()
        for event in connection.execute(query).all():
            if event.kind == "failed":
                failures += 1
            elif event.kind == "resumed" or (event.kind == "observed" and event.trial and event.trial not in told):
                failures = 0
                told.add(event.trial)
            elif event.kind == "suggested" or (event.kind == "leased" and not event.payload["renewed"]):
                this = (trials.c.study_id == study_id, trials.c.number == event.trial)
                connection.execute(trials.update().where(*this).values(started_at=event.created_at))
        connection.execute(studies.update().where(studies.c.id == study_id).values(failures=failures))


def downgrade() -> None:
    op.drop_index("ix_cells_study_id_id", "cells")
    op.drop_index("ix_trials_study_id_state_leased_until", "trials")
    op.drop_column("trials", "started_at")
    for name in (*NULLABLE, *COUNTS):
        op.drop_column("studies", name)
