"""All data of a study or a database: export, import, tables, trash, checks and replay."""
