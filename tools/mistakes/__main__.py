"""Make all mistakes, and write the document."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tools import generated
from tools.mistakes import document
from tools.mistakes.server import opened

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as server:
        generated.write(document.FILE, document.text(server))
