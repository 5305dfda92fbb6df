"""Guarantees of the storage that all operations rely on: each test runs on SQLite and on PostgreSQL."""
