"""The service's SQL: tables, transactions, and the queries of each table. Without HTTP or numerics."""
