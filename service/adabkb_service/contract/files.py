"""Files of trials, and of results without a trial, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from adabkb_service.contract.answers import Answer


class File(Answer):
    """A file of a trial, or of a result without a trial, without its content."""

    number: Annotated[int, Field(description="number in the study, in order of addition")]
    trial: Annotated[int | None, Field(description="the trial that has the file; null for a file of a result")]
    observation: Annotated[
        int | None, Field(description="seq of the result without a trial that has the file; null for a file of a trial")
    ]
    name: str
    media_type: Annotated[str, Field(description="as given when the file was added; not verified")]
    size: Annotated[int, Field(description="in bytes")]
    digest: Annotated[str, Field(description="SHA-256 of the content in hexadecimal")]
    user: Annotated[str | None, Field(description="who added it; null if the server requires no tokens")]
    created_at: datetime
