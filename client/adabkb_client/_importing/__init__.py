"""Import of results: rows of a table become results of a study, each stored once."""
