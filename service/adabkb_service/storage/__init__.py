"""The service's SQL: tables, transactions, and the queries of each table. It imports neither HTTP nor numerical
code."""
