"""The overview and the report of a study."""
