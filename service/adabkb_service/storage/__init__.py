"""SQL only: tables, transactions and the queries of each table. No web, no numerics."""
