"""Mistakes in the settings of a server."""

from __future__ import annotations

from tests.mistakes.kinds import Section, Typed

FILE = "adabkb.toml"
SERVER = [
    Typed("A port that is too large", "adabkb serve --port 99999"),
    Typed("A port that is no number", "adabkb serve --port http"),
    Typed("A port in the environment that is no number", "ADABKB_PORT=http adabkb serve"),
    Typed("A limit of 0 bytes", "ADABKB_BODY_LIMIT=0 adabkb serve"),
    Typed("A truth value in words", "ADABKB_ACCESS_LOG=perhaps adabkb serve"),
    Typed("Several wrong settings", "ADABKB_STUDY_THREADS=0 ADABKB_LOCK_SECONDS=fast adabkb serve"),
    Typed("A file with a misspelt setting", "adabkb serve", files={FILE: 'databse = "sqlite:///a.db"\n'}),
    Typed("A file that is not TOML", "adabkb serve", files={FILE: "port: 8000\n"}),
    Typed("A file with a port as a list", "adabkb serve", files={FILE: "port = [8000]\n"}),
    Typed("A host that is not this machine", "adabkb serve --host 192.0.2.1"),
    Typed("A database of another kind for a server", "adabkb serve --port 0 --database mysql://localhost/adabkb"),
    Typed("A folder that is not there", "adabkb serve --port 0 --database sqlite:///nowhere/adabkb.db"),
    Typed("A folder as a database", "adabkb serve --port 0 --database sqlite:////"),
    Typed("A misspelt option of serve", "adabkb serve --prot 8001"),
]

SECTIONS: list[Section] = [("Settings of the server", "By options, in the environment, or in `adabkb.toml`.", SERVER)]
