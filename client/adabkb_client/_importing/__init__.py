"""Results from elsewhere: sources, how their rows fit a study, and what an import reports."""
