"""Containers, to which the rows of a study refer, and the content of the trash in parts.

A study disappears with its row in ``studies`` then, and its other rows are deleted in short transactions.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012.1"
branch_labels = None
depends_on = None

BELOW = ("observations", "reports", "trials", "events", "cells", "dictionary", "idempotency_keys", "grants")
PART_BYTES = 2**16

trash = sa.table("trash", sa.column("id"), sa.column("container"), sa.column("bytes"), sa.column("content"))
containers = sa.table("containers", sa.column("id"))
parts = sa.table("parts", sa.column("container"), sa.column("ordinal"), sa.column("content"))


def upgrade() -> None:
    op.create_table(
        "containers",
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("writer", sa.String(32)),
        sa.Column("removable_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_containers")),
    )
    op.create_index(op.f("ix_containers_removable_at"), "containers", ["removable_at"])
    op.create_table(
        "parts",
        sa.Column("container", sa.String(100), nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["container"], ["containers.id"], name=op.f("fk_parts_container"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("container", "ordinal", name=op.f("pk_parts")),
    )
    op.execute("INSERT INTO containers (id) SELECT id FROM studies")
    _refer_to("containers")
    with op.batch_alter_table("studies") as table:
        table.create_foreign_key(op.f("fk_studies_id"), "containers", ["id"], ["id"])
    op.drop_index(op.f("ix_idempotency_keys_study_id"), "idempotency_keys")
    op.create_index(op.f("ix_idempotency_keys_study_id_scope_key"), "idempotency_keys", ["study_id", "scope", "key"])
    op.add_column("trash", sa.Column("container", sa.String(100)))
    op.add_column("trash", sa.Column("bytes", sa.BigInteger))
    _divide_contents(op.get_bind())
    with op.batch_alter_table("trash") as table:
        table.alter_column("container", existing_type=sa.String(100), nullable=False)
        table.alter_column("bytes", existing_type=sa.BigInteger, nullable=False)
        table.create_foreign_key(op.f("fk_trash_container"), "containers", ["container"], ["id"])
        table.drop_column("content")
    op.create_index(op.f("ix_trash_container"), "trash", ["container"])


def downgrade() -> None:
    for child in BELOW:
        op.execute(f"DELETE FROM {child} WHERE study_id NOT IN (SELECT id FROM studies)")
    op.drop_index(op.f("ix_trash_container"), "trash")
    op.add_column("trash", sa.Column("content", sa.LargeBinary))
    _join_contents(op.get_bind())
    with op.batch_alter_table("trash") as table:
        table.alter_column("content", existing_type=sa.LargeBinary, nullable=False)
        table.drop_constraint(op.f("fk_trash_container"), type_="foreignkey")
        table.drop_column("container")
        table.drop_column("bytes")
    op.drop_index(op.f("ix_idempotency_keys_study_id_scope_key"), "idempotency_keys")
    op.create_index(op.f("ix_idempotency_keys_study_id"), "idempotency_keys", ["study_id"])
    with op.batch_alter_table("studies") as table:
        table.drop_constraint(op.f("fk_studies_id"), type_="foreignkey")
    _refer_to("studies")
    op.drop_table("parts")
    op.drop_table("containers")


def _refer_to(parent: str) -> None:
    """Let the rows of a study refer to its row in another table."""
    for child in BELOW:
        name = op.f(f"fk_{child}_study_id")
        with op.batch_alter_table(child) as table:
            table.drop_constraint(name, type_="foreignkey")
            table.create_foreign_key(name, parent, ["study_id"], ["id"], ondelete="CASCADE")


def _divide_contents(connection: sa.Connection) -> None:
    for number in connection.execute(sa.select(trash.c.id)).scalars().all():
        this, container = trash.c.id == number, f"/{secrets.token_hex(16)}"
        content = connection.execute(sa.select(trash.c.content).where(this)).scalar_one()
        connection.execute(sa.insert(containers), {"id": container})
        for ordinal, start in enumerate(range(0, len(content), PART_BYTES)):
            part = content[start : start + PART_BYTES]
            connection.execute(sa.insert(parts), {"container": container, "ordinal": ordinal, "content": part})
        connection.execute(sa.update(trash).where(this), {"container": container, "bytes": len(content)})


def _join_contents(connection: sa.Connection) -> None:
    for number, container in connection.execute(sa.select(trash.c.id, trash.c.container)).all():
        theirs = sa.select(parts.c.content).where(parts.c.container == container).order_by(parts.c.ordinal)
        content = b"".join(bytes(part) for part in connection.execute(theirs).scalars())
        connection.execute(sa.update(trash).where(trash.c.id == number), {"content": content})
