"""Alembic's environment: connects through ``storage/migration.py``, or to the URL in ``ADABKB_DATABASE``."""

import os
from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection

from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import UtcDateTime, metadata


def render_item(kind: str, item: object, _: AutogenContext) -> str | Literal[False]:
    """Render types without reference to this package, so that a migration is self-contained."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


def migrate(connection: Connection) -> None:
    """Run the migrations inside the connection's transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,  # SQLite alters a table by copying it: see Database.migrating
        render_item=render_item,
    )
    context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with Database(os.environ.get("ADABKB_DATABASE", "sqlite:///adabkb.db")).migrating() as own:
        migrate(own)
