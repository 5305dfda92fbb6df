"""What every operation relies on, whatever the database: each test runs on SQLite and on PostgreSQL."""
