"""Questions to a study's model, and what its answers mean."""
