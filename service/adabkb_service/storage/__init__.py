"""All SQL of the service: tables, transactions, and the queries of each table. No web, no numerics."""
