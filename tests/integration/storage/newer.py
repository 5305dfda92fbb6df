"""The next version, with one more migration, which the tests write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from adabkb_service.storage import migration

ALTERS = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9999", "{head}"

def upgrade():
    with op.batch_alter_table("studies") as table:
        table.alter_column("tags", existing_type=sa.JSON(), nullable=True)
        table.add_column(sa.Column("mood", sa.String(20), nullable=False, server_default="good"))
    with op.batch_alter_table("containers") as table:
        table.alter_column("writer", existing_type=sa.String(32), type_=sa.String(64))

def downgrade():
    with op.batch_alter_table("containers") as table:
        table.alter_column("writer", existing_type=sa.String(64), type_=sa.String(32))
    with op.batch_alter_table("studies") as table:
        table.drop_column("mood")
        table.alter_column("tags", existing_type=sa.JSON(), nullable=False)
"""
"""A migration that is not additive. On SQLite, both tables are copied and dropped, although all rows of a study refer
to its container."""

ADDS = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{head}.1", "{head}"

def upgrade():
    with op.batch_alter_table("studies") as table:
        table.add_column(sa.Column("mood", sa.String(), nullable=True))
    study = sa.ForeignKey("studies.id", ondelete="CASCADE")
    op.create_table("moods", sa.Column("study_id", sa.String(), study, primary_key=True))
"""
"""An additive migration."""

BREAKS_A_REFERENCE = """
from alembic import op

revision, down_revision = "9999", "{head}"

def upgrade():
    op.execute("UPDATE trials SET study_id = 'none'")
"""


@contextmanager
def newer_version(folder: Path, program: str = ALTERS) -> Iterator[None]:
    """Within the block, all code has this migration, whose file is in the folder."""
    known = migration.config
    revisions = f"{known().get_main_option('script_location')}/versions"
    (folder / "newer.py").write_text(program.format(head=migration.HEAD))

    def extended() -> Config:
        config = known()
        config.set_main_option("path_separator", "os")
        config.set_main_option("version_locations", f"{revisions}{os.pathsep}{folder}")
        return config

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migration, "config", extended)
        patch.setattr(migration, "HEAD", ScriptDirectory.from_config(extended()).get_current_head())
        yield
